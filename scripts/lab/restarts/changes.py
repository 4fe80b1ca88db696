"""The changes that are made between two runs of a query, and the damage that a checkpoint can have.

The groups are those of Spark's guide, "Recovery semantics after changes in a streaming query", and
confs, releases and what may be wrong with the checkpoint itself.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Change:
    """What is changed between the first run and the next.

    Attributes:
        old, new: names of queries.
        says: what its user does, in words.
        group: the part of the page that it stands in.
        traceless: no file of a checkpoint shows it.
        damage: what happens to the checkpoint in between; it gets its folder.
        moved: the checkpoint is copied to another path.
        later: rows that are later follow, so that watermark and timers move on.
        conf: of the session after the change, in addition to that of the new query.
    """

    old: str
    new: str
    says: str
    group: str
    traceless: bool = False
    damage: Callable[[Path], None] | None = None
    moved: bool = False
    name_of: str = ""
    later: bool = False
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the change is called in tests and records."""
        return self.name_of or f"{self.old}->{self.new}"

    @property
    def is_rehearsed(self) -> bool:
        """True if both queries are rehearsed, with a jump of the watermark, to judge the change."""
        has_time = self.group in (NO, TIME, JOINS, OPERATORS) and self.damage is None
        return self.later or has_time


def _numbers(folder: Path) -> list[int]:
    return sorted(int(file.name) for file in folder.iterdir() if file.name.isdecimal())


def _remove(path: Path) -> None:
    """Remove a file with the checksums of Hadoop and of Spark beside it, or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
        return
    path.unlink()
    for item in (path.with_name(f".{path.name}.crc"), path.with_name(f"{path.name}.crc")):
        item.unlink(missing_ok=True)


def newest_commit_gone(checkpoint: Path) -> None:
    """The last batch has no commit, as where a run was killed."""
    folder = checkpoint / "commits"
    _remove(folder / str(_numbers(folder)[-1]))


def offsets_before_gone(checkpoint: Path) -> None:
    """The entry before the newest is gone from the offset log."""
    folder = checkpoint / "offsets"
    _remove(folder / str(_numbers(folder)[-2]))


def newest_state_gone(checkpoint: Path) -> None:
    """The file of the newest version is gone from every partition."""
    newest = _numbers(checkpoint / "commits")[-1] + 1
    for partition in (checkpoint / "state" / "0").glob("[0-9]*"):
        for file in [*partition.glob(f"{newest}.*"), *partition.glob(f"{newest}_*")]:
            if file.exists() and not file.name.endswith(".crc"):
                _remove(file)


def partition_gone(checkpoint: Path) -> None:
    """The folder of a partition is gone."""
    _remove(checkpoint / "state" / "0" / "1")


def state_gone(checkpoint: Path) -> None:
    """All of the state is gone."""
    _remove(checkpoint / "state")


def metadata_gone(checkpoint: Path) -> None:
    """The query's own metadata is gone."""
    _remove(checkpoint / "metadata")


def operator_metadata_gone(checkpoint: Path) -> None:
    """The metadata of the operator is gone."""
    _remove(checkpoint / "state" / "0" / "_metadata")


def schema_gone(checkpoint: Path) -> None:
    """The schema of the state is gone."""
    _remove(checkpoint / "state" / "0" / "0" / "_metadata" / "schema")


def source_log_gone(checkpoint: Path) -> None:
    """What the file source noted of the files that it has seen is gone."""
    _remove(checkpoint / "sources")


NO, KEYS, VALUES, TIME = "No change", "Keys of aggregations", "Values of aggregations", "Event time"
ONCE, JOINS, OPERATORS, OWN = "Deduplication", "Joins", "Stateful operators", "State of one's own"
SOURCES, ROWS, SINKS, CONFS = "Sources", "Projections and filters", "Sinks and modes", "Confs"
DAMAGE = "The checkpoint itself"

