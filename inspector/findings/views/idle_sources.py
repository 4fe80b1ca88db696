"""Sources that brought nothing in consecutive batches while others brought data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspector.checkpoint.log_entries import SourceOffset
from inspector.light_dataclasses import dataclass


@dataclass(frozen=True)
class IdleSource:
    """Source that brought nothing in some consecutive batches."""

    name: str  # words for the source
    since: int  # first batch in the log since which the source has its present offset
    offset: str  # offset of the source, as Spark wrote it; ``no offset`` without one


def idle_sources(
    first: int, last: int, sources: Mapping[int, Sequence[SourceOffset]]
) -> tuple[list[IdleSource], bool]:
    """Return the sources that brought nothing in a range of batches, and if another one did.

    ``first`` and ``last`` are the first and last batch of the range. ``sources`` are the offsets of
    the sources by batch. The second value is True if another source brought data. Returns an empty
    list and False if the offsets of a batch are unknown.
    """
    batches = range(first, last + 1)
    if any(batch not in sources for batch in batches):
        return [], False
    idle, has_moving_source = [], False
    for position, source in enumerate(sources[last]):
        seen = [offsets[position] for batch in batches if position < len(offsets := sources[batch])]
        if len(seen) < len(batches) or any(offset.name != source.name for offset in seen):
            continue
        if any(offset.moved for offset in seen):
            has_moving_source = True
        elif all(offset.moved is False for offset in seen):
            since = _since(position, source, first - 1, sources)
            idle.append(IdleSource(source.called, since, str(source.offset or "no offset")))
    return idle, has_moving_source


def _since(
    position: int, source: SourceOffset, batch: int, sources: Mapping[int, Sequence[SourceOffset]]
) -> int:
    """Return the first batch from which on a source has had its present offset.

    ``position`` is the position of ``source`` in the offsets of a batch. The search goes back from
    ``batch``, and ends where ``sources`` lacks a batch.
    """
    while batch in sources and position < len(sources[batch]):
        offset = sources[batch][position]
        if offset.name != source.name or offset.moved is not False or batch - 1 not in sources:
            break
        batch -= 1
    return batch
