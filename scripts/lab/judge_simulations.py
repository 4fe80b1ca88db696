"""Judges ``simulate`` by Spark: each query runs as it is and again with the change.

    python scripts/lab/judge_simulations.py FOLDER [--seed N] [NAME...]

Every query reads the same files, one a batch: irregular event times, some of them late, and batches
without a row. The seed draws them, and the delays. What ``simulate`` says of the first run is
compared with the second run, store by store and batch by batch; a line for each rerun. What is said
to be exact or unchanged has to be equal, a bound has to hold, and of what is inferred the rows and
bytes now and at the peak, and always the heap of an operator, may be off by 5 %. Runs that are in
FOLDER are judged again and not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from inspector import api

BATCHES, CLOCKED_BATCHES, ROWS = 10, 8, 60
BEGIN = 1_704_067_200
TOLERATED = 0.05
RANGE = 15
"""Seconds by which a row of the right side of the join may follow one of the left."""
PACE = 20
STARTS = 2
"""Batches in which Python's workers start, so that those after them begin on time."""
LATE = 6
"""Seconds that a batch may begin late for two runs to have the same clock."""
AT_ONCE = 3
"""Queries at a time; those that go by processing time mostly wait."""

Query = Callable[[DataFrame, str], DataFrame]


def write_input(folder: Path, seed: int, case: Case) -> None:
    """Files of events, some of which are late; some files have no row.

    Where batches have to begin on time, the first of them bring one event each.
    """
    chance = random.Random(seed)
    folder.mkdir(parents=True)
    now, ids = BEGIN, 0
    for batch in range(CLOCKED_BATCHES if case.clocked else BATCHES):
        begins = case.clocked and batch < STARTS
        idle = batch and not case.steady and chance.random() < 0.15
        count = 0 if idle else chance.randrange(5, ROWS)
        spread = 1 if case.steady else chance.choice((5, 20, 60))
        rows = []
        for _ in range(1 if begins else count):
            back = (
                chance.randrange(200) if chance.random() < case.late else chance.randrange(spread)
            )
            again = ids and chance.random() < case.again
            rows.append(
                {
                    "user": f"u{chance.randrange(40)}",
                    "id": chance.randrange(ids) if again else ids,
                    "at": now + spread - back - 1,
                }
            )
            ids += 1
        step = chance.choice((0, 5, 20, 20, 40, 90))
        now += PACE if case.steady else step if case.late else max(step, spread)
        path = folder / f"{batch:03}.json"
        path.write_text("\n".join(json.dumps(row) for row in rows))
        os.utime(path, (BEGIN + batch, BEGIN + batch))  # the source reads the oldest file first


def windows(events: DataFrame, delay: str) -> DataFrame:
    """Tumbling windows of 10 seconds by user."""
    timed = events.withWatermark("at", delay)
    return timed.groupBy(f.window("at", "10 seconds"), "user").count()


def sliding(events: DataFrame, delay: str) -> DataFrame:
    """Four windows for each event."""
    timed = events.withWatermark("at", delay)
    return timed.groupBy(f.window("at", "40 seconds", "10 seconds")).agg(f.max("id"))


def collected(events: DataFrame, delay: str) -> DataFrame:
    """Windows whose values grow."""
    timed = events.withWatermark("at", delay)
    return timed.groupBy(f.window("at", "20 seconds"), "user").agg(f.collect_list("id"))


def sessions(events: DataFrame, delay: str) -> DataFrame:
    """Sessions by user."""
    timed = events.withWatermark("at", delay)
    return timed.groupBy(f.session_window("at", "5 seconds"), "user").count()


def by_event_time(events: DataFrame, delay: str) -> DataFrame:
    """Groups of one second."""
    return events.withWatermark("at", delay).groupBy("at", "user").count()


def untimed(events: DataFrame, delay: str) -> DataFrame:
    """Groups that no watermark removes."""
    return events.withWatermark("at", delay).groupBy("user").count()


def deduplicated(events: DataFrame, delay: str) -> DataFrame:
    """A deduplication whose key has the event time."""
    return events.withWatermark("at", delay).dropDuplicates(["id", "at"])


def without_time(events: DataFrame, delay: str) -> DataFrame:
    """One that forgets nothing."""
    return events.withWatermark("at", delay).dropDuplicates(["id"])


def within(events: DataFrame, delay: str) -> DataFrame:
    """One within the watermark."""
    return events.withWatermark("at", delay).dropDuplicatesWithinWatermark(["id"])


