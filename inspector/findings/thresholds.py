"""From which numbers on something is worth a finding; every one can be set (``--threshold``).

A name is that of a :class:`Threshold` of a rule, a field of :class:`Thresholds`, or the id of a
finding: then the value is the least number of rows (of occurrences, where it counts none) from
which on it is reported at all. Thresholds of several rules are declared here, others in their rule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar, overload

from inspector.light_dataclasses import dataclass, field, fields
from inspector.quantities import number_of

_ID = re.compile(r"SS[123]\d\d")


T = TypeVar("T")


class Threshold(Generic[T]):
    """A number that rules compare with. As an attribute of a rule it reads as the user's number."""

    def __init__(self, default: T, unit: str, meaning: str, name: str = "") -> None:
        self.default = default
        self.unit = unit  # of the number, in the plural
        self.meaning = meaning  # a sentence for the documentation
        self.name = name  # in options; by default that of the attribute

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    @overload
    def __get__(self, rule: None, owner: type) -> Threshold[T]: ...

    @overload
    def __get__(self, rule: Any, owner: type) -> T: ...

    def __get__(self, rule: Any, owner: type) -> Threshold[T] | T:
        """Return the user's number, or the default; of the class the threshold itself."""
        return self if rule is None else rule.values.given.get(self.name, self.default)


@dataclass(frozen=True)
class Thresholds:
    """The numbers that the rules compare with; their meaning: ``reference/findings``."""

    # thresholds of rules that the user set, by name
    given: Mapping[str, float] = field(default_factory=dict)
    window_versions: int = 5
    entries_per_key: int = 64
    entries_warned: int = 1024
    timers_per_key: float = 3.0
    many_timers_per_key: float = 10.0
    unique_puts: int = 100
    unique_share: float = 0.99
    alike_share: float = 0.05
    far_hours: float = 1.0
    far_share: float = 0.01
    short_delay_ms: int = 1_000
    data_batches: int = 3
    ahead_hours: float = 24.0
    behind_hours: float = 1.0
    ahead_noted: float = 0.5
    value_bytes: int = 4096
    hot_share: float = 0.5
    hot_rows: int = 100
    mean_value_bytes: int = 1024
    # id of a finding -> the least rows or occurrences from which on it is reported
    at_least: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(
        cls, given: Mapping[str, str | float], declared: Mapping[str, Threshold[Any]]
    ) -> Thresholds:
        """Return the user's ``NAME=VALUE`` over the defaults; ValueError: no such name or number.

        ``declared`` are the thresholds of the rules, by name.
        """
        result: dict[str, Any] = {}
        ids: dict[str, int] = {}
        field_defaults = {
            f.name: f.default for f in fields(cls) if f.name not in ("at_least", "given")
        }
        defaults = field_defaults | {
            name: threshold.default for name, threshold in declared.items()
        }
        for name, value in given.items():
            amount = number_of(value) if isinstance(value, str) else value
            if _ID.fullmatch(name):
                ids[name] = int(_whole(name, value, amount))
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
                result[name] = int(_whole(name, value, amount))
        fixed = {name: number for name, number in result.items() if name in field_defaults}
        return cls(result, **fixed, at_least=ids)

    def reports(self, id_: str, count: int | None) -> bool:
        """Whether a finding of so many rows or occurrences is reported; None counts as once."""
        return (1 if count is None else count) >= self.at_least.get(id_, 0)


def _whole(name: str, value: object, amount: float | None) -> float:
    if amount is None or amount != int(amount):
        raise ValueError(f"{value!r} is not a whole number for the threshold {name}")
    return amount


DEFAULTS = Thresholds()  # what is compared with where nobody sets anything


def _declare(name: str, unit: str, meaning: str) -> Threshold[Any]:
    """Declare a threshold that several rules have."""
    return Threshold(getattr(DEFAULTS, name), unit, meaning, name)


WINDOW_VERSIONS: Threshold[int] = _declare(
    "window_versions", "versions", "Versions whose changes must be known."
)
DATA_BATCHES: Threshold[int] = _declare(
    "data_batches", "batches", "Batches with new data that must have run."
)
UNIQUE_PUTS: Threshold[int] = _declare("unique_puts", "puts", "Puts over these versions.")
UNIQUE_SHARE: Threshold[float] = _declare(
    "unique_share", "share", "Share of the puts that were of new keys."
)
HOT_SHARE: Threshold[float] = _declare(
    "hot_share", "share", "Share of a store's bytes, rows or entries that one key has."
)
FAR_HOURS: Threshold[float] = _declare(
    "far_hours", "hours", "Hours by which an expiry or a watermark is ahead."
)
FAR_SHARE: Threshold[float] = _declare(
    "far_share", "share", "Share of a store's rows with such a time."
)
ALIKE_SHARE: Threshold[float] = _declare(
    "alike_share", "share", "Share of a store's rows, or of the keys compared, that are unlike."
)
BEHIND_HOURS: Threshold[float] = _declare(
    "behind_hours", "hours", "Hours from the watermark to the newest event times less the delay."
)
VALUE_BYTES: Threshold[int] = _declare("value_bytes", "bytes", "Bytes of the largest value.")
MEAN_VALUE_BYTES: Threshold[int] = _declare(
    "mean_value_bytes", "bytes", "Bytes of the mean value, or of a column of a row."
)
HOT_ROWS: Threshold[int] = _declare(
    "hot_rows", "rows", "Rows of a join's side, sessions, or entries of a list or map."
)
