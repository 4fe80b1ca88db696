#!/usr/bin/env python3
"""How fast the inspector is, as ratios measured in one run.

    python scripts/bench.py                 the whole of it: needs Java 17 and PySpark 4.3
    python scripts/bench.py --no-spark      without what it is held against
    python scripts/bench.py --engine spark  the engine on Spark instead: needs both too
    python scripts/bench.py --smoke         seconds: only that it works; with Spark without a copy

It makes its checkpoint itself (``benchmark/checkpoint.py``; with ``--folder`` it is kept and used
again) and measures

* the stages of the pass, each alone, against LZ4 decompression alone and, on a smaller share,
  against the Python kernel: seconds of one core (``benchmark/stages.py``);
* the whole ``audit`` process: time from start to end, peak resident memory, and with
  ``--workers 1`` the memory of a key;
* Spark's ``statestore`` source counting the rows of the same files on the same cores; its count
  also says that Spark reads what was made;
* the same for a windowed count, group state with timers, a join, session windows and deduplication,
  of ``--operator-keys`` rows each: what a record and a key costs (``benchmark/operators.py``);
* the copy of the group state's checkpoint with a tenth of its keys evicted, against its audit
  (``benchmark/copying.py``);
* time and memory of ``audit`` as keys, versions and partitions grow ten times;
* long histories of one partition with a fifth of ``--keys``: ``--history-versions`` against a tenth
  of them, with deltas only and with snapshots (``benchmark/history.py``);
* the second audit of a fleet of ``--fleet`` checkpoints with a cache against the first: requests
  and processor time, where one in twenty has a new batch; and the estimate of an audit against what
  the store counts (``benchmark/again.py``);
* the peak memory of the process that audits ``--fleet`` checkpoints against that for a hundredth of
  them, on Spark unless told otherwise, and what one of ``--files`` small files costs
  (``benchmark/many.py``);
* what an option saves or costs: a second core for a lonely partition, ``--memory-limit``,
  ``verify --subset``, ``audit --history`` (``benchmark/variants.py``);
* the starts of ``inspector info`` and of a small ``audit`` against
  ``python -c 'import pyarrow, numpy'``.

With ``--engine spark`` it measures the audit on one and on two cores of Spark, against Spark's
``statestore`` source in the same session, the memory of its Python workers, and a copy from 2 to 16
partitions against the audit (``benchmark/on_spark.py``; 16 partitions if not said otherwise).
``--reshape`` measures that copy alone.

Each measurement is the best of ``--repeat``. A table each, and one line of JSON at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

# The folder of this script, and then the package.
from benchmark import again, copying, history, many, on_spark, operators, stages, variants  # noqa: E402
from benchmark.checkpoint import ROW_BYTES, Made, Size, kept  # noqa: E402
from benchmark.processes import Run, Runs, cores, warm_memory  # noqa: E402
from benchmark.shapes import WINDOWED_COUNT  # noqa: E402
from benchmark.tables import table  # noqa: E402

SPARK_OVERHEAD = 688_000_000 / 3_000_000 - 96
"""Bytes a row costs beside its UnsafeRows, by Spark 4.3's ``stateOnCurrentVersionSizeBytes``
(688 MB for 3 million rows of 96 bytes)."""

IMPORTS = "import pyarrow, numpy"
WARM_BYTES = 2 << 30  # more than an audit here takes, and what Spark's heap begins with


# --- what is measured ------------------------------------------------------------------------


def measure_stages(sample: Made, small: Made, runs: Runs) -> dict[str, Any]:
    """Stages with the C kernel; with both kernels on the smaller share."""
    warm_memory(runs.warm_bytes)
    complete = stages.best(sample.path, runs.repeat)
    share, twin = stages.best(small.path, runs.repeat), stages.best(small.path, 1, "python")
    lz4 = complete.seconds["lz4 alone"]
    rows = [
        _stage(name, took, complete, twin.seconds[name] / max(share.seconds[name], 1e-9))
        for name, took in complete.seconds.items()
    ]
    pair = twin.decode_to_map / share.decode_to_map
    took = complete.decode_to_map
    rows.append(_stage("decode to map", took, complete, pair))
    table(
        f"stages, seconds of one core: {complete.records:,} records, "
        f"{complete.raw_bytes / 1e6:.0f} MB raw",
        ("stage", "s", "x lz4 alone", "ns/record", "python kernel x"),
        rows,
    )
    return {
        "seconds": rounded(complete.seconds),
        "decode_to_map_s": round(took, 3),
        "decode_to_map_per_lz4": round(took / lz4, 2),
        "python_kernel_per_c": round(pair, 1),
    }


def _stage(name: str, took: float, complete: stages.Stages, twin: float) -> tuple[str, ...]:
    per_lz4, per_record = took / complete.seconds["lz4 alone"], took / complete.records * 1e9
    return name, f"{took:.3f}", f"{per_lz4:.2f}", f"{per_record:.0f}", f"{twin:.0f}"


def measure_whole(sample: Made, runs: Runs, spark: bool) -> dict[str, Any]:
    """The whole audit against Spark's count."""
    run, alone = runs.audit(sample.path), runs.audit(sample.path, workers=1)
    memory = alone.peak_mb - runs.audit(sample.shape.fixture, workers=1).peak_mb
    version_mb = sample.size.keys * (ROW_BYTES + SPARK_OVERHEAD) / 1e6
    result: dict[str, Any] = {
        "wall_s": round(run.wall_s, 2),
        "cpu_s": round(run.cpu_s, 2),
        "peak_mb": round(run.peak_mb),
        "spark_version_mb": round(version_mb),
        "peak_per_spark_version": round(run.peak_mb / version_mb, 2),
        "bytes_per_key": round(memory * 1e6 / sample.keys_of_a_partition),
    }
    rows = [
        ("audit", *_cells(run), "", ""),
        ("audit --workers 1", *_cells(alone), f"{result['bytes_per_key']}", ""),
        ("one version in Spark, by its own metric", "", "", f"{version_mb:.0f}", "", ""),
    ]
    if spark:
        result |= runs.spark(sample, run)
        session, count = result["spark_session_s"], result["spark_count_s"]
        complete, only = result["faster_than_spark"], result["faster_than_spark_count_alone"]
        rows.append(
            ("Spark: session and count", f"{session + count:.2f}", "", "", "", f"{complete}")
        )
        rows.append(("Spark: count alone", f"{count:.2f}", "", "", "", f"{only}"))
    table(
        f"the whole process, {cores()} cores: {sample.size.keys:,} keys, "
        f"{sample.records:,} records, "
        f"{sample.raw_bytes / 1e6:.0f} MB raw, {sample.file_bytes / 1e6:.0f} MB in files",
        ("process", "wall s", "cpu s", "peak MB", "B/key", "x audit"),
        rows,
    )
    return result


