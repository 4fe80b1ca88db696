"""Names of the RocksDB provider's files, checkpoint formats 1 and 2.

``7.changelog`` or ``7_<id>.changelog`` is what version 7 changed, ``7.zip`` or ``7_<id>.zip`` its
snapshot: which table files it consists of. ``<id>`` is the unique id of the checkpoint that the
version belongs to (format 2, Spark 4.0 on). ``SSTs/000008-<uuid>.sst`` is a table file, shared by
the versions that name it, ``logs/000004-<uuid>.log`` RocksDB's own log of writes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from inspector.checkpoint.names import MAX_BATCH, number
from inspector.model import FileKind, Version
from inspector.providers.chain import FileNames

SPELLED = FileNames(
    delta="{}.changelog",
    snapshot="{}.zip",
    absent="CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
)
"""How messages name a file that is not there."""

PIECE_BYTES = 1 << 20  # bytes of one request; what was read is kept for the next few

TABLES, LOGS = "SSTs", "logs"
_STATE = re.compile(r"([0-9]+)(?:_([0-9A-Za-z-]+))?\.(zip|changelog)")
_KINDS = {"changelog": FileKind.DELTA, "zip": FileKind.SNAPSHOT}
_FOLDERS = {TABLES: FileKind.TABLE, LOGS: FileKind.TABLE_LOG}


class StateName(NamedTuple):
    """The parts of a state file's name."""

    version: Version  # that it is of
    unique_id: str | None  # of its checkpoint; None in format 1
    kind: FileKind


def parse_name(name: str) -> StateName | None:
    """The parts of a changelog's or snapshot's name; None if it is neither."""
    match = _STATE.fullmatch(name)
    version = None if match is None else number(match[1], MAX_BATCH)
    if match is None or version is None:
        return None
    return StateName(Version(version), match[2], _KINDS[match[3]])


def folder_kind(name: str) -> FileKind:
    """What the files in a folder of a store are; OTHER if it is none of the provider's."""
    return _FOLDERS.get(name, FileKind.OTHER)
