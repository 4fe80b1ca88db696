"""Make fixtures/troubles.tar.xz: checkpoints of queries with a trouble, and of healthy twins.

    python scripts/make_troubles.py [--only REGEX] [--out FOLDER]

Needs Java 17 and PySpark 4.3 with pandas. Each query is small, reads a file in a batch, and comes
twice: with what is wrong, and mended. Those of Troubles.scala have a clock of their own, and what
Spark said of them; these have the clock of the machine, as a first run of a query has.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

HOME = Path(__file__).resolve().parents[1]
SCHEMA = "id string, user string, ts timestamp, n bigint, raw string"
PREFIX = "spark.sql.streaming."
STATE = f"{PREFIX}stateStore."
ROCKSDB = {
    f"{STATE}providerClass": "org.apache.spark.sql.execution.streaming.state."
    "RocksDBStateStoreProvider",
    f"{STATE}rocksdb.changelogCheckpointing.enabled": "true",
}
POLICY_MAX = {f"{PREFIX}multipleWatermarkPolicy": "max"}
ZIPS = ROCKSDB | {f"{STATE}rocksdb.changelogCheckpointing.enabled": "false"}
CONF = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    f"{STATE}maintenanceInterval": "2s",
    f"{PREFIX}checkpoint.fileChecksum.enabled": "false",
}
BATCHES = 8
LATENESS = "1 minute"
START = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(minutes=20)

Row = dict[str, Any]
Feed = Callable[[int], list[Row]]
Build = Callable[[DataFrame, DataFrame], DataFrame]


def event(batch: int, number: int, user: str, **options: Any) -> Row:
    """One event, a minute later in each batch."""
    at = START + timedelta(minutes=batch, seconds=number)
    row = {"id": f"e{batch:03d}-{number:03d}", "user": user, "ts": at.isoformat(), "n": number}
    return row | {"raw": at.isoformat()} | options


def comers(batch: int) -> list[Row]:
    """Twenty users whom nobody saw before."""
    return [event(batch, number, f"u{batch * 20 + number}") for number in range(20)]


def regulars(batch: int) -> list[Row]:
    """The same twenty users in each batch."""
    return [event(batch, number, f"u{number}") for number in range(20)]


def hot(batch: int) -> list[Row]:
    """New users, and one with eleven of twelve events."""
    return [event(batch, n, "u29" if n % 12 else f"v{batch}-{n}") for n in range(60)]


def spread(batch: int) -> list[Row]:
    """Twenty users with three events each, some time apart."""
    return [event(batch, n, f"u{n % 20}") for n in range(60)]


def of_two(batch: int) -> list[Row]:
    """Events of two countries."""
    return [event(batch, number, f"c{number % 2}") for number in range(40)]


def with_robot(batch: int) -> list[Row]:
    """New users, and one who is always there."""
    return [*comers(batch), event(batch, 30, "robot")]


def with_robots(batch: int) -> list[Row]:
    """New users, and eight who are always there."""
    return [*comers(batch), *(event(batch, 30 + n, f"robot{n}") for n in range(8))]


def thrice(batch: int) -> list[Row]:
    """New users, and in the seventh batch three events of one of them."""
    return comers(batch) + comers(batch)[:1] * (2 if batch == 6 else 0)


def out_of_order(batch: int) -> list[Row]:
    """New users, of whom half come two minutes late."""
    return [*comers(batch)[1::2], *later(-2, batch)(batch)[::2]]


def few(batch: int) -> list[Row]:
    """Three events."""
    return regulars(batch)[:3]


def twice(batch: int) -> list[Row]:
    """New users, and a quarter of their events a second time."""
    return comers(batch) + comers(batch)[::4]


def silent(_: int) -> list[Row]:
    """A source that never has data."""
    return []


def by_turns(batch: int) -> list[Row]:
    """Sixty users, of whom twenty come in each batch, one third after the other."""
    return [event(batch, n, f"u{n * 3 + batch % 3}") for n in range(20)]


def half_again(batch: int) -> list[Row]:
    """New users, and every second one of the batch before once more."""
    return comers(batch) + (comers(batch - 1)[::2] if batch else [])


def sent_again(batch: int) -> list[Row]:
    """New events, and those of five batches before with the time of now."""
    again = comers(batch - 5) if batch > 4 else []
    return [*comers(batch), *(event(batch, n, "u0", id=row["id"]) for n, row in enumerate(again))]


def with_new_time(batch: int) -> list[Row]:
    """New events, and every second one of the batch before with the time of now."""
    again = comers(batch - 1)[::2] if batch else []
    return [
        *comers(batch),
        *(event(batch, n, row["user"], id=row["id"]) for n, row in enumerate(again)),
    ]


def tried_thrice(batch: int) -> list[Row]:
    """Ten new events, and those of the two batches before with the time of now."""
    return [
        event(batch, 10 * ago + n, row["user"], id=row["id"])
        for ago in range(min(batch, 2) + 1)
        for n, row in enumerate(comers(batch - ago)[:10])
    ]


def respelled(batch: int) -> list[Row]:
    """The same thirty users, whose names are in lower case from the seventh batch on."""
    return [event(batch, n, f"User{n}" if batch < 6 else f"user{n}") for n in range(30)]


def half_new(batch: int) -> list[Row]:
    """Ten users who are always there, and ten whom nobody saw before."""
    return [*regulars(batch)[:10], *comers(batch)[10:]]


def of_a_set(batch: int) -> list[Row]:
    """Twenty of 240 users."""
    users = Random(batch).sample(range(240), 20)
    return [event(batch, number, f"u{user}") for number, user in enumerate(users)]


def with_earlier(batch: int) -> list[Row]:
    """New users, and an earlier event of five of the batch before."""
    users = [f"u{(batch - 1) * 20 + number}" for number in range(5)] if batch else []
    return [*comers(batch), *(event(batch - 3, number, user) for number, user in enumerate(users))]


def nameless(batch: int) -> list[Row]:
    """New users, and ten of twelve events without one."""
    return [event(batch, n, f"v{batch}-{n}") | ({"user": None} if n % 6 else {}) for n in range(60)]


def many(batch: int) -> list[Row]:
    """The same twenty users, 400 events of other numbers."""
    return [event(batch, n, f"u{n % 20}", n=batch * 400 + n) for n in range(400)]


def idle_after(batch: int) -> list[Row]:
    """A source that stands still from the third batch on."""
    return regulars(batch) if batch < 3 else []


def later(minutes: int, since: int = 0) -> Feed:
    """New users, whose events are so many minutes off from a batch on, or in that batch alone."""

    def feed(batch: int) -> list[Row]:
        if batch < since or (since and batch > since):
            return comers(batch)
        at = START + timedelta(minutes=batch + minutes)
        shifted = {"ts": at.isoformat(), "raw": at.isoformat()}
        return [row | shifted for row in comers(batch)]

    return feed


def some_ahead(share: int) -> Feed:
    """New users, one in so many of whom has a clock that is eight hours ahead."""

    def feed(batch: int) -> list[Row]:
        ahead = later(480, 0)(batch)
        return [ahead[n] if n % share == 0 else row for n, row in enumerate(comers(batch))]

    return feed


def one_ahead(batch: int) -> list[Row]:
    """New users, and in the fifth batch one event of years later."""
    at = (START + timedelta(days=1900)).isoformat()
    return comers(batch) + ([event(batch, 30, "far", ts=at, raw=at)] if batch == 4 else [])


def backlog(batch: int) -> list[Row]:
    """A first batch 150 times as large as those that follow."""
    return regulars(batch)[:8] if batch else [event(0, n % 60, f"u{n}") for n in range(1200)]


def old_after(batch: int) -> list[Row]:
    """A source that delivers the data of days ago from the fourth batch on."""
    return later(-4000)(batch) if batch > 3 else comers(batch)


def followed(numbers: Iterable[int]) -> Feed:
    """New users, and a second event of some of the twenty of the batch before."""

    def feed(batch: int) -> list[Row]:
        users = [(20 + n, f"u{(batch - 1) * 20 + n}") for n in numbers] if batch else []
        return [*comers(batch), *(event(batch, number, user) for number, user in users)]

    return feed


def daily(batch: int) -> list[Row]:
    """New users, a day later in each batch."""
    return later((batch - BATCHES) * 1440)(batch)


def two_hot(batch: int) -> list[Row]:
    """New users, and two with eleven of twelve events."""
    return [event(batch, n, ("a", "b")[n % 2] if n % 12 else f"v{batch}-{n}") for n in range(60)]


@dataclass(frozen=True)
class Query:
    """A query: what it makes of two streams of events, and how it runs.

    ``endless`` is one that has batches without data for ever, as timeouts in processing time ask.
    ``rate``: records that each batch has of a source that counts them, in place of files;
    ``options`` of the source.
    """

    build: Build
    feed: Feed = comers
    second: Feed = comers
    mode: str = "update"
    conf: dict[str, str] = field(default_factory=dict)
    batches: int = BATCHES
    fails_at: int | None = None
    endless: bool = False
    rate: int = 0
    options: dict[str, str] = field(default_factory=dict)


def grouped(
    *keys: str, late: str = "", values: str = "count(*) c", at: str = "ts", by: str = "ts"
) -> Build:
    """Events counted by columns; ``at`` is what is taken for their time, and ``by`` that column."""

    def build(events: DataFrame, _: DataFrame) -> DataFrame:
        rows = events.withColumn(by, expr(at)) if at != by else events
        rows = rows.withWatermark("ts", late) if late else rows
        return rows.groupBy(*map(expr, keys)).agg(expr(values))

    return build


def distinct(
    columns: list[str], late: str = "", within: str = "", at: str = "ts", by: str = "ts"
) -> Build:
    """Events without their duplicates."""

    def build(events: DataFrame, _: DataFrame) -> DataFrame:
        if within:
            return events.withWatermark("ts", within).dropDuplicatesWithinWatermark(columns)
        rows = events.withColumn(by, expr(at)) if at != by else events
        return (rows.withWatermark("ts", late) if late else rows).dropDuplicates(columns)

    return build


def joined(
    on: str, left: str = LATENESS, right: str = LATENESS, how: str = "inner", at: str = "ts"
) -> Build:
    """Two streams; ``at`` is what is taken for the time of the first."""

    def build(events: DataFrame, siblings: DataFrame) -> DataFrame:
        events = events.withColumn("ts", expr(at)) if at != "ts" else events
        second = siblings.selectExpr("user other_user", "ts other_ts", "id other_id")
        item = events.withWatermark("ts", left) if left else events
        two = second.withWatermark("other_ts", right) if right else second
        return item.join(two, expr(on), how)

    return build


def functions(
    timeout: str,
    function: Callable[..., Iterator[pd.DataFrame]],
    *,
    pair: bool = False,
    at: str = "ts",
) -> Build:
    """A group state in Python, of one stream or of two."""

    def build(events: DataFrame, siblings: DataFrame) -> DataFrame:
        rows = events.withColumn("ts", expr(at)).withWatermark("ts", LATENESS)
        rows = rows.union(siblings.withWatermark("ts", LATENESS)) if pair else rows
        return rows.groupBy("user").applyInPandasWithState(
            function, "user string", "n bigint, seen string", "update", timeout
        )

    return build


def keeping(
    timer: Callable[[Any, int], None] = lambda _state, _newest: None,
    on_timeout: Callable[[Any], None] = lambda state: state.remove(),
    value: Callable[[Any, int], tuple[int, str] | None] = lambda old, n: (old[0] + n, old[1]),
) -> Callable[..., Iterator[pd.DataFrame]]:
    """The function of a group state: what it stores, and when it lets go."""

    def function(key: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        if state.hasTimedOut:
            on_timeout(state)
        else:
            rows = pd.concat(list(frames))
            new = value(state.get if state.exists else (0, ""), len(rows))
            if new is None:
                state.remove()
            else:
                state.update(new)
                newest = rows["ts"].max()
                timer(state, 0 if pd.isna(newest) else int(newest.timestamp() * 1000))
        yield pd.DataFrame({"user": [key[0]]})

    return function


def failing(old: tuple[int, str], n: int) -> tuple[int, str]:
    """Three events of one key fail, when the other tasks have ended."""
    if n == 3:
        time.sleep(5)
        raise RuntimeError("a function that fails")
    return old[0] + n, old[1]


class Keeper(StatefulProcessor):
    """A processor of transformWithState with one variable, or a list beside it.

    ``beside`` is the TTL of that list, if there is one.
    """

    def __init__(
        self,
        kind: str,
        ttl: int | None = None,
        timer: str = "",
        keep: int = 0,
        forgets: bool = True,
        neighbour: tuple[int | None, ...] = (),
    ) -> None:
        self.kind, self.ttl, self.timer, self.keep = kind, ttl, timer, keep
        self.forgets, self.beside = forgets, neighbour

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare it."""
        self.handle = handle
        if self.kind == "list":
            self.pages: Any = handle.getListState("pages", "page string", self.ttl)
        elif self.kind == "map":
            self.pages = handle.getMapState("pages", "page string", "n long", self.ttl)
        else:
            self.pages = handle.getValueState("pages", "n long", self.ttl)
        self.lists = [handle.getListState("history", "page string", ttl) for ttl in self.beside]

    def handleInputRows(  # noqa: N802 -- Spark calls it so
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803 -- and gives it by name
    ) -> Iterator[pd.DataFrame]:
        """Add the events of a key."""
        events = pd.concat(list(rows))
        newest = int(events["ts"].max().timestamp() * 1000)
        if self.kind == "list":
            pages = [(i,) for i in events["id"]]
            if self.keep:
                self.pages.put([*self.pages.get(), *pages][-self.keep :])
            else:
                self.pages.appendList(pages)
        elif self.kind == "map":
            for i in events["id"]:
                self.pages.updateValue((i if not self.keep else i[-1],), (1,))
        else:
            self.pages.update((len(events),))
        for history in self.lists:
            history.appendList([(i,) for i in events["id"]])
        if self.timer in ("clears", "one"):
            for old in list(self.handle.listTimers()):
                self.handle.deleteTimer(old)
        if self.timer:
            after = {"clears": 60_000, "soon": 1}.get(self.timer, 86_400_000)
            now = timerValues.getCurrentProcessingTimeInMs() if self.timer == "soon" else newest
            self.handle.registerTimer(now * 1000 if self.timer == "far" else now + after)
        yield pd.DataFrame({"user": [key[0]]})

    def handleExpiredTimer(  # noqa: N802 -- Spark calls it so
        self,
        key: Any,
        timerValues: Any,  # noqa: N803, ARG002 -- and gives it by name
        expiredTimerInfo: Any,  # noqa: N803, ARG002
    ) -> Iterator[pd.DataFrame]:
        """Forget the key, or not."""
        if self.forgets:
            self.pages.clear()
        yield pd.DataFrame({"user": [key[0]]})

    def close(self) -> None:
        """Nothing is open."""


