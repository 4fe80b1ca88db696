"""Positions that an offset of a source says, by the connector that wrote the offset.

An entry of the offset log has the JSON of each source, and offset log v1 does not name the
connector. It is known by the fields of the JSON. Each format is that of the connector's own code:

* Kafka: ``KafkaSourceOffset`` and ``JsonUtils.partitionOffsets`` of Spark; the offset of a
  partition is that of the next record. ``EventHubsSourceOffset`` of azure-event-hubs-spark has the
  same JSON with sequence numbers.
* Files: ``FileStreamSourceOffset`` of Spark, the number of the newest entry of the source's log.
* ``rate-micro-batch``: ``RatePerMicroBatchStreamOffset``. ``rate`` (seconds) and ``socket``
  (lines): ``LongOffset``, a number.
* Delta: ``DeltaSourceOffset``. All versions before ``reservoirVersion`` have been read, and of this
  version the files up to ``index``. A negative index stands before the first file.
* Iceberg: ``StreamingOffset``, a snapshot and the number of its files that have been read.
* Paimon: ``PaimonSourceOffset``, the snapshot and the index of the last split that has been read.
* Kinesis: ``KinesisV2SourceOffset`` of awslabs/spark-sql-kinesis-connector and
  ``KinesisSourceOffset`` of qubole/kinesis-sql, by shard.
* Pulsar: ``SpecificPulsarOffset`` of streamnative/pulsar-spark, by topic the bytes of a
  ``MessageIdData`` (protobuf), the last message that has been read.
* Auto Loader: ``CloudFilesSourceOffset``. Databricks documents ``seqNum`` as the position in the
  sequence of files, in the order in which they were found.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from inspector.checkpoint.logfile import json_object, printable
from inspector.checkpoint.names import MAX_LONG, number
from inspector.exceptions import DecodeError
from inspector.light_dataclasses import dataclass, field

Order = tuple[int, ...]  # numbers by which positions of one part are ordered, the first ones first

FEW_PARTS = 3  # positions of a source that a summary lists one by one
_SHOWN = 200  # characters of a position, or of a name, that are shown
_LONG_LINE = 512  # characters from which on an offset of Kafka is read as numbers
_INT_MAX = 10**18  # numbers from here on are read one by one


class Counted(enum.Enum):
    """Things that the difference between two positions counts."""

    RECORDS = "records"
    FILES = "files"


@dataclass(frozen=True)
class Part:
    """Position in one partition, shard, topic or table of a source."""

    name: str  # ``orders:3``, a shard, a topic; "" if the source has one position
    text: str  # the position, for people
    order: Order | None  # of positions of the same part; None if they have no order


@dataclass(frozen=True)
class Kind:
    """Kind of source whose offsets have one format."""

    name: str  # name in reports
    # what the difference between two positions counts; None if it counts neither
    counted: Counted | None = None
    is_last_read: bool = False  # True if a position is that of the last record that was read
    # Names of the JSON fields that tell it; none for the kinds that are told by their values.
    fields: frozenset[str] = frozenset()
    # function from the JSON of an offset to its parts; DecodeError for JSON of another format
    parts: Callable[[Mapping[str, Any]], list[Part]] = field(default=lambda _: [], repr=False)


@dataclass(frozen=True)
class Position:
    """Offset of one source: how far the source had been read when a batch ended."""

    kind: Kind  # kind of the source
    raw: str  # the offset as Spark wrote it
    # function that returns the parts; used only without ``numbers``
    read_parts: Callable[[], list[Part]] = field(repr=False, compare=False)
    # Offsets of a long Kafka line, in the order of the line, and the line without its digits.
    numbers: Any = field(default=None, repr=False, compare=False)
    shape: tuple[bytes, int] | None = field(default=None, repr=False, compare=False)
    # Names of its partitions, with the place of the offset of each.
    names: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def parts(self) -> list[Part]:
        """Positions of the parts, in the order of the JSON."""
        if self.numbers is None:
            return self.read_parts()
        values = zip(self.names, self.numbers.tolist(), strict=True)
        return [Part(name, f"{value}", (value,)) for name, value in values]

    def part(self, name: str) -> Part | None:
        """Return the position of one part; None if there is no such part."""
        if self.numbers is None:
            return next((part for part in self.parts if part.name == name), None)
        place = self.names.get(name)
        if place is None:
            return None
        value = int(self.numbers[place])
        return Part(name, f"{value}", (value,))

    @cached_property
    def summary(self) -> str:
        """All positions if they are few, else their number."""
        if self.kind is UNKNOWN:
            return printable(self.raw[:_SHOWN])
        if self.numbers is not None:
            return f"{len(self.numbers):,} partitions, {int(self.numbers.sum()):,} in all"
        parts = self.parts
        if len(parts) <= FEW_PARTS:
            return ", ".join(f"{p.name}@{p.text}" if p.name else p.text for p in parts)
        if self.kind.counted is Counted.RECORDS:
            total = sum(part.order[0] for part in parts if part.order)
            return f"{len(parts):,} partitions, {total:,} in all"
        return f"{len(parts):,} partitions"

    def read_since(self, start: Position) -> int | None:
        """Return the records or files between two positions; None if they do not count them.

        A part that only one of them has, or that goes back, makes the number unknown.
        """
        if self.kind.counted is None or start.kind is not self.kind:
            return None
        if self.raw == start.raw:
            return 0
        if self.shape is not None and self.shape == start.shape:
            read = self.numbers - start.numbers
            return int(read.sum()) if read.min() >= 0 else None
        old = {part.name: part.order for part in start.parts}
        new = {part.name: part.order for part in self.parts}
        if old.keys() != new.keys() or not new:
            return None
        counts = [order[0] - (old[name] or order)[0] for name, order in new.items() if order]
        return sum(counts) if len(counts) == len(new) and min(counts) >= 0 else None


def _text(value: object) -> str:
    """Return a value as printable text, cut to 200 characters."""
    return printable(str(value))[:_SHOWN]


def _long(fields: Mapping[str, Any], name: str) -> int:
    """Return a field of an offset; DecodeError if it is no 64-bit integer."""
    value = fields.get(name)
    if type(value) is not int or abs(value) > MAX_LONG:
        raise DecodeError(f"got {_text(value)!r} as {name}, expected a 64-bit integer")
    return value


def _number_part(fields: Mapping[str, Any]) -> list[Part]:
    """Return one part with the number that is the whole offset."""
    value = _long(fields, "")
    return [Part("", f"{value}", (value,))]


def _file_parts(fields: Mapping[str, Any]) -> list[Part]:
    """Return one part with the number of the newest entry of the source's log."""
    entry = _long(fields, "logOffset")
    return [Part("", f"log entry {entry}", (entry,))]


