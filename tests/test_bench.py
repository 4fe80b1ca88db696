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
