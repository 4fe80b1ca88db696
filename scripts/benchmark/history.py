"""Long histories: what more versions of the same keys cost, with deltas only and with snapshots.

One partition, read by one worker: else a partition with so many bytes of files may be divided
among the cores, which is faster and takes other memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmark.checkpoint import UPDATES, Size, kept
from benchmark.processes import Run, Runs
from benchmark.shapes import WINDOWED_COUNT
from benchmark.tables import table

FACTOR = 10
HEAD = ("case", "records", "file MB", "cpu s", "MB", "x bytes", "x time", "x memory")
RATIOS = {"bytes": ("file_bytes", 1), "time": ("cpu_s", 1e-3), "memory": ("memory_mb", 0.1)}
"""What each is a ratio of, and the least that is divided by."""


def measure(folder: Path, keys: int, versions: int, runs: Runs) -> dict[str, Any]:
    """A history against one of a tenth of its versions, with as many records in each of them.

    Args:
        folder: where checkpoints are made.
        keys: of both.
        versions: of the longer one, ten or more; where there are snapshots, it has ten of them.
        runs: how processes are measured.
    """
    start = runs.audit(WINDOWED_COUNT.fixture, workers=1)
    updates = (1 + UPDATES) * FACTOR - 1
    result: dict[str, dict[str, dict[str, float]]] = {}
    for name, snapshots in (("delta only", 0), ("with snapshots", versions // FACTOR)):
        path = folder / f"history_{name.replace(' ', '_')}"
        short = Size(keys, versions // FACTOR, 1, snapshots=snapshots)
        tenth = _cost(path.with_name(f"{path.name}_tenth"), short, runs, start)
        complete = _cost(path, Size(keys, versions, 1, updates, snapshots), runs, start)
        ratios = {
            ratio: round(complete[of] / max(tenth[of], minimum), 2)
            for ratio, (of, minimum) in RATIOS.items()
        }
        result[name] = {"tenth": tenth, "whole": complete, "ratios": ratios}
    table(
        f"long histories, {versions:,} versions of {keys:,} keys in 1 partition, against a tenth "
        "of the versions; without the cost of the start, --workers 1",
        HEAD,
        [row for name, item in result.items() for row in _rows(name, item)],
    )
    return result


def _cost(path: Path, size: Size, runs: Runs, start: Run) -> dict[str, float]:
    """What an audit takes beyond its start."""
    result = kept(path, size)
    run = runs.audit(path, workers=1)
    return {
        "versions": size.versions,
        "records": result.records,
        "file_bytes": result.file_bytes,
        "cpu_s": round(run.cpu_s - start.cpu_s, 3),
        "memory_mb": round(run.peak_mb - start.peak_mb, 1),
    }


def _rows(name: str, result: dict[str, dict[str, float]]) -> list[tuple[str, ...]]:
    tenth, complete = (
        (
            f"{name}, {item['versions']:,} versions",
            f"{item['records']:,}",
            f"{item['file_bytes'] / 1e6:.1f}",
            f"{item['cpu_s']:.2f}",
            f"{item['memory_mb']:.0f}",
        )
        for item in (result["tenth"], result["whole"])
    )
    return [
        (*tenth, "", "", ""),
        (*complete, *(f"{value:.1f}" for value in result["ratios"].values())),
    ]
