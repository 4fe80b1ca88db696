"""``history``: the life of one key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import pyarrow as pa

from inspector.analyses.shared import options as o
from inspector.analyses.shared import stores
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Subject
from inspector.analyses.shared.opening import Listings, Opened
from inspector.analyses.shared.options import Option, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.words import EventRow, change_rows
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.placement import partition_count
from inspector.exceptions import CheckpointError
from inspector.light_dataclasses import replace
from inspector.model import NO_TIMEOUT, Redact
from inspector.operators.rule import Clock
from inspector.providers.chain import restorable_versions
from inspector.render import tabular as t
from inspector.render.report import Report
from inspector.schemas import CHANGES
from inspector.state.events import WORDS, Event
from inspector.sums import group_by

# note of the report that explains the names of the events
HISTORY_NOTE = (
    "insert: the key was absent; update: it was there; same_value: put again with the value it "
    "had; put: what was there before is unknown; removal; absent_removal: nothing was there; "
    "in_snapshot: the value that the oldest snapshot holds, written in its batch or before."
)


class HistoryRow(
    t.Row, table="history", empty="no restorable version contains or contained this key"
):
    """A put or a removal of the key."""

    version: t.Version
    batch_id: Annotated[t.BatchId, t.Rank(1)]
    committed: Annotated[t.Flag, "Whether the batch's commit is in the log."]
    operator_id: Annotated[t.OperatorId, t.Rank(8)]
    operator_name: t.OperatorName | None
    store_name: Annotated[t.StoreName, t.Rank(7)]
    partition_id: t.PartitionId
    event: Annotated[
        t.Text,
        f"What the record did: {t.EVENTS}, `in_snapshot` (value in the oldest snapshot, put by "
        "then).",
        t.Rank(2),
    ]
    key: Annotated[t.KeyJson, t.Rank(3)]
    value: Annotated[t.ValueJson, t.Rank(4)]
    key_bytes: t.KeyBytes
    old_value_bytes: t.OldValueBytes
    value_bytes: t.ValueBytes
    timeout_ms: Annotated[
        t.TimeMs | None, "The time of the timer that the put set; null if it set none.", t.Rank(5)
    ]
    watermark_ms: Annotated[t.WatermarkMs | None, t.Rank(6)]
    batch_timestamp_ms: Annotated[t.BatchTimestampMs | None, t.Rank(9)]
    record: Annotated[
        t.Id,
        "The record's number in its file; null for a removal known only from two snapshots.",
    ]
    file: Annotated[t.Text, "The file that holds the record."]
    key_hex: Annotated[t.KeyHex | None, t.RAW] = None
    value_hex: Annotated[t.ValueHex | None, t.RAW] = None


# error of the command if neither ``--key`` nor ``--where`` is given
_NO_KEY = "use --key user=a, or the sha256:... of a redacted key"


@analysis(
    uses=(o.KEYS, o.redacting(Redact.NONE), o.MEMORY, o.STATE),
    tables=(HistoryRow,),
    check=lambda parsed: None if parsed["key"] or parsed["where"] else _NO_KEY,
)
def history(
    path: str | Opened,
    options: Options | None = None,
    *,
    uncommitted: Annotated[
        bool, Option("Also read versions whose batch was not committed.")
    ] = False,
    raw: Annotated[bool, o.RAW] = False,
    limit: Annotated[int, o.LIMIT] = 0,
) -> Report:
    """Every put and removal of a key, with the clocks of its batch.

    It needs --key or --where. A key of several fields is named by ``--key user=a --key day=3``, or
    as JSON. All stores are searched, unless --operator or --store names one. It goes from the
    oldest restorable version up to --batch; of a key that is older, the first event is ``put`` or
    ``in_snapshot``. No option sets the first batch. Versions that a missing or damaged delta hides
    are left out (exit code 4). --limit keeps the newest changes. --wide also prints the batch's
    watermark and processing time. If no version has the key, the table is empty and the exit code
    0.

    Raises:
        CheckpointError: no key is given, or it fits no store.
    """
    started = run = Run.start(path, options)
    if not (run.options.keys or run.options.where):
        raise CheckpointError("give a key with --key or --where")

    def changes() -> Iterator[pa.RecordBatch]:
        """Return the changes of the key up to the chosen version, or the newest without commit."""
        nonlocal run
        newest = max(started.checkpoint.versions_without_commit, default=0) if uncommitted else 0
        run = started
        if newest > run.version:
            run = replace(run, version=newest, listings=Listings())
        return stores.change_batches(run, stores.selected_tasks(run), bases=True)

    batches = stores.hold_batches(CHANGES, changes, started.begin_anew)
    subject, ambiguous = run.subject(), list[str]()
    watched = stores.HashedKeys(run.options, ambiguous).watch(batches)
    result = list(change_rows(subject, watched, subject.redact, raw=raw))
    report = history_report(subject, result, limit, raw=raw)
    return replace(report, notes=(*ambiguous, *report.notes))


def history_report(
    subject: Subject, rows: Sequence[EventRow], limit: int = 0, *, raw: bool = False
) -> Report:
    """Return the report on the changes of the requested keys, oldest version first.

    ``rows`` are the changes, in any order. A ``limit`` keeps that number of newest changes; 0 keeps
    all. ``raw`` adds columns with the bytes in hex.
    """
    checkpoint = subject.checkpoint
    dated = [_history_row(checkpoint, row) for row in sorted(rows, key=_order)]
    listed = dated[-limit:] if limit else dated
    # What was before the oldest version that a store can restore, is not known.
    oldest = (restorable_versions(files)[:1] for files in checkpoint.store_files.values())
    summary = {
        "oldest_version": min(
            (v for clocks in oldest for v in clocks if v <= subject.version), default=None
        ),
        "keys": len({_identity(row) for row in dated}),
        "partitions": sorted({row.partition_id for row in dated}),
        "events": len(dated),
    }
    part = f", the newest {len(listed)} of {len(dated)}" if len(listed) < len(dated) else ""
    columns = HistoryRow.columns(raw=raw and bool(dated))
    table = HistoryRow.table(f"changes of the key, oldest first{part}", listed, columns=columns)
    table = table.with_wide(*_wide(dated))
    notes = [*_partition_notes(checkpoint, dated), *([HISTORY_NOTE] if dated else [])]
    return subject.report("history", (table,), summary, notes=notes)


def _order(row: EventRow) -> tuple[Any, ...]:
    """Return the sort key of a change, for an order by version.

    Within a version, values in snapshots come after all other changes. The further keys are
    operator, store, partition, and the number of the record in its file. Changes without a record
    come last in their partition.
    """
    group = (row.operator_id, row.store_name, row.partition_id)
    # A removal that a comparison of snapshots shows is no record, and comes after those.
    record = (row.record is None, row.record or 0)
    # The value in a snapshot comes behind what the delta of the same version did.
    return (row.version, row.event == WORDS[Event.IN_SNAPSHOT], *group, record)


def _history_row(checkpoint: Checkpoint, row: EventRow) -> HistoryRow:
    """Return a change as a table row, with the clocks of its batch."""
    clock = checkpoint.clock(row.version)
    return HistoryRow(
        **vars(row),
        committed=row.version <= checkpoint.newest_version,
        timeout_ms=_timeout(checkpoint, row),
        watermark_ms=clock.watermark_ms or None if clock else None,
        batch_timestamp_ms=clock.timestamp_ms if clock else None,
    )


def _timeout(checkpoint: Checkpoint, row: EventRow) -> int | None:
    """Return the timer that a change of group state set, in epoch ms, from the decoded value.

    None if the decoded value has no timer, and for other kinds of state.
    """
    operator = next(o for o in checkpoint.operators if o.operator_id == row.operator_id)
    rule, value = operator.rules.get(row.store_name), row.value
    if rule is None or rule.expiry is None or rule.expiry.clock is not Clock.TIMEOUT:
        return None
    timer = value.get(rule.expiry.name) if isinstance(value, dict) else None
    return timer if isinstance(timer, int) and timer != NO_TIMEOUT else None


def _identity(row: HistoryRow) -> tuple[Any, ...]:
    """Return operator id, store name and key as text, which identify the key of a change.

    The key is in hex if the row has its bytes in hex, and else its decoded form.
    """
    return (row.operator_id, row.store_name, str(row.key_hex or row.key))


def _partition_notes(checkpoint: Checkpoint, dated: Sequence[HistoryRow]) -> Iterator[str]:
    """Yield a sentence for each key that has changes in several partitions, which is a fault.

    Changes from before and after a repartitioning are not compared. ``dated`` are the changes.
    """
    groups = group_by(
        dated, lambda row: (partition_count(checkpoint, row.version), *_identity(row))
    )
    for (_, operator, store, key), events in groups.items():
        partitions = sorted({row.partition_id for row in events})
        if len(partitions) > 1:
            yield (
                f"operator {operator}, store {store}: the key {key} lies in the partitions "
                f"{', '.join(map(str, partitions))}; Spark looks for a key in one partition only"
            )


def _wide(dated: Sequence[HistoryRow]) -> set[str]:
    """Return the names of the columns that the table leaves out where it is shown as text.

    Some are always left out. Others are left out if their value is the same in all rows ``dated``.
    """
    always = {"operator_name", "file", "record", "key_bytes", "old_value_bytes"}
    constant = ("key", "operator_id", "store_name", "partition_id", "committed", "timeout_ms")
    return always | {n for n in constant if len({str(getattr(row, n)) for row in dated}) < 2}
