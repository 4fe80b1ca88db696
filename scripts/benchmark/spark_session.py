"""One Spark session that audits a checkpoint and reads it with Spark's own source, in turn.

    python scripts/benchmark/spark_session.py CHECKPOINT CORES REPEAT WAYS [HEAP]

WAYS are some of :data:`WAYS`, with commas. Everything runs once on a small checkpoint before it is
measured, so that the session and the Python workers are there; ``REPEAT`` rounds follow, each way
once in a round. Prints one line of JSON: for each way the wall clock and the processor time of all
processes of each round, and the memory of the Python workers, this process and the JVM. HEAP is as
its conf in Spark. Needs Linux's ``/proc``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from inspector.api import Options, audit, copy
from inspector.engines import session as sessions
from inspector.engines.choose import EngineOptions

SMALL = Path(__file__).resolve().parents[2] / "fixtures" / "4.3.0" / "agg_update" / "checkpoint"
TICK = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """What ``/proc`` says of a running process."""

    pid: int
    parent: int
    cpu_s: float
    is_python_daemon: bool
    is_java: bool


def ways(session: SparkSession, cores: int) -> dict[str, Callable[[str], int]]:
    """Name -> reads a checkpoint in that way and tells the rows of its newest version."""

    def spark_engine(path: str) -> int:
        return _audited(path, Options(engine=EngineOptions("spark", session=session)))

    def local_engine(path: str) -> int:
        return _audited(path, Options(engine=EngineOptions("local"), workers=cores))

    def count(path: str) -> int:
        return session.read.format("statestore").load(path).count()

    def values(path: str) -> int:
        frame = session.read.format("statestore").load(path)
        row = frame.agg(F.count("*"), F.sum(F.hash("key", "value"))).first()
        assert row is not None
        return int(row[0])

    def reshape(path: str) -> int:
        with tempfile.TemporaryDirectory(prefix="inspector-bench-") as folder:
            options = Options(engine=EngineOptions("spark", session=session))
            report = copy(path, f"{folder}/copy", options, partitions=NEW_PARTITIONS)
        return int(report.summary["rows"])

    reading = {"spark": spark_engine, "local": local_engine, "count": count, "values": values}
    return {**reading, "reshape": reshape}


NEW_PARTITIONS = 16
"""Partitions of the copy; the checkpoint must have another number of them."""

WAYS = ("spark", "local", "count", "values", "reshape")
"""Audits on Spark and in the driver's process; Spark's source counting, and hashing every row; a
copy with other partitions on Spark."""


def _audited(path: str, options: Options) -> int:
    report = audit(path, options)
    if report.problems:
        sys.exit(f"{len(report.problems)} problems, the first: {report.problems[0]}")
    return int(report.summary["rows"])


def measure(
    path: str, cores: int, repeat: int, names: list[str], heap: str = "6g"
) -> dict[str, Any]:
    """Start a session, warm it up, and run some ways in turn."""
    start = time.perf_counter()
    session = sessions.start(f"local[{cores}]", {"spark.driver.memory": heap})
    begun = time.perf_counter() - start
    chosen = {name: way for name, way in ways(session, cores).items() if name in names}
    for way in chosen.values():
        way(str(SMALL))
    workers: dict[int, dict[str, float]] = {}
    see_workers(workers, "start_mb")
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in chosen}
    rows: dict[str, int] = {}
    for _ in range(repeat):
        for name, way in chosen.items():
            before, start = cpu_s(), time.perf_counter()
            rows[name] = way(path)
            wall = time.perf_counter() - start
            cpu = sum(took - before.get(pid, 0.0) for pid, took in cpu_s().items())
            rounds[name].append({"wall_s": round(wall, 3), "cpu_s": round(cpu, 2)})
            see_workers(workers, "peak_mb")
    return {
        "spark": session.version,
        "session_s": begun,
        "rows": rows,
        "rounds": rounds,
        "workers": [value for value in workers.values() if "peak_mb" in value],
        "driver_mb": _peak_mb(os.getpid()),
        "jvm_mb": max((_peak_mb(item.pid) for item in below() if item.is_java), default=0.0),
    }


def see_workers(seen: dict[int, dict[str, float]], name: str) -> None:
    """Note the peak memory of each Python worker, by process; one that is gone keeps its last."""
    running = list(below())
    daemons = {item.pid for item in running if item.is_python_daemon}
    for element in running:
        if element.is_python_daemon and element.parent in daemons:
            seen.setdefault(element.pid, {})[name] = _peak_mb(element.pid)


def cpu_s() -> dict[int, float]:
    """Processor time so far of this process and of all below it that still run.

    The sum would not do: Spark ends workers that were idle for a minute, and their time with them.
    """
    return {item.pid: item.cpu_s for item in below()}


def below() -> Iterator[Process]:
    """This process and all that it started, by itself or through others."""
    running = {value.pid: value for entry in os.listdir("/proc") if (value := _process(entry))}
    for value in running.values():
        above = value
        while above.pid != os.getpid() and above.parent in running:
            above = running[above.parent]
        if above.pid == os.getpid():
            yield value


def _process(entry: str) -> Process | None:
    if not entry.isdigit():
        return None
    try:
        stat = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
        command = Path(f"/proc/{entry}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return None
    cpu = sum(int(ticks) for ticks in stat[11:13]) / TICK
    is_java = command.split(b"\0")[0].endswith(b"java")
    return Process(int(entry), int(stat[1]), cpu, b"pyspark.daemon" in command, is_java)


def _peak_mb(pid: int) -> float:
    with open(f"/proc/{pid}/status") as status:
        kib = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    return kib * 1024 / 1e6


if __name__ == "__main__":
    print(
        json.dumps(
            measure(
                *(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].split(",")),
                *sys.argv[5:],
            )
        )
    )
