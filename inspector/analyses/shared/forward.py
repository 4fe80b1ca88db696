"""The forward view: what will expire, and what the state will be if nothing leaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from inspector.analyses.shared.common import StoreIds, store_ids
from inspector.analyses.shared.judged import Judged
from inspector.discovery.unknown_watermarks import held_back
from inspector.facts.expiring import Expiring, Width
from inspector.facts.join_times import KeyTimeVotes
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import StoreName, TimeoutKind
from inspector.operators.rule import Clock, StoreRule
from inspector.render import tabular as t
from inspector.render.report import Table

MOST_LINES = 72
"""Buckets of one store that are listed: three days of hours."""

_MOST_OF = 0.05
"""Share of the rows at either end whose times do not decide on the width: one clock may be wrong"""


@dataclass(frozen=True, kw_only=True)
class ExpiringRow(t.StoreRow, table="expiring", empty="no store has rows of this version"):
    """Rows of one store that expire within the same time."""

    clock: Annotated[t.Text | None, "The clock that the rows go by; null where none is known."]
    fate: Annotated[
        t.Text,
        "`expires`, `expired` (it had before the judged batch, and is there), `never` or "
        "`unknown`.",
        t.Rank(6),
    ]
    expires_from_ms: Annotated[
        t.TimeMs | None,
        "When the clock reads so, the first of them may go.",
        t.Title("expires from"),
        t.Rank(1),
    ] = None
    within_ms: Annotated[
        t.DurationMs | None, "How long after that the last of them has gone.", t.Rank(21)
    ] = None
    rows: Annotated[t.Count, "The rows that this is about.", t.Rank(2)]
    row_bytes: Annotated[t.Bytes, "Their key and value bytes.", t.Rank(3)]
    rows_left: Annotated[
        t.Count, "Rows of the store that are there afterwards, if no others come.", t.Rank(4)
    ]
    row_bytes_left: Annotated[t.Bytes, "Their key and value bytes.", t.Rank(5)]
    why: Annotated[
        t.Text | None, "Why they never expire, why that is not known, or why they may be there."
    ] = None


FOOTNOTE = (
    "What expires is counted by the rows' own clocks and the rule of their operator; it is exact. "
    "The rows that are left are those of the judged version alone: new ones come meanwhile, and "
    "what has expired already is counted as gone. Event times go by the watermark, which follows "
    "the newest event by the query's delay."
)
_BY = {
    Width.SECOND: "second",
    Width.MINUTE: "minute",
    Width.HOUR: "hour",
    Width.DAY: "day",
    Width.MONTH: "30 days",
}
_CLOCKS = {TimeoutKind.EVENT_TIME: "watermark", TimeoutKind.PROCESSING_TIME: "processing time"}
_NO_FIELD = "their field is null"
_NO_TIMER = "no timer is set"


def expiring_table(judged: Judged) -> Table:
    """What will expire, store by store, the soonest first.

    Args:
        judged: by the facts of a request with ``expiring``.
    """
    checkpoint, version, facts = judged.checkpoint, judged.version, judged.facts
    merged = facts.merged(Expiring)
    operators = {operator.operator_id: operator for operator in checkpoint.operators}
    rows: list[ExpiringRow] = []
    widths: set[Width] = set()
    for name, versions in facts.by_store(version).items():
        store = store_ids(checkpoint, name)
        operator = operators[name.operator_id]
        rule = operator.rules[name.store_name]
        above = held_back(checkpoint, operator, version)
        doubt = rule.doubt or (f"downstream of {above} the watermark lags" if above else None)
        known = rule.expiry is not None or _goes_by_key(facts, name)
        of_store = merged.get(name, {}).values() if known else ()
        found = _by_clock(facts, name, version, of_store)
        for one in map(readable, found):
            widths |= {one.width} if one.rows else set()
            rows += _rows(store, one, rule, doubt)
        if not found:
            rows += _without_times(store, rule, versions[version])
    by = " and ".join(_BY.get(width, "longer times") for width in sorted(widths))
    title = "what will expire" + (f", by {by}" if by else "")
    return ExpiringRow.table(f"{title}: the state to come if nothing leaks", rows)


def unknown_timers(judged: Judged) -> Iterator[str]:
    """What a reader has to know where timers are listed by both clocks that they may follow."""
    version, facts = judged.version, judged.facts
    for name, by_kind in facts.merged(Expiring).items():
        both = _by_clock(facts, name, version, by_kind.values())
        if len(both) > 1:
            yield (
                f"The bytes do not show which clock the timers of operator {name.operator_id} "
                "follow: they are listed by either, and --timeout-kind says which it is."
            )


def readable(found: Expiring) -> Expiring:
    """The same in buckets that people read: seconds, minutes, hours, days or months.

    The shortest with which the usual rows, and all of them, take no more than so many lines.
    """
    ends = _usual_span(found)
    width = next((each for each in Width if each * MOST_LINES >= ends), Width.ALL)
    return found.at_least(width).bounded(MOST_LINES)


def _usual_span(found: Expiring) -> int:
    """How long the time is, in ms, in which all but the first and last few rows expire."""
    some = int(sum(found.rows.values()) * _MOST_OF)
    buckets = sorted(found.rows)
    ends = [_after(found.rows, order, some) for order in (buckets, buckets[::-1])]
    return (ends[1] - ends[0] + 1) * found.width if buckets else 0


def _after(rows: Mapping[int, int], buckets: Iterable[int], some: int) -> int:
    """The first bucket with which there are more than so many rows."""
    seen = bucket = 0
    for bucket in buckets:
        seen += rows[bucket]
        if seen > some:
            break
    return bucket


def _by_clock(
    facts: Facts, name: StoreName, version: int, found: Iterable[Expiring]
) -> list[Expiring]:
    """Those by the clock that a store's timers follow; by both where that is not known."""
    every = sorted(found, key=lambda one: "" if one.timeout_kind is None else one.timeout_kind.name)
    kind = facts.resolution.clock_of(name, version).kind or facts.resolution.usual_clock(name)
    return [one for one in every if kind is None or one.timeout_kind in (None, kind)]