_LATER_NAMES = {("join", "join"): "join-later", ("one-two", "two-one"): "two-one-later"}
"""Names of changes that are also made without later rows: by the old and the new query."""

CHANGES: tuple[Change, ...] = (
    Change("min-max", "min-max", "nothing", NO),
    Change("chain", "chain", "nothing, with two stateful operators", NO),
    Change("join", "join", "nothing, with a join", NO),
    Change("once-k", "once-k", "nothing, with `dropDuplicates`", NO),
    Change("no-state", "no-state", "nothing, without state", NO),
    # Values
    Change("min-max", "max-min", "`min, max` becomes `max, min`", VALUES),
    Change("min-max", "sum-max", "`min` becomes `sum`", VALUES),
    Change("min-max", "min-max-aliases", "output columns get other names", VALUES),
    Change("min-max", "min-max-count", "an aggregate is added", VALUES),
    Change("min-max", "min", "an aggregate is removed", VALUES),
    Change("min-max", "min-max-int", "the aggregated column becomes an int", VALUES),
    Change(
        "min-max",
        "min-max-of-m",
        "`min(n), max(n)` becomes `min(m), max(m)`",
        VALUES,
        traceless=True,
    ),
    Change("sums", "sums", "nothing, with two sums", VALUES),
    Change("sums", "sums-swapped", "`sum(n), sum(m)` becomes `sum(m), sum(n)`", VALUES),
    Change("sum", "sum-of-m", "`sum(n)` becomes `sum(m)`", VALUES, traceless=True),
    Change("sum", "sum-double", "the summed column becomes a double", VALUES),
    Change("sum", "count", "`sum` becomes `count`", VALUES),
    Change("count", "sum", "`count` becomes `sum`", VALUES),
    Change("count", "count-star", "`count(n)` becomes `count(*)`", VALUES, traceless=True),
    Change("avg", "sum-count", "`avg(n)` becomes `sum(d), count(n)`", VALUES, traceless=True),
    Change("first", "last", "`first` becomes `last`", VALUES),
    Change("last", "first", "`last` becomes `first`", VALUES),
    Change("stddev", "variance", "`stddev` becomes `var_pop`", VALUES),
    Change("list", "set", "`collect_list` becomes `collect_set`", VALUES),
    Change("decimal-10", "decimal-12", "the summed decimal gets two digits more", VALUES),
    Change("max-text", "max-collated", "`max(g)` becomes `max(g collate utf8_lcase)`", VALUES),
    # Keys
    Change("min-max", "min-max-by-g", "grouping by another string column", KEYS),
    Change("min-max", "min-max-by-alias", "the grouping column gets another name", KEYS),
    Change("min-max", "min-max-by-case", "`k` becomes `K`", KEYS),
    Change("min-max", "min-max-by-i", "grouping by an int column", KEYS),
    Change("min-max", "min-max-by-kg", "a grouping column is added", KEYS),
    Change("min-max-by-kg", "min-max", "a grouping column is removed", KEYS),
    Change("min-max-by-kg", "min-max-by-gk", "grouping columns change places", KEYS),
    Change("min-max-by-upper", "min-max-by-lower", "`upper(k)` becomes `lower(k)`", KEYS),
    Change("min-max", "min-max-by-upper", "`k` becomes `upper(k)`", KEYS),
    Change(
        *("min-max", "min-max-by-upper-alias", "`k` becomes `upper(k) as k`", KEYS), traceless=True
    ),
    Change("min-max", "min-max-of-all", "no grouping any more", KEYS),
    # Event time
    Change("windows", "windows", "nothing, with windows", TIME),
    Change("windows", "windows-20", "windows of 20 instead of 10 seconds", TIME, traceless=True),
    Change("windows", "windows-delay", "the watermark's delay becomes longer", TIME),
    Change("windows", "windows-no-delay", "the watermark is removed", TIME),
    Change("windows-no-delay", "windows", "a watermark is added", TIME),
    Change("sessions", "sessions", "nothing, with session windows", TIME),
    Change("sessions", "sessions-count", "`sum` of sessions becomes `count`", TIME),
    # Deduplication
    Change("once-k", "once-g", "another column of the same type", ONCE),
    Change("once-k", "once-i", "a column of another type", ONCE),
    Change("once-k", "once-kg", "a column is added", ONCE),
    Change("once-kg", "once-gk", "columns change places", ONCE),
    Change("once-kg", "once-k", "a column is removed", ONCE),
    Change(
        "once-k", "once-within", "`dropDuplicates` becomes `dropDuplicatesWithinWatermark`", ONCE
    ),
    Change("once-within", "once-within-2h", "the watermark's delay becomes longer", ONCE),
    Change("once-k", "once-k-ts", "the event time becomes part of the key", ONCE),
    # Joins
    Change("join", "join-left", "inner becomes left outer", JOINS, traceless=True),
    Change("join", "join-on-g", "joined by another string column", JOINS, traceless=True),
    Change("join", "join-on-two", "a column of the condition is added", JOINS),
    Change("join", "join-on-i", "joined by a bigint column", JOINS),
    Change("join", "join-more", "a column of a side is added", JOINS),
    Change("join", "join-other", "a column of a side is another one", JOINS, traceless=True),
    Change("join", "join-renamed", "a column of a side gets another name", JOINS),
    Change("join", "join-range", "the range of time becomes shorter", JOINS, traceless=True),
    Change("join", "join-v1", "`join.stateFormatVersion` 2 becomes 1", JOINS),
    Change("join", "join-v3", "`join.stateFormatVersion` 2 becomes 3", JOINS),
    # Operators
    Change("no-state", "min-max", "a first stateful operator", OPERATORS),
    Change("min-max", "no-state", "the only stateful operator is removed", OPERATORS),
    Change("min-max", "once-k", "an aggregation becomes `dropDuplicates`", OPERATORS),
    Change("windows", "chain", "`dropDuplicates` before the aggregation", OPERATORS),
    Change("chain", "windows", "`dropDuplicates` before the aggregation is removed", OPERATORS),
    Change("chain", "chain-swapped", "two operators change places", OPERATORS),
    Change("limit-5", "limit-9", "`limit(5)` becomes `limit(9)`", OPERATORS, traceless=True),
    # State of one's own
    Change("pandas", "pandas", "nothing, with `applyInPandasWithState`", OWN),
    Change("pandas", "pandas-function", "the function counts otherwise", OWN, traceless=True),
    Change("pandas", "pandas-renamed", "a field of the state gets another name", OWN),
    Change("pandas", "pandas-more", "a field of the state is added", OWN),
    Change("pandas", "pandas-int", "a field of the state becomes an int", OWN),
    Change("pandas", "pandas-timeout", "another kind of timeout", OWN),
    Change("state", "state", "nothing, with `transformWithState`", OWN),
    Change("state", "state-renamed-field", "a field of a variable gets another name", OWN),
    Change("state", "state-int", "a field of a variable becomes an int", OWN),
    Change("state", "state-more-fields", "a field of a variable is added", OWN),
    Change("state", "state-list", "a value becomes a list", OWN),
    Change("state", "state-two", "a variable is added", OWN),
    Change("state-two", "state", "a variable is removed", OWN),
    Change("state", "state-other-name", "a variable gets another name", OWN),
    Change("state", "state-map", "a map is added", OWN),
    Change("state", "state-event-time", "time mode `None` becomes `EventTime`", OWN),
    Change("state", "state-append", "output mode `Update` becomes `Append`", OWN),
    Change("state-processing-time", "state-ttl", "a variable gets a TTL", OWN),
    Change("state-ttl", "state-processing-time", "a variable loses its TTL", OWN),
    Change("avro-state", "avro-state", "nothing, with `transformWithState` in Avro", OWN),
    Change("avro-state", "avro-state-more-fields", "Avro: a field of a variable is added", OWN),
    Change("avro-state-more-fields", "avro-state", "Avro: a field of a variable is removed", OWN),
    Change("avro-state", "avro-state-wider", "Avro: a bigint becomes a double", OWN),
    Change("avro-state", "avro-state-int", "Avro: a bigint becomes an int", OWN),
    Change("avro-state", "avro-state-renamed-field", "Avro: a field gets another name", OWN),
    Change("state", "avro-state", "`stateStore.encodingFormat` becomes avro", OWN),
    # Sources
    Change("one", "one-two", "a source is added", SOURCES),
    Change("one", "one-two-three", "two sources are added", SOURCES),
    Change("one-two", "one", "a source is removed", SOURCES),
    Change("one-two", "one-two", "nothing, with two sources", SOURCES),
    Change("one-two", "two-one", "two sources of files change places", SOURCES),
    Change("one", "rate", "files become the rate source", SOURCES),
    Change("rate", "one", "the rate source becomes files", SOURCES),
    Change("min-max", "files-4", "`maxFilesPerTrigger` becomes 4", SOURCES),
    Change("min-max", "files-all", "`maxFilesPerTrigger` is removed", SOURCES),
    Change("files-all", "min-max", "`maxFilesPerTrigger` is added", SOURCES),
    Change("no-state", "no-state-other-table", "files of another folder", SOURCES),
    Change("named", "named", "nothing, with named sources", SOURCES),
    Change("named", "named-swapped", "named sources change places", SOURCES),
    Change("named", "named-more", "a named source is added", SOURCES),
    Change("named", "named-fewer", "a named source is removed", SOURCES),
    Change("named", "named-other", "a named source gets another name", SOURCES),
    # Rows, sinks, modes
    Change("min-max", "min-max-filter", "a filter before the aggregation", ROWS, traceless=True),
    Change("no-state", "no-state-filter", "a filter, without state", ROWS),
    Change("no-state", "no-state-projected", "a projection of the same columns", ROWS),
    Change("no-state", "no-state-column", "a projected column more, without state", ROWS),
    Change("min-max", "min-max-complete", "output mode `update` becomes `complete`", SINKS),
    Change("no-state", "json-sink", "`foreachBatch` becomes a file sink", SINKS),
    Change("json-sink", "no-state", "a file sink becomes `foreachBatch`", SINKS),
    Change("json-sink", "json-sink-elsewhere", "a file sink writes into another folder", SINKS),
    Change("json-sink", "json-sink-column", "a file sink gets a column more", SINKS),
    Change("no-state", "foreach-sink", "`foreachBatch` becomes `foreach`", SINKS),
    Change("foreach-sink", "no-state", "`foreach` becomes `foreachBatch`", SINKS),
    Change("foreach-sink", "foreach-sink-elsewhere", "a `foreach` writes elsewhere", SINKS),
    Change("json-sink", "foreach-sink", "a file sink becomes `foreach`", SINKS),
    Change("json-sink", "parquet-sink", "a file sink gets another format", SINKS),
    # Confs
    Change("min-max", "partitions-4", "`spark.sql.shuffle.partitions` 2 becomes 4", CONFS),
    Change("min-max", "other-provider", "the other provider", CONFS),
    Change("min-max", "codec-zstd", "`stateStore.compression.codec` becomes zstd", CONFS),
    Change("min-max", "aggregation-v1", "`aggregation.stateFormatVersion` 2 becomes 1", CONFS),
    Change("min-max", "watermark-policy-max", "`multipleWatermarkPolicy` becomes max", CONFS),
    Change("min-max", "no-idle-batches", "`noDataMicroBatches.enabled` becomes false", CONFS),
    Change("min-max", "few-batches", "`minBatchesToRetain` becomes 2", CONFS),
    Change("min-max", "encoding-avro", "`stateStore.encodingFormat` becomes avro", CONFS),
    Change("min-max", "row-checksums", "`stateStore.rowChecksum.enabled` becomes true", CONFS),
    Change("row-checksums", "min-max", "`stateStore.rowChecksum.enabled` becomes false", CONFS),
    Change(
        "min-max", "file-checksums-off", "`checkpoint.fileChecksum.enabled` becomes false", CONFS
    ),
    Change("min-max", "checkpoint-v2", "`stateStore.checkpointFormatVersion` 1 becomes 2", CONFS),
    Change("checkpoint-v2", "min-max", "`stateStore.checkpointFormatVersion` 2 becomes 1", CONFS),
    Change("checkpoint-v2", "checkpoint-v2", "nothing, with checkpoint format 2", CONFS),
    Change("min-max", "offsets-v2", "`offsetLog.formatVersion` 1 becomes 2", CONFS),
    Change("offsets-v2", "min-max", "`offsetLog.formatVersion` 2 becomes 1", CONFS),
    Change("one", "evolution", "`queryEvolution.enableSourceEvolution` becomes true", CONFS),
    Change("evolution", "one", "`queryEvolution.enableSourceEvolution` becomes false", CONFS),
    Change("min-max", "changelogs", "`rocksdb.changelogCheckpointing.enabled` becomes true", CONFS),
    Change(
        "changelogs", "min-max", "`rocksdb.changelogCheckpointing.enabled` becomes false", CONFS
    ),
    Change(
        "min-max", "no-schema-check", "an aggregate is added, `stateSchemaCheck` is false", CONFS
    ),
    # With rows that are later: each differs in one thing from the query before.
    *(
        Change(
            *(old, new, says, group, traceless),
            later=True,
            name_of=_LATER_NAMES.get((old, new), ""),
        )
        for group, old, new, says, traceless in (
            (VALUES, "sum", "avg", "`sum` becomes `avg`", False),
            (VALUES, "avg", "avg-of-m", "`avg(n)` becomes `avg(m)`", True),
            (
                VALUES,
                "distinct",
                "distinct-of-m",
                "`approx_count_distinct` of another column",
                True,
            ),
            (VALUES, "min", "max", "`min` becomes `max`", False),
            (VALUES, "max-by", "max-by-swapped", "`max_by(n, m)` becomes `max_by(m, n)`", True),
            (VALUES, "sum", "sum-plus", "`sum(n)` becomes `sum(n + 1)`", True),
            (VALUES, "sum", "sum-some", "`sum` gets a filter of its own", True),
            (VALUES, "any", "every", "`bool_or` becomes `bool_and`", False),
            (VALUES, "list", "list-of-m", "`collect_list(n)` becomes `collect_list(m)`", True),
            (VALUES, "median", "percentile", "another percentage of `percentile_approx`", True),
            (VALUES, "total", "total-of-m", "another column is summed, without keys", True),
            (KEYS, "min-max", "min-max-by-one", "`k` becomes `substring(k, 1, 0) as k`", True),
            (TIME, "windows", "windows-sliding", "tumbling windows become sliding", True),
            (TIME, "windows", "windows-shifted", "windows begin at another second", True),
            (TIME, "windows-end", "windows-end-delay", "another delay, in append mode", False),
            (TIME, "windows-end", "windows", "output mode `append` becomes `update`", True),
            (TIME, "windows-end", "windows-end", "nothing, in append mode", False),
            (TIME, "windows-end", "windows-end-count", "`sum` of windows becomes `count`", False),
            (TIME, "sessions-end", "sessions-end-60", "another gap of sessions", True),
            (TIME, "sessions-end", "sessions-end", "nothing, with sessions in append mode", False),
            (ONCE, "once-k-ts", "once-k-ts-filter", "a filter before the deduplication", True),
            (ONCE, "once-k-ts", "once-k-ts-delay", "another delay of the watermark", False),
            (ONCE, "once-within", "once-within-kg", "a column is added, within a watermark", False),
            (ONCE, "once-within", "once-within-upper", "`k` becomes `upper(k) as k`", True),
            (ONCE, "once-within", "once-within", "nothing, within a watermark", False),
            (ONCE, "once-six", "once-six-other", "six columns in another order", False),
            (JOINS, "join-30", "join-90", "the range of time of 30 s becomes 90 s", True),
            (JOINS, "join", "join", "nothing, with a join and later rows", False),
            (JOINS, "join", "join-semi", "inner becomes left semi", True),
            (JOINS, "join-left", "join-right", "left outer becomes right outer", True),
            (JOINS, "join-left", "join-full", "left outer becomes full outer", True),
            (JOINS, "join", "join-less", "a condition on values is added", True),
            (JOINS, "join", "join-filter", "a filter before a side", True),
            (JOINS, "join-30", "join-30-delay", "another delay of the watermarks", False),
            (OWN, "pandas", "pandas-existing", "existing state is counted otherwise", True),
            (OWN, "timers-15", "timers-15", "nothing, with timers by event time", False),
            (OWN, "timers-15", "timers-60", "timers of 15 s become 60 s", True),
            (OWN, "timers-15", "timers-15-kept", "a timer that fires leaves the state", True),
            (OWN, "state", "state-twice", "the processor counts twice", True),
            (OWN, "state-ttl", "state-ttl", "nothing, with a TTL", False),
            (OWN, "state-ttl", "state-ttl-2h", "a TTL of an hour becomes two hours", True),
            (OWN, "state-timers", "state-timers", "nothing, with timers of a processor", False),
            (OWN, "state-timers", "state-timers-60", "timers of 10 s become 60 s", True),
            (OPERATORS, "chain", "chain-20", "other windows behind a deduplication", True),
            (OPERATORS, "chain", "chain-fewer", "a deduplication loses a column", False),
            (OPERATORS, "limit-5", "limit-5-filter", "a filter before a limit", True),
            (OPERATORS, "limit-5", "no-state", "a limit is removed", False),
            (SOURCES, "rate", "rate-8", "`rowsPerBatch` 4 becomes 8", False),
            (SOURCES, "one-two", "two-one", "two sources change places, rehearsed", False),
            (SOURCES, "one-two", "one-one", "the second folder becomes the first", False),
            (SOURCES, "one-two", "one-twice", "a second folder becomes the first source", False),
            (SOURCES, "one-one", "one-two", "the second folder becomes another one", False),
            (SOURCES, "one-two-three", "three-one-two", "three sources change places", False),
            (SOURCES, "one-one", "one-one", "nothing, with two readers of one folder", False),
            (SOURCES, "one-twice", "one-twice", "nothing, with one source used twice", False),
            (SOURCES, "one-twice", "one-one", "one source used twice becomes two", False),
            (SOURCES, "one-one", "one-twice", "two readers of one folder become one", False),
            (SOURCES, "one-two-one", "one-twice-two", "uses of sources change places", False),
            (SOURCES, "late-second", "late-second-swapped", "sources with no new files", False),
            (SOURCES, "idle-one-two", "idle-two-one", "swapped behind a batch without data", False),
            (SOURCES, "idle-one-two", "idle-one-one", "one folder behind such a batch", False),
            (SOURCES, "idle-one-two", "idle-one-two", "nothing, behind such a batch", False),
            (SOURCES, "v2-one", "v2-one-two", "a source is added, in offset log 2", False),
            (SOURCES, "v2-one-two", "v2-one", "a source is removed, in offset log 2", False),
            (SOURCES, "v2-one-two", "v2-two-one", "sources swapped, in offset log 2", False),
            (SOURCES, "v2-one-two", "v2-one-one", "a second folder, in offset log 2", False),
            (SOURCES, "v2-one-twice", "v2-one-one", "two uses, in offset log 2", False),
            (SOURCES, "v2-one-two", "v2-one-two", "nothing, in offset log 2", False),
            (CONFS, "join-delays", "join-delays-max", "`multipleWatermarkPolicy` of a join", False),
            (CONFS, "windows-end", "windows-end-no-idle", "no batches without data", False),
            (CONFS, "min-max", "few-deltas", "`minDeltasForSnapshot` becomes 2", False),
            (CONFS, "min-max", "loose-distribution", "`useStrictDistribution` is false", False),
            (CONFS, "min-max", "no-ansi", "`spark.sql.ansi.enabled` becomes false", False),
        )
    ),
    # The checkpoint
    *(
        Change("min-max", "min-max", says, DAMAGE, damage=damage, name_of=damage.__name__)
        for damage, says in (
            (newest_commit_gone, "the last batch has no commit"),
            (offsets_before_gone, "the offset entry before the newest is gone"),
            (newest_state_gone, "the newest file of every partition is gone"),
            (partition_gone, "the folder of a partition is gone"),
            (state_gone, "the folder of the state is gone"),
            (metadata_gone, "`metadata` is gone"),
            (operator_metadata_gone, "the metadata of the operator is gone"),
            (schema_gone, "the schema of the state is gone"),
            (source_log_gone, "the log of the file source is gone"),
        )
    ),
    Change("min-max", "min-max", "copied to another path", DAMAGE, moved=True, name_of="copied"),
    Change(
        *("state", "state", "copied to another path, with `transformWithState`", DAMAGE),
        moved=True,
        name_of="state-copied",
    ),
)
"""Every change; a name is a change on each provider that its queries can have."""

