"""Checks that passed, and problems of files that could not be read."""

from __future__ import annotations

from inspector.facts.fact import Fact, Observed, StoreSum, fact
from inspector.light_dataclasses import dataclass
from inspector.model import Problem, StoreId
from inspector.state.compare import SnapshotDifference

SNAPSHOT_DIFFERS = "snapshot-differs"  # slug of the problem


@fact("checks_passed")
@dataclass(frozen=True)
class ChecksPassed(StoreSum):
    """Files and checksums of a store that are right. Adds."""

    files: int = 0  # deltas and snapshots that could be decoded to their end
    file_checksums: int = 0  # files beside them that hold the checksum of their bytes
    row_checksums: int = 0  # records whose own checksum is that of their bytes
    unsummed_files: int = 0  # of ``files``, those that hold no checksum of any kind
    # of those, the ones that a snapshot and the deltas up to it confirm: they make the same rows
    confirmed_files: int = 0


@fact("snapshot_differs")
@dataclass(frozen=True)
class SnapshotDiffers(Fact):
    """A snapshot that disagrees with its deltas, in numbers of keys, on a range of the keys."""

    path: str
    file_version: int | None
    difference: SnapshotDifference


@fact("problem")
@dataclass(frozen=True)
class ReadProblem(Fact):
    """A :class:`~inspector.model.Problem` of a worker with a store's file of a version."""

    slug: str
    message: str
    path: str | None = None
    offset: int | None = None
    file_version: int | None = None

    @classmethod
    def observe(cls, problem: Problem, store: StoreId, version: int) -> Observed[ReadProblem]:
        """A problem that was met on the way to a version."""
        location = problem.path, problem.offset, problem.version
        return Observed(store, version, cls(problem.slug, problem.message, *location))

    def problem(self, store: StoreId) -> Problem:
        """The problem, of a store."""
        return Problem(self.slug, self.message, self.path, self.offset, store, self.file_version)
