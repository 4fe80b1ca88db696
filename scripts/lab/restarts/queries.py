"""Queries of which one takes over the checkpoint of another: what each change is made of.

All read rows of :data:`SCHEMA` from JSON files, a file in a batch, and differ in one thing each. A
query is built anew for every run; nothing here starts a Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

SCHEMA = "k string, g string, n bigint, m bigint, i int, d double, ts timestamp"
PREFIX = "spark.sql.streaming."
ROCKSDB = "rocksdb"
PROVIDERS = {
    "hdfs": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    ROCKSDB: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}

REHEARSAL = "rehearsal"  # name of the folder with the inputs of rehearsals

Build = Callable[[SparkSession, Path], DataFrame]


@dataclass(frozen=True)
class Query:
    """A query as its user would write it.

    Attributes:
        build: makes its DataFrame of a session and the folder of the inputs.
        mode: its output mode. conf: of its session.
        sink: ``rows`` for a ``foreachBatch`` that keeps them, ``foreach`` for a function of rows,
            or the format of a file sink. output: of its folder the last part.
        only: the provider that it needs; None for both. since: the release that it needs.
        once: it runs one batch each time, as it would ask for batches without end.
    """

    build: Build
    mode: str = "update"
    conf: Mapping[str, str] = field(default_factory=dict)
    sink: str = "rows"
    output: str = "out"
    only: str | None = None
    since: tuple[int, int] = (3, 5)
    once: bool = False


def table_path(inputs: Path, table: str) -> Path:
    """Return the folder of a table; that of a rehearsal is named as ``rehearse`` names it."""
    return inputs / (f"rehearsed-{table}-{table}" if inputs.name == REHEARSAL else table)


def _events(spark: SparkSession, inputs: Path, table: str = "one", files: int = 1) -> DataFrame:
    reader = spark.readStream.schema(SCHEMA)
    if files:
        reader = reader.option("maxFilesPerTrigger", files)
    return reader.json(str(table_path(inputs, table)))


def _expressions(text: str) -> list[Any]:
    return [expr(part) for part in text.split(";") if part.strip()]


def _aggregate(
    keys: str, values: str, where: str = "true", delay: str = "", files: int = 1
) -> Build:
    """An aggregation by expressions that semicolons part."""

    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        events = _events(spark, inputs, files=files).where(where)
        if delay:
            events = events.withWatermark("ts", delay)
        return events.groupBy(*_expressions(keys)).agg(*_expressions(values))

    return build


def _distinct(
    columns: str, *, within: str = "", delay: str = "", where: str = "true", rows: str = "*"
) -> Build:
    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        events = _events(spark, inputs).where(where).selectExpr(*rows.split("; "))
        if within:
            return events.withWatermark("ts", within).dropDuplicatesWithinWatermark(columns.split())
        if delay:
            events = events.withWatermark("ts", delay)
        return events.dropDuplicates(columns.split())

    return build


def _join(  # noqa: PLR0913 - what a change changes
    on: str = "k = k2",
    how: str = "inner",
    right: str = "n as n2",
    left: str = "n",
    gap: str = "1 hour",
    delays: str = "1 hour; 1 hour",
    where: str = "true",
) -> Build:
    """A join of both tables, each with a watermark, within a range of time."""

    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        names = [name.strip() for name in left.split(",")]
        delay, other_delay = delays.split("; ")
        ours = _events(spark, inputs).where(where).select("k", "g", *names, "ts")
        ours = ours.withWatermark("ts", delay)
        theirs = _events(spark, inputs, "two").selectExpr(
            "k as k2", "g as g2", *(text.strip() for text in right.split(",")), "ts as ts2"
        )
        theirs = theirs.withWatermark("ts2", other_delay)
        within = f"ts2 between ts - interval {gap} and ts + interval {gap}"
        return ours.join(theirs, expr(f"({on}) and {within}"), how)

    return build


def _select(columns: str, where: str = "true", *, tables: str = "one") -> Build:
    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        first, *siblings = tables.split()
        rows = _events(spark, inputs, first)
        for table in siblings:
            rows = rows.union(_events(spark, inputs, table))
        return rows.where(where).selectExpr(*(part.strip() for part in columns.split(";")))

    return build


def _union_sum(tables: str) -> Build:
    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        return _select("k; n", tables=tables)(spark, inputs).groupBy("k").agg(expr("sum(n)"))

    return build


def _used_twice(tables: str, *, ends_with_first: bool = False) -> Build:
    """A sum over a union that uses the first table's source twice, and others once."""

    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        first, *siblings = (_events(spark, inputs, table) for table in tables.split())
        rows = first if ends_with_first else first.union(first)
        for item in siblings:
            rows = rows.union(item)
        rows = rows.union(first) if ends_with_first else rows
        return rows.groupBy("k").agg(expr("sum(n)"))

    return build


