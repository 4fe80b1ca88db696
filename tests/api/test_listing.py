"""The commands that read listings and small files only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from inspector import api

FIXTURE = Path(__file__).parents[2] / "fixtures" / "4.3.0" / "agg_update" / "checkpoint"


def test_every_call_is_there_when_it_is_named() -> None:
    assert sorted(api._HOMES) == sorted(api.__all__)
    assert all(getattr(api, name).__name__ == name for name in api.__all__)
    with pytest.raises(AttributeError, match=r"'inspector\.api' has no attribute 'nothing'"):
        _ = api.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", ["info", "files"])
def test_they_import_nothing_that_reads_state(command: str) -> None:
    program = (
        "import sys\n"
        "from inspector import api\n"
        f"assert api.{command}({str(FIXTURE)!r}).tables\n"
        "print(*sorted(name for name in sys.modules if name.startswith('inspector.')))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    imported = done.stdout.decode().split()
    assert "inspector.api.listing" in imported
    assert not [name for name in imported if name.startswith("inspector.facts")]
    assert "inspector.state.replay" not in imported
    assert "inspector.passes.run" not in imported
