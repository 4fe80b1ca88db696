"""The tables of a checkpoint as a data source of Spark 4.0 and later.

::

    from inspector.spark.source import InspectorDataSource

    spark.dataSource.register(InspectorDataSource)
    spark.read.format("inspector").option("table", "changes").load(path)

======================  ========================================================================
option                  meaning
======================  ========================================================================
table                   ``rows`` (default), ``changes``, ``versions``, ``leftovers``, ``files``,
                        ``findings``, ``problems``
batchId                 judge the state that this batch made; by default the last committed one
operatorId              default 0 for ``rows`` and ``changes``, else all
storeName               default ``default`` for ``rows`` and ``changes``, else all
joinSide                ``left`` or ``right``: the store of that side's rows
snapshotPartitionId     only this partition
changeStartBatchId      of ``changes``: older ones are left out
changeEndBatchId        of ``changes``: the same as batchId
mode                    of ``rows``, ``changes``, ``versions``, ``leftovers``: what becomes of what
                        cannot be read: ``failfast`` (default), ``permissive``, ``dropmalformed``
raw                     of ``rows`` and ``changes``; ``true``: with the UnsafeRow bytes
timeoutKind             of ``leftovers`` and ``findings``: ``event`` or ``processing``, where the
                        bytes do not tell
pushdown                ``true``: filters on ``partition_id`` choose what is read. Needs Spark 4.1
                        and the conf ``spark.sql.python.filterPushdown.enabled``
storage.NAME            option of the storage's fsspec driver
======================  ========================================================================

The names are those of Spark's own source ``statestore``. Spark passes no column pruning to sources
in Python, and filters only with that conf. The package must be installed on the workers, or be sent
to them before (:func:`inspector.spark.audit` does so, or ``spark.addArtifacts``). ``findings``,
``problems``, and ``leftovers`` of group state and joins, are judged where Spark plans the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from inspector.analyses.flat_tables import FLAT
from inspector.api.run import Options
from inspector.api.spread import TABLES, TYPED, schema_of, spread
from inspector.api.typed import Typed
from inspector.engines.arrow_encoding import encoded
from inspector.engines.engine import BatchFunction, Work
from inspector.exceptions import CheckpointError
from inspector.model import TimeoutKind
from inspector.operators.join import SIDES, VALUE_STORES
from inspector.passes.problem_mode import ProblemMode
from inspector.schemas import task_batch

_STORAGE = "storage."
_NUMBERS = {
    "batchId": "batch",
    "operatorId": "operator_id",
    "snapshotPartitionId": "partition_id",
    "changeStartBatchId": "from_batch",
    "changeEndBatchId": "batch",
}
_WORDS = ("table", "storeName", "joinSide", "mode", "raw", "timeoutKind", "pushdown")
_SPELLED = {name.lower(): name for name in (*_WORDS, *_NUMBERS)}
_ONLY = {
    "raw": TYPED,
    "changestartbatchid": ("changes",),
    "changeendbatchid": ("changes",),
    "mode": (*TYPED, *FLAT),
    "timeoutkind": ("leftovers", "findings"),
}
"""Option -> the tables that it is of."""

_FLAGS = {"true": True, "false": False}


class InspectorDataSource(DataSource):
    """The source ``inspector``; the module says what its options are."""

    @classmethod
    def name(cls) -> str:
        """What ``format`` is given."""
        return "inspector"

    def schema(self) -> StructType:
        """The columns of the table that the options name."""
        schema = schema_of(*_asked(self.options))
        return from_arrow_schema(encoded(_nothing, schema).schema, prefer_timestamp_ntz=True)

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads it; with ``pushdown`` one that takes filters."""
        found = spread(*_asked(self.options))
        pushdown = _flag(_lowered(self.options), "pushdown")
        kind = _FilteringReader if pushdown else _Reader
        return kind(encoded(found.function, found.schema).function, found.work, schema)


class _Part(InputPartition):
    def __init__(self, number: int, spec: str) -> None:
        self.number, self.spec = number, spec

    def __repr__(self) -> str:
        return f"_Part({self.number})"  # the spec may hold credentials


