"""The tables of a checkpoint as a data source of Spark 4.0 and later.

::

    from inspector.spark import InspectorDataSource

    spark.dataSource.register(InspectorDataSource)
    spark.read.format("inspector").option("table", "changes").load(path)

Its options are listed on the page ``how-to/notebook``. The names are those of Spark's own source
``statestore``; options of an analysis have their name in camel case, or the one that their
declaration says. Spark passes no column pruning to sources in Python.

Errors are one sentence, where PySpark reports what a worker raises with all frames between its
``main`` and ours (``pyspark.util.handle_worker_exception``). Since Spark 4.1 it leaves them out
where ``SPARK_HIDE_TRACEBACK`` is set; 4.0 heeds the interpreter's own ``sys.tracebacklimit``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from inspector.analyses import data_tables
from inspector.analyses.shared.data_tables import plan_table, table_of_name
from inspector.analyses.shared.declare import TableOptions
from inspector.analyses.shared.options import AT_VERSION, KEYS, PART, RULES, Options, Parameter
from inspector.engines.arrow_encoding import encode_columns, encode_schema
from inspector.engines.engine import BatchFunction, Work
from inspector.exceptions import CheckpointError, InspectorError
from inspector.model import JOIN_SIDES, ProblemMode
from inspector.schemas import task_batch

_STORAGE = "storage."  # begin of the names of options for the storage
_EVERY_TABLE = ("batch", "operator_id", "store_name", "partition_id")  # options of all tables
_OTHERS = ("table", "joinSide", "changeEndBatchId", "pushdown")  # options of the source itself


class InspectorDataSource(DataSource):
    """Spark's data source ``inspector``; the page ``how-to/notebook`` describes its options."""

    @classmethod
    def name(cls) -> str:
        """Return the name that ``format`` takes."""
        return "inspector"

    def schema(self) -> StructType:
        """Return the columns of the table that the options name."""
        with in_one_sentence():
            path, table, options, table_options = _request(self.options)
            schema = table_of_name(table).schema(path, options, table_options)
        return from_arrow_schema(encode_schema(schema), prefer_timestamp_ntz=True)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a table; with ``pushdown`` one that accepts filters."""
        with in_one_sentence():
            plan = plan_table(*_request(self.options))
            pushdown = _flag(_lower_names(self.options), "pushdown")
        kind = _FilteringReader if pushdown else _Reader
        return kind(encode_columns(plan.function, plan.schema), plan.work, schema)


class _Part(InputPartition):
    """A partition for Spark: the spec of one task."""

    def __init__(self, number: int, spec: str) -> None:
        """Keep the number and the spec of a task."""
        self.number, self.spec = number, spec

    def __repr__(self) -> str:
        return f"_Part({self.number})"  # the spec may hold credentials


class _Reader(DataSourceReader):
    """Reader of a table without filters."""

    def __init__(self, function: BatchFunction, work: Sequence[Work], schema: StructType) -> None:
        """Keep the function and the tasks of a table, those with the most work first."""
        self._function, self._schema = function, schema
        self._work = sorted(work, key=lambda item: -item.cost)  # in which Spark starts them

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition for each task, the one with the most work first."""
        return [_Part(i, item.spec) for i, item in enumerate(self._work)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of one task."""
        if not isinstance(partition, _Part):
            return  # Spark's own, where there are no tasks
        tasks = task_batch(partition.spec, partition.number)
        exact = _exact(self._schema)
        with in_one_sentence():
            for batch in self._function([tasks]):
                yield from pa.Table.from_batches([batch]).cast(exact).to_batches()


class _FilteringReader(_Reader):
    """Reader that leaves out tasks by filters on ``partition_id``."""

    def pushFilters(self, filters: Sequence[Any]) -> Iterable[Any]:  # noqa: N802 - Spark's name
        """Leave out tasks of other partitions, and return all filters for Spark to apply."""
        for partitions in map(_partitions_of, filters):
            if partitions is not None:
                self._work = [
                    work for work in self._work if work.partition_id in {*partitions, None}
                ]
        return filters


def _exact(schema: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark expects for a schema, including names of list elements."""
    zoned = "timezone" in signature(to_arrow_schema).parameters  # needed since 4.2
    convert: Any = to_arrow_schema
    exact: pa.Schema = convert(schema, timezone="UTC") if zoned else convert(schema)
    return exact


def _partitions_of(pushed: Any) -> set[int | None] | None:
    """Return the partition ids that a filter allows, if it lists them; None otherwise.

    Only ``=``, ``<=>`` and ``IN`` on the column ``partition_id`` list them. No partition can be
    left out by other filters, such as ``partition_id > 3``. The set has None for a null.
    """
    if getattr(pushed, "attribute", None) != ("partition_id",):
        return None
    kind = type(pushed).__name__  # 4.0 has no such classes to import
    if kind in ("EqualTo", "EqualNullSafe"):
        return {pushed.value}
    return set(pushed.value) if kind == "In" else None


def _lower_names(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with lower-case names."""
    return {name.lower(): value for name, value in options.items()}


def _declarations() -> dict[str, Parameter]:
    """Return the declarations of all options, by their names in the data source."""
    names = {*_EVERY_TABLE, *(name for table in data_tables().values() for name in table.options)}
    declared = (*PART, *AT_VERSION, *RULES, *KEYS, *TableOptions.parameters().values())
    return {item.source: item for item in declared if item.name in names}


def _request(options: Mapping[str, str]) -> tuple[str, str, Options, TableOptions]:
    """Return path, table name, options and table options from Spark's options.

    Raises CheckpointError for an unknown option or a wrong value.
    """
    plain = {k: v for k, v in options.items() if not k.lower().startswith(_STORAGE)}
    texts = _lower_names(plain)
    declared = _declarations()
    _check_names(texts, declared)
    values: dict[str, Any] = {
        item.name: _value(texts, source, item)
        for source, item in declared.items()
        if source.lower() in texts
    }
    if "changeendbatchid" in texts:
        values["batch"] = _number(texts, "changeEndBatchId")
    if "joinside" in texts:
        values["store_name"] = texts["joinside"]
        if texts["joinside"] not in JOIN_SIDES or "storename" in texts:
            raise CheckpointError("joinSide is left or right, and goes without storeName")
    table_values = {name: values.pop(name) for name in TableOptions.parameters() if name in values}
    storage = {name[len(_STORAGE) :]: options[name] for name in options.keys() - plain.keys()}
    table_options = TableOptions(**{"mode": ProblemMode.FAILFAST} | table_values)
    run_options = Options(storage_options=storage, **values)
    return texts["path"], texts.get("table", "rows"), run_options, table_options


def _check_names(texts: Mapping[str, str], declared: Mapping[str, Parameter]) -> None:
    """Raise CheckpointError for options that do not fit the table, and for a missing path.

    These are unknown options, options of other tables, and batchId together with changeEndBatchId.
    ``texts`` has the values by name in lower case; ``declared`` has the declarations by name in the
    data source. Values are not checked.
    """
    options = [*_OTHERS, *declared]
    strange = sorted(texts.keys() - {name.lower() for name in options} - {"path"})
    if strange:
        names = ", ".join(options)
        raise CheckpointError(f"got option {strange[0]!r}, expected {names} or storage.NAME")
    if not texts.get("path"):
        raise CheckpointError("no path is given, expected load(path)")
    if {"batchid", "changeendbatchid"} <= texts.keys():
        raise CheckpointError("got batchId and changeEndBatchId, which mean the same: give one")
    # Every option that is given must be one of the table's.
    tables, table = data_tables(), texts.get("table", "rows")
    fields = {source: item.name for source, item in declared.items()}
    for source, name in {**fields, "changeEndBatchId": "from_batch"}.items():
        having = [item.name for item in tables.values() if name in item.options]
        if source.lower() not in texts or table not in tables or name in _EVERY_TABLE:
            continue
        if table not in having:
            names = " or ".join(having)
            raise CheckpointError(f"option {source} is of table {names}, got table {table!r}")


def _value(texts: Mapping[str, str], source: str, parameter: Parameter) -> Any:
    """Return the value of an option in the type of its declaration; see :func:`_refuse`.

    ``texts`` has the values by name in lower case. CheckpointError: the value is not allowed.
    """
    if parameter.kind is bool:
        return _flag(texts, source)
    if parameter.kind is int:
        return _number(texts, source)
    text = texts[source.lower()]
    if parameter.choices:
        kinds: Any = parameter.kind
        words = {word.value: word for word in kinds}
        if text.lower() not in words:
            raise _refuse(source, text, ", ".join(words))
        return words[text.lower()]
    return (text,) if parameter.many else text


def _number(texts: Mapping[str, str], source: str) -> int:
    """Return an option's value as a number; CheckpointError if it is none."""
    value = texts[source.lower()]
    if not value.isdecimal():
        raise _refuse(source, value, "a number from 0 on")
    return int(value)


def _flag(texts: Mapping[str, str], source: str) -> bool:
    """Return an option's value as a boolean, False by default; CheckpointError if it is none."""
    value = texts.get(source.lower(), "false")
    if value.lower() not in ("true", "false"):
        raise _refuse(source, value, "true or false")
    return value.lower() == "true"


def _refuse(source: str, value: str, expected: str) -> CheckpointError:
    """Return the error on a wrong value of an option."""
    return CheckpointError(f"option {source} is {value!r}, expected {expected}")


_OF_WORKERS = "PYTHON_WORKER_FACTORY"  # begins variables that Spark's Python workers alone have


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """Let errors that explain themselves end a worker without a stack trace."""
    try:
        yield
    except (InspectorError, OSError) as error:
        if any(name.startswith(_OF_WORKERS) for name in os.environ):
            # A worker that reports an error ends with it, so that nobody else is affected.
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
            sys.tracebacklimit = 0
        error.__cause__, error.__suppress_context__ = None, True
        raise
