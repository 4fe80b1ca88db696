"""The engine on a real Spark against that in this process: the same tasks, the same answers."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inspector.analyses.shared.data_tables import TableOptions
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.store_tables import store_tasks
from inspector.api import Options
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import TaskRequest, plan
from inspector.engines.engine import BatchFunction, Work
from inspector.engines.local import LocalEngine
from inspector.exceptions import EngineError
from inspector.facts.fact import FACT_TYPES
from inspector.facts.registry import facts_schema
from inspector.passes.run import run_fields, run_tasks
from inspector.passes.typed_rows import run_typed, typed_schema
from inspector.schemas import ROWS, TASKS, batch_of
from tests.cli.support import FIXTURES, checkpoint_of, copy_of, flip
from tests.spark_support import WITH_SPARK, driver

pytestmark = WITH_SPARK

OBJECTS = pa.schema([("objects", pa.int64())])
EVERY = sorted(path / "checkpoint" for path in FIXTURES.parent.glob("*/*") if path.is_dir())


@pytest.fixture(scope="module")
def engine(spark: Any) -> Any:
    from inspector.engines.spark import SparkEngine

    return SparkEngine.of(spark, None, {})


def work_of(paths: Iterable[Path], **wanted: Any) -> list[Work]:
    """The tasks of checkpoints, as an audit wants them."""
    opened = [open_checkpoint(str(path)) for path in paths]
    tasks = [t for c in opened for t in plan(c, TaskRequest(c.newest_version, True, **wanted))]
    return [Work(task.to_json(), task.file_bytes) for task in tasks]


def rows_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> list[str]:
    """The rows in any order; Python's terms do not know every date, those of Arrow do."""
    table = pa.Table.from_batches(list(batches), schema)
    return sorted(str(table.slice(i, 1).to_string(preview_cols=100)) for i in range(len(table)))


def facts_of(batches: Iterable[pa.RecordBatch]) -> list[str]:
    return sorted(repr(fact) for batch in batches for fact in batch.to_pylist())


def assert_same_facts(engine: Any, function: BatchFunction, work: Sequence[Work]) -> list[str]:
    got = list(engine.map(function, facts_schema(), work))
    assert all(batch.schema == facts_schema() for batch in got)
    facts = facts_of(got)
    assert facts == facts_of(LocalEngine(2).map(function, facts_schema(), work))
    return facts


def test_facts_of_every_fixture_of_every_spark_in_one_job(engine: Any) -> None:
    work = work_of(EVERY, top=3, rewrites=True, matched=True)
    assert len(EVERY) > 150
    facts = assert_same_facts(engine, run_tasks, work)
    # Of field sizes another function makes the facts; what is broken has a test of its own.
    assert FACT_TYPES.keys() - {"field_sizes", "problem"} == {
        kind for kind in FACT_TYPES if any(f"'kind': '{kind}'" in fact for fact in facts)
    } - {"problem"}


def test_fields(engine: Any) -> None:
    cases = ("wide_key", "wide_value", "join_left_outer", "session_window")
    assert assert_same_facts(engine, run_fields, work_of(map(checkpoint_of, cases)))


