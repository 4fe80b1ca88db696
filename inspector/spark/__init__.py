"""The inspector in a Spark session: reports and DataFrames, from a notebook or a job.

::

    import inspector.spark

    report = inspector.spark.audit(spark, "s3a://bucket/checkpoint")
    inspector.spark.leftovers(spark, path).groupBy("class").count().show()

Any session of Spark 3.5 and later will do, one of Spark Connect too. Workers that lack this package
are sent it. For Spark 4.0 and later there is a data source as well: :class:`InspectorDataSource`.

There is a function for every table that an analysis declares for executors. A DataFrame reads the
checkpoint each time that it is computed; ``cache()`` keeps what it read. What cannot be read is an
error by default; mode ``dropmalformed`` leaves it out, ``permissive`` has it in a column
``problem``, as JSON. All names that ``__all__`` does not have are internal.
"""

from typing import Any

from inspector.analyses import data_tables as _data_tables
from inspector.api import EngineError as EngineError
from inspector.api import InspectorError as InspectorError
from inspector.api import Options as Options
from inspector.api import Redact as Redact
from inspector.api import Report as Report
from inspector.api import TimeoutKind as TimeoutKind
from inspector.spark.data_frames import TableFunction as _TableFunction
from inspector.spark.data_frames import audit as audit
from inspector.spark.data_frames import rehearse as rehearse

# names of the API that this package has, too
TYPES = ("EngineError", "InspectorError", "Options", "Redact", "Report", "TimeoutKind")


def __dir__() -> list[str]:
    return sorted((*TYPES, *_data_tables(), "InspectorDataSource", "audit", "rehearse"))


__all__ = __dir__()


def __getattr__(name: str) -> Any:
    if name == "InspectorDataSource":
        from inspector.spark.source import InspectorDataSource  # noqa: PLC0415 - Spark >= 4

        return InspectorDataSource
    table = _data_tables().get(name)
    if table is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _TableFunction(table)
