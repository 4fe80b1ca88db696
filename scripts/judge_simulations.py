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
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from inspector import api

BATCHES, ROWS, SECONDS, REPEATED = 7, 60, 20, 0.8
BEGIN = 1_704_067_200
DELAYS = ("2s", "30s", "60s", "150s")
TIMEOUTS = ("15s", "45s", "90s", "200s")
TOLERATED = 0.05
RANGE = 15
"""Seconds by which a row of the right side of the join may follow one of the left."""
PACE = 20
STARTS = 2
"""Batches in which Python's workers start, so that those after them begin on time."""
LATE = 4
"""Seconds that a batch may begin late for two runs to have the same clock."""
AT_ONCE = 3
"""Queries at a time; those that go by processing time mostly wait."""

Query = Callable[[DataFrame, str], DataFrame]


def write_input(folder: Path, seed: int, *, clocked: bool) -> None:
    """Files of events, each some seconds later than the one before, so that no row is late.

    Where batches have to begin on time, the first of them bring one event each.
    """
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
            for row in range(1 if clocked and batch < STARTS else ROWS)
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

    def chained(events: DataFrame, delay: str) -> DataFrame:
        timed = events.withWatermark("at", delay).dropDuplicates(["id", "at"])
        return timed.groupBy(f.window("at", "10 seconds"), "user").count()

    def joined(events: DataFrame, delay: str) -> DataFrame:
        left = events.withWatermark("at", delay)
        right = events.selectExpr("user other", "at other_at").withWatermark("other_at", delay)
        soon = f"user = other AND other_at BETWEEN at AND at + INTERVAL {RANGE} SECONDS"
        return left.join(right, f.expr(soon))

    made: dict[str, Query] = {
        "joined": joined,
        "chained": chained,
        "windows": windows,
        "sliding": sliding,
        "sessions": sessions,
        "deduplicated": deduplicated,
        "within": within,
    }
    return made[name]


def by_clock(events: DataFrame, timeout: str) -> DataFrame:
    """The same with timeouts of processing time, by batches some seconds after each other."""

    def call(_: tuple[str], frames: Iterator[Any], state: GroupState) -> Iterator[Any]:
        if state.hasTimedOut:
            state.remove()
            return
        seen = sum(map(len, frames)) + (state.get[0] if state.exists else 0)
        state.update((seen,))
        state.setTimeoutDuration(int(timeout.split()[0]) * 1000)
        yield from ()

    return events.groupBy("id").applyInPandasWithState(
        call, "id long", "seen long", "append", GroupStateTimeout.ProcessingTimeTimeout
    )


