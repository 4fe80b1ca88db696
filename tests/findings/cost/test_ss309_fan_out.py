"""SS309: each event in many rows."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.checkpoint.log_entries import SourceOffset
from inspector.facts.versions import VersionFacts
from inspector.findings.cost.ss309_fan_out import FanOut
from inspector.findings.views.store_keys import Windows
from inspector.operators.rule import StoreRule
from inspector.sparktypes.ddl import parse_ddl
from tests.attributes import attributes
from tests.store_views import store_view

MINUTE_MS = 60_000


def findings(written: int, records: int, windows: Windows | None = None) -> list[Any]:
    """Return the findings about a store that wrote rows for records of a source."""
    view = store_view(
        StoreRule(),
        history=[VersionFacts(puts=written, rows=written)],
        key=parse_ddl("id string"),
        sources={0: (SourceOffset("0", "{}", True, records),)},
    )
    if windows is not None:
        vars(view.keys)["windows"] = windows
    return list(FanOut().findings(view))


@pytest.mark.parametrize(("slide", "is_found"), [(5, True), (60, True), (61, False)])
def test_event_in_many_overlapping_windows(slide: int, *, is_found: bool) -> None:
    windows = Windows(1440 * MINUTE_MS, frozenset(n * slide * MINUTE_MS for n in (3, 7, 12)))
    result = findings(0, 0, windows)
    assert attributes(result, "kind.id") == ["SS309"] * is_found
    if slide == 5:
        assert result[0].cause == (
            "Each event is written to 288 windows, which are 1 d long and begin every 5 min."
        )
        assert result[0].hides == ("SS217",)


def test_record_written_to_many_rows() -> None:
    (finding,) = findings(400, 40)
    assert finding.cause.startswith("Each input record is written to ~10 rows of the state: ")
    assert finding.evidence == "400 rows were written for 40 records that the sources brought"
    assert finding.next_step.startswith("aggregate or deduplicate before the explode")
    assert findings(399, 40) == []
    assert findings(0, 0) == []
    # Windows explain as many rows as overlap.
    assert findings(400, 40, Windows(2 * MINUTE_MS, frozenset({MINUTE_MS, 2 * MINUTE_MS}))) == []
