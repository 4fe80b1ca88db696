"""Leftovers filtered by key and by value."""

from __future__ import annotations

from typing import Any

import pytest

from inspector import api
from inspector.analyses.shared.data_tables import plan_table
from inspector.analyses.shared.declare import TableOptions
from inspector.analyses.shared.run import Run
from tests.cli.support import checkpoint_of

LEAK = str(checkpoint_of("fmgws_event_ignore"))
WHOLE = list(api.leftovers(LEAK).primary.rows)


def found(**options: Any) -> list[Any]:
    return list(api.leftovers(LEAK, api.Options(**options)).primary.rows)


def test_leftover_by_every_form_of_its_key() -> None:
    (item,) = found(key="value=once-010")
    assert item in WHOLE
    assert item["key"] == {"value": "once-010"}
    (hashed,) = found(key="value=once-010", redact=api.Redact.HASH)
    assert found(key='{"value": "once-010"}') == [item]
    assert found(key=f"hex:{item['key_hex']}") == [item]
    assert found(key=item["key_hex"]) == [item]
    assert found(key=hashed["key"]) == [item]
    assert found(where=("value=once-010",)) == [item]


def test_leftovers_filtered_by_value() -> None:
    live = {
        row["key"]["value"]: row["value"]["groupState"]["lastSeenMs"]
        for row in api.rows(LEAK).primary.rows
    }
    middle = sorted(live[row["key"]["value"]] for row in WHOLE)[len(WHOLE) // 2]
    expected = [row for row in WHOLE if live[row["key"]["value"]] > middle]
    assert 0 < len(expected) < len(WHOLE)
    assert found(where=(f"value.groupState.lastSeenMs>{middle}",)) == expected
    pair = (f"value.groupState.lastSeenMs>{middle}", "key.value>once-05")
    assert found(where=pair) == [row for row in expected if row["key"]["value"] > "once-05"]


def test_summary_counts_matching_and_all_leftovers() -> None:
    report = api.leftovers(LEAK, api.Options(where=("value>=once-01",)), limit=2)
    number = sum(row["key"]["value"] >= "once-01" for row in WHOLE)
    assert report.summary["leftovers"] == number
    assert report.summary["all_leftovers"] == len(WHOLE)
    assert len(list(report.primary.rows)) == 2
    assert f"2 of {number} listed" in report.primary.title
    nothing = api.leftovers(LEAK, api.Options(key="value=nobody"))
    assert list(nothing.primary.rows) == []
    assert nothing.primary.empty == "none of the 68 leftovers is such a key"


def test_undecided_keys_are_filtered_too() -> None:
    path = str(checkpoint_of("fmgws_snapshots_cleaned"))
    tables = {table.name: list(table.rows) for table in api.leftovers(path).tables}
    item = tables["undecided_keys"][0]
    report = api.leftovers(path, api.Options(key=item["key_hex"]))
    assert [row for t in report.tables if t.name == "undecided_keys" for row in t.rows] == [item]


def test_leftovers_table_is_filtered_alike() -> None:
    options = api.Options(where=("value.groupState.visits>=1",), key="value=once-010")
    plan = plan_table(LEAK, "leftovers", options, TableOptions())
    rows = [
        row
        for batch in Run.start(plan.run, None).stream(
            plan.function, [item.spec for item in plan.work]
        )
        for row in batch.to_pylist()
    ]
    (expected,) = found(key="value=once-010")
    assert [row["key_hex"] for row in rows] == [expected["key_hex"]]
    with pytest.raises(api.CheckpointError, match="has no keys"):
        plan_table(LEAK, "versions", api.Options(key="value=a"), TableOptions())


def test_unknown_key_field_is_refused() -> None:
    with pytest.raises(api.CheckpointError, match=r"no field 'valuex'; did you mean value\?"):
        found(key="valuex=a")
