"""Records that the batch of their delta cannot have written: the file belongs elsewhere.

Each check rests on a premise (``explanation/proofs`` in the documentation), which names the Spark
source and what would refute it; where that may be so, the check is silent. It costs a comparison
for each version.

``absent``
    No removal of a key that is not there (premise ``removes-what-is-there``).
``updates``
    No put of a key that is there, by a deduplication (premise ``puts-once``).
``removals``
    No removal of a row that the watermark of the batch has not reached (premise
    ``evicts-what-is-covered``).
``late``
    No put of a row that was too late, in a batch that evicted one (premise ``drops-late-rows``).
    A batch that evicts nothing does not show that the operator sees a watermark.
``timers``
    No timer before the watermark and the time of its batch (premise ``set-after-clock``).

Batches whose clocks are not known, or contradict each other, are not checked, nor are those that a
tool appended (premise ``appended-batch``) or whose version a copy changed (``edited-version``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from inspector.arrays import Bools, Int64s
from inspector.discovery.tasks import StoreTask, Task
from inspector.kernel.record_layout import NO_CLOCK
from inspector.model import BatchClock
from inspector.state.change import NO_LATER, Change, Changes

ABSENT = "absent-removals"  # slug of removals of keys that are not there
FOREIGN_RECORDS = "foreign-records"  # slug of other records that their batch cannot have written


class CrossChecks:
    """Compares the records of each version of a store with the batch that wrote them."""

    def __init__(self, task: Task, store: StoreTask) -> None:
        self._checks = [check for name, check in _CHECKS.items() if name in store.cross_checks]
        self.resume(task, store)

    def resume(self, task: Task, store: StoreTask) -> None:
        """Continue with a later task of the same store, whose log has more batches."""
        self._batches: dict[int, BatchClock] = {c.batch_id: c for c in task.clocks}
        self._per_ms = store.expiry.per_ms if store.expiry is not None else 1

    def doubtful(self, changes: Changes) -> Int64s:
        """Return the indexes of the versions in ``changes`` where a check could find something."""
        needed = [check.needs(changes) for check in self._checks]
        return np.flatnonzero(np.any(needed, axis=0)) if needed else np.empty(0, np.int64)

    def of(self, change: Change) -> list[tuple[str, str]]:
        """Return (slug, message) for each check that a version's records fail.

        The list is empty for a version that comes from a snapshot, and for a batch with foreign
        rows.
        """
        batch, previous = (self._batches.get(change.version - ago) for ago in (1, 2))
        if change.rebased or (batch is not None and batch.has_foreign_rows):
            return []
        context = batch, previous, self._per_ms
        messages = ((check.slug, check.message(change, context)) for check in self._checks)
        return [(slug, message) for slug, message in messages if message is not None]


_Around = tuple[BatchClock | None, BatchClock | None, int]
"""The batch that wrote a change, the batch before it, and the units of a row's time per
millisecond. A batch is None if its clock is not known.
"""


def _absent(change: Change, _context: _Around) -> str | None:
    """Return a message if the delta removes keys that the previous version does not have.

    Returns None if it does not.
    """
    text = (
        f"got {change.counts.absent_removals:,} removals of keys that the version before "
        "does not have, expected none: Spark removes only what is there"
    )
    return text if change.counts.absent_removals else None


def _updates(change: Change, _context: _Around) -> str | None:
    """Return a message if the delta puts keys that exist already, and None if it does not."""
    text = (
        f"got {change.counts.updates:,} puts of keys that are there already, expected "
        "none: a deduplication never puts a key again"
    )
    return text if change.counts.updates else None


def _removals(change: Change, context: _Around) -> str | None:
    """Return a message if the delta removes a row that is later than its batch's watermark.

    Returns None if it does not, or if the watermark is not known.
    """
    batch, _, per_ms = context
    if batch is None or batch.watermark_ms is None or change.latest_removal is None:
        return None
    bound = batch.watermark_ms * per_ms
    if change.latest_removal <= bound:
        return None
    return (
        f"got a removal of a row of the time {change.latest_removal}, expected none "
        f"after {bound}, the watermark of batch {batch.batch_id}"
    )


def _late(change: Change, context: _Around) -> str | None:
    """Return the message if the delta puts a row up to the watermark, so too late, else None.

    The watermark is the lower one of this batch and the previous one. Returns None if a clock is
    not known, or if the batch evicted no row.
    """
    batch, previous, per_ms = context
    # Without a watermark an operator evicts what lies before 1970, and drops no more.
    if batch is None or change.earliest_put is None or (change.latest_removal or 0) <= 0:
        return None
    if previous is None or previous.watermark_ms is None or batch.watermark_ms is None:
        return None
    bound = min(previous.watermark_ms, batch.watermark_ms) * per_ms
    if not bound or change.earliest_put > bound:
        return None
    return (
        f"got a put of a row of the time {change.earliest_put}, expected none up to "
        f"{bound}, the watermark of batch {previous.batch_id}: Spark drops late rows"
    )


def _timers(change: Change, context: _Around) -> str | None:
    """Return a message if the delta sets a timer before the earlier clock of its batch.

    Returns None if it does not, or if a clock is not known.
    """
    batch, _, _ = context
    if batch is None or batch.watermark_ms is None or batch.timestamp_ms is None:
        return None
    bound = min(batch.watermark_ms, batch.timestamp_ms)
    # The sum of a time and a duration that is too long for it is negative.
    if change.earliest_put is None or not 0 <= change.earliest_put < bound:
        return None
    return (
        f"got a timer of {change.earliest_put}, expected none before {bound}, the earlier "
        f"clock of batch {batch.batch_id}: Spark refuses to set one in the past"
    )


class _Check(NamedTuple):
    """One check of a version's records."""

    slug: str  # slug of the problem that the check reports
    # returns the message if the check fails, else None
    message: Callable[[Change, _Around], str | None]
    # returns a mask of the versions in which the check could find something
    needs: Callable[[Changes], Bools]


# The checks by the name that the rules of operators give them.
_CHECKS: Mapping[str, _Check] = {
    "absent": _Check(ABSENT, _absent, lambda c: np.asarray(c.counts.absent_removals) > 0),
    "updates": _Check(FOREIGN_RECORDS, _updates, lambda c: np.asarray(c.counts.updates) > 0),
    "removals": _Check(FOREIGN_RECORDS, _removals, lambda c: c.latest_removal != NO_CLOCK),
    "late": _Check(FOREIGN_RECORDS, _late, lambda c: c.latest_removal > 0),
    "timers": _Check(FOREIGN_RECORDS, _timers, lambda c: c.earliest_put != NO_LATER),
}
