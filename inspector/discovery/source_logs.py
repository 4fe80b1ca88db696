"""The logs of file sources: which folder of ``sources`` belongs to which line of an offset entry.

* Spark gives each distinct relation of the plan one source and one folder, ``sources/0``,
  ``sources/1``, in the order in which it first meets them (``MicroBatchExecution.logicalPlan``,
  ``toExecutionRelationMap``, ``nextSourceId``). Sources without files, such as ``rate``, count too,
  and some of them never write into their folder.
* Offset log v1 has a line for each *use* of a source. ``s.union(s)`` has two lines, both with the
  same offset, and one folder. Two reads of one folder, or a join of a source with itself, are two
  relations with two folders [Spark 4.3.0].
* Offset log v2 has one line for each source, under the position of its last use. ``s.union(s)`` has
  the single line ``1:...``. With source evolution the line and the folder have the source's name.

Two lines may belong to one source only if they have the same offset in every entry. A log counts as
lost only if every way to distribute the sources over the folders lacks an entry.

At its start a source reads its log from the newest compact entry on
(``CompactibleFileStreamLog.allFiles``), and the restart reads the entries of the last batch again
(``FileStreamSource.getBatch``). An entry that is missing there stops the query. If the last batch
had no new files, only the newest entry is missing, and its file is still in the input folder, Spark
finds the file again and writes the entry again; otherwise an assertion fails [Spark 4.3.0].
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from inspector.checkpoint.confs import SOURCE_EVOLUTION
from inspector.checkpoint.log_entries import SourceOffset
from inspector.checkpoint.logs import OFFSETS
from inspector.checkpoint.names import number
from inspector.checkpoint.storage import Storage
from inspector.discovery.checkpoint import Checkpoint
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import BatchId
from inspector.sums import group_by

SOURCES = "sources"  # folder below the root with one log for each file source
COMPACT = ".compact"  # suffix of compact entries, which repeat the older entries of a source's log
_V2 = 2  # format of the offset log whose lines name their sources
_COMPACT_INTERVAL = 10  # default of spark.sql.streaming.fileSource.log.compactInterval
_MOST_INTERVAL = 10_000  # entries between two compact ones that are believed
_MOST_STATES = 4096  # partial assignments that are compared; beyond them nothing is concluded
_MOST_POSITIONS = 1024  # uses of sources in offset log v2 that are walked through


@dataclass(frozen=True)
class SourceFolders:
    """Folders below ``sources`` that the sources of one batch have, and what is missing in them."""

    folders: Mapping[str, str]  # source name -> folder; only of sources whose folder is known
    lost: tuple[str, ...] = ()  # missing logs, or one missing entry each, as paths below the root
    doubtful: tuple[str, ...] = ()  # missing newest entries that Spark may write again
    assumption: str = ""  # why fewer folders than lines are enough, as a clause; "" if not needed
    # names in each folder that was listed, by the folder's path below the root
    listed: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def folder(self, source: SourceOffset) -> str:
        """Return a source's folder below the root; ``sources/<name>`` if it is not known."""
        return f"{SOURCES}/{self.folders.get(source.name, source.name)}"


def source_folders(checkpoint: Checkpoint, batch: int) -> SourceFolders:
    """Assign the sources of a batch to their folders; OSError if these cannot be listed."""
    sources = checkpoint.logs.sources.get(BatchId(batch), ())
    listing = _Listing(checkpoint)
    if not any(source.log_entry is not None for source in sources):
        return SourceFolders({})
    return replace(_assign(checkpoint, batch, sources, listing), listed=listing.paths())


def _assign(
    checkpoint: Checkpoint, batch: int, sources: Sequence[SourceOffset], listing: _Listing
) -> SourceFolders:
    """Assign sources to folders, by the rules of the offset log's format."""
    if checkpoint.logs.formats.get(OFFSETS, 1) < _V2:
        return _by_uses(listing, sources, _first_uses_of_v1(checkpoint, sources))
    has_names = any(number(source.name) is None for source in sources)
    if has_names or checkpoint.logs.conf_for(batch, SOURCE_EVOLUTION).value == "true":
        return _plain(listing, sources)
    return _by_last_uses(listing, sources)


def source_log_gaps(checkpoint: Checkpoint, batch: int) -> Iterator[str]:
    """Yield the missing logs of file sources up to a batch, or the newest missing entry of each.

    OSError if the logs cannot be listed.
    """
    # Offsets of such a source are numbers of entries of its log, which names what it has read. When
    # it starts it reads them from the newest compact one on (CompactibleFileStreamLog.allFiles),
    # and with a restart those of the last batch (FileStreamSource.getBatch).
    folders = source_folders(checkpoint, batch)
    yield from (*folders.lost, *folders.doubtful)


