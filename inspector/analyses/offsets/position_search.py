"""Search for the batch that read a position of a source, or a file."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from inspector.analyses.offsets.offset_rows import FoundRow
from inspector.checkpoint.log_entries import NAME_CHARS
from inspector.checkpoint.source_kinds import (
    FILES,
    Kind,
    Part,
    Position,
    Sought,
    is_before,
    reads,
)
from inspector.discovery.source_positions import SourceFile, SourcePositions, SourceRange
from inspector.discovery.starting_offsets import snapshot_of


def entry_of(position: Position | None) -> int | None:
    """Return the number of the newest entry of a file source's log that a position names.

    None without a position, for other kinds of source, and if the position has no number.
    """
    if position is None or position.kind is not FILES:
        return None
    order = position.parts[0].order
    return None if order is None else order[0]


def files_of(
    positions: SourcePositions, source: str, ranges: Sequence[SourceRange]
) -> Iterator[tuple[SourceFile, SourceRange]]:
    """Yield (file, range of the batch that read it) for the files of a file source, oldest first.

    ``ranges`` has what each batch read of the source. Files that no batch among these is known to
    have read are left out.
    """
    ends = sorted(
        (entry, -item.batch_id, item)
        for item in ranges
        if (entry := entry_of(item.end)) is not None and reads_files(item)
    )
    entries = [entry for entry, _, _ in ends]
    for file in positions.log(source).files():
        place = bisect_left(entries, file.entry)
        if place < len(ends):
            item = ends[place][2]
            start = entry_of(item.start)
            if (start is None and item.is_first) or (start is not None and start < file.entry):
                yield file, item


def reads_files(item: SourceRange) -> bool:
    """Return True if a batch read files of a file source, or if the log does not show it.

    It read files if the source's offset changed. The log does not show it if the offset before the
    batch or after it is not known.
    """
    return item.start is None or item.end is None or item.start.raw != item.end.raw


def found_files(
    positions: SourcePositions, source: str, ranges: Sequence[SourceRange], name: str
) -> list[FoundRow]:
    """Return the answers to which batch of a file source read the file ``name``.

    The name is a whole path, or its last segments. There is a row for each file with the name: the
    batch that read it, or that it is earlier or later than the batches in ``ranges``. If the log
    names no such file, one row has the answer ``absent``.
    """
    matching = [file for file in positions.log(source).files() if _has_name(file, name)]
    shared: dict[str, Any] = {"source": source[:NAME_CHARS], "kind": FILES.name}
    if not matching:
        return [FoundRow(**shared, answer="absent")]
    pairs = files_of(positions, source, ranges)
    read = {file: item for file, item in pairs if _has_name(file, name)}
    rows = []
    for file in matching:
        item = read.get(file)
        if item is not None:
            rows.append(_found_row(item, file.path))
            continue
        newest = max((entry for r in ranges if (entry := entry_of(r.end)) is not None), default=-1)
        is_late = file.entry > newest
        batches = [r.batch_id for r in ranges]
        rows.append(
            FoundRow(
                **shared,
                partition=file.path,
                answer="later" if is_late else "earlier",
                older_batch=max(batches) if is_late else None,
                newer_batch=None if is_late else min(batches),
            )
        )
    return rows


def _has_name(file: SourceFile, name: str) -> bool:
    """Return True if ``name`` is the path of a file, or the last segments of that path."""
    return file.path == name or file.path.endswith(f"/{name.lstrip('/')}")


def _found_row(item: SourceRange, partition: str | None) -> FoundRow:
    """Return the row of a batch that read the position, or will read it if it was only planned.

    ``partition`` is the part of the source; None if the source has one position.
    """
    return FoundRow(
        source=item.source[:NAME_CHARS],
        kind=item.kind,
        partition=partition,
        answer="read" if item.committed else "planned",
        batch_id=item.batch_id,
        start=None if item.start is None else item.start.summary,
        end=None if item.end is None else item.end.summary,
        batch_timestamp_ms=item.timestamp_ms,
    )


class PositionSearch:
    """Search for the batches of one source that read a position.

    :meth:`add` takes what each batch read, newest batch first; :meth:`rows` has the answers.
    """

    def __init__(self, sought: Sought) -> None:
        """Begin a search for the position ``sought``, as the user named it."""
        self._sought = sought
        self._found: list[FoundRow] = []
        self._newest: SourceRange | None = None  # range of the newest batch with the partition
        self._later: SourceRange | None = None  # oldest range that ended after the position
        self._earlier: SourceRange | None = None  # newest range that ended before the position

    def add(self, item: SourceRange, end: Position) -> None:
        """Add what a batch read of the source; ``end`` is where the source was after it.

        Nothing is added if a newer batch ended before the position, or if the batch does not have
        the partition of the position.
        """
        order = self._sought.order
        if order is None or self._earlier is not None:
            return
        part = end.part(self._sought.place)
        if part is not None:
            self._newest = self._newest or item
            self._compare(item, end.kind, part, order)

    def _compare(self, item: SourceRange, kind: Kind, part: Part, order: tuple[int, ...]) -> None:
        """Compare the position, ``order``, with what a batch read of one part of the source.

        A batch that read it is added to the found rows. Otherwise ``item`` is stored as the
        newest range that ended before the position, or as the oldest so far that ended after
        it.

        If ``part`` has no order, the batch read the position if its start or end is the
        snapshot ``order[0]``. Nothing else is kept of such a part. Nothing is kept of a part
        whose order has fewer numbers than the position.
        """
        start = None if item.start is None else item.start.part(part.name)
        if part.order is None:
            places = [p for p in (start, part) if p is not None]
            if any(snapshot_of(p.text) == order[0] for p in places):
                self._found.append(_found_row(item, part.name or None))
            return
        if len(part.order) < len(order):
            return
        begin = None if start is None else start.order
        if (begin is not None or item.is_first) and reads(kind, begin, part.order, order):
            self._found.append(_found_row(item, part.name or None))
        elif is_before(kind, part.order, order):
            self._earlier = item
        else:
            self._later = item

    def rows(self) -> list[FoundRow]:
        """Return the answers to which batch read the position.

        There is a row for each batch that read it, or will read it if it was only planned. If there
        is none, one row has the batches before and after the position, if the log has them. The row
        has the answer ``absent`` if there is neither. Empty if no batch has the partition.
        """
        if self._found or self._newest is None:
            return self._found
        last = self._newest
        shared: dict[str, Any] = {
            "source": last.source[:NAME_CHARS],
            "kind": last.kind,
            "partition": self._sought.place or None,
        }
        earlier, later = self._earlier, self._later
        if earlier is None and later is None:
            return [FoundRow(**shared, answer="absent")]
        answer = "between" if earlier and later else "earlier" if later else "later"
        return [
            FoundRow(
                **shared,
                answer=answer,
                older_batch=None if earlier is None else earlier.batch_id,
                newer_batch=None if later is None else later.batch_id,
                start=None if earlier is None or earlier.end is None else earlier.end.summary,
                end=None if later is None or later.end is None else later.end.summary,
            )
        ]


def answer(row: FoundRow, sought: str) -> str:
    """Return an answer as a sentence; ``sought`` is the position or file as the user named it."""
    source = f"source {row.source} ({row.kind})"
    sentences = {
        "read": f"Batch {row.batch_id} read {sought} of {source}.",
        "planned": f"Batch {row.batch_id} reads {sought} of {source} and is not committed.",
        "between": f"{sought} of {source} was read after batch {row.older_batch} and before the "
        f"end of batch {row.newer_batch}: the offset log has no entry between them.",
        "earlier": f"{sought} of {source} was read by batch {row.newer_batch} or an earlier one, "
        "or never: the offset log does not say where that batch began.",
        "later": f"{sought} of {source} has not been read: the newest batch, {row.older_batch}, "
        "ended before it.",
        "absent": f"{sought} is not in {source}.",
    }
    return sentences[row.answer]
