"""Commands that are made from declarations, and the modules that they import."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from inspector import analyses
from inspector.cli.commands import command_of
from inspector.cli.main import WITHOUT_ANALYSIS, commands
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, run, spellings
from tests.fixture_folder import REPOSITORY


@pytest.mark.parametrize("name", sorted({*commands()} - {*WITHOUT_ANALYSIS}))
def test_command_has_the_options_of_its_declaration(name: str) -> None:
    analysis = analyses.load(name)
    flags = spellings(command_of(analysis))
    assert flags.issuperset(attributes((*analysis.options, *analysis.shared), "flag"))
    assert ("--fail-on" in flags) is (analysis.fail_on is not None)
    assert ("--output-file" in flags) is not analysis.follows


@pytest.mark.parametrize("command", ["info", "files"])
def test_info_and_files_import_no_state_modules(command: str) -> None:
    program = (
        "import sys\n"
        "from inspector.cli.main import run\n"
        f"sys.argv = ['inspector', {command!r}, {str(checkpoint_of('agg_update'))!r}]\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "print(*sorted(name for name in sys.modules if name.startswith('inspector.')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, check=True
    )
    imported = done.stdout.decode().splitlines()[-1]
    assert f"inspector.analyses.{command} " in imported
    rooms = r"inspector\.(?:facts|state\.replay|passes\.worker|analyses\.leftovers)\S*"
    assert re.findall(rf"\b{rooms}", imported) == []


def test_changes_is_no_command() -> None:
    assert "changes" in analyses.names()
    assert run("changes", checkpoint_of("agg_update")).code == 2


def test_explained_leftovers_are_written_as_parquet(tmp_path: Path) -> None:
    path, file = checkpoint_of("fmgws_event_ignore"), tmp_path / "story.parquet"
    outcome = run("leftovers", path, "--explain", "value=once-000", "-o", "parquet", "-O", file)
    assert (outcome.code, outcome.out) == (0, "")
    assert pq.read_table(file).num_rows == 3
