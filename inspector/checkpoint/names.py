"""What a file in a store's folder is, told from its name.

===========================================  ==================  ===============================
name                                         kind                written by
===========================================  ==================  ===============================
``7.delta``  ``7.snapshot``                  delta, snapshot     HDFSBackedStateStoreProvider
``.7.delta.<uuid>[.TID<n>].tmp``             temporary           CheckpointFileManager, 2.4 on
``temp-<n>``  ``.temp-<n>``  ``.<uuid>.tmp`` temporary           2.3
``.<name>.crc``                              Hadoop checksum     ChecksumFileSystem (local disks)
``7.delta.crc``  ``7.snapshot.crc``          Spark checksum      ChecksumCheckpointFileManager, 4.1
``7[_<uuid>].zip|changelog``  ``SSTs/`` ...  RocksDB             RocksDBStateStoreProvider
===========================================  ==================  ===============================

Spark's listing (``HDFSBackedStateStoreProvider.fetchFiles``) takes only names of two parts, a long
and, in any case, ``delta`` or ``snapshot``. Here a name with leading zeros is none of them: Spark
opens a version by its plain number, so it would list such a file and never read it.
"""

from __future__ import annotations

import re

from inspector.model import FileKind, Version

MAX_LONG = (1 << 63) - 1
MAX_INT = (1 << 31) - 1

ROCKSDB_FOLDERS = frozenset({"SSTs", "logs"})

_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_STATE = re.compile(r"([0-9]+)\.(delta|snapshot)", re.IGNORECASE)
_ROCKSDB = re.compile(r"([0-9]+)(?:_[0-9A-Za-z-]+)?\.(?:zip|changelog)")
_TEMPORARY = re.compile(r"\.?temp--?[0-9]+|\..+\.tmp", re.DOTALL)
_LEADING = re.compile(r"\.*([0-9]+)[._]")
_KINDS = {"delta": FileKind.DELTA, "snapshot": FileKind.SNAPSHOT}


def number(text: str, maximum: int = MAX_LONG) -> int | None:
    """The number a name spells, or None if Spark would not write it so or it is too large."""
    if _NUMBER.fullmatch(text) is None:
        return None
    value = int(text)
    return value if value <= maximum else None


def classify(name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
    """The kind of a file and the state version in its name.

    A folder is of a kind only if RocksDB makes folders of that name.
    """
    if is_dir:
        return (FileKind.ROCKSDB if name in ROCKSDB_FOLDERS else FileKind.OTHER), None
    match = _STATE.fullmatch(name)
    if match is not None:
        version = number(match[1])
        kind = FileKind.OTHER if version is None else _KINDS[match[2].lower()]
        return kind, None if version is None else Version(version)
    kind = _kind_of_other(name)
    return kind, None if kind is FileKind.OTHER else _leading_version(name)


def _kind_of_other(name: str) -> FileKind:
    if name.endswith(".crc"):
        return FileKind.HADOOP_CHECKSUM if name.startswith(".") else FileKind.SPARK_CHECKSUM
    if _TEMPORARY.fullmatch(name):
        return FileKind.TEMPORARY
    return FileKind.ROCKSDB if _ROCKSDB.fullmatch(name) else FileKind.OTHER


def _leading_version(name: str) -> Version | None:
    match = _LEADING.match(name)
    version = None if match is None else number(match[1])
    return None if version is None else Version(version)