GUIDE: Mapping[str, tuple[str, ...]] = {
    "Number of input sources": ("one->one-two", "one->one-two-three", "one-two->one"),
    "Type of an input source": ("one->rate", "rate->one"),
    "Rate limits of a source": ("min-max->files-4", "min-max->files-all", "files-all->min-max"),
    "Subscribed topics or files": ("no-state->no-state-other-table",),
    "Type of the sink: file to Kafka, Kafka to file": (),
    "Type of the sink: to and from `foreach`": (
        *("no-state->foreach-sink", "foreach-sink->no-state", "json-sink->foreach-sink"),
        *("no-state->json-sink", "json-sink->no-state"),
    ),
    "Output folder of a file sink": ("json-sink->json-sink-elsewhere",),
    "Output topic of a Kafka sink": (),
    "Code of a `foreach` sink": ("foreach-sink->foreach-sink-elsewhere",),
    "Filters": ("no-state->no-state-filter", "min-max->min-max-filter"),
    "Projections of the same schema": ("no-state->no-state-projected",),
    "Projections of another schema": ("no-state->no-state-column", "json-sink->json-sink-column"),
    "Aggregation: number or type of grouping keys": (
        *("min-max->min-max-by-kg", "min-max-by-kg->min-max", "min-max->min-max-by-i"),
    ),
    "Aggregation: number or type of aggregates": (
        *("min-max->min-max-count", "min-max->min", "min-max->min-max-int", "sum->sum-double"),
    ),
    "Deduplication: number or type of columns": (
        *("once-k->once-kg", "once-kg->once-k", "once-k->once-i"),
    ),
    "Stream-stream join: schema or equi-join columns": (
        *("join->join-more", "join->join-on-two", "join->join-on-i", "join->join-on-g"),
    ),
    "Stream-stream join: inner or outer": ("join->join-left",),
    "Stream-stream join: the rest of the condition": ("join->join-range",),
    "Arbitrary state: schema of the state": (
        *("pandas->pandas-more", "pandas->pandas-int", "state->state-more-fields"),
        *("state->state-int",),
    ),
    "Arbitrary state: type of timeout": ("pandas->pandas-timeout",),
    "Arbitrary state: the function": ("pandas->pandas-function",),
    "Arbitrary state: Avro, whose schema may change": (
        *("avro-state->avro-state-more-fields", "avro-state-more-fields->avro-state"),
    ),
}
"""Every line of Spark's guide, "Recovery semantics after changes in a streaming query", and the
changes that show it; none for what needs a Kafka."""
