"""From which numbers on something is worth a finding; every one can be set (``--threshold``).

A name is a field of :class:`Thresholds`, or the id of a finding: then the value is the least number
of rows (of occurrences, where it counts none) from which on it is reported at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from inspector.light_dataclasses import dataclass, field, fields
from inspector.quantities import number_of

_ID = re.compile(r"SS[123]\d\d")


@dataclass(frozen=True)
class Thresholds:
    """The numbers that the rules compare with; their meaning: ``reference/findings``."""

    window_versions: int = 5
    entries_per_key: int = 64
    entries_warned: int = 1024
    timers_per_key: float = 3.0
    many_timers_per_key: float = 10.0
    unique_puts: int = 100
    unique_share: float = 0.99
    alike_share: float = 0.05
    far_days: float = 180.0
    far_warned: float = 730.0
    far_spans: float = 5.0
    far_hours: float = 1.0
    far_share: float = 0.01
    short_delay_ms: int = 1_000
    data_batches: int = 3
    replay_deltas: int = 100
    replay_noted: int = 50
    replay_slow: int = 20
    replay_minutes: float = 10.0
    unwritten_noted: float = 3.0
    unwritten_gaps: float = 10.0
    unwritten_seconds: float = 60.0
    ahead_hours: float = 24.0
    behind_hours: float = 1.0
    ahead_noted: float = 0.5
    skew_ratio: float = 3.0
    skew_rows: int = 100
    value_ratio: float = 100.0
    value_bytes: int = 4096
    hot_share: float = 0.5
    hot_rows: int = 100
    rows_per_join_key: float = 20.0
    value_growth: float = 2.0
    mean_value_bytes: int = 1024
    windows_per_event: int = 24
    rows_per_record: float = 10.0
    burst_ratio: float = 30.0
    burst_rows: int = 1_000
    slow_ratio: float = 3.0
    slow_seconds: float = 2.0
    zip_ratio: float = 2.0
    zip_bytes: int = 8_192
    same_value_share: float = 0.5
    empty_share: float = 0.5
    empty_deltas: int = 100
    left_files: int = 10
    kept_versions: int = 200
    kept_batches: int = 120
    heap_bytes: int | None = None
    # id of a finding -> the least rows or occurrences from which on it is reported
    at_least: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, given: Mapping[str, str | float]) -> Thresholds:
        """The user's ``NAME=VALUE`` over the defaults; ValueError: no such name, or no number."""
        result: dict[str, Any] = {}
        ids: dict[str, int] = {}
        numbers = {f.name: f for f in fields(cls) if f.name != "at_least"}
        for name, value in given.items():
            amount = number_of(value) if isinstance(value, str) else value
            if _ID.fullmatch(name):
                ids[name] = int(_whole(name, value, amount))
            elif name not in numbers:
                raise ValueError(
                    f"unknown threshold {name!r}; expected one of {', '.join(sorted(numbers))}, or "
                    "the id of a finding (SS202=100: reported from 100 rows on)"
                )
            elif isinstance(numbers[name].default, float):
                if amount is None:
                    raise ValueError(
                        f"{value!r} is not a number for the threshold {name}, expected one like 0.5"
                    )
                result[name] = float(amount)
            else:
                result[name] = int(_whole(name, value, amount))
        return cls(**result, at_least=ids)

    def reports(self, id_: str, count: int | None) -> bool:
        """Whether a finding of so many rows or occurrences is reported; None counts as once."""
        return (1 if count is None else count) >= self.at_least.get(id_, 0)


def _whole(name: str, value: object, amount: float | None) -> float:
    if amount is None or amount != int(amount):
        raise ValueError(f"{value!r} is not a whole number for the threshold {name}")
    return amount


DEFAULTS = Thresholds()  # what is compared with where nobody sets anything
