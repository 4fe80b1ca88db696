"""The numpy arrays that travel between the rooms, by what they hold; and how they grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Int8s = npt.NDArray[np.int8]
UInt8s = npt.NDArray[np.uint8]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]


def longer(array: npt.NDArray[Any], length: int, *, fill: int = 0) -> npt.NDArray[Any]:
    """A copy of an array, lengthened by a value."""
    grown = np.zeros(length, array.dtype)  # which costs nothing until they are written
    grown[: len(array)] = array
    if fill:
        grown[len(array) :] = fill
    return grown
