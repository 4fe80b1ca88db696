"""Search for the checkpoints that a pattern or a folder contains, by listings alone.

A pattern has ``*``, ``?`` and ``[...]`` within a folder's name, and ``**`` for any folders. To
search a whole folder, ``**`` is its end. Folders below a checkpoint are not searched. The cost of a
hostile or huge tree is bounded: folders deeper than :data:`DEEPEST` are left out, a local folder
with several links to it is entered once, and the search ends with an error at :data:`MOST_FOLDERS`.
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

ANY_FOLDERS = "**"  # part of a pattern that stands for any number of folders, also for none
DEEPEST = 32  # levels of folders that are searched below the first one
MOST_FOLDERS = 100_000  # folders that are listed at most
_AT_ONCE = 64  # folders that are listed at once; an interrupt waits for no more than these
# characters of a pattern; not the ``?`` before the parameters of a URL
_MAGIC = re.compile(r"[*[]|\?(?![\w.-]+=)")

_HOLD_NO_CHECKPOINT = frozenset({"_delta_log", "_spark_metadata", "_temporary", "__pycache__"})
"""Names of folders with very many files, in which no query has its checkpoint."""


@dataclass(frozen=True)
class Found:
    """A checkpoint, or a path where the search failed."""

    path: str  # its path as the user would spell it
    # why the path could not be searched; None for a checkpoint
    error: OSError | InspectorError | None = None
    # True if a listing has shown that it is a root, so that it is not listed again
    is_root: bool = False


def is_pattern(url: str) -> bool:
    """Return True if a path is a glob pattern; an existing local path never is."""
    return bool(_MAGIC.search(url)) and not (is_local(url) and os.path.lexists(url))


def search(
    url: str,
    options: Mapping[str, str] | None = None,
    *,
    recursive: bool = False,
    most_folders: int = MOST_FOLDERS,
    was_root: Callable[[str], bool] | None = None,  # of a folder that is taken for one unlisted
) -> Iterator[Found]:
    """Yield the checkpoints that a path or pattern matches, nearest first.

    Checkpoints of one level are ordered by name. A path that cannot be searched is yielded with its
    error, so at least one item is yielded. ``recursive`` searches all folders below. The search
    ends with a LimitError item before it would list more than ``most_folders`` folders. A folder
    for which ``was_root`` is True counts as a checkpoint, and no listing checks it. Raises
    EngineError and OSError as Storage.open, and NotACheckpointError if the name of a bucket or host
    is a pattern.
    """
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
    """Return the part of a URL before the first pattern, and the parts from there on.

    NotACheckpointError: the name of a bucket or host is a pattern.
    """
    if not is_pattern(url):
        return url, []
    parts = url.rstrip("/").split("/")
    first = next(i for i, part in enumerate(parts) if _MAGIC.search(part))
    if "://" in url and first < 3:
        raise NotACheckpointError("got a pattern in the name of a bucket or host", url)
    base = "/".join(parts[:first])
    return base or ("/" if first else "."), parts[first:]


# Indexes of the parts of a pattern up to which the path of a folder may have matched.
Reached: TypeAlias = frozenset[int]


@dataclass
class _Search:
    """A search, breadth first, level by level."""

    # Folders may be very many, of which most are equally far: they share one set.

    storage: Storage  # storage at the folder where the search begins
    pattern: Sequence[str]  # parts of the pattern below that folder
    most_folders: int  # folders that are listed at most
    # returns True for a folder that counts as a root without a listing
    was_root: Callable[[str], bool]
    listed: int = 0  # folders listed so far
    entered: set[str] = field(default_factory=set)  # folders entered so far, with links resolved
    # sets of indexes, each kept once for the many folders that have it
    shared: dict[Reached, Reached] = field(default_factory=dict)

    def run(self) -> Iterator[Found]:
        """Yield the checkpoints and the errors of the search."""
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
        """Yield the checkpoints among some folders; add folders below the others to a level.

        ``frontier`` has the reached indexes of each folder.
        """
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
        """Return True if a folder's name matches the part of the pattern at an index."""
        if index == len(self.pattern):
            return False
        part = self.pattern[index]
        if part == ANY_FOLDERS:
            return name[0] != "." and name not in _HOLD_NO_CHECKPOINT
        return fnmatchcase(name, part)

    def _reach(self, indexes: set[int]) -> Reached:
        """Return indexes of the pattern's parts, and those after each ``**`` among them.

        ``**`` may stand for no folder.
        """
        result = set(indexes)
        for i in sorted(indexes):
            while i < len(self.pattern) and self.pattern[i] == ANY_FOLDERS:
                i += 1
                result.add(i)
        return self.shared.setdefault(frozenset(result), frozenset(result))

    def _is_new(self, folder: str) -> bool:
        """Return True if a folder is entered for the first time, with local links resolved."""
        location = self.storage.full_path(folder)
        if is_local(location):
            location = os.path.realpath(translate(location).target)
        was_entered = location in self.entered
        self.entered.add(location)
        return not was_entered
