"""Numbers and notes as people write and read them: ``8GiB``, ``50%``, ``1 row``, ``628 d``.

Durations are cut to their largest unit once that has two digits, so that nobody reads seconds
behind days; bytes have one decimal and units of 1024.
"""

from __future__ import annotations

import re

from inspector.findings.durations import duration_text as exact

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B)?", re.IGNORECASE)
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_POWERS = ("", "K", "M", "G", "T", "P")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024
_ONE_UNIT = 10
"""From so many of its largest unit on a duration has that unit alone."""


def bytes_of(text: str) -> int | None:
    """The bytes of ``8GiB`` or ``512M``; units are powers of 1024, as Spark's.

    None if it is no size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    power: int = _STEP ** _POWERS.index(match[2].upper())
    return round(float(match[1]) * power)


def number_of(text: str) -> float | None:
    """The number of ``0.5``, ``50%`` or ``8GiB``; None if it is none."""
    share = _SHARE.fullmatch(text.strip())
    if share is not None:
        return float(share[1]) / 100
    try:
        return float(text) if re.fullmatch(r"\s*\d+\.\d+\s*", text) else bytes_of(text)
    except OverflowError:
        return None


def counted(number: int, one: str, many: str = "") -> str:
    """``1 row``, ``1,200 rows``; ``many`` is the plural where an s does not make it."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def bytes_text(count: float) -> str:
    """A size: ``1.4 MiB``; below a KiB all digits."""
    size, unit = float(count), 0
    while round(abs(size), 1) >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{round(count)} B" if unit == 0 else f"{size:,.1f} {_UNITS[unit]}"


def duration_text(millis: int) -> str:
    """A duration by its two largest units, ``2 d 4 h``; from ten of the largest on, ``628 d``."""
    amount, *words = exact(millis).split(" ")
    if abs(int(amount)) >= _ONE_UNIT:
        del words[1:]
    return " ".join([f"{int(amount):,}", *words])


def share_text(share: float) -> str:
    """A share of 0 to 1: ``54 %``; what is not all is never shown as 100 %, nor some as 0 %."""
    percent = share * 100
    if 0 < percent < 1:
        return "less than 1 %"
    if 99 < percent < 100:
        return "more than 99 %"
    return f"{percent:.0f} %"


def sentence(text: str) -> str:
    """A note as a sentence of its own; a first word that is a path or the like stays as it is."""
    text = text.strip()
    if text.partition(" ")[0].rstrip(",").isalpha():
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
