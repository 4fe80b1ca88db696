"""Restarts in another mode: asynchronous progress tracking and real-time mode of Spark 4.3.

Real-time mode reads few sources: here Spark's own low-latency memory stream, which lives as long as
the session. A restart counts as equal if the query commits another batch.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from restarts.queries import PREFIX, PROVIDERS, ROCKSDB, SCHEMA
from restarts.runs import EQUAL, PATH, REFUSED, error_text, write_input

MICRO_BATCH, ASYNC, REAL_TIME = "micro-batch", "async", "real-time"
_WAIT_S = 60
_ROCKSDB = {PREFIX + "stateStore.providerClass": PROVIDERS[ROCKSDB]}
_FORMAT_2 = {**_ROCKSDB, PREFIX + "stateStore.checkpointFormatVersion": "2"}
_SINKS = {PREFIX + "queryEvolution.enableSinkEvolution": "true"}
_BASE = {"spark.sql.shuffle.partitions": "2", PREFIX + "realTimeMode.minBatchDuration": "1000"}

Build = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class ModeChange:
    """A query that runs in one mode first, and in another one then."""

    name: str
    build: Build  # of rows with the columns ``k`` and ``ts``
    old: str
    new: str
    source: str = "memory"  # the low-latency memory stream, or ``files``
    conf: Mapping[str, str] = field(default_factory=dict)  # of both runs
    new_conf: Mapping[str, str] = field(default_factory=dict)  # of the second one too


def _plain(rows: DataFrame) -> DataFrame:
    return rows.select("k")


def _count(rows: DataFrame) -> DataFrame:
    return rows.groupBy("k").count()


def _distinct(rows: DataFrame) -> DataFrame:
    return rows.withWatermark("ts", "1 second").dropDuplicates(["k", "ts"])


def _within(rows: DataFrame) -> DataFrame:
    return rows.withWatermark("ts", "1 second").dropDuplicatesWithinWatermark(["k"])


CHANGES = (
    ModeChange("plain", _plain, MICRO_BATCH, ASYNC, "files"),
    ModeChange("plain", _plain, MICRO_BATCH, REAL_TIME, "files"),
    ModeChange("count", _count, MICRO_BATCH, ASYNC, "files"),
    ModeChange("count", _count, MICRO_BATCH, REAL_TIME, "files"),
    ModeChange("count-format-2", _count, MICRO_BATCH, REAL_TIME, "files", _FORMAT_2),
    ModeChange("plain", _plain, ASYNC, ASYNC, "rate"),
    ModeChange("plain", _plain, ASYNC, MICRO_BATCH, "rate"),
    ModeChange("plain", _plain, MICRO_BATCH, REAL_TIME),
    ModeChange("plain", _plain, REAL_TIME, MICRO_BATCH),
    ModeChange("plain", _plain, REAL_TIME, REAL_TIME),
    ModeChange("plain-sinks", _plain, MICRO_BATCH, ASYNC, "files", _SINKS),
    ModeChange("count", _count, MICRO_BATCH, REAL_TIME),
    ModeChange("count-rocksdb", _count, MICRO_BATCH, REAL_TIME, conf=_ROCKSDB),
    ModeChange("count-format-2", _count, MICRO_BATCH, REAL_TIME, conf=_FORMAT_2),
    ModeChange("count-format-2", _count, REAL_TIME, MICRO_BATCH, conf=_FORMAT_2),
    ModeChange("distinct-format-2", _distinct, MICRO_BATCH, REAL_TIME, conf=_FORMAT_2),
    ModeChange("within-format-2", _within, MICRO_BATCH, REAL_TIME, conf=_FORMAT_2),
    ModeChange(
        *("count-format-2-hdfs", _count, MICRO_BATCH, REAL_TIME, "memory", _FORMAT_2),
        new_conf={PREFIX + "stateStore.providerClass": PROVIDERS["hdfs"]},
    ),
)


def run_modes(folder: Path, only: str) -> int:
    """Run all changes of modes with the installed Spark, and note what it did."""
    from judge_restarts import session

    spark = session()
    out = folder / spark.version
    done: dict[str, Any] = {}
    for change in (item for item in CHANGES if re.search(only, item.name)):
        name = f"{change.name}-{change.source}-{change.old}"
        modes_folder, error = out / "modes" / f"{name}-to-{change.new}", None
        shutil.rmtree(modes_folder, ignore_errors=True)
        source = _Source(spark, out / "mode-inputs" / modes_folder.name, change)
        first = _run(source, change, change.old, modes_folder, change.conf)
        if first is None:
            checkpoint = out / "modes" / f"{modes_folder.name}.restarted"
            shutil.rmtree(checkpoint, ignore_errors=True)
            modes_folder.rename(checkpoint)  # which Spark goes on with, at the path that it has
            shutil.copytree(checkpoint, modes_folder)
            shutil.move(str(modes_folder), f"{modes_folder}.kept")
            checkpoint.rename(modes_folder)
            error = _run(
                source, change, change.new, modes_folder, {**change.conf, **change.new_conf}
            )
            shutil.rmtree(modes_folder)
            shutil.move(f"{modes_folder}.kept", str(modes_folder))
        else:
            error = f"its first run failed: {first}"
            print(f"{modes_folder.name}: {error}", flush=True)
            continue
        messages = error and shorten(PATH.sub("PATH", error), 140, placeholder="")
        done[f"modes {modes_folder.name}"] = {
            "did": EQUAL if error is None else REFUSED,
            "error": messages,
            "mode": change.new,
            "checkpoint": modes_folder.name,
            "conf": {**change.conf, **change.new_conf},
        }
        print(modes_folder.name, done[f"modes {modes_folder.name}"]["did"], messages, flush=True)
    (out / f"in-{spark.version}.json").write_text(json.dumps(done, indent=1))
    return 0


class _Source:
    """Rows of a source that gets more of them."""

    def __init__(self, spark: SparkSession, inputs: Path, change: ModeChange) -> None:
        self.spark, self._inputs, self._kind, self._number = spark, inputs, change.source, 0
        if change.source == "memory":
            jvm: Any = spark._jvm
            stream = jvm.org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream
            encoder = jvm.org.apache.spark.sql.Encoders.STRING()
            self._stream = stream.apply(spark._jsparkSession, 2, encoder)
        shutil.rmtree(inputs, ignore_errors=True)

    def frame(self, session: SparkSession) -> DataFrame:
        """The rows as a streaming DataFrame."""
        if self._kind == "files":
            return session.readStream.schema(SCHEMA).json(str(self._inputs / "one"))
        if self._kind == "rate":
            rows = session.readStream.format("rate").option("rowsPerSecond", 5).load()
            return rows.selectExpr("string(value % 3) as k", "timestamp as ts")
        rows = DataFrame(self._stream.toDF(), self.spark)
        return rows.selectExpr("value as k", "current_timestamp() as ts")

    def more(self) -> None:
        """Add rows."""
        self._number += 1
        if self._kind == "files":
            write_input(self._inputs, str(1 + self._number % 3))
            item = self._inputs / "one"
            (item / f"{1 + self._number % 3}.json").rename(item / f"{self._number}-more.json")
        elif self._kind == "memory":
            jvm: Any = self.spark._jvm
            self._stream.addData(
                jvm.scala.jdk.javaapi.CollectionConverters.asScala(["a", "b"]).toSeq()
            )


def _run(
    source: _Source, change: ModeChange, mode: str, checkpoint: Path, conf: Mapping[str, str]
) -> str | None:
    """Run a query until it has committed two more batches; the error that it ended with."""
    session = source.spark
    before: dict[str, str | None] = {key: session.conf.get(key, None) for key in {**_BASE, **conf}}
    for key, value in {**_BASE, **conf}.items():
        session.conf.set(key, value)
    query: Any = None
    try:
        source.more()
        writer = change.build(source.frame(session)).writeStream.outputMode("update")
        if change.build in (_distinct, _within, _plain) and mode != REAL_TIME:
            writer = writer.outputMode("append")
        triggers: dict[str, Any] = {REAL_TIME: {"realTime": "2 seconds"}}
        writer = writer.trigger(**triggers.get(mode, {"processingTime": "0 seconds"}))
        if mode == ASYNC:
            writer = writer.option("asyncProgressTrackingEnabled", "true")
        query = writer.foreach(_nowhere).option("checkpointLocation", checkpoint.as_uri()).start()
        committed = _commits(checkpoint)
        end = time.monotonic() + _WAIT_S
        while time.monotonic() < end and query.isActive and _commits(checkpoint) < committed + 2:
            time.sleep(0.5)
            source.more()
        if query.exception() is not None:
            return error_text(str(query.exception()))
        return None if _commits(checkpoint) > committed else "it committed nothing"
    except Exception as error:  # noqa: BLE001 - whatever Spark refuses with is the result
        return error_text(str(error))
    finally:
        if query is not None:
            query.stop()
        for key, old in before.items():
            session.conf.unset(key) if old is None else session.conf.set(key, old)


def _nowhere(_row: Any) -> None:
    pass


def _commits(checkpoint: Path) -> int:
    return len(list((checkpoint / "commits").glob("[0-9]*")))


def names() -> Iterator[str]:
    """Yield what each change is called."""
    for change in CHANGES:
        yield f"{change.name}-{change.source}-{change.old}-to-{change.new}"
