"""Tables as tasks: each has its rows, whoever runs them, and nothing that was told gets lost."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inspector import analyses, api
from inspector.analyses.shared.data_tables import plan_table, table_of_name
from inspector.analyses.shared.declare import TableOptions, TablePlan
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import store_tables
from inspector.engines.engine import Job
from inspector.engines.local import LocalEngine
from inspector.exceptions import CheckpointError, InspectorError
from inspector.model import ProblemMode, Redact
from inspector.render.as_arrow import arrow_table
from inspector.render.plain import finding_row, problem_row
from inspector.render.tabular import values
from inspector.sparktypes.ddl import parse_ddl
from tests.cli.support import checkpoint_of, copy_of
from tests.profiles import crossed

Row = dict[str, Any]
PERMISSIVE = TableOptions(mode=ProblemMode.PERMISSIVE)
STRICT = TableOptions(mode=ProblemMode.FAILFAST)
FLAT = ("versions", "leftovers")


def rows_of(table: TablePlan) -> list[Row]:
    """The rows of all tasks; each batch has the schema that was said."""
    batches = list(LocalEngine(1).run(Job(table.function, table.schema, table.work)))
    assert all(batch.schema == table.schema for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


def in_order(rows: list[Row]) -> list[str]:
    return sorted(map(repr, rows))


def spoilt(folder: Path, case: str = "agg_append") -> Path:
    path = copy_of(case, folder)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    return path


@pytest.mark.parametrize("table", analyses.data_tables())
@pytest.mark.parametrize("mode", ProblemMode)
def test_schema_is_known_before_the_state_is_read(
    table: str, mode: ProblemMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, expected = str(checkpoint_of("fmgws_event_ignore")), TableOptions(mode=mode, raw=True)
    schema = plan_table(path, table, None, expected).schema
    monkeypatch.setattr(Run, "facts", lambda *_, **__: pytest.fail("the state is read"))
    assert table_of_name(table).schema(path, Options(), expected) == schema
    moded = table in ("rows", "changes", *FLAT)
    column = "problem" in schema.names and schema.names[-1] == "problem"
    assert column is (moded and mode is ProblemMode.PERMISSIVE)


# --- rows and changes ------------------------------------------------------------------------


@pytest.mark.parametrize(("table", "raw"), crossed(["rows", "changes"], [False, True]))
def test_rows_and_changes_equal_the_exported_tables(table: str, raw: bool) -> None:
    path = str(checkpoint_of("join_left_outer"))
    changes = table == "changes"
    written = {
        store_table.name: store_table
        for store_table in store_tables(
            path, None, TableOptions(from_batch=3, raw=raw), changes=changes
        )
    }
    assert len(written) == 4
    for name, item in written.items():
        store = name.partition(".")[2]
        result = plan_table(
            path,
            table,
            Options(store_name=store),
            TableOptions(from_batch=3, raw=raw, mode=STRICT.mode),
        )
        assert result.schema == item.schema
        assert rows_of(result) == pa.Table.from_batches(item.batches, item.schema).to_pylist() != []


def test_default_store_of_a_table() -> None:
    path = str(checkpoint_of("dedup_after_join"))
    files = rows_of(plan_table(path, "files"))
    stores = {(row["operator_id"], row["store_name"]) for row in files}
    assert len(stores) > 2
    rows = rows_of(
        plan_table(path, "rows", Options(operator_id=1, store_name="left-keyToNumValues"))
    )
    assert {row["operator_id"] for row in rows} == {1}
    assert {row["operator_id"] for row in rows_of(plan_table(path, "rows"))} == {0}


def test_missing_store_error_names_the_existing_stores() -> None:
    path = str(checkpoint_of("join_left_outer"))
    with pytest.raises(CheckpointError, match=r"no store 'default', it has '.*keyToNumValues'"):
        plan_table(path, "rows")
    with pytest.raises(CheckpointError, match="no such operator, store or partition"):
        plan_table(path, "rows", Options(operator_id=9))


@pytest.mark.parametrize("function", [plan_table])
def test_unknown_table_error_names_the_tables(function: Any) -> None:
    with pytest.raises(
        CheckpointError, match="got table 'state', expected one of findings, changes"
    ):
        function("nowhere", "state", Options(), STRICT)


# --- versions and leftovers ------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    ["agg_append", "dedup_after_join", "fmgws_event_ignore", "join_window_key", "wide_key"],
)
def test_leftover_rows_equal_the_report(case: str) -> None:
    path = str(checkpoint_of(case))
    expected = arrow_table(api.leftovers(path), structs=False).to_pylist()
    result = plan_table(path, "leftovers", None, replace(STRICT, json_keys=True))
    assert in_order(rows_of(result)) == in_order(expected)


@pytest.mark.parametrize("case", ["fmgws_event_ignore", "agg_complete"])
def test_leftover_keys_are_structs_as_in_rows(case: str) -> None:
    path = str(checkpoint_of(case))
    live = plan_table(path, "rows", None, replace(STRICT, raw=True))
    result = plan_table(path, "leftovers", None, STRICT)
    assert result.schema.field("key").type == live.schema.field("key").type
    keys = {row["key_row"].hex(): (row["key"], row["value_bytes"]) for row in rows_of(live)}
    rows = rows_of(result)
    assert rows
    for row in rows:
        key, value_bytes = keys[row["key_hex"]]
        assert (row["key"], row["value_bytes"]) == (key, value_bytes)
        assert row["row_bytes"] == row["key_bytes"] + row["value_bytes"]


@pytest.mark.parametrize("redact", [Redact.HASH, Redact.ALL])
def test_redacted_leftover_keys_are_strings(redact: Redact) -> None:
    path = str(checkpoint_of("fmgws_event_ignore"))
    result = plan_table(path, "leftovers", Options(redact=redact), STRICT)
    assert result.schema.field("key").type == pa.string()
    assert {row["key_hex"] for row in rows_of(result)} == {None}


def test_leftover_keys_of_several_types_are_json() -> None:
    path = str(checkpoint_of("fmgws_event_ignore"))
    run = Run.start(path, None)
    (operator,) = run.checkpoint.operators
    schema = replace(operator.schemas["default"], key=parse_ddl("id bigint"))
    second = replace(operator, schemas={"default": schema})
    pair = replace(run.checkpoint, operators=(operator, second))
    result = plan_table(replace(run, checkpoint=pair), "leftovers", None, STRICT)
    assert result.schema.field("key").type == pa.string()


def test_leftovers_table_is_not_empty() -> None:
    assert rows_of(plan_table(str(checkpoint_of("fmgws_event_ignore")), "leftovers"))


def test_planning_reads_no_state_if_partitions_are_independent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = str(checkpoint_of("agg_complete"))
    expected = rows_of(plan_table(path, "leftovers"))
    monkeypatch.setattr(Run, "facts", lambda *_, **__: pytest.fail("the state is read"))
    assert rows_of(plan_table(path, "leftovers")) == expected
    assert rows_of(plan_table(path, "versions"))
    with pytest.raises(pytest.fail.Exception, match="the state is read"):
        plan_table(str(checkpoint_of("fmgws_event_ignore")), "leftovers")


def test_work_items_have_partition_and_weight() -> None:
    path = checkpoint_of("agg_append")
    for table in ("rows", "changes", *FLAT):
        work = plan_table(str(path), table).work
        assert [item.partition_id for item in work] == [0, 1]
        for element in work:
            folder = path / "state/0" / str(element.partition_id)
            files = [f for f in folder.iterdir() if f.suffix in (".delta", ".snapshot")]
            assert element.weight == sum(file.stat().st_size for file in files)


# --- tables that are made at once ------------------------------------------------------------


def test_files_findings_and_problems_tables(tmp_path: Path) -> None:
    path = spoilt(tmp_path)
    audit = api.audit(str(path))
    findings = [values(finding_row(finding)) for finding in audit.findings]
    assert rows_of(plan_table(str(path), "findings")) == findings != []
    expected = [values(problem_row(problem)) for problem in audit.problems]
    assert rows_of(plan_table(str(path), "problems")) == expected != []
    files = rows_of(plan_table(str(path), "files", Options(partition_id=1)))
    assert {Path(row["path"]).parent.name for row in files} == {"1"}
    on_disk = [file for file in (path / "state/0/1").iterdir() if file.is_file()]
    assert {Path(row["path"]) for row in files} == set(on_disk)


def test_problems_table_of_a_sound_checkpoint_is_empty() -> None:
    assert plan_table(str(checkpoint_of("agg_append")), "problems").work == ()


# --- what the listing tells ------------------------------------------------------------------


def problems(rows: list[Row]) -> list[Row]:
    return [json.loads(row["problem"]) for row in rows if row["problem"] is not None]


@pytest.mark.parametrize("table", ["rows", "changes", *FLAT])
def test_listing_problems_are_reported_once(table: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").unlink()
    result = plan_table(str(path), table, None, PERMISSIVE)
    actual = problems(rows_of(result))
    assert [item["slug"] for item in actual].count("missing-delta") == 1
    # The first task tells it, of whichever partition it is.
    assert [element.partition_id for element in result.work] == [None, 1]
    with pytest.raises(InspectorError, match=r"state/0/1: .*'permissive' tells it"):
        plan_table(str(path), table, None, STRICT)
    dropped = plan_table(str(path), table, None, TableOptions(mode=ProblemMode.DROPMALFORMED))
    good = [row for row in rows_of(result) if row.pop("problem") is None]
    assert rows_of(dropped) == good
    assert good or table == "leftovers"


@pytest.mark.parametrize("table", ["rows", "changes"])
def test_listing_problems_of_other_stores_are_not_reported(table: str, tmp_path: Path) -> None:
    path = copy_of("join_left_outer", tmp_path)
    (path / "state/0/1/right-keyToNumValues/3.delta").unlink()
    for store in ("left-keyToNumValues", "right-keyToNumValues"):
        rows = rows_of(plan_table(str(path), table, Options(store_name=store), PERMISSIVE))
        slugs = {problem["slug"] for problem in problems(rows)}
        assert ("missing-delta" in slugs) is (store == "right-keyToNumValues")


@pytest.mark.parametrize("table", FLAT)
def test_missing_partitions_are_reported(table: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    for partition in (path / "state/0").glob("[0-9]*"):
        shutil.rmtree(partition)
    result = plan_table(str(path), table, None, PERMISSIVE)
    (problem,) = problems(rows_of(result))
    assert problem["slug"] == "missing-partition"
    assert (
        rows_of(plan_table(str(path), table, None, TableOptions(mode=ProblemMode.DROPMALFORMED)))
        == []
    )
    with pytest.raises(InspectorError, match="partitions 0-1 are missing"):
        plan_table(str(path), table, None, STRICT)
