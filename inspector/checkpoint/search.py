"""Finds the checkpoints that a pattern or a folder means, by listings alone, on any storage.

A pattern has ``*``, ``?`` and ``[...]`` within a folder's name, and ``**`` for any folders; whoever
searches a folder for all that lies in it gives ``**`` as its end. Nothing below a checkpoint is
looked into. What a hostile or huge tree can cost is bounded: folders deeper than :data:`DEEPEST`
are passed by, a local folder that several links lead to is entered once, and the search ends at
:data:`MOST_FOLDERS`, which is an error in its answer and never a silent end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import TypeAlias

from inspector.checkpoint.roots import is_root_with
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.urls import is_local, translate
from inspector.exceptions import InspectorError, LimitError, NotACheckpointError
from inspector.light_dataclasses import dataclass, field

ANY_FOLDERS = "**"  # the part of a pattern that stands for any number of folders, also for none
DEEPEST = 32  # folders below the one where the search begins
MOST_FOLDERS = 100_000  # folders that are listed at most
_AT_ONCE = 64  # folders listed between two answers: an interrupt waits for no more than these
_MAGIC = re.compile(r"[*[]|\?(?![\w.-]+=)")  # not the ``?`` before the parameters of a URL

_HOLD_NO_CHECKPOINT = frozenset({"_delta_log", "_spark_metadata", "_temporary", "__pycache__"})
"""Folders with very many files, in which no query has its checkpoint."""


@dataclass(frozen=True)
class Found:
    """A checkpoint, or a place where the search failed."""

    path: str  # as the user would spell it
    error: OSError | InspectorError | None = None  # why nothing is known of it, if so
    is_root: bool = False  # a listing has shown that it is a root; no other is made for that


def is_pattern(url: str) -> bool:
    """Return whether a path is a glob pattern; an existing local path never is."""
    return bool(_MAGIC.search(url)) and not (is_local(url) and os.path.lexists(url))


def search(
    url: str,
    options: Mapping[str, str] | None = None,
    *,
    recursive: bool = False,
    most_folders: int = MOST_FOLDERS,
    was_root: Callable[[str], bool] | None = None,  # of a folder that is taken for one unlisted
) -> Iterator[Found]:
    """The checkpoints that a path or pattern means, the nearest first, each level by name."""
    # At least one checkpoint or failure comes. EngineError, OSError as of Storage.open.
    base, pattern = _split(url)
    if recursive and pattern[-1:] != [ANY_FOLDERS]:
        pattern.append(ANY_FOLDERS)
    storage = Storage.open(base, options)
    item = None
    for item in _Search(storage, pattern, most_folders, was_root or (lambda _: False)).run():
        yield item
    if item is None:
        entry = "no checkpoint" if storage.exists("") else "nothing"
        where = "at this path or below" if recursive else "by this pattern"
        yield Found(url, NotACheckpointError(f"got {entry} {where}", url))


def _split(url: str) -> tuple[str, list[str]]:
    if not is_pattern(url):
        return url, []
    parts = url.rstrip("/").split("/")
    first = next(i for i, part in enumerate(parts) if _MAGIC.search(part))
    if "://" in url and first < 3:
        raise NotACheckpointError("got a pattern in the name of a bucket or host", url)
    base = "/".join(parts[:first])
    return base or ("/" if first else "."), parts[first:]


Reached: TypeAlias = frozenset[int]  # indexes of a pattern that a folder may stand at


@dataclass
class _Search:
    """A search, breadth first. A frontier maps a folder to how far into the pattern it is."""

    # Folders may be very many, of which most are equally far: they share one set.

    storage: Storage
    pattern: Sequence[str]
    most_folders: int
    was_root: Callable[[str], bool]
    listed: int = 0
    entered: set[str] = field(default_factory=set)
    shared: dict[Reached, Reached] = field(default_factory=dict)

    def run(self) -> Iterator[Found]:
        frontier: dict[str, Reached] = {"": self._reach({0})}
        for _ in range(DEEPEST + 1):
            next_frontier: dict[str, Reached] = {}
            folders = iter(sorted(frontier))
            while part := list(islice(filter(self._is_new, folders), _AT_ONCE)):
                if self.listed + len(part) > self.most_folders:
                    error = LimitError(
                        f"got more than {self.most_folders:,} folders, the search ended there: "
                        "name a folder nearer to the checkpoints"
                    )
                    yield Found(self.storage.root, error.at(self.storage.root))
                    return
                self.listed += len(part)
                yield from self._look_into(part, frontier, next_frontier)
            frontier = next_frontier
            if not frontier:
                return

    def _look_into(
        self,
        folders: Sequence[str],
        frontier: Mapping[str, Reached],
        next_frontier: dict[str, Reached],
    ) -> Iterator[Found]:
        errors: dict[str, OSError] = {}
        roots = {folder for folder in folders if self.was_root(self.storage.full_path(folder))}
        remainder = [folder for folder in folders if folder not in roots]
        listings = self.storage.list_many(remainder, missing_ok=True, errors=errors)
        for folder in folders:
            reached = frontier[folder]
            try:
                if folder in errors:
                    raise errors[folder]
                if folder in roots or is_root_with(self.storage, listings[folder]):
                    if len(self.pattern) in reached:
                        yield Found(self.storage.full_path(folder), is_root=True)
                    continue
            except (OSError, InspectorError) as error:
                yield Found(self.storage.full_path(folder), error)
                continue
            for entry in listings[folder]:
                matched = {i for i in reached if entry.is_dir and self._matches(entry.name, i)}
                further = {i if self.pattern[i] == ANY_FOLDERS else i + 1 for i in matched}
                if further:
                    next_frontier[entry.path] = self._reach(
                        further | next_frontier.get(entry.path, frozenset())
                    )

    def _matches(self, name: str, index: int) -> bool:
        if index == len(self.pattern):
            return False
        part = self.pattern[index]
        if part == ANY_FOLDERS:
            return name[0] != "." and name not in _HOLD_NO_CHECKPOINT
        return fnmatchcase(name, part)

    def _reach(self, indexes: set[int]) -> Reached:
        """With those behind every ``**``, which may stand for no folder."""
        result = set(indexes)
        for i in sorted(indexes):
            while i < len(self.pattern) and self.pattern[i] == ANY_FOLDERS:
                i += 1
                result.add(i)
        return self.shared.setdefault(frozenset(result), frozenset(result))

    def _is_new(self, folder: str) -> bool:
        """Return whether a folder is entered for the first time, with local links resolved."""
        location = self.storage.full_path(folder)
        if is_local(location):
            location = os.path.realpath(translate(location).target)
        was_entered = location in self.entered
        self.entered.add(location)
        return not was_entered
