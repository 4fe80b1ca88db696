#!/usr/bin/env python3
"""Hold the heap model against the heap of a live Spark.

    python scripts/lab/validate_heap.py [--quick] [--only REGEX]
                                    [--java-options=-XX:-UseCompressedOops]

Needs Java 17 and an environment with PySpark 4.3 and this package. Real queries run on the
HDFS-backed state store (scripts/lab/heap, compiled with the scalac in PySpark's jars). When one has
stopped, the JVM's own class histogram is taken with its state stores loaded, and again after they
let go of their maps: the difference is what state costs. The cases `working` look into a running
task, after its last put and before its commit. The model's numbers come from the checkpoint alone.
Ends with 1 if a case is off by more than 3 %.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from inspector.discovery.checkpoint import Checkpoint, open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import StoreTask, Task
from inspector.engines.engine import Job, Work
from inspector.engines.local import LocalEngine
from inspector.estimates.heap import (
    COMPRESSED_UP_TO,
    READ_AND_WRITE,
    Heap,
    Layout,
    Part,
    StoreHeap,
)
from inspector.facts.heap_prefixes import LivePrefixes, PrefixFacts
from inspector.facts.registry import facts_schema
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import collect
from inspector.model import StoreId
from inspector.passes.store_reader import StoreReader
from inspector.passes.worker import run_tasks
from inspector.providers.chain import replay_steps
from inspector.sparktypes.schema_json import parse_schema_json
from inspector.state.replay import StateMap

Prefixes = dict[int, PrefixFacts]
SOURCES = Path(__file__).resolve().parent / "heap"
MAIN_CLASS = "org.apache.spark.sql.execution.streaming.state.HeapQueries"
STATE = "org.apache.spark.sql.execution.streaming.state"
WITHIN = 0.03
SPARK_CONF = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",  # one batch a step
    "spark.sql.streaming.stateStore.maintenanceInterval": "1h",  # no store is unloaded
}
CLASSES = {
    "unsafe_rows": ("org.apache.spark.sql.catalyst.expressions.UnsafeRow",),
    "byte_arrays": ("[B",),
    "wrappers": (f"{STATE}.StateStoreRow", f"{STATE}.StateStoreRowWithChecksum"),
    "nodes": ("java.util.concurrent.ConcurrentHashMap$Node",),
    "tables": ("[Ljava.util.concurrent.ConcurrentHashMap$Node;",),
    "maps": (
        "java.util.concurrent.ConcurrentHashMap",
        f"{STATE}.NoPrefixHDFSBackedStateStoreMap",
        f"{STATE}.PrefixScannableHDFSBackedStateStoreMap",
    ),
    "prefixes": (
        "scala.collection.mutable.HashSet",
        "scala.collection.mutable.HashSet$Node",
        "[Lscala.collection.mutable.HashSet$Node;",
    ),
}
"""The classes behind each part of a :class:`Heap`."""

IN_A_TASK = ("wrappers", "nodes", "tables", "maps")
"""Parts that a running task has no more of with many rows than with few: not its rows in flight."""

IDLE = 20
"""Keys of the case that tells what a running task has of those classes besides state."""


class Case(NamedTuple):
    """A query and the size of its state; ``payload`` bytes more in each value or key."""

    query: str
    keys: int
    payload: int
    retained: int
    row_checksum: bool = False

    @property
    def name(self) -> str:
        """Unique, and good for a folder."""
        width = "large" if self.payload else "small"
        checksum = "-checksum" if self.row_checksum else ""
        return f"{self.query}-{width}-{self.keys}-{self.retained}{checksum}"

    @property
    def argument(self) -> str:
        """The form that the Scala program takes."""
        fields = (self.name, *self[:4], str(self.row_checksum).lower())
        return ",".join(str(field) for field in fields)


class Result(NamedTuple):
    """The model of a case beside the heap that was there."""

    case: Case
    model: Heap
    live: Heap
    parts: tuple[str, ...]
    memory_used: int
    current_version: int

    @property
    def difference(self) -> float:
        """Model against the histogram, of 1."""
        return _sum(self.model, self.parts) / max(1, _sum(self.live, self.parts)) - 1

    @property
    def ok(self) -> bool:
        """Near enough."""
        return abs(self.difference) <= WITHIN


def cases(quick: bool) -> list[Case]:
    """Every operator, small and large rows, 1, 2 and 5 retained versions; or one of each."""
    if quick:
        return [
            Case("aggregation", 20_000, 0, 2),
            Case("groupstate", 10_000, 1000, 5),
            Case("dedup", 20_000, 0, 1, row_checksum=True),
            Case("join", 10_000, 0, 2),
            Case("session", 20_000, 0, 2),
            Case("working", IDLE, 0, 2),
            Case("working", 20_000, 0, 2),
        ]
    small = {"aggregation": 120_000, "groupstate": 60_000, "dedup": 60_000, "session": 40_000}
    small["join"] = 20_000  # four stores
    listed = [
        Case(query, keys if not payload else 12_000, payload, versions)
        for query, keys in small.items()
        for payload in (0, 1000)
        for versions in (1, 2, 5)
    ]
    listed += [Case("aggregation", 120_000, 0, 2, row_checksum=True)]
    return [
        *listed,
        Case("working", IDLE, 0, 2),
        Case("working", 120_000, 0, 2),
        Case("working", IDLE, 1000, 2),
        Case("working", 12_000, 1000, 2),
    ]


# --- live --------------------------------------------------------------------------------------


def run_spark(expected: list[Case], folder: Path, java_options: str) -> None:
    """Run the cases in one JVM; each leaves its checkpoint and ``heap.json``."""
    import pyspark

    home = Path(pyspark.__file__).parent
    jar = compile_scala(home, folder)
    conf = [arg for key, value in SPARK_CONF.items() for arg in ("--conf", f"{key}={value}")]
    java = ["--driver-java-options", f"-XX:+UseSerialGC {java_options}".strip()]
    options = ["--master", "local[2]", "--driver-memory", "3g", *java, *conf]
    command = [str(home / "bin" / "spark-submit"), *options, "--class", MAIN_CLASS, str(jar)]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    arguments = [str(folder), *(case.argument for case in expected)]
    with (folder / "spark.log").open("wb") as log:
        done = subprocess.run(
            [*command, *arguments], env=environment, cwd=folder, stdout=log, stderr=log, check=False
        )
    if done.returncode:
        sys.exit((folder / "spark.log").read_text(errors="replace")[-8000:])


def compile_scala(home: Path, folder: Path) -> Path:
    """Compile scripts/lab/heap into a jar."""
    classes, jar = folder / "classes", folder / "heap.jar"
    classes.mkdir()
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    scalac = [str(java), "-Xss8m", "-cp", f"{home}/jars/*", "scala.tools.nsc.Main"]
    sources = sorted(str(path) for path in SOURCES.glob("*.scala"))
    subprocess.run([*scalac, "-nowarn", "-usejavacp", "-d", str(classes), *sources], check=True)
    with zipfile.ZipFile(jar, "w") as archive:
        for path in sorted(classes.rglob("*.class")):
            archive.write(path, path.relative_to(classes))
    return jar


def live_heap(classes: dict[str, list[int]]) -> Heap:
    """The histogram's classes by the model's parts."""
    parts = {}
    for part, names in CLASSES.items():
        result = [classes.get(name, [0, 0]) for name in names]
        parts[part] = Part(sum(element[0] for element in result), sum(item[1] for item in result))
    return Heap(**parts)


# --- model -------------------------------------------------------------------------------------


def model(case: Case, checkpoint: Path, layout: Layout) -> Heap:
    """What the inspector says of a checkpoint's newest version."""
    result = open_checkpoint(str(checkpoint))
    # Not the recorded codecs: the cases `working` have one of their own, which writes plain LZ4.
    tasks = [replace(t, codecs={}) for t in plan(result, result.newest_version)]
    work = [Work(task.to_json()) for task in tasks]
    facts = collect(LocalEngine().run(Job(run_tasks, facts_schema(), work)))
    if facts.problems:
        sys.exit(f"{case.name}: {facts.problems[0]}")
    prefixes = dict(_prefixes(result, tasks)) if case.query == "session" else {}
    total = Heap()
    for store, versions in by_store(facts.versions).items():
        mine = prefixes.get(store, {})
        heap = StoreHeap(versions, layout, case.retained, mine, READ_AND_WRITE[0])
        total += heap.peak if case.query == "working" else heap.held
    return total


