"""Files that make a state version: a snapshot and the deltas after it.

Version V is the newest snapshot at or below V (or the empty version 0) and then every delta up to V
(``HDFSBackedStateStoreProvider.loadMap``). A version may have both a delta and a snapshot: Spark
prefers the snapshot to load it; the delta alone shows what its batch changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from inspector.exceptions import MissingVersionError
from inspector.light_dataclasses import dataclass
from inspector.model import FileKind, StoreFile


@dataclass(frozen=True)
class FileNames:
    """Names of a provider's files of a version; ``{}`` stands for the version."""

    delta: str  # name of a delta
    snapshot: str  # name of a snapshot
    # condition of Spark's error if a delta is missing
    absent: str = "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"

    @property
    def delta_noun(self) -> str:
        """Word for a delta in messages: its suffix, such as ``changelog``, or else ``delta``."""
        return self.delta.rpartition(".")[2] if "." in self.delta else "delta"


@dataclass(frozen=True)
class StoreFiles:
    """State files of one store by version."""

    deltas: Mapping[int, StoreFile]  # deltas by version
    snapshots: Mapping[int, StoreFile]  # snapshots by version
    names: FileNames  # names of such files, for messages
    # True if a version may have only a snapshot, whose difference from the previous one is its
    # change
    compares: bool = False

    @classmethod
    def of(
        cls, files: Iterable[StoreFile], names: FileNames, *, compares: bool = False
    ) -> StoreFiles:
        """Return a store's deltas and snapshots by version; other files are left out."""
        kinds: dict[FileKind, dict[int, StoreFile]] = {FileKind.DELTA: {}, FileKind.SNAPSHOT: {}}
        for file in files:
            if file.kind in kinds and file.version is not None:
                kinds[file.kind][file.version] = file
        return cls(kinds[FileKind.DELTA], kinds[FileKind.SNAPSHOT], names, compares)

    @property
    def newest(self) -> int:
        """Newest version of any file; 0 if there is no file."""
        return max([*self.deltas, *self.snapshots], default=0)

    def without(self, file: StoreFile) -> StoreFiles:
        """Return a copy without one file, to continue past a file that cannot be read."""
        kinds = (self.deltas, self.snapshots)
        deltas, snapshots = ({v: f for v, f in files.items() if f != file} for files in kinds)
        return StoreFiles(deltas, snapshots, self.names, self.compares)


@dataclass(frozen=True)
class Chain:
    """Files that make one version: a snapshot, or none, and the deltas after it."""

    version: int  # the version
    base: StoreFile | None  # the snapshot; None to begin with the empty version 0
    deltas: tuple[StoreFile, ...]  # the deltas after it, in order

    @property
    def files(self) -> tuple[StoreFile, ...]:
        """All of its files, in the order in which they are applied."""
        return self.deltas if self.base is None else (self.base, *self.deltas)


@dataclass(frozen=True)
class Step:
    """One version of a replay, with the files that make it."""

    version: int  # the version
    # snapshot to load instead of continuing from the previous version; None to continue
    base: StoreFile | None = None
    # changes since the previous version; not applied if there is a base
    delta: StoreFile | None = None
    # snapshot of the same version, to be compared with the replayed map
    check: StoreFile | None = None
    # snapshot without a delta, whose difference from the map is the change
    compared: StoreFile | None = None

    @property
    def files(self) -> tuple[StoreFile, ...]:
        """Files that the step reads, in order; the delta is not among them if there is a base."""
        files = (self.base,) if self.base is not None else (self.delta, self.check, self.compared)
        return tuple(filter(None, files))


def chain_for(files: StoreFiles, version: int) -> Chain:
    """Return the files that make a version, as Spark chooses them.

    MissingVersionError: a delta is missing; the message names the first one.
    """
    base = max((v for v in files.snapshots if v <= version), default=0)
    missing = next((v for v in range(base + 1, version + 1) if v not in files.deltas), None)
    if missing is not None:
        start = files.names.snapshot.format(base) if base else "the empty version 0"
        raise MissingVersionError(
            f"state version {version} cannot be restored: {files.names.delta.format(missing)} "
            f"is missing, expected every delta after {start}"
        )
    deltas = tuple(files.deltas[v] for v in range(base + 1, version + 1))
    return Chain(version, files.snapshots.get(base), deltas)


def restorable_versions(files: StoreFiles) -> list[int]:
    """Return every version that can be made from the files, oldest first."""
    result: list[int] = []
    reached = 0
    for version in sorted({*files.deltas, *files.snapshots}):
        if version in files.snapshots or (version in files.deltas and version == reached + 1):
            result.append(version)
            reached = version
    return result


def compared_versions(files: StoreFiles) -> list[int]:
    """Return the versions whose changes only a comparison of snapshots shows."""
    steps = replay_steps(files, files.newest) if files.compares else []
    compared = (step.compared for step in steps)
    return [f.version or 0 for f in compared if f is not None and f.continues is None]


def replay_steps(files: StoreFiles, upto: int) -> list[Step]:
    """Return one pass over all restorable versions up to ``upto``, oldest first, each file once."""
    # Deltas are preferred, because only they show what a batch changed; a snapshot starts the pass,
    # bridges a gap, and is otherwise compared with the map that the deltas made. One of a
    # repartitioning starts it anew: its rows come from other folders too.
    steps: list[Step] = []
    reached = 0
    for version in restorable_versions(files):
        if version > upto:
            break
        delta, snapshot = files.deltas.get(version), files.snapshots.get(version)
        continues = None if snapshot is None else snapshot.continues
        follows = version == reached + 1 and continues is not False
        if delta is not None and follows:
            steps.append(Step(version, delta=delta, check=snapshot))
        elif (files.compares or continues) and delta is None and follows:
            steps.append(Step(version, compared=snapshot))
        else:
            steps.append(Step(version, base=snapshot, delta=delta))
        reached = version
    return steps
