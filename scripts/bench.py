#!/usr/bin/env python3
"""How fast the inspector is, as ratios measured in one run.

    python scripts/bench.py                 the whole of it: needs Java 17 and PySpark 4.3
    python scripts/bench.py --no-spark      without what it is held against
    python scripts/bench.py --engine spark  the engine on Spark instead: needs both too
    python scripts/bench.py --smoke         seconds: only that it works

It makes its checkpoint itself (``benchmark/checkpoint.py``; with ``--folder`` it is kept and used
again) and measures

* the stages of the pass, each alone, against LZ4 decompression alone and, on a smaller share,
  against the Python kernel: seconds of one core (``benchmark/stages.py``);
* the whole ``audit`` process: time from start to end, and peak resident memory;
* Spark's ``statestore`` source counting the rows of the same files on the same cores; its count
  also says that Spark reads what was made;
* time and memory of ``audit`` as keys, versions and partitions grow ten times;
* the start of ``inspector info`` against ``python -c 'import pyarrow, fsspec, click'``.

With ``--engine spark`` it measures the audit on one and on two cores of Spark, against Spark's
``statestore`` source in the same session, and the memory of its Python workers
(``benchmark/on_spark.py``; 16 partitions if not said otherwise).

Each measurement is the best of ``--repeat``. A table each, and one line of JSON at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

# The folder of this script, and then the package.
from benchmark import on_spark, stages  # noqa: E402
from benchmark.checkpoint import FIXTURE, ROW_BYTES, UPDATES, Made, Size, kept  # noqa: E402
from benchmark.tables import table  # noqa: E402

SPARK_OVERHEAD = 688_000_000 / 3_000_000 - 96
"""Bytes a row costs beside its UnsafeRows, by Spark 4.3's ``stateOnCurrentVersionSizeBytes``
(688 MB for 3 million rows of 96 bytes)."""

IMPORTS = "import pyarrow, fsspec, click"
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
rows = spark.read.format("statestore").load(sys.argv[1]).count()
done = time.time()
print(json.dumps({"version": spark.version, "session_s": begun - start, "count_s": done - begun,
                  "rows": rows}))
"""


class Run(NamedTuple):
    """A process from start to end: wall clock, processor time, peak of resident memory."""

    wall_s: float
    cpu_s: float
    peak_mb: float = 0.0


def process(command: list[str], repeat: int) -> Run:
    """The best of some runs of a command."""
    runs = [_process(command) for _ in range(repeat)]
    return Run(*(min(column) for column in zip(*runs, strict=True)))


