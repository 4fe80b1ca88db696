"""SS220: data arrives that is not stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from inspector.checkpoint.log_entries import SourceOffset
from inspector.facts.ages import AHEAD, Ages, RowsBehind
from inspector.facts.fact import Observed
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss220_unstored_data import UnstoredData
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.merge.collect import Facts
from inspector.model import StoreId
from inspector.operators.rule import StoreRule
from tests.cases import KEY_TIME
from tests.store_views import batch_clocks, checkpoint_view

RULE = StoreRule(expiry=KEY_TIME)
PUT = 3  # version of the last put


def sources(*moved: bool | None, batches: int = 9) -> dict[int, Sequence[SourceOffset]]:
    """Return sources that moved, or did not, in each batch."""
    item = [SourceOffset(str(number), "1", is_moved) for number, is_moved in enumerate(moved)]
    return dict.fromkeys(range(batches), item)


def view_of(
    *facts: Any, store: str = "default", puts: bool = True, **options: Any
) -> CheckpointView:
    """Return a view of 9 versions, of which version 3 was the last that put a row."""
    arguments: dict[str, Any] = {"clocks": batch_clocks(*[5000] * 9), "sources": sources(True)}
    view = checkpoint_view({store: RULE}, **arguments | options)
    name = StoreId(0, store, 0)
    seen: list[Observed[Any]] = [
        Observed(name, version, VersionFacts(rows=9, puts=version <= PUT and puts))
        for version in range(1, 10)
    ]
    view.facts = Facts([*seen, *(Observed(name, 9, fact) for fact in facts)])
    return view


def findings(*facts: Any, **options: Any) -> list[Finding]:
    return list(UnstoredData().findings(view_of(*facts, **options)))


def test_store_without_puts_is_information() -> None:
    (finding,) = findings()
    assert (finding.kind.id, finding.severity) == ("SS220", Severity.INFO)
    assert (finding.operator_id, finding.store_name) == (0, "default")
    assert finding.cause == (
        "No row of the operator was stored (since batch 2) in 6 batches with data: the rows are "
        "too late for the watermark, have no event time, or are dropped before the operator."
    )
    (finding,) = findings(puts=False)
    assert "was stored in 9 batches with data" in finding.cause


def test_reached_limit_is_the_likely_cause() -> None:
    (finding,) = findings(operator_name="globalLimit")
    assert finding.cause.startswith("Most likely the limit is reached, so that the query emits ")


def test_join_side_without_puts_is_named() -> None:
    side = "right-keyWithIndexToValue"
    (finding,) = findings(store=side, operator_name="symmetricHashJoin")
    assert finding.cause.startswith("No row of the join's right side was stored (since batch 2) ")


@pytest.mark.parametrize(
    "options",
    [
        {"operator_name": "dedupe"},  # it writes no duplicates
        {"operator_name": "symmetricHashJoin", "store": "left-keyToNumValues"},
        {"sources": sources(True, False)},  # a source rests
        {"sources": sources(True, batches=7)},  # 4 batches
        {"clocks": batch_clocks(*[10**12] * 9)},  # SS211
    ],
)
def test_stores_that_need_no_puts_have_no_finding(options: dict[str, Any]) -> None:
    assert findings(**options) == []


def test_another_operator_may_drop_the_rows() -> None:
    view = view_of()
    vars(view.checkpoint)["query"] = view.checkpoint.operators * 2
    assert list(UnstoredData().findings(view)) == []


TWO = {"sources": sources(True, True, batches=4) | sources(True, False), "policy": "max"}
FAR = RowsBehind(Counter({AHEAD: 10, 9: 20}))


def test_rows_left_behind_by_fastest_source_are_a_warning() -> None:
    (finding,) = findings(FAR, **TWO)
    assert (finding.severity, finding.certainty.value) == (Severity.WARNING, "inferred")
    assert (finding.operator_id, finding.store_name) == (None, None)
    assert finding.cause == (
        "By multipleWatermarkPolicy=max the fastest source sets the watermark: rows like 20 of the "
        "30 rows of batch 8, 4 h 16 min or more behind it, are dropped as late since."
    )


def test_policy_max_is_information_if_rows_follow_watermark() -> None:
    newest = Ages(newest=(9000, 1))
    (finding,) = findings(newest, **TWO)
    assert (finding.severity, finding.certainty.value) == (Severity.INFO, "inferred")
    assert finding.cause.startswith("By multipleWatermarkPolicy=max the fastest of 2 sources sets ")
    assert findings(**TWO) == []
    assert findings(newest, **TWO | {"policy": "min"}) == []
    assert findings(newest, **TWO | {"clocks": batch_clocks(*[0] * 9)}) == []
    assert findings(newest, FAR, policy="max", operator_name="dedupe") == []  # one source
