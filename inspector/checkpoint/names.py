"""Numbers in the names of folders and files, as Spark spells them, and foreign names."""

from __future__ import annotations

import re
from collections.abc import Callable

from inspector.model import FileKind, Version

# largest number of a batch that is accepted: what is computed from it fits 64 bits
MAX_BATCH = (1 << 62) - 1
MAX_LONG = (1 << 63) - 1  # largest long of Java
MAX_INT = (1 << 31) - 1  # largest int of Java
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")  # number without sign or leading zeros


def number(text: str, maximum: int = MAX_LONG) -> int | None:
    """Return the number that a name spells; None if too large or not in Spark's spelling."""
    if _NUMBER.fullmatch(text) is None:
        return None
    value = int(text)
    return value if value <= maximum else None


Classify = Callable[..., tuple[FileKind, "Version | None"]]
"""Function of ``name`` and ``is_dir`` that returns the kind and version of a file or folder. A
folder of any kind except OTHER is part of its store and no store of its own.
"""


# names of files that file systems and archives leave in folders
_MARKERS = frozenset((".DS_Store", ".keep", ".gitkeep", ".s3keep", "Thumbs.db"))


def is_marker(name: str) -> bool:
    """Return True if a file is left by file systems or archives and is no file of Spark.

    ``x_$folder$`` marks a folder on an object store (EMR, Hadoop), ``.keep`` keeps an empty one,
    ``._x`` and ``.DS_Store`` are of macOS.
    """
    return name in _MARKERS or name.startswith("._") or name.endswith("_$folder$")