def by_store(
    facts: dict[tuple[StoreId, int], VersionFacts],
) -> dict[StoreId, dict[int, VersionFacts]]:
    """The facts of each store in each partition by version."""
    stores: dict[StoreId, dict[int, VersionFacts]] = {}
    for (store, version), item in facts.items():
        stores.setdefault(store, {})[version] = item
    return dict(stores)


def _prefixes(checkpoint: Checkpoint, tasks: list[Task]) -> Iterator[tuple[StoreId, Prefixes]]:
    for task in tasks:
        for store in task.stores:
            reader = StoreReader(task, checkpoint.storage, store)
            yield task.store_id(store), _prefixes_of(task, store, reader)


def _prefixes_of(task: Task, store: StoreTask, reader: StoreReader) -> Prefixes:
    schema = parse_schema_json(store.key_schema or "")
    state, live = StateMap(), LivePrefixes(len(schema.fields))
    result = {}
    for step in replay_steps(reader.provider.files_of(store.files), task.version):
        file = step.base or step.delta
        assert file is not None
        state.begin(step.version, rebase=step.base is not None)
        for block in reader.blocks(file):
            state.apply(block)
        result[step.version] = live.update(state.end(), state)
    return result


# --- side by side ------------------------------------------------------------------------------


def results(expected: list[Case], folder: Path, java_options: str) -> Iterator[Result]:
    """Read what the cases left."""
    foreign = Heap()
    for case in expected:
        layout = layout_of(java_options, row_checksum=case.row_checksum)
        document: dict[str, Any] = json.loads((folder / case.name / "heap.json").read_text())
        mine = model(case, folder / case.name / "checkpoint", layout)
        live = live_heap(document["classes"])
        if case.keys == IDLE:
            foreign = minus(live, mine)
            continue
        working = case.query == "working"
        yield Result(
            case=case,
            model=mine,
            live=minus(live, foreign) if working else live,
            parts=IN_A_TASK if working else tuple(CLASSES),
            memory_used=document["memoryUsedBytes"],
            current_version=document["stateOnCurrentVersionSizeBytes"],
        )