def processed(clock: str = "None", **options: Any) -> Build:
    """A transformWithState."""

    def build(events: DataFrame, _: DataFrame) -> DataFrame:
        rows = events.withWatermark("ts", LATENESS) if clock == "EventTime" else events
        return rows.groupBy("user").transformWithStateInPandas(
            Keeper(**options), "user string", "update", clock
        )

    return build


def union_of(late: str) -> Build:
    """Two streams in one aggregation."""

    def build(events: DataFrame, siblings: DataFrame) -> DataFrame:
        rows = events.withWatermark("ts", late).union(siblings.withWatermark("ts", late))
        return rows.groupBy(expr(MINUTE), "user").count()

    return build


def counted_users(ttl: int) -> Build:
    """Records of the source that counts them, by user, each kept for so many ms."""
    build = processed("ProcessingTime", kind="value", ttl=ttl)
    user = "cast(value % 20 as string)"
    return lambda events, siblings: build(events.withColumn("user", expr(user)), siblings)


def chained(columns: list[str]) -> Build:
    """Windows over events without their duplicates."""

    def build(events: DataFrame, siblings: DataFrame) -> DataFrame:
        return distinct(columns, LATENESS)(events, siblings).groupBy(expr(MINUTE), "user").count()

    return build


def by_day(events: DataFrame, _: DataFrame) -> DataFrame:
    """Windows of a minute summed up by day."""
    minutes = events.withWatermark("ts", LATENESS).groupBy(expr(MINUTE), "user").count()
    return minutes.groupBy(expr("window(window, '1 day') day"), "user").sum("count")


