"""Options with which a new query reads on from where another query's sources were.

Each option is that of the connector: ``startingOffsets`` of Kafka and Pulsar, ``startingVersion``
of Delta, ``eventhubs.startingPositions``, ``kinesis.startingposition``, ``scan.snapshot-id`` of
Paimon, ``startTimestamp`` of ``rate-micro-batch``. Spark's file source has none: files that have
been read have to be moved away, or left out, before the new query begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from inspector.checkpoint import source_kinds as k
from inspector.checkpoint.logfile import json_object
from inspector.checkpoint.source_kinds import Kind, Position
from inspector.light_dataclasses import dataclass

# how often the new query and the old one together read a row of a committed batch or a later one
EXACT = "exactly once"
AGAIN = "at least once"  # some rows of committed batches are read again
MOST_ONCE = "at most once"  # rows of a batch without a commit may be in no result
UNKNOWN = "unknown"  # the option does not say from where the source reads


@dataclass(frozen=True)
class StartingOffset:
    """An option of a source, and what the new query reads with it."""

    option: str | None  # name of the option of the reader; None if the source has none
    value: str | None  # its value; of a source without an option the position
    # EXACT, AGAIN or UNKNOWN: how often rows of committed batches and later ones are read
    delivery: str
    note: str = ""  # what the user has to know, as a whole sentence


# notes on an option
_ADDED = "Spark refuses startingOffsets that lack a partition: add new ones with -2 (earliest)."
_SAME_JSON = "Azure Event Hubs writes the same JSON as Kafka: for its connector use this option."


def _kafka(position: Position) -> Iterator[StartingOffset]:
    """Yield ``startingOffsets``, and the option of Event Hubs for few partitions."""
    yield StartingOffset("startingOffsets", position.raw.strip(), EXACT, _ADDED)
    if len(position.parts) <= _MOST_HUB_PARTITIONS:
        yield from _event_hubs(position, _SAME_JSON)


_MOST_HUB_PARTITIONS = 32  # most partitions of an Event Hub below the dedicated tier


def _event_hubs(position: Position, note: str = "") -> Iterator[StartingOffset]:
    """Yield ``eventhubs.startingPositions`` with the sequence number of each partition."""
    values = {}
    for part in position.parts:
        name, _, partition = part.name.rpartition(":")
        key = json.dumps({"ehName": name, "partitionId": int(partition)})
        values[key] = {
            "offset": None,
            "seqNo": int(part.text),
            "enqueuedTime": None,
            "isInclusive": True,
        }
    yield StartingOffset("eventhubs.startingPositions", json.dumps(values), EXACT, note)


def _files(position: Position) -> Iterator[StartingOffset]:
    """Yield advice without an option: Spark's file source has none."""
    note = (
        "A file source has no option to start from: move the files of the table read_files out of "
        "its folder, or start it on a folder of the other files. Only files that are newer than "
        "the newest of these have surely not been read; older ones may be unread, too."
    )
    yield StartingOffset(None, position.summary, EXACT, note)


def _rate_micro_batch(position: Position) -> Iterator[StartingOffset]:
    """Yield ``startTimestamp`` with the timestamp of the position."""
    fields = json_object(position.raw)
    note = (
        f"The timestamps continue; the column value begins at 0 again: add {position.summary} to "
        "it. Use the same rowsPerBatch and advanceMillisPerBatch."
    )
    yield StartingOffset("startTimestamp", f"{fields['timestamp']}", EXACT, note)


def _number(position: Position) -> Iterator[StartingOffset]:
    """Yield advice without an option: ``rate`` and ``socket`` begin again from 0."""
    note = "The sources rate and socket begin anew with each query and have no such option."
    yield StartingOffset(None, position.summary, UNKNOWN, note)


def _delta(position: Position) -> Iterator[StartingOffset]:
    """Yield ``startingVersion`` with the version that a position is in, for a Delta source.

    It is AGAIN if files of that version were read. A position in the table's initial snapshot gives
    advice without an option.
    """
    fields = json_object(position.raw)
    version, index = position.parts[0].order or (0, 0)
    if fields.get("isStartingVersion") is True:
        note = (
            "The table's initial snapshot had not been read to its end: a new query without "
            f"startingVersion reads all of it again; startingVersion {version + 1} leaves out the "
            "rest of it."
        )
        yield StartingOffset(None, None, AGAIN, note)
        return
    note = f"The first {index + 1} files of version {version} are read again." if index >= 0 else ""
    delivery = AGAIN if index >= 0 else EXACT
    yield StartingOffset("startingVersion", f"{version}", delivery, note)