def _idle_end(tables: str) -> Build:
    """Windows over a union, whose last batch evicts and reads no files."""

    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        rows, *siblings = (_events(spark, inputs, table) for table in tables.split())
        for item in siblings:
            rows = rows.union(item)
        windows = rows.withWatermark("ts", "0 seconds").groupBy(expr("window(ts, '1 second')"), "k")
        return windows.agg(expr("sum(n)"))

    return build


def _late_second(tables: str) -> Build:
    """A sum over a union whose second source has read everything one batch before the first."""

    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        first, second = tables.split()
        rows = _events(spark, inputs, first).union(_events(spark, inputs, second, files=0))
        return rows.groupBy("k").agg(expr("sum(n)"))

    return build


def _rate(rows_per_batch: int = 4) -> Build:
    def build(spark: SparkSession, _inputs: Path) -> DataFrame:
        source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows_per_batch)
        rows = source.option("numPartitions", 1).load()
        keys = rows.selectExpr("string(value % 3) as k", "value as n").groupBy("k")
        return keys.agg(expr("sum(n)"))

    return build


def _named(*names: str) -> Build:
    """A union of named sources, both of the first table's form."""

    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        parts: list[DataFrame] = []
        for name in names:
            reader: Any = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            parts.append(reader.name(name).json(str(table_path(inputs, name))))
        rows = parts[0]
        for part in parts[1:]:
            rows = rows.union(part)
        return rows.groupBy("k").agg(expr("sum(n)"))

    return build


def _limit(rows: int, where: str = "true") -> Build:
    return lambda spark, inputs: _events(spark, inputs).where(where).select("k", "n").limit(rows)


def _chain(*, swapped: bool = False, keys: str = "k g ts", length: str = "10 seconds") -> Build:
    """Two stateful operators, one above the other."""

    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        events = _events(spark, inputs).withWatermark("ts", "1 hour")
        if swapped:
            windows = events.groupBy(expr("window(ts, '10 seconds')"), "k").agg(expr("sum(n) as n"))
            return windows.dropDuplicates(["window", "k"])
        once = events.dropDuplicates(keys.split())
        return once.groupBy(expr(f"window(ts, '{length}')"), "k").agg(expr("sum(n) as n"))

    return build


def _pandas_state(
    schema: str, timeout: str = "NoTimeout", step: int = 1, *, factor: int = 1
) -> Build:
    """``applyInPandasWithState`` that counts the rows of a key in the first field of its state."""
    width = len(schema.split(","))

    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        def count(key: Any, batches: Iterator[Any], state: Any) -> Iterator[Any]:
            import pandas as pd

            old = int(state.get[0]) if state.exists else 0
            total = old * factor + step * sum(len(batch) for batch in batches)
            state.update((total,) + (0,) * (width - 1))
            yield pd.DataFrame({"k": [key[0]], "total": [total]})

        events = _events(spark, inputs).withWatermark("ts", "1 hour")
        return events.groupBy("k").applyInPandasWithState(
            count, "k string, total bigint", schema, "update", timeout
        )

    return build


