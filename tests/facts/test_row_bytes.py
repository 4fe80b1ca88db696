"""What the fields of live rows take, of keys and of values apart."""

from __future__ import annotations

from inspector.decode.field_sizes import FieldBytes, RowBytes
from inspector.facts.row_bytes import FieldSizes
from inspector.operators.rule import Side


def test_keys_and_values_are_added_apart() -> None:
    rows = RowBytes(2, 8, (FieldBytes(1, 16), FieldBytes(0, 16, 3, 5)), 1)
    key, value = FieldSizes(Side.KEY, rows), FieldSizes(Side.VALUE, rows)
    assert key.merge_key(1) == key.merge_key(2) != value.merge_key(1)
    assert key + key == FieldSizes(Side.KEY, rows + rows)
    assert FieldSizes() + value == value
