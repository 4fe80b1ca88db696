"""What the driver knows of a checkpoint that only Spark can read: a listing, and small files.

The listing is laid down as a folder: small files with their content, state files with their size
and time alone. So everything that reads listings and logs works on it unchanged, and no task does:
its URL names another folder, where its files are when it runs (:mod:`inspector.engines.staging`).
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from inspector.checkpoint.roots import STATE
from inspector.checkpoint.staged import SCHEME, name_of, staged, url_of
from inspector.checkpoint.storage import Storage
from inspector.exceptions import EngineError
from inspector.model import LIMITS

HALF_MS_NS = 500_000
"""Added to times in whole milliseconds, so that no rounding makes one less of them."""


class Listed(NamedTuple):
    """A file as Spark lists it.

    Attributes:
        uri: as ``_metadata.file_path`` has it, percent-encoded; None of an empty file.
        size: bytes.
        modified_ms: epoch milliseconds; 0 of an empty file, of which Spark does not tell it.
    """

    uri: str | None
    size: int
    modified_ms: int


@dataclass(frozen=True, eq=False)
class Copy:
    """A checkpoint, as the driver knows it.

    Attributes:
        name: what stands for it in the URLs of tasks.
        root: the path as given, to be read by Spark; may hold credentials.
        files: path in the checkpoint -> file.
    """

    name: str
    root: str
    files: Mapping[str, Listed]

    def small(self) -> list[str]:
        """The files that the driver reads itself: logs, metadata and schemas."""
        return [
            path
            for path, file in self.files.items()
            if file.size <= LIMITS.small_file_bytes and _is_read_first(path)
        ]


_copies: dict[str, Copy] = {}


def opened(copy: Copy, folders: Iterable[str], target: str) -> Storage:
    """The storage that discovery reads; copy and folder are forgotten when it is.

    Args:
        copy: what was listed.
        folders: paths that are there, be they empty.
        target: a folder in which the small files lie below the copy's name; taken over.
    """
    fetched = str(Path(target, copy.name))
    for folder in folders:
        Path(fetched, folder).mkdir(parents=True, exist_ok=True)
    for path, file in copy.files.items():
        place = Path(fetched, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            place.touch()
            os.truncate(place, file.size)
        ns = file.modified_ms * 1_000_000 + HALF_MS_NS
        os.utime(place, ns=(ns, ns))
    with staged(copy.name, fetched):
        storage = Storage(url_of(copy.name), {}, copy.root)
    _copies[copy.name] = copy
    weakref.finalize(storage, _forget, copy.name, target)
    return storage


def new_copy(root: str, files: Mapping[str, Listed]) -> Copy:
    """A copy with a name that no other has."""
    return Copy(uuid.uuid4().hex, root, files)


def _forget(name: str, folder: str) -> None:
    _copies.pop(name, None)
    shutil.rmtree(folder, ignore_errors=True)


def _is_read_first(path: str) -> bool:
    folders = path.split("/")[:-1]
    return folders[:1] != [STATE] or any(part.startswith("_") for part in folders)


def relative(path: str, root: str, mark: str, *, encoded: bool = False) -> str:
    """The path in the checkpoint of a file that Spark listed.

    Spark tells the whole path in its own spelling of the root; of the user's only the last part is
    sure to be in it.

    Args:
        path: as Spark tells it.
        root: as the user spelled it.
        mark: the file or folder below the root in which it was listed, such as ``state``.
        encoded: it is a URI, percent-encoded.

    Raises:
        EngineError: the mark is not in the path.
    """
    parts = (unquote(path) if encoded else path).split("/")
    places = [i for i, part in enumerate(parts) if part == mark]
    above = root.rstrip("/").rsplit("/", 1)[-1]
    after_root = [i for i in places if i and parts[i - 1] == above]
    if not places:
        raise EngineError(
            f"Spark lists {parts[-1]!r} outside of {mark!r}, expected it inside", root
        )
    return "/".join(parts[(after_root or places)[-1] :])


class Needed(NamedTuple):
    """A file that a task reads: of which copy, and its path in the checkpoint."""

    copy: Copy
    path: str


def needed(spec: str) -> list[Needed]:
    """The files of a task, each once, whatever kind of task it is: they hold others as JSON texts.

    Raises:
        EngineError: the checkpoint was opened by another engine, or is closed.
    """
    found: dict[Needed, None] = {}
    for task, copy in _with_copies(spec):
        for store in task["stores"]:
            for file in (*store["files"], *store["side_files"]):
                path = file["path"].removeprefix(task["root"]).lstrip("/")
                found[Needed(copy, path)] = None
    return list(found)


def names_in(spec: str) -> set[str]:
    """The names of the checkpoints that a task is about, though it may read no file of them.

    Raises:
        EngineError: as :func:`needed`.
    """
    return {copy.name for _, copy in _with_copies(spec)}


def _with_copies(spec: str) -> Iterator[tuple[dict[str, Any], Copy]]:
    for task in _tasks(spec):
        copy = _copies.get(name_of(task["url"]))
        if copy is None:
            raise EngineError(
                f"got a task on {task['root']} that Spark has not listed, expected one of a "
                "checkpoint that is open on this engine"
            )
        yield task, copy


def _tasks(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, str):
        if f"{SCHEME}:/" in value:
            yield from _tasks(_parsed(value))
    elif isinstance(value, Sequence):
        for each in value:
            yield from _tasks(each)
    elif isinstance(value, dict):
        if "url" in value and "stores" in value:
            yield value
        else:
            yield from _tasks(list(value.values()))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None  # some text that has nothing to do with a task
