"""The benchmark works; what it measures is not judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "bench.py"


@pytest.fixture(scope="module")
def smoke() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--smoke"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)


def test_one_line_of_json_tells_everything(smoke: subprocess.CompletedProcess[str]) -> None:
    (line,) = smoke.stdout.splitlines()
    found = json.loads(line)
    assert set(found) == {"start", "audit", "stages", "growth", "checkpoint", "machine"}
    assert set(found["stages"]["seconds"]) == {
        *("lz4 alone", "inflate", "scan", "check rows", "intern", "hash", "replay", "facts")
    }
    assert list(found["growth"]) == ["base", "3x keys", "3x versions", "3x partitions"]
    assert {"wall_s", "cpu_s", "peak_mb", "peak_per_spark_version"} <= set(found["audit"])
    assert "info_per_imports" in found["start"]
    assert found["checkpoint"]["keys"] == 2000
    assert {"python", "numpy", "pyarrow", "cpu", "cores"} <= set(found["machine"])


def test_each_measurement_has_its_table(smoke: subprocess.CompletedProcess[str]) -> None:
    titles = [line for line in smoke.stderr.splitlines() if line and not line.startswith(" ")]
    assert [title.split(",")[0] for title in titles] == [
        "start-up",
        "the whole process",
        "stages",
        "cost as the work grows",
    ]


def test_what_grows_is_what_the_case_says(smoke: subprocess.CompletedProcess[str]) -> None:
    growth = json.loads(smoke.stdout)["growth"]
    base = growth["base"]
    for case, keys in (("3x keys", 3), ("3x versions", 1), ("3x partitions", 3)):
        assert growth[case]["keys"] == keys * base["keys"]
        assert 2 * base["records"] < growth[case]["records"] < 4 * base["records"]


# --- on Spark ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def smoke_on_spark() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--smoke", "--engine", "spark"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)


@pytest.mark.spark
def test_on_spark_every_way_is_measured_on_one_core_and_on_two(
    smoke_on_spark: subprocess.CompletedProcess[str],
) -> None:
    (line,) = smoke_on_spark.stdout.splitlines()
    found = json.loads(line)
    assert set(found) == {"engine", "checkpoint", "machine"}
    engine = found["engine"]
    assert list(engine["rounds"]) == ["1", "2"]
    for rounds in engine["rounds"].values():
        assert list(rounds) == ["spark", "local", "count", "values"]
        assert all(each["wall_s"] > 0 for took in rounds.values() for each in took)
    assert found["checkpoint"]["partitions"] == 2
    assert "audit, Spark engine" in smoke_on_spark.stderr


@pytest.mark.spark
def test_on_spark_the_memory_of_workers_is_told_by_partition(
    smoke_on_spark: subprocess.CompletedProcess[str],
) -> None:
    memory = json.loads(smoke_on_spark.stdout)["engine"]["memory"]
    base = memory["base"]["partition_mb"]
    assert memory["2x keys"]["partition_mb"] == pytest.approx(2 * base)
    assert memory["2x keys and partitions"]["partition_mb"] == pytest.approx(base)
    assert all(0 < each["start_mb"] <= each["peak_mb"] for each in memory.values())


def test_spark_is_not_left_out_of_its_own_benchmark() -> None:
    command = [sys.executable, str(SCRIPT), "--engine", "spark", "--no-spark"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "--engine spark has nothing to measure with --no-spark" in done.stderr
