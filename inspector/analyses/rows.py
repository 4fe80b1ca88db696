"""``rows``: the live rows of a version, as a table that is read while it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

import pyarrow as pa

from inspector.analyses.shared import options as o
from inspector.analyses.shared.common import operator_names
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Subject, vouching_notes
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import Options, View
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import (
    HashedKeys,
    held_batches,
    live_batches,
    selected_tasks,
    store_table,
)
from inspector.analyses.shared.words import StoreWords, row_chunks
from inspector.light_dataclasses import dataclass, field
from inspector.model import Redact, StoreName
from inspector.passes.key_filter import KeyFilter
from inspector.render import tabular as t
from inspector.render.report import Report
from inspector.schemas import ROWS as LIVE_ROWS


class LiveRow(t.PartitionRow, table="rows"):
    """A live row."""

    partition_id: Annotated[t.PartitionId, t.Rank(21)]
    version: Annotated[t.Version, t.WIDE]
    batch_id: Annotated[t.BatchId, t.WIDE]
    key: Annotated[t.KeyJson, t.Rank(1)]
    value: Annotated[t.ValueJson, t.Rank(2)]
    key_bytes: t.KeyBytes
    value_bytes: Annotated[t.ValueBytes, t.Rank(22)]
    key_hex: Annotated[t.KeyHex | None, t.RAW] = None
    value_hex: Annotated[t.ValueHex | None, t.RAW] = None


ROWS_DATA = store_table(
    "rows",
    "The live rows of one store at one version; ``key`` and ``value`` are structs.",
    changes=False,
)


@dataclass(frozen=True)
class RowsRequest:
    """How many rows (0 for all), whether with their bytes in hex, what to hide, of which keys.

    Attributes:
        notes: of the report; may grow while the rows are read.
    """

    limit: int = 0
    raw: bool = False
    redact: Redact = Redact.NONE
    keys: KeyFilter = field(default_factory=KeyFilter)
    notes: Sequence[str] = ()

    @property
    def empty(self) -> str:
        """What to say where there is no row."""
        if not self.keys:
            return "this version has no rows"
        hint = "; inspector history searches older versions too" if self.keys.key else ""
        return f"this version has no matching row{hint}"


@analysis(
    uses=(o.KEYS, o.redacting(Redact.NONE), o.MEMORY, o.SCHEMAS, o.PART, o.AT_VERSION),
    tables=(LiveRow,),
    data_tables=(ROWS_DATA,),
)
def rows(
    path: str | Opened,
    options: Options | None = None,
    *,
    raw: Annotated[
        bool, View("Add the columns key_hex and value_hex with the UnsafeRow bytes.")
    ] = False,
    limit: Annotated[int, o.LIMIT] = 0,
) -> Report:
    """The live rows of a version, decoded by the state schema.

    Args:
        path: the checkpoint.
        options: which part and version; ``key`` and ``where`` narrow the rows.
        raw: with their bytes in hex.
        limit: rows at most; 0 for all.

    Returns:
        A report whose rows are read while it is written; its problems are complete when they have
        been read to the end.
    """
    run = Run.start(path, options)
    redact = run.options.redact or Redact.NONE
    keys = KeyFilter(run.options.keys, run.options.where)
    live = held_batches(
        LIVE_ROWS, lambda: live_batches(run, selected_tasks(run)), run.begin_anew, limit
    )
    subject = run.subject()
    notes = vouching_notes(subject)
    batches = HashedKeys(keys, notes).watch(live)
    request = RowsRequest(limit, raw, redact, keys, notes)
    return rows_report(subject, batches, request)


def rows_report(
    subject: Subject, batches: Iterable[pa.RecordBatch], request: RowsRequest
) -> Report:
    """The rows in ``batches`` (:data:`inspector.schemas.ROWS`); problems go to the subject's."""
    table = LiveRow.table(
        f"rows of version {subject.version}",
        _rows(subject, batches, request),
        columns=LiveRow.columns(raw=request.raw),
        empty=request.empty,
    )
    return subject.report("rows", (table,), notes=request.notes)


def _rows(
    subject: Subject, batches: Iterable[pa.RecordBatch], request: RowsRequest
) -> Iterator[LiveRow]:
    names, problems = operator_names(subject.checkpoint), subject.problems
    words = StoreWords(subject.checkpoint, request.redact)
    left = request.limit or None
    for chunk in row_chunks(batches, problems):
        yield from islice(_live_rows(chunk, names, words, raw=request.raw), left)
        if left is not None:
            left -= min(left, len(chunk))
            if not left:
                break
    problems.extend(words.misfits())


def _live_rows(
    chunk: Sequence[Mapping[str, Any]], names: Mapping[int, str], words: StoreWords, *, raw: bool
) -> Iterator[LiveRow]:
    """The rows of one store as they are reported."""
    store_name = StoreName(chunk[0]["operator_id"], chunk[0]["store_name"])
    keys = words.keys(store_name, [row["key"] for row in chunk])
    values = words.values(store_name, [row["value"] for row in chunk])
    for row, key, value in zip(chunk, keys, values, strict=True):
        yield LiveRow(
            operator_id=row["operator_id"],
            operator_name=names.get(row["operator_id"]),
            store_name=row["store_name"],
            partition_id=row["partition_id"],
            version=row["version"],
            batch_id=row["version"] - 1,
            key=key,
            value=value,
            key_bytes=len(row["key"]),
            value_bytes=len(row["value"]),
            key_hex=words.hex(row["key"]) if raw else None,
            value_hex=words.hex(row["value"]) if raw else None,
        )
