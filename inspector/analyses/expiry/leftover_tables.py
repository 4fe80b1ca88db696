"""Leftover keys as they are reported, decoded and with the times of their batches; ages of rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from inspector.analyses.shared.judged import Judged, operator_names, store_ids, store_schemas
from inspector.analyses.shared.store_heaps import removal_saving
from inspector.discovery.checkpoint import Checkpoint, state_file_bytes
from inspector.discovery.tasks import Task
from inspector.facts.ages import BEFORE as BEFORE_ALL
from inspector.facts.ages import Ages
from inspector.facts.fact import Observed
from inspector.facts.join_rows import MatchedRows, RowsTimedByKey
from inspector.facts.leftover_facts import Leftover, LeftoverAge, LeftoverCount
from inspector.facts.timed_out import AMONG_DATA, BEFORE, BY_BOTH, HELD_BACK, NO_LOG_ENTRY
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.join_side import JoinSide
from inspector.findings.views.store_expiry import total_of
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.merge.resolution import NEIGHBOURS, UNKNOWN_CLOCK
from inspector.model import BatchClock, Redact, StoreName
from inspector.operators.join import VALUE_STORES
from inspector.render import tabular as t
from inspector.render.plain import fields_of
from inspector.render.values import RowWords
from inspector.sparktypes import StructType
from inspector.sparktypes.schema_json import parse_schema_json
from inspector.sums import group_by


class LeftoverRow(t.PartitionRow, table="leftovers"):
    """An expired key that is still there, with its proof."""

    store_name: Annotated[t.StoreName, t.WIDE]
    key: Annotated[t.KeyJson, t.Rank(1)]
    key_hex: Annotated[t.KeyHex | None, t.WIDE]
    key_bytes: t.KeyBytes
    value_bytes: Annotated[t.ValueBytes, t.Rank(21)]
    row_bytes: Annotated[t.Bytes, "Key bytes and value bytes of the row.", t.WIDE]
    class_: Annotated[t.LeftoverClassName, t.Rank(2)]
    certainty: t.Certainty
    state: Annotated[
        t.Text | None,
        "`untouched`, `changed` or `empty`, by the call for the timeout; null if none fired.",
    ]
    expired_batch: Annotated[t.ExpiredBatch | None, t.Rank(3)]
    expired_version: Annotated[t.Id | None, "The state version of that batch.", t.WIDE]
    first_expired_batch: Annotated[
        t.Id | None,
        "The first batch of those in a row in which its timer fired; else `expired_batch`.",
        t.WIDE,
    ]
    clock_ms: Annotated[t.ClockMs | None, t.Rank(4)]
    threshold_ms: Annotated[t.ThresholdMs | None, t.Rank(5)]
    margin_ms: Annotated[
        t.DurationMs | None,
        "`threshold_ms` less `clock_ms`: how long it had been expired.",
        t.WIDE,
    ]
    fired: Annotated[t.Count | None, "How often the key's timer has fired."]
    last_put_version: Annotated[t.LastPutVersion | None, t.WIDE]
    last_put_batch: Annotated[t.LastPutBatch | None, t.Rank(22)]
    last_put_ms: Annotated[t.TimeMs | None, "The processing time of the last put's batch.", t.WIDE]
    age_ms: Annotated[
        t.DurationMs | None,
        "Processing time from the last put to `--batch`.",
        t.WIDE,
    ]
    puts: Annotated[t.Count, "How often the key was put, over all versions that can be replayed."]
    unchanged_since: Annotated[
        t.Flag, "Whether the key was not put again after it expired.", t.WIDE
    ]
    reason: Annotated[t.Reason | None, t.WIDE]


class LeftoverClassRow(t.StoreRow, table="classes"):
    """Leftovers of one class in one store, with their number."""

    operator_name: t.OperatorName | None
    store_name: Annotated[t.StoreName, t.WIDE]
    class_: Annotated[t.LeftoverClassName, t.Rank(1)]
    certainty: Annotated[t.Certainty, t.Rank(21)]
    keys: Annotated[t.Keys, t.Rank(2)]
    row_bytes: Annotated[t.RowBytes, t.Rank(3)]
    disk_bytes: Annotated[
        t.EstimatedBytes | None, "State file bytes times the share of these rows in all row bytes."
    ]
    heap_bytes: Annotated[t.HeapBytes | None, t.Rank(23)]
    oldest_expired_batch: Annotated[
        t.Id | None, "The first batch that found one of them expired.", t.Rank(22)
    ]
    untouched: Annotated[
        t.Count | None, "Keys whose state the call for their timeout left as it was."
    ]
    changed: Annotated[t.Count | None, "Keys whose state it changed."]
    empty: Annotated[
        t.Count | None,
        "Keys whose state it emptied, but did not remove.",
    ]
    fired_max: Annotated[t.Count | None, "Most firings of the timer of one key."]
    reason: Annotated[t.Reason | None, t.WIDE]


def class_table(judged: Judged) -> t.Table:
    """Return the table that counts leftovers by store, class and certainty.

    Leftovers that expired before the readable versions have rows of their own, without a batch. The
    bytes of state files and of the heap are estimates. The table has no rows without leftovers.
    """
    checkpoint = judged.checkpoint
    groups: dict[tuple[Any, ...], list[LeftoverCount]] = defaultdict(list)
    for observed in judged.facts.totals:
        fact = observed.fact
        kind = fact.leftover_class.value, fact.certainty.value, fact.before_window
        groups[(*observed.store.name, *kind)].append(fact)
    totals = [(group[:2], total_of(counts)) for group, counts in sorted(groups.items())]
    row_bytes = sum(ages.total[1] for ages in judged.facts.sums(Ages).values())
    files = state_file_bytes(checkpoint)
    saving = partial(removal_saving, checkpoint, checkpoint.newest_version)
    rows = [
        LeftoverClassRow(
            **store_ids(checkpoint, store),
            class_=total.leftover_class.value,
            certainty=total.certainty.value,
            keys=total.rows,
            row_bytes=total.row_bytes,
            disk_bytes=round(files * total.row_bytes / row_bytes) if row_bytes else None,
            heap_bytes=saving(total.rows, total.key_bytes, total.value_bytes),
            oldest_expired_batch=None if total.before_window else total.expired_version - 1,
            untouched=total.untouched,
            changed=total.changed,
            empty=total.empty,
            fired_max=total.fired or None,
            reason=total.reason,
        )
        for store, total in totals
    ]
    return LeftoverClassRow.table("leftovers by class", rows)


class UndecidedRow(t.StoreRow, table="undecided"):
    """Keys of one store that may be leftovers, by `reason`, with what would decide it."""

    store_name: Annotated[t.StoreName, t.WIDE]
    class_: Annotated[t.LeftoverClassName, t.Rank(1)]
    keys: Annotated[t.Keys, t.Rank(2)]
    row_bytes: Annotated[t.RowBytes, t.Rank(4)]
    reason: Annotated[t.Reason, t.Rank(3)]
    decided_by: Annotated[
        t.Text | None, "What would decide it, such as an option or an older version."
    ]


class UndecidedKeyRow(LeftoverRow, table="undecided_keys"):
    """A key that may be a leftover."""

    operator_id: t.OperatorId
    partition_id: Annotated[t.PartitionId, t.Rank(22)]
    class_: Annotated[t.LeftoverClassName, t.Rank(3)]
    expired_batch: t.ExpiredBatch | None
    clock_ms: t.ClockMs
    threshold_ms: t.ThresholdMs
    last_put_batch: t.LastPutBatch | None


# advice in the column ``decided_by`` on keys that are undecided for lack of their timers' clock
_KIND = "--timeout-kind event or --timeout-kind processing, as the query has it"
# advice in the column ``decided_by`` on keys that older versions would decide
_HISTORY = "a longer history, which spark.sql.streaming.minBatchesToRetain keeps"
# reason why keys are undecided -> advice in the column ``decided_by`` on what would decide it; the
# column is null for any other reason
DECIDED_BY: Mapping[str | None, str] = {
    UNKNOWN_CLOCK: _KIND,
    NEIGHBOURS: _KIND,
    BEFORE: _HISTORY,
    NO_LOG_ENTRY: _HISTORY,
    HELD_BACK: "the query: whether its function lets a timeout pass without remove()",
    AMONG_DATA: "the query: what its function does in a call for data, and when a timeout fires",
}


def undecided_tables(judged: Judged) -> list[t.Table]:
    """Return a list with the table of undecided keys; an empty list if no key is undecided.

    Undecided keys may be leftovers, but the files do not show it. The table counts them by store,
    class and reason, and says what would decide them.
    """
    groups: dict[tuple[Any, ...], list[Observed[LeftoverCount]]] = group_by(
        judged.facts.undecided_totals,
        lambda total: (*total.store.name, total.fact.leftover_class.value, total.fact.reason),
    )
    rows = [
        UndecidedRow(
            **store_ids(judged.checkpoint, (operator_id, store)),
            class_=kind,
            keys=sum(count.fact.rows for count in counts),
            row_bytes=sum(count.fact.row_bytes for count in counts),
            reason=reason,
            decided_by=DECIDED_BY.get(reason),
        )
        for (operator_id, store, kind, reason), counts in sorted(groups.items())
    ]
    return [UndecidedRow.table("possible leftovers, undecided by the files", rows)] if rows else []


def undecided_keys(judged: Judged, redact: Redact, limit: int) -> list[t.Table]:
    """Return a list with the table of single undecided keys, the oldest first.

    The list is empty if no undecided key is listed. The table has at most ``limit`` keys, or all of
    them if ``limit`` is 0. ``redact`` says how keys are shown.
    """
    listed = judged.facts.undecided[: limit or None]
    rows = LeftoverWords.of(judged.checkpoint, redact).rows(listed, UndecidedKeyRow)
    return [UndecidedKeyRow.table("possible leftovers, key by key", rows)] if rows else []


def notes(facts: Facts) -> list[str]:
    """Return a note for each store whose keys are undecided for lack of their timers' clock.

    The note advises the option ``--timeout-kind``. It begins in lower case, without a full stop.
    """
    reasons = (UNKNOWN_CLOCK, NEIGHBOURS)
    stores = {total.store.name for total in facts.undecided_totals if total.fact.reason in reasons}
    return [
        f"operator {operator} {store}: {UNKNOWN_CLOCK}, and some keys are leftovers by one of the "
        "two alone; say --timeout-kind"
        for operator, store in sorted(stores)
    ]


L = TypeVar("L", bound=LeftoverRow)  # class of the rows of a report


class LeftoverWords:
    """Decoder of facts about leftover keys into the rows of a report."""

    def __init__(
        self,
        names: Mapping[int, str],
        keys: Mapping[StoreName, StructType],
        timestamps: Mapping[int, int | None],
        redact: Redact,
        clocks: Mapping[int, BatchClock] = MappingProxyType({}),
    ) -> None:
        """Prepare a decoder that shows keys by ``redact``.

        ``names`` are those of operators by id, ``keys`` the key schemas of stores. ``timestamps``
        (processing times, epoch ms) and ``clocks`` are those of batches, by the version that the
        batch made. A key of a store without a schema becomes None, unless keys are redacted.
        """
        self._names, self._now, self._clocks = names, timestamps, clocks
        self._unknown = RowWords(None, redact)  # decoder for stores without a schema
        # store -> decoder of its keys
        self._keys = {group: RowWords(schema, redact) for group, schema in keys.items()}
        self._show_hex = redact is Redact.NONE  # rows have ``key_hex``

    @classmethod
    def of(cls, checkpoint: Checkpoint, redact: Redact) -> LeftoverWords:
        """Return a decoder for the leftovers of all stores of a checkpoint."""
        keys = {name: schema.key for name, schema in store_schemas(checkpoint).items()}
        clocks = {batch + 1: clock for batch, clock in checkpoint.logs.clocks.items()}
        times = {version: clock.timestamp_ms for version, clock in clocks.items()}
        return cls(operator_names(checkpoint), keys, times, redact, clocks)

    @classmethod
    def of_task(
        cls, task: Task, operator_name: str, redact: Redact, *, decoded: bool = True
    ) -> LeftoverWords:
        """Return a decoder for the leftovers of the stores of one task.

        ``operator_name`` is the name of the task's operator. Without ``decoded`` the decoder has no
        schemas, for a caller that decodes ``key_hex`` itself.
        """
        keys = {
            StoreName(task.operator_id, store.store_name): parse_schema_json(store.key_schema)
            for store in task.stores
            if decoded and store.key_schema is not None
        }
        clocks = {clock.batch_id + 1: clock for clock in task.clocks}
        times = {version: clock.timestamp_ms for version, clock in clocks.items()}
        return cls({task.operator_id: operator_name}, keys, times, redact, clocks)

    def rows(self, listed: Iterable[Observed[Leftover]], kind: type[L]) -> list[L]:
        """Return the leftovers in ``listed`` as report rows of class ``kind``, in their order."""
        facts = list(listed)
        keys: dict[int, Any] = {}
        for group, indexes in group_by(range(len(facts)), lambda i: facts[i].store.name).items():
            words = self._keys.get(group, self._unknown).words([facts[i].fact.key for i in indexes])
            keys |= dict(zip(indexes, words, strict=True))
        return [self._row(fact, keys[i], kind) for i, fact in enumerate(facts)]

    def _by_followed_clock(self, fact: Leftover) -> Leftover:
        """Return a leftover with the threshold of the clock that its timer must have followed.

        A timer fires in the first batch whose clock has passed it. If the fact's clock had passed
        it a batch before, and the other clock has passed it, too, the timer followed that one. A
        copy then has the other clock's threshold and says so as the reason. Any other leftover is
        returned as it is.
        """
        kind, timer, version = fact.timeout_kind, fact.clock_ms, fact.expired_version
        previous, current = self._clocks.get(version - 1), self._clocks.get(version)
        if kind is None or timer is None or previous is None or current is None:
            return fact
        if not fact.by_either_clock or fact.is_ignored or fact.before_window or fact.reason:
            return fact
        passed, other = previous.time_ms(kind), current.time_ms(kind.other)
        if passed is None or timer >= passed or other is None or timer >= other:
            return fact
        return replace(fact, threshold_ms=other, reason=BY_BOTH)

    def _row(self, observed: Observed[Leftover], key: Any, kind: type[L]) -> L:
        """Return a leftover as a report row of class ``kind``; ``key`` is its decoded key."""
        store, fact = observed.store, self._by_followed_clock(observed.fact)
        put, expired = fact.last_put_version, fact.expired_version
        put_ms = None if put is None else self._now.get(put)
        # The batch is not known if the key expired before the readable versions.
        is_before = fact.before_window
        return kind(
            **vars(store),
            **fields_of(fact, "key_bytes", "value_bytes", "row_bytes", "clock_ms", "threshold_ms"),
            **fields_of(fact, "fired", "last_put_version", "puts", "reason"),
            operator_name=self._names.get(store.operator_id),
            key=key,
            key_hex=fact.key.hex() if self._show_hex else None,
            class_=fact.leftover_class.value,
            certainty=fact.certainty.value,
            state=None if fact.state_change is None else fact.state_change.word,
            expired_batch=None if is_before else expired - 1,
            expired_version=None if is_before else expired,
            first_expired_batch=_batch(fact.first_expired_version),
            margin_ms=_minus(fact.threshold_ms, fact.clock_ms),
            last_put_batch=_batch(put),
            last_put_ms=put_ms,
            age_ms=_minus(self._now.get(observed.version), put_ms),
            unchanged_since=put is None or put <= expired,
        )


def _minus(a: int | None, b: int | None) -> int | None:
    """Return ``a`` minus ``b``; None if one of them is None."""
    return None if a is None or b is None else a - b


def _batch(version: int | None) -> int | None:
    """Return the id of the batch that made a state version; None for None."""
    return None if version is None else version - 1


# Ranges of ages: the highest age in batches, and the name; youngest first.
_BUCKETS = ((0, "this batch"), (9, "1-9 batches"), (99, "10-99 batches"), (10**18, "100 and more"))
# name of the age of rows that were put, or keys that expired, before the oldest readable version
BEFORE_WINDOW = "before the oldest version"
# names of all ranges of ages, youngest first
AGE_WORDS = (*(word for _, word in _BUCKETS), BEFORE_WINDOW)


class AgeRow(t.StoreRow, table="ages", empty="no store has rows of this version"):
    """Live rows of one store, by how long ago they were last put."""

    last_put: Annotated[
        t.Text,
        "How many batches ago that was, counted from `--batch`.",
        t.Rank(1),
    ]
    from_ms: Annotated[t.TimeMs | None, "Processing time of the first batch counted here."]
    to_ms: Annotated[t.TimeMs | None, "Processing time of the last one."]
    rows: Annotated[t.Rows, t.Rank(2)]
    row_bytes: Annotated[t.RowBytes, t.Rank(12)]
    share: Annotated[t.Share | None, "Their part of the store's row bytes.", t.Rank(11)]


class LeftoverAgeRow(t.StoreRow, table="leftover_ages"):
    """Leftovers of one class in one store, by how long ago they expired."""

    store_name: Annotated[t.StoreName, t.WIDE]
    class_: Annotated[t.LeftoverClassName, t.Rank(3)]
    expired: Annotated[t.Text, "How many batches ago that was, counted from `--batch`.", t.Rank(1)]
    keys: Annotated[t.Keys, t.Rank(2)]
    row_bytes: Annotated[t.RowBytes, t.Rank(4)]


class RetentionRow(t.StoreRow, table="retention"):
    """Distance behind the watermark of the rows of one join side, or of a store below a join."""

    versions: Annotated[t.Count, "Versions that were compared."]
    watermark_from_ms: Annotated[t.TimeMs | None, "Lowest watermark of these versions."]
    watermark_to_ms: Annotated[t.TimeMs | None, "Highest watermark of these versions."]
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
    removed_rows: Annotated[t.Count, "Rows that these versions removed."]
    rows: Annotated[t.Count | None, "Live rows of the newest version.", t.Rank(13)]
    rows_timed_by_key: Annotated[t.Count | None, "Rows whose time is a field of their key."]
    matched_rows: Annotated[t.Count | None, "Rows that have found a partner."]
    unmatched_rows: Annotated[t.Count | None, "Rows that have found none.", t.Rank(14)]


def proof_window(judged: Judged) -> dict[str, Any]:
    """Return the first batch from which on all changes of keys are known, and its time.

    The result has the keys ``proof_from_batch`` and ``proof_from_ms`` (processing time, epoch ms;
    None if unknown). The batch is not older than the first one whose time the log has. The result
    is empty if there are no facts on ages of rows.
    """
    checkpoint = judged.checkpoint
    firsts = [ages.first_known - 1 for ages in judged.facts.sums(Ages).values()]
    if not firsts:
        return {}
    times = (batch for batch, c in checkpoint.logs.clocks.items() if c.timestamp_ms)
    first = max(*firsts, min(times, default=0))
    return {"proof_from_batch": first, "proof_from_ms": _time(checkpoint, first + 1)}


def age_table(judged: Judged) -> t.Table:
    """Return the table of live rows by store and by how many batches ago they were last put."""
    ages_by_store = sorted(judged.facts.sums(Ages).items())
    rows = [row for name, ages in ages_by_store for row in _age_rows(judged, name, ages)]
    return AgeRow.table("age of the live rows, in batches before the judged one", rows)


def _age_rows(judged: Judged, name: StoreName, ages: Ages) -> Iterator[AgeRow]:
    """Yield the rows of the table of ages for the store ``name``, youngest first.

    Each row sums the live rows in one range of ages. A range without live rows has no row.
    """
    checkpoint, version = judged.checkpoint, judged.version
    _, total = ages.total
    puts = sorted(ages.rows, reverse=True)
    for bucket, versions in group_by(puts, lambda put: _bucket(version, put)).items():
        weight = sum(ages.bytes[put] for put in versions)
        base = [ages.window_version] if versions == [BEFORE_ALL] else versions
        yield AgeRow(
            **store_ids(checkpoint, name),
            last_put=AGE_WORDS[bucket],
            from_ms=None if versions == [BEFORE_ALL] else _time(checkpoint, min(base)),
            to_ms=_time(checkpoint, max(base)),
            rows=sum(ages.rows[put] for put in versions),
            row_bytes=weight,
            share=weight / total if total else None,
        )


def _bucket(version: int, put: int) -> int:
    """Return the index in :data:`AGE_WORDS` of an age: the versions from ``put`` to ``version``.

    The last index is for ``BEFORE_ALL``, which stands for all versions before the readable ones.
    """
    if put == BEFORE_ALL:
        return len(_BUCKETS)
    return next(i for i, (limit, _) in enumerate(_BUCKETS) if version - put <= limit)


def _time(checkpoint: Checkpoint, version: int) -> int | None:
    """Return the processing time (epoch ms) of the batch that made a version; None if unknown."""
    clock = checkpoint.clock(version)
    return None if clock is None else clock.timestamp_ms


def leftover_ages(judged: Judged) -> t.Table:
    """Return the table that counts leftovers by store, class and how many batches ago they expired.

    It has a row for each range of ages that occurs; no row without leftovers.
    """
    version = judged.version
    groups: dict[tuple[Any, ...], list[LeftoverAge]] = defaultdict(list)
    for observation in judged.facts.leftover_ages:
        age = observation.fact
        bucket = _bucket(version, BEFORE_ALL if age.before_window else age.expired_version)
        groups[(*observation.store.name, age.leftover_class.value, bucket)].append(age)
    rows = [
        LeftoverAgeRow(
            **store_ids(judged.checkpoint, (operator_id, store)),
            class_=kind,
            expired=AGE_WORDS[bucket],
            keys=sum(age.rows for age in ages),
            row_bytes=sum(age.row_bytes for age in ages),
        )
        for (operator_id, store, kind, bucket), ages in sorted(groups.items())
    ]
    return LeftoverAgeRow.table("leftovers by age, in batches before the judged one", rows)


def retention_tables(judged: Judged) -> list[t.Table]:
    """Return a list with the table of how far rows reach behind the watermark.

    It has a row for each side of a join, and for each store of an operator below a join, whose rows
    have an event time. The list is empty if there is no such store.
    """
    view = CheckpointView(judged.checkpoint, judged.version, judged.facts)
    sides = (JoinSide(s) for s in view.stores if s.name in judged.facts.retention)
    rows = [_retention_row(side) for side in sorted(sides, key=lambda side: side.store.name)]
    are_joins = all(row.store_name in VALUE_STORES for row in rows)
    subject = "a join's sides" if are_joins else "a join's sides, and of operators below,"
    title = f"how far behind the watermark the rows of {subject} reach"
    return [RetentionRow.table(title, rows)] if rows else []


def _retention_row(side: JoinSide) -> RetentionRow:
    """Return the row of the retention table for one side of a join, or for a store below one.

    It has the distances of its rows from the watermark, in ms, and its numbers of rows.
    """
    store, distances = side.store, side.behind_ms
    timed, matched, check = store.sum(RowsTimedByKey), store.sum(MatchedRows), side.check
    return RetentionRow(
        matched_rows=None if matched is None else matched.matched,
        unmatched_rows=None if matched is None else matched.unmatched,
        **store_ids(store.checkpoint, store.name),
        versions=len(distances),
        watermark_from_ms=min(side.watermarks_ms, default=None),
        watermark_to_ms=max(side.watermarks_ms, default=None),
        oldest_behind_ms=side.most_ms,
        newest_version_behind_ms=distances[max(distances)] if distances else None,
        removed_rows=side.removals,
        rows=None if check is None else check.rows,
        rows_timed_by_key=None if timed is None else timed.rows,
    )
