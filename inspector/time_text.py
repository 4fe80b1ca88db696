"""Moments, dates and times of day as text, RFC 3339 and ISO 8601, for any number that Spark holds.

The only place that makes text of a clock: ``datetime`` ends at the year 9999, and neither Spark nor
whatever lies in a damaged file does.
"""

from __future__ import annotations

_US_PER_DAY = 86_400_000_000  # microseconds of a day
_DAYS_TO_CIVIL = 719_468  # days from 0000-03-01 to 1970-01-01


def timestamp_text(micros: int, zone: str = "Z") -> str:
    """Return microseconds since the epoch as RFC 3339, with ``zone`` at the end.

    Any 64-bit number is possible, also beyond the year 9999.
    """
    days, remainder = divmod(micros, _US_PER_DAY)
    seconds, fraction = divmod(remainder, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{date_text(days)}T{hour:02}:{minute:02}:{second:02}.{fraction:06}{zone}"


def time_ms_text(millis: int) -> str:
    """Return epoch milliseconds as RFC 3339 in UTC with milliseconds."""
    return timestamp_text(millis * 1000)[:-4] + "Z"


def date_text(days: int) -> str:
    """Return days since the epoch as a date; years beyond 9999 have a sign, as in ISO 8601."""
    # datetime ends at the year 9999 and Spark does not: civil-from-days, Hinnant.
    shifted = days + _DAYS_TO_CIVIL
    era, day_of_era = divmod(shifted, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + (3 if shifted_month < 10 else -9)
    year = year_of_era + era * 400 + (month <= 2)
    sign = "" if 0 <= year <= 9999 else "-" if year < 0 else "+"
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def time_text(nanos: int) -> str:
    """Return nanoseconds of a day as a time; zeros at the end of the fraction are left out."""
    seconds, fraction = divmod(nanos, 1_000_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    tail = f".{fraction:09}".rstrip("0") if fraction else ""
    return f"{hour:02}:{minute:02}:{second:02}{tail}"
