"""Rows of the leftovers table, made from the facts of workers."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.analyses.expiry.leftover_tables import LeftoverRow, LeftoverWords
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.facts.expired import LeftoverClass, Needs
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import Leftover
from inspector.facts.timed_out import BY_BOTH, DISPUTED
from inspector.model import BatchClock, BatchId, Certainty, Redact, StoreId, StoreName, TimeoutKind
from inspector.render.tabular import values
from tests import cases
from tests.attributes import attributes
from tests.cases import USER, user
from tests.cli.support import checkpoint_of

Row = dict[str, Any]
NOW = {9: 9000, 5: 5500}


def fact(store: str = "default", operator_id: int = 0, **options: Any) -> Observed[Leftover]:
    """Return a fact about a leftover as a worker emits it."""
    facts: dict[str, Any] = {
        "leftover_class": LeftoverClass.KEPT_WITHOUT_TIMEOUT,
        "certainty": Certainty.PROVEN,
        "key": user("ann"),
        "key_bytes": 24,
        "value_bytes": 32,
        "expired_version": 7,
        "first_expired_version": 6,
        "last_put_version": 5,
        "clock_ms": 100,
        "threshold_ms": 130,
        "puts": 2,
    }
    return Observed(StoreId(operator_id, store, 1), 9, Leftover(**(facts | options)))


def words(redact: Redact = Redact.NONE) -> LeftoverWords:
    return LeftoverWords({0: "dedupe"}, {StoreName(0, "default"): USER}, NOW, redact)


def row_of(redact: Redact = Redact.NONE, **options: Any) -> Row:
    (row,) = words(redact).rows([fact(**options)], LeftoverRow)
    return dict(values(row))


EVENT, PROCESSING = TimeoutKind.EVENT_TIME, TimeoutKind.PROCESSING_TIME
CLOCKS = {
    6: BatchClock(BatchId(5), timestamp_ms=90, watermark_ms=9_000),
    7: BatchClock(BatchId(6), timestamp_ms=130, watermark_ms=9_500),
}


@pytest.mark.parametrize(
    ("options", "threshold", "reason"),
    [
        # The watermark passed the timer a batch before, so the timer followed the other clock.
        ({}, 130, BY_BOTH),
        ({"clock_ms": 9_100, "threshold_ms": 9_500}, 9_500, None),
        ({"by_either_clock": False}, 9_500, None),
        ({"timeout_kind": None}, 9_500, None),
        ({"leftover_class": LeftoverClass.IGNORED_TIMEOUT}, 9_500, None),
        ({"reason": DISPUTED}, 9_500, DISPUTED),
        ({"expired_version": 8}, 9_500, None),
        ({"timeout_kind": PROCESSING, "clock_ms": 80, "threshold_ms": 130}, 9_500, BY_BOTH),
        ({"timeout_kind": PROCESSING, "clock_ms": 100, "threshold_ms": 130}, 130, None),
    ],
)
def test_threshold_follows_the_clock_of_the_timer(
    options: Row, threshold: int, reason: str | None
) -> None:
    after_switch = {"timeout_kind": EVENT, "by_either_clock": True, "threshold_ms": 9_500}
    with_clocks = LeftoverWords({}, {}, NOW, Redact.NONE, CLOCKS)
    (row,) = with_clocks.rows([fact(**{**after_switch, **options})], LeftoverRow)
    assert (row.threshold_ms, row.reason) == (threshold, reason)
    assert row.margin_ms == threshold - (row.clock_ms or 0)


def test_leftover_row_columns() -> None:
    row = row_of()
    assert list(row) == attributes(LeftoverRow.columns(), "name")
    expected = {
        "operator_name": "dedupe",
        "key": {"value": "ann"},
        "key_hex": user("ann").hex(),
        "expired_batch": 6,
        "expired_version": 7,
        "first_expired_batch": 5,
        "margin_ms": 30,
        "last_put_batch": 4,
        "last_put_ms": 5500,
        "age_ms": 3500,
        "unchanged_since": True,
    }
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"needs": Needs.BEFORE_WINDOW}, {"expired_batch": None, "expired_version": None}),
        (
            {"last_put_version": None},
            {"last_put_batch": None, "last_put_ms": None, "age_ms": None, "unchanged_since": True},
        ),
        ({"last_put_version": 7}, {"unchanged_since": True, "last_put_ms": None, "age_ms": None}),
        ({"last_put_version": 8}, {"unchanged_since": False}),
        ({"threshold_ms": None}, {"margin_ms": None}),
        ({"first_expired_version": None}, {"first_expired_batch": None}),
        ({"operator_id": 3}, {"operator_name": None, "key": None}),
    ],
)
def test_unknown_leftover_columns_are_null(options: Row, expected: Row) -> None:
    row = row_of(**options)
    assert {name: row[name] for name in expected} == expected


def test_keys_of_several_stores_keep_their_order() -> None:
    """Operator 1 has no schema here."""
    first, second = fact(key=user("ann")), fact(key=user("bob"), operator_id=1)
    third, fourth = fact(key=user("cid")), fact(key=user("dan"), operator_id=1)
    result = words().rows([first, second, third, fourth], LeftoverRow)
    assert attributes(result, "key") == [{"value": "ann"}, None, {"value": "cid"}, None]


@pytest.mark.parametrize("redact", [Redact.HASH, Redact.ALL])
def test_redacted_leftover_keys(redact: Redact) -> None:
    row = row_of(redact)
    assert "ann" not in str(row["key"])
    assert user("ann").hex() not in str(row)
    assert row["key_hex"] is None


@pytest.mark.parametrize("case", ["agg_append", "join_window_key"])
def test_leftover_rows_of_a_task_equal_those_of_the_checkpoint(case: str) -> None:
    checkpoint = open_checkpoint(str(checkpoint_of(case)))
    (operator,) = checkpoint.operators
    of_all = LeftoverWords.of(checkpoint, Redact.NONE)
    (task, _) = plan(checkpoint, checkpoint.newest_version)
    of_one = LeftoverWords.of_task(task, operator.name, Redact.NONE)
    store = task.stores[-1].store_name
    facts = [fact(store, last_put_version=1), fact(store, last_put_version=task.version)]
    rows = of_one.rows(facts, LeftoverRow)
    assert rows == of_all.rows(facts, LeftoverRow)
    assert rows[-1].last_put_ms is not None


def test_keys_without_schema_are_hex() -> None:
    path = checkpoint_of("agg_v1")
    (task, *_) = cases.tasks_of(path)
    (store,) = task.stores
    assert store.key_schema is not None
    bare = LeftoverWords({}, {}, {}, Redact.NONE)
    (row,) = bare.rows([fact()], LeftoverRow)
    assert (row.key, row.key_hex) == (None, user("ann").hex())
