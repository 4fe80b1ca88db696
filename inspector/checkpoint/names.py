"""Numbers in the names of folders and files, as Spark spells them; and who knows the rest."""

from __future__ import annotations

import re
from collections.abc import Callable

from inspector.model import FileKind, Version

MAX_BATCH = (1 << 62) - 1  # the largest that is believed: what is computed of it fits 64 bits
MAX_LONG = (1 << 63) - 1
MAX_INT = (1 << 31) - 1
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")


def number(text: str, maximum: int = MAX_LONG) -> int | None:
    """The number a name spells, or None if Spark would not write it so or it is too large."""
    if _NUMBER.fullmatch(text) is None:
        return None
    value = int(text)
    return value if value <= maximum else None


Classify = Callable[..., tuple[FileKind, "Version | None"]]
"""Takes ``name``, ``is_dir``. A folder of any kind but OTHER belongs to its store and is none."""


_MARKERS = frozenset((".DS_Store", ".keep", ".gitkeep", ".s3keep", "Thumbs.db"))


def is_marker(name: str) -> bool:
    """Return whether a file is what file systems and archives leave in folders, no file of Spark.

    ``x_$folder$`` marks a folder on an object store (EMR, Hadoop), ``.keep`` keeps an empty one,
    ``._x`` and ``.DS_Store`` are of macOS.
    """
    return name in _MARKERS or name.startswith("._") or name.endswith("_$folder$")
