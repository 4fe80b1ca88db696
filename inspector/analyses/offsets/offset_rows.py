"""Rows of the command ``offsets``: what a batch read of a source, or of one of its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from inspector.checkpoint.log_entries import NAME_CHARS
from inspector.checkpoint.source_kinds import DELTA, Counted, Kind, Part, Position, reads
from inspector.discovery.source_positions import SourcePositions, SourceRange
from inspector.render import tabular as t

# most versions of a Delta table that one batch read and that have a row each; if there are more,
# the batch has one row
_MOST_VERSIONS = 1_000

# type of the columns that name a source
Source = Annotated[
    t.Text, "The source's number, from 0, or the name that its query gives (Spark 4.2)."
]
# type of the columns with the kind of a source
SourceKind = Annotated[
    t.Text,
    "What wrote the offset, by its form: `kafka`, `event-hubs`, `kinesis`, `pulsar`, `files`, "
    "`auto-loader`, `delta`, `iceberg`, `paimon`, `rate-micro-batch`, `number` for `rate` and "
    "`socket`, `unknown` for any other.",
]
# type of the columns with the position of a source, or of its partition, before a batch
Start = Annotated[
    t.Text,
    "The position before the batch, in the source's own terms (`orders:0@23`, `version 12`); of "
    "many partitions their number and sum. Null if it is not recorded. A Kafka offset is that of "
    "the next record.",
]
# type of the columns with the position of a source, or of its partition, after a batch
End = Annotated[t.Text, "The position after the batch; null if the source has none yet."]
# type of the columns with the time at which a batch was planned
Planned = Annotated[t.TimeMs, "When the batch was planned, from the offset log."]
# type of the columns that say if a batch is committed
IsCommitted = Annotated[t.Flag, "Whether the batch's commit is in the log."]


class OffsetRow(t.Row, table="offsets", empty="no entry of the offset log could be read"):
    """What one batch read of one source, or of one of its partitions."""

    batch_id: Annotated[t.Id, "The batch.", t.Rank(1)]
    source: Annotated[Source, t.Rank(2)]
    kind: Annotated[SourceKind, t.Rank(8)]
    partition: Annotated[
        t.Text | None,
        "With `--by partition`: topic and partition, shard, file path or table version.",
        t.Rank(3),
    ] = None
    start: Annotated[Start | None, t.Rank(4)] = None
    end: Annotated[End | None, t.Rank(5)] = None
    records: Annotated[
        t.Count | None,
        "Offsets between start and end, where they count records: Kafka, Event Hubs, "
        "`rate-micro-batch`. Of Kafka it is too high by markers of transactions and "
        "compacted records.",
        t.Rank(6),
    ] = None
    files: Annotated[
        t.Count | None, "Files read, of sources of files and of Auto Loader.", t.Rank(7)
    ] = None
    batch_timestamp_ms: Annotated[Planned | None, t.Title("time"), t.Rank(9)] = None
    committed: Annotated[IsCommitted, t.Rank(10)]
    file_modified_ms: Annotated[
        t.TimeMs | None, "When the file was changed, with `--by partition`.", t.Rank(11)
    ] = None
    offset: Annotated[
        t.Text | None, "The whole offset as Spark wrote it, with `--batch` or `--at`.", t.WIDE
    ] = None


class FoundRow(t.Row, table="found", empty="no source can have read it"):
    """An answer to `--find`: which batch read the position."""

    source: Annotated[Source, t.Rank(2)]
    kind: Annotated[SourceKind, t.Rank(8)]
    partition: Annotated[t.Text | None, "The partition, or the whole path of the file."] = None
    answer: Annotated[
        t.Text,
        "`read`, `planned` (the batch is not committed), `between` (after `older_batch`, up to "
        "`newer_batch`: entries are gone), `earlier` (than the log goes back), `later` (not read "
        "yet) or `absent`.",
        t.Rank(1),
    ]
    batch_id: Annotated[t.Id | None, "The batch that read it.", t.Rank(3)] = None
    older_batch: Annotated[
        t.Id | None, "The newest known batch that ended before it.", t.Rank(4)
    ] = None
    newer_batch: Annotated[
        t.Id | None, "The oldest known batch that ended after it.", t.Rank(5)
    ] = None
    start: Annotated[Start | None, t.Rank(6)] = None
    end: Annotated[End | None, t.Rank(7)] = None
    batch_timestamp_ms: Annotated[Planned | None, t.Title("time"), t.Rank(9)] = None


class StartRow(t.Row, table="starting_offsets", empty="the batch has no source with an offset"):
    """An option with which a new query reads on from where a source was; with `--as`."""

    source: Annotated[Source, t.Rank(1)]
    kind: Annotated[SourceKind, t.Rank(2)]
    option: Annotated[
        t.Text | None, "The option of the reader; null if the source has none.", t.Rank(3)
    ]
    value: Annotated[t.Text | None, "The value of the option, or the position.", t.Rank(4)]
    delivery: Annotated[
        t.Text,
        "How often a row reaches the sinks, old and new query together: `exactly once`, `at least "
        "once`, `at most once` if `last_batch` has no commit, or `unknown`.",
        t.Rank(5),
    ]
    last_batch: Annotated[t.Id, "The batch after which the new query begins.", t.Rank(6)]
    newest_file_ms: Annotated[
        t.TimeMs | None,
        "When the newest file that a file source read was changed.",
        t.Rank(8),
    ] = None
    note: Annotated[t.Text | None, "Advice, such as what is read again.", t.Rank(7)] = None


class ReadFileRow(t.Row, table="read_files", empty="no source of files"):
    """With `--as`, a file that a file source has read up to `last_batch`.

    Move it away, or the new query reads it again.
    """

    source: Annotated[Source, t.Rank(2)]
    path: Annotated[t.Text, "The file.", t.Rank(1)]
    file_modified_ms: Annotated[t.TimeMs | None, "When it was changed.", t.Rank(3)]
    log_entry: Annotated[t.Id, "The entry of the source's log that names it.", t.Rank(4)]


def source_row(positions: SourcePositions, item: SourceRange) -> OffsetRow:
    """Return the row on what one batch read of one source, with its records or files if known."""
    return OffsetRow(
        batch_id=item.batch_id,
        source=item.source[:NAME_CHARS],
        kind=item.kind,
        start=None if item.start is None else item.start.summary,
        end=None if item.end is None else item.end.summary,
        records=positions.count(item, Counted.RECORDS),
        files=positions.count(item, Counted.FILES),
        batch_timestamp_ms=item.timestamp_ms,
        committed=item.committed,
    )


def part_rows(item: SourceRange, end: Position) -> Iterator[OffsetRow]:
    """Yield the rows on what one batch read of one source, one for each partition or shard.

    ``end`` is the position of the source after the batch. A batch of a Delta table has a row for
    each table version that it read, if they are known.
    """
    shared: dict[str, Any] = {
        "batch_id": item.batch_id,
        "source": item.source[:NAME_CHARS],
        "kind": item.kind,
        "batch_timestamp_ms": item.timestamp_ms,
        "committed": item.committed,
    }
    starts = {part.name: part for part in (item.start.parts if item.start is not None else ())}
    for part in end.parts or [Part("", end.summary, None)]:
        start = starts.get(part.name)
        versions = _versions(end.kind, start, part)
        for name in versions or (part.name,):
            yield OffsetRow(
                **shared,
                partition=name or None,
                start=None if start is None else start.text,
                end=part.text,
                records=_difference(end.kind, Counted.RECORDS, start, part),
                files=_difference(end.kind, Counted.FILES, start, part),
            )


def _difference(kind: Kind, unit: Counted, start: Part | None, end: Part) -> int | None:
    """Return the records or files that a batch read of one part of a source.

    ``unit`` says which of the two. None if the kind of source counts another unit or none, if a
    position is not known or has no order, or if the part goes back.
    """
    if kind.counted is not unit or start is None or start.order is None or end.order is None:
        return None
    read = end.order[0] - start.order[0]
    return read if read >= 0 else None


def _versions(kind: Kind, start: Part | None, end: Part) -> list[str]:
    """Return the names of the versions of a Delta table that a batch read, as ``version 7``.

    ``start`` and ``end`` are the positions before and after the batch. The list is empty for other
    kinds of source, if a position is not known, and for more than :data:`_MOST_VERSIONS`.
    """
    if kind is not DELTA or start is None or start.order is None or end.order is None:
        return []
    candidates = range(start.order[0], end.order[0] + 1)
    if len(candidates) > _MOST_VERSIONS:
        return []
    return [
        f"version {version}"
        for version in candidates
        if reads(kind, start.order, end.order, (version,))
    ]