def _rate_parts(fields: Mapping[str, Any]) -> list[Part]:
    """Return one part with the number of the next row of a ``rate-micro-batch`` source."""
    _long(fields, "timestamp")
    value = _long(fields, "offset")
    return [Part("", f"{value}", (value,))]


def _delta_parts(fields: Mapping[str, Any]) -> list[Part]:
    """Return one part with the table version and the file in it; -1 is before the first file."""
    version, index = _long(fields, "reservoirVersion"), _long(fields, "index")
    text = f"version {version}"
    if index >= 0:
        text += f", file {index}"
    if fields.get("isStartingVersion") is True:
        text += " of the initial snapshot"
    return [Part("", text, (version, max(index, -1)))]


def _iceberg_parts(fields: Mapping[str, Any]) -> list[Part]:
    """Return one part with the snapshot and its files that have been read, without an order."""
    files = _long(fields, "position" if "position" in fields else "index")
    snapshot = _long(fields, "snapshot_id")
    # Ids of snapshots are random numbers.
    return [Part("", f"snapshot {snapshot}, file {files}", None)]


def _paimon_parts(fields: Mapping[str, Any]) -> list[Part]:
    """Return one part with the snapshot and its last split that has been read; -1 for none."""
    snapshot, index = _long(fields, "snapshotId"), _long(fields, "index")
    text = f"snapshot {snapshot}" + (f", split {index}" if index >= 0 else "")
    return [Part("", text, (snapshot, max(index, -1)))]


