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
SCRIPT = ROOT / "scripts" / "judge_copies.py"
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
def test_spark_goes_on_from_a_copy_as_from_its_source(
    judged: subprocess.CompletedProcess[str], provider: str
) -> None:
    """Twins of one checkpoint on the same new input; leaked keys are called with hasTimedOut."""
    assert judged.returncode == 0, judged.stdout
    lines = [line.split() for line in judged.stdout.splitlines()]
    assert [line[-1] for line in lines if line[1] == provider] == ["equal"] * len(
        FAMILIES.split(",")
    )
