"""Lengths of time, for people."""

from __future__ import annotations


def duration_text(millis: int) -> str:
    """``2 h 3 min``, ``20 s``, ``350 ms``: the two greatest units."""
    if millis < 0:
        return f"-{duration_text(-millis)}"
    words: list[str] = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        amount, millis = divmod(millis, size)
        if amount:
            words.append(f"{amount} {unit}")
    if millis:
        words.append(f"{millis} ms")
    return " ".join(words[:2]) or "0 s"