def _process(command: list[str]) -> Run:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, os.times()
    if done.returncode:
        sys.exit(f"{' '.join(command)[:200]}\n{done.stdout}{done.stderr}")
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    peak = [int(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("peak ")]
    return Run(wall, cpu, peak[0] / 1e3 * 1.024 if peak else 0.0)


def audit(path: Path, repeat: int) -> Run:
    """The whole process of ``inspector audit``."""
    return process([sys.executable, "-c", AUDIT, "audit", "--fail-on", "never", str(path)], repeat)


def spark_count(path: Path, cores: int) -> dict[str, Any]:
    """Rows of the newest version by Spark's ``statestore`` source, and how long that took."""
    command = [sys.executable, "-c", SPARK, str(path), str(cores)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"Spark does not read what was made:\n{done.stderr[-4000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


# --- what is measured ------------------------------------------------------------------------


def measure_stages(made: Made, small: Made, repeat: int) -> dict[str, Any]:
    """Stages with the C kernel; with both kernels on the smaller share."""
    whole = stages.best(made.path, repeat)
    share, twin = stages.best(small.path, repeat), stages.best(small.path, 1, "python")
    lz4 = whole.seconds["lz4 alone"]
    rows = [
        _stage(name, took, whole, twin.seconds[name] / max(share.seconds[name], 1e-9))
        for name, took in whole.seconds.items()
    ]
    both = twin.decode_to_map / share.decode_to_map
    took = whole.decode_to_map
    rows.append(_stage("decode to map", took, whole, both))
    table(
        f"stages, seconds of one core: {whole.records:,} records, "
        f"{whole.raw_bytes / 1e6:.0f} MB raw",
        ("stage", "s", "x lz4 alone", "ns/record", "python kernel x"),
        rows,
    )
    return {
        "seconds": rounded(whole.seconds),
        "decode_to_map_s": round(took, 3),
        "decode_to_map_per_lz4": round(took / lz4, 2),
        "python_kernel_per_c": round(both, 1),
    }


def _stage(name: str, took: float, whole: stages.Stages, twin: float) -> tuple[str, ...]:
    per_lz4, per_record = took / whole.seconds["lz4 alone"], took / whole.records * 1e9
    return name, f"{took:.3f}", f"{per_lz4:.2f}", f"{per_record:.0f}", f"{twin:.0f}"


def measure_whole(made: Made, repeat: int, spark: bool, cores: int) -> dict[str, Any]:
    """The whole audit against Spark's count."""
    run = audit(made.path, repeat)
    version_mb = made.size.keys * (ROW_BYTES + SPARK_OVERHEAD) / 1e6
    found: dict[str, Any] = {
        "wall_s": round(run.wall_s, 2),
        "cpu_s": round(run.cpu_s, 2),
        "peak_mb": round(run.peak_mb),
        "spark_version_mb": round(version_mb),
        "peak_per_spark_version": round(run.peak_mb / version_mb, 2),
    }
    rows = [
        ("audit", f"{run.wall_s:.2f}", f"{run.cpu_s:.2f}", f"{run.peak_mb:.0f}", ""),
        ("one version in Spark, by its own metric", "", "", f"{version_mb:.0f}", ""),
    ]
    if spark:
        best = [spark_count(made.path, cores) for _ in range(min(repeat, 2))]
        session = min(each["session_s"] for each in best)
        count = min(each["count_s"] for each in best)
        if best[0]["rows"] != made.size.keys:
            sys.exit(f"Spark counts {best[0]['rows']} rows, expected {made.size.keys}")
        found |= {
            "spark": best[0]["version"],
            "spark_session_s": round(session, 2),
            "spark_count_s": round(count, 2),
            "faster_than_spark": round((session + count) / run.wall_s, 1),
            "faster_than_spark_count_alone": round(count / run.wall_s, 1),
        }
        whole, alone = found["faster_than_spark"], found["faster_than_spark_count_alone"]
        rows.append(("Spark: session and count", f"{session + count:.2f}", "", "", f"{whole}"))
        rows.append(("Spark: count alone", f"{count:.2f}", "", "", f"{alone}"))
    table(
        f"the whole process, {cores} cores: {made.size.keys:,} keys, {made.records:,} records, "
        f"{made.raw_bytes / 1e6:.0f} MB raw, {made.file_bytes / 1e6:.0f} MB in files",
        ("process", "wall s", "cpu s", "peak MB", "x audit"),
        rows,
    )
    return found


def measure_growth(folder: Path, size: Size, factor: int, repeat: int) -> dict[str, Any]:
    """Processor time beyond the start and peak memory of audits of growing checkpoints."""
    # More versions of the same keys, with more updates: only history grows.
    updates = (1 + size.updates) * factor - 1
    more = Size(size.keys, size.versions * factor, size.partitions, updates)
    cases = {
        "base": size,
        f"{factor}x keys": size._replace(keys=size.keys * factor),
        f"{factor}x versions": more,
        f"{factor}x partitions": size._replace(
            keys=size.keys * factor, partitions=size.partitions * factor
        ),
    }
    start = audit(FIXTURE, repeat)
    found: dict[str, Any] = {}
    rows: list[tuple[str, ...]] = []
    for name, each in cases.items():
        made = kept(folder / name.replace(" ", "_"), each)
        run = audit(made.path, repeat)
        cost, memory = run.cpu_s - start.cpu_s, run.peak_mb - start.peak_mb
        found[name] = {
            "records": made.records,
            "keys": each.keys,
            "cpu_s": round(cost, 3),
            "memory_mb": round(memory, 1),
        }
        base = found["base"]
        times = (
            made.records / base["records"],
            cost / max(base["cpu_s"], 1e-3),
            memory / max(base["memory_mb"], 0.1),
        )
        counts = (f"{each.keys:,}", f"{made.records:,}", f"{cost:.2f}", f"{memory:.0f}")
        rows.append((name, *counts, *(f"{each:.1f}" for each in times)))
    table(
        "cost as the work grows, without that of the start",
        ("case", "keys", "records", "cpu s", "MB", "x records", "x time", "x memory"),
        rows,
    )
    return found


def measure_start(repeat: int) -> dict[str, Any]:
    """The start of the command against the imports it cannot do without."""
    imports = process([sys.executable, "-c", IMPORTS], 3 * repeat)
    info = process([sys.executable, "-m", "inspector", "info", str(FIXTURE)], 3 * repeat)
    ratio = info.wall_s / imports.wall_s
    table(
        "start-up",
        ("process", "wall s", "cpu s"),
        [
            (f"python -c '{IMPORTS}'", f"{imports.wall_s:.3f}", f"{imports.cpu_s:.3f}"),
            ("inspector info", f"{info.wall_s:.3f}", f"{info.cpu_s:.3f}"),
            ("x", f"{ratio:.2f}", f"{info.cpu_s / imports.cpu_s:.2f}"),
        ],
    )
    return {"imports_s": round(imports.wall_s, 3), "info_s": round(info.wall_s, 3)} | {
        "info_per_imports": round(ratio, 2),
        "info_per_imports_cpu": round(info.cpu_s / imports.cpu_s, 2),
    }


# --- the rest --------------------------------------------------------------------------------


def rounded(numbers: dict[str, float]) -> dict[str, float]:
    """Milliseconds are enough."""
    return {name: round(number, 3) for name, number in numbers.items()}


def machine() -> dict[str, Any]:
    """Versions, and what they ran on."""
    found: dict[str, Any] = {"python": platform.python_version(), "system": platform.platform()}
    installed = {each.name: each.version for each in distributions()}
    found |= {name: installed.get(name) for name in ("numpy", "pyarrow", "pyspark")}
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        found["cpu"] = next(line.split(": ")[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        found["cpu"] = platform.processor()
    found["cores"] = os.cpu_count()
    return found


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=3_000_000, help="of all partitions together")
    parser.add_argument("--versions", type=int, default=10)
    parser.add_argument("--partitions", type=int, help="2; 16 with --engine spark")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="tiny; Spark for --engine spark only")
    parser.add_argument("--json", action="store_true", help="only the line of JSON")
    parser.add_argument("--folder", type=Path, help="where checkpoints are made and kept")
    given = parser.parse_args()
    given.partitions = given.partitions or (16 if given.engine == "spark" else 2)
    if given.no_spark and given.engine == "spark":
        parser.error("--engine spark has nothing to measure with --no-spark")
    if given.smoke:
        given.keys, given.versions, given.partitions, given.repeat = 2_000, 3, 2, 1
        given.no_spark = True
    return given


def measure(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Everything, in one run."""
    size = Size(given.keys, given.versions, given.partitions)
    if given.engine == "spark":
        made = kept(folder / "spark_whole", size)
        return {"engine": on_spark.measure(folder, made, given.repeat)} | about(made)
    cores = os.cpu_count() or 1
    made = kept(folder / "whole", size)
    small = kept(folder / "share", size._replace(keys=max(given.keys // 60, 100)))
    base = Size(max(given.keys // 15, 100), given.versions, given.partitions, UPDATES)
    return {
        "start": measure_start(given.repeat),
        "audit": measure_whole(made, given.repeat, not given.no_spark, cores),
        "stages": measure_stages(made, small, given.repeat),
        "growth": measure_growth(folder, base, 3 if given.smoke else 10, given.repeat),
    } | about(made)


def about(made: Made) -> dict[str, Any]:
    """What was read, and on what."""
    size, numbers = made.size, ("records", "raw_bytes", "file_bytes")
    checkpoint = {"keys": size.keys} | {name: getattr(made, name) for name in numbers}
    checkpoint |= {"versions": size.versions, "partitions": size.partitions}
    return {"checkpoint": checkpoint, "machine": machine()}


def main() -> None:
    """Measure and tell."""
    given = options()
    if given.json:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the tables go there
    if given.folder:
        given.folder.mkdir(parents=True, exist_ok=True)
        print(json.dumps(measure(given.folder, given)))
        return
    with tempfile.TemporaryDirectory(prefix="inspector-bench-") as folder:
        print(json.dumps(measure(Path(folder), given)))


if __name__ == "__main__":
    main()
