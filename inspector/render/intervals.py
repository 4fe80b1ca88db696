"""Intervals as Spark's own JSON words them.

``IntervalUtils.toYearMonthIntervalString`` and ``toDayTimeIntervalString`` (ANSI style) for the two
ANSI kinds, ``CalendarInterval.toString`` for the legacy one.
"""

from __future__ import annotations

_US_PER_SECOND = 1_000_000
_US = {
    "day": 86_400 * _US_PER_SECOND,
    "hour": 3_600 * _US_PER_SECOND,
    "minute": 60 * _US_PER_SECOND,
}
_FIELDS = ("day", "hour", "minute", "second")
_MONTHS_PER_YEAR = 12


def year_month_text(months: int, name: str) -> str:
    """``INTERVAL '1-4' YEAR TO MONTH``; ``name`` is the type's, such as ``interval year``."""
    first, last = _ends(name)
    sign = "-" if months < 0 else ""
    years, months_left = divmod(abs(months), _MONTHS_PER_YEAR)
    if first == last:
        text = f"{years}" if first == "year" else f"{abs(months)}"
    else:
        text = f"{years}-{months_left}"
    return _quote(sign + text, first, last)


def day_time_text(micros: int, name: str) -> str:
    """``INTERVAL '4 01:02:03.5' DAY TO SECOND``; ``name`` is the type's."""
    first, last = _ends(name)
    sign, micros_left = ("-" if micros < 0 else ""), abs(micros)
    words: list[str] = []
    for field in _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1]:
        if field == "second":
            seconds, fraction = divmod(micros_left, _US_PER_SECOND)
            tail = f".{fraction:06}".rstrip("0") if fraction else ""
            words.append(f"{seconds:02}{tail}")
        else:
            amount, micros_left = divmod(micros_left, _US[field])
            words.append(f"{amount}" if field == "day" else f"{amount:02}")
    text = words[0] + " " + ":".join(words[1:]) if first == "day" and words[1:] else ":".join(words)
    return _quote(sign + text, first, last)


def calendar_text(months: int, days: int, micros: int) -> str:
    """``2 years 3 months 28 days 27 seconds``; zero parts are left out."""
    years, months = _towards_zero(months, _MONTHS_PER_YEAR)
    hours, micros = _towards_zero(micros, _US["hour"])
    minutes, micros = _towards_zero(micros, _US["minute"])
    parts = [
        f"{amount} {unit}"
        for amount, unit in (
            (years, "years"),
            (months, "months"),
            (days, "days"),
            (hours, "hours"),
            (minutes, "minutes"),
        )
        if amount
    ]
    if micros:
        seconds, fraction = divmod(abs(micros), _US_PER_SECOND)
        tail = f".{fraction:06}".rstrip("0") if fraction else ""
        parts.append(f"{'-' if micros < 0 else ''}{seconds}{tail} seconds")
    return " ".join(parts) or "0 seconds"


def _ends(name: str) -> tuple[str, str]:
    words = name.split()
    return words[1], words[-1]


def _quote(text: str, first: str, last: str) -> str:
    unit = first.upper() if first == last else f"{first.upper()} TO {last.upper()}"
    return f"INTERVAL '{text}' {unit}"


def _towards_zero(amount: int, unit: int) -> tuple[int, int]:
    """Quotient and remainder as Java has them."""
    quotient = abs(amount) // unit * (-1 if amount < 0 else 1)
    return quotient, amount - quotient * unit