def _timers(seconds: int, *, keeps: bool = False) -> Build:
    """``applyInPandasWithState`` with a timer that many seconds after the newest row of a key."""

    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        def count(key: Any, batches: Iterator[Any], state: Any) -> Iterator[Any]:
            import pandas as pd

            total = int(state.get[0]) if state.exists else 0
            if state.hasTimedOut:
                if not keeps:
                    state.remove()
                yield pd.DataFrame({"k": [key[0]], "total": [-total]})
                return
            newest = 0
            for batch in batches:
                total += len(batch)
                newest = max(newest, int(batch["second"].max()))
            state.update((total,))
            state.setTimeoutTimestamp(1000 * (newest + seconds))
            yield pd.DataFrame({"k": [key[0]], "total": [total]})

        events = _events(spark, inputs).withWatermark("ts", "1 second")
        seconds_of = events.selectExpr("k", "ts", "unix_seconds(ts) as second")
        return seconds_of.groupBy("k").applyInPandasWithState(
            count, "k string, total bigint", "total bigint", "update", "EventTimeTimeout"
        )

    return build


def _processor(
    variables: str,
    *,
    time_mode: str = "None",
    mode: str = "Update",
    ttl: int | None = None,
    step: int = 1,
    timer: int | None = None,
) -> Build:
    """``transformWithState`` with the variables that :class:`restarts.processors.Counter` has."""

    def build(spark: SparkSession, inputs: Path) -> DataFrame:
        from pyspark import cloudpickle
        from restarts import processors

        by_value: Any = cloudpickle.register_pickle_by_value
        by_value(processors)
        events: Any = _events(spark, inputs)
        if time_mode == "EventTime":
            events = events.withWatermark("ts", "1 hour")
        counter = processors.Counter(variables, ttl, step, timer)
        output = "k string, total bigint"
        rows: DataFrame = events.groupBy("k").transformWithStateInPandas(
            counter, output, mode, time_mode
        )
        return rows

    return build


def _two_delays(spark: SparkSession, inputs: Path) -> DataFrame:
    return _join(delays="1 second; 1 hour", gap="30 seconds")(spark, inputs)


def _conf(**settings: object) -> dict[str, str]:
    """Confs below ``spark.sql.streaming``; two underscores stand for a dot."""
    return {PREFIX + name.replace("__", "."): str(value) for name, value in settings.items()}


_AVRO = _conf(stateStore__encodingFormat="avro")
_EVOLUTION = _conf(queryEvolution__enableSourceEvolution="true", offsetLog__formatVersion=2)
_OFFSETS_2 = _conf(offsetLog__formatVersion=2)
_SHUFFLE = "spark.sql.shuffle.partitions"
_MIN_MAX = _aggregate("k", "min(n); max(n)")


def _sessions(values: str, gap: str = "30 seconds") -> Build:
    return _aggregate(f"session_window(ts, '{gap}'); k", values, delay="1 hour")


def _windows_end(values: str, delay: str = "1 second") -> Build:
    return _aggregate("window(ts, '10 seconds'); k", values, delay=delay)


def _with_state(variables: str, **options: Any) -> Query:
    conf = options.pop("conf", {})
    mode = options.get("mode", "Update").lower()
    once = options.get("time_mode") == "ProcessingTime"
    build = _processor(variables, **options)
    return Query(build, mode, conf, only=ROCKSDB, since=(4, 0), once=once)


