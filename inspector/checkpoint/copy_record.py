"""Record in a copy of a checkpoint that says how the copy was made."""

from __future__ import annotations

from inspector.checkpoint.logfile import json_object
from inspector.checkpoint.storage import Storage
from inspector.codec import Message
from inspector.exceptions import InspectorError
from inspector.light_dataclasses import dataclass

RECORD = "_inspector.json"
"""Name of the record's file, below the root. Spark reads no file of this name."""

_MAX_MS = 1 << 47  # bound of times in ms; later ones are in no calendar


@dataclass(frozen=True)
class CopyRecord(Message):
    """Record of how a copy was made."""

    source: str  # URL of the checkpoint that was copied, without secrets
    query_id: str | None  # id of the query
    batch: int  # newest committed batch of the copy
    made_ms: int  # time of the copy, epoch milliseconds
    made_by: str  # version of this package
    evicted: tuple[str, ...] = ()  # rows of each operator, store, reason and way, in words
    # state versions whose rows were changed without a batch of the query (premise
    # ``edited-version``), those of the copied checkpoint included
    changed_versions: tuple[int, ...] = ()
    # batch that an older release of this package added to the copy; None if it added none
    appended_batch: int | None = None


def read_record(storage: Storage) -> CopyRecord | None:
    """Return the record of a copy, by the storage of its root; None if it cannot be read.

    Fields that are not known are passed over, because an older or newer release may have written
    the record.
    """
    try:
        fields = json_object(storage.read(RECORD).decode("utf-8"))
    except (OSError, InspectorError, ValueError):
        return None
    source, made_by, query_id = (fields.get(name) for name in ("source", "made_by", "query_id"))
    batch, made_ms, appended = (fields.get(name) for name in ("batch", "made_ms", "appended_batch"))
    if not (isinstance(source, str) and isinstance(made_by, str)):
        return None
    if not (type(batch) is int and type(made_ms) is int and abs(made_ms) < _MAX_MS):
        return None
    evicted, changed = (fields.get(name) for name in ("evicted", "changed_versions"))
    return CopyRecord(
        source,
        query_id if isinstance(query_id, str) else None,
        batch,
        made_ms,
        made_by,
        tuple(item for item in _items(evicted) if isinstance(item, str)),
        tuple(item for item in _items(changed) if type(item) is int),
        appended if type(appended) is int else None,
    )


def _items(value: object) -> list[object]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []
