"""What a listing says about a file or folder, whichever driver made the listing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from inspector.model import Problem

NOT_A_FILE = "not-a-file"
"""Slug of a problem that is something else under the name of a file that Spark writes."""

PLAIN = ("file", "directory")
"""The types that fsspec gives what can be read or listed."""

_TIME_NAMES = ("mtime", "LastModified", "last_modified", "updated", "modified", "created")
"""Names that drivers give the time of last change; the first that is there counts."""


@dataclass(frozen=True)
class Entry:
    """A file or folder in a listing.

    Attributes:
        name: last part of its path.
        path: its path relative to the storage's root.
        is_dir: whether it is a folder (or an object store's prefix).
        size: bytes; 0 for a folder.
        modified_ms: time of last change, epoch milliseconds; None where the storage has none.
        is_special: whether it is neither file nor folder: a pipe, a device, a link that leads
            nowhere. It is named and never opened.
    """

    name: str
    path: str
    is_dir: bool
    size: int
    modified_ms: int | None = None
    is_special: bool = False

    @property
    def is_file(self) -> bool:
        """Whether it can be read."""
        return not (self.is_dir or self.is_special)

    def not_a_file(self, full_path: str) -> Problem:
        """The problem that it is, where Spark writes a file of this name."""
        got = "folder" if self.is_dir else "pipe, socket, device or broken link"
        return Problem(NOT_A_FILE, f"got a {got}, expected a file", full_path)


def entry_of(info: Mapping[str, Any], relative: str) -> Entry:
    """The entry for fsspec's ``info`` of the thing at a relative path."""
    name, is_dir = relative.rsplit("/", 1)[-1], info["type"] == "directory"
    if info["type"] not in PLAIN:
        return Entry(name, relative, is_dir=False, size=0, is_special=True)
    size = 0 if is_dir else int(info.get("size") or 0)
    return Entry(name, relative, is_dir, size, modified_ms(info))


def modified_ms(info: Mapping[str, Any]) -> int | None:
    """Time of last change in epoch milliseconds, or None if the driver has none."""
    for name in _TIME_NAMES:
        milliseconds = _milliseconds(info.get(name))
        if milliseconds is not None:
            return milliseconds
    return None


def _milliseconds(value: object) -> int | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return None
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return round(aware.timestamp() * 1000)
    return int(value * 1000) if isinstance(value, (int, float)) else None
