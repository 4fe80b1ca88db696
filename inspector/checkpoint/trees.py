"""Everything below a checkpoint's root, by one listing of an object store.

An object store has no folders: it lists all names that begin alike, a thousand at a time. Folder by
folder a checkpoint of a thousand partitions would take a thousand requests for the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspector.checkpoint.entries import Entry, entry_of


@dataclass(frozen=True)
class Tree:
    """What lies below a root.

    Attributes:
        folders: path -> what it holds, sorted by name; the root's path is empty.
    """

    folders: Mapping[str, tuple[Entry, ...]]

    def entry(self, relative: str) -> Entry | None:
        """The file or folder at a path; None if nothing is there."""
        if relative in self.folders:
            return Entry(relative.rsplit("/", 1)[-1], relative, True, 0)
        inside = self.folders.get(relative.rpartition("/")[0], ())
        return next((entry for entry in inside if entry.path == relative), None)


def tree_of(found: Mapping[str, Any], base: str) -> Tree:
    """The tree of a driver's ``find``.

    Args:
        found: path -> info, with or without folders.
        base: the path of the root, as the driver has it.

    Raises:
        NotADirectoryError: the root is a file.
    """
    start = f"{base.strip('/')}/"
    folders: dict[str, dict[str, Entry]] = {"": {}}
    for info in found.values():
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
            above = path.rpartition("/")[0]
            _add_folder(folders, above)
            folders[above][path] = entry_of(info, path)
    return Tree(
        {path: tuple(sorted(inside.values(), key=_name)) for path, inside in folders.items()}
    )


def _name(entry: Entry) -> str:
    return entry.name


def _add_folder(folders: dict[str, dict[str, Entry]], path: str) -> None:
    """Add a folder and those above it."""
    missing = []
    while path not in folders:
        missing.append(path)
        path = path.rpartition("/")[0]
    for entry in reversed(missing):
        above, _, name = entry.rpartition("/")
        folders[above][entry] = Entry(name, entry, True, 0)
        folders[entry] = {}
