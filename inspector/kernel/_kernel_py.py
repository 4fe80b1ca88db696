"""The kernel in Python: the definition of what ``_kernel_c`` does faster.

Operations over spans of one buffer, a span being an offset and a length: find the records, hash,
concatenate, give equal byte strings equal numbers; and what is done with those numbers and rows.
Each has a file of its job, here and in C. Arrays are one-dimensional, contiguous, 64-bit signed
integers (hashes: unsigned) such as ``numpy.int64`` arrays.

No operation raises an error of the format: :func:`scan` returns a status. Spans outside of the
buffer are a mistake of the caller, hence ``ValueError``.
"""

from __future__ import annotations

from inspector.kernel._apply import apply
from inspector.kernel._changes import change_columns, tally
from inspector.kernel._hashes import row_hashes
from inspector.kernel._interner import Interner
from inspector.kernel._order import descents
from inspector.kernel._ranges import rows_of_range
from inspector.kernel._rows import check_rows, read_slots
from inspector.kernel._scan import scan
from inspector.kernel._spans import gather, hash64
from inspector.kernel._sst import lz4_blocks, table_entries
from inspector.kernel._sst_index import index_handles
from inspector.kernel._sst_live import table_live
from inspector.kernel.layout import (
    BAD_BLOCK,
    BAD_ENTRY,
    BAD_KEY_LENGTH,
    BAD_ORDER,
    END,
    ENTRY,
    FULL,
    MORE,
    OVER_LIMIT,
    SPAN,
)

__all__ = [
    "BAD_BLOCK",
    "BAD_ENTRY",
    "BAD_KEY_LENGTH",
    "BAD_ORDER",
    "END",
    "ENTRY",
    "FULL",
    "MORE",
    "OVER_LIMIT",
    "SPAN",
    "Interner",
    "apply",
    "change_columns",
    "check_rows",
    "descents",
    "gather",
    "hash64",
    "index_handles",
    "lz4_blocks",
    "read_slots",
    "row_hashes",
    "rows_of_range",
    "scan",
    "table_entries",
    "table_live",
    "tally",
]
