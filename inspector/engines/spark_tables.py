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

# match in the text of an error by which Spark or Delta reports that a table does not exist
_ABSENT = re.compile(
    r"PATH_NOT_FOUND|TABLE_OR_VIEW_NOT_FOUND|DELTA_\w*(?:NOT_FOUND|NOT_EXIST)|is not a Delta table"
)


class SparkTable:
    """Table that a Spark session reads and appends to; it does not have to exist yet."""

    # Maven package by format, with the versions of Spark and Scala left open
    _PACKAGES: ClassVar[dict[str, str]] = {
        "delta": "io.delta:delta-spark_{scala}",
        "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{spark}_{scala}",
    }

    def __init__(self, path: str, form: str, options: EngineOptions) -> None:
        """Find the table. ``path`` is a path, or a name such as ``catalog.schema.table``.

        ``form`` is a format of ``DataFrameWriter``, such as ``delta``. EngineError: the options
        request no Spark, Spark cannot be started, it does not have the format, or it cannot read
        the table.
        """
        session = getattr(engine_by_options(options, None), "session", None)
        if session is None:
            raise EngineError(f"tables of format {form} are Spark's: use --engine spark")
        self._session: Any = session
        self._place, self._form = path, form
        self._is_named = re.fullmatch(r"\w+(\.\w+)+", path) is not None
        self._frame()  # raises errors now, before the work whose results will be written

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
        except Exception as error:  # noqa: BLE001 - data sources may raise any error
            raise self._failure(error) from None

    def read(self, schema: pa.Schema) -> pa.Table | None:
        """Return all rows of the table with the columns of ``schema``; None if it does not exist.

        A column that the table lacks is null; further columns of the table are left out.
        EngineError: Spark cannot read the table.
        """
        frame = self._frame()
        if frame is None:
            return None
        # Times are fetched as numbers, which do not depend on the time zone of this process.
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
        """Return a lazy frame of the table; None if it does not exist.

        EngineError: Spark cannot read it.
        """
        reader = self._session.read
        try:
            frame: DataFrame
            if self._is_named:
                frame = reader.table(self._place)
            else:
                frame = reader.format(self._form).load(self._place)
            frame.schema  # noqa: B018 - Spark Connect looks the table up only now
        except Exception as error:  # noqa: BLE001 - as above
            if _ABSENT.search(str(error)):
                return None
            raise self._failure(error) from None
        return frame

    def _failure(self, error: Exception) -> EngineError:
        """Return the EngineError to raise for ``error``, which Spark raised.

        If Spark lacks the format, the message says so and names the Maven package, if it is known.
        """
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
