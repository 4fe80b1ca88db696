"""The inspector in a Spark session, for type checkers; python scripts/refresh_docs.py writes it."""

from pyspark.sql import DataFrame, SparkSession

from inspector.api import EngineError as EngineError
from inspector.api import InspectorError as InspectorError
from inspector.api import Options as Options
from inspector.api import Redact as Redact
from inspector.api import Report as Report
from inspector.api import TimeoutKind as TimeoutKind
from inspector.spark.data_frames import audit as audit
from inspector.spark.data_frames import rehearse as rehearse
from inspector.spark.source import InspectorDataSource as InspectorDataSource

__all__: list[str]

def findings(
    spark: SparkSession,
    path: str,
    options: Options | None = ...,
) -> DataFrame: ...
def changes(
    spark: SparkSession,
    path: str,
    options: Options | None = ...,
    *,
    from_batch: int = ...,
    raw: bool = ...,
    mode: str = ...,
) -> DataFrame: ...
def files(
    spark: SparkSession,
    path: str,
    options: Options | None = ...,
) -> DataFrame: ...
def leftovers(
    spark: SparkSession,
    path: str,
    options: Options | None = ...,
    *,
    mode: str = ...,
) -> DataFrame: ...
def offsets(
    spark: SparkSession,
    path: str,
    options: Options | None = ...,
) -> DataFrame: ...
def rows(
    spark: SparkSession,
    path: str,
    options: Options | None = ...,
    *,
    raw: bool = ...,
    mode: str = ...,
) -> DataFrame: ...
def versions(
    spark: SparkSession,
    path: str,
    options: Options | None = ...,
    *,
    mode: str = ...,
) -> DataFrame: ...
def problems(
    spark: SparkSession,
    path: str,
    options: Options | None = ...,
) -> DataFrame: ...
