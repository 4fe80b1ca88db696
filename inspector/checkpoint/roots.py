"""Root of the checkpoint that a path belongs to, and the selected part below the root.

A root is recognised by what Spark puts into it: ``metadata``, ``offsets``, ``commits``, ``sources``
and, for queries with state, ``state``; a copied ``state`` folder alone will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from inspector.checkpoint.metadata import QUERY_METADATA, read_query_id
from inspector.checkpoint.names import MAX_INT, Classify, number
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.checkpoint.urls import absolute
from inspector.exceptions import NotACheckpointError
from inspector.light_dataclasses import dataclass
from inspector.model import DEFAULT_STORE, LIMITS, Version, is_store

STATE = "state"  # folder with the state, below the root
# files and folders in the root by which a checkpoint is recognised
MARKS = (QUERY_METADATA, "offsets", "commits", "sources", STATE)

_DEEPEST = 5  # steps from ``state/<operator>/<partition>/<store>/<file>`` up to the root

_SHOWN = 8  # entries, or checkpoints, that a message lists
_LOOKED_INTO = 100  # folders that are searched for checkpoints to name in a message
# end of the message for a path that is no checkpoint
_EXPECTED = "expected a checkpoint folder with 'metadata', 'offsets', 'commits' and 'state'"


@dataclass(frozen=True)
class Selection:
    """Part of a checkpoint that a path below its root names; None stands for all."""

    operator_id: int | None = None  # number of the operator
    partition_id: int | None = None  # number of the partition
    store_name: str | None = None  # name of the store, or the side of a join
    version: Version | None = None  # version of the file

    def has_store(self, name: str) -> bool:
        """Return True if a store is in the selected part."""
        return self.store_name is None or is_store(self.store_name, name)


def resolve_root(
    url: str, options: Mapping[str, str] | None, classify: Classify
) -> tuple[str, Selection]:
    """Return the root of the checkpoint that a path is or is in, and the part that the path names.

    NotACheckpointError: there is none; the message says what is there. EngineError: no driver.
    Raises OSError if the storage does not answer.
    """
    location = Storage.open(url, options)
    is_dir = True
    try:
        if _has_query(location) or is_root_with(location, location.list()):
            return url, Selection()
    except FileNotFoundError:
        message = f"got nothing at this path, {_EXPECTED}"
        raise NotACheckpointError(message, location.root) from None
    except NotADirectoryError:
        is_dir = False
    for root, tail in above(url):
        if tail[0] in MARKS and is_root(location.at(root)):
            return root, selection_of(tail, classify, is_dir=is_dir)
    raise not_a_checkpoint(location, is_dir=is_dir)


def _has_query(storage: Storage) -> bool:
    """Return True if the query's metadata mark a root, for storages that list all at once.

    A GET costs a twelfth of the LIST that it saves. Without either a bucket that was named by
    mistake would be listed from end to end. False for other storages.
    """
    max_bytes = LIMITS.small_file_bytes  # its size is not known, and would be another request
    return storage.lists_all and read_query_id(storage, size=max_bytes)[0] is not None


def is_root(storage: Storage) -> bool:
    """Return True if the storage's folder is the root of a checkpoint."""
    return is_root_with(storage, storage.list(missing_ok=True))


def is_root_with(storage: Storage, entries: Sequence[Entry]) -> bool:
    """Return True if a folder with this listing is the root of a checkpoint."""
    if _has_marks(entries):
        return True
    states = [entry.path for entry in entries if entry.is_dir and entry.name == STATE]
    return any(is_numbered(e) for path in states for e in storage.list(path, missing_ok=True))


def is_numbered(entry: Entry) -> bool:
    """Return True if an entry is a folder of an operator or partition, which Spark numbers."""
    return entry.is_dir and number(entry.name, MAX_INT) is not None


def not_a_checkpoint(storage: Storage, *, is_dir: bool = True) -> NotACheckpointError:
    """Return the error for a path that is no checkpoint; it says what is there."""
    if not is_dir:
        result = "a file that lies in no checkpoint"
    else:
        entries = storage.list(missing_ok=True)
        result = _description(entries) + _checkpoints_hint(storage, entries)
    return NotACheckpointError(f"got {result}, {_EXPECTED}", storage.root)


def _has_marks(entries: Iterable[Entry]) -> bool:
    """Return True if a listing has two of MARKS at least, one of them a folder only Spark makes."""
    # "metadata" is a file, the others are folders; one of them alone may be anybody's.
    marks = {entry.name for entry in entries if entry.name in MARKS}
    folders = {entry.name for entry in entries if entry.is_dir}
    return len(marks) >= 2 and bool(folders & {"offsets", "commits", STATE})


def _description(entries: tuple[Entry, ...]) -> str:
    """Return words that describe a folder by its first entries."""
    if not entries:
        return "an empty folder"
    names = [f"{entry.name}/" if entry.is_dir else entry.name for entry in entries]
    remainder = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"a folder with {', '.join(names[:_SHOWN])}{remainder}"


def _checkpoints_hint(storage: Storage, entries: tuple[Entry, ...]) -> str:
    """Return words, in brackets, that name checkpoints in the folders of a listing, or a hint."""
    folders = [entry.path for entry in entries if entry.is_dir][:_LOOKED_INTO]
    errors: dict[str, OSError] = {}
    listed = storage.list_many(folders, missing_ok=True, errors=errors)
    roots = [path for path, inside in listed.items() if _has_marks(inside)]
    if {entry.name for entry in entries} == {"metadata"}:
        return " (on an object store a query leaves no more until it plans its first batch)"
    if not roots:
        return " (audit --recursive looks further below)" if folders else ""
    names = ", ".join(roots[:_SHOWN]) + (" ..." if len(roots) > _SHOWN else "")
    return f" (checkpoints lie in it: {names}; name them)"


def above(url: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders above a URL, nearest first, each with the parts that lead back down."""
    spelled, resolved = url.rstrip("/").split("/"), absolute(url.rstrip("/")).split("/")
    # The first parts of "s3://bucket/x" and "/x" are not the name of a folder.
    fixed = 3 if resolved[0].endswith(":") and resolved[1:2] == [""] else 1
    for depth in range(1, min(_DEEPEST, len(resolved) - fixed) + 1):
        # The user's own spelling, as long as it goes that high up.
        short = depth < len(spelled) and not {".", ".."} & set(spelled)
        parts = spelled if short else resolved
        yield "/".join(parts[:-depth]) or "/", parts[-depth:]


def selection_of(tail: list[str], classify: Classify, *, is_dir: bool) -> Selection:
    """Return the selection that the parts of a path below the root name; no part selects all."""
    if tail[0] != STATE or len(tail) < 2 or (operator_id := number(tail[1], MAX_INT)) is None:
        return Selection()
    if len(tail) < 3 or (partition_id := number(tail[2], MAX_INT)) is None:
        return Selection(operator_id)
    if len(tail) == 3:
        return Selection(operator_id, partition_id)
    if len(tail) == 4 and not is_dir:
        return Selection(operator_id, partition_id, DEFAULT_STORE, classify(tail[3])[1])
    store_name = DEFAULT_STORE if tail[3].startswith("_") else tail[3]
    version = None if len(tail) == 4 or is_dir else classify(tail[4])[1]
    return Selection(operator_id, partition_id, store_name, version)
