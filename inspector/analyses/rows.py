"""``rows``: the live rows of a version, as a table that is read while it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Annotated

import pyarrow as pa

from inspector.analyses.shared import options as o
from inspector.analyses.shared import stores
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Subject, operator_names, vouching_notes
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.words import StoreWords, decode_live_rows, row_chunks
from inspector.model import Redact
from inspector.passes.key_filter import KeyFilter
from inspector.render import tabular as t
from inspector.render.report import Report
from inspector.schemas import ROWS as LIVE_ROWS


class LiveRow(t.PartitionRow, table="rows", empty="this version has no rows"):
    """A live row."""

    partition_id: Annotated[t.PartitionId, t.Rank(21)]
    version: Annotated[t.Version, t.WIDE]
    batch_id: Annotated[t.BatchId, t.WIDE]
    key: Annotated[t.KeyJson, t.Rank(1)]
    value: Annotated[t.ValueJson, t.Rank(2)]
    key_bytes: t.KeyBytes
    value_bytes: Annotated[t.ValueBytes, t.Rank(22)]
    row_bytes: Annotated[t.Bytes, "Key and value bytes of the row together.", t.WIDE]
    expires_at_ms: Annotated[
        t.TimeMs | None,
        "The watermark or processing time at which the store's rule removes the row; null if none "
        "is known.",
        t.Rank(3),
    ]
    last_put_batch: Annotated[
        t.Id | None,
        "The batch of the last put; null if the snapshot that was read is newer.",
        t.WIDE,
    ]
    key_hex: Annotated[t.KeyHex | None, t.RAW] = None
    value_hex: Annotated[t.ValueHex | None, t.RAW] = None


# table of data, for programs on Spark, with the live rows of one store
ROWS_DATA = stores.store_table(
    "rows",
    "The live rows of one store at one version; ``key`` and ``value`` are structs.",
    changes=False,
)


@analysis(
    uses=(o.KEYS, o.redacting(Redact.NONE), o.MEMORY, o.STATE),
    tables=(LiveRow,),
    data_tables=(ROWS_DATA,),
)
def rows(
    path: str | Opened,
    options: o.Options | None = None,
    *,
    raw: Annotated[bool, o.RAW] = False,
    limit: Annotated[int, o.LIMIT] = 0,
) -> Report:
    """The live rows of a version, decoded by the state schema.

    A live row was put and not removed since, so that expired keys are among them. ``--batch N``
    shows version N + 1, which batch N made. Keys are in no order. ``--key user=a`` chooses a key by
    its column `user`, ``--where 'value.count>10'`` rows by a field of key or value, ``--store
    left`` one side of a join. ``export rows`` writes Parquet. Keys and values are not hashed,
    unless --redact says so. They are null if their store has no schema (Spark 3.0 and older): give
    --key-schema and --value-schema. Rows of partitions with missing or damaged files are left out
    and reported (exit code 4).

    Returns:
        A report whose rows are read while it is written; its problems are complete when they have
        been read to the end.
    """
    return read_rows(Run.start(path, options), limit, raw=raw)


def read_rows(
    run: Run, limit: int = 0, *, raw: bool = False, keys: list[bytes] | None = None
) -> Report:
    """Return the report on the live rows of the run's version; they are read as it is written.

    A ``limit`` other than 0 lists at most that number of rows. ``raw`` adds columns with the bytes
    in hex. The list ``keys``, if given, gets the key bytes of each row, in the order of the rows.
    """
    live = stores.hold_batches(
        LIVE_ROWS,
        lambda: stores.live_batches(run, stores.selected_tasks(run)),
        run.begin_anew,
        limit,
    )
    if keys is not None:
        live = _note_keys(live, keys)
    subject = run.subject()
    notes = vouching_notes(subject)
    batches = stores.HashedKeys(run.options, notes).watch(live)
    return rows_report(subject, batches, limit, raw=raw, notes=notes)


def _note_keys(batches: Iterable[pa.RecordBatch], keys: list[bytes]) -> Iterator[pa.RecordBatch]:
    """Yield the batches unchanged, and add the key bytes of their rows to ``keys``.

    A row without a key adds b"". Batches of problems add nothing.
    """
    for batch in batches:
        if batch.column("kind")[0].as_py() != "problem":
            keys.extend(key or b"" for key in batch.column("key").to_pylist())
        yield batch


def rows_report(
    subject: Subject,
    batches: Iterable[pa.RecordBatch],
    limit: int = 0,
    *,
    raw: bool = False,
    notes: Sequence[str] = (),
) -> Report:
    """Return the report on the rows in ``batches`` (:data:`inspector.schemas.ROWS`).

    Rows are read while the report is written; problems are then added to those of ``subject``, and
    ``notes`` may grow. A ``limit`` other than 0 lists at most that number of rows. ``raw`` adds
    columns with the bytes in hex.
    """
    keys, empty = KeyFilter(subject.options.keys, subject.options.where), None
    if keys:
        hint = "; inspector history searches older versions too" if keys.key else ""
        empty = f"this version has no matching row{hint}"
    table = LiveRow.table(
        f"rows of version {subject.version}",
        _rows(subject, batches, limit, raw=raw),
        columns=LiveRow.columns(raw=raw),
        empty=empty,
    )
    return subject.report("rows", (table,), notes=notes)


def _rows(
    subject: Subject, batches: Iterable[pa.RecordBatch], limit: int, *, raw: bool
) -> Iterator[LiveRow]:
    """Yield the decoded rows in ``batches``, at most ``limit``; 0 yields all.

    Problems of reading and decoding are added to the problems of ``subject``. ``raw`` adds the
    bytes in hex.
    """
    names, problems = operator_names(subject.checkpoint), subject.problems
    words = StoreWords(subject.checkpoint, subject.redact)
    rows = chain.from_iterable(
        decode_live_rows(LiveRow, chunk, names, {"key": words, "value": words}, raw=raw)
        for chunk in row_chunks(batches, problems)
    )
    yield from islice(rows, limit or None)
    problems.extend(words.misfits())
