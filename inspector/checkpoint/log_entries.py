"""One entry of the offset log or of the commit log, from its bytes.

``offsets/<N>`` is written before batch N runs: version line, metadata JSON, then a line for each
source. The line is the offset as JSON or ``-`` (v1), or the same after ``<source id>:`` (v2, Spark
4.2 on). ``commits/<N>`` is written after the batch: version line, then JSON or nothing (v1 to v3).

Spark reads a field that the metadata lacks as 0 (``OffsetSeqMetadata``, ``CommitMetadata``). Here
it is None, so that a clock that was never recorded differs from one that is 0. But Spark writes
both clocks or none: if only one exists, damage has renamed the other.

An offset may be long: 20 KB for a Kafka topic with a thousand partitions, anything in a hostile
entry. Only its beginning is kept, and if the whole differs from the previous batch's offset.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice

from inspector.checkpoint.logfile import json_object, long_field, object_field, printable, split_log
from inspector.checkpoint.names import MAX_INT, MAX_LONG, number
from inspector.exceptions import DecodeError
from inspector.light_dataclasses import dataclass, field

_CLOCKS = frozenset({"batchWatermarkMs", "batchTimestampMs"})  # fields with the clocks of a batch
Positions = Mapping[str, Mapping[tuple[str, str], int]]  # by source, by (topic, partition)
OFFSETS_NEWEST = 2  # newest format of an offset entry that is known
COMMITS_NEWEST = 3  # newest format of a commit entry that is known
_CONTROL = re.compile("[\\x00-\\x08\\x0a-\\x1f\\x7f]")  # control characters, which no offset has
VOID = "-"  # text of a source without an offset (``OffsetSeqLog.SERIALIZED_VOID_OFFSET``)


@dataclass(frozen=True)
class OffsetEntry:
    """One entry of the offset log."""

    watermark_ms: int | None = None  # ``batchWatermarkMs``, None if absent
    timestamp_ms: int | None = None  # ``batchTimestampMs``, None if absent
    conf: Mapping[str, str] = field(default_factory=dict)  # confs that Spark recorded, by full key
    # offset of each source by its id; None if it has none
    sources: Mapping[str, str | None] = field(default_factory=dict)
    control: str | None = None  # kind of a control batch, such as a repartitioning (v2)
    providers: Mapping[str, str] = field(default_factory=dict)  # source id -> its provider (v2)

    @cached_property
    def positions(self) -> Positions:
        """Position of each (topic, partition) of each source, as :func:`_positions` reads them."""
        sources = islice(self.sources.items(), MOST_SOURCES)
        return {source: _positions(offset or "") for source, offset in sources}


def parse_offsets(data: bytes) -> OffsetEntry:
    """Return the content of an offset log entry.

    DecodeError: Spark does not write it so, or its format is newer than OFFSETS_NEWEST.
    """
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
    # ``stateUniqueIds`` (format 2): ids that the stores of each partition committed, by operator
    unique_ids: Mapping[int, tuple[frozenset[str], ...]] = field(default_factory=dict)


def parse_commit(data: bytes) -> CommitEntry:
    """Return the content of a commit log entry.

    DecodeError: Spark does not write it so, or its format is newer than COMMITS_NEWEST.
    """
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
    """Return sets of ids by partition. DecodeError: the value is no list of lists of texts."""
    parts = partitions if isinstance(partitions, list) else [None]
    if not all(isinstance(ids, list) and all(isinstance(i, str) for i in ids) for ids in parts):
        got = str(partitions)[:40]
        raise DecodeError(f"got {got!r} in stateUniqueIds, expected lists of ids by partition")
    return tuple(map(frozenset, parts))


def _expect(fields: Mapping[str, object], *names: str) -> None:
    """Raise DecodeError if one of these fields is missing."""
    for name in names:
        if name not in fields:
            fields_there = ", ".join(fields)[:120]
            raise DecodeError(f"got no {name} beside {fields_there}, expected it in every entry")


def _sources(version: int, lines: Iterable[str]) -> dict[str, str | None]:
    """Return the offset of each source by its id, from its lines; None for a source without one.

    Before v2 the id is the number of the line. DecodeError: a control character.
    """
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


OFFSET_CHARS = 120  # characters kept of an offset, by which people recognise it
NAME_CHARS = 80  # characters kept of a source's name

# text that begins and ends like JSON
_JSON = re.compile(r'\s*(?:-?\d+(?:\.\d+)?|\{.*\}|\[.*\]|".*"|true|false|null)\s*')
# first topic of ``{"orders":{"0":23,"1":42}}`` (``KafkaSourceOffset``)
_KAFKA = re.compile(r'\{"([^"\\]{1,80})":\s?\{"\d+":\s?-?\d+[,}]')
_LOG_OFFSET = re.compile(r'\{"logOffset":(\d{1,18})\}')  # ``FileStreamSourceOffset``
# ``RatePerMicroBatchStreamOffset`` (3.3 to 4.3)
_RATE = re.compile(r'\{"offset":(\d{1,18}),"timestamp":\d+\}')
_SHOWN = 160  # characters of a position that a message shows
MOST_SOURCES = 64  # sources kept of an entry; a query has few


_DELTA = re.compile(r'\{.*"reservoirVersion"')  # ``DeltaSourceOffset``
_NUMBER = re.compile(r"\d{1,18}")  # ``LongOffset`` of the sources rate and socket

FILES, KAFKA, RATE_MICRO_BATCH = "files", "kafka", "rate-micro-batch"  # Kinds of offsets.
# Kinds of offsets: of another Delta table, of an older version of it, and a plain number.
DELTA_TABLE, DELTA_VERSION, NUMBER = "delta-table", "delta-version", "number"


@dataclass(frozen=True)
class Setback:
    """Offset of a source that is behind the offset of the batch before."""

    kind: str  # kind of the offset: FILES, KAFKA, DELTA_TABLE and so on
    before: str  # position in the previous entry, with the partition if there are several
    after: str  # position in this entry


@dataclass(frozen=True)
class SourceOffset:
    """Offset of one source in an entry: the end of the range that the batch reads."""

    name: str  # its position among the sources, from 0, or its ``DataStreamReader.name`` (4.2 on)
    offset: str | None  # beginning of its offset as Spark wrote it; None if it has none yet
    # True if the whole offset differs from the previous batch's; None if that is not in the log
    moved: bool | None
    # records read by the batch, if both offsets count them (Kafka, rate-micro-batch); else None
    records: int | None = None
    # how it is behind the previous batch's offset; None if it is not
    setback: Setback | None = None

    @property
    def called(self) -> str:
        """Name for messages: ``source 1``, ``source 1 (Kafka topic orders)``, ``source orders``."""
        kafka = _KAFKA.match(self.offset or "")
        return f"source {self.name}" + (f" (Kafka topic {kafka[1]})" if kafka else "")

    @property
    def log_entry(self) -> int | None:
        """Number of the newest entry of a file source's log that was read; None for others."""
        offset = _LOG_OFFSET.match(self.offset or "")
        return None if offset is None else int(offset[1])


