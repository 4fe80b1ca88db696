"""Values that add, most of them field by field: counts and sizes of several stores or versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from operator import add
from typing import Any, TypeVar

from inspector.light_dataclasses import field, fields

SumsT = TypeVar("SumsT", bound="Sums")  # class of sums
T = TypeVar("T")  # type of values
K = TypeVar("K")  # type of keys


class Sums:
    """Base of frozen dataclasses that add field by field.

    Without arguments a value is zero. A field adds by ``+``, or as ``sum_by`` declares.
    """

    def __add__(self: SumsT, second: SumsT) -> SumsT:
        """Return the sum, field by field."""
        return _sum_fields((self, second))


def sum_by(function: Callable[[Any, Any], Any], zero: object) -> Any:
    """Declare a field that adds by ``function`` of two values, and its zero."""
    return field(default=zero, metadata={"sum_by": function})


def lesser(number: int | None, second: int | None) -> int | None:
    """Return the lesser of two numbers; None counts as absent."""
    return min((n for n in (number, second) if n is not None), default=None)


def first_non_zero(value: T, second: T) -> T:
    """Return the first non-zero value. All non-zero operands of such a field are equal."""
    return value or second


@cache
def _functions(kind: Any) -> tuple[Callable[[Any, Any], Any], ...]:
    """Return for each field of a class the function by which it adds."""
    return tuple(f.metadata.get("sum_by", add) for f in fields(kind))


def sum_or_none(numbers: Iterable[int | None]) -> int | None:
    """Return the sum; None if one of the numbers is None."""
    amounts = list(numbers)
    return None if None in amounts else sum(filter(None, amounts))


def sum_known(numbers: Iterable[int | None]) -> int | None:
    """Return the sum without the numbers that are None; None if there are no others."""
    amounts = [number for number in numbers if number is not None]
    return sum(amounts) if amounts else None


def sum_by_key(pairs: Iterable[tuple[K, int]]) -> dict[K, int]:
    """Return the sum of the numbers of each key, in the order in which keys first occur."""
    sums: dict[K, int] = {}
    for key, number in pairs:
        sums[key] = sums.get(key, 0) + number
    return sums


def group_by(values: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return the values grouped by their key, in the order in which keys first occur."""
    groups: dict[K, list[T]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def sum_of(values: Sequence[T]) -> T:
    """Return the sum of at least one value of a type that adds; faster than repeated ``+``."""
    first: Any = values[0]
    if len(values) == 1:
        return values[0]
    if isinstance(first, int):
        return sum(values)  # type: ignore[arg-type, return-value]
    if isinstance(first, Counter):
        return _sum_counters(values)  # type: ignore[arg-type, return-value]
    has_fields_only = isinstance(first, Sums) and type(first).__add__ is Sums.__add__
    return _sum_fields(values) if has_fields_only else reduce(add, values)  # type: ignore[type-var]


def _sum_fields(values: Sequence[SumsT]) -> SumsT:
    """Return the sum of values of one class, field by field."""
    # In the order of the fields, as a dataclass sets them.
    columns = zip(*(vars(value).values() for value in values), strict=True)
    kind: Any = type(values[0])
    result: SumsT = kind(*map(_sum_column, _functions(kind), columns))
    return result


def _sum_column(function: Callable[[Any, Any], Any], column: Sequence[Any]) -> Any:
    """Return the sum of the values of one field by its function."""
    return sum_of(column) if function is add else reduce(function, column)


def _sum_counters(counters: Sequence[Counter[Any]]) -> Counter[Any]:
    """Return the sum of counters, without counts that are not above 0; faster than ``+``."""
    total: dict[Any, int] = {}
    for counter in counters:
        for key, count in counter.items():
            total[key] = total.get(key, 0) + count
    return counter_of({key: count for key, count in total.items() if count > 0})


def counter_of(counts: Mapping[T, int] | Iterable[tuple[T, int]]) -> Counter[T]:
    """Return a counter with these counts; faster than ``Counter(counts)``."""
    counter: Counter[T] = Counter.__new__(Counter)
    dict.update(counter, counts)
    return counter
