"""Thresholds: numbers from which something is a finding; users can set them (``--threshold``).

A name is that of a :class:`Threshold`, or the id of a finding. The value for an id is the least
number of rows (of occurrences, if it counts no rows) from which the finding is reported. Thresholds
of several rules are declared here, others in their rule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast, overload

from inspector.light_dataclasses import dataclass, field
from inspector.quantities import number_of

_ID = re.compile(r"SS[123]\d\d")  # id of a finding, which may stand for the name of a threshold


T = TypeVar("T")  # type of the number


class Threshold(Generic[T]):
    """Declaration of a number that rules compare with, as an attribute of their class.

    Read on a rule's instance, the attribute is the number that the user set, or the default.
    """

    def __init__(self, default: T, unit: str, meaning: str, name: str = "") -> None:
        """Declare a threshold with its default, unit and meaning.

        ``name`` is the name in options; by default it is the name of the attribute.
        """
        self.default = default  # number if the user sets none
        self.unit = unit  # unit of the number, in the plural
        self.meaning = meaning  # sentence for the documentation
        self.name = name  # name in options

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the attribute as the threshold's name, unless it has a name."""
        self.name = self.name or name

    @overload
    def __get__(self, rule: None, owner: type) -> Threshold[T]: ...

    @overload
    def __get__(self, rule: Any, owner: type) -> T: ...

    def __get__(self, rule: Any, owner: type) -> Threshold[T] | T:
        """Return the number of a rule's instance, the user's or the default.

        Read on the class (``rule`` is None), the threshold itself is returned.
        """
        return self if rule is None else self.number(rule.values)

    def number(self, thresholds: Thresholds) -> T:
        """Return the number that the user set for this threshold, or the default."""
        return cast("T", thresholds.given.get(self.name, self.default))


@dataclass(frozen=True)
class Thresholds:
    """Thresholds that a user set; all others have their defaults."""

    # numbers that the user set for thresholds of rules, by the threshold's name
    given: Mapping[str, float] = field(default_factory=dict)
    # id of a finding -> the least number of rows or occurrences from which it is reported
    at_least: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(
        cls, given: Mapping[str, str | float], declared: Mapping[str, Threshold[Any]]
    ) -> Thresholds:
        """Return the thresholds that the user set.

        ``given`` are the user's values by name. A name is one of ``declared``, the thresholds of
        the rules by name, or the id of a finding. The value for an id is the least number of rows
        or occurrences from which the finding is reported. Raises ValueError for an unknown name or
        a wrong number.
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
        """Return True if a finding with the id ``id_`` is reported, given its ``count``.

        ``count`` is its number of rows or occurrences; None counts as 1. It must reach the number
        that the user set for the id. Without such a number every finding is reported.
        """
        return (1 if count is None else count) >= self.at_least.get(id_, 0)


def _parse_number(name: str, value: object, amount: float | None) -> float:
    """Return ``amount``, the number that was read from the user's ``value`` for a threshold.

    Raises ValueError, with the threshold's ``name``, if ``amount`` is None or no whole number.
    """
    if amount is None or amount != int(amount):
        raise ValueError(f"{value!r} is not a whole number for the threshold {name}")
    return amount


DEFAULTS = Thresholds()  # thresholds if the user sets none


# Thresholds of several rules, from here to the end of the module.
# least number of versions whose changes must be known for a judgement on their trend
WINDOW_VERSIONS = Threshold(
    5, "versions", "Versions whose changes must be known.", "window_versions"
)
# least number of batches with new data before a watermark or source that does not move is reported
DATA_BATCHES = Threshold(3, "batches", "Batches with new data that must have run.", "data_batches")
# least number of puts or keys that are enough for a judgement on how often keys come again
UNIQUE_PUTS = Threshold(100, "puts", "Puts over these versions.", "unique_puts")
# least share of puts of new keys from which keys count as unique to each event (SS217)
UNIQUE_SHARE = Threshold(0.99, "share", "Share of the puts that were of new keys.", "unique_share")
# least share of a whole, such as a store's bytes, that counts as most of it
HOT_SHARE = Threshold(
    0.5, "share", "Share of a store's bytes, rows or entries that one key has.", "hot_share"
)
# least hours that an expiry (SS218) or the next watermark (SS226) is ahead of the rows' clock
FAR_HOURS = Threshold(
    1.0, "hours", "Hours by which an expiry or a watermark is ahead.", "far_hours"
)
# least share of a store's rows with a null event time (SS201) or a far expiry (SS218)
FAR_SHARE = Threshold(0.01, "share", "Share of a store's rows with such a time.", "far_share")
# least share of rows or keys, for findings that few of them do not justify (SS201, SS218, SS221,
# SS223)
ALIKE_SHARE = Threshold(
    0.05,
    "share",
    "Share of a store's rows that expire late, of new keys that return, or of compared keys that "
    "nearly equal another.",
    "alike_share",
)
# least hours that the watermark is behind the newest event times less the delay (SS206, SS211)
BEHIND_HOURS = Threshold(
    1.0,
    "hours",
    "Hours from the watermark to the newest event times less the delay.",
    "behind_hours",
)
# least bytes of a value that counts as oversized (SS303)
VALUE_BYTES = Threshold(4_096, "bytes", "Bytes of the largest value.", "value_bytes")
# least mean bytes of a value (SS308), or of a column in a row (SS313), that count as large
MEAN_VALUE_BYTES = Threshold(
    1_024, "bytes", "Bytes of the mean value, or of a column of a row.", "mean_value_bytes"
)
# least number of rows or entries before shares of one key (SS307) or matches (SS222) are judged
HOT_ROWS = Threshold(
    100, "rows", "Rows of a join's side, sessions, or entries of a list or map.", "hot_rows"
)
