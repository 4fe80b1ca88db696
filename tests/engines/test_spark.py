"""The engine on a real Spark, compared with the engine in this process."""

from __future__ import annotations

import gc
import json
import logging
import os
import socket
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from inspector import analyses, api
from inspector.analyses.shared.declare import TableOptions
from inspector.analyses.shared.fleet_run import run_all
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import store_tasks
from inspector.api import Options
from inspector.checkpoint.search import Found
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import ALL_LEFTOVERS, Request
from inspector.engines import workers
from inspector.engines.choose import EngineOptions
from inspector.engines.engine import BatchFunction, Job, Measure, Work
from inspector.engines.local import LocalEngine
from inspector.exceptions import EngineError, NotACheckpointError
from inspector.facts.fact import FACT_TYPES
from inspector.facts.registry import facts_schema
from inspector.passes.typed_rows import run_typed_rows, schema_of_rows
from inspector.passes.worker import run_fields, run_tasks
from inspector.schemas import ROWS, batch_of
from tests.attributes import attributes
from tests.cases import hdfs_cases, rocksdb_cases
from tests.cli.support import checkpoint_of, copy_of, flip
from tests.reports import cell_values, rows_where
from tests.spark_support import WITH_SPARK, driver

pytestmark = WITH_SPARK

EVERY = [path / "checkpoint" for path in (*hdfs_cases(), *rocksdb_cases())]


@pytest.fixture(scope="module")
def engine(spark: Any) -> Any:
    from inspector.engines.spark import SparkEngine

    return SparkEngine.of(spark, None, {})


def work_of(paths: Iterable[Path], **options: Any) -> list[Work]:
    """Return the tasks of an audit of several checkpoints."""
    request = replace(ALL_LEFTOVERS, fit=True, **options)
    checkpoints = map(open_checkpoint, map(str, paths))
    tasks = chain(*(plan(item, item.newest_version, request) for item in checkpoints))
    return [Work(task.to_json(), task.file_bytes) for task in tasks]


def rows_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> list[str]:
    """Return the sorted rows as text of Arrow, which has dates that Python lacks."""
    table = pa.Table.from_batches(list(batches), schema)
    return sorted(str(table.slice(i, 1).to_string(preview_cols=100)) for i in range(len(table)))


