"""The engine on Spark: against Spark's own source, against one core, and what its workers hold.

Each session is a process of its own (``benchmark/spark_session.py``). In it the audit on Spark, the
audit in the driver's process and two reads by Spark's ``statestore`` source take turns, so that
what else the machine does falls on all of them; the start of the session counts for none. The
``statestore`` source compiles itself to machine code while it runs for the first time, and its
times scatter later too: the first round and the median are told beside the best. The memory of a
Python worker is its peak beyond what it had before, when it had audited a small checkpoint; it is
held against the rows of the largest partition.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.checkpoint import ROW_BYTES, Made, Size, kept
from benchmark.processes import Runs, warm_memory
from benchmark.tables import table

ROOT = Path(__file__).resolve().parents[2]
SESSION = Path(__file__).with_name("spark_session.py")
CORES = (1, 2)
OF = ("first", "median", "best", "cpu")
WAYS = {
    "spark": "audit, Spark engine",
    "local": "audit, this process",
    "count": "statestore: count",
    "values": "statestore: hash of every row",
}
HEAP = "600m"  # of the JVM while a checkpoint is reshaped: driver and executors are one process


class Session(NamedTuple):
    """A session of Spark: its cores, its rounds, and memory that is touched before it."""

    cores: int
    rounds: int
    warm_bytes: int


def measure(folder: Path, sample: Made, runs: Runs) -> dict[str, Any]:
    """All of it on a checkpoint, and its memory on others of twice the keys."""
    size = sample.size
    result = {
        cores: session(sample.path, size, Session(cores, runs.repeat, runs.warm_bytes))
        for cores in CORES
    }
    best = {cores: _best(result[cores]["rounds"]) for cores in CORES}
    rows = [row for cores in CORES for row in _rows(cores, result[cores]["rounds"])]
    table(
        f"on Spark {result[1]['spark']}: {size.keys:,} keys, {sample.records:,} records in "
        f"{size.partitions} partitions",
        ("cores, way", *(f"{of} {in_}" for in_ in "sx" for of in OF), "1 core x"),
        [(*row, _ratio(best[1][way], best[cores][way])) for cores, way, row in rows],
    )
    return {
        "spark": result[1]["spark"],
        "session_s": {cores: round(result[cores]["session_s"], 2) for cores in CORES},
        "rounds": {cores: result[cores]["rounds"] for cores in CORES},
        "faster_than_count": {c: round(best[c]["count"] / best[c]["spark"], 2) for c in CORES},
        "faster_than_values": {c: round(best[c]["values"] / best[c]["spark"], 2) for c in CORES},
        "per_local": {c: round(best[c]["spark"] / best[c]["local"], 2) for c in CORES},
        "two_cores_faster": round(best[1]["spark"] / best[2]["spark"], 2),
        "memory": measure_memory(folder, size, runs, result[2]["workers"]),
    }


def measure_reshaping(folder: Path, size: Size, runs: Runs) -> dict[str, float]:
    """Time of a copy from 2 to 16 partitions against an audit in the same session, and memory."""
    sample = kept(folder / "whole", size._replace(partitions=2))
    target = Session(CORES[-1], runs.repeat, runs.warm_bytes)
    outcome = session(sample.path, sample.size, target, ("spark", "reshape"), HEAP)
    audit, copy = (_best(outcome["rounds"])[way] for way in ("spark", "reshape"))
    rounds = list(zip(*outcome["rounds"].values(), strict=True))
    medians = [
        statistics.median(copied[of] / audited[of] for audited, copied in rounds)
        for of in ("wall_s", "cpu_s")
    ]
    result = {
        "audit_s": audit,
        "copy_s": copy,
        "median_per_audit": round(medians[0], 2),
        "median_cpu_per_audit": round(medians[1], 2),
        "worker_mb": round(max(worker["peak_mb"] for worker in outcome["workers"])),
        "driver_mb": round(outcome["driver_mb"]),
        "jvm_mb": round(outcome["jvm_mb"]),
    }
    table(
        f"copy of {size.keys:,} keys from 2 to 16 partitions on Spark",
        tuple(result),
        [tuple(map(str, result.values()))],
    )
    return result


def measure_memory(
    folder: Path, size: Size, runs: Runs, workers: list[dict[str, float]]
) -> dict[str, dict[str, float]]:
    """What the largest Python worker took, as keys grow in the same partitions and in more."""
    more_keys = size._replace(keys=2 * size.keys)
    more_partitions = more_keys._replace(partitions=2 * size.partitions)
    result = {"base": _memory(size, workers)}
    for name, element in (("2x keys", more_keys), ("2x keys and partitions", more_partitions)):
        actual = kept(folder / f"spark_{name.replace(' ', '_')}", element)
        outcome = session(actual.path, element, Session(CORES[-1], 2, runs.warm_bytes), ("spark",))
        result[name] = _memory(element, outcome["workers"])
    head = ("start_mb", "peak_mb", "took_mb", "partition_mb", "took_per_partition")
    table(
        "memory of the largest Python worker, against the rows of the largest partition",
        ("case", "start MB", "peak MB", "took MB", "rows MB", "took x rows"),
        [(name, *(f"{item[key]:.1f}" for key in head)) for name, item in result.items()],
    )
    return result


def session(
    path: Path,
    size: Size,
    target: Session,
    ways: tuple[str, ...] = tuple(WAYS),
    heap: str = "6g",
) -> dict[str, Any]:
    """What one session tells of a checkpoint.

    Args:
        path: the checkpoint.
        size: of the checkpoint.
        target: the session.
        ways: what is done in each round.
        heap: of the JVM, as Spark's conf has it.
    """
    warm_memory(target.warm_bytes)
    numbers = str(target.cores), str(target.rounds)
    command = [sys.executable, str(SESSION), str(path), *numbers, ",".join(ways), heap]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr[-4000:]}")
    document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    expected = dict.fromkeys(ways, size.keys)
    if document["rows"] != expected:
        sys.exit(f"rows by way: {document['rows']}, expected {expected}")
    return document


def _best(rounds: dict[str, list[dict[str, float]]], of: str = "wall_s") -> dict[str, float]:
    return {way: min(item[of] for item in took) for way, took in rounds.items()}


def _rows(
    cores: int, rounds: dict[str, list[dict[str, float]]]
) -> list[tuple[int, str, tuple[str, ...]]]:
    """A line for each way: its seconds, and how many times those of the Spark engine they are."""
    walls = {way: [entry["wall_s"] for entry in took] for way, took in rounds.items()}
    first = {way: took[0] for way, took in walls.items()}
    medians = {way: statistics.median(took) for way, took in walls.items()}
    each_of = (first, medians, _best(rounds), _best(rounds, "cpu_s"))
    return [
        (
            cores,
            way,
            (
                f"{cores}, {words}",
                *(f"{element[way]:.2f}" for element in each_of),
                *(_ratio(item[way], item["spark"]) for item in each_of),
            ),
        )
        for way, words in WAYS.items()
    ]


def _ratio(first: float, second: float) -> str:
    return f"{first / second:.2f}"


def _memory(size: Size, workers: list[dict[str, float]]) -> dict[str, float]:
    """Of the worker that grew most; one started late has no start of its own: the least counts."""
    start = min(item["start_mb"] for item in workers if "start_mb" in item)
    peak = max(worker["peak_mb"] for worker in workers)
    partition = -(-size.keys // size.partitions) * ROW_BYTES / 1e6
    return {
        "start_mb": round(start, 1),
        "peak_mb": round(peak, 1),
        "took_mb": round(peak - start, 1),
        "partition_mb": round(partition, 3),
        "took_per_partition": round((peak - start) / partition, 2),
    }
