"""Base of the views: one version of a checkpoint, with its merged facts."""

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
    """Function that returns words for a key of a store, as redaction allows."""

    def __call__(self, store: StoreName, key: bytes, schema: StructType | None = None, /) -> str:
        """Return words for ``key``, the UnsafeRow bytes of a key of ``store``.

        ``schema`` is given if ``key`` is only a part of the store's key; None for the whole key.
        """
        ...


@dataclass(frozen=True)
class Context:
    """Values that rules read in addition to the facts of a version.

    By default all of them are unknown or empty.
    """

    problems: Sequence[Problem] = ()  # what could not be read, or is not as Spark writes it
    # function that returns words for a key; by default the key's hash
    key_words: KeyWords = lambda _store, key, _schema=None: row_hash(key)
    # store -> True if its bytes grow; stores for which it is unknown are absent
    growing: Mapping[StoreName, bool] = field(default_factory=dict)
    # estimated heap of the retained versions in bytes; None without a limit for it
    heap_bytes: int | None = None
    # judgement of a restart; None if the judged version is not the newest
    restart: Restart | None = None
    # True if findings about rows are made, too; False if only those about files are
    judges_rows: bool = True


class JudgedVersion:
    """View of a version of a checkpoint: facts of all versions up to it, and its clocks."""

    def __init__(
        self, checkpoint: Checkpoint, version: int, facts: Facts, context: Context | None = None
    ) -> None:
        """Make the view of ``version`` by ``facts``, the merged facts of all versions up to it."""
        self.checkpoint = checkpoint
        self.version = version
        self.facts = facts
        self.context = context or Context()

    @cached_property
    def clock(self) -> QueryClock:
        """Batch clocks and watermarks of the query."""
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
        """Batch -> offsets of the sources, for every entry of the offset log that can be read."""
        return dict(self.checkpoint.logs.sources.items())

    @cached_property
    def unfit_stores(self) -> frozenset[StoreName]:
        """Stores with rows that do not fit their schema, so that the rows' times mean nothing."""
        problems = self.context.problems
        return frozenset(
            p.store.name for p in problems if p.slug == RowError.slug and p.store is not None
        )
