"""Rows that the watermark of their own batch left far behind: rows like them are dropped as late.

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

FAR_DIGITS = 4  # binary digits of 8 minutes: rows that are less far behind are only out of order
LATE_ROWS = Severity.WARNING if INFERENCES["late-rows"].warns else Severity.INFO
"""Severity of findings about rows that are dropped as late."""


class LateRows(NamedTuple):
    """Rows that one batch put and that the watermark of this batch left far behind."""

    batch: int  # batch that put the rows
    late: int  # rows behind the watermark that the batch made
    rows: int  # all rows that the batch put
    # by how much the nearest of them is behind that watermark, at the least; the furthest is less
    # than four times as far
    least_ms: int


def late_rows(batch: int, digits: Mapping[int, int]) -> LateRows | None:
    """Return the late rows of a batch; None if it has none, or rows of all ages.

    ``digits`` is the number of rows by the number of binary digits of the minutes that they are
    behind.
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
    """Return the late rows of each batch, all stores of an operator together."""
    digits: dict[tuple[int, int], Counter[int]] = {}
    for name, versions in facts.merged(RowsBehind).items():
        for version, behind in versions.items():
            digits.setdefault((version - 1, name.operator_id), Counter()).update(behind.digits)
    result = (late_rows(batch, of_batch) for (batch, _), of_batch in digits.items())
    return [rows for rows in result if rows is not None]
