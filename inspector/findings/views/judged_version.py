"""One version of a checkpoint with its merged facts: what every view is a view of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

from inspector.checkpoint.log_entries import SourceOffset
from inspector.decode.row_hash import row_hash
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.restart import Restart
from inspector.discovery.restart_conditions import JOIN_NULLS
from inspector.exceptions import RowError
from inspector.findings.views.query_clock import QueryClock
from inspector.light_dataclasses import dataclass, field, replace
from inspector.merge.collect import Facts
from inspector.model import Problem, StoreName
from inspector.sparktypes import StructType


class KeyWords(Protocol):
    """Function that returns words for a key of a store, as redaction allows.

    For a part of a key its schema is given.
    """

    def __call__(self, store: StoreName, key: bytes, schema: StructType | None = None, /) -> str:
        """Return the words."""
        ...


@dataclass(frozen=True)
class Context:
    """Values besides the facts of a version that rules read.

    With the defaults nothing is known.
    """

    problems: Sequence[Problem] = ()  # what could not be read, or is not as Spark writes it
    key_words: KeyWords = lambda _store, key, _schema=None: row_hash(key)  # returns words for a key
    # True if the bytes of a store grow; stores without an answer are absent
    growing: Mapping[StoreName, bool] = field(default_factory=dict)
    # estimated heap of the retained versions in bytes; None without a limit for it
    heap_bytes: int | None = None
    restart: Restart | None = None  # None if the judged version is not the newest
    # True if findings about rows are made too, and not only those about files
    judges_rows: bool = True


class JudgedVersion:
    """A version of a checkpoint, the facts of all versions up to it, and its clocks."""

    def __init__(
        self, checkpoint: Checkpoint, version: int, facts: Facts, context: Context | None = None
    ) -> None:
        """Make the view of a version by its merged facts."""
        self.checkpoint = checkpoint
        self.version = version
        self.facts = facts
        self.context = context or Context()

    @cached_property
    def clock(self) -> QueryClock:
        """Clocks of the query's batches."""
        return QueryClock(self.checkpoint, self.version)

    @cached_property
    def files_restart(self) -> Restart | None:
        """Restart as rules about files report it; None if an older version is judged.

        Null rows of joins are left out if a finding about rows (SS208) reports them.
        """
        restart = self.context.restart
        if restart is None or not self.context.judges_rows:
            return restart
        obstacles = tuple(o for o in restart.obstacles if o.about != JOIN_NULLS)
        return replace(restart, obstacles=obstacles)

    @cached_property
    def sources(self) -> Mapping[int, Sequence[SourceOffset]]:
        """Offsets of the sources by batch, of every batch in the offset log that can be read."""
        return dict(self.checkpoint.logs.sources.items())

    @cached_property
    def unfit_stores(self) -> frozenset[StoreName]:
        """Stores with rows that do not fit their schema: their times say nothing."""
        problems = self.context.problems
        return frozenset(
            p.store.name for p in problems if p.slug == RowError.slug and p.store is not None
        )