def _auto_loader_parts(fields: Mapping[str, Any]) -> list[Part]:
    """Return one part with the number of the last file in the order of discovery."""
    value = _long(fields, "seqNum")
    return [Part("", f"file {value}", (value,))]


def _kafka_parts(fields: Mapping[str, Any]) -> list[Part]:
    """Return a part ``topic:partition`` with the next offset for each partition of each topic."""
    return [
        Part(f"{_text(topic)}:{name}", f"{position}", (position,))
        for topic, partitions in fields.items()
        for name, position in partitions.items()
    ]


_BY_SEQUENCE = "AFTER_SEQUENCE_NUMBER"  # type of a position that is a sequence number
_LONGEST_SEQUENCE = 128  # digits; Kinesis writes 56


def _kinesis_parts(fields: Mapping[str, Any]) -> list[Part]:
    """Return a part for each shard, with its sequence number.

    A shard with another position than a sequence number has no order.
    """
    parts = []
    for shard, info in fields.items():
        if shard != "metadata" and isinstance(info, dict):
            kind, position = _text(info.get("iteratorType")), _text(info.get("iteratorPosition"))
            is_number = re.fullmatch("[0-9]+", position) and len(position) <= _LONGEST_SEQUENCE
            is_ordered = kind == _BY_SEQUENCE and is_number
            text = position if kind == _BY_SEQUENCE else f"{kind} {position}".strip()
            parts.append(Part(_text(shard), text, (int(position),) if is_ordered else None))
    return parts


def _pulsar_parts(fields: Mapping[str, Any]) -> list[Part]:
    """Return a part for each topic, with ledger and entry of the last message."""
    parts = []
    for topic, data in fields.items():
        ids = _message_id(bytes(byte & 0xFF for byte in data))
        text = "unknown" if ids is None else f"{ids[0]}:{ids[1]}"
        parts.append(Part(_text(topic), text, ids))
    return parts


def _message_id(data: bytes) -> Order | None:
    """Return the ledger and the entry of a ``MessageIdData``; None if the bytes are none."""
    values: dict[int, int] = {}
    numbers = _varints(data)
    for key in numbers:
        value = next(numbers, None)
        # Fields that are no varints come after the first two.
        if key & 7 or value is None:
            break
        values[key >> 3] = value
    return (values[1], values[2]) if values.keys() >= {1, 2} else None


def _varints(data: bytes) -> Iterator[int]:
    """Yield the unsigned 64-bit varints (protobuf) in the first 64 bytes."""
    value = shift = 0
    for byte in data[:64]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value & (1 << 64) - 1
            value = shift = 0


UNKNOWN = Kind("unknown")  # offsets of no known format; they have no parts
# sources whose offset is a number (``LongOffset``): ``rate``, ``socket`` and memory
NUMBER = Kind("number", parts=_number_part)
FILES = Kind("files", Counted.FILES, parts=_file_parts, fields=frozenset({"logOffset"}))
RATE_MICRO_BATCH = Kind(
    "rate-micro-batch",
    Counted.RECORDS,
    parts=_rate_parts,
    fields=frozenset({"offset", "timestamp"}),
)
DELTA = Kind("delta", parts=_delta_parts, fields=frozenset({"reservoirVersion", "index"}))
ICEBERG = Kind("iceberg", parts=_iceberg_parts, fields=frozenset({"snapshot_id", "version"}))
PAIMON = Kind(
    "paimon",
    is_last_read=True,
    parts=_paimon_parts,
    fields=frozenset({"snapshotId", "index", "scanSnapshot"}),
)
AUTO_LOADER = Kind(
    "auto-loader",
    Counted.FILES,
    is_last_read=True,
    parts=_auto_loader_parts,
    fields=frozenset({"seqNum", "sourceVersion"}),
)
KINESIS = Kind("kinesis", is_last_read=True, parts=_kinesis_parts)
PULSAR = Kind("pulsar", is_last_read=True, parts=_pulsar_parts)
KAFKA = Kind("kafka", Counted.RECORDS, parts=_kafka_parts)
EVENT_HUBS = Kind("event-hubs", Counted.RECORDS, parts=_kafka_parts)

