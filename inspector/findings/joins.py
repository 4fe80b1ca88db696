"""Findings about the two sides of a join: SS205, SS208 and SS209.

That a side has removed nothing yet says little: one whose range is longer than the query's life
looks the same, and of ``leftTime <= rightTime <= leftTime + 1 hour`` one side goes at once. So
SS205 is for information. Who joins on a copy of the event time means equal times: SS209.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from inspector.facts.join_rows import JoinCheck, MatchedRows
from inspector.facts.versions import VersionFacts
from inspector.findings.catalogue import JOIN_COPY, JOIN_COUNTERS, JOIN_SIDE, NO_MATCH
from inspector.findings.finding import Finding, Severity
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.light_dataclasses import dataclass, field
from inspector.model import StoreName
from inspector.quantities import count_text, duration_text

_NEITHER = (
    ", and the other side none either: perhaps the join condition has no time range, or a long one"
)
_ONE = ": perhaps the time range is long, or has no bound on this side"
_BOTH = (
    "Neither side of the join removes rows, though the watermark has passed some of both: perhaps "
    "the join condition has no time range, or a long one."
)
_BOUND_BOTH = (
    "bound the times of both sides in the join condition, such as rightTime >= leftTime AND "
    "rightTime <= leftTime + INTERVAL 1 HOUR (in days or less: Spark takes no months and years); "
    "if there is a range, longer than the window that can be read, say so with --join-retention"
)
_WRONG = {
    "missing_rows": ("row missing that a counter counts", "rows missing that a counter counts"),
    "counters_without_rows": ("key with a counter and no row", "keys with a counter and no row"),
    "dangling_rows": ("row that no counter counts", "rows that no counter counts"),
}


@dataclass(frozen=True)
class Retention:
    """How far behind the watermark the rows of a side reached, over the versions."""

    # watermark of the version's batch less the oldest event time in the side's rows, by version;
    # only versions with both
    behind_ms: Mapping[int, int]
    watermarks: Mapping[int, int]
    removed: int  # rows removed over the window
    # newest, first: facts at its two ends
    newest: VersionFacts
    first: VersionFacts
    versions: int  # versions whose changes are known
    # of these, if each key has one row, those that the watermark had not passed: of the left side
    # of a semi join, perhaps those that met a partner
    early: int = 0

    @property
    def moved_ms(self) -> int:
        """How far the watermark moved over those versions."""
        return max(self.watermarks.values(), default=0) - min(self.watermarks.values(), default=0)

    @property
    def most_ms(self) -> int | None:
        """The furthest that a row lay behind the watermark."""
        return max(self.behind_ms.values(), default=None)

    @property
    def keeps_passed_rows(self) -> bool:
        """No row that the watermark had passed went, though it moved past some and rows grew."""
        grown = self.newest.rows > self.first.rows
        passed = self.most_ms is not None and self.most_ms > 0
        return self.removed == self.early and self.moved_ms > 0 and grown and passed


@dataclass(frozen=True)
class JoinLifetime:
    """What is known of a join."""

    operator_id: int  # which
    sides: Mapping[str, Retention] = field(default_factory=dict)  # each side, by its store of rows
    # counters held against rows, by store of rows
    checks: Mapping[str, JoinCheck] = field(default_factory=dict)
    # by store of rows, those that would be gone if the time in the join key that equals their event
    # time, in all of them, carried the watermark
    covered: Mapping[str, int] = field(default_factory=dict)
    # rows of the files with a partner and without, by store of rows; those of a snapshot are
    # counted again
    partners: Mapping[str, MatchedRows] = field(default_factory=dict)
    # stores of rows all of whose rows the next batch reads, so that it fails at a null row
    read_whole: Collection[str] = ()


def judge_join(life: JoinLifetime, thresholds: Thresholds = DEFAULTS) -> Iterator[Finding]:
    """The findings of one join."""
    for store, side in life.sides.items():
        if side.versions < thresholds.window_versions:
            continue
        opposite = next((of for name, of in life.sides.items() if name != store), None)
        if side.keeps_passed_rows:
            copied = life.covered.get(store) and not (opposite and opposite.removed)
            yield _judge_copy(life, store, side) if copied else _never(life, store, side, opposite)
    yield from _no_removal(life, thresholds)
    for store, check in life.checks.items():
        yield from _counters(life, store, check)
    yield from _no_match(life, thresholds)


def _no_removal(life: JoinLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """A join whose rows only come, all of them newer than the watermark so far."""
    sides = life.sides.values()
    if len(sides) < 2 or not all(
        side.versions >= thresholds.window_versions
        and side.newest.rows > side.first.rows
        and not side.removed
        and side.most_ms is not None
        and side.most_ms <= 0
        for side in sides
    ):
        return
    least = duration_text(min(-(side.most_ms or 0) for side in sides))
    yield JOIN_SIDE.of(
        f"no row of either side was removed; the watermark has to advance by {least} before it "
        "passes the first",
        life.operator_id,
        cause="No row of the join has been removed yet, as the watermark has passed none: if the "
        "join condition has no time range, none ever will be.",
        next_step=_BOUND_BOTH,
    )


def _no_match(life: JoinLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """A join of which no row has ever been joined, though both sides have many."""
    puts = list(life.partners.values())
    if len(puts) < 2 or any(side.matched for side in puts):
        return
    if min(side.unmatched for side in puts) < thresholds.hot_rows:
        return
    left, right = (count_text(side.unmatched, "row") for side in puts)
    words = f"{left} of the left side and {right} of the right one, none with a match"
    yield NO_MATCH.of(f"the files have {words}", life.operator_id)


def _never(life: JoinLifetime, store: str, side: Retention, opposite: Retention | None) -> Finding:
    beside = ""
    if opposite is not None and opposite.removed:
        beside = f"; the other side removed {count_text(opposite.removed, 'row')}"
    is_mutual = opposite is not None and opposite.keeps_passed_rows
    is_idle = opposite is not None and not opposite.removed
    early = f" ({side.early:,} went before, perhaps as they met a partner)" if side.early else ""
    by_time = " by their time" if side.early else ""
    return JOIN_SIDE.of_store(
        StoreName(life.operator_id, store),
        f"no row {'that the watermark had passed ' * bool(side.early)}was removed in "
        f"{count_text(side.versions, 'version')}, though the watermark moved "
        f"by {duration_text(side.moved_ms)}; {count_text(side.newest.rows, 'row')}, the oldest "
        f"{duration_text(side.most_ms or 0)} behind the watermark{early}{beside}",
        *side.newest.rows_and_bytes,
        _BOTH
        if is_mutual and not side.early
        else f"The {store.partition('-')[0]} side of the join removes no rows{by_time}, though the "
        f"watermark has passed some{_NEITHER if is_idle else _ONE}.",
        next_step=_BOUND_BOTH if is_mutual or is_idle else JOIN_SIDE.to_do,
    )


def _judge_copy(life: JoinLifetime, store: str, side: Retention) -> Finding:
    return JOIN_COPY.of_store(
        StoreName(life.operator_id, store),
        f"the join key holds the event time of every row, and carries no watermark: of "
        f"{count_text(side.newest.rows, 'row')} {life.covered[store]:,} would have been removed by "
        f"one; none was in {count_text(side.versions, 'version')}, though the watermark moved by "
        f"{duration_text(side.moved_ms)}",
        *side.newest.rows_and_bytes,
        "Most likely the join compares a copy of the event time that carries no watermark, so its "
        "rows never expire.",
    )


def _counters(life: JoinLifetime, store: str, check: JoinCheck) -> Iterator[Finding]:
    counters = {name: getattr(check, name) for name in _WRONG}
    words = "; ".join(count_text(rows, *_WRONG[name]) for name, rows in counters.items() if rows)
    side = f"the {store.partition('-')[0]} side of the join"
    cause = f"Rows of {side} and the counters that count them disagree."
    severity = JOIN_COUNTERS.severity
    if check.missing_rows and store in life.read_whole:
        severity = Severity.ERROR
        rows = count_text(check.missing_rows, "null row", "null rows")
        cause = f"The next batch fails, as it reads all rows of {side} and meets {rows}."
    if words:
        subject = StoreName(life.operator_id, store)
        yield JOIN_COUNTERS.of_store(subject, words, cause=cause, severity=severity)
