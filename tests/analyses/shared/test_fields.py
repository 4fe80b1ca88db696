"""``sizes --by field``, on what Spark wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from compare_with_spark import truth

from inspector import api
from inspector.analyses.shared.judged import Judged
from inspector.analyses.sizes import fields_report
from inspector.decode.field_sizes import RowBytes
from inspector.discovery.checkpoint import open_checkpoint
from inspector.merge.collect import Facts
from inspector.model import StoreName
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.operators.rule import RowPart
from tests.cli.support import copy_of
from tests.fixture_folder import NEWEST


@pytest.mark.parametrize("case", ["agg_update", "wide_value", "wide_key", "join_left_outer"])
def test_field_bytes_sum_to_the_bytes_of_spark_rows(case: str) -> None:
    recorded = truth(NEWEST / case)
    newest = recorded[max(recorded)]
    report = api.sizes(str(NEWEST / case / "checkpoint"), by="field")
    rows = [row for row in report.primary.rows if row.get("within") is None]
    for side, hexes in (("key", "kx"), ("value", "vx")):
        result = sum(row["bytes"] for row in rows if row["row"] == side)
        assert result == sum(len(row[hexes]) // 2 for row in newest)
    assert report.summary["row_bytes"] == sum(row["bytes"] for row in rows)


def test_string_field_bytes_and_padding() -> None:
    recorded = truth(NEWEST / "agg_update")
    users = [dict(row["k"])["user"] for row in recorded[max(recorded)]]
    report = api.sizes(str(NEWEST / "agg_update" / "checkpoint"), by="field")
    (user,) = (row for row in report.primary.rows if row["field"] == "user")
    assert user["variable_bytes"] == sum(len(name.encode()) for name in users)
    assert user["padding_bytes"] == sum(-len(name.encode()) % 8 for name in users)
    assert user["word_bytes"] == 8 * len(users)


def test_fields_of_the_same_name_are_distinguished() -> None:
    report = api.sizes(str(NEWEST / "wide_value" / "checkpoint"), by="field")
    names = [row["field"] for row in report.primary.rows if row["row"] == "value"]
    assert len(names) == len(set(names))
    assert {"first", "first#2"} <= set(names)


@pytest.mark.parametrize("case", ["join_left_outer", "rocksdb_join_left_outer_v4"])
def test_stores_keep_their_order_without_empty_stores(case: str) -> None:
    checkpoint = open_checkpoint(str(NEWEST / case / "checkpoint"))
    there = checkpoint.operators[0].schemas
    stores = [name for name in (*COUNT_STORES, *VALUE_STORES) if name in there]
    assert len(stores) == 4
    facts = Facts()
    for store in reversed(stores):
        schema = checkpoint.operators[0].schemas[store].key
        zero = RowBytes.empty(schema)
        facts.fields[StoreName(0, store), RowPart.KEY] = (
            zero if store == stores[0] else replace(zero, rows=1)
        )
    rows = fields_report(Judged(checkpoint, 10, facts=facts)).primary.rows
    order = [name for name in checkpoint.operators[0].schemas if name != stores[0]]
    assert list(dict.fromkeys(row["store_name"] for row in rows)) == order


def test_unrestorable_version_is_one_problem(tmp_path: Path) -> None:
    root = copy_of("agg_update", tmp_path)
    (root / "state/0/1/10.delta").unlink()
    path = str(root)
    alone = api.sizes(path, api.Options(partition_id=1), by="field")
    assert [problem.slug for problem in alone.problems].count("missing-version") == 1
    assert alone.summary["row_bytes"] == 0
    report = api.sizes(path, api.Options(partition_id=0), by="field")
    assert api.sizes(path, by="field").summary["row_bytes"] == report.summary["row_bytes"] > 0


def test_nested_fields_have_rows() -> None:
    path = str(NEWEST / "fmgws_event_ignore" / "checkpoint")
    states = [row["value"]["groupState"] for row in api.rows(path).primary.rows]
    users = [state["user"] for state in states if state is not None]
    report = api.sizes(path, by="field")
    rows = {row["field"]: row for row in report.primary.rows if row["row"] == "value"}
    user, state = rows["groupState.user"], rows["groupState"]
    assert (user["within"], state.get("within")) == ("groupState", None)
    assert user["rows"] == len(users) == state["rows"] - state["nulls"]
    assert user["variable_bytes"] == sum(len(name.encode()) for name in users)
    inner = [row for row in rows.values() if row.get("within") == "groupState"]
    # A nested row has its own null bits: 8 bytes for up to 64 fields.
    assert sum(row["bytes"] for row in inner) + 8 * len(users) == state["variable_bytes"]
    names = [row["field"] for row in report.primary.rows if row["row"] == "value"]
    assert names.index("groupState.user") == names.index("groupState") + 1