# kinds that are told by the names of their fields, in the order in which they are tried
_BY_FIELDS = (FILES, DELTA, PAIMON, ICEBERG, AUTO_LOADER, RATE_MICRO_BATCH)
_EXACT = frozenset({FILES.name, RATE_MICRO_BATCH.name})  # kinds whose JSON has no other field
# The number of a topic's partition: a key in the JSON of a Kafka or Event Hubs offset.
_PARTITION = re.compile("[0-9]{1,10}")
# an offset that is a number of at most 19 digits
_NUMBER = re.compile(r"\s*(-?[0-9]{1,19})\s*")


def parse_position(offset: str, provider: str = "") -> Position:
    """Return the position that an offset says; of the kind UNKNOWN if it is of no known format.

    ``provider`` is the class or name of the source, if offset log v2 records it.
    """
    match = _NUMBER.fullmatch(offset)
    if match is not None and abs(int(match[1])) <= MAX_LONG:
        return _position(NUMBER, offset, {"": int(match[1])})
    try:
        fields = json_object(offset)
        return _position(_kind_of(fields, provider), offset, fields)
    except DecodeError:
        return Position(UNKNOWN, offset, list)


def _position(kind: Kind, offset: str, fields: Mapping[str, Any]) -> Position:
    """Return the position that an offset of a kind says; ``fields`` is the offset as JSON.

    DecodeError if a field is missing or of another type.
    """
    if kind in (KAFKA, EVENT_HUBS):
        return Position(kind, offset, lambda: kind.parts(fields))
    parts = kind.parts(fields)  # DecodeError: a field is none of its format
    return Position(kind, offset, lambda: parts)


def _kind_of(fields: Mapping[str, Any], provider: str) -> Kind:
    """Return the kind of a JSON object; UNKNOWN if it has no known fields."""
    for kind in _BY_FIELDS:
        if fields.keys() >= kind.fields and (kind.name not in _EXACT or len(fields) <= 2):
            return kind
    metadata = fields.get("metadata")
    if isinstance(metadata, dict) and "streamName" in metadata:
        return KINESIS
    if not fields:
        return UNKNOWN
    if all(map(_is_topic, fields.values())):
        return EVENT_HUBS if "eventhub" in provider.lower() else KAFKA
    return PULSAR if all(map(_is_bytes, fields.values())) else UNKNOWN


def _is_topic(partitions: object) -> bool:
    """Return whether a value is a topic of Kafka: partition numbers with 64-bit offsets."""
    return (
        isinstance(partitions, dict)
        and bool(partitions)
        and all(
            _PARTITION.fullmatch(name) is not None
            and type(position) is int
            and abs(position) <= MAX_LONG
            for name, position in partitions.items()
        )
    )


def _is_bytes(data: object) -> bool:
    """Return whether a value is a list of bytes, signed or unsigned, with at least one."""
    if not isinstance(data, list) or not data:
        return False
    return all(type(value) is int and -128 <= value <= 255 for value in data)


_DIGITS = b"0123456789"  # ASCII digits
# translation of bytes that makes everything but digits a space
_TO_SPACES = bytes(byte if byte in _DIGITS else 0x20 for byte in range(256))
# a number in a line; the first group is there if it is the value of a field
_VALUE = re.compile(rb"(:)?([0-9]+)")


