"""One entry of the offset log or of the commit log, from its bytes.

``offsets/<N>`` is written before batch N runs: version line, metadata JSON, then a line per source:
its offset as JSON or ``-`` (v1), the same after ``<source id>:`` (v2, Spark 4.2 on).
``commits/<N>`` is written after it: version line, then JSON or nothing (v1 to v3).

Spark takes a field that the metadata lacks as 0 (``OffsetSeqMetadata``, ``CommitMetadata``); here
it is None, so that a clock that was never recorded does not look like one that stands at 0. But
Spark writes both clocks or none: where one is there, the other one was renamed by damage.

Of an offset (20 KB of a Kafka topic with a thousand partitions, anything in a hostile entry) only
the beginning is kept, and whether the whole differs from that of the batch before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import islice

from inspector.checkpoint.logfile import json_object, long_field, object_field, printable, split_log
from inspector.checkpoint.names import MAX_INT, MAX_LONG, number
from inspector.exceptions import DecodeError
from inspector.light_dataclasses import dataclass, field

_CLOCKS = frozenset({"batchWatermarkMs", "batchTimestampMs"})
OFFSETS_NEWEST = 2
COMMITS_NEWEST = 3
_CONTROL = re.compile("[\\x00-\\x08\\x0a-\\x1f\\x7f]")
VOID = "-"  # a source without an offset (``OffsetSeqLog.SERIALIZED_VOID_OFFSET``)


@dataclass(frozen=True)
class OffsetEntry:
    """One entry of the offset log."""

    watermark_ms: int | None = None  # ``batchWatermarkMs``, None if absent
    timestamp_ms: int | None = None  # ``batchTimestampMs``, None if absent
    conf: Mapping[str, str] = field(default_factory=dict)  # that Spark records, by full key
    sources: Mapping[str, str | None] = field(default_factory=dict)  # source id -> offset, or None
    control: str | None = None  # kind of a control batch, such as a repartitioning (v2)
    providers: Mapping[str, str] = field(default_factory=dict)  # source id -> its provider (v2)

    @cached_property
    def positions(self) -> Mapping[str, Mapping[tuple[str, str], int]]:
        """Positions of each source's partitions, to be compared with those of the next entry."""
        sources = islice(self.sources.items(), MOST_SOURCES)
        return {source: _positions(offset or "") for source, offset in sources}


def parse_offsets(data: bytes) -> OffsetEntry:
    """One entry of the offset log; DecodeError: not what Spark writes, or of a later format."""
    version, lines = split_log(data, OFFSETS_NEWEST)
    header = lines[0].strip() if lines else ""
    fields = json_object(header) if header else {}
    if not _CLOCKS.isdisjoint(fields):
        _expect(fields, *sorted(_CLOCKS))
    control = object_field(fields, "controlBatchInfo").get("operationType")
    return OffsetEntry(
        watermark_ms=long_field(fields, "batchWatermarkMs"),
        timestamp_ms=long_field(fields, "batchTimestampMs"),
        # Spark records strings; anything else is kept as its JSON would read.
        conf={
            printable(key): printable(value if isinstance(value, str) else json.dumps(value))
            for key, value in object_field(fields, "conf").items()
        },
        sources=_sources(version, lines[1:]),
        control=None if control is None else printable(str(control)),
        providers={
            printable(name): printable(str(info["providerName"]))
            for name, info in object_field(fields, "sourceMetadataInfo").items()
            if isinstance(info, dict) and "providerName" in info
        },
    )


@dataclass(frozen=True)
class CommitEntry:
    """One entry of the commit log."""

    next_watermark_ms: int | None = None  # ``nextBatchWatermarkMs``; None if absent (Spark 2.3)
    # ``stateUniqueIds`` (format 2): of each operator, by partition, ids that its stores committed
    unique_ids: Mapping[int, tuple[frozenset[str], ...]] = field(default_factory=dict)