def _cells(run: Run) -> tuple[str, str, str]:
    return f"{run.wall_s:.2f}", f"{run.cpu_s:.2f}", f"{run.peak_mb:.0f}"


def measure_growth(folder: Path, size: Size, factor: int, runs: Runs) -> dict[str, Any]:
    """Processor time beyond the start and peak memory of audits of growing checkpoints."""
    # More versions of the same keys, with more updates: only history grows.
    updates = (1 + size.updates) * factor - 1
    extras = Size(size.keys, size.versions * factor, size.partitions, updates)
    cases = {
        "base": size,
        f"{factor}x keys": size._replace(keys=size.keys * factor),
        f"{factor}x versions": extras,
        f"{factor}x partitions": size._replace(
            keys=size.keys * factor, partitions=size.partitions * factor
        ),
    }
    start = runs.audit(WINDOWED_COUNT.fixture)
    result: dict[str, Any] = {}
    rows: list[tuple[str, ...]] = []
    for name, item in cases.items():
        actual = kept(folder / name.replace(" ", "_"), item)
        run = runs.audit(actual.path)
        cost, memory = run.cpu_s - start.cpu_s, run.peak_mb - start.peak_mb
        result[name] = {
            "records": actual.records,
            "keys": item.keys,
            "cpu_s": round(cost, 3),
            "memory_mb": round(memory, 1),
        }
        base = result["base"]
        times = (
            actual.records / base["records"],
            cost / max(base["cpu_s"], 1e-3),
            memory / max(base["memory_mb"], 0.1),
        )
        counts = (f"{item.keys:,}", f"{actual.records:,}", f"{cost:.2f}", f"{memory:.0f}")
        rows.append((name, *counts, *(f"{time:.1f}" for time in times)))
    table(
        "cost as the work grows, without that of the start",
        ("case", "keys", "records", "cpu s", "MB", "x records", "x time", "x memory"),
        rows,
    )
    return result


