"""A report's own table as Arrow."""

from __future__ import annotations

import pyarrow as pa

from inspector.render.as_arrow import arrow_table
from inspector.render.report import Report
from inspector.render.tabular import Column, Table, Unit
from tests.attributes import attributes


def test_units_become_types_and_nested_values_json() -> None:
    columns = (
        Column("name"),
        Column("at_ms", Unit.TIME_MS),
        Column("rows", Unit.COUNT),
        Column("key", Unit.VALUE),
        Column("same", Unit.FLAG),
    )
    row = {"name": "a", "at_ms": 1500, "rows": 3, "key": {"user": "é"}, "same": True}
    report = Report("leftovers", "ck", {}, (Table("t", "t", columns, [row, {}]),))
    table = arrow_table(report)
    assert attributes(table.schema, "type") == [
        pa.string(),
        pa.timestamp("ms", "UTC"),
        pa.int64(),
        pa.string(),
        pa.bool_(),
    ]
    first, second = table.to_pylist()
    assert (first["key"], first["rows"], first["same"]) == ('{"user": "é"}', 3, True)
    assert first["at"].timestamp() == 1.5
    assert set(second.values()) == {None}