def chained(events: DataFrame, delay: str) -> DataFrame:
    """Windows behind a deduplication."""
    timed = events.withWatermark("at", delay).dropDuplicates(["id", "at"])
    return timed.groupBy(f.window("at", "10 seconds"), "user").count()


def chained_within(events: DataFrame, delay: str) -> DataFrame:
    """Windows behind one within the watermark."""
    timed = events.withWatermark("at", delay).dropDuplicatesWithinWatermark(["id", "at"])
    return timed.groupBy(f.window("at", "10 seconds"), "user").count()


def rolled_up(events: DataFrame, delay: str) -> DataFrame:
    """Windows of windows."""
    timed = events.withWatermark("at", delay)
    small = timed.groupBy(f.window("at", "10 seconds"), "user").count()
    return small.groupBy(f.window("window", "30 seconds")).agg(f.sum("count"))


def within_at(events: DataFrame, delay: str) -> DataFrame:
    """The same by the event time, too."""
    return events.withWatermark("at", delay).dropDuplicatesWithinWatermark(["id", "at"])


def _joined(events: DataFrame, delay: str, how: str) -> DataFrame:
    left = events.withWatermark("at", delay)
    right = events.selectExpr("user other", "at other_at").withWatermark("other_at", delay)
    right = right.where("other != 'u1'")
    soon = f"user = other AND other_at BETWEEN at AND at + INTERVAL {RANGE} SECONDS"
    return left.join(right, f.expr(soon), how)


def joined(events: DataFrame, delay: str) -> DataFrame:
    """An inner join in a time range."""
    return _joined(events, delay, "inner")


def outer(events: DataFrame, delay: str) -> DataFrame:
    """A left outer join in a time range."""
    return _joined(events, delay, "left_outer")


def windowed_join(events: DataFrame, delay: str) -> DataFrame:
    """An inner join by window."""
    timed = events.withWatermark("at", delay).withColumn("window", f.window("at", "20 seconds"))
    left = timed.select("window", "user", "id")
    return left.join(timed.selectExpr("window", "user", "id other"), ["window", "user"])


