"""Live rows of a chain of files, found with a dict."""

from __future__ import annotations

from collections.abc import Sequence

from tests.encode import Record


def last_puts(files: Sequence[Sequence[Record]]) -> dict[tuple[bytes, bytes], tuple[int, int]]:
    """Return the position of each live row by its key and value: file and record."""
    last = {
        key: (value, (number, record))
        for number, entries in enumerate(files)
        for record, (key, value) in enumerate(entries)
    }
    return {(key, value): at for key, (value, at) in last.items() if value is not None}
