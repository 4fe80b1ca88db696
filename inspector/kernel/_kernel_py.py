"""The kernel in Python: the definition of what ``_kernel_c`` does faster.

Operations over spans of one buffer, a span being an offset and a length: find the records, hash,
concatenate, give equal byte strings equal numbers; and what is done with those numbers and rows.
Each is a function of its name here and in C. Arrays are one-dimensional, contiguous, 64-bit signed
integers (hashes: unsigned) such as ``numpy.int64`` arrays.

No operation raises an error of the format: :func:`scan` returns a status. Spans outside of the
buffer, ids without a row, arrays of different length and results without room are a mistake of the
caller, hence ``ValueError``.
"""

from __future__ import annotations

from inspector.kernel._changes import apply as apply
from inspector.kernel._changes import change_columns as change_columns
from inspector.kernel._changes import tally as tally
from inspector.kernel._interner import Interner as Interner
from inspector.kernel._order import descents as descents
from inspector.kernel._rows import check_rows as check_rows
from inspector.kernel._rows import read_slots as read_slots
from inspector.kernel._rows import row_hashes as row_hashes
from inspector.kernel._scan import scan as scan
from inspector.kernel._spans import gather as gather
from inspector.kernel._spans import hash64 as hash64
from inspector.kernel._spans import rows_of_range as rows_of_range
from inspector.kernel._sst import index_handles as index_handles
from inspector.kernel._sst import lz4_blocks as lz4_blocks
from inspector.kernel._sst import table_entries as table_entries
from inspector.kernel._sst_live import table_live as table_live
