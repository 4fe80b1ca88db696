"""State of different operators: what each record and each key costs.

Group state has a timer in each value, which is noted; the keys of a join and of session windows are
kept themselves, as their fields are facts; deduplication puts each key once, with nothing in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmark.checkpoint import Made, Size, kept
from benchmark.processes import Runs
from benchmark.shapes import SHAPES
from benchmark.tables import table

HEAD = (
    *("operator", "records", "wall s", "ns/record", "MB", "B/key"),
    *("Spark s", "x audit", "count s", "x audit"),
)


def measure(folder: Path, size: Size, runs: Runs, spark: bool) -> dict[str, Any]:
    """The audit of each operator's checkpoint, and Spark's count of the same rows."""
    result: dict[str, Any] = {}
    for shape in SHAPES:
        actual = kept(folder / shape.name.replace(" ", "_"), size, shape)
        result[shape.name] = _measured(actual, runs, spark)
    table(
        f"operators, {size.keys:,} keys in {size.partitions} partitions each; ns, MB and B "
        "without the start; MB and B with --workers 1; Spark: session and count, count alone",
        HEAD,
        [(name, *_cells(item)) for name, item in result.items()],
    )
    return result


def _measured(sample: Made, runs: Runs, spark: bool) -> dict[str, Any]:
    run, alone = runs.audit(sample.path), runs.audit(sample.path, workers=1)
    start = runs.audit(sample.shape.fixture, workers=1)
    memory = alone.peak_mb - start.peak_mb
    result: dict[str, Any] = {
        "records": sample.records,
        "file_bytes": sample.file_bytes,
        "wall_s": round(run.wall_s, 2),
        "ns_per_record": round((run.cpu_s - start.cpu_s) / sample.records * 1e9),
        "memory_mb": round(memory, 1),
        "bytes_per_key": round(memory * 1e6 / sample.keys_of_a_partition),
    }
    return result | (runs.spark(sample, run) if spark else {})


def _cells(result: dict[str, Any]) -> tuple[str, ...]:
    ours = (
        f"{result['records']:,}",
        f"{result['wall_s']:.2f}",
        f"{result['ns_per_record']}",
        f"{result['memory_mb']:.0f}",
        f"{result['bytes_per_key']}",
    )
    if "spark" not in result:
        return *ours, "", "", "", ""
    complete = f"{result['spark_session_s'] + result['spark_count_s']:.2f}"
    times = f"{result['faster_than_spark']}", f"{result['faster_than_spark_count_alone']}"
    return *ours, complete, times[0], f"{result['spark_count_s']:.2f}", times[1]
