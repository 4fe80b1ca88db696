"""Leftovers filtered by key and by value."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from inspector import api
from inspector.analyses.shared.data_tables import plan_table
from inspector.analyses.shared.declare import TableOptions
from inspector.analyses.shared.run import Run
from tests.attributes import attributes
from tests.cli.support import checkpoint_of
from tests.reports import cell_values, rows_of_table

LEAK = str(checkpoint_of("fmgws_event_ignore"))
WHOLE = list(api.leftovers(LEAK).primary.rows)


def matching_leftovers(**options: Any) -> list[Any]:
    return list(api.leftovers(LEAK, api.Options(**options)).primary.rows)


def test_leftover_by_every_form_of_its_key() -> None:
    (item,) = matching_leftovers(key="value=once-010")
    assert item in WHOLE
    assert item["key"] == {"value": "once-010"}
    (hashed,) = matching_leftovers(key="value=once-010", redact=api.Redact.HASH)
    assert matching_leftovers(key='{"value": "once-010"}') == [item]
    assert matching_leftovers(key=f"hex:{item['key_hex']}") == [item]
    assert matching_leftovers(key=item["key_hex"]) == [item]
    assert matching_leftovers(key=hashed["key"]) == [item]
    assert matching_leftovers(where=("value=once-010",)) == [item]


def test_leftovers_filtered_by_value() -> None:
    """The live row of once-048 has the value 1704067261000; the keys up to once-055 follow."""
    newer = "value.groupState.lastSeenMs>1704067261000"
    assert cell_values(matching_leftovers(where=(newer,)), "key") == [
        *({"value": "once-052"}, {"value": "once-053"}, {"value": "once-054"}),
        *({"value": "once-055"}, {"value": "once-049"}, {"value": "once-050"}),
        {"value": "once-051"},
    ]
    assert cell_values(matching_leftovers(where=(newer, "key.value>once-053")), "key") == [
        *({"value": "once-054"}, {"value": "once-055"}),
    ]


def test_summary_counts_matching_and_all_leftovers() -> None:
    report = api.leftovers(LEAK, api.Options(where=("value>=once-01",)), limit=2)
    assert report.summary["leftovers"] == 46
    assert report.summary["all_leftovers"] == 68
    assert len(list(report.primary.rows)) == 2
    assert "2 of 46 listed" in report.primary.title
    nothing = api.leftovers(LEAK, api.Options(key="value=nobody"))
    assert list(nothing.primary.rows) == []
    assert nothing.primary.empty == "none of the 68 leftovers is such a key"


def test_undecided_keys_are_filtered_too() -> None:
    path = str(checkpoint_of("fmgws_snapshots_cleaned"))
    item = rows_of_table(api.leftovers(path), "undecided_keys")[0]
    report = api.leftovers(path, api.Options(key=item["key_hex"]))
    assert rows_of_table(report, "undecided_keys") == [item]


def test_leftovers_table_is_filtered_alike() -> None:
    options = api.Options(where=("value.groupState.visits>=1",), key="value=once-010")
    plan = plan_table(LEAK, "leftovers", options, TableOptions())
    batches = Run.start(plan.run, None).stream(plan.function, attributes(plan.work, "spec"))
    rows = pa.Table.from_batches(batches, plan.schema).to_pylist()
    assert cell_values(rows, "key_hex") == cell_values(
        matching_leftovers(key="value=once-010"), "key_hex"
    )
    with pytest.raises(api.CheckpointError, match="has no keys"):
        plan_table(LEAK, "versions", api.Options(key="value=a"), TableOptions())


def test_unknown_key_field_is_refused() -> None:
    with pytest.raises(api.CheckpointError, match=r"no field 'valuex'; did you mean value\?"):
        matching_leftovers(key="valuex=a")