def parse_commit(data: bytes) -> CommitEntry:
    """One entry of the commit log; DecodeError: not what Spark writes, or of a later format."""
    _, lines = split_log(data, COMMITS_NEWEST)
    text = lines[0].strip() if lines else ""
    fields = json_object(text) if text else {}
    if fields:
        _expect(fields, "nextBatchWatermarkMs")
    ids = fields.get("stateUniqueIds") or {}
    if not isinstance(ids, dict):
        raise DecodeError(f"got {str(ids)[:40]!r} as stateUniqueIds, expected a JSON object")
    return CommitEntry(
        long_field(fields, "nextBatchWatermarkMs"),
        {
            operator: _partitions(partitions)
            for name, partitions in ids.items()
            if (operator := number(name, MAX_INT)) is not None
        },
    )


def _partitions(partitions: object) -> tuple[frozenset[str], ...]:
    parts = partitions if isinstance(partitions, list) else [None]
    if not all(isinstance(ids, list) and all(isinstance(i, str) for i in ids) for ids in parts):
        got = str(partitions)[:40]
        raise DecodeError(f"got {got!r} in stateUniqueIds, expected lists of ids by partition")
    return tuple(map(frozenset, parts))


def _expect(fields: Mapping[str, object], *names: str) -> None:
    for name in names:
        if name not in fields:
            fields_there = ", ".join(fields)[:120]
            raise DecodeError(f"got no {name} beside {fields_there}, expected it in every entry")


def _sources(version: int, lines: Iterable[str]) -> dict[str, str | None]:
    sources: dict[str, str | None] = {}
    for position, line in enumerate(lines):
        name, _, offset = line.partition(":") if version > 1 else (str(position), "", line)
        # An offset of Kafka has 16 KB: the expression alone would take a tenth of the time.
        control = None if offset.isprintable() else _CONTROL.search(offset)
        if control is not None:
            raise DecodeError(
                f"got character U+{ord(control[0]):04X} in the offset of source {position}, "
                "expected one line of text"
            )
        sources[name] = None if offset.strip() == VOID else offset
    return sources


OFFSET_CHARS = 120  # characters kept of an offset, for people to recognise it by
NAME_CHARS = 80  # characters kept of a source's name

_JSON = re.compile(r'\s*(?:-?\d+(?:\.\d+)?|\{.*\}|\[.*\]|".*"|true|false|null)\s*')
# The first topic of ``{"orders":{"0":23,"1":42}}`` (``KafkaSourceOffset``).
_KAFKA = re.compile(r'\{"([^"\\]{1,80})":\s?\{"\d+":\s?-?\d+[,}]')
_LOG_OFFSET = re.compile(r'\{"logOffset":(\d{1,18})\}')  # ``FileStreamSourceOffset``
# ``RatePerMicroBatchStreamOffset`` (3.3 to 4.3).
_RATE = re.compile(r'\{"offset":(\d{1,18}),"timestamp":\d+\}')
_SHOWN = 160  # characters of a position that a message shows
MOST_SOURCES = 64  # sources kept of an entry; a query has a few


_DELTA = re.compile(r'\{.*"reservoirVersion"')  # ``DeltaSourceOffset``
_NUMBER = re.compile(r"\d{1,18}")  # ``LongOffset`` of the sources rate and socket

FILES, KAFKA, RATE_MICRO_BATCH = "files", "kafka", "rate-micro-batch"
DELTA_TABLE, DELTA_VERSION, NUMBER = "delta-table", "delta-version", "number"


@dataclass(frozen=True)
class Setback:
    """Offset of a source that is behind the offset of the batch before."""

    kind: str  # of offset, by its form: FILES, KAFKA, DELTA_TABLE and so on
    before: str  # the position in the entry before, with the partition if there are several
    after: str  # the position in this entry


@dataclass(frozen=True)
class SourceOffset:
    """Offset of one source in an entry: the end of the range that the batch reads."""

    name: str  # its place among the sources, from 0, or its ``DataStreamReader.name`` (4.2 on)
    offset: str | None  # the beginning of its offset as Spark wrote it; None as long as it has none
    moved: bool | None  # whether all of it differs from the last batch's; None if that is gone
    records: int | None = None  # read, where both offsets count them (Kafka, rate-micro-batch)
    setback: Setback | None = None  # how it is behind the last batch's offset; None if it is not

    @property
    def called(self) -> str:
        """``source 1``, ``source 1 (Kafka topic orders)``, ``source orders``."""
        kafka = _KAFKA.match(self.offset or "")
        return f"source {self.name}" + (f" (Kafka topic {kafka[1]})" if kafka else "")

    @property
    def log_entry(self) -> int | None:
        """Number of the newest source log entry that was read; None unless it is a file source."""
        offset = _LOG_OFFSET.match(self.offset or "")
        return None if offset is None else int(offset[1])


