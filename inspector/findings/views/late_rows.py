"""Rows that the watermark of their own batch left far behind: later rows like them are dropped.

Whether later rows are dropped is inferred (inference ``late-rows``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from inspector.facts.ages import AHEAD, RowsBehind
from inspector.findings.finding import Severity
from inspector.merge.collect import Facts
from inspector.operators.inferences import INFERENCES

# binary digits of 8 minutes: rows that are less far behind the watermark are only out of order
FAR_DIGITS = 4
LATE_ROWS = Severity.WARNING if INFERENCES["late-rows"].warns else Severity.INFO
"""Severity of findings about late rows: info if the inference ``late-rows`` is often wrong."""


class LateRows(NamedTuple):
    """Rows that one batch put and that the watermark of this batch left far behind."""

    batch: int  # batch that put the rows
    late: int  # number of rows far behind the watermark that the batch made
    rows: int  # number of all rows that the batch put
    # ms by which each late row is behind that watermark at the least; the farthest one is less
    # than four times as far
    least_ms: int


def late_rows(batch: int, digits: Mapping[int, int]) -> LateRows | None:
    """Return the rows of a batch that are far behind its watermark, apart from the other rows.

    ``digits`` are the numbers of rows that the batch put. Their keys are the binary digits of the
    whole minutes that rows are behind the watermark that the batch made, or ``AHEAD``. Returns None
    if no row is 8 minutes behind. Also returns None if rows of all ages are there, or no near ones.
    """
    # A source that is read from long ago on has rows of all ages. If some are far behind and none
    # is half as far, they are of another source, or of another clock.
    far = max(digits, default=AHEAD)
    is_apart = not any(digits.get(far - n) for n in (2, 3)) and min(digits, default=far) < far - 3
    if far < FAR_DIGITS or not is_apart:
        return None
    late = sum(rows for digit, rows in digits.items() if digit >= far - 1)
    nearest = min(digit for digit in digits if digit >= far - 1)
    return LateRows(batch, late, sum(digits.values()), 60_000 << (nearest - 1))


def late_batches(facts: Facts) -> list[LateRows]:
    """Return the late rows of each batch and operator that has some, all stores together."""
    digits: dict[tuple[int, int], Counter[int]] = {}
    for name, versions in facts.merged(RowsBehind).items():
        for version, behind in versions.items():
            digits.setdefault((version - 1, name.operator_id), Counter()).update(behind.digits)
    result = (late_rows(batch, of_batch) for (batch, _), of_batch in digits.items())
    return [rows for rows in result if rows is not None]
