"""What all partitions together say of leftovers of which one alone cannot be sure.

A partition tells its leftovers under every reading that its own bytes allow: of a group state's
timers under either clock, of a join under each time in its key. Which reading holds is known when
all partitions have told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspector.pipeline.join_times import holds

StoreName = tuple[int, str]
"""Operator id and store name: one store over all partitions."""


@dataclass(frozen=True)
class Settled:
    """The readings that hold.

    Attributes:
        readings: of each group state's timers, the clocks that no partition has proof against.
        arming: store and clock under which calls for data always left a timer.
        key_times: of each join whose rows tell it, which field of its key carries the watermark.
    """

    readings: Mapping[StoreName, frozenset[str]]
    arming: frozenset[tuple[StoreName, str]]
    key_times: Mapping[int, tuple[int, ...]]

    def keeps(self, row: Mapping[str, Any]) -> bool:
        """Whether a fact about leftovers rests on a reading that holds.

        Args:
            row: of kind ``leftover``, ``leftovers`` or ``leftover_age``.
        """
        name, kind = (row["operator_id"], row["store_name"]), row["timeout_kind"]
        if not holds(row, self.key_times):
            return False
        if row["before_window"] and (name, kind) not in self.arming:
            return False
        return kind is None or self.readings.get(name) == frozenset((kind,))

    def to_json(self) -> str:
        """As text, for workers."""
        return json.dumps(
            {
                "readings": [[*name, sorted(kinds)] for name, kinds in self.readings.items()],
                "arming": sorted([*name, kind] for name, kind in self.arming),
                "key_times": [[number, *path] for number, path in self.key_times.items()],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Settled:
        """The inverse of :meth:`to_json`."""
        raw = json.loads(text)
        return cls(
            {(number, store): frozenset(kinds) for number, store, kinds in raw["readings"]},
            frozenset(((number, store), kind) for number, store, kind in raw["arming"]),
            {number: tuple(path) for number, *path in raw["key_times"]},
        )