def exploded(tags: int) -> Build:
    """Each record with each of some tags, counted by minute."""

    def build(events: DataFrame, _: DataFrame) -> DataFrame:
        rows = events.withColumn("tag", expr(f"explode(sequence(1, {tags}))"))
        return rows.withWatermark("ts", LATENESS).groupBy(expr(MINUTE), "value", "tag").count()

    return build


def ruled(rules: int) -> Build:
    """Each record with each rule of a static table, without duplicates."""

    def build(events: DataFrame, _: DataFrame) -> DataFrame:
        table = events.sparkSession.range(rules).withColumnRenamed("id", "rule")
        rows = events.withWatermark("ts", LATENESS).join(table, expr("value + rule >= 0"))
        return rows.dropDuplicatesWithinWatermark(["value", "rule"])

    return build


def wide(build: Build) -> Build:
    """The same with a text of 3 KB in each event."""
    return lambda events, siblings: build(
        events.withColumn("raw", expr("repeat(raw, 120)")), siblings
    )


def limited(rows: int) -> Build:
    """The first events alone."""
    return lambda events, _: events.limit(rows)


def cubed(*keys: str) -> Build:
    """Events counted by each set of columns."""

    def build(events: DataFrame, _: DataFrame) -> DataFrame:
        return events.withWatermark("ts", LATENESS).cube(*map(expr, keys)).count()

    return build


def grouped_by_sets(events: DataFrame, _: DataFrame) -> DataFrame:
    """Events counted by all sets of two columns, and no window."""
    return events.cube("user", expr("n % 3")).count()


def of_all(events: DataFrame, siblings: DataFrame) -> DataFrame:
    """A join by a key that is the same for all."""
    item = events.withColumn("every", expr("'all'")).withWatermark("ts", "10 minutes")
    two = siblings.selectExpr("'all' other", "ts other_ts").withWatermark("other_ts", "10 minutes")
    return item.join(two, expr("every = other AND other_ts BETWEEN ts AND ts + INTERVAL 1 MINUTE"))


MINUTE = "window(ts, '1 minute')"
HOUR = "window(ts, '1 hour')"
BY_SESSION = grouped("session_window(ts, '2 minutes')", "user", late=LATENESS)
MOMENTS = grouped("session_window(ts, '500 milliseconds')", "user", late="4 minutes")
BY_USER = Query(grouped(MINUTE, "user", late=LATENESS))
SAME_USER = "user = other_user"
SOON = f"{SAME_USER} AND other_ts BETWEEN ts AND ts + INTERVAL 1 MINUTE"
SAME_ID = "id = other_id"
OTHER_CASE = SOON.replace("other_user", "upper(other_user)")
BEFORE = f"{SAME_USER} AND other_ts BETWEEN ts - INTERVAL 1 MINUTE AND ts - INTERVAL 1 SECOND"
YEAR = f"{SAME_USER} AND other_ts BETWEEN ts - INTERVAL 365 DAYS AND ts + INTERVAL 365 DAYS"
MONTH = f"{SAME_USER} AND other_ts BETWEEN ts AND ts + INTERVAL 1 MONTH"
HALF_OF_THEM = "try_to_timestamp(if(n % 2 = 0, raw, 'none'))"
PAGE = "/page-of-this-site"
LATER = f"{SAME_USER} AND other_ts BETWEEN ts AND ts + INTERVAL 400 DAYS"
GAPS = "session_window(ts, if(n % 4 = 0, '{}', '2 minutes'))"
HALF, MOST = range(1, 20, 2), [n for n in range(20) if n % 4]
PAGES = "collect_list(raw) pages"
EVENT_TIME, PROCESSING_TIME = "EventTimeTimeout", "ProcessingTimeTimeout"
UNTIL_SOON = keeping(lambda state, newest: state.setTimeoutTimestamp(newest + 30_000))
UNTIL_FIRST = keeping(
    lambda state, newest: state.setTimeoutTimestamp(newest + 60_000) if state.get[0] == 1 else None
)
UNTIL_END = {
    ms: keeping(
        lambda state, newest, ms=ms: state.setTimeoutTimestamp(newest + ms),  # type: ignore[misc]
        value=lambda old, n: None if old[0] else (n, ""),
    )
    for ms in (180_000, 1_800_000_000)
}
AFTER_WATERMARK = keeping(
    lambda state, _: state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 1_800_000)
)
UNTIL_LATER = keeping(lambda state, newest: state.setTimeoutTimestamp(newest + 90_000))
REMOVED = functions(EVENT_TIME, UNTIL_SOON)
OF_BOTH = functions(EVENT_TIME, UNTIL_SOON, pair=True)


