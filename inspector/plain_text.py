"""Names, keys and messages as text that is safe to show; they are anybody's input."""

from __future__ import annotations

import unicodedata


def escape(text: str) -> str:
    """Return a text in which control, format and surrogate characters are shown as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c == " " or unicodedata.category(c)[0] not in "CZ" else repr(c)[1:-1] for c in text
    )


def escape_lines(text: str) -> str:
    """Return a text of several lines, each escaped."""
    return "\n".join(map(escape, text.split("\n")))
