"""Bytes of the fields of live rows, for keys and for values."""

from __future__ import annotations

from inspector.decode.field_sizes import FieldBytes, RowBytes
from inspector.facts.size_distributions import FieldSizes
from inspector.operators.rule import RowPart


def test_field_sizes_of_keys_and_values_add_separately() -> None:
    rows = RowBytes(2, 8, (FieldBytes(1, 16), FieldBytes(0, 16, 3, 5)), 1)
    key, value = FieldSizes(RowPart.KEY, rows), FieldSizes(RowPart.VALUE, rows)
    assert key.merge_key(1) == key.merge_key(2) != value.merge_key(1)
    assert key + key == FieldSizes(RowPart.KEY, rows + rows)
    assert FieldSizes() + value == value
