#!/usr/bin/env python3
"""Audit queries while they run, and hold every audit against Spark's own count of its batch.

    python scripts/audit_live.py [--minutes 10] [--restart 60] [--engines local,spark]

An aggregation and a left outer join run batch after batch in one session whose maintenance comes
every second and keeps few versions, so that files appear and go under every audit; each query is
stopped and started again now and then. Whatever an audit says of files (SS1xx, problems) is false
here, but for what moved: nothing is damaged. Prints a line for each audit that was wrong, then a
table; ends with 1 if there was one. Needs Java 17 and PySpark.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from inspector.api import Options, Report, audit
from inspector.checkpoint.logfile import MOVED_SLUG
from inspector.engines.choose import EngineOptions
from inspector.exceptions import InspectorError
from inspector.model import is_store

CONFS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
}
OF_FILES = "SS1"
"""How the ids of findings begin that say something of files."""


@dataclass
class Live:
    """One query that runs, and what Spark said of its batches.

    Attributes:
        rows: batch -> rows of its state, by the query's own progress.
    """

    name: str
    frame: DataFrame
    mode: str
    checkpoint: Path
    rows: dict[int, int] = field(default_factory=dict)
    query: Any = None

    def start(self) -> None:
        """Start it, or start it again."""
        writer = self.frame.writeStream.format("noop").outputMode(self.mode)
        self.query = writer.option("checkpointLocation", str(self.checkpoint)).start()

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

    def rows_of(self, batch: int, seconds: float = 20) -> int | None:
        """Spark's count for a batch, which it tells after its commit; None if it never does."""
        end = time.monotonic() + seconds
        while batch not in self.rows and time.monotonic() < end:
            self.note()
            time.sleep(0.1)
        return self.rows.get(batch)


def aggregation(session: SparkSession) -> DataFrame:
    """Counts in windows that close."""
    return (
        _rate(session, 400)
        .withWatermark("timestamp", "5 seconds")
        .groupBy(F.window("timestamp", "2 seconds"), (F.col("value") % 60).alias("user"))
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


def _rate(session: SparkSession, rows: int) -> DataFrame:
    return session.readStream.format("rate").option("rowsPerSecond", rows).load()


def wrong(live: Live, report: Report) -> Iterator[str]:
    """What an audit said that cannot be so."""
    told = report.to_dict()
    for row in told["problems"]:
        if row["problem"] != MOVED_SLUG:
            yield f"problem {row}"
    for finding in told["findings"]:
        if finding["id"].startswith(OF_FILES) and finding["severity"] != "info":
            yield f"{finding['id']}: {finding['evidence']}"
    batch = told["summary"]["batch_id"]
    counted = [row for row in told["tables"]["sizes"] if _counts(row["store_name"])]
    found, expected = sum(row["rows"] for row in counted), live.rows_of(batch)
    if expected is not None and found != expected:
        yield f"batch {batch} has {found} rows, Spark counted {expected}"


def _counts(store: str) -> bool:
    return store == "default" or any(is_store(side, store) for side in ("left", "right"))


def main() -> int:
    """Run; 1 if any audit was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--restart", type=float, default=60, help="seconds between restarts")
    parser.add_argument("--engines", default="local,spark")
    parser.add_argument("--provider", choices=["hdfs", "rocksdb"], default="hdfs")
    given = parser.parse_args()
    builder = SparkSession.builder.master("local[2]").appName("audit_live")
    for key, value in CONFS.items():
        builder = builder.config(key, value)
    if given.provider == "rocksdb":
        package = "org.apache.spark.sql.execution.streaming.state"
        store = "spark.sql.streaming.stateStore"
        for key, value in {
            f"{store}.providerClass": f"{package}.RocksDBStateStoreProvider",
            f"{store}.rocksdb.changelogCheckpointing.enabled": "true",
            "spark.sql.streaming.join.stateFormatVersion": "3",  # its stores share their files
        }.items():
            builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        queries = [
            Live("aggregation", aggregation(session), "update", Path(folder) / "agg"),
            Live("outer join", outer_join(session), "append", Path(folder) / "join"),
        ]
        for live in queries:
            live.start()
        counts = run(session, queries, given)
        for live in queries:
            live.stop()
    session.stop()
    print(f"{'query':14}{'engine':8}{'audits':>8}{'batches':>9}{'unchecked':>11}{'wrong':>7}")
    for (name, engine), count in sorted(counts.items()):
        print(
            f"{name:14}{engine:8}{count.audits:>8}{len(count.batches):>9}"
            f"{count.unchecked:>11}{count.wrong:>7}"
        )
    return int(any(count.wrong for count in counts.values()))


@dataclass
class Count:
    """What became of the audits of one query by one engine."""

    audits: int = 0
    batches: set[int] = field(default_factory=set)
    unchecked: int = 0
    wrong: int = 0


def run(
    session: SparkSession, queries: list[Live], given: argparse.Namespace
) -> dict[tuple[str, str], Count]:
    """Audit the queries in turn with each engine until the time is over."""
    counts: dict[tuple[str, str], Count] = defaultdict(Count)
    end = time.monotonic() + 60 * given.minutes
    restart = time.monotonic() + given.restart
    while not all((live.checkpoint / "commits" / "0").exists() for live in queries):
        time.sleep(0.2)
    while time.monotonic() < end:
        for live in queries:
            for engine in given.engines.split(","):
                options = EngineOptions(engine, session=session if engine == "spark" else None)
                audit_once(live, Options(engine=options), counts[live.name, engine])
        if time.monotonic() > restart:
            restart = time.monotonic() + given.restart
            for live in queries:
                live.stop()
                live.start()
    return counts


def audit_once(live: Live, options: Options, count: Count) -> None:
    """One audit, held against what Spark says."""
    count.audits += 1
    try:
        report = audit(str(live.checkpoint), options)
        batch = report.to_dict()["summary"]["batch_id"]
        faults = list(wrong(live, report))
        count.batches.add(batch)
        count.unchecked += batch not in live.rows
    except InspectorError as error:
        faults = [f"{type(error).__name__}: {error}"]
    count.wrong += bool(faults)
    for fault in faults:
        print(f"{live.name}, {options.engine.name}: {fault}"[:400], flush=True)


if __name__ == "__main__":
    sys.exit(main())
