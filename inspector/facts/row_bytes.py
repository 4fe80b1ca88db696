"""What the fields of the live rows take."""

from __future__ import annotations

from dataclasses import dataclass, field

from inspector.decode.field_sizes import RowBytes
from inspector.facts.fact import Fact, fact
from inspector.operators.rule import Side


@fact("field_sizes")
@dataclass(frozen=True)
class FieldSizes(Fact):
    """Where the bytes of the keys, or of the values, of the live rows are. Adds.

    Attributes:
        side: keys or values; None in the zero.
        rows: what they take, field by field.
    """

    side: Side | None = None
    rows: RowBytes = field(default_factory=RowBytes)

    def __add__(self, other: FieldSizes) -> FieldSizes:
        return FieldSizes(self.side or other.side, self.rows + other.rows)

    def merge_key(self, _version: int) -> tuple[Side | None]:
        """Those of one side add."""
        return (self.side,)
