"""Tables on standard error: what a person reads of a benchmark."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table: words to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    print(f"\n{title}", file=sys.stderr)
    for row in (head, *rows):
        first = row[0].ljust(widths[0])
        remainder = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        print("  " + "  ".join((first, *remainder)).rstrip(), file=sys.stderr)
