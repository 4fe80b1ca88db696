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

from benchmark.checkpoint import Size, make
from benchmark.processes import AUDIT, Runs, cores
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
"""How many times the checkpoints of the smaller fleet the larger one has."""


def measure_files(folder: Path, files: int, runs: Runs) -> dict[str, float]:
    """Microseconds of processor time for a small file, beside those of Python alone.

    Args:
        folder: where the checkpoint is made.
        files: deltas of it, of :data:`VERSIONS` versions if they are enough.
        runs: how processes are measured.
    """
    path = folder / "small_files"
    shutil.rmtree(path, ignore_errors=True)
    versions = min(VERSIONS, files // 2)
    made = make(path, Size(files, versions, files // versions))
    start = runs.audit(WINDOWED_COUNT.fixture, workers=1)
    nothing = runs.best([sys.executable, "-c", READ, str(path / "metadata")])
    audit = runs.audit(path, workers=1)
    alone = runs.best([sys.executable, "-c", READ, str(path)])
    count = sum(entry.is_file() for entry in path.rglob("*"))
    each = (audit.cpu_s - start.cpu_s) / count * 1e6
    read = (alone.cpu_s - nothing.cpu_s) / count * 1e6
    table(
        f"small files, {count:,} of {made.file_bytes // count} bytes and less",
        ("what", "us a file", "x"),
        [
            ("open and read", f"{read:.1f}", ""),
            ("audit --workers 1, less its start", f"{each:.1f}", f"{each / read:.1f}"),
        ],
    )
    return {"audit_us": round(each, 1), "read_us": round(read, 1), "x": round(each / read, 1)}


def measure_fleet(folder: Path, checkpoints: int, runs: Runs, spark: bool) -> dict[str, float]:
    """Peak memory of the process that audits a fleet, and one of ten times as many.

    Args:
        folder: where they are made.
        checkpoints: of the larger fleet.
        runs: how processes are measured.
        spark: executors audit them, and the process is the driver.
    """
    base = folder / "many"
    shutil.rmtree(base, ignore_errors=True)
    make(base / "made", Size(200, 3, 2))
    counts = [max(checkpoints // FACTOR, 1), checkpoints]
    for count in counts:
        for number in range(count):
            shutil.copytree(base / "made", base / str(count) / str(number), copy_function=os.link)
    engine = ["--engine", "spark", "--master", f"local[{cores()}]"] if spark else []
    command = [sys.executable, "-c", AUDIT, "audit", "--fail-on", "never", "--recursive", *engine]
    fleets = [runs.best([*command, str(base / str(count))]) for count in counts]
    ratio = fleets[1].peak_mb / fleets[0].peak_mb
    table(
        "many checkpoints" + (", on Spark" if spark else ""),
        ("checkpoints", "cpu s", "peak MB", "x"),
        [
            (f"{count:,}", f"{run.cpu_s:.2f}", f"{run.peak_mb:.0f}", x)
            for count, run, x in zip(counts, fleets, ("", f"{ratio:.2f}"), strict=True)
        ],
    )
    return {"peak_mb": round(fleets[1].peak_mb), "peak_of_ten_times_as_many": round(ratio, 2)}
