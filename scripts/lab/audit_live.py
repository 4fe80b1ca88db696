#!/usr/bin/env python3
"""Run commands beside running queries, and compare what they say with Spark's own counts.

    python scripts/lab/audit_live.py [--minutes 10] [--slow FACTOR] [--restart 60] [--only REGEX]

Seven queries run batch after batch in one session whose maintenance comes every second and keeps
two batches, so that files appear and go under every command: an aggregation, an outer join and a
group state on the HDFS-backed provider; on RocksDB an aggregation with changelogs, one with zips
alone, one of checkpoint format 2, and a transformWithState. Each is stopped and started again now
and then. Beside each of them a process of its own runs one command after the other. Nothing is
damaged: whatever a command says of files (SS1xx, problems) is false, but for what moved, and so is
an exit code that says so. A reader that cannot keep up ends with 4 and says that; those runs are
counted apart.

With ``--slow 10`` every request waits for nine times the time since the one before it, so that the
whole reader takes ten times as long, on any machine. Prints a line for each false statement, then
a table; ends with 1 if there was one. Needs Java 17 and PySpark of 4.0 or later.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import re
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any
from unittest import mock

import top_scripts  # noqa: F401 - finds the folder above
from fixtures.sparks import InstalledSpark
from make_workloads import CACHE, compile_programs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from inspector.analyses.shared.opening import OUTPACED
from inspector.checkpoint.storage import _Guard
from inspector.cli.main import run as command_line
from inspector.model import NO_FAULT, is_store

CONFS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
}
STORE = "spark.sql.streaming.stateStore"
PACKAGE = "org.apache.spark.sql.execution.streaming.state"
ROCKSDB = {f"{STORE}.providerClass": f"{PACKAGE}.RocksDBStateStoreProvider"}
CHANGELOGS = {**ROCKSDB, f"{STORE}.rocksdb.changelogCheckpointing.enabled": "true"}
FORMAT_2 = {**CHANGELOGS, f"{STORE}.checkpointFormatVersion": "2"}

OF_FILES = "SS1"
"""How the ids of findings begin that say something of files."""
TRIGGER = "2 seconds"
WATCHED_BATCHES = 3
"""That one run of ``watch`` waits for."""
FOLDER = "spark.inspector.folder"
"""Configuration that says where the queries' functions log their calls."""
CANNOT_KEEP_UP = 4
"""Exit code of a run of which a part could not be read."""


# --- the queries -----------------------------------------------------------------------------


def _rate(session: SparkSession, rows: int) -> DataFrame:
    return session.readStream.format("rate").option("rowsPerSecond", rows).load()


def aggregation(session: SparkSession) -> DataFrame:
    """Counts in windows that close."""
    return (
        _rate(session, 200)
        .withWatermark("timestamp", "5 seconds")
        .withColumn("user", F.col("value") % 60)
        .groupBy(F.window("timestamp", "2 seconds"), "user")
        .count()
    )


def outer_join(session: SparkSession) -> DataFrame:
    """A left outer join with a range of time, whose rows are evicted."""
    left = _rate(session, 100).withWatermark("timestamp", "3 seconds")
    right = _rate(session, 50).withWatermark("timestamp", "3 seconds")
    return left.select(F.col("timestamp").alias("at"), F.col("value").alias("a")).join(
        right.select(F.col("timestamp").alias("then"), (F.col("value") * 3).alias("b")),
        F.expr("a = b AND then BETWEEN at - INTERVAL 2 SECONDS AND at + INTERVAL 2 SECONDS"),
        "leftOuter",
    )


def group_state(session: SparkSession) -> DataFrame:
    """A group state in Scala whose timers of processing time remove the keys."""
    return _stage(session, "plan=fm.one timeout=processing profile=healthy mode=update patience=1")


def processor(session: SparkSession) -> DataFrame:
    """A transformWithState in Scala with every variable, timers and a TTL."""
    return _stage(session, "plan=tws.one timeMode0=processing mode=append")


