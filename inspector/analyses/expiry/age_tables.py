"""Tables about the age of rows: when they were last put, how far joins reach back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from inspector.analyses.shared.common import store_ids
from inspector.analyses.shared.judged import Judged
from inspector.discovery.checkpoint import Checkpoint, state_file_bytes
from inspector.facts.ages import BEFORE, Ages
from inspector.facts.join_counters import JoinCheck, MatchedRows
from inspector.facts.join_times import RowsTimedByKey
from inspector.facts.leftover_facts import LeftoverAge
from inspector.findings.rule_inputs import retention
from inspector.model import StoreName
from inspector.operators.join import VALUE_STORES
from inspector.render import tabular as t
from inspector.sums import group_by

_BUCKETS = ((0, "this batch"), (9, "1-9 batches"), (99, "10-99 batches"), (10**18, "100 and more"))
BEFORE_WINDOW = "before the oldest version"
AGE_WORDS = (*(word for _, word in _BUCKETS), BEFORE_WINDOW)
"""What ages are called, the youngest first."""


class AgeRow(t.StoreRow, table="ages", empty="no store has rows of this version"):
    """Live rows of one store, by how long ago they were last put."""

    last_put: Annotated[
        t.Text,
        "How many batches ago the rows were last put, counted from the judged one.",
        t.Rank(1),
    ]
    from_ms: Annotated[
        t.TimeMs | None, "The processing time of the first batch that is counted here."
    ]
    to_ms: Annotated[t.TimeMs | None, "The processing time of the last batch that is counted here."]
    rows: Annotated[t.Rows, t.Rank(2)]
    row_bytes: Annotated[t.RowBytes, t.Rank(12)]
    share: Annotated[t.Share | None, "Their part of the store's row bytes.", t.Rank(11)]


class LeftoverAgeRow(t.StoreRow, table="leftover_ages"):
    """Leftovers of one class in one store, by how long ago they expired."""

    store_name: Annotated[t.StoreName, t.WIDE]
    class_: Annotated[t.LeftoverClassName, t.Rank(3)]
    expired: Annotated[
        t.Text, "How many batches ago the keys expired, counted from the judged one.", t.Rank(1)
    ]
    keys: Annotated[t.Keys, t.Rank(2)]
    row_bytes: Annotated[t.RowBytes, t.Rank(4)]


class RetentionRow(t.StoreRow, table="retention"):
    """How far behind the watermark the rows of one side of a join reach."""

    versions: Annotated[t.Count, "Number of state versions that were compared."]
    watermark_from_ms: Annotated[
        t.TimeMs | None, "The lowest watermark of the versions that were compared."
    ]
    watermark_to_ms: Annotated[
        t.TimeMs | None, "The highest watermark of the versions that were compared."
    ]
    oldest_behind_ms: Annotated[
        t.DurationMs | None,
        "How far behind the watermark the oldest row of any version lay.",
        t.Rank(11),
    ]
    newest_version_behind_ms: Annotated[
        t.DurationMs | None,
        "How far behind it the oldest row of the newest version lies.",
        t.Rank(12),
    ]
    removed_rows: Annotated[t.Count, "Rows that these versions removed, together."]
    rows: Annotated[t.Count | None, "Live rows of the newest version.", t.Rank(13)]
    rows_timed_by_key: Annotated[t.Count | None, "Rows whose time is a field of their key."]
    matched_rows: Annotated[t.Count | None, "Rows that have found a partner."]
    unmatched_rows: Annotated[t.Count | None, "Rows that have found none.", t.Rank(14)]


class DiskShares:
    """What some rows take of the state files, as their share of all row bytes: an estimate."""

    def __init__(self, judged: Judged) -> None:
        self._files = state_file_bytes(judged.checkpoint)
        self._rows = sum(ages.total[1] for ages in judged.facts.sums(Ages).values())

    def bytes_of(self, row_bytes: int) -> int | None:
        """File bytes behind so many row bytes."""
        return round(self._files * row_bytes / self._rows) if self._rows else None


def proof_window(judged: Judged) -> dict[str, Any]:
    """From which batch on it can be said what happened to every key.

    It begins where the oldest change is known in every partition, and the offset log still has the
    batch's clocks.
    """
    checkpoint = judged.checkpoint
    result = [ages.first_known - 1 for ages in judged.facts.sums(Ages).values()]
    if not result:
        return {}
    logged = min(
        (batch for batch, c in checkpoint.logs.clocks.items() if c.timestamp_ms), default=0
    )
    first = max(*result, logged) if len(result) > 1 else max(result[0], logged)
    clock = checkpoint.clock(first + 1)
    return {
        "proof_from_batch": first,
        "proof_from_ms": None if clock is None else clock.timestamp_ms,
    }


def age_table(judged: Judged) -> t.Table:
    """Live rows by how long ago they were last put, store by store."""
    return AgeRow.table(
        "age of the live rows, in batches before the judged one",
        [
            row
            for name, ages in sorted(judged.facts.sums(Ages).items())
            for row in _age_rows(judged, name, ages)
        ],
    )


def _age_rows(judged: Judged, name: StoreName, ages: Ages) -> Iterator[AgeRow]:
    checkpoint, version = judged.checkpoint, judged.version
    _, total = ages.total
    puts = sorted(ages.rows, reverse=True)
    for bucket, versions in group_by(puts, lambda put: _bucket(version, put)).items():
        weight = sum(ages.bytes[put] for put in versions)
        base = [ages.window_version] if versions == [BEFORE] else versions
        yield AgeRow(
            **store_ids(checkpoint, name),
            last_put=bucket,
            from_ms=None if versions == [BEFORE] else _time(checkpoint, min(base)),
            to_ms=_time(checkpoint, max(base)),
            rows=sum(ages.rows[put] for put in versions),
            row_bytes=weight,
            share=weight / total if total else None,
        )


def _bucket(version: int, put: int) -> str:
    if put == BEFORE:
        return BEFORE_WINDOW
    return next(word for most, word in _BUCKETS if version - put <= most)


def _time(checkpoint: Checkpoint, version: int) -> int | None:
    clock = checkpoint.clock(version)
    return None if clock is None else clock.timestamp_ms


def leftover_ages(judged: Judged) -> t.Table:
    """Leftovers by class and by how long ago they expired."""
    version = judged.version
    groups: dict[tuple[Any, ...], list[LeftoverAge]] = {}
    for observation in judged.facts.leftover_ages:
        expired = BEFORE if observation.fact.before_window else observation.fact.expired_version
        group = (*observation.store.name, observation.fact.leftover_class.value)
        order = 10**18 if expired == BEFORE else version - expired
        bucket = next(i for i, (most, _) in enumerate(_BUCKETS) if order <= most)
        groups.setdefault((*group, bucket, _bucket(version, expired)), []).append(observation.fact)
    return LeftoverAgeRow.table(
        "leftovers by age, in batches before the judged one",
        [
            LeftoverAgeRow(
                **store_ids(judged.checkpoint, position[:2]),
                class_=position[2],
                expired=position[4],
                keys=sum(fact.rows for fact in facts),
                row_bytes=sum(fact.row_bytes for fact in facts),
            )
            for position, facts in sorted(groups.items())
        ],
    )


def retention_tables(judged: Judged) -> list[t.Table]:
    """How far behind the watermark each side of a join was seen to reach, if there is a join.

    So too what lies below it, whose own watermark is not known.
    """
    retention = judged.facts.retention
    sides = all(store in VALUE_STORES for _, store in retention)
    rows = [_retention_row(judged, name) for name in sorted(retention)]
    if not rows:
        return []
    return [
        RetentionRow.table(
            "how far behind the watermark the rows of a join's sides"
            f"{'' if sides else ', and of operators below,'} reach",
            rows,
        )
    ]


def _retention_row(judged: Judged, name: StoreName) -> RetentionRow:
    checkpoint, facts = judged.checkpoint, judged.facts
    reach = retention(checkpoint, facts, name, judged.version)
    behind, watermarks = reach.behind_ms, reach.watermarks.values()
    timed = facts.sums(RowsTimedByKey).get(name)
    matched, check = facts.sums(MatchedRows).get(name), facts.sums(JoinCheck).get(name)
    return RetentionRow(
        matched_rows=None if matched is None else matched.matched,
        unmatched_rows=None if matched is None else matched.unmatched,
        **store_ids(checkpoint, name),
        versions=len(behind),
        watermark_from_ms=min(watermarks, default=None),
        watermark_to_ms=max(watermarks, default=None),
        oldest_behind_ms=reach.most_ms,
        newest_version_behind_ms=behind[max(behind)] if behind else None,
        removed_rows=reach.removed,
        rows=None if check is None else check.rows,
        rows_timed_by_key=None if timed is None else timed.rows,
    )
