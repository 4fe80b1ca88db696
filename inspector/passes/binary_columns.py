"""Spans of records as Arrow columns of binary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inspector.arrays import Int64s
from inspector.decode.records import RecordBlock
from inspector.kernel.loader import kernel
from inspector.schemas import repeat_value

# Records of a block: a mask over all of its records, or their indexes.
Rows = npt.NDArray[np.bool_] | Int64s


def keys_of(block: RecordBlock, rows: Rows) -> Any:
    """Return the keys of some records of a block as a binary Arrow array."""
    return binary(block.buffer, block.key_offset[rows], block.key_length[rows])


def values_of(block: RecordBlock, rows: Rows) -> Any:
    """Return the values of some records of a block as a binary Arrow array, null for a removal."""
    return binary(block.buffer, block.value_offset[rows], block.value_length[rows])


def records_of(block: RecordBlock, rows: Int64s) -> Iterator[tuple[bytes, bytes]]:
    """Yield (key, value) as bytes for some records of a block, all of which must be puts."""
    view = memoryview(block.buffer)
    spans = (block.key_offset, block.key_length, block.value_offset, block.value_length)
    for key_at, key_size, value_at, value_size in zip(
        *(span[rows].tolist() for span in spans), strict=True
    ):
        yield bytes(view[key_at : key_at + key_size]), bytes(view[value_at : value_at + value_size])


def binary(buffer: bytes, offsets: Int64s, lengths: Int64s) -> Any:
    """Return an Arrow array of byte strings, copied from spans of a buffer.

    A negative length makes a null.
    """
    valid = lengths >= 0
    offsets = np.where(valid, offsets, 0)
    lengths = np.maximum(lengths, 0)
    ends: Any = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=ends[1:])
    data = kernel().gather(buffer, offsets, lengths)
    bits = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    buffers = [bits, pa.py_buffer(memoryview(ends)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)


def repeat(columns: dict[str, Any], rows: int) -> dict[str, Any]:
    """Return Arrow columns of ``rows`` rows, each with one value in every row.

    ``columns`` has the value by column name. A column whose value is None is left out.
    """
    values = {name: value for name, value in columns.items() if value is not None}
    return {name: repeat_value(value, rows) for name, value in values.items()}