def by_ttl(events: DataFrame, ttl: str) -> DataFrame:
    """A transformWithState whose value has a TTL, by batches some seconds after each other."""

    class Counter(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.seen = handle.getValueState("seen", "n long", int(ttl.split()[0]) * 1000)

        def handleInputRows(self, _: Any, rows: Iterator[Any], __: Any) -> Iterator[Any]:  # noqa: N802 - of PySpark
            before = self.seen.get()
            self.seen.update((sum(map(len, rows)) + (before[0] if before else 0),))
            yield from ()

        def close(self) -> None:
            pass

    return events.groupBy("id").transformWithStateInPandas(
        Counter(), "id long", "append", "ProcessingTime"
    )


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
    query = query.option("checkpointLocation", str(to))
    if made not in CLOCKED:
        query.trigger(availableNow=True).start().awaitTermination()
        return
    query = query.trigger(processingTime=f"{PACE} seconds")
    # On a busy machine the first Python worker may not start in the ten seconds that it has.
    queries = [query.start()]
    while (batches := sum(1 for _ in to.glob("commits/[0-9]"))) < BATCHES:
        if (error := queries[-1].exception()) is not None:
            if batches >= STARTS or len(queries) > STARTS:
                raise RuntimeError(str(error))
            queries.append(query.start())
        time.sleep(0.2)
    queries[-1].stop()


def sum_by_version(rows: Iterable[Mapping[str, Any]], name: str) -> dict[int, int]:
    """A column of all stores together, by batch."""
    sums: dict[int, int] = {}
    for row in rows:
        sums[row["batch_id"]] = sums.get(row["batch_id"], 0) + row[name]
    return sums


def clock_difference(root: Path) -> float:
    """By how many seconds the batches of a query were not :data:`PACE` apart, at the most."""
    logs = (root / "offsets" / str(batch) for batch in range(STARTS, BATCHES))
    times: list[int] = [
        json.loads(log.read_text().splitlines()[1])["batchTimestampMs"] for log in logs
    ]
    return max(abs(b - a - PACE * 1000) for a, b in pairwise(times)) / 1000


def judged(name: str, change: str, value: str, before: Path, after: Path) -> bool:
    """Compare what is simulated on one run with what the other run has."""
    call: dict[str, Any] = {change: value}
    if name.startswith("within"):  # its schema does not say the delay
        call["old_delay"] = "10s"
    # A processing-time timer asks for batches for ever.
    clocked = name.partition("-")[0] in ("clock", "ttl")
    options = api.Options(batch=BATCHES - 1) if clocked else api.Options()
    if name.startswith("joined"):  # the time range is not in the checkpoint
        options = api.Options(join_retention=(f"left={RANGE}s", "right=0s"))
    said = api.simulate(str(before), options, **call)
    truth = api.timeline(str(after), options)
    simulated = [row for row in said.primary.rows if row["certainty"] != "unchanged"]
    stores = {row["store_name"] for row in simulated}
    real = [row for row in truth.primary.rows if row["store_name"] in stores]
    last = max(row["batch_id"] for row in real)
    rows, size = (sum_by_version(real, name)[last] for name in ("rows", "row_bytes"))
    peak = max(sum_by_version(real, "rows").values())
    then = sum(row["rows_then"] for row in simulated)
    bytes_then = sum(row["row_bytes_then"] for row in simulated)
    batches = [row for row in said.tables[1].rows if row["store_name"] in stores]
    peak_then = max(sum_by_version(batches, "rows_then").values())
    if clocked and (apart := max(map(clock_difference, (before, after)))) > LATE:
        print(f"{name} {value}: a batch began {apart:.0f} s late, so nothing is compared")
        return False
    pairs = ((then, rows), (bytes_then, size), (peak_then, peak))
    good = all(abs(a - b) <= TOLERATED * max(b, 1) for a, b in pairs)
    print(
        f"{'ok ' if good else 'BAD'} {name:14} {change} {value:5} rows {then:5} real {rows:5}  "
        f"bytes {bytes_then:7} real {size:7}  peak {peak_then:5} real {peak:5}",
        flush=True,
    )
    return good


FUNCTIONS: dict[str, Query] = {"timeout": by_timeout, "clock": by_clock, "ttl": by_ttl}
CLOCKED = (by_clock, by_ttl)
"""Queries that go by processing time: their batches begin every :data:`PACE` seconds."""
_DELAY, _TIMEOUT = ("10s", DELAYS, "watermark_delay"), ("30s", TIMEOUTS, "timeout")
CASES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "windows": _DELAY,
    "sliding": _DELAY,
    "sessions": _DELAY,
    "deduplicated": _DELAY,
    "within": ("10s", DELAYS, "dedup_within"),
    "timeout": _TIMEOUT,
    "chained": ("10s", DELAYS[:3], "watermark_delay"),
    "windows-rocksdb": ("10s", DELAYS[1:3], "watermark_delay"),
    "within-rocksdb": ("10s", DELAYS[1:3], "dedup_within"),
    "timeout-rocksdb": ("30s", TIMEOUTS[:2], "timeout"),
    "joined": _DELAY,
    "joined-rocksdb": ("10s", DELAYS[1:3], "watermark_delay"),
    "clock": ("30s", ("50s", "70s"), "timeout"),
    "ttl-rocksdb": ("30s", ("15s", "50s", "70s", "90s"), "ttl"),
}
"""Query, and the provider if it is not the default: the value it has, others, and the change."""
_PROVIDER = "org.apache.spark.sql.execution.streaming.state."
PROVIDERS = {
    "": f"{_PROVIDER}HDFSBackedStateStoreProvider",
    "rocksdb": f"{_PROVIDER}RocksDBStateStoreProvider",
}


def main(folder: Path, names: list[str]) -> int:
    """Run all queries, or those named; the exit code says whether all were simulated well."""
    # A processor of transformWithState runs in a Python of the driver, too.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    confs = {"sql.shuffle.partitions": 2, "sql.session.timeZone": "UTC", "driver.memory": "700m"}
    for key, value in confs.items():
        builder = builder.config(f"spark.{key}", str(value))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    results = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = {}
        for name in names or CASES:
            base, values, _ = CASES[name]
            query, _, provider = name.partition("-")
            session = spark.newSession()
            session.conf.set("spark.sql.streaming.stateStore.providerClass", PROVIDERS[provider])
            made = FUNCTIONS.get(query) or counts(query)
            seed = list(CASES).index(name)
            write_input(folder / name / "input", seed, clocked=made in CLOCKED)
            for value in (base, *values):
                arguments = (session, folder / name / "input", made, value, folder / name / value)
                runs[name, value] = pool.submit(run, *arguments)
        for (name, value), done in runs.items():
            base, _, change = CASES[name]
            done.result()
            if value != base:
                where = folder / name
                results.append(judged(name, change, value, where / base, where / value))
    spark.stop()
    print(f"{sum(results)} of {len(results)} within {TOLERATED:.0%}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
