"""Sources that brought nothing new in a row of batches while others did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspector.checkpoint.log_entries import SourceOffset
from inspector.light_dataclasses import dataclass


@dataclass(frozen=True)
class IdleSource:
    """A source that brought nothing new while the watermark stood still."""

    name: str  # name of the source
    since: int  # the first batch in the log that read up to where the source is
    offset: str  # its offset, as Spark wrote it


def idle_sources(
    first: int, last: int, sources: Mapping[int, Sequence[SourceOffset]]
) -> tuple[list[IdleSource], bool]:
    """Return the sources that brought nothing in some batches, and if another one did.

    ``first`` and ``last`` are the ends of the range of batches.
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
    """Return the first batch that read up to where a source is, backwards from ``batch``."""
    while batch in sources and position < len(sources[batch]):
        offset = sources[batch][position]
        if offset.name != source.name or offset.moved is not False or batch - 1 not in sources:
            break
        batch -= 1
    return batch
