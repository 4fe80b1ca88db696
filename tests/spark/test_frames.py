"""DataFrames of a session against the same tables made in this process."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest

import inspector.spark as on_spark
from inspector import analyses, api
from inspector.analyses.shared.data_tables import plan_table
from inspector.analyses.shared.declare import TableOptions, TablePlan
from inspector.analyses.shared.options import Options
from inspector.exceptions import CheckpointError
from inspector.model import ProblemMode
from inspector.render.as_json import render_json
from tests.cli.support import checkpoint_of, copy_of
from tests.cli.support import tree as tree_of
from tests.reports import cell_values
from tests.spark.support import (
    EVERY,
    Together,
    as_arrow,
    collected,
    damaged,
    here,
    tables_of,
    told,
)
from tests.spark_support import WITH_SPARK

pytestmark = WITH_SPARK

T = TypeVar("T")

BATCH = Options(batch=9)


@pytest.fixture
def few_spark_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's own price of a task is most of the time of so small ones: here they share."""
    monkeypatch.setattr("inspector.engines.bin_packing.UNGROUPED_TASKS", 4)


@pytest.mark.usefixtures("few_spark_tasks")
def test_every_table_of_every_sixth_fixture_is_what_it_is_here(spark: Any, tmp_path: Path) -> None:
    from inspector.engines.spark import SparkEngine

    alike: dict[tuple[str, str], list[TablePlan]] = defaultdict(list)
    for path in (*EVERY[4::6], *damaged(tmp_path)):
        for name, table in tables_of(path):
            alike[name, table.schema.to_string()].append(table)
    engine = SparkEngine.of(spark, None, {})
    rows: dict[str, list[str]] = defaultdict(list)
    for in_eight in in_eights(alike.items()):
        together = Together([merged(tables) for _, tables in in_eight])
        got = pa.Table.from_batches(
            collected(
                engine.frame(together.function, together.schema, together.work), together.schema
            )
        )
        for number, ((name, _), tables) in enumerate(in_eight):
            expected = here(merged(tables))
            assert of_column(got.column(number)) == expected
            rows[name] += expected
    assert len(EVERY) > 150
    assert len(alike) > 50, "tables of as many kinds"
    assert all(len(rows[name]) > 20 for name in analyses.data_tables() if name != "problems")
    for name in ("rows", "changes", "versions", "leftovers", "problems"):
        assert any("5.delta" in row for row in rows[name]), f"what is spoilt is told in {name}"


def merged(tables: list[TablePlan]) -> TablePlan:
    """Tables of one schema as one."""
    work = tuple(item for table in tables for item in table.work)
    return replace(tables[0], work=work)


def in_eights(items: Iterable[T]) -> Iterator[list[T]]:
    """Eight tables are one job: one for each takes minutes, one for all the memory of Spark."""
    remainder = iter(items)
    while sample := list(islice(remainder, 8)):
        yield sample


def of_column(structs: Any) -> list[str]:
    """The rows of a table that others stand beside, as :func:`told`."""
    rows = pa.RecordBatch.from_struct_array(structs.drop_null().combine_chunks())
    return told([rows], rows.schema)


# --- each function ---------------------------------------------------------------------------


def assert_frame(frame: Any, path: Path, name: str, **options: Any) -> None:
    table = plan_table(str(path), name, options.pop("options", None), TableOptions(**options))
    expected = here(table)
    assert expected
    assert frame.columns == table.schema.names
    assert as_arrow(frame, table.schema) == expected


def test_rows(spark: Any) -> None:
    path, store = checkpoint_of("join_left_outer"), Options(store_name="left-keyToNumValues")
    frame = on_spark.rows(spark, str(path), store)
    assert_frame(frame, path, "rows", options=store, mode=ProblemMode.FAILFAST)
    assert frame.select("key.*", "value.value").count() == frame.count()
    raw = on_spark.rows(spark, str(path), replace(store, batch=3), raw=True)
    of_3 = replace(store, batch=3)
    assert_frame(raw, path, "rows", options=of_3, mode=ProblemMode.FAILFAST, raw=True)


def test_changes(spark: Any) -> None:
    path = checkpoint_of("agg_append")
    frame = on_spark.changes(spark, str(path), from_batch=4, raw=True)
    questions = {"mode": ProblemMode.FAILFAST, "from_batch": 4, "raw": True}
    assert_frame(frame, path, "changes", **questions)
    assert frame.where("batch_id < 4").count() == 0 < frame.where("batch_id = 4").count()


@pytest.mark.parametrize("name", ["versions", "leftovers"])
def test_tables_of_all_stores(spark: Any, name: str) -> None:
    path = checkpoint_of("fmgws_event_ignore")
    frame = getattr(on_spark, name)(spark, str(path))
    assert_frame(frame, path, name, mode=ProblemMode.FAILFAST)


