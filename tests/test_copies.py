"""Queries of a real Spark go on from copies as from their sources."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.support import spark_release
from tests.spark_support import LONG, MARK, finish

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "lab" / "judge_copies.py"
SINKS = ROOT / "scripts" / "lab" / "judge_sinks.py"
FAMILIES = "aggregation,stateful" if spark_release() >= (4, 0) else "stateful"
"""What the oldest Spark judges here is what timers and functions depend on."""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """One session of Spark judges the copies of both providers."""
    command = [sys.executable, str(SCRIPT), "--families", FAMILIES]
    command += ["--providers", "hdfs,changelogs"]
    folder = tmp_path_factory.mktemp("judged")
    here = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    return finish(command, here | {MARK: str(folder)}, ROOT, LONG)


@pytest.mark.parametrize("provider", ["hdfs", "changelogs"])
def test_spark_restarts_from_copy_as_from_source(
    judged: subprocess.CompletedProcess[str], provider: str
) -> None:
    """Twins of one checkpoint on the same new input; leaked keys are called with hasTimedOut."""
    assert judged.returncode == 0, judged.stdout
    lines = [line.split() for line in judged.stdout.splitlines()]
    assert [line[-1] for line in lines if line[1] == provider] == ["equal"] * len(
        FAMILIES.split(",")
    )


def test_file_sink_has_every_batch_after_copy(tmp_path: Path) -> None:
    """Spark reads the whole output folder after the restart, with the rows of the original query.

    A batch that a sink has and the commit log lacks runs again, and is skipped.
    """
    command = [sys.executable, str(SINKS), "--queries", "deduplicate", "--sinks", "file"]
    command += ["--stores", "hdfs", "--ways", "evict,planned,batch,foreign"]
    here = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = finish(command, here | {MARK: str(tmp_path)}, ROOT, LONG)
    assert done.returncode == 0, done.stdout
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("deduplicate")]
    verdicts = [(line[3], line[4].rstrip(":")) for line in lines]
    expected = [
        ("evict", "equal"),
        ("planned", "equal"),
        ("batch", "refused"),
        ("foreign", "equal"),
    ]
    assert verdicts == expected


@pytest.mark.skipif(spark_release() < (4, 0), reason="its statestore source compares rows")
def test_spark_restarts_from_copy_with_other_partitions(tmp_path: Path) -> None:
    """Outputs of the later batches and the rows of Spark's own source are those of the original."""
    families = ("left_outer-2", "timers")
    command = [sys.executable, str(SCRIPT), "--families", ",".join(families)]
    command += ["--providers", "hdfs,changelogs", "--partitions", "7"]
    here = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = finish(command, here | {MARK: str(tmp_path)}, ROOT, LONG)
    assert done.returncode == 0, done.stdout
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(families)]
    assert [line[-1] for line in lines] == ["equal"] * 3


@pytest.mark.skipif(spark_release() < (4, 0), reason="it has no transformWithState")
def test_hand_made_copy_reads_schemas_of_original(tmp_path: Path) -> None:
    """The query starts from the copy while the original exists, and fails without it."""
    command = [sys.executable, str(SCRIPT), "--moves"]
    here = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = finish(command, here | {MARK: str(tmp_path)}, ROOT, LONG)
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("timers")]
    assert [line.split()[1] for line in lines] == ["with", "without", "rewritten"]
    assert "rows" in lines[0]
    assert "/_stateSchema/default/" in lines[1]
    assert "does not exist" in lines[1]
    assert "rows" in lines[2]
