"""Findings about the two sides of a join: SS205, SS208 and SS209.

That a side has removed nothing yet says little of whether it ever will: one whose range is longer
than the query's life looks the same, and in a range such as ``leftTime <= rightTime <= leftTime +
1 hour`` one side goes at once and the other after an hour. So SS205 is for information. Who joins
on a copy of the event time means the times to be equal, and has no use for a range: SS209 warns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from inspector.facts.joins import JoinCheck
from inspector.facts.versions import VersionFacts
from inspector.findings.catalogue import JOIN_COPY, JOIN_COUNTERS, JOIN_SIDE, WINDOW
from inspector.findings.durations import duration_text
from inspector.findings.finding import Finding
from inspector.model import Certainty


@dataclass(frozen=True)
class Retention:
    """How far behind the watermark the rows of a side reached, over the versions.

    Attributes:
        behind_ms: watermark of the version's batch less the oldest event time in the side's rows,
            by version; only versions with both.
        watermarks: those watermarks.
        removed: rows removed over the window. newest, first: facts at its two ends.
        versions: versions whose changes are known.
    """

    behind_ms: Mapping[int, int]
    watermarks: Mapping[int, int]
    removed: int
    newest: VersionFacts
    first: VersionFacts
    versions: int

    @property
    def moved_ms(self) -> int:
        """How far the watermark moved over those versions."""
        return max(self.watermarks.values(), default=0) - min(self.watermarks.values(), default=0)

    @property
    def most_ms(self) -> int | None:
        """The furthest that a row lay behind the watermark."""
        return max(self.behind_ms.values(), default=None)

    @property
    def never_removes(self) -> bool:
        """No row went, though the watermark moved past some and rows grew."""
        return (
            not self.removed
            and self.versions >= WINDOW
            and self.moved_ms > 0
            and self.newest.rows > self.first.rows
        )


@dataclass(frozen=True)
class JoinLifetime:
    """What is known of a join.

    Attributes:
        operator_id: which. sides: of each side, by its store of rows.
        checks: counters held against rows, by store of rows.
        covered: by store of rows, those that would be gone if the time in the join key that equals
            their event time, in all of them, carried the watermark.
    """

    operator_id: int
    sides: Mapping[str, Retention] = field(default_factory=dict)
    checks: Mapping[str, JoinCheck] = field(default_factory=dict)
    covered: Mapping[str, int] = field(default_factory=dict)


def judge_join(life: JoinLifetime) -> Iterator[Finding]:
    """The findings of one join."""
    for store, side in life.sides.items():
        other = next((one for name, one in life.sides.items() if name != store), None)
        if side.never_removes and side.most_ms is not None and side.most_ms > 0:
            copied = life.covered.get(store) and not (other and other.removed)
            yield _copied(life, store, side) if copied else _never(life, store, side, other)
    for store, check in life.checks.items():
        yield from _counters(life, store, check)


def _never(life: JoinLifetime, store: str, side: Retention, other: Retention | None) -> Finding:
    beside = ""
    if other is not None and other.removed:
        beside = f"; the other side removed {other.removed:,}"
    return Finding(
        JOIN_SIDE,
        Certainty.INFERRED,
        f"no row was removed in {side.versions} versions, though the watermark moved by "
        f"{duration_text(side.moved_ms)}; {side.newest.rows:,} rows, the oldest "
        f"{duration_text(side.most_ms or 0)} behind the watermark{beside}",
        JOIN_SIDE.to_do,
        life.operator_id,
        store,
        side.newest.rows,
        side.newest.row_bytes,
    )


def _copied(life: JoinLifetime, store: str, side: Retention) -> Finding:
    return Finding(
        JOIN_COPY,
        Certainty.INFERRED,
        f"the join key holds the event time of every row, and carries no watermark: of "
        f"{side.newest.rows:,} rows {life.covered[store]:,} are there that it would have removed; "
        f"no row was removed in {side.versions} versions, though the watermark moved by "
        f"{duration_text(side.moved_ms)}",
        JOIN_COPY.to_do,
        life.operator_id,
        store,
        side.newest.rows,
        side.newest.row_bytes,
    )


def _counters(life: JoinLifetime, store: str, check: JoinCheck) -> Iterator[Finding]:
    found = {name: getattr(check, name) for name in _WRONG}
    words = [f"{rows:,} {_WRONG[name]}" for name, rows in found.items() if rows]
    if not words:
        return
    yield Finding(
        JOIN_COUNTERS,
        Certainty.PROVEN,
        "; ".join(words),
        JOIN_COUNTERS.to_do,
        life.operator_id,
        store,
    )


_WRONG = {
    "missing_rows": "rows missing that a counter counts",
    "counters_without_rows": "keys kept by their counter alone",
    "dangling_rows": "rows that no counter counts",
}
