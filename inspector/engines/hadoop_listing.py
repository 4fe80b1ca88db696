"""What the driver has of a checkpoint that only Spark can read: its listing, and small files.

The listing is a temporary folder: small files with their content, state files with their size and
time alone, so that everything that reads listings and logs works on it. Tasks have another one,
where their files are staged when they run (:mod:`inspector.engines.staging`).
"""

from __future__ import annotations

import json
import os
import shutil
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from inspector.checkpoint.roots import STATE
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.urls import STAGED, stage_folder, staged_name, staged_url
from inspector.exceptions import EngineError
from inspector.light_dataclasses import dataclass
from inspector.model import LIMITS

HALF_MS_NS = 500_000  # added to times in whole milliseconds, so that no rounding makes one less


class ListedFile(NamedTuple):
    """A file as Spark lists it."""

    uri: str | None  # as ``_metadata.file_path`` has it, percent-encoded; None of an empty file
    size: int  # bytes
    modified_ms: int  # epoch milliseconds; 0 of an empty file, as Spark has no row for it


@dataclass(frozen=True, eq=False)
class Listing:
    """A checkpoint as Spark listed it."""

    name: str  # stands for it in the URLs of tasks; no other has it
    root: str  # the path as the user spelled it, to be read by Spark; may hold credentials
    files: Mapping[str, ListedFile]  # path in the checkpoint -> file

    def small(self) -> list[str]:
        """The files that the driver reads itself: logs, metadata and schemas."""
        return [
            path
            for path, file in self.files.items()
            if file.size <= LIMITS.small_file_bytes
            and (not path.startswith(f"{STATE}/") or "/_" in path.rpartition("/")[0])
        ]


Listings = dict[str, Listing]  # of a session by their names, as long as their storage is in use


def open_listing(
    listing: Listing, folders: Iterable[str], target: str, listings: Listings
) -> Storage:
    """The storage that discovery reads, and that ``listings`` has as long as something holds it.

    The small files lie in ``target`` below the listing's name, which is removed with it.
    """
    fetched = str(Path(target, listing.name))
    for folder in folders:
        Path(fetched, folder).mkdir(parents=True, exist_ok=True)
    for path, file in listing.files.items():
        location = Path(fetched, path)
        location.parent.mkdir(parents=True, exist_ok=True)
        if not location.exists():
            location.touch()
            os.truncate(location, file.size)
        ns = file.modified_ms * 1_000_000 + HALF_MS_NS
        os.utime(location, ns=(ns, ns))
    with stage_folder(listing.name, fetched):
        storage = Storage(staged_url(listing.name), {}, listing.root)
    listings[listing.name] = listing
    weakref.finalize(storage, listings.pop, listing.name, None)
    weakref.finalize(storage, shutil.rmtree, target, ignore_errors=True)
    return storage


def relative_path(path: str, root: str, mark: str, *, encoded: bool = False) -> str:
    """The path in the checkpoint of a file that Spark listed below a mark, such as ``state``.

    Spark reports whole paths in its own spelling of the root, percent-encoded where it is a URI; of
    the user's only the last part is sure to be in it. EngineError: the mark is not in the path.
    """
    parts = (unquote(path) if encoded else path).split("/")
    positions = [i for i, part in enumerate(parts) if part == mark]
    above = root.rstrip("/").rsplit("/", 1)[-1]
    after_root = [i for i in positions if i and parts[i - 1] == above]
    if not positions:
        message = f"Spark lists {parts[-1]!r} outside of {mark!r}, expected it inside"
        raise EngineError(message, root)
    return "/".join(parts[(after_root or positions)[-1] :])


class TaskFile(NamedTuple):
    """A file that a task reads: of which listing, and its path in the checkpoint."""

    listing: Listing
    path: str

    @property
    def listed_file(self) -> ListedFile:
        """The file as Spark lists it."""
        return self.listing.files[self.path]


def files_of_task(spec: str, listings: Mapping[str, Listing]) -> list[TaskFile]:
    """The files of a task, and of tasks in it as JSON, each once; EngineError: closed, not ours."""
    task_files: dict[TaskFile, None] = {}
    for task, listing in _with_listings(spec, listings):
        for store in task["stores"]:
            for file in (*store["files"], *store["side_files"]):
                path = file["path"].removeprefix(task["root"]).lstrip("/")
                task_files[TaskFile(listing, path)] = None
    return list(task_files)


def listing_names(spec: str, listings: Mapping[str, Listing]) -> set[str]:
    """The names of a task's checkpoints, even without files; EngineError: :func:`files_of_task`."""
    return {listing.name for _, listing in _with_listings(spec, listings)}


def _with_listings(
    spec: str, listings: Mapping[str, Listing]
) -> Iterator[tuple[dict[str, Any], Listing]]:
    for task in _tasks(spec):
        listing = listings.get(staged_name(task["url"]))
        if listing is None:
            raise EngineError(
                f"got a task on {task['root']} that Spark has not listed, expected one of a "
                "checkpoint that is open on this engine"
            )
        yield task, listing


def _tasks(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, str):
        if f"{STAGED}:/" in value:
            with suppress(ValueError, RecursionError):  # a text that has nothing to do with a task
                yield from _tasks(json.loads(value))
    elif isinstance(value, Sequence):
        for item in value:
            yield from _tasks(item)
    elif isinstance(value, dict):
        if "url" in value and "stores" in value:
            yield value
            yield from _tasks(value.get("origins", ()))
        else:
            yield from _tasks(list(value.values()))
