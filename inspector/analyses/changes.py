"""``history`` and the changes of ``export``: what each record of a delta did to its key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from inspector.analyses.common import (
    BATCH_ID,
    PARTITION_ID,
    STORE,
    VERSION,
    identity,
    operator_names,
    size,
)
from inspector.analyses.words import StoreWords, row_chunks
from inspector.discovery.checkpoint import Checkpoint
from inspector.model import NO_TIMEOUT, Problem, StoreName
from inspector.operators.rule import Clock
from inspector.providers.chain import restorable_versions
from inspector.render.keys import Redact
from inspector.render.report import Column, Report, Table, Unit
from inspector.state.events import Event

_EVENT = (
    Column("event"),
    Column("key", Unit.VALUE),
    Column("value", Unit.VALUE),
    size("key_bytes"),
    size("old_value_bytes"),
    size("value_bytes"),
)
_CHANGES = (*STORE, PARTITION_ID, VERSION, BATCH_ID, *_EVENT)
_HISTORY = (
    VERSION,
    BATCH_ID,
    Column("committed", Unit.FLAG),
    *STORE,
    PARTITION_ID,
    *_EVENT,
    Column("timeout_ms", Unit.TIME_MS),
    Column("watermark_ms", Unit.TIME_MS),
    Column("batch_timestamp_ms", Unit.TIME_MS),
    Column("record", Unit.ID),
    Column("file"),
)
_RAW = (Column("key_hex"), Column("value_hex"))
_FILE_ORDER = {Event.IN_SNAPSHOT.word: 1}
"""What a delta did comes before what the snapshot of the same version holds."""

HISTORY_NOTE = (
    "insert: the key was absent; update: it was there; same_value: put again with the value it "
    "had; put: what was there before is unknown; removal; absent_removal: nothing was there; "
    "in_snapshot: the value that the oldest snapshot holds, written in its batch or before."
)


class ChangeRows:
    """Batches of :data:`inspector.schemas.CHANGES` as rows of a report."""

    def __init__(self, checkpoint: Checkpoint, redact: Redact, *, raw: bool) -> None:
        self._names = operator_names(checkpoint)
        self._words = StoreWords(checkpoint, redact)
        self._raw = raw

    def rows(
        self, batches: Iterable[pa.RecordBatch], problems: list[Problem]
    ) -> Iterator[dict[str, Any]]:
        """Rows in the order of the batches."""
        for chunk in row_chunks(batches, problems):
            yield from self._of_store(chunk)

    def _of_store(self, chunk: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        place = StoreName(chunk[0]["operator_id"], chunk[0]["store_name"])
        keys = self._words.keys(place, [row["key"] for row in chunk])
        values = self._words.values(place, [row["value"] for row in chunk])
        for row, key, value in zip(chunk, keys, values, strict=True):
            told = {
                "operator_id": row["operator_id"],
                "operator_name": self._names.get(row["operator_id"]),
                "store_name": row["store_name"],
                "partition_id": row["partition_id"],
                "version": row["version"],
                "batch_id": row["version"] - 1,
                "event": row["event"],
                "key": key,
                "value": value,
                "key_bytes": len(row["key"]),
                "old_value_bytes": row["old_value_bytes"],
                "value_bytes": None if row["value"] is None else len(row["value"]),
                "record": row["record"],
                "file": row["path"],
            }
            if self._raw:
                told["key_hex"] = self._words.hex(row["key"])
                told["value_hex"] = self._words.hex(row["value"])
            yield told


def changes(
    checkpoint: Checkpoint,
    version: int,
    batches: Iterable[pa.RecordBatch],
    problems: list[Problem],
    *,
    raw: bool = False,
) -> Report:
    """Every record of every delta that can be replayed, store by store, oldest first."""
    table = Table(
        "changes",
        f"changes up to version {version}",
        (*_CHANGES, *(_RAW if raw else ())),
        ChangeRows(checkpoint, Redact.NONE, raw=raw).rows(batches, problems),
        empty="no delta in reach holds a record",
    )
    return Report(
        "changes", checkpoint.root, identity(checkpoint, version), (table,), problems=problems
    )


def history(
    checkpoint: Checkpoint,
    version: int,
    rows: Sequence[Mapping[str, Any]],
    problems: list[Problem],
    limit: int = 0,
) -> Report:
    """The life of the keys that were looked for, oldest version first.

    Args:
        checkpoint: what was read.
        version: the newest that was.
        rows: of :class:`ChangeRows`.
        problems: what could not be read.
        limit: rows shown at most, the newest; 0 for all.
    """
    told = [_dated(checkpoint, row) for row in sorted(rows, key=_order)]
    listed = told[-limit:] if limit else told
    partitions = sorted({row["partition_id"] for row in told})
    summary = identity(checkpoint, version) | {
        "oldest_version": _oldest(checkpoint, version),
        "keys": len({_identity(row) for row in told}),
        "partitions": ", ".join(map(str, partitions)) or "none",
        "events": len(told),
    }
    more = f", the newest {len(listed)} of {len(told)}" if len(listed) < len(told) else ""
    raw = _RAW if any("key_hex" in row for row in told) else ()
    table = Table(
        "history",
        f"history{more}",
        (*_HISTORY, *raw),
        listed,
        empty="no version that can be restored has, or had, such a key",
        wide=_wide(told),
    )
    notes = [*_scattered(told), *([HISTORY_NOTE] if told else [])]
    return Report("history", checkpoint.root, summary, (table,), problems=problems, notes=notes)


def _oldest(checkpoint: Checkpoint, version: int) -> int | None:
    """The oldest version that a store can restore: nothing is known of what was before."""
    oldest = (restorable_versions(files)[:1] for files in checkpoint.store_files.values())
    return min((found[0] for found in oldest if found and found[0] <= version), default=None)


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    place = (row["operator_id"], row["store_name"], row["partition_id"])
    return (row["version"], _FILE_ORDER.get(row["event"], 0), *place, row["record"])


def _dated(checkpoint: Checkpoint, row: Mapping[str, Any]) -> dict[str, Any]:
    clock = checkpoint.clock(row["version"])
    return dict(row) | {
        "committed": row["version"] <= checkpoint.newest_version,
        "timeout_ms": _timeout(checkpoint, row),
        "watermark_ms": clock.watermark_ms or None if clock else None,
        "batch_timestamp_ms": clock.timestamp_ms if clock else None,
    }


def _timeout(checkpoint: Checkpoint, row: Mapping[str, Any]) -> int | None:
    """The timer of a group state; None where it has none, or none is armed."""
    operator = next(o for o in checkpoint.operators if o.operator_id == row["operator_id"])
    rule = operator.rules.get(row["store_name"])
    value = row["value"]
    if rule is None or rule.expiry is None or rule.expiry.clock is not Clock.TIMEOUT:
        return None
    timer = value.get(rule.expiry.name) if isinstance(value, dict) else None
    return timer if isinstance(timer, int) and timer != NO_TIMEOUT else None


def _identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (row["operator_id"], row["store_name"], str(row.get("key_hex") or row["key"]))


def _scattered(told: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Keys that lie in more than one partition: each belongs in one."""
    partitions: dict[tuple[Any, ...], set[int]] = {}
    for row in told:
        partitions.setdefault(_identity(row), set()).add(row["partition_id"])
    for (operator, store, key), found in partitions.items():
        if len(found) > 1:
            names = ", ".join(map(str, sorted(found)))
            yield (
                f"operator {operator}, store {store}: the key {key} lies in the partitions "
                f"{names}; Spark looks for a key in one partition only"
            )


def _wide(told: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """What a table for people leaves out: what is the same in every line, or told elsewhere."""
    always = {"operator_name", "file", "record", "key_bytes", "old_value_bytes"}
    same = ("key", "operator_id", "store_name", "partition_id", "committed", "timeout_ms")
    return frozenset(always | {n for n in same if len({str(row[n]) for row in told}) < 2})
