"""Numbers in the names of folders and files, as Spark spells them; and who knows the rest."""

from __future__ import annotations

import re
from typing import Protocol

from inspector.model import FileKind, Version

MAX_BATCH = (1 << 62) - 1
"""The largest number of a batch or version that is believed: no query gets there, and what is
computed of it fits 64 bits."""

MAX_LONG = (1 << 63) - 1
MAX_INT = (1 << 31) - 1

_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")


def number(text: str, maximum: int = MAX_LONG) -> int | None:
    """The number a name spells, or None if Spark would not write it so or it is too large."""
    if _NUMBER.fullmatch(text) is None:
        return None
    value = int(text)
    return value if value <= maximum else None


class Classify(Protocol):
    """What the state store providers know of the names of files."""

    def __call__(self, name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
        """The kind of a file in a store's folder, and the state version in its name."""
        # A folder of any kind but OTHER belongs to its store and is no store itself.
