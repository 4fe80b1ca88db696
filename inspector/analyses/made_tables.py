"""Tables of data that the driver has made: files, findings, problems; dealt out as tasks are."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from inspector.analyses.common import BATCH_ID, PARTITION_ID, STORE, VERSION, size
from inspector.discovery.checkpoint import Checkpoint
from inspector.render.as_arrow import columns_of, record_batch_of
from inspector.render.plain import FINDING_COLUMNS, PROBLEM_COLUMNS
from inspector.render.report import Column, Unit

FILE_COLUMNS = (
    *STORE,
    PARTITION_ID,
    VERSION,
    BATCH_ID,
    Column("kind"),
    Column("path"),
    size("bytes"),
    Column("modified_ms", Unit.TIME_MS),
)

MADE: Mapping[str, Sequence[Column]] = {
    "files": FILE_COLUMNS,
    "findings": FINDING_COLUMNS,
    "problems": PROBLEM_COLUMNS,
}
"""Table -> its columns."""

_ROWS = 1 << 14
"""Rows of one task."""


def made_schema(table: str) -> pa.Schema:
    """The columns of :func:`run_made`."""
    return pa.schema(columns_of(MADE[table]))


def made_specs(table: str, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Rows as tasks that need only be opened."""
    listed, schema = list(rows), made_schema(table)
    return [
        made_spec(record_batch_of(schema, MADE[table], listed[start : start + _ROWS]))
        for start in range(0, len(listed), _ROWS)
    ]


def made_spec(batch: pa.RecordBatch) -> str:
    """A batch as such a task: an Arrow stream in base64."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def run_made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of such tasks; the form of :func:`inspector.passes.run.run_tasks`."""
    for batch in batches:
        for spec in batch.column("spec").to_pylist():
            yield from pa.ipc.open_stream(base64.b64decode(str(spec)))


def file_rows(checkpoint: Checkpoint) -> Iterator[dict[str, Any]]:
    """Every file in the folders of the selected stores."""
    for operator in checkpoint.operators:
        for layout in operator.layout.stores:
            for file in layout.files:
                yield {
                    "operator_id": operator.operator_id,
                    "operator_name": operator.name,
                    "store_name": layout.store.store_name,
                    "partition_id": layout.store.partition_id,
                    "version": file.version,
                    "batch_id": None if file.version is None else file.version - 1,
                    "kind": file.kind.value,
                    "path": file.path,
                    "bytes": file.size,
                    "modified_ms": file.modified_ms,
                }
