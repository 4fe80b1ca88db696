"""SS307: most rows of one key."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.facts.top_keys import TopBy, TopKey
from inspector.facts.variable_entries import EntriesPerKey, KeyEntries
from inspector.facts.versions import VersionFacts
from inspector.findings.cost.ss307_hot_key import HotKey
from inspector.findings.rule import parse_thresholds
from inspector.model import JOIN_COUNT_STORES, JOIN_ROW_STORES
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.operators.rule import StoreRule
from inspector.sparktypes.ddl import parse_ddl
from tests.attributes import attributes
from tests.store_views import checkpoint_view, findings_of_stores, store_view

LEFT, RIGHT = JOIN_ROW_STORES
LEFT_KEYS, RIGHT_KEYS = JOIN_COUNT_STORES


def findings_of_entries(entries: int, total: int, keys: int = 9, **options: Any) -> list[Any]:
    """Return the findings about a store one of whose keys has most entries."""
    facts = EntriesPerKey(keys, total, entries), KeyEntries(b"k", entries, 800, 0, 0)
    view = store_view(StoreRule(), *facts, key=parse_ddl("user string, start timestamp"), **options)
    return list(HotKey().findings(view))


def findings_of_join(
    rows: int, total: int, keys: int, opposite: tuple[int, int] = (9, 9), **thresholds: str
) -> list[Any]:
    """Return the findings about a join's left side; ``opposite`` are rows and keys of the other."""
    facts: list[Any] = [
        (LEFT, 0, VersionFacts(rows=total)),
        (LEFT_KEYS, 0, VersionFacts(rows=keys)),
        (RIGHT, 0, VersionFacts(rows=opposite[0])),
        (RIGHT_KEYS, 0, VersionFacts(rows=opposite[1])),
        (LEFT_KEYS, 0, TopKey(TopBy.NUMBER, rows, b"k", 8, 8, 1)),
    ]
    view = checkpoint_view(
        dict.fromkeys((LEFT, LEFT_KEYS, RIGHT, RIGHT_KEYS), StoreRule()),
        facts,
        operator_name="symmetricHashJoin",
        key_words=lambda *_: "ad=0",
    )
    rule = HotKey(parse_thresholds(thresholds))
    return findings_of_stores(rule, view)


def test_key_with_most_join_rows_is_named() -> None:
    (finding,) = findings_of_join(60, 100, 9)
    assert (finding.kind.id, finding.rows, finding.store_name) == ("SS307", 60, LEFT)
    assert finding.cause == (
        "One key has 60 % of the rows of the join's left side (ad=0): 60 of 100."
    )
    assert finding.evidence == "60 of 100 rows are of one key"
    assert finding.hides == ("SS302",)
    assert findings_of_join(49, 100, 9) == []
    assert findings_of_join(60, 100, 9, hot_rows="101") == []


def test_key_with_most_sessions_or_entries_is_named() -> None:
    name = "sessionWindowStateStoreSaveExec"
    (finding,) = findings_of_entries(60, 100, operator_name=name)
    assert finding.cause.startswith("One key has 60 % of the sessions (")
    assert finding.evidence == "60 of 100 sessions are of one key"
    assert "give session_window a longer gap" in finding.next_step
    (finding,) = findings_of_entries(60, 100, operator_name="transformWithStateExec")
    assert finding.cause.startswith("One key has 60 % of the entries of the state 'default' (")
    assert (finding.rows, finding.bytes) == (60, 800)
    assert findings_of_entries(49, 100) == []
    assert findings_of_entries(100, 100, keys=1) == []


@pytest.mark.parametrize("rows", [20, 30])
def test_join_with_few_keys_compares_many_rows(rows: int) -> None:
    causes = dict(attributes(findings_of_join(rows, 40, 2, (40, 2)), "store_name", "cause"))
    words = "The join has few keys for its rows: 40 rows of the join's left side have 2 join "
    assert causes[LEFT].startswith(words)
    assert findings_of_join(40, 40, 1, (40, 2)) == []


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        (80, "The join has few keys for its rows: 120 rows"),  # twice the mean of its three keys
        (81, "One key has 68 % of the rows"),
    ],
)
def test_join_with_one_large_key_has_not_few_keys(rows: int, cause: str) -> None:
    finding, *_ = findings_of_join(rows, 120, 3, (120, 3))
    assert finding.cause.startswith(cause)


@pytest.mark.parametrize(("rows", "total", "right_rows"), [(19, 38, 40), (20, 40, 39)])
def test_join_with_few_comparisons_has_no_finding(rows: int, total: int, right_rows: int) -> None:
    result = findings_of_join(rows, total, 2, (right_rows, 2))
    assert LEFT not in attributes(result, "store_name")


def test_state_format_4_has_no_row_counts_of_keys() -> None:
    assert set(JOIN_ROW_STORES) < set(VALUE_STORES)
    assert len(COUNT_STORES) == len(VALUE_STORES)
