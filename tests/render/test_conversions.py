"""Reports as Python values, Arrow and pandas."""

from __future__ import annotations

import builtins
import json
import re
import sys
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inspector import api
from inspector.cli.export_files import write_parquet
from inspector.exceptions import EngineError, InspectorError
from inspector.model import Redact
from inspector.render.renderers import render
from tests.attributes import attributes
from tests.cli.support import COMMANDS, checkpoint_of, copy_of
from tests.reports import cell_values, table_names

LEAK = str(checkpoint_of("fmgws_event_ignore"))


@pytest.mark.parametrize("command", COMMANDS)
def test_to_dict_equals_json_of_command_line(command: str) -> None:
    function = getattr(api, command)
    report = function(LEAK)
    assert report.to_dict() == json.loads("".join(render(function(LEAK), "json")))
    assert report.to_dict() == report.to_dict()
    assert report.to_arrow() == api.arrow_table(function(LEAK))
    assert len(repr(report)) < 400
    assert len(repr(report.primary)) < 100


@pytest.mark.parametrize("command", COMMANDS)
def test_every_table_converts_to_arrow(command: str) -> None:
    report = getattr(api, command)(LEAK)
    others = set(table_names(report)) - {report.primary.name}
    assert report.to_arrow(report.primary.name).num_rows == len(list(report.primary.rows))
    for name in others:
        assert report.to_arrow(name).num_rows == len(report.to_dict()["tables"][name])


def test_every_table_becomes_arrow_and_pandas_in_any_order() -> None:
    report = api.diff(LEAK, from_batch=3)
    counts = report.to_arrow("counts")
    changed = dict(cell_values(counts.to_pylist(), "change", "rows"))
    frame = report.to_pandas()
    assert changed == {"removed": 0, "added": 0} | dict(frame["change"].value_counts())
    assert report.to_pandas("counts").shape == (counts.num_rows, counts.num_columns)
    with pytest.raises(KeyError, match="no table 'nothing' in this report, it has diff, counts"):
        report.to_arrow("nothing")


@pytest.mark.parametrize("case", ["agg_append", "join_left_outer", "rocksdb_tws_processing"])
def test_keys_and_values_have_types_of_export(case: str) -> None:
    path = str(checkpoint_of(case))
    for table in api.export("rows", path):
        store = table.name.partition(".")[2]
        report = api.rows(path, api.Options(store_name=store)).to_arrow()
        exported = pa.Table.from_batches(table.batches, table.schema)
        assert report.num_rows == exported.num_rows
        pairs = cell_values(exported.to_pylist(), "key", "value")
        shown = cell_values(report.to_pylist(), "key", "value")
        assert sorted(shown, key=repr) == sorted(pairs, key=repr)
        types = attributes(exported.select(["key", "value"]).schema, "type")
        assert not pairs or attributes(report.select(["key", "value"]).schema, "type") == types


def test_keys_of_several_types_and_redacted_keys_are_strings(tmp_path: Any) -> None:
    chained = str(checkpoint_of("dedup_after_join"))
    assert pa.types.is_string(api.rows(chained).to_arrow().schema.field("key").type)
    hidden = api.Options(redact=Redact.HASH)
    assert pa.types.is_string(api.rows(LEAK, hidden).to_arrow().schema.field("key").type)
    write_parquet(api.rows(LEAK), str(tmp_path / "rows.parquet"), force=False)
    assert pa.types.is_string(pq.read_schema(tmp_path / "rows.parquet").field("key").type)


def test_conversion_of_consumed_rows_is_an_error() -> None:
    report = api.rows(LEAK)
    assert len(list(report.primary.rows)) == 128
    with pytest.raises(InspectorError, match="call the analysis again"):
        report.to_dict()
    with pytest.raises(InspectorError, match="call the analysis again"):
        report.to_arrow()
    with pytest.raises(InspectorError, match="call the analysis again"):
        report.to_pandas()


def test_problems_are_complete_after_rows_are_read(tmp_path: Any) -> None:
    path = copy_of("agg_append", tmp_path)
    for delta in path.glob("state/0/1/*.delta"):
        delta.write_bytes(b"junk")
    report = api.rows(str(path)).to_dict()
    assert report["complete"] is False
    assert report["problems"]


def test_conversion_without_pandas_names_package(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *remainder: Any) -> Any:
        if name.split(".")[0] == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return real(name, *remainder)

    report = api.sizes(LEAK)
    assert report.to_arrow().num_rows
    for name in re.findall(r"^pandas(?:\..*)?$", "\n".join(sys.modules), re.MULTILINE):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EngineError, match=r"to_pandas\(\) needs pandas, which is not installed"):
        report.to_pandas()
