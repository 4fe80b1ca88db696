"""Small tables that a Spark session appends to and reads, in any format that it has."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.pandas.types import from_arrow_schema

from inspector.engines import session as sessions
from inspector.engines.choose import EngineOptions, engine_by_options
from inspector.exceptions import EngineError

# Words by which Spark and Delta say that a table does not exist yet.
_ABSENT = re.compile(
    r"PATH_NOT_FOUND|TABLE_OR_VIEW_NOT_FOUND|DELTA_\w*(?:NOT_FOUND|NOT_EXIST)|is not a Delta table"
)


class SparkTable:
    """A table by path or name (``catalog.schema.table``), in a format of ``DataFrameWriter``.

    EngineError: the options choose no Spark, it cannot be started, or it has no such format.
    """

    # EngineError: the options choose no Spark, it cannot be had, or it has no such format.

    # Maven packages of the formats
    _PACKAGES: ClassVar[dict[str, str]] = {
        "delta": "io.delta:delta-spark_{scala}",
        "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{spark}_{scala}",
    }

    def __init__(self, path: str, form: str, options: EngineOptions) -> None:
        session = getattr(engine_by_options(options, None), "session", None)
        if session is None:
            raise EngineError(f"tables of format {form} are Spark's: use --engine spark")
        self._session: Any = session
        self._place, self._form = path, form
        self._is_named = re.fullmatch(r"\w+(\.\w+)+", path) is not None
        self._frame()  # before the work whose results are to be written

    def append(self, rows: pa.Table, partition: str) -> None:
        """Append ``rows`` to the table in one commit; create the table if it does not exist.

        ``partition`` is the name of the column by which the table is partitioned. EngineError:
        Spark cannot write the table.
        """
        schema = from_arrow_schema(rows.schema)
        frame = self._session.createDataFrame(rows.to_pylist(), schema).coalesce(1)
        writer = frame.write.format(self._form).mode("append").partitionBy(partition)
        try:
            if self._is_named:
                writer.saveAsTable(self._place)
            else:
                writer.save(self._place)
        except Exception as error:  # noqa: BLE001 - sources raise whatever their makers liked
            raise self._failure(error) from None

    def read(self, schema: pa.Schema) -> pa.Table | None:
        """Return the columns of a schema, null if the table lacks one; None if there is no table.

        Raises EngineError if Spark cannot read it.
        """
        frame = self._frame()
        if frame is None:
            return None
        # Times cross as numbers: as such they depend on no time zone of this process.
        is_time = {f.name: pa.types.is_timestamp(f.type) for f in schema}
        plain = pa.schema([(f.name, pa.int64() if is_time[f.name] else f.type) for f in schema])
        names = [name for name in is_time if name in frame.columns]
        columns = [(F.unix_micros if is_time[n] else F.col)(n).alias(n) for n in names]
        try:
            rows = [row.asDict() for row in frame.select(*columns).collect()]
        except Exception as error:  # noqa: BLE001 - as above
            raise self._failure(error) from None
        return pa.Table.from_pylist(rows, schema=plain).cast(schema)

    def _frame(self) -> DataFrame | None:
        """Return the table as a frame; None if it does not exist."""
        reader = self._session.read
        try:
            frame: DataFrame
            if self._is_named:
                frame = reader.table(self._place)
            else:
                frame = reader.format(self._form).load(self._place)
            frame.schema  # noqa: B018 - over Connect nothing is looked up before
        except Exception as error:  # noqa: BLE001 - as above
            if _ABSENT.search(str(error)):
                return None
            raise self._failure(error) from None
        return frame

    def _failure(self, error: Exception) -> EngineError:
        """Return the error for a failure of Spark; for a missing format it names the package."""
        message = sessions.message_of(error, self._session)
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            return EngineError(f"Spark, on the table {self._place}: {message}")
        spark = ".".join(self._session.version.split(".")[:2])
        scala = "2.12" if spark.startswith("3.") else "2.13"
        package = self._PACKAGES.get(self._form, "").format(spark=spark, scala=scala)
        add = f"add {package}" if package else "add its package"
        return EngineError(
            f"this Spark has no data source {self._form}: {add} "
            "(--conf spark.jars.packages=..., or spark.jars)"
        )
