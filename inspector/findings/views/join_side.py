"""Sides of a join: their rows, removals, and how far their rows are behind the watermark."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from inspector.facts.join_rows import JoinCheck, KeyTimeVotes, MatchedPuts, RemovedRows
from inspector.findings.views.checkpoint_view import OperatorView
from inspector.findings.views.store_view import StoreView
from inspector.merge.collect import count_covered_rows
from inspector.model import StoreName
from inspector.operators.join import COUNT_STORES, NAMES, VALUE_STORES, time_fields


class JoinSide:
    """One side of a join, as the versions that can be read show it."""

    def __init__(self, store: StoreView) -> None:
        """Make the view of a side from the view of the store that has its rows."""
        self.store = store

    @property
    def label(self) -> str:
        """Name of the side: ``left`` or ``right``."""
        return self.store.store_name.partition("-")[0]

    @cached_property
    def _oldest_ms(self) -> Mapping[int, tuple[int, int]]:
        """Version -> (watermark, oldest event time of the rows), both in epoch ms.

        Only versions that have both are included.
        """
        times = self.store.facts.retention.get(self.store.name, {})
        clocks = {version: self.store.clock.at(version) for version in times}
        return {
            version: (clock.watermark_ms, times[version])
            for version, clock in clocks.items()
            if clock is not None and clock.watermark_ms
        }

    @cached_property
    def behind_ms(self) -> Mapping[int, int]:
        """Version -> ms by which the oldest event time is behind the watermark.

        It is negative if the watermark has not passed the row. Only versions with both times are
        included.
        """
        return {version: mark - oldest for version, (mark, oldest) in self._oldest_ms.items()}

    @property
    def watermarks_ms(self) -> list[int]:
        """Watermarks, epoch ms, of the versions with a watermark and an event time."""
        return [mark for mark, _ in self._oldest_ms.values()]

    @property
    def most_ms(self) -> int | None:
        """Largest number of ms by which a row is behind the watermark, in any version.

        It is negative if the watermark has passed no row, and None if no version has both times.
        """
        return max(self.behind_ms.values(), default=None)

    @property
    def moved_ms(self) -> int:
        """Milliseconds between the lowest and the highest watermark; 0 if there is none.

        Only versions with a watermark and a known oldest event time count.
        """
        return max(self.watermarks_ms, default=0) - min(self.watermarks_ms, default=0)

    @property
    def removals(self) -> int:
        """Number of rows removed over the window of versions whose changes are known."""
        return self.store.history.removals

    @cached_property
    def early(self) -> int:
        """Number of rows removed before the watermark passed them, if each key has one row; else 0.

        Only the left side of a join is counted. In a semi join these are rows that met a partner.
        """
        # Of a key with several rows the last takes the place of the one that goes
        # (SymmetricHashJoinStateManager), so that a newer row is removed from the store.
        store = self.store
        counters = StoreName(store.operator_id, COUNT_STORES[0])
        keys = store.facts.of_version(counters, store.version).rows
        has_one_each = store.store_name == VALUE_STORES[0] and keys == store.rows
        return (store.sum(RemovedRows) or RemovedRows()).early if has_one_each else 0

    @property
    def has_grown(self) -> bool:
        """True if the judged version has more rows than the oldest version that can be read."""
        return self.store.rows > self.store.history.first.rows

    @property
    def keeps_passed_rows(self) -> bool:
        """True if the side kept every row that the watermark had passed.

        The watermark moved and has passed a row, and the number of rows rose. No row was removed
        except the ``early`` ones.
        """
        is_passed = self.most_ms is not None and self.most_ms > 0
        return self.removals == self.early and self.moved_ms > 0 and self.has_grown and is_passed

    @property
    def covered_rows(self) -> int:
        """Number of rows that a watermark on the join key would have removed already.

        Counted are rows whose time in the key the watermark has passed. The time must equal the
        event time of every row; 0 if the key has no such time.
        """
        votes = self.store.facts.merged(KeyTimeVotes).get(self.store.name, {})
        return count_covered_rows(votes)

    @property
    def check(self) -> JoinCheck | None:
        """Result of the comparison of counters with rows; None if they were not compared."""
        return self.store.sum(JoinCheck)

    @property
    def partners(self) -> MatchedPuts | None:
        """Numbers of rows in the files with and without a partner; None if no flag shows it."""
        return self.store.sum(MatchedPuts)


class JoinSides:
    """Views of both sides of a join."""

    def __init__(self, operator: OperatorView) -> None:
        """Make the views of both sides, as ``sides``; it is empty if the operator is no join."""
        is_join = operator.operator.name in NAMES
        stores = [store for store in operator.stores if store.store_name in VALUE_STORES]
        self.sides = [JoinSide(store) for store in stores if is_join]

    @property
    def with_times(self) -> list[JoinSide]:
        """Sides whose rows have an event time."""
        return [side for side in self.sides if side.store.name in side.store.facts.retention]

    def opposite(self, side: JoinSide) -> JoinSide | None:
        """Return the side other than ``side``; None if its rows have no event time."""
        return next((other for other in self.with_times if other is not side), None)

    def reads_all_rows(self, side: JoinSide) -> bool:
        """Return True if every batch reads all rows of a side, as it evicts rows by their values.

        Such a side has removed rows, has an event time, and has no time in its key by which it
        could evict. The left side of a semi join also removes rows that met a partner. So for the
        left side, both sides must have removed rows that the watermark had passed.
        """
        schema = side.store.operator.schemas.get(side.store.store_name)
        if schema is None or time_fields(schema.key) or side not in self.with_times:
            return False
        removing = self.with_times if side.label == "left" else [side]
        return all(other.removals > other.early for other in removing)
