"""``copy`` on Spark: each partition is written where its task runs; and Spark's own judgement."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.support import checkpoint_of, run
from tests.spark_support import WITH_SPARK

pytestmark = [*WITH_SPARK, pytest.mark.usefixtures("spark")]

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "judge_copies.py"


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


@pytest.fixture(scope="module")
def judged() -> subprocess.CompletedProcess[str]:
    """One session of Spark judges the copies of both providers."""
    command = [sys.executable, str(SCRIPT), "--families", "aggregation,window,stateful"]
    command += ["--providers", "hdfs,changelogs"]
    return subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)


@pytest.mark.full
@pytest.mark.parametrize("provider", ["hdfs", "changelogs"])
def test_spark_goes_on_from_a_copy_as_from_its_source(
    judged: subprocess.CompletedProcess[str], provider: str
) -> None:
    """Twins of one checkpoint on the same new input; leaked keys are called with hasTimedOut."""
    assert judged.returncode == 0, judged.stdout
    lines = [line.split() for line in judged.stdout.splitlines()]
    assert [line[-1] for line in lines if line[1] == provider] == ["equal"] * 3
