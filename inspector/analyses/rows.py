"""``rows``: the live rows of a version, as a table that is read while it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa

from inspector.analyses.shared.common import (
    BATCH_ID,
    PARTITION_ID,
    STORE,
    VERSION,
    identity,
    operator_names,
    size,
)
from inspector.analyses.shared.declare import Option, TableSpec, analysis
from inspector.analyses.shared.options import (
    AT_VERSION,
    KEYS,
    LIMIT,
    PART,
    SCHEMAS,
    Options,
    redacting,
)
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.store_tables import store_table
from inspector.analyses.shared.stores import live_batches, selected_tasks
from inspector.analyses.shared.words import StoreWords, row_chunks
from inspector.discovery.checkpoint import Checkpoint
from inspector.model import Problem, StoreName
from inspector.render.keys import Redact
from inspector.render.report import Column, Report, Unit

ROWS = TableSpec(
    "rows",
    "a live row",
    (
        *STORE,
        PARTITION_ID,
        VERSION,
        BATCH_ID,
        Column("key", Unit.VALUE),
        Column("value", Unit.VALUE),
        size("key_bytes"),
        size("value_bytes"),
    ),
    raw=(Column("key_hex"), Column("value_hex")),
    wide=frozenset(("operator_name", "version", "batch_id")),
)
ROWS_DATA = store_table(
    "rows",
    "The live rows of one store at one version; ``key`` and ``value`` are structs.",
    changes=False,
)


@dataclass(frozen=True)
class RowsRequest:
    """How many rows (0 for all), whether with their bytes in hex, what to hide; of all keys?"""

    limit: int = 0
    raw: bool = False
    redact: Redact = Redact.NONE
    some_keys: bool = False


@analysis(
    uses=(KEYS, redacting(Redact.NONE), SCHEMAS, PART, AT_VERSION),
    tables=(ROWS,),
    data_tables=(ROWS_DATA,),
)
def rows(
    path: str | Run,
    options: Options | None = None,
    *,
    raw: Annotated[bool, Option("Add key_hex and value_hex: the UnsafeRow bytes.")] = False,
    limit: Annotated[int, LIMIT] = 0,
) -> Report:
    """The live rows of a version, decoded by the state schema.

    Args:
        path: the checkpoint.
        options: which part and version; ``key`` and ``where`` narrow the keys.
        raw: with their bytes in hex.
        limit: rows at most; 0 for all.

    Returns:
        A report whose rows are read while it is written; its problems are complete when they have
        been read to the end.
    """
    run = Run.start(path, options)
    redact = run.options.redact or Redact.NONE
    return rows_report(
        run.checkpoint,
        run.version,
        live_batches(run, selected_tasks(run)),
        list(run.listed),
        RowsRequest(limit, raw, redact, bool(run.options.key or run.options.where)),
    )


def rows_report(
    checkpoint: Checkpoint,
    version: int,
    batches: Iterable[pa.RecordBatch],
    problems: list[Problem],
    request: RowsRequest,
) -> Report:
    """The rows in ``batches`` (:data:`inspector.schemas.ROWS`); problems go to ``problems``."""
    table = ROWS.table(
        f"rows of version {version}",
        _rows(checkpoint, batches, problems, request),
        columns=ROWS.with_raw(raw=request.raw),
        empty=f"this version has no {'such row' if request.some_keys else 'rows'}",
    )
    return Report(
        "rows", checkpoint.root, identity(checkpoint, version), (table,), problems=problems
    )


def _rows(
    checkpoint: Checkpoint,
    batches: Iterable[pa.RecordBatch],
    problems: list[Problem],
    request: RowsRequest,
) -> Iterator[dict[str, Any]]:
    names = operator_names(checkpoint)
    words = StoreWords(checkpoint, request.redact)
    left = request.limit
    for chunk in row_chunks(batches, problems):
        for row in _decoded(chunk, names, words, raw=request.raw):
            yield row
            if request.limit:
                left -= 1
                if not left:
                    return


def _decoded(
    chunk: Sequence[Mapping[str, Any]], names: Mapping[int, str], words: StoreWords, *, raw: bool
) -> Iterator[dict[str, Any]]:
    """The rows of one store as they are reported."""
    place = StoreName(chunk[0]["operator_id"], chunk[0]["store_name"])
    keys = words.keys(place, [row["key"] for row in chunk])
    values = words.values(place, [row["value"] for row in chunk])
    for row, key, value in zip(chunk, keys, values, strict=True):
        reported = {
            "operator_id": row["operator_id"],
            "operator_name": names.get(row["operator_id"]),
            "store_name": row["store_name"],
            "partition_id": row["partition_id"],
            "version": row["version"],
            "batch_id": row["version"] - 1,
            "key": key,
            "value": value,
            "key_bytes": len(row["key"]),
            "value_bytes": len(row["value"]),
        }
        if raw:
            reported["key_hex"] = words.hex(row["key"])
            reported["value_hex"] = words.hex(row["value"])
        yield reported
