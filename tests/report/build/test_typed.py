"""Typed tables of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from inspector.pipeline.discovery import Checkpoint, open_checkpoint
from inspector.report.build.typed import TypedTable, typed_table
from inspector.schemas import CHANGES, ROWS, batch_of
from tests import cases, encode
from tests.cases import Batch, group_state, user

PLACE = {"operator_id": 0, "store_name": "default", "partition_id": 1, "version": 3}


def checkpoint(root: Path, *, schema: bool = True) -> Checkpoint:
    cases.write_logs(root, [Batch()])
    cases.write_store(root / "state/0/0", {1: []})
    if schema:
        cases.write_schema(root / "state/0/0", cases.USER, cases.GROUP_STATE)
    return open_checkpoint(str(root))


def typed(found: Checkpoint, rows: list[dict[str, Any]], **asked: Any) -> TypedTable:
    schema = CHANGES if asked.get("changes") else ROWS
    batches = [batch_of(schema, rows).slice(1)] if rows else []
    return typed_table(found, (0, "default"), batches, **asked)


def read(table: TypedTable) -> list[dict[str, Any]]:
    batches = list(table.batches)
    for batch in batches:
        batch.validate(full=True)
    return pa.Table.from_batches(batches, table.schema).to_pylist()


def test_rows_have_structs_for_key_and_value(tmp_path: Path) -> None:
    row = PLACE | {"kind": "row", "key": user("ann"), "value": group_state(2, -1)}
    table = typed(checkpoint(tmp_path), [row, row], raw=True)
    assert table.name == "operator-0.default"
    (told,) = read(table)
    assert told["key"] == {"value": "ann"}
    assert told["value"] == {"groupState": {"visits": 2}, "timeoutTimestamp": -1}
    assert told["key_row"] == user("ann")
    assert (told["version"], told["batch_id"], told["partition_id"]) == (3, 2, 1)
    assert told["value_bytes"] == len(group_state(2, -1))
    assert told["operator_name"] == "flatMapGroupsWithState"


@given(st.lists(st.none() | st.integers(0, 9), min_size=1, max_size=9))
def test_a_removal_has_no_value(values: list[int | None]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = checkpoint(Path(folder))
    rows: list[dict[str, Any]] = [PLACE | {"kind": "change", "key": b"", "event": ""}]
    for n in values:
        value = None if n is None else group_state(n, n)
        event = "removal" if n is None else "insert"
        rows.append(PLACE | {"kind": "change", "key": user("a"), "value": value, "event": event})
    told = read(typed(found, rows, changes=True))
    got = [None if r["value"] is None else r["value"]["timeoutTimestamp"] for r in told]
    assert got == values


def test_changes_say_whether_they_wrote_what_was_there(tmp_path: Path) -> None:
    events = ("", "insert", "update", "same_value", "put", "removal")
    rows = [
        PLACE | {"kind": "change", "key": user("a"), "event": event, "record": i}
        for i, event in enumerate(events)
    ]
    told = read(typed(checkpoint(tmp_path), rows, changes=True))
    assert [row["same_value"] for row in told] == [False, False, True, None, None]
    assert [row["record"] for row in told] == [1, 2, 3, 4, 5]


def test_without_a_schema_rows_are_bytes(tmp_path: Path) -> None:
    row = PLACE | {"kind": "row", "key": b"12345678", "value": b""}
    table = typed(checkpoint(tmp_path, schema=False), [row, row])
    assert table.schema.field("key").type == pa.binary()
    (told,) = read(table)
    assert told["key"] == b"12345678"


def test_a_row_that_does_not_fit_is_null_and_a_problem(tmp_path: Path) -> None:
    row = PLACE | {
        "kind": "row",
        "key": b"short",
        "value": encode.row(cases.GROUP_STATE, (None, 1)),
    }
    table = typed(checkpoint(tmp_path), [row, row])
    (told,) = read(table)
    assert told["key"] is None
    assert [problem.slug for problem in table.problems] == ["bad-row"]


def test_problems_go_aside(tmp_path: Path) -> None:
    bad = PLACE | {"kind": "problem", "slug": "bad-frame", "message": "bad", "path": "3.delta"}
    table = typed(checkpoint(tmp_path), [bad, bad])
    assert read(table) == []
    assert [(problem.slug, problem.path) for problem in table.problems] == [
        ("bad-frame", "3.delta")
    ]
