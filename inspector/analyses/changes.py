"""``changes``: every record of every delta, with what it did to its key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import pyarrow as pa

from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Subject
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import KEYS, RAW, STATE, Option, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import HashedKeys, change_batches, selected_tasks, store_table
from inspector.analyses.shared.words import ChangeRow, change_rows
from inspector.light_dataclasses import replace
from inspector.model import Redact
from inspector.render.report import Report

# table of data, for programs on Spark, with every record of one store's deltas
CHANGES_DATA = store_table(
    "changes",
    "Every record of one store's deltas: what it did, its value and the one that it replaced.",
    changes=True,
)


@analysis(
    uses=(KEYS, STATE),
    tables=(ChangeRow,),
    data_tables=(CHANGES_DATA,),
    command=False,  # export writes them
)
def changes(
    path: str | Opened,
    options: Options | None = None,
    *,
    from_batch: Annotated[
        int,
        Option(
            "Skip changes before this batch; the number of the last batch shows it alone.",
            minimum=0,
        ),
    ] = 0,
    raw: Annotated[bool, RAW] = False,
) -> Report:
    """Every record of every delta that can be replayed, with what it did to its key.

    The report lists them by store and partition, oldest version first, up to the last committed
    batch or ``batch``. Deltas that Spark has deleted are missing; the report's ``complete`` stays
    true. After a damaged delta, or one missing between others, the records of its partition up to
    the next snapshot are left out: ``complete`` is false, and its ``problems`` name the file. In a
    call the options below are the keywords ``from_batch`` and ``raw``; shared options are fields of
    ``Options``: ``operator_id``, ``store_name``, ``partition_id``. The command for this table is
    ``inspector export changes PATH -O changes.parquet``, which writes a file. The DataFrame, and
    ``inspector sql``, also have ``old_value``.
    """
    run = Run.start(path, options)
    notes: list[str] = []
    batches = change_batches(run, selected_tasks(run), first_version=from_batch + 1)
    watched = HashedKeys(run.options, notes).watch(batches)
    return replace(changes_report(run.subject(), watched, raw=raw), notes=notes)


def changes_report(
    subject: Subject, batches: Iterable[pa.RecordBatch], *, raw: bool = False
) -> Report:
    """Return the report that lists the records in ``batches``, in their order, decoded.

    The batches have the schema :data:`inspector.schemas.CHANGES`. They are read while the report is
    written; problems are then added to those of ``subject``. ``raw`` adds columns with the bytes in
    hex. Keys and values are not redacted.
    """
    rows, columns = change_rows(subject, batches, Redact.NONE, raw=raw), ChangeRow.columns(raw=raw)
    table = ChangeRow.table(f"changes up to version {subject.version}", rows, columns=columns)
    return subject.report("changes", (table,))
