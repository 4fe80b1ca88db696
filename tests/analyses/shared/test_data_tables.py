"""Tables as tasks: their schemas, rows and problems."""

from __future__ import annotations

import json
from dataclasses import replace
from operator import itemgetter
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
from tests.attributes import attributes
from tests.checkpoint_files import remove_paths
from tests.cli.support import checkpoint_of, copy_of
from tests.profiles import crossed
from tests.reports import cell_values

Row = dict[str, Any]
PERMISSIVE = TableOptions(mode=ProblemMode.PERMISSIVE)
STRICT = TableOptions(mode=ProblemMode.FAILFAST)
FLAT = ("versions", "leftovers")


def rows_of(table: TablePlan) -> list[Row]:
    """Return the rows of all tasks. Each batch has the schema of the table, or this fails."""
    batches = LocalEngine(1).run(Job(table.function, table.schema, table.work))
    return pa.Table.from_batches(batches, table.schema).to_pylist()


def sorted_texts(rows: list[Row]) -> list[str]:
    return sorted(map(repr, rows))


def damaged(folder: Path, case: str = "agg_append") -> Path:
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
    options = TableOptions(from_batch=3, raw=raw)
    exported = store_tables(path, None, options, changes=table == "changes")
    assert len(exported) == 4
    for item in exported:
        _, store = item.name.split(".")
        result = plan_table(
            path, table, Options(store_name=store), replace(options, mode=STRICT.mode)
        )
        assert result.schema == item.schema
        assert rows_of(result) == pa.Table.from_batches(item.batches, item.schema).to_pylist() != []


def test_default_store_of_a_table() -> None:
    path = str(checkpoint_of("dedup_after_join"))
    assert set(cell_values(rows_of(plan_table(path, "rows")), "operator_id")) == {0}
    options = Options(operator_id=1, store_name="left-keyToNumValues")
    assert set(cell_values(rows_of(plan_table(path, "rows", options)), "operator_id")) == {1}


def test_missing_store_error_names_the_existing_stores() -> None:
    path = str(checkpoint_of("join_left_outer"))
    with pytest.raises(CheckpointError, match=r"no store 'default', it has '.*keyToNumValues'"):
        plan_table(path, "rows")
    with pytest.raises(CheckpointError, match="no such operator, store or partition"):
        plan_table(path, "rows", Options(operator_id=9))


def test_unknown_table_error_names_the_tables() -> None:
    expected = "got table 'state', expected one of findings, changes"
    with pytest.raises(CheckpointError, match=expected):
        plan_table("nowhere", "state", Options(), STRICT)


# --- versions and leftovers ------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    ["agg_append", "dedup_after_join", "fmgws_event_ignore", "join_window_key", "wide_key"],
)
def test_leftover_rows_equal_the_report(case: str) -> None:
    path = str(checkpoint_of(case))
    expected = arrow_table(api.leftovers(path), structs=False).to_pylist()
    result = plan_table(path, "leftovers", None, replace(STRICT, json_keys=True))
    assert sorted_texts(rows_of(result)) == sorted_texts(expected)


@pytest.mark.parametrize("case", ["fmgws_event_ignore", "agg_complete"])
def test_leftover_keys_are_structs_as_in_rows(case: str) -> None:
    path = str(checkpoint_of(case))
    live = plan_table(path, "rows", None, replace(STRICT, raw=True))
    result = plan_table(path, "leftovers", None, STRICT)
    assert result.schema.field("key").type == live.schema.field("key").type
    rows = sorted(rows_of(result), key=itemgetter("key_hex"))
    keys = cell_values(rows, "key_hex")
    assert keys
    live_rows = [row for row in rows_of(live) if row["key_row"].hex() in keys]
    expected = sorted(live_rows, key=itemgetter("key_row"))
    assert cell_values(rows, "key", "value_bytes") == cell_values(expected, "key", "value_bytes")


@pytest.mark.parametrize("redact", [Redact.HASH, Redact.ALL])
def test_redacted_leftover_keys_are_strings(redact: Redact) -> None:
    path = str(checkpoint_of("fmgws_event_ignore"))
    result = plan_table(path, "leftovers", Options(redact=redact), STRICT)
    assert result.schema.field("key").type == pa.string()
    assert cell_values(rows_of(result), "key_hex") == [None] * 68


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


@pytest.mark.parametrize("table", ["rows", "changes", *FLAT])
def test_work_items_have_partition_and_weight(table: str) -> None:
    """The weight of a partition is the number of bytes of its state files."""
    path = checkpoint_of("agg_append")
    work = plan_table(str(path), table).work
    assert attributes(work, "partition_id", "weight") == [
        (0, 6047),
        (1, 5959),
    ]


# --- tables of the driver --------------------------------------------------------------------


def test_files_findings_and_problems_tables(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    audit = api.audit(str(path))
    findings = rows_of(plan_table(str(path), "findings"))
    assert findings == [values(finding_row(finding)) for finding in audit.findings] != []
    problems = rows_of(plan_table(str(path), "problems"))
    assert problems == [values(problem_row(problem)) for problem in audit.problems] != []
    files = rows_of(plan_table(str(path), "files", Options(partition_id=1)))
    on_disk = [str(file) for file in (path / "state/0/1").glob("*.*")]
    assert sorted(cell_values(files, "path")) == sorted(on_disk)


def test_problems_table_of_a_sound_checkpoint_is_empty() -> None:
    assert plan_table(str(checkpoint_of("agg_append")), "problems").work == ()


# --- problems of the listing -----------------------------------------------------------------


def problems(rows: list[Row]) -> list[Row]:
    """Return the problems in the last column of a table."""
    return [json.loads(row["problem"]) for row in rows if row["problem"] is not None]


@pytest.mark.parametrize("table", ["rows", "changes", *FLAT])
def test_listing_problems_are_reported_once(table: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").unlink()
    result = plan_table(str(path), table, None, PERMISSIVE)
    actual = problems(rows_of(result))
    assert cell_values(actual, "slug").count("missing-delta") == 1
    # The first task reports the problems of the listing.
    assert attributes(result.work, "partition_id") == [None, 1]
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
    left, right = (
        plan_table(str(path), table, Options(store_name=store), PERMISSIVE)
        for store in ("left-keyToNumValues", "right-keyToNumValues")
    )
    assert problems(rows_of(left)) == []
    assert "missing-delta" in cell_values(problems(rows_of(right)), "slug")


@pytest.mark.parametrize("table", FLAT)
def test_missing_partitions_are_reported(table: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    remove_paths(path, "state/0/[0-9]*")
    result = plan_table(str(path), table, None, PERMISSIVE)
    (problem,) = problems(rows_of(result))
    assert problem["slug"] == "missing-partition"
    dropped = TableOptions(mode=ProblemMode.DROPMALFORMED)
    assert rows_of(plan_table(str(path), table, None, dropped)) == []
    with pytest.raises(InspectorError, match="partitions 0-1 are missing"):
        plan_table(str(path), table, None, STRICT)
