"""Many files, and many checkpoints: what each costs where it is small.

A partition of a query with few keys has deltas of some hundred bytes, so that an audit is as fast
as it opens files: it is held against Python's own ``open(file).read()`` of the same files. And the
process that audits a fleet is to hold the same, however many checkpoints it has: with Spark that is
the driver.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from benchmark.checkpoint import Made, Size, kept, make
from benchmark.processes import AUDIT, Run, Runs, cores
from benchmark.shapes import WINDOWED_COUNT
from benchmark.tables import table

READ = """
import sys
from pathlib import Path
for path in Path(sys.argv[1]).rglob("*"):
    if path.is_file():
        with open(path, "rb") as file:
            file.read()
"""
VERSIONS = 100
FACTOR = 10
"""A fleet has so many times the checkpoints of the next smaller one, the smallest has one."""
GROWTH = 100
"""The largest fleet is held against one with so many times fewer checkpoints."""


def small_files(folder: Path, files: int) -> Made:
    """A checkpoint of so many deltas, of :data:`VERSIONS` versions if they are enough."""
    versions = min(VERSIONS, files // 2)
    return kept(folder / "small_files", Size(files, versions, files // versions))


def measure_files(folder: Path, files: int, runs: Runs) -> dict[str, float]:
    """Microseconds of processor time for a small file, beside those of Python alone.

    Args:
        folder: where the checkpoint is made.
        files: deltas of it.
        runs: how processes are measured.
    """
    result = small_files(folder, files)
    path = result.path
    start = runs.audit(WINDOWED_COUNT.fixture, workers=1)
    nothing = runs.best([sys.executable, "-c", READ, str(path / "metadata")])
    audit = runs.audit(path, workers=1)
    alone = runs.best([sys.executable, "-c", READ, str(path)])
    count = sum(entry.is_file() for entry in path.rglob("*"))
    item = (audit.cpu_s - start.cpu_s) / count * 1e6
    read = (alone.cpu_s - nothing.cpu_s) / count * 1e6
    table(
        f"small files, {count:,} of {result.file_bytes // count} bytes and less",
        ("what", "us a file", "x"),
        [
            ("open and read", f"{read:.1f}", ""),
            ("audit --workers 1, less its start", f"{item:.1f}", f"{item / read:.1f}"),
        ],
    )
    return {"audit_us": round(item, 1), "read_us": round(read, 1), "x": round(item / read, 1)}


def measure_fleet(folder: Path, checkpoints: int, runs: Runs, spark: bool) -> dict[str, Any]:
    """Peak memory and processor time of the process that audits a fleet, as fleets grow.

    Args:
        folder: where they are made.
        checkpoints: of the largest fleet.
        runs: how processes are measured; the largest takes minutes, and is measured once.
        spark: executors audit them, and the process is the driver.
    """
    base = folder / "many"
    shutil.rmtree(base, ignore_errors=True)
    make(base / "made", Size(200, 3, 2))
    counts = [checkpoints]
    while counts[0] > 1:
        counts.insert(0, counts[0] // FACTOR or 1)
    engine = ["--engine", "spark", "--master", f"local[{cores()}]"] if spark else []
    command = [sys.executable, "-c", AUDIT, "audit", "--fail-on", "never", "--recursive", *engine]
    fleets: dict[int, Run] = {}
    for count in counts:
        for number in range(count):
            shutil.copytree(base / "made", base / str(count) / str(number), copy_function=os.link)
        turns = runs if count < checkpoints else runs._replace(repeat=1)
        fleets[count] = turns.best([*command, str(base / str(count))])
    result = max((count for count in counts if count * GROWTH <= checkpoints), default=counts[0])
    ratio = fleets[checkpoints].peak_mb / fleets[result].peak_mb
    table(
        "many checkpoints" + (", on Spark" if spark else ""),
        ("checkpoints", "wall s", "cpu s", "peak MB", "x memory"),
        [
            (
                *(f"{count:,}", f"{run.wall_s:.2f}", f"{run.cpu_s:.2f}", f"{run.peak_mb:.0f}"),
                f"{run.peak_mb / fleets[result].peak_mb:.2f}",
            )
            for count, run in fleets.items()
        ],
    )
    return {
        "peak_mb": {count: round(run.peak_mb) for count, run in fleets.items()},
        "held_against": result,
        "peak_ratio": round(ratio, 2),
    }
