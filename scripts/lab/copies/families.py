"""One query of each family of stateful operators, with a key by which rows can be named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = "user string, ts timestamp, v long"
OTHER = "user2 string, ts2 timestamp, w long"
PARTITIONS = "spark.sql.shuffle.partitions"
SESSION = {
    PARTITIONS: "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
    "spark.sql.streaming.statefulOperator.checkCorrectness.enabled": "false",
}
"""Confs of the session that judges copies."""
VICTIMS = "user-010"
"""Users below this one are evicted."""

GHOSTS = 900
"""Added to the number of an evicted user for another name."""

ROWS = 30
USERS = 40
NEW, LATE = 5, 7
"""In what goes on each so many rows is of a new user, or late."""
EPOCH_S = 1_700_000_000
BEFORE = 4
"""Batches before the copies are made."""
VALUES = 100
"""Values of a batch N are from N times this number on."""
VARIABLES = ("count", "newest", "kept")
"""Of the processor whose values expire."""
BATCHES_OF_LIMIT = 5
"""Whole batches of rows that a limit lets through, and a half one."""


def write_input(folder: Path, batch: int, *, victims: bool, ghosts: bool = False) -> None:
    """The input of one batch: a file for each side of a join.

    Args:
        folder: of the input.
        batch: which.
        victims: with rows of the users that are evicted; otherwise with new users and late rows.
        ghosts: give these users other names, so that their rows only move the watermark.
    """
    rows, siblings = [], []
    for i in range(ROWS):
        user = (batch * 7 + i * 3) % USERS
        is_new, is_late = (not victims and i % item == 0 for item in (NEW, LATE))
        user += is_new * (USERS + batch * ROWS)
        if victims or user >= int(VICTIMS[-3:]):
            second = i // 4 if is_late else batch * 15 + i // 4
            time = f"2024-01-01T00:{second // 60:02d}:{second % 60:02d}.{i:03d}Z"
            is_victim = user < int(VICTIMS[-3:])
            name = f"user-{user + (GHOSTS if ghosts and is_victim else 0):03d}"
            rows.append({"user": name, "ts": time, "v": batch * VALUES + i})
            siblings.append({"user2": name, "ts2": time, "w": i})
    for side, lines in (("left", rows), ("right", siblings[: len(siblings) // 2])):
        location = folder / side
        location.mkdir(parents=True, exist_ok=True)
        text = "\n".join(map(json.dumps, lines))
        (location / f".{batch:03d}").write_text(text, "utf-8")
        # The file source reads files in the order of their times.
        os.utime(location / f".{batch:03d}", (EPOCH_S + batch, EPOCH_S + batch))
        (location / f".{batch:03d}").rename(location / f"b{batch:03d}.json")


@dataclass(frozen=True)
class Family:
    """A query.

    Attributes:
        build: from a function that opens a side of the input to the streaming frame.
        mode: its output mode.
        evicts: whether rows may be evicted from it by their key.
        by_timeout: they are evicted by their timers.
        expired: its leftovers are evicted, which changes no result.
        before: the queries that run first, each on the input of one batch, where it is not itself.
        has_users: its keys have users, by which rows can be named.
        fires: timers of the evicted users fire if the users are not evicted.
        returns: an evicted user who returns is judged against a query that never saw the user.
        conf: of its session.
        tables: it needs RocksDB.
        variables: state variables that Spark's source reads; None for those of ``Counting``.
        since, until: the releases that run it.
    """

    build: Callable[[Callable[[str], Any]], Any]
    mode: str = "update"
    evicts: bool = True
    by_timeout: bool = False
    expired: bool = False
    before: tuple[Callable[[Callable[[str], Any]], Any], ...] = ()
    has_users: bool = True
    fires: bool = False
    returns: bool = False
    conf: Mapping[str, str] = field(default_factory=dict)
    tables: bool = False
    variables: tuple[str, ...] | None = None
    since: tuple[int, ...] = (3, 5)
    until: tuple[int, ...] = (9,)

    @property
    def evict(self) -> str:
        """Value of ``--evict`` for a copy; empty if nothing can be evicted."""
        return ("leftovers" if self.expired else "rows") if self.evicts else ""

    @property
    def where(self) -> tuple[str, ...]:
        """Conditions on the rows that are evicted; none for leftovers."""
        return () if self.expired or not self.has_users else (f"user<{VICTIMS}",)

    def is_for(self, provider: str, release: tuple[int, ...]) -> bool:
        """Whether a release runs it with a provider."""
        needed = (4, 2) if "checksums" in provider else (4, 0) if "format2" in provider else (0,)
        is_table = not provider.startswith("hdfs")
        return max(self.since, needed) <= release < self.until and (is_table or not self.tables)


def _events(source: Callable[[str], Any], delay: str = "10 seconds") -> Any:
    return source("left").withWatermark("ts", delay)


def _window(source: Callable[[str], Any]) -> Any:
    from pyspark.sql import functions as sql

    return _events(source).groupBy("user", sql.window("ts", "20 seconds")).count()


def _session(source: Callable[[str], Any]) -> Any:
    from pyspark.sql import functions as sql

    return _events(source).groupBy("user", sql.session_window("ts", "12 seconds")).count()


_UNMATCHED = " and (v + w) % 4 = 0"
"""Condition of a join by which rows of both sides wait without a match."""


def _join(kind: str, more: str = "") -> Callable[[Callable[[str], Any]], Any]:
    def build(source: Callable[[str], Any]) -> Any:
        from pyspark.sql import functions as sql

        right = source("right").withWatermark("ts2", "10 seconds")
        near = sql.expr(
            "user = user2 and ts2 >= ts - interval 20 seconds and ts2 <= ts + interval 20 seconds"
            + more
        )
        return _events(source).join(right, near, kind)

    return build


def _group_state(
    key: Any,
    frames: Iterator[Any],
    state: Any,
    timeout_ms: int | None = None,  # by processing time; None for a timer by event time
) -> Iterator[Any]:
    """Count; users that are evicted never had a timer, which is the leak that is cured."""
    import pandas as pd

    if state.hasTimedOut:
        (count,) = state.get
        state.remove()
        yield pd.DataFrame({"user": [key[0]], "n": [count], "why": ["timeout"]})
        return
    count = (state.get[0] if state.exists else 0) + sum(map(len, frames))
    state.update((count,))
    if key[0] >= VICTIMS:
        if timeout_ms is None:
            state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 30_000)
        else:
            state.setTimeoutDuration(timeout_ms)
    yield pd.DataFrame({"user": [key[0]], "n": [count], "why": ["data"]})


def _state_by_clock(key: Any, frames: Iterator[Any], state: Any) -> Iterator[Any]:
    """Count with timers by processing time that are due after every judgement."""
    yield from _group_state(key, frames, state, timeout_ms=24 * 3_600_000)


def _processed(
    time_mode: str, processor: str = "Counting", **options: Any
) -> Callable[[Callable[[str], Any]], Any]:
    def build(source: Callable[[str], Any]) -> Any:
        from copies import processors
        from pyspark import cloudpickle

        by_value: Any = cloudpickle.register_pickle_by_value  # the driver's own worker lacks them
        by_value(processors)
        output = "user string, n long, why string"
        grouped = _events(source).groupBy("user")
        return grouped.transformWithStateInPandas(
            getattr(processors, processor)(**options), output, "append", time_mode
        )

    return build


def _values(**options: Any) -> Callable[[Callable[[str], Any]], Any]:
    return _processed("ProcessingTime", timed=False, **options)


def _stateful(source: Callable[[str], Any]) -> Any:
    output = "user string, n long, why string"
    grouped = _events(source).groupBy("user")
    return grouped.applyInPandasWithState(
        _group_state, output, "n long", "update", "EventTimeTimeout"
    )


def _stateful_by_clock(source: Callable[[str], Any]) -> Any:
    output = "user string, n long, why string"
    grouped = _events(source).groupBy("user")
    return grouped.applyInPandasWithState(
        _state_by_clock, output, "n long", "update", "ProcessingTimeTimeout"
    )


_NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
"""Where values can expire, Spark asks for batches without end."""
VALIDATION = "spark.sql.streaming.stateStore.formatValidation.enabled"
AGGREGATION_FORMAT = "spark.sql.streaming.aggregation.stateFormatVersion"
GROUP_FORMAT = "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion"
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"


def _joined(kind: str, version: int, more: str = "") -> Family:
    """A join in one of its state formats; 1 ended with 3.5, 3 and 4 need column families.

    Outer joins of format 1 are refused from 3.0 on (SPARK-26154).
    """
    conf, build = {JOIN_FORMAT: str(version)}, _join(kind, more)
    if version < 3:
        until = (9,) if version == 2 else (4,) if kind == "inner" else (3,)
        return Family(build, "append", evicts=False, conf=conf, until=until)
    since = (4, 1) if version == 3 else (4, 3)
    return Family(build, "append", evicts=False, conf=conf, tables=True, since=since)


def _joined_windows(source: Callable[[str], Any]) -> Any:
    from pyspark.sql import functions as sql

    joined = _join("inner")(source)
    return joined.groupBy("user", sql.window("ts", "20 seconds")).count()


def _joined_twice(source: Callable[[str], Any]) -> Any:
    from pyspark.sql import functions as sql

    third = source("right").selectExpr("user2 as user3", "ts2 as ts3", "w as w3")
    near = sql.expr(
        "user = user3 and ts3 >= ts - interval 20 seconds and ts3 <= ts + interval 20 seconds"
    )
    third = third.withWatermark("ts3", "10 seconds")
    joined = _join("inner", _UNMATCHED)(source).select("user", "ts", "v", "w")  # one event time
    return joined.join(third, near, "left_outer")


def _deduplicated_windows(source: Callable[[str], Any]) -> Any:
    from pyspark.sql import functions as sql

    once = _events(source).dropDuplicates(["user", "ts"])
    return once.groupBy("user", sql.window("ts", "20 seconds")).count()


FAMILIES = {
    "aggregation": Family(lambda source: source("left").groupBy("user").agg({"v": "max"})),
    # in state format 1, which copies convert
    "window-1": Family(_window, "append", evicts=False, conf={AGGREGATION_FORMAT: "1"}),
    "aggregation-1": Family(
        lambda source: source("left").groupBy("user").agg({"v": "max", "ts": "min"}),
        conf={AGGREGATION_FORMAT: "1"},
    ),
    "complete": Family(lambda source: source("left").groupBy("user").count(), "complete"),
    "window": Family(_window, "append", evicts=False),
    "global": Family(
        lambda source: source("left").groupBy().count(), evicts=False, has_users=False
    ),
    "deduplicate": Family(lambda source: source("left").dropDuplicates(["user"]), "append"),
    "within": Family(
        lambda source: _events(source, "40 seconds").dropDuplicatesWithinWatermark(["user"]),
        "append",
    ),
    "session": Family(_session, "append", evicts=False),
    "limit": Family(
        lambda source: source("left").limit(BATCHES_OF_LIMIT * ROWS + ROWS // 2),
        "append",
        evicts=False,
        has_users=False,
    ),
    **{
        f"{kind}-{version}": _joined(kind, version)
        for kind, versions in (
            ("inner", (1, 2, 3, 4)),
            ("left_outer", (1, 2, 3, 4)),
            ("right_outer", (2, 4)),
            ("full_outer", (2, 3, 4)),
            ("left_semi", (2, 4)),
        )
        for version in versions
    },
    **{
        f"{kind}-{version}-waiting": _joined(kind, version, _UNMATCHED)
        for kind in ("left_outer", "right_outer", "full_outer", "left_semi")
        for version in (2, 4)
    },
    "stateful": Family(_stateful, by_timeout=True),
    # Spark refuses to read back a timer of format 1: a long that it declares an integer.
    "stateful-1": Family(_stateful, by_timeout=True, conf={GROUP_FORMAT: "1", VALIDATION: "false"}),
    "stateful-processing": Family(_stateful_by_clock, by_timeout=True, conf={_NO_DATA: "false"}),
    "timers": Family(
        _processed("EventTime", timed=True),
        "append",
        tables=True,
        since=(4, 0),
        fires=True,
        returns=True,
    ),
    "ttl": Family(
        _values(), "append", conf={_NO_DATA: "false"}, tables=True, since=(4, 0), returns=True
    ),
    "waiting": Family(
        # The last batch before the copies sets timers, which are due in the first one after them.
        _processed(
            "ProcessingTime",
            "Waiting",
            timed_values=range((BEFORE - 1) * VALUES, BEFORE * VALUES),
        ),
        "append",
        conf={_NO_DATA: "false"},
        variables=("count",),
        tables=True,
        since=(4, 0),
        fires=True,
        returns=True,
    ),
    "expired": Family(
        _values(),
        "append",
        # Values that stay and values that expire, in lists of one key too; then a processor that
        # does not declare them runs, so that nothing cleans them up.
        before=(
            *(_values(), _values(ttl_ms=1)),
            *(_processed("ProcessingTime", "Forgetful"),) * 2,
        ),
        expired=True,
        conf={_NO_DATA: "false"},
        variables=("other",),
        tables=True,
        since=(4, 0),
    ),
    "chained": Family(
        lambda source: _events(source).dropDuplicates(["user", "ts"]).groupBy("user").count()
    ),
    "chained-windows": Family(_deduplicated_windows, "append", evicts=False),
    "chained-join": Family(_joined_windows, "append", evicts=False),
    "chained-joins": Family(_joined_twice, "append", evicts=False),
}

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_STATE = "org.apache.spark.sql.execution.streaming.state."
_ROCKS = {PROVIDER: f"{_STATE}RocksDBStateStoreProvider"}
_CHANGELOGS = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
IDS = "spark.sql.streaming.stateStore.checkpointFormatVersion"

PROVIDERS: dict[str, dict[str, str]] = {
    "hdfs": {PROVIDER: f"{_STATE}HDFSBackedStateStoreProvider"},
    "zips": {**_ROCKS, _CHANGELOGS: "false"},
    "changelogs": {**_ROCKS, _CHANGELOGS: "true"},
    "format2": {**_ROCKS, _CHANGELOGS: "true", IDS: "2"},
}
"""Confs by name; ``format2`` needs Spark 4.0 or later."""

_DELTAS = "spark.sql.streaming.stateStore.minDeltasForSnapshot"
_ROW_CHECKSUM = "spark.sql.streaming.stateStore.rowChecksum.enabled"

STORES: dict[str, dict[str, str]] = {
    **PROVIDERS,
    "forced": {**PROVIDERS["changelogs"], _DELTAS: "1"},
    "format2-forced": {**PROVIDERS["format2"], _DELTAS: "1"},
    "format2-zips": {**PROVIDERS["format2"], _CHANGELOGS: "false"},
    "checksums": {**PROVIDERS["changelogs"], _ROW_CHECKSUM: "true"},
    "hdfs-checksums": {**PROVIDERS["hdfs"], _ROW_CHECKSUM: "true"},
}
"""Confs of more forms of state files, by name."""

CONFS = (*STORES.values(), *(family.conf for family in FAMILIES.values()))
"""Every conf that any of them sets."""