def _iceberg(position: Position) -> Iterator[StartingOffset]:
    """Yield ``stream-from-timestamp`` with the time of the position's snapshot.

    Advice without an option if the position has no time.
    """
    fields = json_object(position.raw)
    snapshot, time_ms = fields.get("snapshot_id"), fields.get("snapshot_timestamp_ms")
    note = (
        f"The source had read up to snapshot {snapshot}. Iceberg starts a stream by time "
        "(stream-from-timestamp): give the time of the next snapshot in table.snapshots, if all "
        "files of this one were read."
    )
    if type(time_ms) is int and time_ms >= 0:
        note += " With this value it reads that snapshot again."
        yield StartingOffset("stream-from-timestamp", f"{time_ms}", AGAIN, note)
    else:
        yield StartingOffset(None, f"{snapshot}", UNKNOWN, note)


def _paimon(position: Position) -> Iterator[StartingOffset]:
    """Yield the one option with which a new query of a Paimon source starts after a position.

    It is ``scan.snapshot-id`` with the position's snapshot. If splits of that snapshot were read,
    they are read again, and the option's delivery is AGAIN; otherwise it is EXACT.
    """
    snapshot, index = position.parts[0].order or (0, 0)
    note = (
        f"Splits 0 to {index} of snapshot {snapshot} are read again. If these are all its splits, "
        f"{snapshot + 1} reads each row once. Set scan.mode=from-snapshot."
        if index >= 0
        else "Set scan.mode=from-snapshot."
    )
    yield StartingOffset("scan.snapshot-id", f"{snapshot}", AGAIN if index >= 0 else EXACT, note)


def _kinesis(position: Position) -> Iterator[StartingOffset]:
    """Yield the starting position of the connector that wrote the position."""
    # InitialKinesisPosition.fromCheckpointJson of both connectors reads the offset as it is; that
    # of AWS Labs has sub-sequence numbers.
    shards = [info for info in json_object(position.raw).values() if isinstance(info, dict)]
    is_of_aws_labs = any("subSequenceNumber" in info for info in shards)
    option = "kinesis.startingposition" if is_of_aws_labs else "startingPosition"
    note = (
        "Each iteratorPosition is the sequence number to start after, the startingSequenceNumber "
        "of the Kinesis API. Shards that are not named begin at the current time."
    )
    yield StartingOffset(option, position.raw.strip(), EXACT, note)


def _pulsar(position: Position) -> Iterator[StartingOffset]:
    """Yield ``startingOffsets`` with the position as it is; whether it is read again is unknown."""
    note = "Each topic is given by the bytes of the last message id that has been read."
    yield StartingOffset("startingOffsets", position.raw.strip(), UNKNOWN, note)


def _auto_loader(position: Position) -> Iterator[StartingOffset]:
    """Yield advice without an option: Auto Loader has none to start after a file."""
    fields = json_object(position.raw)
    times = [fields.get(name) for name in ("lastBackfillStartTimeMs", "lastBackfillFinishTimeMs")]
    known = [f"{time}" for time in times if type(time) is int]
    since = f" Its last listing was at {known[0]} (epoch ms)." if known else ""
    note = (
        "Auto Loader keeps the files that it has read in RocksDB below sources/ and has no option "
        f"to start after one: a new query uses modifiedAfter, or reads all files again.{since}"
    )
    yield StartingOffset(None, position.summary, UNKNOWN, note)


def _unknown(position: Position) -> Iterator[StartingOffset]:
    """Yield the position as it is written, without an option."""
    note = "The offset is of no known connector: it is shown as it is written."
    yield StartingOffset(None, position.raw, UNKNOWN, note)


# kind of source -> function that yields its options for a position
_BY_KIND: Mapping[Kind, Callable[[Position], Iterator[StartingOffset]]] = {
    k.KAFKA: _kafka,
    k.EVENT_HUBS: _event_hubs,
    k.FILES: _files,
    k.RATE_MICRO_BATCH: _rate_micro_batch,
    k.NUMBER: _number,
    k.DELTA: _delta,
    k.ICEBERG: _iceberg,
    k.PAIMON: _paimon,
    k.KINESIS: _kinesis,
    k.PULSAR: _pulsar,
    k.AUTO_LOADER: _auto_loader,
    k.UNKNOWN: _unknown,
}


def starting_offsets(position: Position) -> tuple[StartingOffset, ...]:
    """Return the options that start a source at a position, several if the connector is unclear."""
    return tuple(_BY_KIND[position.kind](position))


def snapshot_of(text: str) -> int | None:
    """Return the id in ``snapshot 12, file 3``; None if a position has none."""
    match = re.match("snapshot ([0-9]+)", text)
    return None if match is None else int(match[1])