def _stage(session: SparkSession, words: str) -> DataFrame:
    """The operator nearest the sink of a random workload's plan, over rows of this source."""
    columns = "CAST(value % 97 AS INT) AS id", "timestamp AS ts", "value AS v"
    rows = _rate(session, 20).selectExpr(*columns)
    jvm: Any = session.sparkContext._jvm
    package = jvm.org.apache.spark.sql.execution.streaming.state
    folder = tempfile.mkdtemp(prefix="audit-live-", dir=session.conf.get(FOLDER))
    workload = package.Workload(session._jsparkSession, folder, f"live op=plan seed=7 {words}")
    return DataFrame(workload.stage(workload.plan(), rows._jdf, None), session)


Query = tuple[Callable[[SparkSession], DataFrame], str, Mapping[str, str]]
QUERIES: dict[str, Query] = {
    "aggregation": (aggregation, "update", {}),
    "outer join": (outer_join, "append", {}),
    "group state": (group_state, "update", {}),
    "changelogs": (aggregation, "update", CHANGELOGS),
    "zips": (aggregation, "update", ROCKSDB),
    "format 2": (aggregation, "update", FORMAT_2),
    "transformWithState": (processor, "append", ROCKSDB),
}
WITH_USERS = frozenset(name for name, (frame, *_) in QUERIES.items() if frame is aggregation)
"""Queries whose keys have a field ``user``."""
UNCOUNTED = frozenset({"transformWithState"})
"""Queries whose rows Spark does not count as tables show them."""


@dataclass
class Live:
    """One query that runs, and what Spark said of its batches.

    Attributes:
        rows: batch -> rows of its state, by the query's own progress.
    """

    session: SparkSession
    name: str
    frame: DataFrame
    mode: str
    confs: Mapping[str, str]
    checkpoint: Path
    rows: dict[int, int] = field(default_factory=dict)
    query: Any = None

    def start(self) -> None:
        """Start it, or start it again; a query keeps the configuration that it starts with."""
        for key, value in self.confs.items():
            self.session.conf.set(key, value)
        writer = self.frame.writeStream.format("noop").outputMode(self.mode)
        writer = writer.trigger(processingTime=TRIGGER)
        self.query = writer.option("checkpointLocation", str(self.checkpoint)).start()
        for key in self.confs:
            self.session.conf.unset(key)

    def stop(self) -> None:
        """Stop it, in the middle of whatever it does."""
        self.note()
        self.query.stop()

    def note(self) -> None:
        """Take down what Spark said since."""
        if self.query.exception() is not None:
            raise self.query.exception()
        for progress in self.query.recentProgress:
            self.rows[progress["batchId"]] = sum(
                operator["numRowsTotal"] for operator in progress["stateOperators"]
            )

    @property
    def begun(self) -> bool:
        """Whether a batch was committed."""
        return (self.checkpoint / "commits" / "1").exists()


# --- the readers -----------------------------------------------------------------------------


@dataclass
class Run:
    """What one run of a command came to.

    Attributes:
        exit_code: its own. code: what is wrong with that, empty if nothing is.
        findings: what it said of files.
        outpaced: it ended because it could not keep up.
        rows: batch -> rows that it counted.
    """

    query: str
    command: str
    exit_code: int = 0
    findings: list[str] = field(default_factory=list)
    code: str = ""
    outpaced: bool = False
    rows: dict[int, int] = field(default_factory=dict)


@contextmanager
def slowed(factor: float) -> Iterator[None]:
    """Let every request wait for ``factor - 1`` times the time since the one before it ended."""
    enter = _Guard.__enter__
    last = time.monotonic()

    def wait(self: _Guard) -> None:
        nonlocal last
        time.sleep(max((factor - 1) * (time.monotonic() - last), 0))
        last = time.monotonic()
        enter(self)

    with mock.patch.object(_Guard, "__enter__", wait):
        yield


