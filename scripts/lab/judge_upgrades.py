#!/usr/bin/env python3
"""Let random workloads of one Spark go on in another, and judge what is said of the whole.

    python scripts/lab/make_workloads.py --spark-version 3.5.9 --out OLD --count 40
    python scripts/lab/judge_upgrades.py OLD --spark-version 4.3.0 --out NEW
        [--only REGEX] [--ticks 5]

The checkpoint is copied, and the query goes on from it with the same function. The calls of both
Sparks are one account of the state, which ``judge_workloads.py NEW`` holds against what is said
of every batch of either. NEW may be the OLD of a third Spark, older or newer.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import top_scripts  # noqa: F401 - finds the folder above
from fixtures.sparks import InstalledSpark, Spark, file_manager
from make_workloads import CACHE, CONF, INSTALLED, compile_programs, report, submit
from workloads.account import Workload, read

LOGS = ("calls.jsonl", "batches.jsonl", "variables.jsonl")


def line_of(workload: Workload, ticks: int) -> str:
    """What Spark is to do with a workload that goes on in it."""
    newest = max(workload.batches)
    entry = workload.folder / "checkpoint" / "offsets" / str(newest)
    _, head, *offsets = entry.read_text("utf-8").splitlines()
    counts = [int(text) for text in offsets if re.fullmatch(r"-?\d+", text)]
    words = {"after": ticks, "offset": max(counts, default=-1), "upgraded": "true"}
    words |= {"clock": json.loads(head)["batchTimestampMs"] + 1000}
    words |= {"fromRun": workload.batches[newest]["run"] + 1}
    old = int(workload.spec.get("ticks", 14)) + int(workload.spec.get("after", 0))
    spec = workload.spec | {"ticks": str(old)} | {name: str(word) for name, word in words.items()}
    return " ".join([workload.name, *(f"{name}={word}" for name, word in spec.items())])


def go_on(lines: list[str], version: str, out: Path) -> None:
    """Let Spark run every workload, all in one JVM."""
    with tempfile.TemporaryDirectory(prefix="judge-upgrades-") as folder:
        places = (CACHE.resolve(), Path(folder))
        spark = InstalledSpark(*places) if version == INSTALLED else Spark(version, *places)
        spark.conf |= CONF | dict([file_manager(spark.release)])
        compile_programs(spark)
        pandas = any(re.search(" op=pd| plan=.*(pd|tws[pr])", line) for line in lines)
        submit(spark, lines, out.resolve(), Path(folder, "workloads.txt"), pandas=pandas)


def join_logs(old: Path, new: Path) -> None:
    """Put what the first Spark logged before what the second did."""
    for name in LOGS:
        before = (old / name).read_text("utf-8") if (old / name).is_file() else ""
        (new / name).write_text(before + (new / name).read_text("utf-8"), "utf-8")


def main() -> int:
    """Make the workloads that went on."""
    parser = argparse.ArgumentParser(description="Judge checkpoints that go on in another Spark.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--spark-version", default=INSTALLED)
    parser.add_argument("--only", default="", metavar="REGEX", help="those whose name matches")
    parser.add_argument("--ticks", type=int, default=5, help="for which each goes on")
    options = parser.parse_args()
    folders = sorted(path.parent for path in options.folder.glob("*/spec.txt"))
    sources = [read(folder) for folder in folders if re.search(options.only, folder.name)]
    sources = [workload for workload in sources if not workload.problem and workload.batches]
    for workload in sources:
        shutil.rmtree(options.out / workload.name, ignore_errors=True)
        shutil.copytree(workload.folder / "checkpoint", options.out / workload.name / "checkpoint")
    lines = [line_of(workload, options.ticks) for workload in sources]
    go_on(lines, options.spark_version, options.out)
    for workload in sources:
        join_logs(workload.folder, options.out / workload.name)
    return 1 if report(lines, options.out) else 0


if __name__ == "__main__":
    sys.exit(main())
