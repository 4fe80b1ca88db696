"""State of other operators than the windowed count: what each record and each key costs.

Group state has a timer in each value, which is noted; the keys of a join and of session windows are
kept themselves, as their fields are facts; deduplication puts each key once, with nothing in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmark.checkpoint import Made, Size, kept
from benchmark.processes import Runs
from benchmark.shapes import OTHERS
from benchmark.tables import table

HEAD = (
    *("operator", "records", "wall s", "ns/record", "MB", "B/key"),
    *("Spark s", "x audit", "count s", "x audit"),
)


def measure(folder: Path, size: Size, runs: Runs, spark: bool) -> dict[str, Any]:
    """The audit of each operator's checkpoint, and Spark's count of the same rows."""
    found: dict[str, Any] = {}
    for shape in OTHERS:
        made = kept(folder / shape.name.replace(" ", "_"), size, shape)
        found[shape.name] = _measured(made, runs, spark)
    table(
        f"other operators, {size.keys:,} keys in {size.partitions} partitions each; ns, MB and B "
        "without the start; MB and B with --workers 1; Spark: session and count, count alone",
        HEAD,
        [(name, *_cells(each)) for name, each in found.items()],
    )
    return found


def _measured(made: Made, runs: Runs, spark: bool) -> dict[str, Any]:
    run, alone = runs.audit(made.path), runs.audit(made.path, workers=1)
    start = runs.audit(made.shape.fixture, workers=1)
    memory = alone.peak_mb - start.peak_mb
    found: dict[str, Any] = {
        "records": made.records,
        "file_bytes": made.file_bytes,
        "wall_s": round(run.wall_s, 2),
        "ns_per_record": round((run.cpu_s - start.cpu_s) / made.records * 1e9),
        "memory_mb": round(memory, 1),
        "bytes_per_key": round(memory * 1e6 / made.keys_of_a_partition),
    }
    return found | (runs.spark(made, run) if spark else {})


def _cells(found: dict[str, Any]) -> tuple[str, ...]:
    ours = (
        f"{found['records']:,}",
        f"{found['wall_s']:.2f}",
        f"{found['ns_per_record']}",
        f"{found['memory_mb']:.0f}",
        f"{found['bytes_per_key']}",
    )
    if "spark" not in found:
        return *ours, "", "", "", ""
    whole = f"{found['spark_session_s'] + found['spark_count_s']:.2f}"
    times = f"{found['faster_than_spark']}", f"{found['faster_than_spark_count_alone']}"
    return *ours, whole, times[0], f"{found['spark_count_s']:.2f}", times[1]