@pytest.mark.parametrize("name", ["files", "findings", "problems"])
def test_tables_that_are_judged_when_called(spark: Any, name: str, tmp_path: Path) -> None:
    path = damaged(tmp_path)[0]
    assert_frame(getattr(on_spark, name)(spark, str(path)), path, name)


def test_a_table_without_rows_has_its_columns(spark: Any) -> None:
    frame = on_spark.problems(spark, str(checkpoint_of("agg_append")))
    assert frame.collect() == []
    assert "message" in frame.columns


def test_audit_on_spark_equals_local_audit(spark: Any, tmp_path: Path) -> None:
    for path in (checkpoint_of("fmgws_event_ignore"), damaged(tmp_path)[0]):
        got, expected = on_spark.audit(spark, str(path), BATCH), api.audit(str(path), BATCH)
        assert list(render_json(got)) == list(render_json(expected))
        assert got.findings


def test_the_options_keep_what_they_say_of_reading(spark: Any) -> None:
    from inspector.spark.data_frames import on

    questions = on(spark, Options(batch=3))
    assert (questions.batch, questions.engine.name, questions.engine.session) == (3, "spark", spark)


# --- when it is computed, and what becomes of what cannot be read --------------------------------


def test_frame_is_lazy_and_writes_nothing(spark: Any, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    before = tree_of(path)
    frame = on_spark.rows(spark, str(path))
    assert frame.count() > 0
    assert tree_of(path) == before
    delta = path / "state/0/1/5.delta"
    delta.write_bytes(b"junk".ljust(delta.stat().st_size))  # the file that was listed, damaged
    with pytest.raises(Exception, match=r"state/0/1/5\.delta: byte 0: "):
        frame.collect()


@pytest.fixture(params=["rows", "changes", "versions", "leftovers"])
def table_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_modes(spark: Any, tmp_path: Path, table_name: str) -> None:
    path = copy_of("fmgws_event_ignore", tmp_path)
    delta = path / "state/0/1/5.delta"
    delta.write_bytes(b"junk")
    table = getattr(on_spark, table_name)
    with pytest.raises(Exception, match=r"state/0/1/5\.delta: byte 0: .*'permissive'"):
        table(spark, str(path)).collect()
    permissive = table(spark, str(path), mode="permissive")
    assert_frame(permissive, path, table_name, mode=ProblemMode.PERMISSIVE)
    problems = [json.loads(row[0]) for row in permissive.select("problem").collect() if row[0]]
    assert set(cell_values(problems, "path")) >= {str(delta)}
    dropped = table(spark, str(path), mode="dropmalformed")
    assert_frame(dropped, path, table_name, mode=ProblemMode.DROPMALFORMED)
    assert dropped.count() == permissive.where("problem IS NULL").count() > 0


def test_listing_problems_raise_at_once(spark: Any, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").unlink()
    with pytest.raises(Exception, match="state/0/1: state version 10"):
        on_spark.rows(spark, str(path))


def test_errors_of_the_asking(spark: Any, tmp_path: Path) -> None:
    path = str(checkpoint_of("agg_append"))
    with pytest.raises(CheckpointError, match=r"no store 'x'|no such operator, store"):
        on_spark.rows(spark, path, Options(store_name="x"))
    with pytest.raises(ValueError, match="'no' is not a valid ProblemMode"):
        on_spark.rows(spark, path, mode="no")
    with pytest.raises(CheckpointError, match=r"nothing|no checkpoint|no such"):
        on_spark.rows(spark, str(tmp_path / "none"))


# --- times -----------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(spark: Any) -> Iterator[str]:
    """A session far from UTC."""
    name = "spark.sql.session.timeZone"
    before = spark.conf.get(name)
    spark.conf.set(name, "Pacific/Chatham")
    yield "Pacific/Chatham"
    spark.conf.set(name, before)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("case", ["wide_key", "agg_append"])
def test_times_are_right_in_any_time_zone(spark: Any, case: str) -> None:
    path = checkpoint_of(case)
    frame = on_spark.rows(spark, str(path))
    assert_frame(frame, path, "rows", mode=ProblemMode.FAILFAST)


@pytest.mark.usefixtures("elsewhere")
def test_times_of_batches_are_right_in_any_time_zone(spark: Any) -> None:
    path = checkpoint_of("agg_append")
    frame = on_spark.versions(spark, str(path))
    assert dict(frame.dtypes)["watermark"] == "timestamp"
    told_ms = frame.selectExpr("version", "unix_millis(watermark)").distinct().collect()
    report = api.timeline(str(path)).primary.rows
    expected = set(cell_values(report, "version", "watermark_ms"))
    assert {(version, ms) for version, ms in told_ms} == expected
    assert any(ms for _, ms in told_ms)
