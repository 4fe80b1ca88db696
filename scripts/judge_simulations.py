"""Judges ``simulate`` by Spark: each query runs as it is and again with the change.

    python scripts/judge_simulations.py FOLDER [NAME...]

Every query reads the same files, one a batch. What ``simulate`` says of the first run is compared
with the state that the second run has at its end, and with the most that it had; a line for each.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from inspector import api

BATCHES, ROWS, SECONDS, REPEATED = 9, 60, 20, 0.8
BEGIN = 1_704_067_200
DELAYS = ("2s", "30s", "60s", "150s")
TIMEOUTS = ("15s", "45s", "90s", "200s")
TOLERATED = 0.05

Query = Callable[[DataFrame, str], DataFrame]


def write_input(folder: Path, seed: int) -> None:
    """Files of events, each some seconds later than the one before, so that no row is late."""
    chance = random.Random(seed)
    folder.mkdir(parents=True)
    for batch in range(BATCHES):
        rows = [
            {
                "user": f"u{chance.randrange(40)}",
                "id": batch * ROWS + row
                if chance.random() < 0.8
                else chance.randrange(batch * ROWS + 1),
                "at": BEGIN + batch * SECONDS + chance.randrange(SECONDS),
            }
            for row in range(ROWS)
        ]
        text = "\n".join(json.dumps(row) for row in rows)
        path = folder / f"{batch:03}.json"
        path.write_text(text)
        os.utime(path, (BEGIN + batch, BEGIN + batch))  # the source reads the oldest file first


def counts(name: str) -> Query:
    """Aggregations and deduplications, by name."""

    def windows(events: DataFrame, delay: str) -> DataFrame:
        timed = events.withWatermark("at", delay)
        return timed.groupBy(f.window("at", "10 seconds"), "user").count()

    def sliding(events: DataFrame, delay: str) -> DataFrame:
        timed = events.withWatermark("at", delay)
        return timed.groupBy(f.window("at", "40 seconds", "10 seconds")).agg(f.max("id"))

    def sessions(events: DataFrame, delay: str) -> DataFrame:
        timed = events.withWatermark("at", delay)
        return timed.groupBy(f.session_window("at", "5 seconds"), "user").count()

    def deduplicated(events: DataFrame, delay: str) -> DataFrame:
        return events.withWatermark("at", delay).dropDuplicates(["id", "at"])

    def within(events: DataFrame, delay: str) -> DataFrame:
        return events.withWatermark("at", delay).dropDuplicatesWithinWatermark(["id"])

    made: dict[str, Query] = {
        "windows": windows,
        "sliding": sliding,
        "sessions": sessions,
        "deduplicated": deduplicated,
        "within": within,
    }
    return made[name]


def by_timeout(events: DataFrame, timeout: str) -> DataFrame:
    """Group state whose function sets an event-time timeout behind the watermark in each call."""
    after = int(timeout.split()[0]) * 1000

    def call(_: tuple[str], frames: Iterator[Any], state: GroupState) -> Iterator[Any]:
        if state.hasTimedOut:
            state.remove()
            return
        seen = sum(map(len, frames)) + (state.get[0] if state.exists else 0)
        state.update((seen,))
        state.setTimeoutTimestamp(max(state.getCurrentWatermarkMs(), 1) + after)
        yield from ()

    timed = events.withWatermark("at", "10 seconds")
    return timed.groupBy("user").applyInPandasWithState(
        call, "user string", "seen long", "append", GroupStateTimeout.EventTimeTimeout
    )


def run(spark: SparkSession, source: Path, made: Query, value: str, to: Path) -> None:
    """Run a query until its input is at its end."""
    read = spark.readStream.schema("user string, id long, at long").option("maxFilesPerTrigger", 1)
    events = read.json(str(source)).withColumn("at", f.col("at").cast("timestamp"))
    frame = made(events, f"{value.removesuffix('s')} seconds")
    query = frame.writeStream.format("noop").outputMode("append")
    started = query.option("checkpointLocation", str(to)).trigger(availableNow=True).start()
    started.awaitTermination()


def judged(name: str, change: str, value: str, before: Path, after: Path) -> bool:
    """Compare what is simulated on one run with what the other run has."""
    call: dict[str, Any] = {change: value}
    if name == "within":  # its schema does not say the delay
        call["old_delay"] = "10s"
    said = api.simulate(str(before), **call)
    truth = api.timeline(str(after))
    simulated = [row for row in said.primary.rows if row["certainty"] != "unchanged"]
    stores = {row["store_name"] for row in simulated}
    real = [row for row in truth.primary.rows if row["store_name"] in stores]
    last = max(row["version"] for row in real)
    rows = sum(row["rows"] for row in real if row["version"] == last)
    size = sum(row["row_bytes"] for row in real if row["version"] == last)
    peak = max(row["rows"] for row in real)
    then = sum(row["rows_then"] for row in simulated)
    bytes_then = sum(row["row_bytes_then"] for row in simulated)
    peak_then = max(row["peak_rows_then"] for row in simulated)
    pairs = ((then, rows), (bytes_then, size), (peak_then, peak))
    good = all(abs(a - b) <= TOLERATED * max(b, 1) for a, b in pairs)
    print(
        f"{'ok ' if good else 'BAD'} {name:14} {change} {value:5} rows {then:5} real {rows:5}  "
        f"bytes {bytes_then:7} real {size:7}  peak {peak_then:5} real {peak:5}",
        flush=True,
    )
    return good


def main(folder: Path, names: list[str]) -> int:
    """Run all queries, or those named; the exit code says whether all were simulated well."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    confs = {"sql.shuffle.partitions": 2, "sql.session.timeZone": "UTC", "driver.memory": "700m"}
    for key, value in confs.items():
        builder = builder.config(f"spark.{key}", str(value))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    results = []
    changes = dict.fromkeys(("windows", "sliding", "sessions", "deduplicated"), "watermark_delay")
    changes |= {"within": "dedup_within", "by_timeout": "timeout"}
    for seed, (name, change) in enumerate(changes.items()):
        if names and name not in names:
            continue
        source = folder / name / "input"
        write_input(source, seed)
        made: Query = by_timeout if name == "by_timeout" else counts(name)
        base, values = ("30s", TIMEOUTS) if name == "by_timeout" else ("10s", DELAYS)
        for value in (base, *values):
            run(spark, source, made, value, folder / name / value)
            if value != base:
                where = folder / name
                results.append(judged(name, change, value, where / base, where / value))
    spark.stop()
    print(f"{sum(results)} of {len(results)} within {TOLERATED:.0%}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
