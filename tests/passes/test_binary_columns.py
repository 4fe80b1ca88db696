"""Spans as columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from inspector.passes.binary_columns import binary, keys_of, repeat, values_of
from tests.cases import block


@given(st.lists(st.none() | st.binary(max_size=9), max_size=20))
def test_spans_are_copied_out_and_negative_ones_are_null(values: list[bytes | None]) -> None:
    records = block([(b"", value) for value in values])
    offsets = np.where(records.value_length < 0, -5, records.value_offset)
    result = binary(records.buffer, offsets, records.value_length)
    result.validate(full=True)
    assert result.to_pylist() == values


def test_keys_and_values_of_some_records() -> None:
    entries = block([(b"a", b"1"), (b"b", None), (b"", b"")])
    assert keys_of(entries, np.array([0, 2])).to_pylist() == [b"a", b""]
    every = np.ones(3, np.bool_)
    assert values_of(entries, every).to_pylist() == [b"1", None, b""]


def test_columns_without_a_value_are_left_out() -> None:
    result = repeat({"a": 1, "b": None}, 2)
    assert pa.table(result).to_pydict() == {"a": [1, 1]}