def _goes_by_key(facts: Facts, name: StoreName) -> bool:
    """Whether the rows of a join show that they go by their event time, which is in the key."""
    path = facts.key_times.get(name.operator_id)
    votes = None if path is None else facts.merged(KeyTimeVotes).get(name, {}).get(path)
    return votes is not None and votes.same > 0 and not votes.other


def _rows(
    store: StoreIds, found: Expiring, rule: StoreRule, doubt: str | None
) -> Iterator[ExpiringRow]:
    """What has expired, what will, bucket by bucket, and what never does; each leaves the rest."""
    clock, endless = _clock(found, rule), (found.endless_rows, found.endless_bytes)
    rows, sizes = sum(found.rows.values()) + endless[0], sum(found.bytes.values()) + endless[1]
    if found.due_rows:
        yield ExpiringRow(
            **store,
            clock=clock,
            fate="expired",
            rows=found.due_rows,
            row_bytes=found.due_bytes,
            rows_left=rows,
            row_bytes_left=sizes,
            why=doubt,
        )
    for bucket in sorted(found.rows):
        rows, sizes = rows - found.rows[bucket], sizes - found.bytes[bucket]
        yield ExpiringRow(
            **store,
            clock=clock,
            fate="expires",
            expires_from_ms=max(bucket * found.width, -(1 << 63)),
            within_ms=int(found.width),
            rows=found.rows[bucket],
            row_bytes=found.bytes[bucket],
            rows_left=rows,
            row_bytes_left=sizes,
        )
    if found.endless_rows:
        why = _NO_FIELD if found.timeout_kind is None else _NO_TIMER
        yield _staying(store, clock, "never", why, endless)


def _without_times(store: StoreIds, rule: StoreRule, facts: VersionFacts) -> Iterator[ExpiringRow]:
    """All rows of a store whose rule has no time, or is not known."""
    if facts.rows:
        fate = "unknown" if rule.never is None else "never"
        why = rule.never or rule.unknown or "the store has no schema"
        yield _staying(store, None, fate, why, (facts.rows, facts.row_bytes))


def _staying(
    store: StoreIds, clock: str | None, fate: str, why: str, amounts: tuple[int, int]
) -> ExpiringRow:
    """Rows, and their bytes, that nothing is known to remove."""
    rows, sizes = amounts
    return ExpiringRow(
        **store,
        clock=clock,
        fate=fate,
        rows=rows,
        row_bytes=sizes,
        rows_left=rows,
        row_bytes_left=sizes,
        why=why,
    )


def _clock(found: Expiring, rule: StoreRule) -> str:
    if found.timeout_kind is not None:
        return _CLOCKS[found.timeout_kind]
    by_watermark = rule.expiry is None or rule.expiry.clock is Clock.WATERMARK
    return _CLOCKS[TimeoutKind.EVENT_TIME if by_watermark else TimeoutKind.PROCESSING_TIME]
