"""From which numbers on something is worth a finding; every one can be set (``--threshold``).

A name is that of a :class:`Threshold`, or the id of a finding: then the value is the least number
of rows (of occurrences, if it counts none) from which on it is reported at all. Thresholds of
several rules are declared here, others in their rule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast, overload

from inspector.light_dataclasses import dataclass, field
from inspector.quantities import number_of

_ID = re.compile(r"SS[123]\d\d")  # id of a finding in the name of a threshold


T = TypeVar("T")  # type of the number


class Threshold(Generic[T]):
    """A number that rules compare with.

    Read as an attribute of a rule it is the number that the user set, or the default.
    """

    def __init__(self, default: T, unit: str, meaning: str, name: str = "") -> None:
        """Declare a threshold with its default, unit and meaning."""
        self.default = default
        self.unit = unit  # of the number, in the plural
        self.meaning = meaning  # a sentence for the documentation
        self.name = name  # in options; by default that of the attribute

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the attribute, unless the threshold has a name."""
        self.name = self.name or name

    @overload
    def __get__(self, rule: None, owner: type) -> Threshold[T]: ...

    @overload
    def __get__(self, rule: Any, owner: type) -> T: ...

    def __get__(self, rule: Any, owner: type) -> Threshold[T] | T:
        """Return the user's number, or the default; of the class the threshold itself."""
        return self if rule is None else self.number(rule.values)

    def number(self, thresholds: Thresholds) -> T:
        """Return the number that the user set, or the default."""
        return cast("T", thresholds.given.get(self.name, self.default))


@dataclass(frozen=True)
class Thresholds:
    """Thresholds that a user set; all others have their defaults."""

    # thresholds of rules that the user set, by name
    given: Mapping[str, float] = field(default_factory=dict)
    # id of a finding -> the least rows or occurrences from which on it is reported
    at_least: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(
        cls, given: Mapping[str, str | float], declared: Mapping[str, Threshold[Any]]
    ) -> Thresholds:
        """Return the thresholds with the user's ``NAME=VALUE``.

        ``declared`` are the thresholds of the rules, by name. Raises ValueError for an unknown name
        or a wrong number.
        """
        result: dict[str, Any] = {}
        ids: dict[str, int] = {}
        defaults = {name: threshold.default for name, threshold in declared.items()}
        for name, value in given.items():
            amount = number_of(value) if isinstance(value, str) else value
            if _ID.fullmatch(name):
                ids[name] = int(_parse_number(name, value, amount))
            elif name not in defaults:
                raise ValueError(
                    f"unknown threshold {name!r}; expected one of {', '.join(sorted(defaults))}, "
                    "or the id of a finding (SS202=100: reported from 100 rows on)"
                )
            elif isinstance(defaults[name], float):
                if amount is None:
                    raise ValueError(
                        f"{value!r} is not a number for the threshold {name}, expected one like 0.5"
                    )
                result[name] = float(amount)
            else:
                result[name] = int(_parse_number(name, value, amount))
        return cls(result, at_least=ids)

    def reports(self, id_: str, count: int | None) -> bool:
        """True if a finding with this number of rows or occurrences is reported.

        None counts as 1. The finding is given by its id.
        """
        return (1 if count is None else count) >= self.at_least.get(id_, 0)


def _parse_number(name: str, value: object, amount: float | None) -> float:
    """Return the number of a threshold; ValueError if it is no whole number."""
    if amount is None or amount != int(amount):
        raise ValueError(f"{value!r} is not a whole number for the threshold {name}")
    return amount


DEFAULTS = Thresholds()  # thresholds if the user sets none


# Thresholds of several rules, from here to the end of the module.
WINDOW_VERSIONS = Threshold(
    5, "versions", "Versions whose changes must be known.", "window_versions"
)
DATA_BATCHES = Threshold(3, "batches", "Batches with new data that must have run.", "data_batches")
UNIQUE_PUTS = Threshold(100, "puts", "Puts over these versions.", "unique_puts")
UNIQUE_SHARE = Threshold(0.99, "share", "Share of the puts that were of new keys.", "unique_share")
HOT_SHARE = Threshold(
    0.5, "share", "Share of a store's bytes, rows or entries that one key has.", "hot_share"
)
FAR_HOURS = Threshold(
    1.0, "hours", "Hours by which an expiry or a watermark is ahead.", "far_hours"
)
FAR_SHARE = Threshold(0.01, "share", "Share of a store's rows with such a time.", "far_share")
ALIKE_SHARE = Threshold(
    0.05,
    "share",
    "Share of a store's rows that expire late, of new keys that return, or of compared keys that "
    "nearly equal another.",
    "alike_share",
)
BEHIND_HOURS = Threshold(
    1.0,
    "hours",
    "Hours from the watermark to the newest event times less the delay.",
    "behind_hours",
)
VALUE_BYTES = Threshold(4_096, "bytes", "Bytes of the largest value.", "value_bytes")
MEAN_VALUE_BYTES = Threshold(
    1_024, "bytes", "Bytes of the mean value, or of a column of a row.", "mean_value_bytes"
)
HOT_ROWS = Threshold(
    100, "rows", "Rows of a join's side, sessions, or entries of a list or map.", "hot_rows"
)
