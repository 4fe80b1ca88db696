"""Arguments of kernel functions, and the condition of tests that need the C kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from inspector.arrays import Int64s
from tests.cases import KERNELS

needs_c = pytest.mark.skipif("c" not in KERNELS, reason="only the Python kernel was requested")


def int64s(*values: int) -> Int64s:
    """Return an array of 64-bit integers."""
    return np.array(values, np.int64)


def spans_of(parts: Sequence[bytes]) -> tuple[bytes, Int64s, Int64s]:
    """Return the joined parts with the offset and the length of each part."""
    lengths = int64s(*map(len, parts))
    return b"".join(parts), np.cumsum(lengths) - lengths, lengths


def assert_refused(*calls: Callable[[], object], match: str | None = None) -> None:
    """Check that every call raises an error of a wrong argument with a matching message."""
    for call in calls:
        with pytest.raises((TypeError, ValueError, BufferError), match=match):
            call()