class _Reader(DataSourceReader):
    def __init__(self, function: BatchFunction, work: Sequence[Work], schema: StructType) -> None:
        self._function, self._schema = function, schema
        # Spark starts them in this order.
        self._work = sorted(work, key=lambda each: -each.weight)

    def partitions(self) -> Sequence[InputPartition]:
        """One for each task, the heaviest first."""
        return [_Part(i, each.spec) for i, each in enumerate(self._work)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        if not isinstance(partition, _Part):
            return  # Spark's own, where there are no tasks
        tasks = task_batch(partition.spec, partition.number)
        exact = _exact(self._schema)
        for batch in self._function([tasks]):
            yield from pa.Table.from_batches([batch]).cast(exact).to_batches()


class _FilteringReader(_Reader):
    def pushFilters(self, filters: Sequence[Any]) -> Iterable[Any]:  # noqa: N802 - Spark's name
        """Leave out the tasks of other partitions; the filters stay Spark's to apply."""
        for each in filters:
            wanted = _wanted(each)
            if wanted is not None:
                self._work = [
                    work
                    for work in self._work
                    if work.partition_id is None or work.partition_id in wanted
                ]
        return filters


def _exact(schema: StructType) -> pa.Schema:
    """The schema that Spark expects to the letter: it compares the names of list elements too."""
    zoned = "timezone" in signature(to_arrow_schema).parameters  # needed since 4.2
    convert: Any = to_arrow_schema
    exact: pa.Schema = convert(schema, timezone="UTC") if zoned else convert(schema)
    return exact


def _wanted(pushed: Any) -> set[int] | None:
    """The partitions that a filter leaves, None if it says nothing of them."""
    if getattr(pushed, "attribute", None) != ("partition_id",):
        return None
    kind = type(pushed).__name__  # 4.0 has no such classes to import
    if kind in ("EqualTo", "EqualNullSafe"):
        return {pushed.value}
    return set(pushed.value) if kind == "In" else None


def _nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _lowered(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def _asked(options: Mapping[str, str]) -> tuple[str, str, Options, Typed]:
    """The arguments of :func:`inspector.api.spread.spread`.

    Raises:
        CheckpointError: an option is not known, or has no such value.
    """
    given = _lowered({k: v for k, v in options.items() if not k.lower().startswith(_STORAGE)})
    _check_names(given)
    numbers: dict[str, Any] = {
        field: _number(given, name.lower())
        for name, field in _NUMBERS.items()
        if name.lower() in given
    }
    from_batch = numbers.pop("from_batch", 0)
    kind = given.get("timeoutkind")
    asked = Options(
        storage_options={
            name[len(_STORAGE) :]: value
            for name, value in options.items()
            if name.lower().startswith(_STORAGE)
        },
        store_name=_store(given),
        timeout_kind=None if kind is None else _word(given, "timeoutkind", TimeoutKind),
        **numbers,
    )
    mode = _word({"mode": "failfast"} | given, "mode", ProblemMode)
    wanted = Typed(from_batch=from_batch, raw=_flag(given, "raw"), mode=mode)
    return given["path"], given.get("table", TABLES[0]), asked, wanted


def _check_names(given: Mapping[str, str]) -> None:
    strange = sorted(given.keys() - _SPELLED.keys() - {"path"})
    if strange:
        names = ", ".join(_SPELLED.values())
        raise CheckpointError(f"got option {strange[0]!r}, expected {names} or storage.NAME")
    if not given.get("path"):
        raise CheckpointError("no path is given, expected load(path)")
    if {"batchid", "changeendbatchid"} <= given.keys():
        raise CheckpointError("got batchId and changeEndBatchId, which mean the same: give one")
    table = given.get("table", TABLES[0])
    for name, tables in _ONLY.items():
        if name in given and table in TABLES and table not in tables:
            raise CheckpointError(
                f"option {_SPELLED[name]} is of table {' or '.join(tables)}, got table {table!r}"
            )


def _store(given: Mapping[str, str]) -> str | None:
    side = given.get("joinside")
    if side is None:
        return given.get("storename")
    if side not in SIDES or "storename" in given:
        raise CheckpointError("joinSide is left or right, and goes without storeName")
    return VALUE_STORES[SIDES.index(side)]


def _number(given: Mapping[str, str], name: str) -> int:
    if not given[name].isdecimal():
        raise _refused(given, name, "a number from 0 on")
    return int(given[name])


def _flag(given: Mapping[str, str], name: str) -> bool:
    if name not in given:
        return False
    if given[name].lower() not in _FLAGS:
        raise _refused(given, name, "true or false")
    return _FLAGS[given[name].lower()]


def _word(given: Mapping[str, str], name: str, words: Any) -> Any:
    try:
        return words(given[name].lower())
    except ValueError:
        known = ", ".join(each.value for each in words)
        raise _refused(given, name, known) from None


def _refused(given: Mapping[str, str], name: str, expected: str) -> CheckpointError:
    return CheckpointError(f"option {_SPELLED[name]} is {given[name]!r}, expected {expected}")
