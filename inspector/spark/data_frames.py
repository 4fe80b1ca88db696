"""Reports and DataFrames of a checkpoint, for a session that its user has."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspector import api
from inspector.analyses.shared.data_tables import plan_table
from inspector.analyses.shared.declare import DataTable, TableOptions
from inspector.engines.spark import SparkEngine
from inspector.model import ProblemMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FAILFAST = ProblemMode.FAILFAST.value

_ARGUMENTS = """

Args:
    spark: the session whose executors read.
    path: the checkpoint, as the executors see it.
    options: which part and version, and rules that are not in the checkpoint.
"""


def audit(spark: SparkSession, path: str, options: api.Options | None = None) -> api.Report:
    """Every fact and every rule; the same as ``inspector audit --engine spark``.

    Args:
        spark: the session whose executors read.
        path: the checkpoint, as the executors see it.
        options: which part and version, and rules that are not in the checkpoint.

    Raises:
        NotACheckpointError, UnsupportedProviderError, CheckpointError, OSError: as
            :func:`inspector.api.audit`.
        EngineError: the session's workers cannot do it.
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
        self.__signature__ = _signature(self._own)

    def __repr__(self) -> str:
        return f"<function inspector.spark.{self.__name__}{self.__signature__}>"

    def __call__(
        self, spark: SparkSession, path: str, options: api.Options | None = None, **keywords: Any
    ) -> DataFrame:
        """The table; ``own`` are its options.

        Raises:
            TypeError: it has no such option.
        """
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


def _signature(keywords: dict[str, Any]) -> inspect.Signature:
    kinds = inspect.Parameter
    first = [
        kinds("spark", kinds.POSITIONAL_OR_KEYWORD),
        kinds("path", kinds.POSITIONAL_OR_KEYWORD),
        kinds("options", kinds.POSITIONAL_OR_KEYWORD, default=None),
    ]
    more = [kinds(name, kinds.KEYWORD_ONLY, default=default) for name, default in keywords.items()]
    return inspect.Signature([*first, *more])


def on(spark: SparkSession, options: api.Options | None) -> api.Options:
    """The options with this session as the engine."""
    options = options or api.Options()
    engine = api.EngineOptions(
        "spark", session=spark, io=options.engine.io, tune_workers=options.engine.tune_workers
    )
    return replace(options, engine=engine)