TROUBLES: dict[str, tuple[Query, Query | str]] = {
    "agg_no_watermark": (Query(grouped("user")), BY_USER),
    "agg_key_without_time": (Query(grouped("user", late=LATENESS)), "agg_no_watermark"),
    "agg_unique_key": (Query(grouped("id")), Query(grouped("user"), regulars)),
    "agg_fan_out": (
        Query(grouped("window(ts, '1 day', '5 minutes')", "user", late=LATENESS), few),
        Query(grouped("window(ts, '5 minutes')", "user", late=LATENESS), few),
    ),
    "agg_hot_list": (Query(grouped("user", values=PAGES), hot), Query(BY_USER.build, hot)),
    "agg_one_fat_value": (
        Query(grouped(values=PAGES), hot, mode="complete"),
        Query(grouped(), hot, mode="complete"),
    ),
    "agg_fat_lists": (
        Query(grouped("user", values=PAGES), lambda b: regulars(b) * 20),
        Query(grouped("user"), lambda b: regulars(b) * 20),
    ),
    "agg_late_year": (Query(grouped(MINUTE, "user", late="365 days")), "agg_no_watermark"),
    "agg_complete_users": (Query(grouped("user"), mode="complete"), "agg_no_watermark"),
    "agg_many_partitions": (
        Query(BY_USER.build, few, conf={"spark.sql.shuffle.partitions": "48"}),
        Query(BY_USER.build, few),
    ),
    "dedup_no_watermark": (
        Query(distinct(["id"]), mode="append"),
        Query(distinct(["id"], within=LATENESS), mode="append"),
    ),
    "dedup_key_without_time": (
        Query(distinct(["id"], LATENESS), mode="append"),
        Query(distinct(["id", "ts"], LATENESS), mode="append"),
    ),
    "dedup_null_time": (
        Query(
            distinct(["id", "ts"], LATENESS, at="try_to_timestamp(raw, 'dd/MM/yyyy')"),
            mode="append",
        ),
        "dedup_key_without_time",
    ),
    "dedup_late_years": (
        Query(distinct(["id"], within="1000 days"), mode="append"),
        "dedup_no_watermark",
    ),
    "join_no_watermark": (
        Query(joined(SAME_USER, "", ""), mode="append"),
        Query(joined(SOON), mode="append"),
    ),
    "join_left_watermark": (
        Query(joined(SOON, right=""), mode="append"),
        "join_no_watermark",
    ),
    "join_no_range": (
        Query(joined(SAME_USER), mode="append"),
        "join_no_watermark",
    ),
    "join_long_range": (
        Query(joined(LATER), mode="append"),
        "join_no_watermark",
    ),
    "join_hot_key": (
        Query(joined(SOON, "10 minutes", "10 minutes"), hot, few, mode="append"),
        Query(joined(SOON), regulars, mode="append"),
    ),
    "join_idle_side": (
        Query(joined(SOON, how="left"), comers, idle_after, mode="append"),
        Query(joined(SOON, how="left"), mode="append"),
    ),
    "union_idle_source": (
        Query(union_of(LATENESS), comers, idle_after),
        Query(union_of(LATENESS)),
    ),
    "session_long_gap": (
        Query(grouped("session_window(ts, '400 days')", "user", late=LATENESS), mode="append"),
        Query(grouped("session_window(ts, '1 minute')", "user", late=LATENESS), mode="append"),
    ),
    "group_no_timeout": (
        Query(functions("NoTimeout", keeping())),
        Query(
            functions("NoTimeout", keeping(value=lambda old, n: None if old[0] else (n, ""))),
            lambda b: comers(b) + (comers(b - 1) if b else []),
        ),
    ),
    "group_far_timeout": (
        Query(
            functions(
                EVENT_TIME,
                keeping(lambda state, newest: state.setTimeoutTimestamp(newest * 1000)),
            )
        ),
        Query(REMOVED),
    ),
    "group_years_timeout": (
        Query(
            functions(
                PROCESSING_TIME,
                keeping(lambda state, _: state.setTimeoutDuration(2_000_000 * 86_400)),
            ),
            endless=True,
        ),
        Query(
            functions(PROCESSING_TIME, keeping(lambda state, _: state.setTimeoutDuration(1))),
            endless=True,
        ),
    ),
    "group_unset_timeout": (Query(functions(EVENT_TIME, keeping())), "group_far_timeout"),
    "group_ignored_timeout": (
        Query(
            functions(
                EVENT_TIME,
                keeping(
                    lambda state, newest: state.setTimeoutTimestamp(newest + 30_000),
                    lambda _: None,
                ),
            )
        ),
        "group_far_timeout",
    ),
    "group_rearmed": (
        Query(
            functions(
                PROCESSING_TIME,
                keeping(
                    lambda state, _: state.setTimeoutDuration(1),
                    lambda state: (state.update(state.get), state.setTimeoutDuration(1))[0],
                ),
            ),
            endless=True,
        ),
        "group_years_timeout",
    ),
    "group_same_value": (
        Query(functions("NoTimeout", keeping(value=lambda _old, _n: (1, "here"))), regulars),
        Query(functions("NoTimeout", keeping()), regulars),
    ),
    "group_fat_value": (
        Query(
            functions(
                EVENT_TIME,
                keeping(
                    lambda state, newest: state.setTimeoutTimestamp(newest + 600_000),
                    value=lambda old, n: (n, old[1] + PAGE * n),
                ),
            ),
            hot,
        ),
        Query(REMOVED, hot),
    ),
    "tws_list": (
        Query(processed(kind="list"), lambda b: regulars(b) * 10, conf=ROCKSDB),
        "tws_map",
    ),
    "tws_map": (
        Query(processed(kind="map"), hot, conf=ROCKSDB),
        Query(processed(kind="map", keep=5), lambda b: regulars(b) * 10, conf=ROCKSDB),
    ),
    "tws_value_without_ttl": (
        Query(processed(kind="value"), conf=ROCKSDB),
        Query(processed("EventTime", kind="value", timer="clears"), conf=ROCKSDB),
    ),
    "tws_far_ttl": (
        Query(
            processed("ProcessingTime", kind="value", ttl=10 * 365 * 86_400_000),
            conf=ROCKSDB,
            endless=True,
        ),
        Query(processed("ProcessingTime", kind="value", ttl=1), conf=ROCKSDB, endless=True),
    ),
    "tws_timers_gather": (
        Query(processed("EventTime", kind="value", timer="gather"), regulars, conf=ROCKSDB),
        Query(processed("EventTime", kind="value", timer="one"), regulars, conf=ROCKSDB),
    ),
    "rocksdb_zips": (
        Query(grouped("user"), lambda b: regulars(b) * 5, conf=ZIPS),
        Query(grouped("user"), lambda b: regulars(b) * 5, conf=ROCKSDB),
    ),
    "rocksdb_agg_no_watermark": (
        Query(grouped("user"), conf=ROCKSDB),
        Query(BY_USER.build, conf=ROCKSDB),
    ),
    "rocksdb_dedup_no_watermark": (
        Query(distinct(["id"]), mode="append", conf=ROCKSDB),
        Query(distinct(["id"], within=LATENESS), mode="append", conf=ROCKSDB),
    ),
    "rocksdb_join_no_range": (
        Query(joined(SAME_USER), mode="append", conf=ROCKSDB),
        Query(joined(SOON), mode="append", conf=ROCKSDB),
    ),
    "died_in_batch": (Query(BY_USER.build, fails_at=6), "agg_no_watermark"),
    "maintenance_off": (
        Query(
            BY_USER.build,
            few,
            conf={f"{STATE}minDeltasForSnapshot": "1000", "spark.sql.shuffle.partitions": "1"},
            batches=103,
        ),
        "agg_no_watermark",
    ),
    "group_text": (
        Query(
            functions(
                "NoTimeout", keeping(value=lambda old, n: (old[0] + n, old[1] + PAGE * 20 * n))
            ),
            regulars,
        ),
        Query(
            functions(
                "NoTimeout", keeping(value=lambda old, n: (old[0] + n, (old[1] + PAGE)[-60:]))
            ),
            regulars,
        ),
    ),
    "group_half_timeouts": (
        Query(
            functions(
                EVENT_TIME,
                keeping(
                    lambda state, newest: (
                        state.setTimeoutTimestamp(newest + 30_000) if newest % 2000 else None
                    )
                ),
            )
        ),
        "group_far_timeout",
    ),
    "dedup_uuid": (
        Query(distinct(["user"], at="uuid()", by="user"), mode="append"),
        Query(distinct(["user"], within=LATENESS), mode="append"),
    ),
    "join_year_range": (
        Query(joined(YEAR, how="left"), mode="append"),
        "join_idle_side",
    ),
    "join_null_key": (
        Query(joined(SOON, "10 minutes", "10 minutes", how="left"), nameless, mode="append"),
        Query(joined(SOON, how="left"), mode="append"),
    ),
    "join_silent_right": (
        Query(joined(SOON, how="left"), comers, silent, mode="append"),
        "join_null_key",
    ),
    "join_month_range": (
        Query(joined(MONTH), mode="append"),
        "join_no_watermark",
    ),
    "union_silent_source": (
        Query(union_of(LATENESS), comers, silent),
        "union_idle_source",
    ),
    "agg_ms_as_seconds": (
        Query(grouped(MINUTE, "user", late=LATENESS, at="timestamp_seconds(unix_millis(ts))")),
        "agg_window_no_watermark",
    ),
    "agg_seconds_as_ms": (
        Query(grouped(MINUTE, "user", late=LATENESS, at="timestamp_millis(unix_seconds(ts))")),
        "agg_window_no_watermark",
    ),
    "agg_collect_set": (
        Query(grouped("user", values="size(collect_set(id)) ids"), many),
        Query(grouped("user", values="approx_count_distinct(id) ids"), many),
    ),
    "agg_percentile": (
        Query(grouped("user", values="percentile(n, 0.5) p"), many),
        Query(grouped("user", values="percentile_approx(n, 0.5, 20) p"), many),
    ),
    "agg_truncated_time": (
        Query(grouped("date_trunc('MINUTE', ts)", "user", late=LATENESS)),
        "agg_window_no_watermark",
    ),
    "agg_other_time": (
        Query(
            grouped("window(seen, '1 minute')", late=LATENESS, at="to_timestamp(raw)", by="seen")
        ),
        "agg_window_no_watermark",
    ),
    "agg_month_delay": (
        Query(grouped(MINUTE, "user", late="30 days")),
        "agg_window_no_watermark",
    ),
    "session_day": (
        Query(grouped("session_window(ts, '1 day')", "user", late=LATENESS), mode="append"),
        "session_long_gap",
    ),
    "dedup_week": (
        Query(distinct(["id"], within="7 days"), mode="append"),
        "dedup_no_watermark",
    ),
    "group_month_timeout": (
        Query(
            functions(
                EVENT_TIME,
                keeping(lambda state, newest: state.setTimeoutTimestamp(newest + 30 * 86_400_000)),
            )
        ),
        "group_far_timeout",
    ),
    "join_clock_skew": (
        Query(joined(SOON, how="left"), comers, later(-360), mode="append"),
        "join_idle_side",
    ),
    "union_clock_skew": (
        Query(union_of(LATENESS), comers, later(-360)),
        "union_idle_source",
    ),
    "agg_device_ahead": (
        Query(BY_USER.build, later(720, since=3)),
        "agg_window_no_watermark",
    ),
    "agg_time_zone": (
        Query(BY_USER.build, later(480)),
        "agg_window_no_watermark",
    ),
    "agg_old_data": (
        Query(BY_USER.build, old_after),
        "agg_window_no_watermark",
    ),
    "chain_dedup_without_time": (
        Query(chained(["id"]), mode="append"),
        Query(chained(["id", "ts"]), mode="append"),
    ),
    "join_two_hot_keys": (
        Query(joined(SOON, "10 minutes", "10 minutes"), two_hot, few, mode="append"),
        "join_hot_key",
    ),
    "agg_second_key": (
        Query(grouped("user", "date_format(ts, 'yyyy-MM-dd HH:mm:ss')", late=LATENESS)),
        "agg_window_no_watermark",
    ),
    "died_in_first_batch": (Query(BY_USER.build, fails_at=0), "agg_window_no_watermark"),
    "agg_explode": (
        Query(exploded(30), endless=True, rate=20),
        Query(exploded(1), endless=True, rate=20),
    ),
    "dedup_static_join": (
        Query(ruled(30), mode="append", endless=True, rate=20),
        Query(ruled(1), mode="append", endless=True, rate=20),
    ),
    "join_wide_payload": (
        Query(wide(joined(SOON, how="left")), mode="append"),
        Query(joined(SOON, how="left"), mode="append"),
    ),
    "agg_wide_key": (Query(wide(grouped(MINUTE, "raw", late=LATENESS))), "join_wide_payload"),
    "agg_latest_payload": (
        Query(wide(grouped(MINUTE, "user", late=LATENESS, values="max_by(raw, ts) raw"))),
        "join_wide_payload",
    ),
    "agg_sketch": (
        Query(grouped(MINUTE, "user", late=LATENESS, values="approx_count_distinct(id, 0.01) ids")),
        Query(grouped(MINUTE, "user", late=LATENESS, values="approx_count_distinct(id) ids")),
    ),
    "join_constant_key": (Query(of_all, mode="append"), "join_hot_key"),
    "agg_epoch_default": (
        Query(
            grouped(
                MINUTE,
                "user",
                late=LATENESS,
                at="coalesce(try_to_timestamp(raw, 'dd/MM/yyyy'), timestamp_seconds(0))",
            )
        ),
        "agg_window_no_watermark",
    ),
    "agg_window_no_watermark": (
        Query(grouped(MINUTE, "user")),
        Query(BY_USER.build),
    ),
    "dedup_half_null": (
        Query(distinct(["id", "ts"], LATENESS, at="if(n % 2 = 0, ts, null)"), mode="append"),
        Query(distinct(["id", "ts"], LATENESS, at="coalesce(ts, now())"), mode="append"),
    ),
    "agg_null_user": (
        Query(grouped(MINUTE, "user", late="10 minutes", values=PAGES), lambda b: nameless(b) * 10),
        Query(grouped(MINUTE, "user", late="10 minutes", values=PAGES), lambda b: comers(b) * 10),
    ),
    "tws_timer_kept": (
        Query(processed("EventTime", kind="value", timer="clears", forgets=False), conf=ROCKSDB),
        "tws_value_without_ttl",
    ),
    "tws_list_timer_kept": (
        Query(processed("EventTime", kind="list", timer="clears", forgets=False), conf=ROCKSDB),
        Query(
            processed("EventTime", kind="list", timer="clears", keep=100),
            lambda b: regulars(b) * 60,
            conf=ROCKSDB,
        ),
    ),
    "tws_map_timer_kept": (
        Query(
            processed("ProcessingTime", kind="map", timer="soon", forgets=False),
            conf=ROCKSDB,
            endless=True,
        ),
        Query(processed("ProcessingTime", kind="map", timer="soon"), conf=ROCKSDB, endless=True),
    ),
    "join_two_delays": (
        Query(joined(SOON, "7 days", LATENESS), mode="append"),
        Query(joined(SOON, "2 minutes", LATENESS), mode="append"),
    ),
    "limit_reached": (
        Query(limited(30), mode="append"),
        Query(limited(3000), mode="append"),
    ),
    "join_max_policy": (
        Query(joined(SOON, how="left"), comers, later(-360), mode="append", conf=POLICY_MAX),
        Query(joined(SOON, how="left"), mode="append", conf=POLICY_MAX),
    ),
    "group_timer_once": (
        Query(
            functions(
                EVENT_TIME,
                keeping(
                    lambda state, newest: (
                        state.setTimeoutTimestamp(newest + 30_000) if state.get[0] <= 1 else None
                    )
                ),
            ),
            lambda b: comers(b) + (comers(b - 1) if b else []),
        ),
        Query(REMOVED, lambda b: comers(b) + (comers(b - 1) if b else [])),
    ),
    "chain_by_day": (Query(by_day, mode="append"), "agg_window_no_watermark"),
    "tws_far_timer": (
        Query(processed("EventTime", kind="value", timer="far"), conf=ROCKSDB),
        "tws_value_without_ttl",
    ),
    "join_open_end": (
        Query(joined(f"{SAME_USER} AND other_ts >= ts"), mode="append"),
        "join_no_watermark",
    ),
    "session_endless": (
        Query(
            wide(grouped("session_window(ts, '10 minutes')", "user", late=LATENESS, values=PAGES)),
            lambda b: regulars(b) * 2,
            mode="append",
        ),
        "session_long_gap",
    ),
    "agg_now_as_key": (
        Query(grouped("user", "current_timestamp()", late=LATENESS), regulars),
        "agg_window_no_watermark",
    ),
    "tws_short_ttl": (
        Query(counted_users(1_000), conf=ROCKSDB, endless=True, rate=20),
        Query(counted_users(60_000), conf=ROCKSDB, endless=True, rate=20),
    ),
    "group_idle_source": (
        Query(OF_BOTH, comers, idle_after),
        Query(OF_BOTH),
    ),
    "agg_cube_without_window": (Query(grouped_by_sets), "agg_no_watermark"),
    "agg_three_keys": (
        Query(
            grouped("if(n % 12 = 0, 'DE', if(n % 12 = 1, 'FR', 'US')) country", values=PAGES),
            lambda b: many(b)[:120],
        ),
        Query(
            grouped("if(n % 12 = 0, 'DE', if(n % 12 = 1, 'FR', 'US')) country"),
            lambda b: many(b)[:120],
        ),
    ),
    "agg_fat_new_keys": (
        Query(
            wide(grouped("user", values="max_by(raw, ts) raw")), lambda b: comers(b) + regulars(b)
        ),
        "join_wide_payload",
    ),
    "dedup_fat_key": (
        Query(wide(distinct(["raw"])), mode="append"),
        "dedup_no_watermark",
    ),
    "agg_fan_out_no_watermark": (
        Query(grouped("window(ts, '1 day', '5 minutes')", "user"), few),
        "agg_fan_out",
    ),
    "many_versions": (
        Query(
            BY_USER.build,
            few,
            conf={f"{PREFIX}minBatchesToRetain": "10000", "spark.sql.shuffle.partitions": "1"},
            batches=125,
        ),
        "agg_no_watermark",
    ),
    "died_with_timers": (
        Query(
            processed("EventTime", kind="value", timer="gather"),
            lambda b: regulars(b) * 2,
            conf=ROCKSDB,
            fails_at=7,
        ),
        "tws_timers_gather",
    ),
    "join_other_case": (Query(joined(OTHER_CASE, how="left"), mode="append"), "join_no_watermark"),
    "join_wrong_way": (Query(joined(BEFORE, how="left"), mode="append"), "join_no_watermark"),
    "agg_spelling": (
        Query(
            grouped(HOUR, "if(minute(ts) % 2 = 0, user, upper(user)) who", late=LATENESS), regulars
        ),
        Query(grouped(HOUR, "lower(user) who", late=LATENESS), regulars),
    ),
    "dedup_event_uuid": (
        Query(
            distinct(["id", "ts", "raw"], "10 minutes", at="uuid()", by="raw"), twice, mode="append"
        ),
        Query(distinct(["id", "ts"], "10 minutes"), twice, mode="append"),
    ),
    "session_heartbeat": (
        Query(BY_SESSION, regulars, mode="append", batches=20),
        Query(BY_SESSION, comers, mode="append", batches=20),
    ),
    "agg_fractions": (
        Query(grouped(MINUTE, "part", late=LATENESS, at="rand()", by="part"), regulars),
        Query(grouped(MINUTE, "part", late=LATENESS, at="double(n % 3)", by="part"), regulars),
    ),
    "agg_summer_time": (Query(BY_USER.build, later(60)), "agg_window_no_watermark"),
    "group_short_timeout": (
        Query(
            functions(PROCESSING_TIME, keeping(lambda state, _: state.setTimeoutDuration(1))),
            by_turns,
            endless=True,
            batches=12,
        ),
        Query(
            functions(PROCESSING_TIME, keeping(lambda state, _: state.setTimeoutDuration(600_000))),
            by_turns,
            endless=True,
            batches=12,
        ),
    ),
    "dedup_sent_again": (
        Query(distinct(["id"], within=LATENESS), sent_again, mode="append", batches=12),
        Query(distinct(["id"], within="5 minutes"), sent_again, mode="append", batches=12),
    ),
    "dedup_new_time": (
        Query(distinct(["id", "ts"], "1 hour"), with_new_time, mode="append", batches=12),
        Query(distinct(["id", "ts"], "1 hour"), half_again, mode="append", batches=12),
    ),
    "dedup_tried_thrice": (
        Query(distinct(["id", "ts"], "1 hour"), tried_thrice, mode="append", batches=12),
        "dedup_new_time",
    ),
    "agg_latest_first": (
        Query(BY_USER.build, regulars, options={"latestFirst": "true"}),
        "agg_window_no_watermark",
    ),
    "agg_respelled": (Query(grouped("user"), respelled, batches=24), "agg_spelling"),
    "agg_users_come": (
        Query(grouped("user"), half_new, batches=24),
        Query(grouped("user"), of_a_set, batches=24),
    ),
    "session_day_merged": (
        Query(
            grouped("session_window(ts, '1 day')", "user", late=LATENESS),
            with_earlier,
            mode="append",
        ),
        "session_long_gap",
    ),
    "group_logout": (
        Query(
            functions("NoTimeout", keeping(value=lambda old, n: None if old[0] else (n, ""))),
            half_again,
            batches=12,
        ),
        "group_no_timeout",
    ),
    "agg_processing_watermark": (
        Query(grouped(MINUTE, "user", late=LATENESS, at="current_timestamp()")),
        "agg_window_no_watermark",
    ),
    "agg_waits_for_next": (
        Query(
            BY_USER.build,
            daily,
            mode="append",
            conf={f"{PREFIX}noDataMicroBatches.enabled": "false"},
        ),
        Query(BY_USER.build, daily, mode="append"),
    ),
    "agg_unique_id": (
        Query(grouped(HOUR, "value", late=LATENESS), endless=True, rate=20),
        Query(grouped(HOUR, "value % 20", late=LATENESS), endless=True, rate=20),
    ),
    "group_event_key": (
        Query(functions(EVENT_TIME, UNTIL_LATER)),
        Query(functions(EVENT_TIME, UNTIL_LATER), regulars),
    ),
    "agg_url_key": (
        Query(grouped(HOUR, "concat('/p?u=', user, '&t=', id) url", late=LATENESS), regulars),
        Query(grouped(HOUR, "concat('/p?u=', user) url", late=LATENESS), regulars),
    ),
    "join_late_left": (
        Query(joined(SOON, how="left"), later(-360), comers, mode="append"),
        "join_idle_side",
    ),
    "tws_ttl_return": (
        Query(
            processed("ProcessingTime", kind="value", ttl=3_000),
            by_turns,
            conf=ROCKSDB,
            endless=True,
            batches=12,
        ),
        "tws_short_ttl",
    ),
    "agg_cube": (Query(cubed(MINUTE, "user")), "agg_window_no_watermark"),
    "join_country": (
        Query(joined(SOON, "10 minutes", "10 minutes"), of_two, of_two, mode="append", batches=12),
        "join_hot_key",
    ),
    "session_robot": (
        Query(BY_SESSION, with_robot, mode="append", batches=20),
        "session_heartbeat",
    ),
    "session_month": (
        Query(grouped("session_window(ts, '30 days')", "user", late=LATENESS), mode="append"),
        "session_long_gap",
    ),
    "group_put_off": (
        Query(functions(EVENT_TIME, UNTIL_LATER), regulars, batches=16),
        "group_event_key",
    ),
    "agg_no_delay": (
        Query(grouped(MINUTE, "user", late="0 seconds"), out_of_order),
        "agg_window_no_watermark",
    ),
    "dedup_no_delay": (
        Query(distinct(["id"], within="0 seconds"), out_of_order, mode="append"),
        "dedup_no_watermark",
    ),
    "join_null_time": (
        Query(joined(SOON, how="left", at=HALF_OF_THEM), mode="append"),
        "join_idle_side",
    ),
    "dedup_read_time": (
        Query(
            distinct(
                ["id", "user", "ts", "n", "raw", "ingested"],
                "10 minutes",
                at="current_timestamp()",
                by="ingested",
            ),
            half_again,
            mode="append",
        ),
        "dedup_event_uuid",
    ),
    "group_first_call": (
        Query(functions(EVENT_TIME, UNTIL_FIRST), followed(MOST), batches=12),
        Query(REMOVED, followed(MOST), batches=12),
    ),
    "group_thousandfold": (
        Query(functions(EVENT_TIME, UNTIL_END[1_800_000_000]), followed(HALF), batches=12),
        Query(functions(EVENT_TIME, UNTIL_END[180_000]), followed(HALF), batches=12),
    ),
    "group_null_time": (
        Query(
            functions(EVENT_TIME, AFTER_WATERMARK, at="try_to_timestamp(raw, 'dd/MM/yyyy')"),
        ),
        Query(functions(EVENT_TIME, AFTER_WATERMARK)),
    ),
    "group_few_removed": (
        Query(
            functions("NoTimeout", keeping(value=lambda old, n: None if old[0] else (n, ""))),
            followed([3]),
            batches=12,
        ),
        Query(
            functions("NoTimeout", keeping(value=lambda old, n: None if old[0] else (n, ""))),
            followed(range(20)),
            batches=12,
        ),
    ),
    "session_two_gaps": (
        Query(grouped(GAPS.format("30 days"), "user", late=LATENESS), mode="append", batches=16),
        Query(grouped(GAPS.format("3 minutes"), "user", late=LATENESS), mode="append", batches=16),
    ),
    "session_pings": (
        Query(
            grouped("session_window(ts, '10 minutes')", "user", late=LATENESS),
            regulars,
            mode="append",
            batches=12,
        ),
        "session_heartbeat",
    ),
    "dedup_request_id": (
        Query(distinct(["user", "id"]), regulars, mode="append"),
        "dedup_no_watermark",
    ),
    "tws_mixed_ttl": (
        Query(
            processed("ProcessingTime", kind="value", ttl=1, beside=(None,)),
            lambda b: regulars(b) * 2,
            conf=ROCKSDB,
            endless=True,
        ),
        Query(
            processed("ProcessingTime", kind="value", ttl=1, beside=(1,)),
            lambda b: regulars(b) * 2,
            conf=ROCKSDB,
            endless=True,
        ),
    ),
    "join_orders": (
        Query(joined(SAME_ID, "10 minutes", "20 minutes"), mode="append"),
        "join_no_watermark",
    ),
    "union_far_event": (Query(union_of(LATENESS), comers, one_ahead), "union_idle_source"),
    "agg_backlog": (Query(BY_USER.build, backlog), "agg_window_no_watermark"),
    "agg_some_ahead": (
        Query(BY_USER.build, some_ahead(3)),
        Query(BY_USER.build, some_ahead(1)),
    ),
    "union_max_policy": (
        Query(union_of(LATENESS), comers, later(-60), conf=POLICY_MAX),
        Query(union_of(LATENESS), conf=POLICY_MAX),
    ),
    "agg_ms_as_micros": (
        Query(grouped(MINUTE, "user", late=LATENESS, at="timestamp_micros(unix_millis(ts))")),
        "agg_window_no_watermark",
    ),
    "session_hot_key": (
        Query(MOMENTS, hot, mode="append", batches=12),
        Query(MOMENTS, spread, mode="append", batches=12),
    ),
    "session_robots": (
        Query(BY_SESSION, with_robots, mode="append", batches=20),
        "session_heartbeat",
    ),
    "died_in_a_task": (
        Query(functions("NoTimeout", keeping(value=failing)), thrice, fails_at=BATCHES),
        "group_no_timeout",
    ),
    "agg_time_key_week": (
        Query(grouped("ts", "user", late="7 days")),
        Query(grouped("ts", "user", late=LATENESS)),
    ),
}