class PositionReader:
    """Reads the offsets of a log, one after the other.

    A topic of a thousand partitions has a line of 16 KB in each entry. Such lines differ in their
    numbers alone, so that only the first of them is read as JSON.
    """

    def __init__(self) -> None:
        self._shape: bytes | None = None  # a line without its digits
        self._count = 0  # numbers in the line
        self._places: Any = None  # which numbers of the line are offsets
        self._other_places: Any = None  # those of partitions, and in the name of the topic
        self._others: Any = None  # the numbers there
        self._kind = KAFKA
        self._names: dict[str, int] = {}  # places of the offsets by partition

    def read(self, offset: str, provider: str = "") -> Position:
        """Return the position that an offset says, as :func:`parse_position` does."""
        if len(offset) < _LONG_LINE:
            return parse_position(offset, provider)
        line = offset.encode("utf-8", "replace")
        shape = line.translate(None, _DIGITS)
        # A line of a known shape has the braces and signs of the one that was read as JSON.
        if shape != self._shape and not (_is_plain(shape) and len(shape) < len(line)):
            return parse_position(offset, provider)
        numbers: Any = np.fromstring(line.translate(_TO_SPACES), np.int64, sep=" ")
        if numbers.max() >= _INT_MAX:
            return parse_position(offset, provider)
        if (shape, len(numbers)) != (self._shape, self._count) or (
            numbers.take(self._other_places) != self._others
        ).any():
            position = parse_position(offset, provider)
            if position.kind not in (KAFKA, EVENT_HUBS) or not self._learn(line, position, numbers):
                return position
            self._shape, self._count, self._kind = shape, len(numbers), position.kind
        return Position(
            self._kind,
            offset,
            list,
            numbers.take(self._places),
            (shape, len(numbers)),
            self._names,
        )

    def _learn(self, line: bytes, position: Position, numbers: Any) -> bool:
        """Note which numbers of a line are offsets; False if the line is none of its kind."""
        is_value = np.array([match[1] is not None for match in _VALUE.finditer(line)], bool)
        offsets = [part.order[0] for part in position.parts if part.order]
        if len(is_value) != len(numbers) or numbers[is_value].tolist() != offsets:
            return False
        self._places, self._other_places = np.flatnonzero(is_value), np.flatnonzero(~is_value)
        self._others = numbers.take(self._other_places)
        self._names = {part.name: place for place, part in enumerate(position.parts)}
        return True


def _is_plain(shape: bytes) -> bool:
    """Return whether a line is of one topic, with a plain name and no negative offset."""
    return shape.count(b"{") == 2 and b":-" not in shape and b"\\" not in shape


def parse_initial(data: bytes) -> str | None:
    """Return the offset at which a Kafka source began, from ``sources/<n>/0``; None if it is none.

    ``KafkaSourceInitialOffsetWriter`` writes a zero byte, ``v1`` and the offset.
    """
    head, _, text = data.removeprefix(b"\0").partition(b"\n")
    if head.strip() != b"v1":
        return None
    offset = text.decode("utf-8", "replace").strip()
    return offset if parse_position(offset).kind is KAFKA else None


@dataclass(frozen=True)
class Sought:
    """A position that a user looks for: ``orders:3@1200``, ``12``, or the name of a file."""

    text: str

    @property
    def place(self) -> str:
        """The part before the last ``@``: a partition, a shard or a topic; "" if there is none."""
        return self.text.rpartition("@")[0]

    @property
    def order(self) -> Order | None:
        """The number, or the two numbers of Pulsar; None if the text ends in none."""
        numbers = [
            int(text) if re.fullmatch("[0-9]{1,128}", text) else None
            for text in self.text.rpartition("@")[2].split(":")
        ]
        known = tuple(value for value in numbers if value is not None)
        return known if len(known) == len(numbers) <= 2 else None


def reads(kind: Kind, start: Order | None, end: Order, sought: Order) -> bool:
    """Return True if a batch from ``start`` to ``end`` read the position ``sought``.

    A ``start`` of None is the beginning of the source. ``end`` is the next record for Kafka, and
    the last record that was read for Kinesis. Several batches may read parts of one table version.
    Each of them counts if ``sought`` is a version without an index.
    """
    if len(end) > len(sought):
        # (version, index): any file of the version.
        first, last = (*sought, 0), (*sought, MAX_LONG)
        return (start is None or start < last) and end >= first
    if kind.is_last_read:
        return (start is None or start < sought) and sought <= end
    return (start is None or start <= sought) and sought < end


def is_before(kind: Kind, position: Order, sought: Order) -> bool:
    """Return whether a sought position is read after a source was at a position."""
    if len(position) > len(sought):
        return position < (*sought, 0)
    return position < sought if kind.is_last_read else position <= sought


def log_number(text: str) -> int | None:
    """Return the number of an entry of a file source's log, ``9`` or ``9.compact``."""
    return number(text.removesuffix(".compact"))
