"""Files that Hadoop and Spark leave beside state files, whichever provider wrote those.

Temporary files are ``.7.delta.<uuid>[.TID<n>].tmp`` (CheckpointFileManager, 2.4 on), ``temp-<n>``,
``.temp-<n>`` and ``.<uuid>.tmp`` (2.3). ``.<name>.crc`` is Hadoop's checksum (ChecksumFileSystem,
local disks), ``<name>.crc`` Spark's (ChecksumCheckpointFileManager, 4.1 on).
"""

from __future__ import annotations

import re

from inspector.checkpoint.names import MAX_BATCH, is_marker, number
from inspector.model import FileKind, StoreFile, Version

_CHECKSUM = ".crc"
_TEMPORARY = re.compile(r"\.?temp--?[0-9]+|\..+\.tmp", re.DOTALL)
_LEADING = re.compile(r"\.*([0-9]+)[._]")


def is_left_sum(file: StoreFile) -> bool:
    """Return whether a file is Hadoop's checksum of a temporary file, which nothing removes."""
    if file.kind is not FileKind.HADOOP_CHECKSUM:
        return False
    return bool(_TEMPORARY.fullmatch(main_path(file).rpartition("/")[2]))


def classify_side_file(name: str) -> tuple[FileKind, Version | None]:
    """The kind of such a file and the state version in its name; OTHER if it is none."""
    if is_marker(name):
        return FileKind.OTHER, None
    if name.endswith(_CHECKSUM):
        kind = FileKind.HADOOP_CHECKSUM if name.startswith(".") else FileKind.SPARK_CHECKSUM
        return kind, leading_version(name)
    if _TEMPORARY.fullmatch(name):
        return FileKind.TEMPORARY, leading_version(name)
    return FileKind.OTHER, None


def leading_version(name: str) -> Version | None:
    """The number that a name starts with, if Spark would write it so."""
    match = _LEADING.match(name)
    version = None if match is None else number(match[1], MAX_BATCH)
    return None if version is None else Version(version)


def main_path(side: StoreFile) -> str:
    """The path of the file that a checksum file is about."""
    folder, slash, name = side.path.rpartition("/")
    dot = side.kind is FileKind.HADOOP_CHECKSUM
    return folder + slash + name[dot:].removesuffix(_CHECKSUM)


def name_without_sums(name: str) -> str:
    """Return the name of the file that a Hadoop checksum file is about; of others the name."""
    is_sums = name.startswith(".") and name.endswith(_CHECKSUM)
    return name[1:].removesuffix(_CHECKSUM) if is_sums else name


def spark_sums_name(name: str) -> str:
    """The name of the file in which Spark 4.1 and later keep the checksum of another."""
    return f"{name}{_CHECKSUM}"


def hadoop_sums_name(name: str) -> str:
    """The name of the file in which Hadoop's ``ChecksumFileSystem`` keeps the sums of another."""
    return f".{name}{_CHECKSUM}"
