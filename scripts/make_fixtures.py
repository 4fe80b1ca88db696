"""Make the checkpoints under fixtures/: Spark writes them, and says itself what they hold.

    python scripts/make_fixtures.py [--spark-version 4.3.0] [--only REGEX] [--out FOLDER]

Needs Java 17 and the network: PySpark, and what else that version needs, is downloaded into a cache
folder (sparks.py). Which version has which cases is told in cases.py.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

from fixtures.archives import store
from fixtures.case import Case
from fixtures.cases import cases_of, thinness
from fixtures.leftovers_from_calls import leftovers, read_calls, with_timers
from fixtures.rocksdb import random_processors
from fixtures.sparks import SOURCES, Spark
from fixtures.state_from_calls import leftovers_after

MAIN_CLASS = "org.apache.spark.sql.execution.streaming.state.StateFixtures"
PYTHON = {"pandas": "pandas_fixtures.py", "processors": "python_processors.py"}
CACHE = Path.home() / ".cache" / "spark-state-inspector"


def run_cases(spark: Spark, cases: list[Case], raw: Path) -> None:
    """Let Spark run the cases; everything they write goes under `raw`."""
    for thin in sorted({thinness(spark.version, case) for case in cases}):
        same = [case for case in cases if thinness(spark.version, case) == thin]
        scala = [case.name for case in same if case.program == "scala"]
        if scala:
            spark.submit("--class", MAIN_CLASS, str(spark.jar), str(raw), *scala, thin=thin)
        for name, file in PYTHON.items():
            python = [case.name for case in same if case.program == name]
            if python:
                program = [str(SOURCES / file), str(raw), *python]
                spark.submit("--jars", str(spark.jar), *program, thin=thin, pandas=True)


def pack(case: Case, raw: Path, conf: dict[str, str]) -> dict[str, Any]:
    """Turn what a case wrote into its fixture, in place; return what its recipe tells."""
    checkpoint = raw / "checkpoint"
    if not case.keeps_hadoop_checksums:
        for path in checkpoint.rglob(".*.crc"):
            path.unlink()
    manifest: dict[str, Any] = json.loads((raw / "manifest.json").read_text(encoding="utf-8"))
    committed = max(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*"))
    manifest |= {
        "session_conf": conf,
        "description": case.description,
        "committed_batch": committed,
    }
    if case.group_state:
        manifest["leftovers"] = pack_calls(case, raw, manifest)
    if case.transform_with_state:
        manifest["leftovers"] = pack_processor_calls(raw, committed)
    write_json(raw / "manifest.json", manifest)
    return manifest


def pack_calls(case: Case, raw: Path, manifest: dict[str, Any]) -> dict[str, int]:
    """Sort the log of calls, derive the leftovers from it; return their number by class."""
    logs = sorted((raw / "calls").glob("*.jsonl"))
    calls = with_timers((call for log in logs for call in read_calls(log)), manifest["timeout"])
    write_lines(raw / "calls.jsonl", calls)
    shutil.rmtree(raw / "calls")
    expected = leftovers(calls, manifest["committed_batch"], pandas=case.pandas)
    text = ",\n".join(compact(leftover) for leftover in expected)
    (raw / "expected_leftovers.json").write_text(f"[\n{text}\n]\n", encoding="utf-8")
    return dict(Counter(leftover["class"] for leftover in expected))


def pack_processor_calls(raw: Path, committed: int) -> dict[str, int]:
    """Sort a processor's log by batch and key; return the number of leftovers by class."""
    logs = sorted((raw / "calls").glob("*.jsonl"))
    calls = [call for log in logs for call in read_calls(log)]
    calls.sort(key=lambda call: (call["batch"], call["key"]))
    write_lines(raw / "calls.jsonl", calls)
    shutil.rmtree(raw / "calls")
    expected = leftovers_after(raw, calls, committed)
    text = ",\n".join(compact(leftover) for leftover in expected)
    (raw / "expected_leftovers.json").write_text(f"[\n{text}\n]\n", encoding="utf-8")
    return dict(Counter(leftover["class"] for leftover in expected))


