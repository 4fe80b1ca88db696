"""Numbers with the units that people read; machine formats have the bare numbers.

Whether a number is exact is said by its column: estimates have a ``~`` before them. Sizes,
durations and shares are those of :mod:`inspector.findings.quantities`.
"""

from __future__ import annotations

from inspector.findings.quantities import bytes_text, duration_text, share_text

__all__ = [
    "bytes_rate_text",
    "bytes_text",
    "count_text",
    "counted",
    "duration_text",
    "percent_text",
    "plural_of",
    "rate_text",
    "share_text",
]

_ONE_UNIT = 10
"""From so many of its largest unit on a duration has that unit alone."""

_ALL_DIGITS = 1_000_000
"""Counts from which on a person reads millions."""

_IRREGULAR = {"query": "queries", "entry": "entries", "has": "have", "is": "are", "was": "were"}


def bytes_rate_text(per_hour: float) -> str:
    """Bytes per hour: ``30.6 GiB/h``."""
    return f"{bytes_text(per_hour)}/h"


def rate_text(per_hour: float) -> str:
    """Things per hour: ``2,430/h``; a rate below ten has a decimal."""
    whole = abs(per_hour) >= _ONE_UNIT or per_hour == round(per_hour)
    return f"{per_hour:,.0f}/h" if whole else f"{per_hour:,.1f}/h"


def percent_text(share: float) -> str:
    """A share of 0 to 1 for a column of a table, ``15.9 %``; rounded to neither none nor all."""
    if share in (0, 1):
        return f"{share * 100:.0f} %"
    return f"{min(max(share * 100, 0.1), 99.9):.1f} %"


def count_text(count: float) -> str:
    """A count: ``12,345``, ``1.2 M``, ``3.4 bn``."""
    if abs(count) < _ALL_DIGITS:
        return f"{round(count):,}"
    size = count / 1_000_000
    return f"{size:,.1f} M" if abs(size) < 1000 else f"{size / 1000:,.1f} bn"


def counted(count: float, noun: str, plural: str | None = None) -> str:
    """A number with its noun: ``1 version``, ``2 versions``, ``1,204 entries``."""
    return f"{count_text(count)} {noun if round(count) == 1 else plural or plural_of(noun)}"


def plural_of(noun: str) -> str:
    """The plural of a noun, or of one of the verbs that follow it."""
    return _IRREGULAR.get(noun, f"{noun}s")