def facts_of(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    return sorted(pa.Table.from_batches(batches, facts_schema()).to_pylist(), key=repr)


def assert_same_facts(
    engine: Any, function: BatchFunction, work: Sequence[Work]
) -> list[dict[str, Any]]:
    """Check that Spark returns the facts of the local engine. Return the facts."""
    facts = facts_of(engine.run(Job(function, facts_schema(), work)))
    assert facts == facts_of(LocalEngine(2).run(Job(function, facts_schema(), work)))
    return facts


def test_spark_facts_of_fixtures_equal_local_facts(engine: Any) -> None:
    requested = {"matched": True, "expiring": True}
    work = work_of(EVERY[2::6], top=3, sampled=3, rewrites=True, **requested)
    assert len(EVERY) > 150
    facts = assert_same_facts(engine, run_tasks, work)
    # Other tests have facts of field sizes, damage, key ranges, copies, simulations, large rows
    # and watermarks far ahead.
    elsewhere = {"field_sizes", "largest_field", "call_bounds", "rows_timed_in_range"}
    elsewhere |= {"row_prints", "written_files", "evicted", "evicted_key", "simulated"}
    elsewhere |= {"snapshot_differs"}
    elsewhere |= {"sampled_sizes", "rows_behind", "misplaced_row", "unwritable_rows"}
    kinds = set(cell_values(facts, "kind"))
    assert FACT_TYPES.keys() - elsewhere - {"problem"} == kinds - {"problem"}


def test_spark_field_sizes_equal_local_ones(engine: Any) -> None:
    cases = ("wide_key", "wide_value", "join_left_outer", "session_window")
    assert assert_same_facts(engine, run_fields, work_of(map(checkpoint_of, cases)))


def test_unreadable_files_are_problem_facts_on_spark(engine: Any, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    flip(path / "state/0/0/7.delta", 30)
    facts = assert_same_facts(engine, run_tasks, work_of([path]))
    problems = cell_values(cell_values(rows_where(facts, kind="problem"), "problem"), "path")
    assert len(problems) >= 2
    assert str(path / "state/0/1/5.delta") in problems


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
def test_spark_typed_rows_and_changes_equal_local_ones(
    engine: Any, case: str, store: str, changes: bool
) -> None:
    options = Options(store_name=store)
    run = Run.start(str(checkpoint_of(case)), options)
    ((_, tasks),) = store_tasks(run, TableOptions(raw=True), changes=changes).items()
    schema = schema_of_rows(tasks[0])
    work = [Work(task.to_json(), task.task.file_bytes) for task in tasks]
    expected = rows_of(LocalEngine(1).run(Job(run_typed_rows, schema, work)), schema)
    assert expected
    assert rows_of(engine.run(Job(run_typed_rows, schema, work)), schema) == expected


# --- how tasks are grouped -----------------------------------------------------------------------


def place(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the spec of each task and the number of its Spark task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for batch in batches:
        for spec in batch.column("spec").to_pylist():
            yield batch_of(ROWS, [{"message": spec, "partition_id": context.partitionId()}])


def partitions_of(engine: Any, work: Sequence[Work]) -> dict[str, int]:
    """Return the Spark partition of each task."""
    result = pa.Table.from_batches(engine.run(Job(place, ROWS, work)), ROWS).to_pylist()
    assert sorted(cell_values(result, "message")) == sorted(attributes(work, "spec"))
    return dict(cell_values(result, "message", "partition_id"))


def test_each_task_is_a_spark_task_heaviest_first(engine: Any) -> None:
    work = [Work("a", 3), Work("b", 9), Work("c", 1), Work("d", 0), Work("e", 7), Work("f", 2)]
    assert partitions_of(engine, work) == {"b": 0, "e": 1, "a": 2, "f": 3, "c": 4, "d": 5}


def test_many_tasks_are_grouped_with_heavy_ones_separate(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.engines.bin_packing.MAX_GROUPS", 4)
    partitions = partitions_of(engine, [Work(str(weight), weight) for weight in range(10)])
    assert {partitions["9"], partitions["8"], partitions["7"], partitions["6"]} == {0, 1, 2, 3}
    loads = [0, 0, 0, 0]
    for weight, partition in partitions.items():
        loads[partition] += int(weight)
    assert loads == sorted(loads, reverse=True)
    assert max(loads) - min(loads) <= 3


def test_frame_is_lazy_and_errors_are_shortened(engine: Any) -> None:
    def fail(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            raise ZeroDivisionError("a fault")
        yield from ()

    frame = engine.frame(fail, facts_schema(), [Work("x")])
    assert frame.columns == facts_schema().names
    with pytest.raises(EngineError, match=r"^Spark: ZeroDivisionError: a fault$"):
        list(engine.run(Job(fail, facts_schema(), [Work("x")])))


def test_no_work_gives_no_rows(engine: Any) -> None:
    assert list(engine.run(Job(run_tasks, facts_schema(), []))) == []
    assert engine.frame(run_tasks, facts_schema(), []).collect() == []


# --- sessions and workers ------------------------------------------------------------------------


def test_active_session_confs_are_unchanged(spark: Any) -> None:
    from inspector.engines.spark import SparkEngine

    before = sorted(map(tuple, spark.sql("SET").collect()))
    engine = SparkEngine.of(None, None, {})
    assert engine.session is spark
    assert sorted(map(tuple, spark.sql("SET").collect())) == before


def test_workers_of_a_session_are_probed_once(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspector.engines.spark import SparkEngine

    monkeypatch.setattr(SparkEngine, "_probe", lambda _self: pytest.fail("asked again"))
    second = SparkEngine.of(engine.session, None, {})
    assert second is not engine
    assert second.note == engine.note


def test_package_of_another_version_on_workers_is_refused(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspector.engines.spark import SparkEngine

    engine = SparkEngine(spark)
    (result,) = {json.dumps(json.loads(text) | {"inspector": "0.0.0"}) for text in engine._probe()}
    monkeypatch.setattr(engine, "_probe", lambda: [result])
    sent: list[bool] = []
    monkeypatch.setattr(engine, "_ship", lambda: sent.append(True))
    with pytest.raises(EngineError, match=r"import version 0\.0\.0 of this package"):
        engine.prepare_workers()
    assert sent == [True]


def state_of_worker(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield what the tasks of this package left in the Python worker that runs this function.

    ``tuned``: the worker was tuned. ``frozen``: the garbage collector no longer visits this
    package's module. ``threads``: names of this package's threads. ``loaded``: the worker has run
    a task of this package.
    """
    for _ in batches:
        package = sys.modules.get("inspector.engines.workers")
        yield pa.record_batch(
            {
                "tuned": [package is not None and package._freeze.cache_info().currsize > 0],
                "frozen": [
                    package is not None
                    and not any(item is vars(package) for item in gc.get_objects())
                ],
                "threads": [
                    ",".join(
                        thread.name
                        for thread in threading.enumerate()
                        if thread.name.startswith("inspector")
                    )
                ],
                "loaded": ["inspector.passes.worker" in sys.modules],
            }
        )


_columns: list[tuple[str, pa.DataType]] = [
    ("tuned", pa.bool_()),
    ("frozen", pa.bool_()),
    ("threads", pa.string()),
    ("loaded", pa.bool_()),
]
WORKER = pa.schema(_columns)


def workers_of(session: Any) -> list[Any]:
    """Return the state of the session's Python workers, read by a job of its user."""
    from pyspark.sql.pandas.types import from_arrow_schema

    frame = session.range(0, 2, 1, 2).mapInArrow(state_of_worker, from_arrow_schema(WORKER))
    return list(frame.collect())


@contextmanager
def new_workers(session: Any, name: str) -> Iterator[None]:
    """Let a session use new Python workers, which Spark separates by their environment."""
    session.sparkContext.environment["WORKERS"] = name
    try:
        yield
    finally:
        del session.sparkContext.environment["WORKERS"]


@pytest.mark.parametrize("tune", [None, False])
def test_user_workers_are_not_tuned(spark: Any, tune: bool | None) -> None:
    from inspector.engines.spark import SparkEngine

    with new_workers(spark, f"untuned {tune}"):
        engine = SparkEngine.of(spark, None, {}, tune_workers=tune)
        work = work_of([checkpoint_of("agg_append")])
        assert assert_same_facts(engine, run_tasks, work)
        first, second = workers_of(spark)
    assert first.loaded or second.loaded, "no worker has run a task of this package"
    assert (first.tuned, first.threads) == (second.tuned, second.threads) == (False, "")


@pytest.mark.parametrize("tune", [True, None])
def test_workers_are_tuned_if_allowed_or_owned(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tune: bool | None
) -> None:
    from inspector.engines.session import scope_of
    from inspector.engines.spark import SparkEngine

    monkeypatch.setattr(scope_of(spark), "owns_workers", tune is None)
    frozen_in_driver: list[bool] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen_in_driver.append(True))
    with new_workers(spark, f"tuned {tune}"):
        engine = SparkEngine.of(spark, None, {}, tune_workers=tune)
        frame = engine.frame(state_of_worker, WORKER, [Work("{}"), Work("{}")])
        first, second = frame.collect()
    assert (first.tuned, first.frozen) == (second.tuned, second.frozen) == (True, True)
    assert frozen_in_driver == []


def _socket_of(descriptor: int) -> socket.socket:
    """Return a duplicate of a socket. Raise OSError for other descriptors."""
    connection = socket.socket(fileno=descriptor)
    copy = connection.dup()
    connection.detach()
    return copy


def quick_sockets(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield for each connection of a worker whether it acknowledges at once."""
    for _ in batches:
        flags = []
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError), _socket_of(int(name)) as connection:
                if connection.family in (socket.AF_INET, socket.AF_INET6):
                    flags.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))
        yield pa.record_batch({"flags": pa.array([flags], pa.list_(pa.int64()))})


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="Linux has it alone")
@pytest.mark.parametrize("tune", [False, True])
def test_quick_acknowledgement_only_in_tuned_tasks(spark: Any, tune: bool) -> None:
    from inspector.engines import workers
    from inspector.engines.spark import SparkEngine

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the flags without any traffic, because Linux changes them with the traffic."""
        tasks = list(batches)
        for connection in workers._loopback_connections():
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            connection.close()
        result = list((workers.tune(quick_sockets) if tune else quick_sockets)(tasks))
        yield from (*result, *quick_sockets(tasks))

    engine = SparkEngine(spark, tune_workers=False)
    schema = pa.schema([pa.field("flags", pa.list_(pa.int64()))])
    with new_workers(spark, f"connections {tune}"):
        during, after = engine.frame(look, schema, [Work("{}")]).collect()
    assert set(during.flags) == {int(tune)}
    assert set(after.flags) == {0}


def test_workers_of_another_python_version_are_refused(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspector.engines.spark import SparkEngine

    monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.9")
    with pytest.raises(EngineError, match=r"PYTHON_VERSION_MISMATCH.*set PYSPARK_PYTHON"):
        SparkEngine(spark).prepare_workers()


class Round(NamedTuple):
    """Results of one of several consecutive sessions, and what it left in the process."""

    rows: int
    note: str | None
    folders: int
    left: list[str]
    changed: list[str]


def rounds_of_a_driver(path: str, folder: str) -> list[Round]:
    """Start two sessions one after the other, whose workers lack the package.

    The first reads files by fsspec, the second by Hadoop. Each session counts facts. Its round has
    the changes of the process and the folders left.
    """
    from inspector.engines.session import _scopes
    from inspector.engines.spark import SparkEngine

    os.chdir(folder)  # workers import from where they are started
    with suppress(ImportError):
        # PySpark 3.5 imports this package, which adds a filter of warnings.
        import_module("pkg_resources")
    result = []
    before = process_settings()
    for io in ("fsspec", "hadoop"):
        engine = SparkEngine.of(None, "local[2]", {}, io=io)
        run = Run.start(path, Options(engine=EngineOptions("spark", session=engine.session, io=io)))
        work = [Work(task.to_json(), task.file_bytes) for task in run.tasks(Request())]
        facts = engine.run(Job(run_tasks, facts_schema(), work))
        rows = sum(map(len, facts))
        folders = len(list(Path(folder).glob("inspector-*")))
        del run
        engine.session.stop()
        after = process_settings()
        changed = [name for name in before if after[name] != before[name]]
        left = attributes(Path(folder).glob("inspector-*"), "name")
        result.append(Round(rows, engine.note, folders, left, changed))
    assert len(_scopes) <= 1, "what belongs to the first has gone"
    return result


def _own_environment() -> dict[str, str]:
    """Return the environment without the variables that a ``SparkContext`` sets itself."""
    return {name: v for name, v in os.environ.items() if not name.startswith("SPARK_")}


def process_settings() -> dict[str, Any]:
    """Return the settings of this process that a user may have changed."""
    return {
        "environment": _own_environment(),
        "filters of warnings": list(warnings.filters),
        "filters of logging": list(logging.getLogger().filters),
        "level of logging": logging.getLogger().level,
        "collector": (gc.freeze, gc.get_threshold(), workers._freeze.cache_info().currsize),
    }


def test_consecutive_sessions_leave_nothing_behind(tmp_path: Path) -> None:
    path = checkpoint_of("agg_append")
    with driver(tmp_path) as process:
        first, second = process.run(rounds_of_a_driver, str(path), str(tmp_path))
    assert first.rows == second.rows > 0
    assert first.folders >= 2, "the package as a zip, and what the session needs"
    assert "Python twin" in str(first.note), "the package was not sent to the workers"
    assert "Python twin" in str(second.note)
    assert (first.left, first.changed) == (second.left, second.changed) == ([], [])


def test_task_specs_are_not_in_the_query_plan(
    engine: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    # The UI and event logs show plans, and tasks have the credentials of the storage.
    frame = engine.frame(place, ROWS, [Work("task-with-a-secret", 1), Work("another-secret", 2)])
    frame.explain("extended")
    out = capsys.readouterr().out
    assert "MapInArrow" in out
    assert "secret" not in out


def test_progress_without_running_stages_is_zero(engine: Any) -> None:
    assert engine.measure() == Measure(0, 0, "tasks")


def test_progress_counts_tasks_of_active_stages() -> None:
    from inspector.engines.spark import SparkEngine

    stages = {
        1: SimpleNamespace(numTasks=10, numCompletedTasks=4),
        2: SimpleNamespace(numTasks=5, numCompletedTasks=0),
        3: None,  # it has just ended
    }
    tracker = SimpleNamespace(getActiveStageIds=lambda: list(stages), getStageInfo=stages.get)
    session = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))
    result: Any = SparkEngine.__new__(SparkEngine)
    result.session = session
    assert result.measure() == Measure(4, 15, "tasks")
    result.session = SimpleNamespace()  # as of Spark Connect
    assert result.measure() == Measure(0, 0, "tasks")


# --- many checkpoints ------------------------------------------------------------------------


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of tasks of each job that runs on Spark."""
    from inspector.engines.spark import SparkEngine

    result: list[int] = []
    run = SparkEngine.run

    def counted(self: Any, job: Job) -> Any:
        result.append(len(job.work))
        return run(self, job)

    monkeypatch.setattr(SparkEngine, "run", counted)
    return result


@pytest.mark.parametrize("io", ["fsspec", "hadoop"])
def test_tasks_of_several_checkpoints_are_one_spark_job(
    spark: Any, io: str, jobs: list[int], tmp_path: Path
) -> None:
    """The reports equal those of the local engine. A checkpoint that fails ends no other."""
    cases = ("agg_update", "join_left_outer", "fmgws_event_ignore")
    missing = str(tmp_path / "missing")
    paths = list(map(checkpoint_of, cases))
    places = [*map(Found, map(str, paths)), Found(missing)]

    def findings(run: Opened) -> tuple[Any, ...]:
        report = analyses.load("audit").function(run)
        return (report.findings, dict(report.metrics))

    options = Options(engine=EngineOptions("spark", session=spark, io=io))
    outcomes = list(run_all(places, options, findings))
    by_path = dict(zip(attributes(outcomes, "path"), outcomes, strict=True))
    assert isinstance(by_path.pop(missing).error, NotACheckpointError)
    local = attributes(run_all(places[:3], Options(), findings), "path", "result")
    assert dict(attributes(by_path.values(), "path", "result")) == dict(local)
    assert jobs == [len(work_of(paths))]


def test_small_checkpoints_are_audited_by_executors(
    spark: Any, jobs: list[int], tmp_path: Path
) -> None:
    """One job lists three dozen checkpoints and a missing one. Another job audits them."""
    missing = str(tmp_path / "missing")
    paths = list(map(str, EVERY[:: len(EVERY) // 36]))
    options = Options(engine=EngineOptions("spark", session=spark))
    outcomes = list(api.audit_many([*paths, missing], options))
    result = dict(zip(attributes(outcomes, "path"), outcomes, strict=True))
    assert isinstance(result.pop(missing).error, NotACheckpointError)
    assert jobs == [len(paths) + 1, len(paths)]
    expected = {item.path: report_of(item) for item in api.audit_many(paths)}
    assert dict(zip(result, map(report_of, result.values()), strict=True)) == expected


def report_of(outcome: Any) -> dict[str, Any]:
    """Return the report of a checkpoint that could be audited."""
    report: dict[str, Any] = outcome.result.to_dict()
    return report