RECIPE = """# {name}

{description}

Spark {spark}, Java {java}, output mode {output_mode}, {batches} batches, newest committed batch
{committed_batch}. Remade by

    python scripts/make_fixtures.py --spark-version {spark} --only '^{name}$'

## What a correct inspector finds

{finds}

## What Spark says it holds

{rows}
"""


def write_recipe(case: Case, folder: Path, manifest: dict[str, Any]) -> None:
    """Write the recipe beside the checkpoint."""
    counts = json.loads((folder / "truth_counts.json").read_text(encoding="utf-8"))
    total: Counter[tuple[int, str, int]] = Counter()
    for count in counts:
        if count.get("cf", "") is not None:  # None: all entries of the database together
            store = count["store"] + (f", column family {count['cf']}" if "cf" in count else "")
            total[count["op"], store, count["ver"]] += count["rows"]
    rows = [
        f"- operator {operator}, store {store}, version {version}: {n} rows in all partitions"
        for (operator, store, version), n in sorted(total.items())
        if version == manifest["committed_batch"] + 1
    ]
    if "leftovers" in manifest:
        kinds = [f"{n} `{kind}`" for kind, n in sorted(manifest["leftovers"].items())]
        rows.append(f"- leftovers by the log of calls: {', '.join(kinds) or 'none'}")
    text = RECIPE.format(
        **{**manifest, "description": textwrap.fill(case.description, 100)},
        name=case.name,
        finds=textwrap.fill(case.finds, 100),
        rows="\n".join(rows),
    )
    (folder / "recipe.md").write_text(text, encoding="utf-8")


def compact(value: object) -> str:
    """Return JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def write_json(path: Path, value: object) -> None:
    """Write one JSON document, indented."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_lines(path: Path, values: list[dict[str, Any]]) -> None:
    """Write JSON lines."""
    path.write_text("".join(compact(value) + "\n" for value in values), encoding="utf-8")


def size_of(folder: Path) -> int:
    """Sum of the file sizes under a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def parser_of() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(description="Make the checkpoints under fixtures/.")
    parser.add_argument("--spark-version", default="4.3.0", help="any release from 2.4 on")
    parser.add_argument("--only", default="", metavar="REGEX", help="make cases whose name matches")
    parser.add_argument(
        "--random",
        nargs=2,
        type=int,
        metavar=("FIRST", "LAST"),
        help="make, in place of cases, processors of transformWithState with these random seeds",
    )
    parser.add_argument("--out", type=Path, help="folder for folders; else store in fixtures/")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where downloads are kept")
    return parser


def cases_for(options: argparse.Namespace) -> list[Case]:
    """The cases that are asked for."""
    version = options.spark_version
    if options.random is None:
        cases = cases_of(version)
    else:
        first, last = options.random
        cases = random_processors(version, range(first, last + 1))
    return [case for case in cases if re.search(options.only, case.name)]


def main() -> None:
    """Make the cases that are asked for and put them in place of the old ones."""
    parser = parser_of()
    options = parser.parse_args()
    version, cases = options.spark_version, cases_for(options)
    if not cases:
        parser.error(f"no case of {version} matches {options.only!r}")
    with tempfile.TemporaryDirectory(prefix="make-fixtures-") as directory:
        spark = Spark(version, options.cache.resolve(), Path(directory))
        spark.compile()
        raw = Path(directory) / "raw"
        run_cases(spark, cases, raw)
        for case in cases:
            write_recipe(case, raw / case.name, pack(case, raw / case.name, spark.conf))
            print(f"{case.name}: {size_of(raw / case.name):,} bytes")
        if options.out is None:
            store(version, {case.name: raw / case.name for case in cases})
            return
        for case in cases:
            target = options.out / version / case.name
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(raw / case.name, target)


if __name__ == "__main__":
    main()
