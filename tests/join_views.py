"""Views of a join for tests of rules about its sides."""

from __future__ import annotations

from typing import Any

from inspector.facts.ages import OldestEventTime
from inspector.facts.fact import Observed
from inspector.facts.versions import VersionFacts
from inspector.findings.views.checkpoint_view import OperatorView
from inspector.light_dataclasses import dataclass
from inspector.merge.collect import Facts
from inspector.model import StoreId
from inspector.operators.rule import StoreRule
from tests.store_views import batch_clocks, checkpoint_view

LEFT, RIGHT = "left-keyWithIndexToValue", "right-keyWithIndexToValue"
COUNTERS = "left-keyToNumValues"


@dataclass(frozen=True)
class Side:
    """One side of a join: what its versions did, with a watermark that moves by 10 s in each."""

    removed: int = 0  # in the last version
    rows: int = 90  # in the last version; 10 in the first
    versions: int = 9
    behind_ms: int = 70_000  # oldest event time behind the watermark in the last version
    keys: int = 0  # counters of the side
    facts: tuple[Any, ...] = ()


def join_view(left: Side | None = None, right: Side | None = None, **options: Any) -> OperatorView:
    """Return a view of a join with these sides, at version 9."""
    sides = {store: side for store, side in ((LEFT, left), (RIGHT, right)) if side is not None}
    marks = options.pop("marks", range(10_000, 100_000, 10_000))
    options["clocks"] = batch_clocks(*marks)
    rules = dict.fromkeys((*sides, COUNTERS), StoreRule(unknown="a range"))
    view = checkpoint_view(rules, operator_name="symmetricHashJoin", **options)
    seen: list[Observed[Any]] = []
    for name, side in sides.items():
        store = StoreId(0, name, 0)
        for version in range(10 - side.versions, 10):
            is_last = version == 9
            changes = VersionFacts(
                rows=side.rows if is_last else 10,
                key_bytes=900 * is_last,
                value_bytes=100 * is_last,
                removed_rows=side.removed * is_last,
            )
            oldest_ms = marks[version - 1] - side.behind_ms
            seen.append(Observed(store, version, changes))
            seen.append(Observed(store, version, OldestEventTime(oldest_ms)))
        seen += [Observed(store, 9, fact) for fact in side.facts]
        counters = StoreId(0, name.replace("keyWithIndexToValue", "keyToNumValues"), 0)
        seen.append(Observed(counters, 9, VersionFacts(rows=side.keys)))
    view.facts = Facts(seen)
    (operator,) = view.operators
    return operator