def timers_of(when: str) -> Query:
    """Group state with an event-time timeout, by the watermark or by the newest event."""

    def query(events: DataFrame, value: str) -> DataFrame:
        after = int(value.split()[0]) * 1000 if when == "watermark" else 20_000

        def call(_: tuple[str], frames: Iterator[Any], state: GroupState) -> Iterator[Any]:
            if state.hasTimedOut:
                state.remove()
                return
            rows = list(frames)
            newest = max(int(frame["at"].max().timestamp() * 1000) for frame in rows)
            state.update((sum(map(len, rows)) + (state.get[0] if state.exists else 0),))
            now = max(state.getCurrentWatermarkMs(), 1)
            begin = now if when == "watermark" else max(newest, now)
            state.setTimeoutTimestamp(begin + after)
            yield from ()

        delay = "10 seconds" if when == "watermark" else value
        timed = events.withWatermark("at", delay)
        return timed.groupBy("user").applyInPandasWithState(
            call, "user string", "seen long", "append", GroupStateTimeout.EventTimeTimeout
        )

    return query


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
    """A transformWithState whose variables have a TTL, by batches some seconds after each other."""

    class Counter(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            after = int(ttl.split()[0]) * 1000
            self.seen = handle.getValueState("seen", "n long", after)
            self.times = handle.getListState("times", "at long", after)
            self.kinds = handle.getMapState("kinds", "kind long", "n long", after)
            self.total = handle.getValueState("total", "n long")

        def handleInputRows(self, _: Any, rows: Iterator[Any], __: Any) -> Iterator[Any]:  # noqa: N802 - of PySpark
            ids = [int(number) for frame in rows for number in frame["id"]]
            before, total = self.seen.get(), self.total.get()
            self.seen.update((len(ids) + (before[0] if before else 0),))
            self.total.update((len(ids) + (total[0] if total else 0),))
            for number in ids:
                self.times.appendValue((number,))
                self.kinds.updateValue((number % 3,), (number,))
            yield from ()

        def close(self) -> None:
            pass

    return events.groupBy("user").transformWithStateInPandas(
        Counter(), "id long", "append", "ProcessingTime"
    )


def by_timer(events: DataFrame, delay: str) -> DataFrame:
    """A transformWithState with a timer behind the newest event of each key."""

    class Counter(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.seen = handle.getValueState("seen", "n long")

        def handleInputRows(self, _: Any, rows: Iterator[Any], __: Any) -> Iterator[Any]:  # noqa: N802 - of PySpark
            times = [int(at.timestamp() * 1000) for frame in rows for at in frame["at"]]
            before = self.seen.get()
            self.seen.update((len(times) + (before[0] if before else 0),))
            for timer in list(self.handle.listTimers()):
                self.handle.deleteTimer(timer)
            self.handle.registerTimer(max(times) + 20_000)
            yield from ()

        def handleExpiredTimer(self, *_: Any, **__: Any) -> Iterator[Any]:  # noqa: N802 - of PySpark
            self.seen.clear()
            yield from ()

        def close(self) -> None:
            pass

    timed = events.withWatermark("at", delay)
    return timed.groupBy("user").transformWithStateInPandas(
        Counter(), "id long", "append", "EventTime"
    )


@dataclass(frozen=True)
class Case:
    """A query and how it is changed; the seed draws the values, shorter and longer ones."""

    query: Query
    change: str = "watermark_delay"
    then: Query | None = None  # that of the change, if it is another one
    again: float = 0.2  # part of the events whose id came before
    provider: str = ""  # or rocksdb
    old_delay: bool = False  # its schemas do not say the delay
    mode: str = "append"
    late: float = 0.1  # part of the events that are late
    clocked: bool = False  # it goes by processing time: its batches begin every :data:`PACE` s
    join: bool = False
    steady: bool = False  # events come when they happen
    purged: bool = False  # the first run keeps two versions, and no batch without data


CASES: dict[str, Case] = {
    "windows": Case(windows),
    "windows-in-time": Case(windows, late=0),
    "windows-update": Case(windows, mode="update", purged=True),
    "windows-complete": Case(windows, mode="complete"),
    "windows-rocksdb": Case(windows, provider="rocksdb"),
    "windows-purged": Case(windows, purged=True, provider="rocksdb"),
    "sliding": Case(sliding, purged=True),
    "collected": Case(collected),
    "sessions": Case(sessions),
    "sessions-rocksdb": Case(sessions, provider="rocksdb", late=0.02),
    "sessions-in-time": Case(sessions, late=0),
    "event-time": Case(by_event_time, mode="update"),
    "untimed": Case(untimed, mode="update"),
    "deduplicated": Case(deduplicated),
    "deduplicated-rocksdb": Case(deduplicated, provider="rocksdb", purged=True),
    "deduplicated-within": Case(deduplicated, "dedup_within", within_at, late=0.02),
    "without-time": Case(
        *(without_time, "dedup_within", within), late=0, again=0.01, clocked=True, steady=True
    ),
    "within": Case(within, "dedup_within", old_delay=True, again=0.005, late=0),
    "within-rocksdb": Case(
        *(within, "watermark_delay"), provider="rocksdb", old_delay=True, again=0, late=0.01
    ),
    "within-again": Case(within, "dedup_within", old_delay=True),
    "within-unknown": Case(within, "watermark_delay"),
    "chained": Case(chained),
    "chained-within": Case(chained, "dedup_within", chained_within),
    "rolled-up": Case(rolled_up, late=0.02),
    "joined": Case(joined, join=True),
    "joined-rocksdb": Case(joined, join=True, provider="rocksdb", late=0),
    "joined-unknown": Case(joined),
    "outer": Case(outer, join=True, purged=True),
    "windowed-join": Case(windowed_join),
    "timeout": Case(timers_of("watermark"), "timeout", old_delay=True),
    "timeout-rocksdb": Case(timers_of("watermark"), "timeout", provider="rocksdb", late=0),
    "events-timeout": Case(timers_of("event"), old_delay=True, late=0),
    "timer-rocksdb": Case(by_timer, provider="rocksdb", old_delay=True, late=0),
    "clock": Case(by_clock, "timeout", clocked=True),
    "ttl-rocksdb": Case(by_ttl, "ttl", provider="rocksdb", clocked=True),
}
_PROVIDER = "org.apache.spark.sql.execution.streaming.state."
PROVIDERS = {
    "": f"{_PROVIDER}HDFSBackedStateStoreProvider",
    "rocksdb": f"{_PROVIDER}RocksDBStateStoreProvider",
}
KEEP_LITTLE = {
    "minBatchesToRetain": "2",
    "stateStore.minDeltasForSnapshot": "2",
    "stateStore.maintenanceInterval": "500ms",
    "noDataMicroBatches.enabled": "false",
}


def seed_of(name: str, seed: int) -> int:
    """Another one for each case."""
    return zlib.crc32(f"{name} {seed}".encode())


def values_of(case: Case, chance: random.Random) -> tuple[int, list[int]]:
    """Seconds that the query has, and a shorter and a longer time."""
    if case.steady:  # rows go twice the delay later
        return PACE, [PACE // 2 + 1, 2 * PACE + 1]
    if case.clocked:  # batches begin between these times, with room on both sides
        return 2 * PACE + PACE // 2, [PACE + PACE // 2, 4 * PACE + PACE // 2]
    return chance.choice((10, 20, 45)), [chance.choice((1, 5)), chance.choice((60, 90, 170))]


def run(
    spark: SparkSession, source: Path, case: Case, checkpoint: Query, value: int, to: Path
) -> None:
    """Run a query until its input is at its end."""
    if (to / "done").exists():
        return
    read = spark.readStream.schema("user string, id long, at long").option("maxFilesPerTrigger", 1)
    events = read.json(str(source)).withColumn("at", f.col("at").cast("timestamp"))
    frame = checkpoint(events, f"{value} seconds")
    query = frame.writeStream.format("noop").outputMode(case.mode)
    query = query.option("checkpointLocation", str(to))
    if case.clocked:
        query = query.trigger(processingTime=f"{PACE} seconds")
        # On a busy machine the first Python worker may not start in the ten seconds that it has.
        queries = [query.start()]
        while (batches := sum(1 for _ in to.glob("commits/[0-9]"))) < CLOCKED_BATCHES:
            if (error := queries[-1].exception()) is not None:
                if batches >= STARTS or len(queries) > STARTS:
                    raise RuntimeError(str(error))
                queries.append(query.start())
            time.sleep(0.2)
        queries[-1].stop()
        last = queries[-1]
    else:
        last = query.trigger(availableNow=True).start()
        last.awaitTermination()
    operators = [of for batch in last.recentProgress for of in batch.stateOperators]
    (to / "done").write_text(str(sum(of.numRowsDroppedByWatermark for of in operators)))


def clock_difference(root: Path) -> float:
    """By how many seconds the batches of a query were not :data:`PACE` apart, at the most."""
    logs = (root / "offsets" / str(batch) for batch in range(STARTS, CLOCKED_BATCHES))
    times: list[int] = [
        json.loads(log.read_text().splitlines()[1])["batchTimestampMs"] for log in logs
    ]
    return max(abs(b - a - PACE * 1000) for a, b in pairwise(times)) / 1000


def close(message: int, real: int) -> bool:
    """Whether the two are within what is tolerated."""
    return abs(message - real) <= TOLERATED * max(real, 1)


HOLDS: dict[str, Callable[[int, int], bool]] = {
    "exact": int.__eq__,
    "unchanged": int.__eq__,
    "at least": int.__le__,
    "at most": int.__ge__,
    "inferred": close,
    "heap": close,
}
NUMBERS = ("rows", "row_bytes")
UNTOUCHED = "total"
"""A variable without TTL in both runs, which --ttl would give one."""


def judged(name: str, case: Case, old: int, new: int, where: Path) -> Counter[str]:
    """Compare what is simulated on one run with what the other run has."""
    before, after = (where / f"{value}s" for value in (old, new))
    if case.clocked and (apart := max(map(clock_difference, (before, after)))) > LATE:
        print(f"    {name} {new}s: a batch began {apart:.0f} s late, so nothing is compared")
        return Counter()
    call: dict[str, Any] = {case.change: f"{new}s"}
    if case.old_delay:
        call["old_delay"] = f"{old}s"
    retention = (f"left={RANGE}s", "right=0s") if case.join else ()
    # A processing-time timer asks for batches for ever.
    batch = CLOCKED_BATCHES - 1 if case.clocked else None
    options = api.Options(batch=batch, join_retention=retention)
    report = api.simulate(str(before), options, **call)
    real = {
        (row["operator_id"], row["store_name"], row["batch_id"]): row
        for row in api.timeline(str(after), options).primary.rows
    }
    counter: Counter[str] = Counter()
    wrong: list[str] = []
    in_time = case.change in ("timeout", "ttl") or all(
        (path / "done").read_text() == "0" for path in (before, after)
    )
    for subject, certainty, a, b in numbers_of(report, real, real_heaps(after, options, call)):
        if certainty == "inferred" and not in_time:  # it says that nothing was late
            counter["of unmet conditions"] += 1
            continue
        counter["numbers"] += 1
        if not HOLDS[certainty](a, b):
            wrong.append(f"{subject} {certainty} {a} real {b}")
        elif not close(a, b):
            counter["loose"] += 1
    counter.update(row["certainty"] for row in report.primary.rows)
    of = ", ".join(f"{counter[key]} {key}" for key in sorted(counter))
    verdict = "BAD" if wrong else "ok "
    print(f"{verdict} {name:20} {case.change} {old}s -> {new}s: {of}", flush=True)
    for line in wrong[:6]:
        print(f"      {line}")
    return counter + Counter(reruns=1, wrong=len(wrong), bad=bool(wrong))


def real_heaps(path: Path, options: api.Options, call: Mapping[str, Any]) -> Counter[int]:
    """The heap of each operator as it is, of which a change is of no account."""
    heaps: Counter[int] = Counter()
    for row in api.simulate(str(path), options, **call).primary.rows:
        heaps[row["operator_id"]] += row["heap_bytes"] or 0
    return heaps


def numbers_of(
    message: api.Report, real: Mapping[tuple[int, str, int], Mapping[str, Any]], heaps: Counter[int]
) -> Iterator[tuple[str, str, int, int]]:
    """What is compared: a name for it, how certain it is, the number that is said, the real one."""
    batches: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for row in message.tables[1].rows:
        batches.setdefault((row["operator_id"], row["store_name"]), []).append(row)
    rows = [row for row in message.primary.rows if row["store_name"] != UNTOUCHED]
    for row in rows:
        store, certainty = (row["operator_id"], row["store_name"]), row["certainty"]
        if certainty == "unknown":
            continue
        of_store = batches.get(store, [])
        last = max(batch for operator, name, batch in real if (operator, name) == store)
        for number in NUMBERS:
            label = f"{store} {number}"
            truth = real[(*store, last)]
            yield f"{label} now", certainty, row[f"{number}_then"], truth[number]
            truths = [real[(*store, of["batch_id"])][number] for of in of_store]
            for of, there in zip(of_store, truths, strict=True):
                if certainty != "inferred":
                    yield f"{label} {of['batch_id']}", certainty, of[f"{number}_then"], there
            if of_store:
                peak = row[f"peak_{number.removeprefix('row_')}_then"]
                yield f"{label} at peak", certainty, peak, max(truths)
    for operator, heap in heaps.items():
        of_operator = [row for row in rows if row["operator_id"] == operator]
        bounded = {"at least", "at most", "unknown"} & {row["certainty"] for row in of_operator}
        if heap and not bounded:
            then = sum(row["heap_bytes_then"] for row in of_operator)
            within = {"inferred"} & {row["certainty"] for row in of_operator}
            yield f"{operator} heap", "inferred" if within else "heap", then, heap


def main(folder: Path, names: list[str], seed: int) -> int:
    """Run all queries, or those named; the exit code says whether all were simulated well."""
    # A processor of transformWithState runs in a Python of the driver, too.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    confs = {"sql.shuffle.partitions": 2, "sql.session.timeZone": "UTC", "driver.memory": "1g"}
    for key, value in confs.items():
        builder = builder.config(f"spark.{key}", str(value))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    total: Counter[str] = Counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = {}
        for name in names or CASES:
            case, where = CASES[name], folder / name
            number = seed_of(name, seed)
            old, values = values_of(case, random.Random(number))
            if not (where / "input").exists():
                write_input(where / "input", number, case)
            for value in (old, *values):
                session = spark.newSession()
                streaming = {"stateStore.providerClass": PROVIDERS[case.provider]}
                if case.purged:
                    streaming["noDataMicroBatches.enabled"] = "false"
                    streaming |= KEEP_LITTLE if value == old else {}
                for key, text in streaming.items():
                    session.conf.set(f"spark.sql.streaming.{key}", text)
                query = case.query if value == old else case.then or case.query
                arguments = session, where / "input", case, query, value, where / f"{value}s"
                runs[name, old, value] = pool.submit(run, *arguments)
        for (name, old, value), done in runs.items():
            done.result()
            if value != old:
                total += judged(name, CASES[name], old, value, folder / name)
    spark.stop()
    print(", ".join(f"{total[key]} {key}" for key in sorted(total)))
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_intermixed_args()
    sys.exit(main(given.folder, given.names, given.seed))
