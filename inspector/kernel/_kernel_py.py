"""The kernel in Python: the definition of what ``_kernel_c`` does faster.

Each operation is a function of its name here and in C. Most are about spans of one ``buffer``, by
arrays of ``offsets`` and ``lengths``: bytes, keys, rows, blocks. A ``program``
(:mod:`inspector.kernel.programs`) describes the fields of rows. Arrays are one-dimensional,
contiguous, 64-bit signed integers (hashes: unsigned) such as ``numpy.int64`` arrays.

No operation raises an error of the format: :func:`scan` returns a status. Spans outside of the
buffer, ids without a row, arrays of different length and results without room are mistakes of the
caller, hence ``ValueError``.
"""

from __future__ import annotations

from inspector.kernel._changes import apply, change_columns, tally
from inspector.kernel._interner import Interner
from inspector.kernel._order import descents
from inspector.kernel._rows import check_rows, read_slots, row_hashes
from inspector.kernel._scan import scan
from inspector.kernel._spans import gather, hash64, rows_of_range
from inspector.kernel._sst import index_handles, lz4_blocks, table_entries
from inspector.kernel._sst_live import table_live


class Kernel:
    """Interface of both kernels: a module with these names and types."""

    Interner = Interner
    apply = staticmethod(apply)
    change_columns = staticmethod(change_columns)
    check_rows = staticmethod(check_rows)
    descents = staticmethod(descents)
    gather = staticmethod(gather)
    hash64 = staticmethod(hash64)
    index_handles = staticmethod(index_handles)
    lz4_blocks = staticmethod(lz4_blocks)
    read_slots = staticmethod(read_slots)
    row_hashes = staticmethod(row_hashes)
    rows_of_range = staticmethod(rows_of_range)
    scan = staticmethod(scan)
    table_entries = staticmethod(table_entries)
    table_live = staticmethod(table_live)
    tally = staticmethod(tally)
