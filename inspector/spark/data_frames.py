"""What a session that its user has can do: reports, DataFrames, and rehearsals of a query."""

from __future__ import annotations

import hashlib
import inspect
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector import api
from inspector.analyses.shared.data_tables import plan_table
from inspector.analyses.shared.declare import DataTable, TableOptions
from inspector.discovery.query_sources import STAND_IN
from inspector.engines.spark import SparkEngine
from inspector.model import ProblemMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FAILFAST = ProblemMode.FAILFAST.value

StartQuery = Callable[..., "StreamingQuery"]
_ALONE = "rows"

_ARGUMENTS = """

Args:
    spark: the session whose executors read.
    path: the checkpoint, as the executors see it.
    options: which part and version, and rules that are not in the checkpoint.
"""


def audit(spark: SparkSession, path: str, options: api.Options | None = None) -> api.Report:
    """Every fact and every rule, read by a session's executors: ``inspector audit --engine spark``.

    Raises:
        EngineError: the session's workers cannot do it; others as :func:`inspector.api.audit`.
    """
    return api.audit(path, on(spark, options))


class TableFunction:
    """The function of one declared table: a checkpoint's table as a DataFrame."""

    def __init__(self, table: DataTable) -> None:
        self._table = table
        options = TableOptions.parameters()
        own = {name: item for name, item in options.items() if name in table.options}
        defaults = {name: item.default for name, item in own.items()}
        self._own = defaults | ({"mode": FAILFAST} if "mode" in own else {})
        self.__name__ = self.__qualname__ = table.name
        lines = (f"    {name}: {item.option.help}" for name, item in own.items())
        self.__doc__ = inspect.cleandoc(table.doc) + _ARGUMENTS + "\n".join(lines)
        kinds = inspect.Parameter
        names = {"spark": kinds.empty, "path": kinds.empty, "options": None}
        first = [kinds(n, kinds.POSITIONAL_OR_KEYWORD, default=of) for n, of in names.items()]
        more = [kinds(n, kinds.KEYWORD_ONLY, default=of) for n, of in self._own.items()]
        self.__signature__ = inspect.Signature([*first, *more])

    def __repr__(self) -> str:
        return f"<function inspector.spark.{self.__name__}{self.__signature__}>"

    def __call__(
        self, spark: SparkSession, path: str, options: api.Options | None = None, **keywords: Any
    ) -> DataFrame:
        """The table; ``own`` are its options (TypeError: it has no such option)."""
        strange = sorted(keywords.keys() - self._own.keys())
        if strange:
            raise TypeError(f"{self.__name__}() got an unexpected keyword argument {strange[0]!r}")
        values: dict[str, Any] = self._own | keywords
        if "mode" in values:
            values["mode"] = ProblemMode(values["mode"])
        plan = plan_table(path, self._table.name, on(spark, options), TableOptions(**values))
        engine: Any = plan.run.engine
        assert isinstance(engine, SparkEngine)
        return engine.frame(plan.function, plan.schema, plan.work)


def on(spark: SparkSession, options: api.Options | None) -> api.Options:
    """The options with this session as the engine."""
    options = options or api.Options()
    io, tune_workers = options.engine.io, options.engine.tune_workers
    engine = api.EngineOptions("spark", session=spark, io=io, tune_workers=tune_workers)
    return replace(options, engine=engine)


def rehearse(
    start_query: StartQuery,
    rows: DataFrame | Mapping[str, DataFrame],
    folder: str | Path | None = None,
) -> str:
    """Run a query on a few rows, and give the checkpoint that it made, for ``preflight``.

    ::

        def test_the_change_can_go_on(spark, tmp_path):
            rows = spark.createDataFrame([("a", 1)], "user string, amount long")
            new = inspector.spark.rehearse(start_orders, rows, tmp_path / "new")
            before = inspector.spark.rehearse(start_old_orders, rows, tmp_path / "before")
            report = api.preflight("s3a://bucket/checkpoints/orders", new, before=before)
            assert report.summary["verdict"] in ("ok", "ignored")

    The rows are written to files and read as a stream, in place of the query's own sources, so that
    preflight compares the number of sources and not their kinds. The folder of the files is named
    after the rows, by which preflight knows whether two rehearsals had the same ones.

    Args:
        start_query: starts the query as production does and returns it: it is called with the
            streaming DataFrame (of several inputs, with each under its name, in the order in
            which they are given) and ``checkpoint=``, the path for ``checkpointLocation``.
        rows: of its input, or of each of its inputs by the name of the parameter.
        folder: where rows and checkpoint are kept, on storage that Spark's executors see; by
            default a new temporary one, which nobody removes.

    Returns:
        The path of the checkpoint, with at least one batch committed (StreamingQueryException).
    """
    location = Path(tempfile.mkdtemp(prefix="rehearsal-") if folder is None else folder).resolve()
    inputs = dict(rows) if isinstance(rows, Mapping) else {_ALONE: rows}
    streams: dict[str, DataFrame] = {}
    for name, frame in inputs.items():
        digest = hashlib.sha256(repr((frame.schema, sorted(map(repr, frame.collect())))).encode())
        path = str(location / f"{STAND_IN}{name}-{digest.hexdigest()[:12]}")
        frame.coalesce(1).write.parquet(path)
        streams[name] = frame.sparkSession.readStream.schema(frame.schema).parquet(path)
    checkpoint = str(location / "checkpoint")
    query = _start(start_query, streams, checkpoint)
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return checkpoint


def _start(start_query: StartQuery, streams: Mapping[str, Any], checkpoint: str) -> Any:
    if streams.keys() == {_ALONE}:
        return start_query(streams[_ALONE], checkpoint=checkpoint)
    return start_query(**streams, checkpoint=checkpoint)
