"""What tests of tables on Spark share: every checkpoint, its tables, rows to compare."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from inspector import analyses
from inspector.analyses.shared.data_tables import plan_table
from inspector.analyses.shared.declare import TableOptions, TablePlan
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import by_store, selected_tasks
from inspector.engines.arrow_encoding import (
    IPC_SCHEMA,
    encode_columns,
    encode_schema,
    from_ipc,
    to_ipc,
)
from inspector.engines.engine import Job, Work
from inspector.engines.local import LocalEngine
from inspector.model import ProblemMode
from inspector.schemas import TASKS, batch_of, record_batch
from tests.attributes import attributes
from tests.cases import hdfs_cases
from tests.checkpoint_files import remove_paths
from tests.cli.support import copy_of, flip

TYPED = ("rows", "changes")
"""Tables of one store."""

EVERY = [path / "checkpoint" for path in hdfs_cases()]
"""The checkpoints of all nine releases."""

PERMISSIVE = TableOptions(mode=ProblemMode.PERMISSIVE)


def spark_release() -> tuple[int, int]:
    """Of the PySpark that is here, which is not imported for this: (4, 3)."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).with_name("version.py").read_text("utf-8")
    match = re.search(r"(\d+)\.(\d+)\.", text)
    assert match is not None
    return int(match[1]), int(match[2])


CHOSEN = {
    "agg_append": "default",
    "dedup_event_time": "default",
    "dedup_within_watermark": "default",
    "fmgws_event_ignore": "default",
    "join_left_outer": "left-keyWithIndexToValue",
    "limit_after_dedup": "default",
    "mgws_tuple_key": "default",
    "session_window": "default",
    "wide_key": "default",
    "wide_value": "default",
}
"""Fixtures with every operator and every type, and a store of operator 0 of each."""


def damaged(folder: Path) -> list[Path]:
    """Copies of three fixtures, each spoilt in its own way."""
    cut = copy_of("agg_append", folder / "cut")
    gap = copy_of("join_left_outer", folder / "gap")
    base = copy_of("fmgws_snapshots_cleaned", folder / "base")
    delta = cut / "state/0/1/5.delta"
    delta.write_bytes(delta.read_bytes()[:-7])
    flip(cut / "state/0/0/7.delta", 30)
    (gap / "state/0/1/right-keyToNumValues/3.delta").unlink()
    remove_paths(base, "state/0/1/*.snapshot")
    return [cut, gap, base]


def tables_of(path: Path, expected: TableOptions = PERMISSIVE) -> Iterator[tuple[str, TablePlan]]:
    """Every table of a checkpoint; rows and changes of every store."""
    run = Run.start(str(path), None)
    for table in analyses.data_tables():
        if table not in TYPED:
            yield table, plan_table(str(path), table, None, expected)
            continue
        for operator, store in by_store(selected_tasks(run)):
            options = Options(operator_id=operator, store_name=store)
            yield table, plan_table(str(path), table, options, expected)


def here(table: TablePlan) -> list[str]:
    """The rows of a table, made in this process, in the types that Spark carries."""
    function, schema = encode_columns(table.function, table.schema), encode_schema(table.schema)
    return told(LocalEngine(1).run(Job(function, schema, table.work)), schema)


def told(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> list[str]:
    """Rows as text, in one order whatever made them.

    Python's dates end where Spark's go on: where a row has one, Arrow says what it is.
    """
    table = pa.Table.from_batches(list(batches), schema)
    try:
        return sorted(map(repr, table.to_pylist()))
    except (OverflowError, ValueError):
        return sorted(str(table.slice(i, 1).to_string(preview_cols=999)) for i in range(len(table)))


def collected(frame: Any, schema: pa.Schema) -> list[pa.RecordBatch]:
    """What Spark computes of a DataFrame, as the types that carry those of a table."""
    from pyspark.sql.pandas.types import from_arrow_schema

    target = encode_schema(schema)
    if hasattr(frame, "toArrow"):  # since 4.0
        batches = frame.toArrow().to_batches()
    else:
        bytes_of = frame.mapInArrow(to_ipc, from_arrow_schema(IPC_SCHEMA))
        batches = list(from_ipc(row[0] for row in bytes_of.collect()))
    return [
        record_batch(target, dict(zip(target.names, batch.columns, strict=True)), len(batch))
        for batch in batches
    ]


def as_arrow(frame: Any, schema: pa.Schema) -> list[str]:
    """The rows of a DataFrame that Spark computes, as :func:`told`.

    Args:
        frame: the DataFrame.
        schema: of the table; Spark is to have encoded its types.
    """
    return told(collected(frame, schema), encode_schema(schema))


class Together:
    """Tables of different schemas as one, so that one job of Spark computes them all.

    Attributes:
        schema: a struct for each table, of which each row has one.
        work: that of all.
    """

    def __init__(self, tables: Sequence[TablePlan]) -> None:
        self._functions = attributes(tables, "function")
        structs = [pa.struct(list(table.schema)) for table in tables]
        self.schema = pa.schema([(f"t{i}", struct) for i, struct in enumerate(structs)])
        self.work = tuple(
            Work(json.dumps([i, item.spec]), item.weight)
            for i, table in enumerate(tables)
            for item in table.work
        )

    def function(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of each task in the column of its table."""
        for batch in batches:
            for spec in batch.column("spec").to_pylist():
                number, inner = json.loads(str(spec))
                task = batch_of(TASKS, [{"task_id": 0, "spec": inner}])
                for item in self._functions[number]([task]):
                    yield self._widened(number, item)

    def _widened(self, number: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns: list[Any] = [pa.nulls(batch.num_rows, item.type) for item in self.schema]
        columns[number] = pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)