def like_json(offset: str) -> bool:
    """Return True if an offset begins and ends like JSON, which nearly every source writes."""
    return _JSON.fullmatch(offset) is not None


def source_offsets(
    entry: OffsetEntry, previous: OffsetEntry | None, *, appended: bool = False
) -> tuple[SourceOffset, ...]:
    """Return the offsets of the sources of an entry, compared with the previous entry.

    ``previous`` is None if that is not in the log. An appended batch may have the offsets of an
    older one, which is no setback.
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
    """Return how a source's offset is behind the previous one; None if it is not, or not known."""
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
    """Return how an offset of Delta Lake is of another table or older; None if it is not."""
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
    """Return the records between two entries' offsets of a source; None if not counted."""
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
    """Return the position of each (topic, partition) in an offset.

    Both names are empty for rate-micro-batch. The result is empty for sources that do not count.
    """
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


@dataclass(frozen=True)
class PartitionProgress:
    """Partition of a topic, and how far it got in some batches."""

    name: str
    position: int  # after the last of these batches
    advance: int  # offsets that the batches read


@dataclass(frozen=True)
class TopicProgress:
    """Topic of a Kafka source, and how far its partitions got in some batches."""

    source: str
    topic: str
    first_batch: int  # the batch after which the range begins
    last_batch: int
    partitions: int
    median_advance: int
    median_position: int
    slowest: tuple[PartitionProgress, ...]  # the partitions that advanced least, slowest first


_MOST_SLOW = 5  # partitions of a topic that :class:`TopicProgress` has: the slowest ones


def topic_progress(
    first: tuple[int, Positions], last: tuple[int, Positions]
) -> Iterator[TopicProgress]:
    """Yield the progress of each topic between the ends of two batches.

    A topic is left out if a partition went back or came new.
    """
    for source, ends in last[1].items():
        starts, topics = first[1].get(source, {}), dict[str, list[PartitionProgress]]()
        for (topic, name), position in ends.items():
            advance = position - starts.get((topic, name), position + 1)
            topics.setdefault(topic, []).append(PartitionProgress(name, position, advance))
        for topic, partitions in topics.items():
            if topic and min(partition.advance for partition in partitions) >= 0:
                yield TopicProgress(
                    source[:NAME_CHARS],
                    printable(topic)[:NAME_CHARS],
                    first[0],
                    last[0],
                    len(partitions),
                    _median(partition.advance for partition in partitions),
                    _median(partition.position for partition in partitions),
                    tuple(sorted(partitions, key=lambda item: item.advance)[:_MOST_SLOW]),
                )


def _median(values: Iterable[int]) -> int:
    """Return the lower median of some numbers."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]