QUERIES: Mapping[str, Query] = {
    # Aggregations: keys, values, types.
    "min-max": Query(_MIN_MAX),
    "max-min": Query(_aggregate("k", "max(n); min(n)")),
    "sum-max": Query(_aggregate("k", "sum(n); max(n)")),
    "min-max-aliases": Query(_aggregate("k", "min(n) as low; max(n) as high")),
    "min-max-count": Query(_aggregate("k", "min(n); max(n); count(n)")),
    "min": Query(_aggregate("k", "min(n)")),
    "min-max-int": Query(_aggregate("k", "min(i); max(i)")),
    "min-max-of-m": Query(_aggregate("k", "min(m); max(m)")),
    "min-max-filter": Query(_aggregate("k", "min(n); max(n)", "n > 4")),
    "min-max-complete": Query(_MIN_MAX, "complete"),
    "min-max-by-g": Query(_aggregate("g", "min(n); max(n)")),
    "min-max-by-alias": Query(_aggregate("k as user", "min(n); max(n)")),
    "min-max-by-case": Query(_aggregate("K", "min(n); max(n)")),
    "min-max-by-i": Query(_aggregate("i", "min(n); max(n)")),
    "min-max-by-kg": Query(_aggregate("k; g", "min(n); max(n)")),
    "min-max-by-gk": Query(_aggregate("g; k", "min(n); max(n)")),
    "min-max-by-upper": Query(_aggregate("upper(k)", "min(n); max(n)")),
    "min-max-by-lower": Query(_aggregate("lower(k)", "min(n); max(n)")),
    "min-max-by-upper-alias": Query(_aggregate("upper(k) as k", "min(n); max(n)")),
    "min-max-of-all": Query(_aggregate("", "min(n); max(n)")),
    "sums": Query(_aggregate("k", "sum(n); sum(m)")),
    "sums-swapped": Query(_aggregate("k", "sum(m); sum(n)")),
    "sum": Query(_aggregate("k", "sum(n)")),
    "sum-of-m": Query(_aggregate("k", "sum(m)")),
    "sum-double": Query(_aggregate("k", "sum(d)")),
    "count": Query(_aggregate("k", "count(n)")),
    "count-star": Query(_aggregate("k", "count(*)")),
    "avg": Query(_aggregate("k", "avg(n)")),
    "sum-count": Query(_aggregate("k", "sum(d); count(n)")),
    "first": Query(_aggregate("k", "first(n)")),
    "last": Query(_aggregate("k", "last(n)")),
    "stddev": Query(_aggregate("k", "stddev(n)")),
    "variance": Query(_aggregate("k", "var_pop(n)")),
    "list": Query(_aggregate("k", "sort_array(collect_list(n))")),
    "set": Query(_aggregate("k", "sort_array(collect_set(n))")),
    "max-text": Query(_aggregate("k", "max(g)")),
    "max-collated": Query(_aggregate("k", "max(g collate utf8_lcase)"), since=(4, 0)),
    "decimal-10": Query(_aggregate("k", "sum(cast(n as decimal(10,2)))")),
    "decimal-12": Query(_aggregate("k", "sum(cast(n as decimal(12,2)))")),
    "files-all": Query(_aggregate("k", "min(n); max(n)", files=0)),
    "files-4": Query(_aggregate("k", "min(n); max(n)", files=4)),
    # Event time.
    "windows": Query(_aggregate("window(ts, '10 seconds'); k", "sum(n)", delay="1 hour")),
    "windows-20": Query(_aggregate("window(ts, '20 seconds'); k", "sum(n)", delay="1 hour")),
    "windows-delay": Query(_aggregate("window(ts, '10 seconds'); k", "sum(n)", delay="2 hours")),
    "windows-no-delay": Query(_aggregate("window(ts, '10 seconds'); k", "sum(n)")),
    "sessions": Query(_sessions("sum(n)"), "complete"),
    "sessions-count": Query(_sessions("count(n)"), "complete"),
    # Deduplication.
    "once-k": Query(_distinct("k")),
    "once-g": Query(_distinct("g")),
    "once-kg": Query(_distinct("k g")),
    "once-gk": Query(_distinct("g k")),
    "once-i": Query(_distinct("i")),
    "once-within": Query(_distinct("k", within="1 hour")),
    "once-within-2h": Query(_distinct("k", within="2 hours")),
    "once-k-ts": Query(_distinct("k ts", delay="1 hour")),
    # Joins.
    "join": Query(_join(), "append"),
    "join-left": Query(_join(how="left_outer"), "append"),
    "join-on-g": Query(_join("g = g2"), "append"),
    "join-on-two": Query(_join("k = k2 and g = g2"), "append"),
    "join-on-i": Query(_join("n = n2"), "append"),
    "join-more": Query(_join(right="n as n2, m as m2"), "append"),
    "join-other": Query(_join(right="m as n2"), "append"),
    "join-renamed": Query(_join(right="n as other"), "append"),
    "join-range": Query(_join(gap="2 seconds"), "append"),
    "join-v1": Query(_join(), "append", _conf(join__stateFormatVersion=1)),
    "join-v3": Query(
        _join(), "append", _conf(join__stateFormatVersion=3), only=ROCKSDB, since=(4, 1)
    ),
    # Limits, chains, no state at all.
    "limit-5": Query(_limit(5), "append"),
    "limit-9": Query(_limit(9), "append"),
    "chain": Query(_chain(), "append"),
    "chain-swapped": Query(_chain(swapped=True), "append"),
    "no-state": Query(_select("k; n"), "append"),
    "no-state-filter": Query(_select("k; n", "n > 4"), "append"),
    "no-state-projected": Query(_select("k; n + 1 as n"), "append"),
    "no-state-column": Query(_select("k; n; m"), "append"),
    "no-state-other-table": Query(_select("k; n", tables="two"), "append"),
    # Sinks.
    "json-sink": Query(_select("k; n"), "append", sink="json"),
    "json-sink-column": Query(_select("k; n; m"), "append", sink="json"),
    "foreach-sink": Query(_select("k; n"), "append", sink="foreach"),
    "foreach-sink-elsewhere": Query(_select("k; n"), "append", sink="foreach", output="elsewhere"),
    "parquet-sink": Query(_select("k; n"), "append", sink="parquet"),
    "json-sink-elsewhere": Query(_select("k; n"), "append", sink="json", output="elsewhere"),
    # Sources.
    "one": Query(_union_sum("one")),
    "one-two": Query(_union_sum("one two")),
    "two-one": Query(_union_sum("two one")),
    "one-two-three": Query(_union_sum("one two three")),
    "three-one-two": Query(_union_sum("three one two")),
    "one-one": Query(_union_sum("one one")),
    "one-twice": Query(_used_twice("one")),
    "one-twice-two": Query(_used_twice("one two")),
    "one-two-one": Query(_used_twice("one two", ends_with_first=True)),
    "idle-one-two": Query(_idle_end("one two"), "append"),
    "idle-two-one": Query(_idle_end("two one"), "append"),
    "idle-one-one": Query(_idle_end("one one"), "append"),
    "late-second": Query(_late_second("one two")),
    "late-second-swapped": Query(_late_second("two one")),
    "v2-one": Query(_union_sum("one"), conf=_OFFSETS_2, since=(4, 2)),
    "v2-one-two": Query(_union_sum("one two"), conf=_OFFSETS_2, since=(4, 2)),
    "v2-two-one": Query(_union_sum("two one"), conf=_OFFSETS_2, since=(4, 2)),
    "v2-one-one": Query(_union_sum("one one"), conf=_OFFSETS_2, since=(4, 2)),
    "v2-one-twice": Query(_used_twice("one"), conf=_OFFSETS_2, since=(4, 2)),
    "rate": Query(_rate(), once=True),
    "rate-8": Query(_rate(8), once=True),
    "named": Query(_named("one", "two"), conf=_EVOLUTION, since=(4, 2)),
    "named-swapped": Query(_named("two", "one"), conf=_EVOLUTION, since=(4, 2)),
    "named-more": Query(_named("one", "two", "three"), conf=_EVOLUTION, since=(4, 2)),
    "named-fewer": Query(_named("one"), conf=_EVOLUTION, since=(4, 2)),
    "named-other": Query(_named("one", "three"), conf=_EVOLUTION, since=(4, 2)),
    # State of the user's own.
    "pandas": Query(_pandas_state("total bigint")),
    "pandas-function": Query(_pandas_state("total bigint", step=2)),
    "pandas-renamed": Query(_pandas_state("total_rows bigint")),
    "pandas-more": Query(_pandas_state("total bigint, other bigint")),
    "pandas-int": Query(_pandas_state("total int")),
    "pandas-timeout": Query(_pandas_state("total bigint", "ProcessingTimeTimeout"), once=True),
    "state": _with_state("total:value:n bigint"),
    "state-renamed-field": _with_state("total:value:rows bigint"),
    "state-int": _with_state("total:value:n int"),
    "state-more-fields": _with_state("total:value:n bigint, m bigint"),
    "state-list": _with_state("total:list:n bigint"),
    "state-two": _with_state("total:value:n bigint; other:value:n bigint"),
    "state-other-name": _with_state("sum:value:n bigint"),
    "state-map": _with_state("total:value:n bigint; each:map:n bigint"),
    "state-event-time": _with_state("total:value:n bigint", time_mode="EventTime"),
    "state-processing-time": _with_state("total:value:n bigint", time_mode="ProcessingTime"),
    "state-ttl": _with_state("total:value:n bigint", time_mode="ProcessingTime", ttl=3_600_000),
    "state-append": _with_state("total:value:n bigint", mode="Append"),
    "avro-state": _with_state("total:value:n bigint", conf=_AVRO),
    "avro-state-more-fields": _with_state("total:value:n bigint, m bigint", conf=_AVRO),
    "avro-state-wider": _with_state("total:value:n double", conf=_AVRO),
    "avro-state-int": _with_state("total:value:n int", conf=_AVRO),
    "avro-state-renamed-field": _with_state("total:value:rows bigint", conf=_AVRO),
    # Confs and the provider.
    "partitions-4": Query(_MIN_MAX, conf={_SHUFFLE: "4"}),
    "codec-zstd": Query(_MIN_MAX, conf=_conf(stateStore__compression__codec="zstd")),
    "aggregation-v1": Query(_MIN_MAX, conf=_conf(aggregation__stateFormatVersion=1)),
    "watermark-policy-max": Query(_MIN_MAX, conf=_conf(multipleWatermarkPolicy="max")),
    "no-idle-batches": Query(_MIN_MAX, conf=_conf(noDataMicroBatches__enabled="false")),
    "few-batches": Query(_MIN_MAX, conf=_conf(minBatchesToRetain=2)),
    "encoding-avro": Query(_MIN_MAX, conf=_AVRO, since=(4, 0)),
    "row-checksums": Query(
        _MIN_MAX, conf=_conf(stateStore__rowChecksum__enabled="true"), since=(4, 2)
    ),
    "file-checksums-off": Query(
        _MIN_MAX, conf=_conf(checkpoint__fileChecksum__enabled="false"), since=(4, 1)
    ),
    "checkpoint-v2": Query(
        _MIN_MAX, conf=_conf(stateStore__checkpointFormatVersion=2), only=ROCKSDB, since=(4, 0)
    ),
    "offsets-v2": Query(_MIN_MAX, conf=_OFFSETS_2, since=(4, 2)),
    "evolution": Query(_named("one"), conf=_EVOLUTION, since=(4, 2)),
    "changelogs": Query(
        _MIN_MAX,
        conf=_conf(stateStore__rocksdb__changelogCheckpointing__enabled="true"),
        only=ROCKSDB,
    ),
    "other-provider": Query(_MIN_MAX, conf={"provider": "other"}),
    "no-schema-check": Query(
        _aggregate("k", "min(n); max(n); count(n)"),
        conf=_conf(stateStore__stateSchemaCheck="false"),
    ),
    # Changes with later rows.
    "max": Query(_aggregate("k", "max(n)")),
    "avg-of-m": Query(_aggregate("k", "avg(m)")),
    "distinct": Query(_aggregate("k", "approx_count_distinct(n)")),
    "distinct-of-m": Query(_aggregate("k", "approx_count_distinct(m)")),
    "max-by": Query(_aggregate("k", "max_by(n, m)")),
    "max-by-swapped": Query(_aggregate("k", "max_by(m, n)")),
    "sum-plus": Query(_aggregate("k", "sum(n + 1)")),
    "sum-some": Query(_aggregate("k", "sum(n) filter (where n > 3)")),
    "any": Query(_aggregate("k", "bool_or(n > 4)")),
    "every": Query(_aggregate("k", "bool_and(n > 4)")),
    "list-of-m": Query(_aggregate("k", "sort_array(collect_list(m))")),
    "median": Query(_aggregate("k", "percentile_approx(n, 0.5)")),
    "percentile": Query(_aggregate("k", "percentile_approx(n, 0.9)")),
    "total": Query(_aggregate("", "sum(n)")),
    "total-of-m": Query(_aggregate("", "sum(m)")),
    "min-max-by-one": Query(_aggregate("substring(k, 1, 0) as k", "min(n); max(n)")),
    "windows-sliding": Query(
        _aggregate("window(ts, '10 seconds', '5 seconds'); k", "sum(n)", delay="1 hour")
    ),
    "windows-shifted": Query(
        _aggregate(
            "window(ts, '10 seconds', '10 seconds', '3 seconds'); k", "sum(n)", delay="1 hour"
        )
    ),
    "windows-end": Query(_windows_end("sum(n)"), "append"),
    "windows-end-delay": Query(_windows_end("sum(n)", "10 minutes"), "append"),
    "windows-end-count": Query(_windows_end("count(n)"), "append"),
    "windows-end-no-idle": Query(
        _windows_end("sum(n)"), "append", _conf(noDataMicroBatches__enabled="false")
    ),
    "sessions-end": Query(_sessions("sum(n)"), "append"),
    "sessions-end-60": Query(_sessions("sum(n)", "60 seconds"), "append"),
    "once-k-ts-filter": Query(_distinct("k ts", delay="1 hour", where="n > 4")),
    "once-k-ts-delay": Query(_distinct("k ts", delay="10 seconds")),
    "once-within-kg": Query(_distinct("k g", within="1 hour")),
    "once-within-upper": Query(
        _distinct("k", within="1 hour", rows="upper(k) as k; g; n; m; i; d; ts")
    ),
    "once-six": Query(_distinct("k g n m i d")),
    "once-mixed": Query(_distinct("k n i d m g")),
    "cast": Query(_aggregate("k", "sum(cast(g as int)); max(n)")),
    "once-six-other": Query(_distinct("d i m n g k")),
    "join-30": Query(_join(gap="30 seconds", delays="1 second; 1 second"), "append"),
    "join-90": Query(_join(gap="90 seconds", delays="1 second; 1 second"), "append"),
    "join-30-delay": Query(_join(gap="30 seconds", delays="1 minute; 1 minute"), "append"),
    "join-semi": Query(_join(how="left_semi"), "append"),
    "join-right": Query(_join(how="right_outer"), "append"),
    "join-full": Query(_join(how="full_outer"), "append"),
    "join-less": Query(_join("k = k2 and n + 100 < n2"), "append"),
    "join-filter": Query(_join(where="n > 4"), "append"),
    "join-delays": Query(_two_delays, "append"),
    "join-delays-max": Query(_two_delays, "append", _conf(multipleWatermarkPolicy="max")),
    "pandas-existing": Query(_pandas_state("total bigint", factor=10)),
    "timers-15": Query(_timers(15)),
    "timers-60": Query(_timers(60)),
    "timers-15-kept": Query(_timers(15, keeps=True)),
    "state-twice": _with_state("total:value:n bigint", step=2),
    "state-ttl-2h": _with_state("total:value:n bigint", time_mode="ProcessingTime", ttl=7_200_000),
    "state-all": _with_state(
        "total:value:n bigint; rows:list:n bigint; each:map:n bigint",
        time_mode="EventTime",
        timer=10_000,
    ),
    "state-ttl-list": _with_state("total:list:n bigint", time_mode="ProcessingTime", ttl=3_600_000),
    "state-timers": _with_state("total:value:n bigint", time_mode="EventTime", timer=10_000),
    "state-timers-60": _with_state("total:value:n bigint", time_mode="EventTime", timer=60_000),
    "chain-20": Query(_chain(length="20 seconds"), "append"),
    "chain-fewer": Query(_chain(keys="k ts"), "append"),
    "limit-5-filter": Query(_limit(5, "n > 4"), "append"),
    "few-deltas": Query(_MIN_MAX, conf=_conf(stateStore__minDeltasForSnapshot=2)),
    "loose-distribution": Query(
        _MIN_MAX, conf=_conf(statefulOperator__useStrictDistribution="false")
    ),
    "no-ansi": Query(_MIN_MAX, conf={"spark.sql.ansi.enabled": "false"}),
}
"""Every query by the name that changes use."""
