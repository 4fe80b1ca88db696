"""Checks of the arguments of the kernel in Python, equal to those in ``arguments.h``."""

from __future__ import annotations

import operator
from collections.abc import Sized
from typing import Any

import numpy as np
import numpy.typing as npt

from inspector.arrays import Int64s

_MOST = (1 << 63) - 1  # largest signed number of 64 bits


def number(value: Any) -> int:
    """Return a number of 64 bits. TypeError: no integer. OverflowError: it is larger."""
    result = operator.index(value)
    if not -_MOST - 1 <= result <= _MOST:
        raise OverflowError("expected a number of 64 bits")
    return result


def octets(buffer: Any) -> memoryview:
    """Return a buffer as a view of bytes."""
    view = memoryview(buffer)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def structs(array: Any, dtype: np.dtype[Any], *, writable: bool = True) -> npt.NDArray[Any]:
    """Return a buffer as an array of whole structs. TypeError: not contiguous or not writable."""
    view = memoryview(array)
    if (writable and view.readonly) or not view.c_contiguous:
        raise TypeError("expected a writable contiguous buffer")
    return np.ndarray((view.nbytes // dtype.itemsize,), dtype, array)


def integers(array: Any, dtype: Any = np.int64) -> npt.NDArray[Any]:
    """Return an array as one of 64-bit integers. TypeError: other items, or not contiguous."""
    view = np.asarray(memoryview(array))
    if view.dtype != dtype or not view.flags.c_contiguous:
        raise TypeError("expected a contiguous array of 64-bit integers")
    return view.reshape(-1)


def writable(array: Any, dtype: Any) -> npt.NDArray[Any]:
    """Return an array of 64-bit integers for results. TypeError: it is none, or read only."""
    result = integers(array, dtype)
    if not result.flags.writeable:
        raise TypeError("expected a writable array")
    return result


def check_spans(buffer: Any, offsets: Any, lengths: Any) -> tuple[memoryview, Int64s, Int64s]:
    """Return buffer, offsets and lengths of spans. ValueError: a span is outside of the buffer."""
    view, starts, sizes = octets(buffer), integers(offsets), integers(lengths)
    same_length(starts, sizes)
    # In this order, nothing can overflow: a length is compared with what remains.
    inside = (starts >= 0) & (starts <= len(view)) & (sizes >= 0) & (sizes <= len(view) - starts)
    if not bool(inside.all()):
        raise ValueError("a span lies outside of the buffer")
    return view, starts, sizes


def same_length(*arrays: Sized) -> None:
    """Raise ValueError if arrays differ in length."""
    if len({len(array) for array in arrays}) > 1:
        raise ValueError("arrays differ in length")
