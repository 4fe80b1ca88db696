"""``copy`` on Spark: each partition is written where its task runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import checkpoint_of, run
from tests.spark_support import WITH_SPARK

pytestmark = [*WITH_SPARK, pytest.mark.usefixtures("spark")]


def state_of(root: Path) -> dict[str, bytes]:
    state = root / "state"
    return {
        str(path.relative_to(state)): path.read_bytes()
        for path in state.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("case", ["fmgws_event_ignore", "rocksdb_fmgws_event_ignore"])
def test_executors_write_what_this_process_writes(case: str, tmp_path: Path) -> None:
    states, outcomes = [], []
    for engine in ("local", "spark"):
        dest = tmp_path / engine
        arguments = ("copy", checkpoint_of(case), dest, "--evict", "leftovers", "-o", "json")
        outcomes.append(run(*arguments, "--engine", engine))
        states.append(state_of(dest))
    assert [outcome.code for outcome in outcomes] == [0, 0]
    assert states[0] == states[1]
    assert outcomes[0].rows == outcomes[1].rows
    assert outcomes[0].json["summary"]["evicted_rows"] > 0