def layout_of(java_options: str, *, row_checksum: bool) -> Layout:
    """The layout of a JVM with these options: a small heap can be made to look like a large one."""
    compressed = "-XX:-UseCompressedOops" not in java_options
    classes = "-XX:-UseCompressedClassPointers" not in java_options
    return Layout.of(
        None if compressed else COMPRESSED_UP_TO,
        jdk=17 if classes else 8,
        row_checksum=row_checksum,
    )


def minus(a: Heap, b: Heap) -> Heap:
    """Part by part."""
    pairs = zip(a.parts.values(), b.parts.values(), strict=True)
    return Heap(*(Part(x.objects - y.objects, x.bytes - y.bytes) for x, y in pairs))


def _sum(heap: Heap, parts: tuple[str, ...]) -> int:
    return sum(heap.parts[part].bytes for part in parts)


def show(item: Result) -> None:
    """Print a case, part by part."""
    print(f"\n{item.case.name}")
    print(f"  {'':14}{'objects: model':>16}{'live':>12}{'bytes: model':>16}{'live':>14}{'':>9}")
    for part in item.parts:
        mine, live = item.model.parts[part], item.live.parts[part]
        if mine.bytes or live.bytes:
            counts = f"{mine.objects:>16,}{live.objects:>12,}{mine.bytes:>16,}{live.bytes:>14,}"
            print(f"  {part:14}{counts}{_percent(mine.bytes, live.bytes):>9}")


def summary(result: list[Result]) -> None:
    """Print one line a case."""
    columns = f"{'model':>14}{'histogram':>14}{'off by':>9}{'memoryUsed':>14}{'':>9}"
    print(f"\n{'case':34}{columns}{'currentVersion':>16}")
    for item in result:
        mine, live = _sum(item.model, item.parts), _sum(item.live, item.parts)
        spark = f"{item.memory_used:>14,}{_percent(item.memory_used, live):>9}"
        spark += f"{item.current_version:>16,}"
        if item.case.query == "working":
            spark = ""  # what Spark says is of another moment, and of all parts
        mark = "" if item.ok else "  FAILED"
        print(f"{item.case.name:34}{mine:>14,}{live:>14,}{_percent(mine, live):>9}{spark}{mark}")


def _percent(a: int, b: int) -> str:
    return f"{100 * (a / b - 1):+.2f} %" if b else ""


def main() -> None:
    """Run the cases that are asked for and compare."""
    parser = argparse.ArgumentParser(description="Hold the heap model against a live Spark.")
    parser.add_argument("--quick", action="store_true", help="one case of each operator")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose name matches")
    parser.add_argument("--java-options", default="", help="for the JVM that holds the state")
    options = parser.parse_args()
    expected = [case for case in cases(options.quick) if re.search(options.only, case.name)]
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="validate-heap-") as directory:
        folder = Path(directory)
        run_spark(expected, folder, options.java_options)
        result = []
        for value in results(expected, folder, options.java_options):
            show(value)
            result.append(value)
    summary(result)
    print(f"\n{len(result)} cases in {time.monotonic() - start:.0f} s")
    sys.exit(0 if result and all(item.ok for item in result) else 1)


if __name__ == "__main__":
    main()
