"""The keys that several tables hold together, each with its newest value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.arrays import Int64s
from inspector.decode.sst.table import Table
from inspector.model import LIMITS, Limits


@dataclass(frozen=True, slots=True, eq=False)
class LiveBlock:
    """Some consecutive live keys with their values, as spans over one buffer.

    The names are those of :class:`~inspector.decode.records.RecordBlock`.

    Attributes:
        buffer: what the offsets count from.
        key_offset: where each key starts. key_length: its bytes.
        value_offset: where each value starts. value_length: its bytes.
    """

    buffer: bytes
    key_offset: Int64s
    key_length: Int64s
    value_offset: Int64s
    value_length: Int64s

    @property
    def count(self) -> int:
        """How many keys these are."""
        return len(self.key_offset)


def live_entries(tables: Sequence[Table], limits: Limits = LIMITS) -> Iterator[LiveBlock]:
    """What a reader of a database of these tables sees: its live keys, in order.

    Of the entries of a key the one with the highest sequence number decides. Tables of which no
    other holds keys in the same range are passed through as they are; memory is bounded by
    ``limits`` and does not grow with the tables.

    Raises:
        DecodeError: a table is not what its format says; carries path and offset.
        OSError: it cannot be read.
    """
    raise NotImplementedError
