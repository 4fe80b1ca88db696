"""History of a store: changes of the versions that can be read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile

from inspector.facts.versions import VersionFacts
from inspector.findings.views.base_store import StoreFacts
from inspector.findings.views.query_clock import span


class StoreHistory:
    """View of the changes of one store over its window: the versions whose changes are known."""

    def __init__(self, store: StoreFacts) -> None:
        """Make the view of the changes of ``store``."""
        self._store = store

    @cached_property
    def changes(self) -> Sequence[VersionFacts]:
        """Facts of the versions of the window, the oldest first.

        A version that could only be loaded from a snapshot has no known changes, and is left out.
        """
        return [facts for facts in self._store.versions.values() if not facts.rebased]

    @property
    def window(self) -> int:
        """Number of versions whose changes are known."""
        return len(self.changes)

    @cached_property
    def puts(self) -> int:
        """Number of records that put a key, over the window."""
        return sum(facts.puts for facts in self.changes)

    @cached_property
    def inserts(self) -> int:
        """Number of records that put a key which did not exist, over the window."""
        return sum(facts.inserts for facts in self.changes)

    @cached_property
    def removals(self) -> int:
        """Number of rows removed from one version to the next, over the window."""
        return sum(facts.removed_rows for facts in self.changes)

    @property
    def first(self) -> VersionFacts:
        """Facts of the oldest version that can be read; all numbers are 0 without one."""
        return next(iter(self._store.versions.values()), VersionFacts())

    @cached_property
    def span_ms(self) -> int | None:
        """Time from the batch of the oldest readable version to the judged batch, in ms.

        By the batch clock; None if it is not recorded.
        """
        clock, version = self._store.clock, self._store.version
        return span(clock.at(min(self._store.versions, default=version)), clock.batch)

    @property
    def is_growing(self) -> bool | None:
        """True if the bytes of the store grow by their trend; None if too few versions show it."""
        return self._store.whole.context.growing.get(self._store.name)

    @cached_property
    def quiet_versions(self) -> int:
        """Number of versions with puts since the last version that added a key.

        Only versions whose changes are known count.
        """
        newest_first = (facts for _, facts in sorted(self._store.versions.items(), reverse=True))
        steady = takewhile(lambda facts: not facts.new_rows, newest_first)
        return sum(bool(facts.puts) and not facts.rebased for facts in steady)

    def is_quiet(self, versions: int) -> bool:
        """Return True if no recent version added a key.

        At least ``versions`` of the newest versions, and half as many as the window has, had puts
        and no new key.
        """
        return self.quiet_versions >= max(versions, self.window / 2)
