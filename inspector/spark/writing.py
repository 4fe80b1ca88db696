"""Large tables, written by Spark straight to where they belong: the driver sees none of their rows.

``parquet`` keeps all types that Spark has. ``ndjson`` and ``csv`` are as Spark writes JSON and CSV,
times in UTC, nulls named; in CSV structs are JSON. Each table becomes a folder of files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.observation import Observation
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType

from inspector.analyses.shared.declare import DataTable, TableOptions, TablePlan
from inspector.analyses.shared.opening import OUTPACED, Opened, doubts
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import check_there, store_tasks, table_name, work_of
from inspector.engines import session as sessions
from inspector.engines.spark import SparkEngine
from inspector.exceptions import EngineError, InspectorError, OutpacedError
from inspector.light_dataclasses import dataclass
from inspector.model import Problem
from inspector.passes.problem_mode import COLUMN, problem_of_text
from inspector.passes.typed_rows import run_typed_rows, schema_of_rows

# conf that decides how Parquet stores timestamps
_TIMESTAMP_TYPE = "spark.sql.parquet.outputTimestampType"

# options by which Spark writes times
_TIMES = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


@dataclass(frozen=True)
class Written:
    """A table that Spark has written."""

    place: str  # folder of the table
    rows: int | None  # number of rows; None if Spark did not count them
    problems: tuple[Problem, ...] = ()  # what could not be read


def write_stores(  # noqa: PLR0913 - the options of a command
    run: Run,
    content: str,
    output: str,
    form: str,
    *,
    force: bool,
    from_batch: int = 0,
    raw: bool = False,
) -> list[Written]:
    """Let Spark write the rows or changes of all stores; return each table with its problems.

    ``content`` is ``rows`` or ``changes``. Raises EngineError if Spark fails, and OutpacedError,
    after removing the tables, if the query removed the version.
    """
    # output is a folder, by any URL that Spark knows; with several stores, or a slash at its end,
    # each has a folder in it. form is one of WRITERS.
    tables = store_tasks(run, TableOptions(from_batch, raw), changes=content == "changes")
    inside = len(tables) > 1 or output.endswith("/")
    done = list[Written]()
    try:
        for location, tasks in tables.items():
            plan = TablePlan(schema_of_rows(tasks[0]), run_typed_rows, work_of(tasks), run)
            target = f"{output.rstrip('/')}/{table_name(location)}" if inside else output
            done.append(_write_plan(plan, target, form, force=force))
    except OutpacedError:
        for table in done:
            _remove(_engine(run).session, table.place)
        raise
    return done


def write_table(run: Opened, table: DataTable, output: str, form: str, *, force: bool) -> Written:
    """Let Spark write the readable rows of a declared table into the folder ``output``.

    ``form`` is the format. An existing folder is replaced only with ``force``.
    """
    plan = table.plan(run, run.options, TableOptions(json_keys=True))
    return _write_plan(plan, output, form, force=force)


def _engine(run: Opened) -> SparkEngine:
    """Return the engine of the run, which is Spark."""
    assert isinstance(run.engine, SparkEngine)
    return run.engine


def _write_plan(plan: TablePlan, target: str, form: str, *, force: bool) -> Written:
    """Let Spark write a table of one version.

    Raises OutpacedError, after removing the table, if files of the version were removed meanwhile.
    """
    engine = _engine(plan.run)
    plan.run.check_lasting()
    frame = engine.frame(plan.function, plan.schema, plan.work)
    with engine.computing():
        written = _write_rows(frame, target, form, force=force)
    doubted = doubts(written.problems)
    try:
        if doubted:
            check_there(plan.run, [problem.path for problem in doubted if problem.path])
    except OutpacedError:
        _remove(engine.session, target)
        raise
    return written


def _remove(session: Any, target: str) -> None:
    """Remove a folder that Spark wrote.

    With Spark Connect it can only be emptied, and InspectorError is raised.
    """
    try:
        path = session._jvm.org.apache.hadoop.fs.Path(target)
    except AttributeError:
        session.createDataFrame([], "nothing int").write.mode("overwrite").save(target)
        message = f"{OUTPACED}; nothing is in this folder now, --force writes it again"
        raise InspectorError(message, target) from None
    configuration = session._jsparkSession.sessionState().newHadoopConf()
    path.getFileSystem(configuration).delete(path, True)


def _write_rows(frame: DataFrame, target: str, form: str, *, force: bool) -> Written:
    """Let Spark write the rows without a problem, and return their number and the problems."""
    is_problem = F.col(COLUMN).isNotNull()
    counts = Observation()
    counted = _observe(frame, counts)
    _write(counted.where(~is_problem).drop(COLUMN), target, form, force=force)
    result = counts.get if counted is not frame else None
    # Only where there are problems, or nobody knows, the files are read once more for them.
    if result is not None and not result["problems"]:
        return Written(target, result["rows"])
    texts = _run(frame, lambda: frame.where(is_problem).select(COLUMN).collect())
    problems = tuple(problem_of_text(row[0]) for row in texts)
    return Written(target, None if result is None else result["rows"], problems)


def _observe(frame: DataFrame, counts: Observation) -> DataFrame:
    """Return a frame that counts rows and problems into ``counts`` while it is computed.

    The frame itself if PySpark cannot count, as 3.5 on Spark Connect.
    """
    problem = F.col(COLUMN)
    rows, problems = F.count(F.when(problem.isNull(), 1)), F.count(problem)
    try:
        return frame.observe(counts, rows.alias("rows"), problems.alias("problems"))
    except Exception:  # noqa: BLE001 - each PySpark says so in a way of its own
        return frame


def _write(frame: DataFrame, target: str, form: str, *, force: bool) -> None:
    """Let Spark write a frame in a format; an existing folder is replaced only with ``force``."""
    writer = WRITERS[form](frame).mode("overwrite" if force else "errorifexists")
    # Spark's default, INT96, says no time zone.
    session = frame.sparkSession
    with sessions.scope_of(session).conf(session.conf, _TIMESTAMP_TYPE, "TIMESTAMP_MICROS"):
        _run(frame, lambda: writer.save(target), target)


def _run(frame: DataFrame, action: Callable[[], Any], target: str = "") -> Any:
    """Return the result of an action of Spark.

    Raises EngineError with Spark's message if it fails; ``target`` is named if it exists already.
    """
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - py4j, gRPC and PySpark each have their own
        message = sessions.message_of(error, frame.sparkSession)
        if "PATH_ALREADY_EXISTS" in message:
            raise EngineError(f"{target} exists; --force overwrites it") from None
        raise EngineError(f"Spark: {message}") from None


def _csv(frame: DataFrame) -> Any:
    """Return the writer of a frame as CSV, with nested values as JSON."""
    columns = [_as_text(field.name, field.dataType) for field in frame.schema.fields]
    return frame.select(*columns).write.format("csv").options(header="true", escape='"', **_TIMES)


def _as_text(name: str, kind: DataType) -> Any:
    """Return a column for CSV: nested values as JSON, bytes as base64, others unchanged."""
    if isinstance(kind, (StructType, ArrayType, MapType)):
        return F.to_json(name, {"ignoreNullFields": "false", **_TIMES}).alias(name)
    return F.base64(name).alias(name) if isinstance(kind, BinaryType) else F.col(name)


# returns the writer of a frame, by format
WRITERS: Mapping[str, Callable[[DataFrame], Any]] = {
    "parquet": lambda frame: frame.write.format("parquet"),
    "ndjson": lambda frame: frame.write.format("json").options(ignoreNullFields="false", **_TIMES),
    "csv": _csv,
}
