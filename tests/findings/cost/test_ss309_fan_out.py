"""SS309: each event in many rows."""

from __future__ import annotations

from typing import Any

from inspector.checkpoint.log_entries import SourceOffset
from inspector.facts.versions import VersionFacts
from inspector.findings.cost.ss309_fan_out import FanOut
from inspector.findings.views.store_keys import Windows
from inspector.operators.rule import StoreRule
from inspector.sparktypes.ddl import parse_ddl
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


def windows_of_a_day(slide: int) -> Windows:
    """Return windows of one day that start every ``slide`` minutes."""
    slide_ms = slide * MINUTE_MS
    return Windows(1440 * MINUTE_MS, frozenset({3 * slide_ms, 7 * slide_ms, 12 * slide_ms}))


def test_event_in_many_overlapping_windows() -> None:
    (finding,) = findings(0, 0, windows_of_a_day(slide=5))
    assert finding.kind.id == "SS309"
    assert finding.cause == (
        "Each event is written to 288 windows, which are 1 d long and begin every 5 min."
    )
    assert finding.hides == ("SS217",)
    assert findings(0, 0, windows_of_a_day(slide=60))
    assert not findings(0, 0, windows_of_a_day(slide=61))


def test_record_written_to_many_rows() -> None:
    (finding,) = findings(400, 40)
    assert finding.cause.startswith("Each input record is written to ~10 rows of the state: ")
    assert finding.evidence == "400 rows were written for 40 records that the sources brought"
    assert finding.next_step.startswith("aggregate or deduplicate before the explode")
    assert findings(399, 40) == []
    assert findings(0, 0) == []
    # Windows explain as many rows as overlap.
    assert findings(400, 40, Windows(2 * MINUTE_MS, frozenset({MINUTE_MS, 2 * MINUTE_MS}))) == []