class _Listing:
    """The logs below ``sources``; every folder is listed at most once."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        """Prepare to list the folders of a checkpoint; nothing is listed yet."""
        self._storage: Storage = checkpoint.storage
        self._is_there = SOURCES in checkpoint.layout.root_names
        self._names: dict[str, frozenset[str]] = {}
        self._doubtful: set[str] = set()

    def names(self, folder: str) -> frozenset[str]:
        """Return the names in ``sources/<folder>``; empty if there is no such folder."""
        if folder not in self._names:
            path = f"{SOURCES}/{folder}"
            listed = self._storage.list(path, missing_ok=True) if self._is_there else ()
            self._names[folder] = frozenset(entry.name for entry in listed)
        return self._names[folder]

    def paths(self) -> dict[str, frozenset[str]]:
        """Return the names in each folder that was listed, by its path."""
        return {f"{SOURCES}/{folder}": names for folder, names in self._names.items()}

    def gap(self, folder: str, source: SourceOffset) -> str | None:
        """Return the path of the newest entry, or whole log, that a source lacks in a folder.

        None if nothing is missing from its newest entry back to the compact one. A loss that Spark
        may repair is remembered as doubtful.
        """
        newest = source.log_entry
        if newest is None:
            return None
        names = self.names(folder)
        lost = _missing_entry(names, newest)
        if lost is None:
            return None
        path = f"{SOURCES}/{folder}"
        if names:
            path += f"/{entry_name(lost, names)}"
        if lost == newest and source.moved is False and _missing_entry(names, newest - 1) is None:
            self._doubtful.add(path)
        return path

    def lost(
        self,
        paths: Sequence[str | None],
        folders: Mapping[str, str] | None = None,
    ) -> SourceFolders:
        """Return the result that reports these missing paths as lost or doubtful.

        None stands for a source without loss.
        """
        missing = [path for path in paths if path is not None]
        return SourceFolders(
            folders or {},
            tuple(path for path in missing if path not in self._doubtful),
            tuple(path for path in missing if path in self._doubtful),
        )

    def highest(self) -> int:
        """Return the highest number of a folder below ``sources`` with a log; -1 without one."""
        listed = self._storage.list(SOURCES, missing_ok=True) if self._is_there else ()
        numbers = (number(entry.name) for entry in listed if entry.is_dir)
        present = sorted((n for n in numbers if n is not None), reverse=True)
        return next((n for n in present if self.names(str(n))), -1)


def _plain(listing: _Listing, sources: Sequence[SourceOffset]) -> SourceFolders:
    """Return the result where each source has the folder of its own name or number."""
    gaps = [listing.gap(source.name, source) for source in sources]
    return listing.lost(gaps, {source.name: source.name for source in sources})


def entry_name(entry: int, names: Collection[str]) -> str:
    """Return the name of an entry of a file source's log that is gone: ``9.compact`` or ``8``.

    ``names`` are those of the files in the folder of the log.
    """
    stems = (name.lstrip(".").partition(COMPACT) for name in names)
    compact = [n for stem, suffix, _ in stems if suffix and (n := number(stem)) is not None]
    interval, newest = _COMPACT_INTERVAL, max(compact, default=0) + 1
    if newest % interval and newest > 1:
        # The conf was another one when that entry was written (deriveCompactInterval).
        divisors = range(interval, min(newest // 2, _MOST_INTERVAL) + 1)
        interval = next((divisor for divisor in divisors if not newest % divisor), newest)
    is_compact = entry in compact or (entry + 1) % interval == 0
    return f"{entry}{COMPACT}" if is_compact else f"{entry}"


def _missing_entry(names: Collection[str], newest: int) -> int | None:
    """Return the newest missing entry of a log, back to its compact entry; None if none is.

    ``names`` are the files of the log, ``newest`` the entry that it must reach.
    """
    for entry in range(newest, -1, -1):
        if f"{entry}{COMPACT}" in names:
            return None
        if str(entry) not in names:
            return entry
    return None


def _first_uses_of_v1(checkpoint: Checkpoint, sources: Sequence[SourceOffset]) -> list[int]:
    """Return for each line of an entry the first line that may be a use of its source.

    Their offsets are equal in every entry with the same number of lines. An entry in which one of
    the two goes back is left out: Spark does not write such a line, so that it was changed.
    """
    entries = [e for e in checkpoint.logs.sources.values() if len(e) == len(sources)]
    return [
        next(
            first for first in range(line + 1) if first == line or _are_alike(entries, first, line)
        )
        for line in range(len(sources))
    ]


def _are_alike(entries: Sequence[Sequence[SourceOffset]], first: int, second: int) -> bool:
    """True if lines ``first`` and ``second`` have equal offsets in every unchanged entry.

    Entries in which one of them goes back do not count; False if there are no others.
    """
    pairs = [(entry[first], entry[second]) for entry in entries]
    unchanged = [(a, b) for a, b in pairs if a.setback is None and b.setback is None]
    return bool(unchanged) and all(a.offset == b.offset for a, b in unchanged)


def _by_uses(
    listing: _Listing, sources: Sequence[SourceOffset], first_uses: Sequence[int]
) -> SourceFolders:
    """Assign sources to folders for offset log v1, where a source has one line for each use.

    ``first_uses`` is for each line the first line that may be of the same source. As many folders
    as can be filled are used. Reports the loss if there is no assignment without a missing entry.
    """
    if len(set(first_uses)) == len(sources):
        return _plain(listing, sources)
    # The number of folders so far -> the folder of each line. More folders replace fewer, because
    # a folder that is there belongs to a source.
    assignments: dict[int, tuple[int, ...]] = {0: ()}
    for position, source in enumerate(sources):
        first_use = first_uses[position]
        extended: dict[int, tuple[int, ...]] = {}
        for count, folders in assignments.items():
            if first_use < position:
                extended.setdefault(count, (*folders, folders[first_use]))
            if listing.gap(str(count), source) is None:
                extended[count + 1] = (*folders, count)
        if not extended:
            return listing.lost([listing.gap(str(min(assignments)), source)])
        assignments = extended
    highest = max(assignments)
    if highest <= listing.highest():
        return _find_unused_folder(listing, sources, highest)
    named = zip(sources, map(str, assignments[highest]), strict=True)
    return SourceFolders(
        {source.name: folder for source, folder in named},
        assumption=_assumption(sources, assignments[highest]),
    )


def _assumption(sources: Sequence[SourceOffset], folders: Sequence[int]) -> str:
    """Return ``sources 0 and 1 are one source ...`` for the first folder of several lines.

    ``folders`` is the folder of each source. No text if each source has its own folder.
    """
    sources_by_folder = group_by(zip(folders, sources, strict=True), lambda pair: pair[0])
    for folder, pairs in sources_by_folder.items():
        if len(pairs) > 1:
            names = ", ".join(source.name for _, source in pairs[:-1])
            last = pairs[-1][1].name
            times = "twice" if len(pairs) == 2 else f"{len(pairs)} times"
            is_changed = len({source.offset for _, source in pairs}) > 1
            same = "the same in all entries but the newest one" if is_changed else "the same"
            return (
                f"sources {names} and {last} are one source that the query uses {times}, as their "
                f"offsets are {same} and only {SOURCES}/{folder} is there"
            )
    return ""


def _find_unused_folder(
    listing: _Listing, sources: Sequence[SourceOffset], used: int
) -> SourceFolders:
    """Return the result that the log in folder number ``used`` lost an entry.

    No source has this folder, and the folders before it have whole logs. Empty if no source lacks
    an entry there.
    """
    folder = used
    for source in sources:
        gap = listing.gap(str(folder), source)
        if gap is not None:
            return listing.lost([gap])
    return SourceFolders({})


def _by_last_uses(listing: _Listing, sources: Sequence[SourceOffset]) -> SourceFolders:
    """Assign sources to folders where a source has one line, named by its last use (v2).

    Folders follow the first uses: the assignment is one in which no log lacks an entry.
    """
    sources_by_position = {int(source.name): source for source in sources}
    end = max(sources_by_position) + 1
    if end == len(sources):
        return _plain(listing, sources)
    if end > _MOST_POSITIONS:
        return SourceFolders({})
    # Positions of the sources that have a folder so far, in the order of the folders.
    assignments: set[tuple[int, ...]] = {()}
    for position in range(end):
        extended: set[tuple[int, ...]] = set()
        rejected: str | None = None
        for assigned in assignments:
            if _is_known_use(position, assigned, sources_by_position):
                extended.add(assigned)
            for candidate in _first_uses(position, assigned, sources_by_position):
                gap = listing.gap(str(len(assigned)), sources_by_position[candidate])
                if gap is None:
                    extended.add((*assigned, candidate))
                rejected = rejected or gap
        if not extended:
            return listing.lost([rejected])
        if len(extended) > _MOST_STATES:
            return SourceFolders({})
        assignments = extended
    assigned = min(assignments)
    return SourceFolders({str(position): str(folder) for folder, position in enumerate(assigned)})


def _is_known_use(position: int, assigned: Collection[int], lines: Collection[int]) -> bool:
    """True if the use at a position of the plan may be of a source that has a folder.

    Sources are named by their last use: ``lines`` are all, ``assigned`` those with a folder.
    """
    if position in lines:
        return position in assigned
    return any(last_use > position for last_use in assigned)


def _first_uses(position: int, assigned: Collection[int], lines: Collection[int]) -> list[int]:
    """Return the sources without a folder whose first use in the plan may be at ``position``.

    A query may use a source several times, and an offset entry has a line for each use. A source is
    given by the position of its last use: ``lines`` are all of them, and ``assigned`` are those
    with a folder. The candidates are ``position`` itself if it is in ``lines``, otherwise all later
    ones.
    """
    candidates = [position] if position in lines else [p for p in lines if p > position]
    return [last_use for last_use in candidates if last_use not in assigned]
