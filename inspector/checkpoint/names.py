"""Names of folders and files as Spark and Hadoop spell them, whichever provider wrote them.

Temporary files are ``.7.delta.<uuid>[.TID<n>].tmp`` (CheckpointFileManager, 2.4 on), ``temp-<n>``,
``.temp-<n>`` and ``.<uuid>.tmp`` (2.3). ``.<name>.crc`` is Hadoop's checksum (ChecksumFileSystem,
local disks), ``<name>.crc`` Spark's (ChecksumCheckpointFileManager, 4.1 on).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from inspector.model import FileKind, StoreFile, Version

# largest number of a batch that is accepted: what is computed from it fits 64 bits
MAX_BATCH = (1 << 62) - 1
MAX_LONG = (1 << 63) - 1  # largest long of Java
MAX_INT = (1 << 31) - 1  # largest int of Java
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")  # number without sign or leading zeros
_CHECKSUM = ".crc"  # suffix of checksum files
_TEMPORARY = re.compile(r"\.?temp--?[0-9]+|\..+\.tmp", re.DOTALL)  # names of temporary files
_LEADING = re.compile(r"\.*([0-9]+)[._]")  # number at the beginning of a name


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


def is_left_sum(file: StoreFile) -> bool:
    """Return True if a file is Hadoop's checksum of a temporary file, which nothing removes."""
    if file.kind is not FileKind.HADOOP_CHECKSUM:
        return False
    return bool(_TEMPORARY.fullmatch(main_path(file).rpartition("/")[2]))


def classify_side_file(name: str) -> tuple[FileKind, Version | None]:
    """Return the kind of a checksum or temporary file, and the version in its name (or None).

    The kind is OTHER for any other file.
    """
    if is_marker(name):
        return FileKind.OTHER, None
    if name.endswith(_CHECKSUM):
        kind = FileKind.HADOOP_CHECKSUM if name.startswith(".") else FileKind.SPARK_CHECKSUM
        return kind, leading_version(name)
    if _TEMPORARY.fullmatch(name):
        return FileKind.TEMPORARY, leading_version(name)
    return FileKind.OTHER, None


def leading_version(name: str) -> Version | None:
    """Return the version that a name starts with; None if there is none in Spark's spelling."""
    match = _LEADING.match(name)
    version = None if match is None else number(match[1], MAX_BATCH)
    return None if version is None else Version(version)


def main_path(side: StoreFile) -> str:
    """Return the path of the file that a checksum file belongs to."""
    folder, slash, name = side.path.rpartition("/")
    dot = side.kind is FileKind.HADOOP_CHECKSUM
    return folder + slash + name[dot:].removesuffix(_CHECKSUM)


def name_without_sums(name: str) -> str:
    """Return the name of the file that a Hadoop checksum file belongs to; other names unchanged."""
    is_sums = name.startswith(".") and name.endswith(_CHECKSUM)
    return name[1:].removesuffix(_CHECKSUM) if is_sums else name


def spark_sums_name(name: str) -> str:
    """Return the name of the checksum file that Spark 4.1 and later write for a file."""
    return f"{name}{_CHECKSUM}"


def hadoop_sums_name(name: str) -> str:
    """Return the name of the checksum file that Hadoop's ``ChecksumFileSystem`` writes."""
    return f".{name}{_CHECKSUM}"
