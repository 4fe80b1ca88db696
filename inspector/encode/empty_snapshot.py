"""Writer of a RocksDB snapshot without rows, as the start of a new chain of changelogs.

The zip has the files of a database that RocksDB has just created (``DBImpl::NewDB``): a manifest
with one record, and ``CURRENT``, which names it. ``metadata`` is that of another snapshot without
its tables, so that column families keep their numbers.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile

from inspector.checkpoint.logfile import json_object, split_log
from inspector.decode.rocksdb_crc import rocksdb_crc32c
from inspector.exceptions import DecodeError

_NEWEST_METADATA = 2  # newest format of ``metadata`` that is known
_MANIFEST = "MANIFEST-000001"
# Fields of a version edit: log number 0, next file number 2, last sequence number 0.
_EDIT = bytes([2, 0, 3, 2, 4, 0])
_FULL_RECORD = 1  # type of a log record that is not divided
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # earliest time of a zip entry: equal content gives equal bytes


def empty_snapshot(metadata: bytes) -> bytes:
    """Return a snapshot without rows that has the column families of another one.

    ``metadata`` is the other snapshot's entry of this name. DecodeError: it is not Spark's.
    """
    version, lines = split_log(metadata, _NEWEST_METADATA)
    fields = json_object("\n".join(lines))
    if not isinstance(fields.get("sstFiles"), list):
        raise DecodeError("got no list sstFiles in the metadata of a snapshot, expected one")
    fields["sstFiles"] = []
    fields.pop("logFiles", None)
    fields["numKeys"] = 0
    if "numInternalKeys" in fields:
        fields["numInternalKeys"] = 0
    text = json.dumps(fields, separators=(",", ":"))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (
            (_MANIFEST, _log_record(_EDIT)),
            ("CURRENT", f"{_MANIFEST}\n".encode()),
            ("metadata", f"v{version}\n{text}".encode()),
        ):
            archive.writestr(zipfile.ZipInfo(name, _EARLIEST), content)
    return target.getvalue()


def _log_record(payload: bytes) -> bytes:
    """Return a record of RocksDB's log format: masked checksum, length, type, payload."""
    typed = bytes([_FULL_RECORD]) + payload
    return struct.pack("<IH", rocksdb_crc32c(typed), len(payload)) + typed