def measure_start(runs: Runs) -> dict[str, Any]:
    """The start of the command against the imports it cannot do without."""
    often = Runs(3 * runs.repeat, runs.warm_bytes // 8)  # a start takes little memory
    fixture = str(WINDOWED_COUNT.fixture)
    command = [sys.executable, "-m", "inspector"]
    names = ("info", "audit")
    commands = [[*command, name, fixture] for name in names]
    imports, *runs_of = often.best_of([sys.executable, "-c", IMPORTS], *commands)
    starts = dict(zip(names, runs_of, strict=True))
    table(
        "start-up",
        ("process", "wall s", "cpu s"),
        [
            (f"python -c '{IMPORTS}'", f"{imports.wall_s:.3f}", f"{imports.cpu_s:.3f}"),
            *(
                (
                    f"inspector {name}",
                    *(
                        f"{mine:.3f}, {mine / base:.2f} x"
                        for mine, base in zip(run[:2], imports[:2], strict=True)
                    ),
                )
                for name, run in starts.items()
            ),
        ],
    )
    ratios = {f"{name}_s": round(run.wall_s, 3) for name, run in starts.items()}
    for name, run in starts.items():
        ratios[f"{name}_per_imports"] = round(run.wall_s / imports.wall_s, 2)
        ratios[f"{name}_per_imports_cpu"] = round(run.cpu_s / imports.cpu_s, 2)
    return {"imports_s": round(imports.wall_s, 3)} | ratios


# --- the rest --------------------------------------------------------------------------------


def rounded(numbers: dict[str, float]) -> dict[str, float]:
    """Milliseconds are enough."""
    return {name: round(number, 3) for name, number in numbers.items()}


def machine() -> dict[str, Any]:
    """Versions, and what they ran on."""
    result: dict[str, Any] = {"python": platform.python_version(), "system": platform.platform()}
    installed = {distribution.name: distribution.version for distribution in distributions()}
    result |= {name: installed.get(name) for name in ("numpy", "pyarrow", "pyspark")}
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        result["cpu"] = next(line.split(": ")[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        result["cpu"] = platform.processor()
    result["cores"] = os.cpu_count()
    return result


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=3_000_000, help="of all partitions together")
    parser.add_argument("--versions", type=int, default=10)
    parser.add_argument("--operator-keys", type=int, default=2_000_000, help="of each operator")
    parser.add_argument("--history-versions", type=int, default=1_000, help="ten or more")
    parser.add_argument("--fleet", type=int, default=1_000, help="checkpoints of a fleet")
    parser.add_argument("--files", type=int, default=20_000, help="of some hundred bytes")
    parser.add_argument("--partitions", type=int, help="2; 16 with --engine spark")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    parser.add_argument("--reshape", action="store_true", help="only the copy on Spark")
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="tiny; Spark for --engine spark alone")
    parser.add_argument("--json", action="store_true", help="only the line of JSON")
    parser.add_argument("--folder", type=Path, help="where checkpoints are made and kept")
    args = parser.parse_args()
    args.partitions = args.partitions or (16 if args.engine == "spark" else 2)
    if args.no_spark and args.engine == "spark":
        parser.error("--engine spark has nothing to measure with --no-spark")
    if args.history_versions < history.FACTOR:
        parser.error(f"--history-versions has no tenth below {history.FACTOR}")
    if args.smoke:
        args.keys, args.versions, args.partitions, args.repeat = 2_000, 3, 2, 1
        args.operator_keys, args.history_versions = 2_000, 10
        args.no_spark, args.fleet, args.files = True, 3, 40
    return args


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Everything, in one run."""
    size = Size(arguments.keys, arguments.versions, arguments.partitions)
    runs = Runs(arguments.repeat, 0 if arguments.smoke else WARM_BYTES)
    if arguments.reshape:
        return {"reshape": on_spark.measure_reshaping(folder, size, runs), "machine": machine()}
    if arguments.engine == "spark":
        result = kept(folder / "spark_whole", size)
        engine = on_spark.measure(folder, result, runs)
        if not arguments.smoke:
            engine["reshape"] = on_spark.measure_reshaping(folder, size, runs)
        return {"engine": engine} | about(result)
    result = kept(folder / "whole", size)
    small = kept(folder / "share", size._replace(keys=max(arguments.keys // 60, 100)))
    base = size._replace(keys=max(arguments.keys // 15, 100))
    siblings, spark = size._replace(keys=arguments.operator_keys), not arguments.no_spark
    return {
        "start": measure_start(runs),
        "audit": measure_whole(result, runs, spark),
        "stages": measure_stages(result, small, runs),
        "operators": operators.measure(folder, siblings, runs, spark),
        "copy": copying.measure(folder, siblings, runs),
        "growth": measure_growth(folder, base, 3 if arguments.smoke else 10, runs),
        "history": history.measure(folder, arguments.keys // 5, arguments.history_versions, runs),
        "again": again.measure(folder, arguments.fleet),
        "many": many.measure_fleet(folder, arguments.fleet, runs, spark),
        "small_files": many.measure_files(folder, arguments.files, runs),
        "variants": variants.measure(folder, arguments.operator_keys // 2, arguments.files, runs),
    } | about(result)


def about(sample: Made) -> dict[str, Any]:
    """What was read, and on what."""
    size, numbers = sample.size, ("records", "raw_bytes", "file_bytes")
    checkpoint = {"keys": size.keys} | {name: getattr(sample, name) for name in numbers}
    checkpoint |= {"versions": size.versions, "partitions": size.partitions}
    return {"checkpoint": checkpoint, "machine": machine()}


def main() -> None:
    """Measure and tell."""
    result = options()
    if result.json:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the tables go there
    if result.folder:
        result.folder.mkdir(parents=True, exist_ok=True)
        print(json.dumps(measure(result.folder, result)))
        return
    with tempfile.TemporaryDirectory(prefix="inspector-bench-") as folder:
        print(json.dumps(measure(Path(folder), result)))


if __name__ == "__main__":
    main()
