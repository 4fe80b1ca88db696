"""Templates of messages: whole sentences with named fields, each with a unit.

A field is ``{name}``, ``{name:unit}`` or ``{name:noun}``. A unit is one of :data:`UNITS`:
``{gap:duration}`` is ``2 h 3 min``. Any other word is the noun that is counted: ``{rows:row}`` is
``1 row`` or ``1,200 rows``. A word after a slash agrees with the number and is written alone:
``{rows:row} {rows:/was} removed`` is ``1 row was removed`` or ``7 rows were removed``.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Collection, Mapping
from typing import Any

from inspector.quantities import (
    bytes_text,
    capitalise,
    count_text,
    duration_text,
    long_duration_text,
    plural_of,
    share_text,
)
from inspector.time_text import time_ms_text


def _number(value: float) -> str:
    """Return a number rounded to a whole one, with commas between thousands: ``1,200``."""
    return f"{value:,.0f}"


def _brackets(text: str) -> str:
    """Return `` (text)``, with a space in front; "" for an empty text."""
    return f" ({text})" if text else ""


def _more(parts: Collection[str]) -> str:
    """Return the texts joined, each with ``; `` in front; empty texts are left out."""
    return "".join(f"; {part}" for part in parts if part)


def _words(parts: list[str]) -> str:
    """Return texts as an enumeration: ``a``, ``a and b``, ``a, b and c``; "" for no texts."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _span(versions: Collection[int]) -> str:
    """Return the first and the last of some versions: ``version 3``, ``versions 3 to 12``."""
    first, last = min(versions), max(versions)
    return f"version {first}" if first == last else f"versions {first} to {last}"


def _batches(batches: Collection[int]) -> str:
    """Return the first and the last of some batches: ``batch 3``, ``batches 3 to 12``."""
    first, last = min(batches), max(batches)
    return f"batch {first:,}" if first == last else f"batches {first:,} to {last:,}"


def _estimate(share: float) -> str:
    """Return a share (0 to 1) that is estimated as a percentage: ``~54 %``."""
    return share_text(share, "~")


def _prefix(text: str) -> str:
    """Return a text followed by a colon and a space; "" for an empty text."""
    return f"{text}: " if text else ""


def _optional(words: str) -> Callable[[Any], str]:
    """Return a function that writes a value in ``words`` and brackets, and None as "".

    ``words`` is a template with the field ``value``: ``since batch {value}`` gives `` (since batch
    3)``.
    """

    def write_optional(value: Any) -> str:
        """Return the value in ``words`` and brackets; "" for None."""
        return _brackets("" if value is None else write(words, {"value": value}))

    return write_optional


def _others(count: int) -> str:
    """Return `` (and 3 more)`` for a number of further files, or an empty text for 0."""
    return f" (and {count:,} more)" if count else ""


def _others_listed(count: int) -> str:
    """Return `` (and 3 more, see problems)`` for a number of further problems; "" for 0."""
    return f" (and {count:,} more, see problems)" if count else ""


def _watermark(millis: int | None) -> str:
    """Return words for a watermark in epoch ms: ``the watermark 2024-...``.

    Returns ``no watermark`` for None and 0.
    """
    return f"the watermark {time_ms_text(millis)}" if millis else "no watermark"


def _day(millis: int) -> str:
    """Return the date of a time in epoch ms, such as ``2024-05-01``, in UTC."""
    return time_ms_text(millis).partition("T")[0]


UNITS: Mapping[str, Callable[[Any], str]] = {
    "": str,
    "number": _number,
    "duration": duration_text,
    "exact": long_duration_text,
    "percent": share_text,
    "estimate": _estimate,
    "bytes": bytes_text,
    "moment": time_ms_text,
    "day": _day,
    "watermark": _watermark,
    "quoted": repr,
    "brackets": _brackets,
    "prefix": _prefix,
    "since_batch": _optional("since batch {value}"),
    "of_batch": _optional("batch {value}"),
    "newest_time": _optional("the newest is {value:moment}"),
    "last_put": _optional("the older spelling has no put since batch {value}"),
    "others": _others,
    "others_listed": _others_listed,
    "words": _words,
    "more": _more,
    "span": _span,
    "batches": _batches,
    "capital": capitalise,
}
"""Unit of a field -> function that returns the text of its value.

Times are epoch ms, durations are ms, and shares are 0 to 1.
"""


class _Writer(string.Formatter):
    """Formatter of templates, whose fields may have a unit or a noun (see the module)."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return the value of a template's field as text.

        ``format_spec`` is the text behind the field's colon: a unit of UNITS, a noun that is
        counted, or a slash and a word that agrees with the number.
        """
        if format_spec in UNITS:
            return UNITS[format_spec](value)
        if format_spec.startswith("/"):
            word = format_spec[1:]
            return word if value == 1 else plural_of(word)
        return count_text(value, format_spec)


_WRITER = _Writer()  # formatter that fills in all templates


def write(template: str, values: Mapping[str, Any]) -> str:
    """Return the text of a template, with its fields filled in.

    ``values`` are the fields' values by name. Raises KeyError for a field without a value.
    """
    return _WRITER.vformat(template, (), values)
