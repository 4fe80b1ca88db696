"""Records and files that batches read of their sources, next to the rows that are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from inspector.analyses.shared.judged import Judged
from inspector.checkpoint.log_entries import SourceOffset
from inspector.checkpoint.source_kinds import KAFKA, UNKNOWN, parse_position
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.source_positions import SourcePositions
from inspector.model import BatchId
from inspector.render import tabular as t


class SourceReadRow(t.Row, table="source_reads", empty="the offset log shows no source"):
    """What one batch read of one source, next to the rows of all stores after it."""

    batch_id: Annotated[t.BatchId, t.Rank(1)]
    source: Annotated[t.Text, "The source's number, from 0, or its name.", t.Rank(2)]
    kind: Annotated[
        t.Text, "What wrote its offset, such as `kafka` or `files`; see `offsets`.", t.Rank(6)
    ]
    records: Annotated[
        t.Count | None,
        "Records read, where offsets count them: Kafka, Event Hubs, `rate-micro-batch`; else null.",
        t.Rank(3),
    ]
    files: Annotated[
        t.Count | None, "Files read, by the log of a source of files; null elsewhere.", t.Rank(4)
    ]
    rows: Annotated[t.Count | None, "Live rows of all stores after the batch.", t.Rank(5)]


def source_read_table(judged: Judged, rows: Mapping[int, int]) -> t.Table:
    """Return the table of the records and files that batches read, by batch and source.

    ``rows`` are the numbers of live rows of all stores by version; batches of other versions are
    left out. The table is not shown if no row has a number of records or files.
    """
    result = [*_rows(judged.checkpoint, rows)]
    title = "records or files read by batch and source, and rows stored after it"
    is_counted = any(row.records or row.files is not None for row in result)
    return SourceReadRow.table(title, result, shown=is_counted)


def _rows(checkpoint: Checkpoint, rows: Mapping[int, int]) -> Iterator[SourceReadRow]:
    """Yield a row for each source of each batch whose version has a number of rows in ``rows``."""
    sources_by_batch = checkpoint.logs.sources
    positions = SourcePositions(checkpoint, is_small=True)
    for version in sorted(rows):
        batch = BatchId(version - 1)
        previous = {s.name: s for s in sources_by_batch.get(BatchId(batch - 1), ())}
        for source in sources_by_batch.get(batch, ()):
            yield SourceReadRow(
                batch_id=batch,
                source=source.name,
                kind=_kind(source),
                records=source.records,
                files=_file_count(positions, batch, previous.get(source.name), source),
                rows=rows[version],
            )


def _kind(source: SourceOffset) -> str:
    """Return the name of a source's kind, such as ``kafka`` or ``files``.

    It is that of ``UNKNOWN`` if the offset is absent. Kafka is recognised by the source's name,
    because a long offset is known only by its beginning.
    """
    if source.offset is None:
        return UNKNOWN.name
    return (
        KAFKA.name if "(Kafka topic" in source.called else parse_position(source.offset).kind.name
    )


def _file_count(
    positions: SourcePositions, batch: int, previous: SourceOffset | None, source: SourceOffset
) -> int | None:
    """Return the number of files that a batch read of a source, by the source's own log.

    ``previous`` is the offset of the batch before, ``source`` that of the batch itself. None if it
    is no source of files, or if the number is not known.
    """
    last = source.log_entry
    if last is None or (previous is None and batch > 0):
        return None
    start = None if previous is None else previous.log_entry
    return positions.log(source.name).count(start, last)
