"""Queries of a real Spark go on from copies as from their sources."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.spark.support import spark_release
from tests.spark_support import LONG, MARK, finish

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "lab" / "judge_copies.py"
SINKS = ROOT / "scripts" / "lab" / "judge_sinks.py"
IS_NEW = spark_release() >= (4, 0)


def judge(script: Path, folder: Path, *words: str) -> list[list[str]]:
    """Run a script that judges copies by Spark, and return the words of each line it prints.

    Raises:
        AssertionError: the script found a fault; with all that it printed.
    """
    here = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, MARK: str(folder)}
    done = finish([sys.executable, str(script), *words], os.environ | here, ROOT, LONG)
    assert done.returncode == 0, done.stdout
    return [line.split() for line in done.stdout.splitlines()]


STATEFUL = [("stateful", "hdfs", "equal"), ("stateful", "changelogs", "equal")]
AGGREGATION = [("aggregation", "hdfs", "equal"), ("aggregation", "changelogs", "equal")]


@pytest.mark.parametrize(
    ("families", "verdicts"),
    [
        pytest.param(
            "aggregation,stateful",
            AGGREGATION + STATEFUL,
            marks=pytest.mark.skipif(not IS_NEW, reason="an old Spark judges one family"),
        ),
        pytest.param(
            "stateful",
            STATEFUL,
            marks=pytest.mark.skipif(IS_NEW, reason="the newest Spark judges both families"),
        ),
    ],
)
def test_spark_restarts_from_copy_as_from_source(
    families: str, verdicts: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    """Twins of one checkpoint on the same new input; leaked keys are called with hasTimedOut."""
    lines = judge(SCRIPT, tmp_path, "--families", families, "--providers", "hdfs,changelogs")
    assert [(line[0], line[1], line[-1]) for line in lines[2:]] == verdicts


def test_file_sink_has_every_batch_after_copy(tmp_path: Path) -> None:
    """Spark reads the whole output folder after the restart, with the rows of the original query.

    A batch that a sink has and the commit log lacks runs again, and is skipped.
    """
    words = ("--queries", "deduplicate", "--sinks", "file", "--stores", "hdfs")
    lines = judge(SINKS, tmp_path, *words, "--ways", "evict,planned,batch,foreign")
    verdicts = [(line[3], line[4]) for line in lines if line[0] == "deduplicate"]
    assert verdicts == [
        ("evict", "equal"),
        ("planned", "equal"),
        ("batch", "refused:"),
        ("foreign", "equal"),
    ]


@pytest.mark.skipif(not IS_NEW, reason="its statestore source compares rows")
def test_spark_restarts_from_copy_with_other_partitions(tmp_path: Path) -> None:
    """Outputs of the later batches and the rows of Spark's own source are those of the original."""
    words = ("--families", "left_outer-2:hdfs,timers:changelogs", "--partitions", "7")
    lines = judge(SCRIPT, tmp_path, *words)
    assert [(line[0], line[1], line[-1]) for line in lines[2:]] == [
        ("left_outer-2", "hdfs", "equal"),
        ("timers", "changelogs", "equal"),
    ]


@pytest.mark.skipif(not IS_NEW, reason="it has no transformWithState")
def test_hand_made_copy_reads_schemas_of_original(tmp_path: Path) -> None:
    """The query starts from the copy while the original exists, and fails without it."""
    _, beside, alone, rewritten = judge(SCRIPT, tmp_path, "--moves")
    assert beside[:4] == ["timers", "with", "the", "original:"]
    assert beside[-1] == rewritten[-1] == "rows"
    assert alone[:4] == ["timers", "without", "the", "original:"]
    assert "/_stateSchema/default/" in " ".join(alone)
    assert "does not exist" in " ".join(alone)
    assert rewritten[:4] == ["timers", "rewritten", "the", "original:"]