def test_what_cannot_be_read_is_a_row_and_fails_no_job(engine: Any, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    flip(path / "state/0/0/7.delta", 30)
    facts = assert_same_facts(engine, run_tasks, work_of([path]))
    problems = [fact for fact in facts if "'kind': 'problem'" in fact]
    assert len(problems) >= 2
    assert any(str(path / "state/0/1/5.delta") in fact for fact in problems)


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize(
    ("case", "store"),
    [
        ("wide_key", "default"),
        ("wide_value", "default"),
        ("dedup_event_time", "default"),
        ("join_left_outer", "left-keyWithIndexToValue"),
        ("mgws_tuple_key", "default"),
    ],
)
def test_typed_rows_and_changes(engine: Any, case: str, store: str, changes: bool) -> None:
    options = Options(store_name=store)
    run = Run.start(str(checkpoint_of(case)), options)
    ((_, tasks),) = store_tasks(run, TableOptions(raw=True), changes=changes).items()
    schema = typed_schema(tasks[0])
    work = [Work(task.to_json(), task.task.file_bytes) for task in tasks]
    expected = rows_of(LocalEngine(1).map(run_typed, schema, work), schema)
    assert expected
    assert rows_of(engine.map(run_typed, schema, work), schema) == expected


# --- how tasks are dealt -----------------------------------------------------------------------


def place(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Tell each task's text and which Spark task has it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for batch in batches:
        for spec in batch.column("spec").to_pylist():
            yield batch_of(ROWS, [{"message": spec, "partition_id": context.partitionId()}])


def dealt(engine: Any, work: Sequence[Work]) -> dict[str, int]:
    """Task -> Spark partition."""
    found = [row for batch in engine.map(place, ROWS, work) for row in batch.to_pylist()]
    assert sorted(row["message"] for row in found) == sorted(each.spec for each in work)
    return {row["message"]: row["partition_id"] for row in found}


def test_each_task_has_a_spark_task_of_its_own_and_the_heaviest_the_first(engine: Any) -> None:
    weights = [3, 9, 1, 0, 7, 7, 2]
    work = [Work(f"{number}:{weight}", weight) for number, weight in enumerate(weights)]
    found = dealt(engine, work)
    assert sorted(found.values()) == list(range(len(work)))
    order = sorted(found, key=lambda spec: found[spec])
    assert [int(spec.split(":")[1]) for spec in order] == sorted(weights, reverse=True)


def test_many_tasks_share_with_the_heavy_ones_apart(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.engines.dealt.SLOTS", 4)
    found = dealt(engine, [Work(str(weight), weight) for weight in range(10)])
    assert len({found[str(weight)] for weight in (9, 8, 7, 6)}) == 4
    loads = [sum(int(w) for w, slot in found.items() if slot == s) for s in range(4)]
    assert loads == sorted(loads, reverse=True)
    assert max(loads) - min(loads) <= 3


def test_a_frame_is_not_computed_before_it_is_asked_for(engine: Any) -> None:
    def fail(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            raise ZeroDivisionError("a fault")
        yield from ()

    frame = engine.frame(fail, facts_schema(), [Work("x")])
    assert frame.columns == facts_schema().names
    with pytest.raises(EngineError, match=r"^Spark: ZeroDivisionError: a fault$"):
        list(engine.map(fail, facts_schema(), [Work("x")]))


def test_without_work_the_answer_is_empty(engine: Any) -> None:
    assert list(engine.map(run_tasks, facts_schema(), [])) == []
    assert engine.frame(run_tasks, facts_schema(), []).collect() == []


# --- sessions and workers ------------------------------------------------------------------------


def test_the_active_session_is_used_as_it_is(spark: Any) -> None:
    from inspector.engines.spark import SparkEngine

    before = sorted(map(tuple, spark.sql("SET").collect()))
    engine = SparkEngine.of(None, None, {})
    assert engine.session is spark
    assert sorted(map(tuple, spark.sql("SET").collect())) == before


def test_workers_of_a_session_are_asked_once_for_all_its_engines(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspector.engines.spark import SparkEngine

    monkeypatch.setattr(SparkEngine, "_ask", lambda _self: pytest.fail("asked again"))
    other = SparkEngine.of(engine.session, None, {})
    assert other is not engine
    assert other.note == engine.note


def test_a_package_of_another_version_that_cannot_be_replaced_is_named(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspector.engines.spark import SparkEngine

    engine = SparkEngine(spark)
    (told,) = {json.dumps(json.loads(text) | {"inspector": "0.0.0"}) for text in engine._ask()}
    monkeypatch.setattr(engine, "_ask", lambda: [told])
    sent: list[str] = []
    monkeypatch.setattr(engine, "_ship", sent.append)
    with pytest.raises(EngineError, match=r"import version 0\.0\.0 of this package"):
        engine.make_ready()
    assert [Path(path).name for path in sent] == ["inspector.zip"]


def test_what_a_worker_has_imported_is_out_of_its_collections(engine: Any) -> None:
    def frozen(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            counts = [gc.get_freeze_count()] * len(batch)
            yield pa.record_batch({"objects": counts})

    work = [Work("{}"), Work("{}")]
    (told,) = {row[0] > 10_000 for row in engine.frame(frozen, OBJECTS, work).collect()}
    assert told
    assert not gc.get_freeze_count()


def test_workers_of_another_python_are_named(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspector.engines.spark import SparkEngine

    monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.9")
    with pytest.raises(EngineError, match=r"PYTHON_VERSION_MISMATCH.*set PYSPARK_PYTHON"):
        SparkEngine(spark).make_ready()


def of_a_driver(path: str, folder: str) -> tuple[int, str | None]:
    """Start a session as the command line does, whose workers lack the package; count facts."""
    from inspector.engines.spark import SparkEngine

    os.chdir(folder)  # workers import from where they are started
    engine = SparkEngine.of(None, "local[2]", {})
    try:
        facts = engine.map(run_tasks, facts_schema(), work_of([Path(path)])[:1])
        return sum(len(batch) for batch in facts), engine.note
    finally:
        engine.session.stop()


def test_workers_that_lack_the_package_are_sent_it(tmp_path: Path) -> None:
    path = checkpoint_of("agg_append")
    with driver(tmp_path) as process:
        rows, note = process.run(of_a_driver, str(path), str(tmp_path))
    tasks = [batch_of(TASKS, [{"task_id": 0, "spec": each.spec}]) for each in work_of([path])[:1]]
    assert rows == sum(len(batch) for batch in run_tasks(tasks)) > 0
    assert note is not None
    assert "Python twin" in note


def test_what_a_task_carries_is_in_no_plan(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    # Plans are shown by the UI and kept in event logs; tasks hold the storage's credentials.
    frame = engine.frame(place, ROWS, [Work("task-with-a-secret", 1), Work("another-secret", 2)])
    frame.explain("extended")
    said = capsys.readouterr().out
    assert "MapInArrow" in said
    assert "secret" not in said
