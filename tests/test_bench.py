"""The benchmark works; what it measures is not judged here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmark import shapes
from benchmark.checkpoint import Size, make

from inspector.api import audit
from inspector.sparktypes.ddl import parse_ddl
from tests.encode import row
from tests.spark_support import LONG, MARK, finish

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "bench.py"


@pytest.fixture(scope="module")
def smoke() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--smoke"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800)


def test_benchmark_prints_one_json_document(smoke: subprocess.CompletedProcess[str]) -> None:
    (line,) = smoke.stdout.splitlines()
    document = json.loads(line)
    assert set(document) == {
        *(
            "start",
            "audit",
            "stages",
            "operators",
            "copy",
            "growth",
            "history",
            "again",
            "many",
            "small_files",
            "variants",
            "checkpoint",
            "machine",
        )
    }
    assert set(document["stages"]["seconds"]) == {
        *("lz4 alone", "inflate", "scan", "check rows", "intern", "hash", "replay", "facts")
    }
    assert list(document["growth"]) == ["base", "3x keys", "3x versions", "3x partitions"]
    assert set(document["audit"]) == {
        *("wall_s", "cpu_s", "peak_mb", "bytes_per_key"),
        *("spark_version_mb", "peak_per_spark_version"),
    }
    assert {"info_per_imports", "audit_per_imports"} <= set(document["start"])
    assert document["again"]["estimate"] == {"lists": 1.0, "gets": 1.0}
    assert document["many"]["peak_mb"].keys() == {"1", "3"}
    assert document["many"]["held_against"] == 1
    assert set(document["small_files"]) == {"audit_us", "read_us", "x"}
    assert document["checkpoint"]["keys"] == 2000
    assert {"python", "numpy", "pyarrow", "cpu", "cores"} <= set(document["machine"])


def test_benchmark_prints_table_of_each_measurement(
    smoke: subprocess.CompletedProcess[str],
) -> None:
    titles = [line for line in smoke.stderr.splitlines() if line and not line.startswith(" ")]
    assert [title.split(",")[0] for title in titles] == [
        "start-up",
        "the whole process",
        "stages",
        "operators",
        "copy",
        "cost as the work grows",
        "long histories",
        "an estimate",
        "a fleet again",
        "many checkpoints",
        "small files",
        "with an option and without: 1",
    ]


def test_benchmark_reports_options_as_ratios(smoke: subprocess.CompletedProcess[str]) -> None:
    variants = json.loads(smoke.stdout)["variants"]
    assert variants.keys() == {
        *("second_core_wall", "memory_limit_wall", "memory_limit_peak_per_limit"),
        *("subset_cpu", "history_cpu"),
    }
    assert all(ratio > 0 for ratio in variants.values())


def test_growth_cases_multiply_keys_versions_partitions(
    smoke: subprocess.CompletedProcess[str],
) -> None:
    growth = json.loads(smoke.stdout)["growth"]
    base = growth["base"]
    for case, keys in (("3x keys", 3), ("3x versions", 1), ("3x partitions", 3)):
        assert growth[case]["keys"] == keys * base["keys"]
        assert 2 * base["records"] < growth[case]["records"] < 4 * base["records"]


def test_benchmark_counts_records_of_each_operator(smoke: subprocess.CompletedProcess[str]) -> None:
    operators = json.loads(smoke.stdout)["operators"]
    assert {name: item["records"] for name, item in operators.items()} == {
        "windowed count": 4000,  # in three versions: some keys are put again
        "group state with timers": 4000,
        "stream-stream join": 2000,
        "session windows": 4000,
        "deduplication": 2000,
    }
    measured = {"records", "file_bytes", "wall_s", "ns_per_record", "memory_mb", "bytes_per_key"}
    assert all(set(value) == measured for value in operators.values())


def test_long_history_is_compared_with_a_tenth(
    smoke: subprocess.CompletedProcess[str],
) -> None:
    history = json.loads(smoke.stdout)["history"]
    assert list(history) == ["delta only", "with snapshots"]
    for value in history.values():
        assert (value["tenth"]["versions"], value["whole"]["versions"]) == (1, 10)
        assert value["whole"]["records"] > 6 * value["tenth"]["records"]
        assert set(value["ratios"]) == {"bytes", "time", "memory"}
    for part in ("tenth", "whole"):
        deltas, snapshots = history["delta only"][part], history["with snapshots"][part]
        assert snapshots["records"] > deltas["records"]
        assert snapshots["file_bytes"] > deltas["file_bytes"]


def test_second_fleet_audit_requests_new_files_only(
    smoke: subprocess.CompletedProcess[str],
) -> None:
    again = json.loads(smoke.stdout)["again"]
    first, second = again["first"], again["second"]
    # The search lists each checkpoint, and then each is one listing; of the second audit it knows
    # them.
    assert (first["lists"], second["lists"]) == (1 + 2 * 3, 1 + 3)
    assert first["gets"] / 4 < second["gets"] < first["gets"] / 2
    assert set(again["ratios"]) == {"lists", "gets", "requests", "cpu_s"}


def test_history_versions_below_ten_are_refused() -> None:
    command = [sys.executable, str(SCRIPT), "--history-versions", "9"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 2
    assert "--history-versions has no tenth below 10" in done.stderr


def test_benchmark_rows_are_unsafe_rows() -> None:
    numbers, names = np.array([5, -7]), np.array([list(b"anna12345"), list(b"bertha678")], np.uint8)
    inner = shapes.unsafe_rows(2, numbers, None, names)
    rows = shapes.unsafe_rows(2, names, *[None] * 64, inner, 3)
    schema = parse_ddl(
        "name string, "
        + "".join(f"n{i} bigint, " for i in range(64))
        + "inner struct<number: bigint, nothing: bigint, name: string>, three bigint"
    )
    for line, number, name in zip(rows, numbers.tolist(), names, strict=True):
        nested = (number, None, name.tobytes())
        assert line.tobytes() == row(schema, (name.tobytes(), *[None] * 64, nested, 3))


@pytest.mark.parametrize("shape", shapes.SHAPES, ids=lambda shape: str(shape.name))
def test_generated_checkpoint_has_no_problems(shape: shapes.Shape, tmp_path: Path) -> None:
    result = make(tmp_path / "ck", Size(3_000, 6, 3, snapshots=2), shape)
    report = audit(str(result.path))
    assert report.complete
    assert not report.problems
    # Its rows are of weeks, and its few batches of seconds: they are far ahead of both clocks, and
    # a join has removed none of them.
    assert {finding.kind.id for finding in report.findings} <= {"SS205", "SS211", "SS218"}
    assert report.summary["rows"] == 3_000
    assert report.summary["leftovers"] == 0


@pytest.mark.parametrize("shape", shapes.SHAPES, ids=lambda shape: str(shape.name))
def test_generated_snapshots_do_not_change_deltas(shape: shapes.Shape, tmp_path: Path) -> None:
    for name, every in (("deltas", 0), ("both", 2)):
        make(tmp_path / name, Size(400, 4, 2, snapshots=every), shape)
    files = {
        name: {
            file.relative_to(tmp_path / name): file.read_bytes()
            for file in (tmp_path / name).rglob("*.*")
            if file.suffix in (".delta", ".snapshot")
        }
        for name in ("deltas", "both")
    }
    assert files["deltas"].items() < files["both"].items()
    added = files["both"].keys() - files["deltas"].keys()
    assert {file.name for file in added} == {"2.snapshot", "4.snapshot"}


# --- on Spark ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def smoke_on_spark(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--smoke", "--engine", "spark"]
    folder = tmp_path_factory.mktemp("smoke")
    done = finish(command, os.environ | {MARK: str(folder)}, ROOT, LONG)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.spark
def test_spark_benchmark_measures_one_and_two_cores(
    smoke_on_spark: subprocess.CompletedProcess[str],
) -> None:
    (line,) = smoke_on_spark.stdout.splitlines()
    document = json.loads(line)
    assert set(document) == {"engine", "checkpoint", "machine"}
    engine = document["engine"]
    assert list(engine["rounds"]) == ["1", "2"]
    for rounds in engine["rounds"].values():
        assert list(rounds) == ["spark", "local", "count", "values"]
        assert all(item["wall_s"] > 0 for took in rounds.values() for item in took)
    assert document["checkpoint"]["partitions"] == 2
    assert "audit, Spark engine" in smoke_on_spark.stderr


@pytest.mark.spark
def test_spark_benchmark_reports_worker_memory_by_partition(
    smoke_on_spark: subprocess.CompletedProcess[str],
) -> None:
    memory = json.loads(smoke_on_spark.stdout)["engine"]["memory"]
    base = memory["base"]["partition_mb"]
    assert memory["2x keys"]["partition_mb"] == pytest.approx(2 * base)
    assert memory["2x keys and partitions"]["partition_mb"] == pytest.approx(base)
    assert all(0 < value["start_mb"] <= value["peak_mb"] for value in memory.values())


def test_spark_benchmark_without_spark_is_refused() -> None:
    command = [sys.executable, str(SCRIPT), "--engine", "spark", "--no-spark"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 2
    assert "--engine spark has nothing to measure with --no-spark" in done.stderr
