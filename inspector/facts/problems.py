"""What could not be read: a fact like any other, so that a run with problems goes on."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.facts.fact import Fact, Observed, fact
from inspector.model import Problem, StoreId


@fact("problem")
@dataclass(frozen=True)
class ReadProblem(Fact):
    """A problem of a worker with the files of one store.

    Attributes:
        slug, message, path, offset: see :class:`inspector.model.Problem`.
        file_version: state version of the file; None where the problem is of no single file.
    """

    slug: str
    message: str
    path: str | None = None
    offset: int | None = None
    file_version: int | None = None

    @classmethod
    def observe(cls, found: Problem, store: StoreId, version: int) -> Observed[ReadProblem]:
        """A problem that was met on the way to a version."""
        own = cls(found.slug, found.message, found.path, found.offset, found.version)
        return Observed(store, version, own)

    def problem(self, store: StoreId) -> Problem:
        """The problem, of a store."""
        return Problem(self.slug, self.message, self.path, self.offset, store, self.file_version)
