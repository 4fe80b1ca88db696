"""Reports and DataFrames of a checkpoint, for a session that its user has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspector import api
from inspector.api.spread import spread
from inspector.api.typed import Typed
from inspector.engines.choose import EngineOptions
from inspector.engines.spark import SparkEngine
from inspector.passes.problem_mode import ProblemMode
from inspector.render.report import Report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FAILFAST = ProblemMode.FAILFAST.value


def audit(spark: SparkSession, path: str, options: api.Options | None = None) -> Report:
    """Every fact and every rule; the same as ``inspector audit --engine spark``.

    Args:
        spark: the session whose executors read.
        path: the checkpoint, as the executors see it.
        options: which part and version, and rules that the checkpoint does not tell.

    Raises:
        NotACheckpointError, UnsupportedProviderError, CheckpointError, OSError: as
            :func:`inspector.api.audit`.
        EngineError: the session's workers cannot do it.
    """
    return api.audit(path, on(spark, options))


def rows(
    spark: SparkSession,
    path: str,
    options: api.Options | None = None,
    *,
    raw: bool = False,
    mode: str = FAILFAST,
) -> DataFrame:
    """The live rows of one store at one version; ``key`` and ``value`` are structs.

    Args:
        spark: the session whose executors read.
        path: the checkpoint, as the executors see it.
        options: which store (``default`` of operator 0 if not said) and version.
        raw: with the UnsafeRow bytes, as ``key_row`` and ``value_row``.
        mode: what becomes of what cannot be read: ``failfast``, ``permissive`` or
            ``dropmalformed``.
    """
    return table(spark, path, "rows", options, Typed(raw=raw, mode=ProblemMode(mode)))


def changes(
    spark: SparkSession,
    path: str,
    options: api.Options | None = None,
    *,
    from_batch: int = 0,
    raw: bool = False,
    mode: str = FAILFAST,
) -> DataFrame:
    """Every record of one store's deltas: what it did, its value and the one that it replaced.

    Args:
        spark: the session whose executors read.
        path: the checkpoint, as the executors see it.
        options: which store and version, as for :func:`rows`.
        from_batch: older ones are left out.
        raw: with the UnsafeRow bytes, as ``key_row``, ``value_row`` and ``old_value_row``.
        mode: as for :func:`rows`.
    """
    wanted = Typed(from_batch=from_batch, raw=raw, mode=ProblemMode(mode))
    return table(spark, path, "changes", options, wanted)


def versions(
    spark: SparkSession, path: str, options: api.Options | None = None, *, mode: str = FAILFAST
) -> DataFrame:
    """Sizes, changes and sharing of each version, one row for each store and partition."""
    return table(spark, path, "versions", options, Typed(mode=ProblemMode(mode)))


def leftovers(
    spark: SparkSession, path: str, options: api.Options | None = None, *, mode: str = FAILFAST
) -> DataFrame:
    """Every expired key that is still there, with its proof; ``key`` is JSON.

    Where one partition alone cannot be sure (timers of group state, times of joins) all are read
    once when this is called, and once more for the rows.
    """
    return table(spark, path, "leftovers", options, Typed(mode=ProblemMode(mode)))


def files(spark: SparkSession, path: str, options: api.Options | None = None) -> DataFrame:
    """The files in the stores' folders, from listings alone."""
    return table(spark, path, "files", options)


def findings(spark: SparkSession, path: str, options: api.Options | None = None) -> DataFrame:
    """The findings of an audit, which runs when this is called."""
    return table(spark, path, "findings", options)


def problems(spark: SparkSession, path: str, options: api.Options | None = None) -> DataFrame:
    """What cannot be read or is missing; everything is read when this is called."""
    return table(spark, path, "problems", options)


def table(
    spark: SparkSession,
    path: str,
    name: str,
    options: api.Options | None = None,
    wanted: Typed | None = None,
) -> DataFrame:
    """A table of :mod:`inspector.api.spread` as a DataFrame."""
    found = spread(path, name, on(spark, options), wanted)
    engine: Any = found.run.engine
    assert isinstance(engine, SparkEngine)
    return engine.frame(found.function, found.schema, found.work)


def on(spark: SparkSession, options: api.Options | None) -> api.Options:
    """The options with this session as the engine."""
    options = options or api.Options()
    engine = EngineOptions(
        "spark", session=spark, io=options.engine.io, tune_workers=options.engine.tune_workers
    )
    return replace(options, engine=engine)
