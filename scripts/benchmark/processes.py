"""Processes from start to end: the inspector's, and a Spark that counts rows of the same files."""

from __future__ import annotations

import json
import mmap
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.checkpoint import Made

ROOT = Path(__file__).resolve().parents[2]
AUDIT = """
import sys
from inspector.cli.main import run
try:
    run()
finally:
    try:
        with open("/proc/self/status") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    except OSError:
        import resource
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print("peak", peak, file=sys.stderr)
"""
SPARK = """
import json, sys, time
start = time.time()
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master(f"local[{sys.argv[2]}]").config("spark.driver.memory", "6g")
    .config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").getOrCreate()
)
begun = time.time()
source = spark.read.format("statestore")
rows = [source.option("joinSide", side).load(sys.argv[1]).count() for side in sys.argv[3:]]
done = time.time()
print(json.dumps({"version": spark.version, "session_s": begun - start, "count_s": done - begun,
                  "rows": rows}))
"""
MOST_SPARK_RUNS = 2  # each takes many times as long as one of ours


class Run(NamedTuple):
    """A process from start to end: wall clock, processor time, peak of resident memory."""

    wall_s: float
    cpu_s: float
    peak_mb: float = 0.0


class Runs(NamedTuple):
    """How processes are measured.

    Attributes:
        repeat: how often; the best counts.
        warm_bytes: memory that is touched and given back before each; 0 for none.
    """

    repeat: int
    warm_bytes: int

    def best(self, command: list[str]) -> Run:
        """The best of some runs of a command."""
        return self.best_of(command)[0]

    def best_of(self, *commands: list[str]) -> list[Run]:
        """The best of each, in turns: what else a machine does changes from minute to minute."""
        turns = [[self._run(command) for command in commands] for _ in range(self.repeat)]
        return [
            Run(*(min(column) for column in zip(*runs, strict=True)))
            for runs in zip(*turns, strict=True)
        ]

    def _run(self, command: list[str]) -> Run:
        warm_memory(self.warm_bytes)
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else each would compile all modules anew
        before, start = _children_s(), time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        wall, cpu = time.perf_counter() - start, _children_s() - before
        if done.returncode:
            sys.exit(f"{' '.join(command)[:200]}\n{done.stdout}{done.stderr}")
        peaks = [int(line.split()[1]) for line in done.stderr.splitlines() if line[:5] == "peak "]
        return Run(wall, cpu, peaks[0] / 1e3 * 1.024 if peaks else 0.0)

    def audit(self, path: Path, workers: int | None = None) -> Run:
        """The whole process of ``inspector audit``, with a worker per core unless told."""
        command = [sys.executable, "-c", AUDIT, "audit", "--fail-on", "never", str(path)]
        return self.best(command + (["--workers", str(workers)] if workers else []))

    def spark(self, sample: Made, ours: Run) -> dict[str, Any]:
        """Spark's ``statestore`` source counting the rows of what was made, against our audit.

        Seconds are of the start of its session, and of all counts after it: one for each side of
        a join. Ratios say how many times the audit's wall clock they are.
        """
        counts = [self._spark_count(sample) for _ in range(min(self.repeat, MOST_SPARK_RUNS))]
        session = min(element["session_s"] for element in counts)
        count = min(item["count_s"] for item in counts)
        return {
            "spark": counts[0]["version"],
            "spark_session_s": round(session, 2),
            "spark_count_s": round(count, 2),
            "faster_than_spark": round((session + count) / ours.wall_s, 1),
            "faster_than_spark_count_alone": round(count / ours.wall_s, 1),
        }

    def _spark_count(self, sample: Made) -> dict[str, Any]:
        warm_memory(self.warm_bytes)
        sides = sample.shape.sides
        command = [sys.executable, "-c", SPARK, str(sample.path), str(cores()), *sides]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"Spark does not read what was made:\n{done.stderr[-4000:]}")
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        expected = [sample.keys_of_a_store] * len(sides)
        if answer["rows"] != expected:
            sys.exit(f"{sample.path}: Spark counts {answer['rows']} rows, expected {expected}")
        return answer


def cores() -> int:
    """Of this machine: as many as both may use."""
    return os.cpu_count() or 1


def _children_s() -> float:
    """Processor time of all processes that were started here and have ended.

    ``os.times`` says the same in steps of 10 ms, a tenth of what some of them take.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def warm_memory(size: int) -> None:
    """Touch so many bytes of memory and give them back, so that the next process gets them.

    A virtual machine may get a page from its host only when it is touched for the first time, or
    again after a while without use: up to 50 times as slow as a page that was used a moment ago
    (3 GiB took 7.8 s, and then 0.15 s). Who is measured first would pay for all after it.
    """
    if not size:
        return
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        pages = -(-size // mmap.PAGESIZE)
        memory[:: mmap.PAGESIZE] = bytes([1]) * pages
