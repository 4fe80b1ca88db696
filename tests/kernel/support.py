"""Arguments of kernel functions, and the condition of tests that need the C kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from inspector.arrays import Int64s
from tests.cases import KERNELS
from tests.decode.spans import spans_of

if TYPE_CHECKING:
    from inspector.kernel.loader import Kernel
else:
    Kernel = Any  # the module of a kernel, whose stub only type checkers read

__all__ = ["Kernel", "assert_refused", "int64s", "needs_c", "spans_of"]

needs_c = pytest.mark.skipif("c" not in KERNELS, reason="only the Python kernel was requested")


def int64s(*values: int) -> Int64s:
    """Return an array of 64-bit integers."""
    return np.array(values, np.int64)


def assert_refused(*calls: Callable[[], object], match: str | None = None) -> None:
    """Check that every call raises an error of a wrong argument with a matching message."""
    for call in calls:
        with pytest.raises((TypeError, ValueError, BufferError), match=match):
            call()
