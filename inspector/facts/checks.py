"""Facts about checks that passed, and about files that could not be read."""

from __future__ import annotations

from inspector.facts.fact import Fact, Observed, StoreSum, fact
from inspector.light_dataclasses import dataclass
from inspector.model import Problem, StoreId
from inspector.state.compare import SnapshotDifference

SNAPSHOT_DIFFERS = "snapshot-differs"  # slug of the problem that a snapshot differs from its deltas


@fact("checks_passed")
@dataclass(frozen=True)
class ChecksPassed(StoreSum):
    """Number of files and checksums of a store that are right. Adds up."""

    files: int = 0  # deltas and snapshots that could be decoded to their end
    file_checksums: int = 0  # checksum files that match the file they belong to
    row_checksums: int = 0  # records that match the checksum they contain
    unsummed_files: int = 0  # of ``files``, those without a checksum of any kind
    # number of ``unsummed_files`` that a snapshot confirms: it has the rows that the deltas make
    confirmed_files: int = 0


@fact("snapshot_differs")
@dataclass(frozen=True)
class SnapshotDiffers(Fact):
    """A snapshot that differs from its deltas in a range of the keys."""

    path: str  # path of the snapshot
    file_version: int | None  # version of the snapshot
    difference: SnapshotDifference  # numbers of keys that differ


@fact("problem")
@dataclass(frozen=True)
class ReadProblem(Fact):
    """A :class:`~inspector.model.Problem` that a worker met when it read a store."""

    slug: str  # kind of problem
    message: str  # the problem in a sentence
    path: str | None = None  # path of the file; None if it is about no single file
    offset: int | None = None  # position in the file, in bytes; None if not known
    file_version: int | None = None  # version of the file

    @classmethod
    def observe(cls, problem: Problem, store: StoreId, version: int) -> Observed[ReadProblem]:
        """Return a problem as a fact about a store at the version that was to be read."""
        location = problem.path, problem.offset, problem.version
        return Observed(store, version, cls(problem.slug, problem.message, *location))

    def problem(self, store: StoreId) -> Problem:
        """Return the fact as a problem of ``store``."""
        return Problem(self.slug, self.message, self.path, self.offset, store, self.file_version)
