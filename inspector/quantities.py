"""Numbers, sizes and durations as people write and read them: ``8GiB``, ``50%``, ``628 d``.

Machine formats have the bare numbers. Whether a number is exact is said by its column: estimates
have a ``~`` before them. Bytes have one decimal and units of 1024. Durations are cut to their
largest unit once that has two digits, so that nobody reads seconds behind days. Moments are in
:mod:`inspector.time_text`.
"""

from __future__ import annotations

import re

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B)?", re.IGNORECASE)  # size such as ``8GiB``
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")  # share such as ``50%``
_POWERS = ("", "K", "M", "G", "T", "P")  # prefixes of units of bytes as they are read
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")  # units of bytes as they are written
_STEP = 1024  # factor from one unit of bytes to the next
# units of durations, the largest first, in ms
_MILLIS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000))
_NEXT = {"h": 24, "min": 60, "s": 60}  # how many of a unit make the next larger one
_YEAR_MS = 365.25 * 86_400_000  # milliseconds of a year
# number of its largest unit from which a duration has no smaller unit, and a rate no decimal
_ONE_UNIT = 10
_YEARS = 2  # duration, in years, from which it is written in years
# plurals that do not only add an s
_IRREGULAR = {
    "query": "queries",
    "entry": "entries",
    "batch": "batches",
    "has": "have",
    "is": "are",
    "was": "were",
    "holds": "hold",
    "it": "them",
    "its": "their",
}


def bytes_of(text: str) -> int | None:
    """Return the bytes of ``8GiB`` or ``512M``, in powers of 1024; None if the text is no size."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    power: int = _STEP ** _POWERS.index(match[2].upper())
    return round(float(match[1]) * power)


def number_of(text: str) -> float | None:
    """Return the number of ``0.5``, ``50%`` or ``8GiB``; None if the text is none of these."""
    share = _SHARE.fullmatch(text.strip())
    if share is not None:
        return float(share[1]) / 100
    try:
        return float(text) if re.fullmatch(r"\s*\d+\.\d+\s*", text) else bytes_of(text)
    except OverflowError:
        return None


def count_text(number: int, noun: str, plural: str = "") -> str:
    """Return a number with all digits, and its noun: ``1 row``, ``1,200 rows``, ``3 entries``."""
    return f"{number:,} {noun if number == 1 else plural or plural_of(noun)}"


def short_count_text(number: float, noun: str = "", plural: str = "") -> str:
    """Return a number in short, such as ``12,345``, ``1.2 M`` or ``3.4 bn``.

    ``noun``, if given, follows in the singular or plural.
    """
    millions = number / 1_000_000
    if abs(millions) < 1:
        text = f"{round(number):,}"
    else:
        text = f"{millions:,.1f} M" if abs(millions) < 1000 else f"{millions / 1000:,.1f} bn"
    if not noun:
        return text
    return f"{text} {noun if round(number) == 1 else plural or plural_of(noun)}"


def plural_of(noun: str) -> str:
    """Return the plural of a noun, or of one of the verbs and pronouns that follow it."""
    return _IRREGULAR.get(noun, f"{noun}s")


def bytes_text(count: float) -> str:
    """Return a size such as ``1.4 MiB``; below a KiB with all digits."""
    size, unit = float(count), 0
    while round(abs(size), 1) >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{round(count)} B" if unit == 0 else f"{size:,.1f} {_UNITS[unit]}"


def bytes_rate_text(per_hour: float) -> str:
    """Return bytes per hour such as ``30.6 GiB/h``."""
    return f"{bytes_text(per_hour)}/h"


def rate_text(per_hour: float) -> str:
    """Return a number per hour such as ``2,430/h``; a rate below ten has a decimal."""
    is_whole = abs(per_hour) >= _ONE_UNIT or per_hour == round(per_hour)
    return f"{per_hour:,.0f}/h" if is_whole else f"{per_hour:,.1f}/h"


def share_text(share: float, mark: str = "") -> str:
    """Return a share of 0 to 1 such as ``54 %``.

    A share below 1 % or above 99 % is written in words, so that it is never shown as none or all.
    ``mark`` is put before other numbers, as for estimates.
    """
    percent = share * 100
    if 0 < percent < 1:
        return "less than 1 %"
    if 99 < percent < 100:
        return "more than 99 %"
    return f"{mark}{percent:.0f} %"


def percent_text(share: float) -> str:
    """Return a share of 0 to 1 such as ``15.9 %``; rounded to neither none nor all."""
    if share in (0, 1):
        return f"{share * 100:.0f} %"
    return f"{min(max(share * 100, 0.1), 99.9):.1f} %"


def long_duration_text(millis: int) -> str:
    """Return a duration in ms by its two largest units: ``2 h 3 min``, ``20 s``, ``350 ms``."""
    if millis < 0:
        return f"-{long_duration_text(-millis)}"
    words: list[str] = []
    for unit, size in (*_MILLIS, ("ms", 1)):
        amount, millis = divmod(millis, size)
        if amount:
            words.append(f"{amount} {unit}")
    return " ".join(words[:2]) or "0 s"


def duration_text(millis: int) -> str:
    """Return a duration in ms such as ``2 d 4 h``.

    From ten of the largest unit it is rounded to that (``628 d``), and from two years it is in
    years.
    """
    years = millis / _YEAR_MS
    if abs(years) >= _YEARS:
        return f"{years:,.{0 if abs(years) > _ONE_UNIT - 0.5 else 1}f} years"
    amount, unit, *words = long_duration_text(millis).split(" ")
    if abs(int(amount)) < _ONE_UNIT or unit not in dict(_MILLIS):
        return " ".join([f"{int(amount):,}", unit, *words])
    size, units = dict(_MILLIS)[unit], int(amount)
    rounded = round(millis / size)
    # Not up to the next unit: 59 s, not 60.
    return f"{units if abs(rounded) == _NEXT.get(unit) else rounded:,} {unit}"


def capitalise(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def go_on_with(text: str) -> str:
    """Return the text with its first letter in lower case, for use inside a sentence."""
    return text[:1].lower() + text[1:]


def sentence(text: str) -> str:
    """Return a note as a sentence: with a capital letter and a full stop.

    A first word such as a path stays as it is, and a command at the end gets no full stop, so that
    it can be copied.
    """
    text = text.strip()
    text = capitalise(text) if text.partition(" ")[0].rstrip(",").isalpha() else text
    is_command = text.rpartition(" ")[2].startswith("--")
    return text if is_command or text.endswith((".", "!", "?")) else f"{text}."