def write_input(query: Query, folder: Path) -> None:
    """The files that a query reads, one for each batch that has events."""
    for name, feed in (("one", query.feed), ("two", query.second)):
        (folder / name).mkdir(parents=True)
        for batch in range(query.batches):
            rows = feed(batch)
            if rows:
                path = folder / name / f"{batch:03d}.json"
                path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
                os.utime(path, (batch, batch))  # files are read in the order of their times


def run(spark: SparkSession, query: Query, folder: Path) -> None:
    """Run a query to the end of its input; the checkpoint is left in the folder."""
    write_input(query, folder)
    for name, value in (CONF | query.conf).items():
        if not name.startswith("spark.ui"):
            spark.conf.set(name, value)
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    reader = reader.options(**query.options)
    item, two = (reader.json(str(folder / name)) for name in ("one", "two"))
    if query.rate:
        counted = spark.readStream.format("rate-micro-batch").options(
            rowsPerBatch=query.rate,
            startTimestamp=int(START.timestamp() * 1000),
            advanceMillisPerBatch=60_000,
        )
        item = counted.load().withColumnRenamed("timestamp", "ts")

    def sink(rows: DataFrame, batch: int) -> None:
        if batch == query.fails_at:
            raise RuntimeError("a sink that fails")
        rows.write.format("noop").mode("overwrite").save()

    writer = query.build(item, two).writeStream.outputMode(query.mode).foreachBatch(sink)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    if query.endless:
        stream = writer.trigger(processingTime="4 seconds").start()
        while (
            stream.isActive and (stream.lastProgress or {"batchId": 0})["batchId"] < query.batches
        ):
            time.sleep(0.1)
        stream.stop()
    else:
        stream = writer.trigger(availableNow=True).start()
    with contextlib.suppress(*(() if query.fails_at is None else (StreamingQueryException,))):
        stream.awaitTermination()
    for name in ("one", "two"):
        shutil.rmtree(folder / name)
    for name in query.conf:
        spark.conf.unset(name)


