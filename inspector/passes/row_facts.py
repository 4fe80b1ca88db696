"""Facts for which the live rows of the judged version are read: bytes by field, flags of joins.

The map that a pass keeps has no values any more, so these rows are read from the files, block by
block. The facts add up over the partitions of a store.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from inspector.decode.field_sizes import RowBytes, measure_rows
from inspector.decode.flags import count_flags
from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.fact import Observed
from inspector.facts.joins import MatchedRows
from inspector.facts.row_bytes import FieldSizes
from inspector.operators.join import VALUE_STORES, matched_field
from inspector.operators.rule import RowPart
from inspector.passes.live_rows import live_rows
from inspector.passes.store_reader import StoreReader
from inspector.passes.tracked import schemas
from inspector.schemas import spans_of


def emit_fields(task: Task, store: StoreTask, reader: StoreReader) -> Iterator[Observed[Any]]:
    """Where the bytes of the keys and of the values are.

    Of a store without a schema there is no fact; its files are read all the same, and problems stay
    with ``reader``.
    """
    both = zip((RowPart.KEY, RowPart.VALUE), schemas(store), strict=True)
    known = {side: schema for side, schema in both if schema is not None}
    found = {side: RowBytes.none(schema) for side, schema in known.items()}
    for batch in live_rows(task, store, reader):
        for side, schema in known.items():
            found[side] += measure_rows(schema, *spans_of(batch.column(side.value)))
    for side, measured in found.items():
        yield Observed(reader.store, task.version, FieldSizes(side, measured))


def emit_matched(task: Task, store: StoreTask, reader: StoreReader) -> Iterator[Observed[Any]]:
    """How many rows of a join's side have found a partner.

    Only where the rows have the flag (state format 2). Problems stay with ``reader``; the pass over
    the same files has reported them.
    """
    _, value = schemas(store) if store.store_name in VALUE_STORES else (None, None)
    ordinal = None if value is None else matched_field(value)
    if value is None or ordinal is None:
        return
    counts = np.zeros(2, np.int64)
    for batch in live_rows(task, store, reader):
        counts += count_flags(value, ordinal, *spans_of(batch.column("value")))
    yield Observed(reader.store, task.version, MatchedRows(int(counts[0]), int(counts[1])))
