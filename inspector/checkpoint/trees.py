"""Everything below a checkpoint's root, by one listing of an object store.

An object store has no folders: it lists all names with one beginning, a thousand at a time. Files
that nobody reads, such as most of ``sources``, are listed too, because a LIST for each folder costs
more.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from inspector.light_dataclasses import dataclass
from inspector.model import Problem

# slug of the problem that something else has the name of one of Spark's files
NOT_A_FILE = "not-a-file"
_TIME_NAMES = ("mtime", "LastModified", "last_modified", "updated", "modified", "created")
"""Names under which drivers have the time of last change; the first one with a value counts."""

# names under which drivers have a value that each write of an object changes
_ETAG_NAMES = ("ETag", "etag", "generation")


class Entry(NamedTuple):
    """A file or folder in a listing."""

    name: str  # last part of its path
    path: str  # its path relative to the storage's root
    is_dir: bool  # True if it is a folder (or an object store's prefix)
    size: int  # bytes; 0 for a folder
    # time of its last change, epoch ms; None if the storage has none
    modified_ms: int | None = None
    is_special: bool = False  # True for a pipe, a device or a dangling link, which are never opened
    # value that changes with the content: the store's, or times and inode; None if there is none
    etag: str | tuple[int, ...] | None = None

    @property
    def is_file(self) -> bool:
        """True if the entry is a regular file, which can be read."""
        return not (self.is_dir or self.is_special)

    def not_a_file(self, full_path: str) -> Problem:
        """Return the problem that the entry is no file although Spark writes one of this name."""
        got = "folder" if self.is_dir else "pipe, socket, device or broken link"
        return Problem(NOT_A_FILE, f"got a {got}, expected a file", full_path)


def entry_of(info: Mapping[str, Any], relative: str) -> Entry:
    """Return the entry for fsspec's ``info`` of the file or folder at a relative path."""
    name, is_dir = relative.rsplit("/", 1)[-1], info["type"] == "directory"
    if info["type"] not in ("file", "directory"):
        return Entry(name, relative, is_dir=False, size=0, is_special=True)
    size = 0 if is_dir else int(info.get("size") or 0)
    etag = next((str(info[key]) for key in _ETAG_NAMES if info.get(key)), None)
    return Entry(name, relative, is_dir, size, modified_ms(info), etag=etag)


def modified_ms(info: Mapping[str, Any]) -> int | None:
    """Return the time of last change in epoch ms; None if the driver has none."""
    times = (_milliseconds(info.get(name)) for name in _TIME_NAMES)
    return next((time for time in times if time is not None), None)


def _milliseconds(value: object) -> int | None:
    """Return a text, datetime or number of seconds as epoch ms; None for other values."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return None
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return round(aware.timestamp() * 1000)
    return int(value * 1000) if isinstance(value, (int, float)) else None


@dataclass(frozen=True)
class Tree:
    """Listing of everything below a root."""

    # entries of each folder by its path; the root's path is empty
    folders: Mapping[str, tuple[Entry, ...]]

    def entry(self, relative: str) -> Entry | None:
        """Return the file or folder at a path; None if nothing is there."""
        if relative in self.folders:
            return Entry(relative.rsplit("/", 1)[-1], relative, True, 0)
        inside = self.folders.get(relative.rpartition("/")[0], ())
        return next((entry for entry in inside if entry.path == relative), None)


def tree_of(infos: Mapping[str, Any], base: str) -> Tree:
    """Return the tree of a driver's ``find`` (path -> info); ``base`` is the path of the root.

    NotADirectoryError: the root is a file.
    """
    start = f"{base.strip('/')}/"
    folders: dict[str, dict[str, Entry]] = {"": {}}
    for info in infos.values():
        name = str(info["name"]).lstrip("/")
        if name == base.strip("/") and info["type"] == "file":
            raise NotADirectoryError("it is a file, not a folder")
        if not name.startswith(start) or not name[len(start) :].strip("/"):
            continue  # the root itself
        path = name[len(start) :].rstrip("/")
        # The marker object by which some stores keep an empty folder ends with a slash.
        if name.endswith("/") or info["type"] == "directory":
            _add_folder(folders, path)
        else:
            parent = path.rpartition("/")[0]
            _add_folder(folders, parent)
            folders[parent][path] = entry_of(info, path)
    # Entries of one folder sort by their names.
    return Tree({path: tuple(sorted(inside.values())) for path, inside in folders.items()})


def _add_folder(folders: dict[str, dict[str, Entry]], path: str) -> None:
    """Add a folder, and missing folders above it, with their entries."""
    missing = []
    while path not in folders:
        missing.append(path)
        path = path.rpartition("/")[0]
    for entry in reversed(missing):
        parent, _, name = entry.rpartition("/")
        folders[parent][entry] = Entry(name, entry, True, 0)
        folders[entry] = {}