def execute(*words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command line that runs in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    code = 0
    with (
        mock.patch.object(sys, "argv", ["inspector", *words]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            command_line()
        except SystemExit as end:
            code = int(end.code or 0)
    texts = []
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
        texts.append(stream.read())
    return code, texts[0], texts[1]


def report_of(words: list[str], run: Run) -> dict[str, Any]:
    """Run a command that reports as JSON; note what it says of files, and a false exit code."""
    run.exit_code, out, err = execute(*words, "-o", "json")
    _note_code(run, out + err)
    report: dict[str, Any] = json.loads(out) if out and not run.outpaced else {}
    for problem in report.get("problems", ()):
        if problem["problem"] not in NO_FAULT:
            run.findings.append(f"problem {problem}")
    for finding in report.get("findings", ()):
        if finding["id"].startswith(OF_FILES) and finding["severity"] != "info":
            run.findings.append(f"{finding['id']}: {finding['evidence']}")
    return report


def _note_code(run: Run, text: str) -> None:
    run.outpaced = run.exit_code == CANNOT_KEEP_UP and OUTPACED in text
    if run.exit_code not in (0, 1) and not run.outpaced:
        run.code = f"exit code {run.exit_code}: {text[-600:]}"


def audit(path: str, _folder: Path, run: Run) -> None:
    """The rows of all stores are Spark's count."""
    report = report_of(["audit", path], run)
    if report:
        sizes = [row for row in report["tables"]["sizes"] if _is_counted(row["store_name"])]
        run.rows[report["summary"]["batch_id"]] = sum(row["rows"] for row in sizes)
        warned = any(finding["severity"] != "info" for finding in report["findings"])
        if run.exit_code == 1 and not warned:
            run.code = "exit code 1 without a warning"


def rows(path: str, _folder: Path, run: Run) -> None:
    """All rows of a store."""
    report_of(["rows", path, "--limit", "0"], run)


def history(path: str, _folder: Path, run: Run) -> None:
    """All puts and removals of a user's keys."""
    report_of(["history", path, "--key", "user=5", "--limit", "0"], run)


def verify(path: str, _folder: Path, run: Run) -> None:
    """Everything is read."""
    report_of(["verify", path], run)


def export(path: str, folder: Path, run: Run) -> None:
    """The whole table is there, or nothing."""
    target = folder / "exported"
    run.exit_code, out, err = execute(
        "export", "rows", path, "-O", f"{target}/", "--format", "parquet"
    )
    _note_code(run, out + err)
    if target.exists() != (run.exit_code == 0):
        run.findings.append(f"exit code {run.exit_code}, the folder is there: {target.exists()}")
    shutil.rmtree(target, ignore_errors=True)


def watch(path: str, _folder: Path, run: Run) -> None:
    """A line for each of the next batches, or for those that could be read."""
    newest = max(int(file.name) for file in Path(path, "commits").iterdir() if file.name.isdigit())
    until = str(newest + WATCHED_BATCHES)
    words = ("watch", path, "--until", until, "--interval", "0.5", "-o", "ndjson")
    run.exit_code, out, err = execute(*words)
    _note_code(run, out + err)
    for line in map(json.loads, out.splitlines()):
        if line["level"] not in ("ok", "info", "warning"):
            run.findings.append(f"line {line}")


COMMANDS: dict[str, Callable[[str, Path, Run], None]] = {
    "audit": audit,
    "rows": rows,
    "export": export,
    "verify": verify,
    "watch": watch,
    "history": history,
}


def _is_counted(store: str) -> bool:
    return store == "default" or any(is_store(side, store) for side in ("left", "right"))


def read_on(name: str, checkpoint: str, seconds: float, factor: float, runs: Any) -> None:
    """Run the commands on a query's checkpoint, one after the other, until the time is over."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder, slowed(factor):
        while time.monotonic() < end:
            for command, act in COMMANDS.items():
                if command == "history" and name not in WITH_USERS:
                    continue
                run = Run(name, command)
                try:
                    act(checkpoint, Path(folder), run)
                except Exception as error:  # noqa: BLE001 - the others go on
                    run.code = f"{type(error).__name__}: {error}"
                runs.put(run)


# --- both ------------------------------------------------------------------------------------


def session_of(folder: Path) -> SparkSession:
    """The session of all queries, with the Scala programs of the random workloads."""
    CACHE.mkdir(parents=True, exist_ok=True)
    build = folder / "build"
    build.mkdir()
    spark = InstalledSpark(CACHE, build)
    compile_programs(spark)
    builder = SparkSession.builder.master("local[2]").appName("audit_live")
    for key, value in {**CONFS, "spark.jars": str(spark.jar), FOLDER: str(folder)}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def collect(queries: dict[str, Live], arguments: argparse.Namespace) -> list[Run]:
    """Start a reader for each query, restart the queries now and then; every run of a command."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    seconds = 60 * arguments.minutes
    readers = [
        context.Process(
            target=read_on, args=(name, str(live.checkpoint), seconds, arguments.slow, results)
        )
        for name, live in queries.items()
    ]
    for reader in readers:
        reader.start()
    runs: list[Run] = []
    restart = time.monotonic() + arguments.restart
    while any(reader.is_alive() for reader in readers) or not results.empty():
        for live in queries.values():
            live.note()
        try:
            runs.append(results.get(timeout=1))
        except Empty:
            continue
        for false in (*runs[-1].findings, runs[-1].code):
            if false:
                print(f"{runs[-1].query}, {runs[-1].command}: {false}"[:700], flush=True)
        if time.monotonic() > restart:
            restart = time.monotonic() + arguments.restart
            for live in queries.values():
                live.stop()
                live.start()
    return runs


def compare_counts(runs: list[Run], queries: Mapping[str, Live]) -> Counter[str]:
    """Add a false finding to each run whose rows are not Spark's; how many could be compared."""
    compared: Counter[str] = Counter()
    for run in runs:
        for batch, rows_ in run.rows.items():
            expected = queries[run.query].rows.get(batch)
            if run.query in UNCOUNTED or expected is None:
                continue
            compared[run.query] += 1
            if rows_ != expected:
                run.findings.append(f"batch {batch} has {rows_} rows, Spark counted {expected}")
                print(f"{run.query}, {run.command}: {run.findings[-1]}", flush=True)
    return compared


def table(runs: list[Run], compared: Mapping[str, int], queries: Mapping[str, Live]) -> str:
    """By query and command: runs, false findings, false exit codes, and runs left behind."""
    by_place: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        by_place[run.query, run.command].append(run)
    lines = [
        "| query | command | runs | false findings | false exit codes | could not keep up |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for query, command in sorted(by_place, key=lambda key: (list(queries).index(key[0]), key[1])):
        sample = by_place[query, command]
        sums = (len(sample), *(sum(map(bool, column)) for column in _columns(sample)))
        lines.append(f"| {query} | {command} | " + " | ".join(f"{n:,}" for n in sums) + " |")
    sums = (len(runs), *(sum(map(bool, column)) for column in _columns(runs)))
    lines.append("| all | | " + " | ".join(f"{n:,}" for n in sums) + " |")
    batches = ", ".join(f"{name} {len(live.rows)}" for name, live in queries.items())
    counts = sum(compared.values())
    return "\n".join([*lines, f"batches: {batches}; counts compared with Spark's: {counts}"])


def _columns(runs: list[Run]) -> tuple[list[Any], ...]:
    return ([r.findings for r in runs], [r.code for r in runs], [r.outpaced for r in runs])


def main() -> int:
    """Run; 1 if any command said what is not so."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--slow", type=float, default=1, metavar="FACTOR", help="slow the reader")
    parser.add_argument("--restart", type=float, default=60, help="seconds between restarts")
    parser.add_argument("--only", default="", metavar="REGEX", help="queries whose name matches")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        session = session_of(Path(folder))
        queries = {
            name: Live(session, name, frame(session), mode, confs, Path(folder, str(number)))
            for number, (name, (frame, mode, confs)) in enumerate(QUERIES.items())
            if re.search(args.only, name)
        }
        for live in queries.values():
            live.start()
        while not all(live.begun for live in queries.values()):
            for live in queries.values():
                live.note()
            time.sleep(0.5)
        runs = collect(queries, args)
        for live in queries.values():
            live.stop()
        compared = compare_counts(runs, queries)
        session.stop()
    print(table(runs, compared, queries))
    return int(any(run.findings or run.code for run in runs))


if __name__ == "__main__":
    sys.exit(main())
