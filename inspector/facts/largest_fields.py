"""The keys whose rows hold the most bytes of one field, exact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from inspector.arrays import Int64s
from inspector.facts.fact import Fact, fact
from inspector.light_dataclasses import dataclass
from inspector.operators.rule import RowPart


@fact("largest_field")
@dataclass(frozen=True)
class LargestField(Fact):
    """A live row with more bytes of one field than all rows of its partition that are not listed.

    Rows of equal size are all listed or none, so that a field of a fixed width has none. Never
    added up; see :func:`largest_rows`.
    """

    side: RowPart  # keys or values, whichever has the field
    ordinal: int  # position of the field in its schema, from 0
    size: int  # bytes of the field in the row: its word, its variable part and padding
    # UnsafeRow of the row's key; empty if the fact is of no single row
    key: bytes
    # True if ``size`` is the largest of the rows that are not listed; 0 if all are
    is_of_others: bool = False


class LargestFields:
    """Collector of the rows of one store that have the most bytes of each field."""

    def __init__(self, max_rows: int) -> None:
        """Begin without rows; at most ``max_rows`` of each field are listed."""
        self._max_rows = max_rows
        self._facts: dict[tuple[RowPart, int], list[LargestField]] = {}

    def taker(self, side: RowPart, keys: Any) -> Callable[[int, Int64s], None]:
        """Return a function that adds rows: the ordinal of a field, and its bytes in each row.

        ``keys`` is an Arrow column with the keys of these rows.
        """
        return lambda ordinal, sizes: self._add(side, ordinal, sizes, keys)

    def _add(self, side: RowPart, ordinal: int, sizes: Int64s, keys: Any) -> None:
        """Add the bytes of one field in each row; ``keys`` is a column with their keys."""
        facts = self._facts.setdefault((side, ordinal), [_others(side, ordinal, 0)])
        (numbers,) = (sizes > facts[-1].size).nonzero()
        if len(numbers) > self._max_rows:
            first = len(numbers) - self._max_rows - 1
            size = int(np.partition(sizes[numbers], first)[first])
            facts = [*facts, _others(side, ordinal, size)]
            numbers = numbers[sizes[numbers] > size]
        rows = [
            LargestField(side, ordinal, int(sizes[number]), keys[int(number)].as_py())
            for number in numbers
        ]
        self._facts[side, ordinal] = largest_rows([*facts, *rows], self._max_rows)

    def facts(self) -> Iterator[LargestField]:
        """Yield the listed rows of each field, and the largest size of its other rows."""
        for facts in self._facts.values():
            yield from facts


def largest_rows(facts: Iterable[LargestField], max_rows: int) -> list[LargestField]:
    """Return the facts of one field for all rows, from those of parts of the rows.

    At most ``max_rows`` rows are listed, those with the most bytes first. The last fact has the
    largest size of the others; 0 if there are none.
    """
    all_facts = list(facts)
    size = max((one.size for one in all_facts if one.is_of_others), default=0)
    rows = [one for one in all_facts if not one.is_of_others and one.size > size]
    rows.sort(key=lambda one: (-one.size, one.key))
    if len(rows) > max_rows:
        size = rows[max_rows].size
        rows = [one for one in rows[:max_rows] if one.size > size]
    return [*rows, _others(all_facts[0].side, all_facts[0].ordinal, size)]


def _others(side: RowPart, ordinal: int, size: int) -> LargestField:
    """Return the fact with the largest size of the rows that are not listed."""
    return LargestField(side, ordinal, size, b"", is_of_others=True)
