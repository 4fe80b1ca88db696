"""Which rows of a join have found a partner, from the rows of the judged version."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inspector.api.run import Run
from inspector.decode.flags import count_flags
from inspector.engines.local import stream_tasks
from inspector.operators.join import VALUE_STORES, matched_field
from inspector.pipeline import run_rows
from inspector.pipeline.collect import StoreName
from inspector.pipeline.plan import Wanted, plan
from inspector.schemas import spans_of
from inspector.sparktypes import StructType


def matched_rows(run: Run) -> dict[StoreName, tuple[int, int]]:
    """Rows that have found a partner, and rows that have not, by store of a join.

    Only where the state has the flag (state format 2). A row that cannot be read is no fault here:
    whoever reads the versions tells of it.
    """
    fields: dict[StoreName, tuple[StructType, int]] = {}
    for operator in run.checkpoint.operators:
        for store in VALUE_STORES:
            schema = operator.schemas.get(store)
            ordinal = None if schema is None else matched_field(schema.value)
            if schema is not None and ordinal is not None:
                fields[operator.operator_id, store] = (schema.value, ordinal)
    counts = {name: np.zeros(2, np.int64) for name in fields}
    specs = []
    for task in plan(run.checkpoint, Wanted(run.version)) if run.version else ():
        mine = tuple(s for s in task.stores if (task.operator_id, s.store_name) in fields)
        if mine:
            specs.append(replace(task, stores=mine).to_json())
    for batch in stream_tasks(run_rows, specs):
        name = (batch.column("operator_id")[0].as_py(), batch.column("store_name")[0].as_py())
        if name in fields and batch.column("kind")[0].as_py() == "row":
            counts[name] += count_flags(*fields[name], *spans_of(batch.column("value")))
    return {name: (int(found[0]), int(found[1])) for name, found in counts.items()}
