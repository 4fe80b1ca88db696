"""The one place that chooses between the compiled loops and their Python twin.

``INSPECTOR_KERNEL=c`` or ``=python`` requests one of them; requested and absent is an error and
never a silent change to the other. Unset, C is used where it was built. Both give the same
results for every input; :mod:`inspector.kernel._kernel_py` is the definition.
"""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any, Protocol, cast

from inspector.exceptions import EngineError
from inspector.kernel import _kernel_py
from inspector.kernel.layout import BAD_KEY_LENGTH, END, FULL, MORE, OVER_LIMIT, SPAN

__all__ = [
    "BAD_KEY_LENGTH",
    "END",
    "ENVIRONMENT",
    "FULL",
    "MORE",
    "OVER_LIMIT",
    "SPAN",
    "Interner",
    "Kernel",
    "kernel",
    "kernel_name",
    "load",
]

ENVIRONMENT = "INSPECTOR_KERNEL"
_C_MODULE = "inspector.kernel._kernel_c"


class Interner(Protocol):
    """What :class:`inspector.kernel._interner.Interner` defines."""

    def intern(self, buffer: Any, offsets: Any, lengths: Any, out: Any, /) -> None:
        """Give every span the number of its bytes."""

    def find(self, key: Any, /) -> int:
        """The number of a byte string, or -1."""

    def lengths(self, out: Any, /) -> None:
        """The length of every byte string."""

    def gather(self, ids: Any, offsets: Any, /) -> bytes:
        """The byte strings of some numbers."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""


class Kernel(Protocol):
    """What both kernels are: a module with these functions."""

    def scan(self, buffer: Any, start: int, spans: Any, max_length: int, /) -> tuple[int, int, int]:
        """Find whole records."""

    def hash64(self, buffer: Any, offsets: Any, lengths: Any, skip: int, out: Any, /) -> None:
        """Hash every span."""

    def gather(self, buffer: Any, offsets: Any, lengths: Any, /) -> bytes:
        """Concatenate spans."""

    def apply(  # noqa: PLR0913 - the columns of the records, and four results
        self,
        table: Any,
        ids: Any,
        key_sizes: Any,
        value_sizes: Any,
        hashes: Any,
        clocks: Any,
        step: int,
        first_record: int,
        flags: int,
        touched: Any,
        counts: Any,
        sums: Any,
        by_size: Any,
        /,
    ) -> tuple[int, int]:
        """Apply records to a table of keys."""

    def change_columns(  # noqa: PLR0913 - the tables, the version, and two results
        self,
        table: Any,
        touched: Any,
        step: int,
        flags: int,
        first: int,
        numbers: Any,
        outcomes: Any,
        /,
    ) -> None:
        """List what a version did to the keys that it touched."""

    def tally(
        self, table: Any, touched: Any, step: int, flags: int, sums: Any, by_size: Any, /
    ) -> int:
        """Add up what a version did to the keys that it touched."""

    def check_rows(self, buffer: Any, offsets: Any, lengths: Any, program: Any, out: Any, /) -> int:
        """Find the rows that may not fit their schema."""

    def read_slots(
        self, buffer: Any, offsets: Any, lengths: Any, path: Any, values: Any, valid: Any, /
    ) -> None:
        """Read one 64-bit field of every row."""

    def descents(self, buffer: Any, offsets: Any, lengths: Any, program: Any, below: Any, /) -> int:
        """Find the rows that are below the one before them."""

    def Interner(self) -> Interner:  # noqa: N802 - a class in both kernels
        """A new, empty interner."""


def load(choice: str) -> Kernel:
    """One kernel by name.

    Args:
        choice: ``c``, ``python``, or empty for C where it was built.

    Raises:
        EngineError: no such kernel, or C is requested and was not built.
    """
    if choice not in ("c", "python", ""):
        raise EngineError(f"{ENVIRONMENT} is {choice!r}, expected 'c' or 'python'")
    if choice != "python":
        try:
            return cast("Kernel", importlib.import_module(_C_MODULE))
        except ImportError as error:
            if choice == "c":
                raise EngineError(f"{ENVIRONMENT}=c, but it was not built: {error}") from error
    return cast("Kernel", _kernel_py)


@functools.cache
def kernel() -> Kernel:
    """The kernel of this process; chosen at the first call.

    Raises:
        EngineError: the environment requests a kernel that is not there.
    """
    return load(os.environ.get(ENVIRONMENT, ""))


def kernel_name() -> str:
    """``c`` or ``python``: the kernel of this process, for reports."""
    return "python" if kernel() is cast("Kernel", _kernel_py) else "c"