def like_json(offset: str) -> bool:
    """Return whether an offset begins and ends like JSON, which nearly every source writes."""
    return _JSON.fullmatch(offset) is not None


def source_offsets(
    entry: OffsetEntry, previous: OffsetEntry | None, *, appended: bool = False
) -> tuple[SourceOffset, ...]:
    """The sources of an entry, in its order; ``previous`` is None if that is not in the log.

    An appended batch may have the offsets of an older one, which is no setback.
    """
    return tuple(
        SourceOffset(
            name[:NAME_CHARS],
            None if offset is None else offset[:OFFSET_CHARS],
            None if previous is None else previous.sources.get(name) != offset,
            None if previous is None else _records(name, previous, entry),
            None if previous is None or appended else _setback(name, previous, entry),
        )
        for name, offset in islice(entry.sources.items(), MOST_SOURCES)
    )


def _setback(source: str, previous: OffsetEntry, entry: OffsetEntry) -> Setback | None:
    """Return how a source's offset is behind the one before; None if it is not, or not known."""
    old, new = previous.sources.get(source), entry.sources[source]
    if old is None or new is None or old == new:
        return None
    for kind, pattern in ((FILES, _LOG_OFFSET), (RATE_MICRO_BATCH, _RATE), (NUMBER, _NUMBER)):
        pair = pattern.fullmatch(old.strip()), pattern.fullmatch(new.strip())
        if pair[0] and pair[1]:
            first, last = (int(match[match.lastindex or 0]) for match in pair if match)
            return Setback(kind, f"{first}", f"{last}") if last < first else None
    if _DELTA.match(old) and _DELTA.match(new):
        return _delta_setback(old, new)
    start, end = previous.positions.get(source, {}), entry.positions.get(source, {})
    for topic, partition in sorted(start.keys() & end.keys()):
        position = topic, partition
        # Kafka's -1 and -2 mean the latest and the earliest offset.
        if 0 <= end[position] < start[position]:
            name = f"partition {printable(partition)} of topic {printable(topic)}"[:_SHOWN]
            return Setback(KAFKA, f"{start[position]} ({name})", f"{end[position]}")
    return None


def _delta_setback(previous: str, current: str) -> Setback | None:
    """Return how an offset of Delta Lake is of another table, or of an older version."""
    try:
        old, new = json_object(previous), json_object(current)
        versions = [long_field(offset, "reservoirVersion") for offset in (old, new)]
    except DecodeError:
        return None
    tables = [offset.get("reservoirId") for offset in (old, new)]
    if tables[0] != tables[1] and all(isinstance(table, str) for table in tables):
        names = [f"table {printable(str(table))[:_SHOWN]}" for table in tables]
        return Setback(DELTA_TABLE, *names)
    first, last = versions
    if first is not None and last is not None and 0 <= last < first:
        return Setback(DELTA_VERSION, f"version {first}", f"version {last}")
    return None


def _records(source: str, previous: OffsetEntry, entry: OffsetEntry) -> int | None:
    """Records between two offsets: of Kafka of each partition, of rate-micro-batch of all."""
    offset = entry.sources[source]
    if offset is None or previous.sources.get(source) is None:
        return None
    if previous.sources[source] == offset:
        return 0
    first, last = previous.positions.get(source, {}), entry.positions[source]
    if not last or first.keys() != last.keys():
        return None
    read = [position - first[partition] for partition, position in last.items()]
    return sum(read) if min(read) >= 0 else None


def _positions(offset: str) -> dict[tuple[str, str], int]:
    """Return the position of each (topic, partition); empty for sources that do not count."""
    if rate := _RATE.fullmatch(offset):
        return {("", ""): int(rate[1])}
    try:
        topics = json_object(offset) if _KAFKA.match(offset) else {}
    except DecodeError:
        return {}
    positions = {
        (topic, partition): position
        for topic, partitions in topics.items()
        for partition, position in (partitions.items() if isinstance(partitions, dict) else ())
    }
    counted = all(type(value) is int and abs(value) <= MAX_LONG for value in positions.values())
    return positions if counted else {}
