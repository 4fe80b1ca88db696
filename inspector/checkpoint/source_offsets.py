"""The offsets of each source, batch by batch: which source brought data, and which stood still.

An offset is any JSON that its source wrote: a few bytes of a file source, 20 KB of a Kafka topic
with a thousand partitions, and of a damaged or hostile entry whatever fits a line. So of each only
the beginning is kept, and whether the whole differs from that of the batch before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

OFFSET_CHARS = 120
"""Characters kept of an offset, for people to recognise it by."""

NAME_CHARS = 80
"""Characters kept of a source's name."""

_JSON = re.compile(r'\s*(?:-?\d+(?:\.\d+)?|\{.*\}|\[.*\]|".*"|true|false|null)\s*')
_KAFKA = re.compile(r'\{"([^"\\]{1,80})":\{"\d+":-?\d+[,}]')
"""The first topic of ``{"orders":{"0":23,"1":42}}`` (``KafkaSourceOffset``)."""

MOST_SOURCES = 64
"""Sources kept of an entry; a query has a few."""


@dataclass(frozen=True)
class SourceOffset:
    """Where one source stood when a batch began to read up to it.

    Attributes:
        name: its place among the query's sources (from 0), or the name that
            ``DataStreamReader.name`` gave it (Spark 4.2 and later).
        offset: the beginning of its offset as Spark wrote it; None as long as it has none.
        moved: whether the whole offset differs from that of the batch before; None if the entry of
            the batch before is not in the log.
    """

    name: str
    offset: str | None
    moved: bool | None

    @property
    def called(self) -> str:
        """``source 1``, ``source 1 (Kafka topic orders)``, ``source orders``."""
        kafka = _KAFKA.match(self.offset or "")
        return f"source {self.name}" + (f" (Kafka topic {kafka[1]})" if kafka else "")


def like_json(offset: str) -> bool:
    """Whether an offset begins and ends as JSON does, which nearly every source writes."""
    return _JSON.fullmatch(offset) is not None


def source_offsets(
    sources: Mapping[str, str | None], before: Mapping[str, str | None] | None
) -> tuple[SourceOffset, ...]:
    """The sources of an entry, in its order.

    Args:
        sources: of :class:`inspector.checkpoint.log_entries.OffsetEntry`.
        before: those of the batch before; None if its entry is not there.
    """
    return tuple(
        SourceOffset(
            name[:NAME_CHARS],
            None if offset is None else offset[:OFFSET_CHARS],
            None if before is None else before.get(name) != offset,
        )
        for name, offset in islice(sources.items(), MOST_SOURCES)
    )
