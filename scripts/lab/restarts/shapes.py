"""Queries over real sources and sinks, whose checkpoints are damaged and restarted.

A shape is one query with one state store provider and one set of confs. Every source of files reads
one file in a batch. Nothing here starts a Spark.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

PREFIX = "spark.sql.streaming."
SCHEMA = "k string, ts timestamp, n long"
ROWS = 12  # rows of one input file
KEYS = 9  # distinct keys in all input files
BATCH_SECONDS = 30  # event time that passes from one input file to the next
FIRST_MTIME_S = 1_700_000_000  # time of the first input file: Spark reads older files first

_ROCKSDB = f"{PREFIX}stateStore.rocksdb"
_ROCKSDB_CLASS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PROVIDER = f"{PREFIX}stateStore.providerClass"
PROVIDERS: Mapping[str, Mapping[str, str]] = {
    "hdfs": {f"{PREFIX}stateStore.minDeltasForSnapshot": "3"},
    "zips": {_PROVIDER: _ROCKSDB_CLASS},
    "changelogs": {
        _PROVIDER: _ROCKSDB_CLASS,
        f"{_ROCKSDB}.changelogCheckpointing.enabled": "true",
        f"{PREFIX}stateStore.minDeltasForSnapshot": "3",
    },
    "format2": {
        _PROVIDER: _ROCKSDB_CLASS,
        f"{_ROCKSDB}.changelogCheckpointing.enabled": "true",
        f"{PREFIX}stateStore.minDeltasForSnapshot": "3",
        f"{PREFIX}stateStore.checkpointFormatVersion": "2",
    },
}
"""Name of a way to keep state -> its confs. Snapshots come early, so that few batches have some."""


def write_input(inputs: Path, number: int) -> None:
    """Write one more file for each of two sources.

    Args:
        inputs: the folder of both sources, ``one`` and ``two``.
        number: the number of the batch that reads the file.
    """
    for source, shift in (("one", 0), ("two", 1)):
        folder = inputs / source
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for row in range(ROWS):
            second = number * BATCH_SECONDS + row + shift
            time = f"2024-01-01T00:{second // 60:02}:{second % 60:02}Z"
            lines.append({"k": f"k{(row * 2 + number) % KEYS}", "ts": time, "n": row + number})
        partial = folder / f".{number:03}"
        partial.write_text("\n".join(map(json.dumps, lines)), "utf-8")
        os.utime(partial, (FIRST_MTIME_S + number, FIRST_MTIME_S + number))
        partial.rename(folder / f"{number:03}.json")


Frame = Any  # a streaming DataFrame of :data:`SCHEMA`
Source = Callable[[Any, Path, str], Frame]


def _files(spark: Any, inputs: Path, name: str) -> Frame:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.json(str(inputs / name))


def _files_twice(spark: Any, inputs: Path, name: str) -> Frame:
    frame = _files(spark, inputs, name)
    return frame.union(frame)


def _two_folders(spark: Any, inputs: Path, _name: str) -> Frame:
    return _files(spark, inputs, "one").union(_files(spark, inputs, "two"))


_AS_INPUT = ("concat('k', value % 9) as k", "timestamp as ts", "value as n")


def _rate_micro_batch(spark: Any, _inputs: Path, _name: str) -> Frame:
    source = spark.readStream.format("rate-micro-batch").option("numPartitions", 1)
    source = source.option("rowsPerBatch", ROWS).option("startTimestamp", FIRST_MTIME_S * 1000)
    return (
        source.option("advanceMillisPerBatch", BATCH_SECONDS * 1000).load().selectExpr(*_AS_INPUT)
    )


def _rate(spark: Any, _inputs: Path, _name: str) -> Frame:
    source = spark.readStream.format("rate").option("rowsPerSecond", 20).option("numPartitions", 1)
    return source.load().selectExpr(*_AS_INPUT)


SOURCES: Mapping[str, Source] = {
    "files": _files,
    "files-twice": _files_twice,
    "two-folders": _two_folders,
    "rate-micro-batch": _rate_micro_batch,
    "rate": _rate,
}
_SLEEPY = "rate"  # rows of this source appear with the wall clock

# --- operators -----------------------------------------------------------------------------------


def _marked(frame: Frame, delay: str = "10 seconds") -> Frame:
    return frame.withWatermark("ts", delay)


def _aggregation(frame: Frame, _second: Callable[[], Frame]) -> Frame:
    return frame.groupBy("k").agg({"n": "sum", "ts": "max"})


def _window(frame: Frame, _second: Callable[[], Frame]) -> Frame:
    return _windows(_marked(frame))


def _windows(marked: Frame) -> Frame:
    from pyspark.sql import functions as sql

    windows = marked.groupBy("k", sql.window("ts", "20 seconds")).count()
    return windows.select("k", "window.end", "count")


def _session(frame: Frame, _second: Callable[[], Frame]) -> Frame:
    from pyspark.sql import functions as sql

    sessions = _marked(frame).groupBy("k", sql.session_window("ts", "5 seconds")).count()
    return sessions.select("k", "session_window.end", "count")


def _total(frame: Frame, _second: Callable[[], Frame]) -> Frame:
    return frame.groupBy().count()


def _deduplication(frame: Frame, _second: Callable[[], Frame]) -> Frame:
    return _marked(frame).dropDuplicates(["k", "ts"])


def _deduplication_within(frame: Frame, _second: Callable[[], Frame]) -> Frame:
    return _marked(frame).dropDuplicatesWithinWatermark(["k"])


def _join(how: str) -> Callable[[Frame, Callable[[], Frame]], Frame]:
    def build(frame: Frame, second: Callable[[], Frame]) -> Frame:
        from pyspark.sql import functions as sql

        right = (
            second()
            .selectExpr("k as k2", "ts as ts2", "n as n2")
            .withWatermark("ts2", "10 seconds")
        )
        condition = "k = k2 and ts2 between ts - interval 10 seconds and ts + interval 10 seconds"
        return _marked(frame).join(right, sql.expr(condition), how)

    return build


def _chain(frame: Frame, _second: Callable[[], Frame]) -> Frame:
    return _windows(_marked(frame).dropDuplicates(["k", "ts"]))


def _limit(frame: Frame, _second: Callable[[], Frame]) -> Frame:
    return frame.select("k", "n").limit(1000)


def _select(frame: Frame, _second: Callable[[], Frame]) -> Frame:
    return frame.where("n >= 0").select("k", "n")


def _pandas_state(frame: Frame, _second: Callable[[], Frame]) -> Frame:
    def count(key: Any, batches: Iterator[Any], state: Any) -> Iterator[Any]:
        import pandas as pd

        total = (state.get[0] if state.exists else 0) + sum(len(batch) for batch in batches)
        state.update((total,))
        yield pd.DataFrame({"k": [key[0]], "total": [total]})

    return frame.groupBy("k").applyInPandasWithState(
        count, "k string, total bigint", "total bigint", "update", "NoTimeout"
    )


def _processor(frame: Frame, _second: Callable[[], Frame]) -> Frame:
    from pyspark import cloudpickle
    from restarts import processors

    by_value: Any = cloudpickle.register_pickle_by_value
    by_value(processors)
    counter = processors.Counter("total:value:n bigint", None)
    return frame.groupBy("k").transformWithStateInPandas(
        counter, "k string, total bigint", "Update", "None"
    )


@dataclass(frozen=True)
class Operator:
    """What a query does with its rows."""

    build: Callable[[Frame, Callable[[], Frame]], Frame]  # of the rows, and a second source
    modes: tuple[str, ...]  # output modes that Spark allows
    since: tuple[int, int] = (3, 5)  # first release of Spark that has it
    needs_rocksdb: bool = False
    has_state: bool = True


OPERATORS: Mapping[str, Operator] = {
    "aggregation": Operator(_aggregation, ("update",)),
    "window": Operator(_window, ("append", "update")),
    "session": Operator(_session, ("append",)),
    "total": Operator(_total, ("complete", "update")),
    "deduplication": Operator(_deduplication, ("append",)),
    "deduplication-within": Operator(_deduplication_within, ("append",)),
    "inner-join": Operator(_join("inner"), ("append",)),
    "left-join": Operator(_join("left_outer"), ("append",)),
    "chain": Operator(_chain, ("append",)),
    "limit": Operator(_limit, ("append",)),
    "pandas-state": Operator(_pandas_state, ("update",)),
    "processor": Operator(_processor, ("update",), since=(4, 0), needs_rocksdb=True),
    "select": Operator(_select, ("append",), has_state=False),
}

# --- shapes --------------------------------------------------------------------------------------

_OFFSET_LOG_2 = {f"{PREFIX}offsetLog.formatVersion": "2"}
SINK_EVOLUTION = f"{PREFIX}queryEvolution.enableSinkEvolution"
_COMMIT_LOG_3 = {SINK_EVOLUTION: "true", **_OFFSET_LOG_2}
_SINKS = ("file", "foreachBatch", "noop")


@dataclass(frozen=True)
class Shape:
    """One query with its provider, source, sink and confs."""

    operator: str
    provider: str
    source: str
    sink: str
    mode: str
    confs: Mapping[str, str] = field(default_factory=dict)  # of the first run
    restart_confs: Mapping[str, str] | None = None  # of the restart; None for those of the first
    log: str = ""  # what the confs change, for the name
    since: tuple[int, int] = (3, 5)

    @property
    def name(self) -> str:
        """``window-hdfs-files-noop-append``."""
        parts = (self.operator, self.provider, self.source, self.sink, self.mode, self.log)
        return "-".join(part for part in parts if part)

    @property
    def is_timed(self) -> bool:
        """True if the rows depend on the wall clock, so that two runs differ."""
        return self.source == _SLEEPY

    def frame(self, spark: Any, inputs: Path) -> Frame:
        """Build the streaming DataFrame of the query."""
        source = SOURCES[self.source]
        build = OPERATORS[self.operator].build
        return build(source(spark, inputs, "one"), lambda: source(spark, inputs, "two"))

    def can_run(self, release: tuple[int, ...]) -> bool:
        """True if a release of Spark, such as (4, 0), runs the query."""
        since = (4, 0) if self.provider == "format2" else (3, 5)
        return release >= max(self.since, since, OPERATORS[self.operator].since)


def _shapes() -> Iterator[Shape]:
    sources, sinks = cycle(SOURCES), cycle(_SINKS)
    for name, operator in OPERATORS.items():
        for provider in PROVIDERS if operator.has_state else ("hdfs",):
            if provider == "hdfs" and operator.needs_rocksdb:
                continue
            for _ in range(1 if operator.has_state else 5):
                sink = next(sinks)
                mode = operator.modes[0]
                if sink == "file" and mode != "append":
                    sink = "foreachBatch"
                if mode == "complete" and provider == "hdfs":
                    sink = "memory"
                yield Shape(name, provider, next(sources), sink, mode)
    for name, provider, source, sink in (
        ("aggregation", "hdfs", "files", "noop"),
        ("window", "changelogs", "two-folders", "file"),
        ("select", "hdfs", "files", "file"),
    ):
        mode = OPERATORS[name].modes[0]
        yield Shape(name, provider, source, sink, mode, _OFFSET_LOG_2, log="offsets2", since=(4, 2))
        for log, confs in (("commits3", None), ("commits3-off", _OFFSET_LOG_2)):
            yield Shape(name, provider, source, sink, mode, _COMMIT_LOG_3, confs, log, (4, 3))
    for source in ("files", "rate", "files-twice"):
        yield Shape("window", "hdfs", source, "file", "append", log="again")
    yield Shape("aggregation", "zips", "files-twice", "foreachBatch", "update", log="again")
    yield Shape("inner-join", "hdfs", "files-twice", "file", "append", log="again")


SHAPES: tuple[Shape, ...] = tuple({shape.name: shape for shape in _shapes()}.values())