def _without_sides(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """A file by the whole second, which is smaller; none of Hadoop's checksums, as many again."""
    path = Path(member.name)
    member.mtime = int(member.mtime)
    return None if path.suffix == ".crc" and path.name.startswith(".") else member


def main() -> None:
    """Run them all, and pack what they leave."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, help="a folder that keeps them unpacked")
    parser.add_argument("--pack", action="store_true", help="write the archive of the fixtures")
    args = parser.parse_args()
    builder = SparkSession.builder.master("local[2]")
    for name, value in CONF.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    out = args.out or Path(tempfile.mkdtemp())
    for name, pair in TROUBLES.items():
        for kind, query in zip(("trouble", "healthy"), pair, strict=True):
            if isinstance(query, str) or not re.search(args.only, f"{kind}_{name}"):
                continue
            start = time.monotonic()
            folder = out / f"{kind}_{name}"
            if folder.exists():
                continue
            try:
                run(spark, query, folder)
            except Exception as error:  # noqa: BLE001 - the others run all the same
                print(f"{folder.name}: {error}", flush=True)
            print(f"{folder.name}: {time.monotonic() - start:.1f} s", flush=True)
    if args.pack:
        with tarfile.open(HOME / "fixtures" / "troubles.tar.xz", "w:xz") as archive:
            for folder in sorted(out.iterdir()):
                archive.add(folder, folder.name, filter=_without_sides)


if __name__ == "__main__":
    main()
