"""Findings about rows that outlive their rule, SS2xx."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.findings.finding import (
    NEVER_EXPIRES,
    NO_WATERMARK,
    PAST_WATERMARK,
    TIMEOUT_KEPT,
    Finding,
    Kind,
)
from inspector.measure.leftovers import Certainty, LeftoverClass
from inspector.measure.versions import VersionFacts
from inspector.operators.rule import Clock, StoreRule


@dataclass(frozen=True)
class LeftoverTotal:
    """How many leftovers of one class a store has, and since which version; adds by hand."""

    kind: LeftoverClass
    certainty: Certainty
    rows: int
    bytes: int
    oldest_version: int


@dataclass(frozen=True)
class StoreLife:
    """What is known of the life of one store's rows, all partitions together.

    Attributes:
        operator_id, operator_name, store_name: which store.
        rule: its operator's rule.
        newest: facts of the judged version.
        removals: removed rows over the whole window; window: versions in it whose change is known.
        puts: the same of puts.
        leftovers: by class and certainty.
        watermark_ms: of the judged version's batch; None if not recorded.
    """

    operator_id: int
    operator_name: str
    store_name: str
    rule: StoreRule
    newest: VersionFacts
    removals: int
    puts: int
    window: int
    leftovers: Sequence[LeftoverTotal]
    watermark_ms: int | None


def judge(life: StoreLife) -> Iterator[Finding]:
    """The lifetime findings of one store."""
    yield from _never(life)
    yield from _leftovers(life)
    expiry = life.rule.expiry
    waits = expiry is not None and expiry.clock is Clock.WATERMARK and not life.watermark_ms
    if expiry is not None and waits and life.newest.rows:
        yield _finding(
            life,
            NO_WATERMARK,
            Certainty.PROVEN,
            f"rows go when {expiry.name} is at or below the watermark, and the judged batch "
            "has no watermark yet",
            "check that data with event times arrives from every source",
        )


def _never(life: StoreLife) -> Iterator[Finding]:
    rule, newest = life.rule, life.newest
    if rule.never is None or not newest.rows:
        return
    if life.removals:
        # A function may remove keys whenever it likes; where it does, there is no leak to claim.
        return
    yield _finding(
        life,
        NEVER_EXPIRES,
        Certainty.PROVEN,
        f"{rule.never}; {newest.rows:,} rows, none removed in the {life.window} versions "
        "whose changes can be read",
        rule.advice,
        newest.rows,
        newest.row_bytes,
    )


def _leftovers(life: StoreLife) -> Iterator[Finding]:
    for total in life.leftovers:
        if not total.rows:
            continue
        past = total.kind is LeftoverClass.PAST_WATERMARK
        since = f"the oldest since batch {total.oldest_version - 1}"
        yield _finding(
            life,
            PAST_WATERMARK if past else TIMEOUT_KEPT,
            total.certainty,
            f"{total.rows:,} rows: {_WORDS[total.kind]}; {since}",
            life.rule.advice or "see inspector leftovers for the keys",
            total.rows,
            total.bytes,
        )


_WORDS = {
    LeftoverClass.PAST_WATERMARK: "the watermark of a processed batch covered them and they stayed",
    LeftoverClass.KEPT_WITHOUT_TIMEOUT: "their timeout fired and they were kept with no timeout, "
    "so nothing will ever call them again",
    LeftoverClass.IGNORED_TIMEOUT: "their timeout fired and was ignored, so it fires each batch",
    LeftoverClass.REARMED: "their timeout fired and was armed anew",
}


def _finding(  # noqa: PLR0913 - the fields of one value
    life: StoreLife,
    kind: Kind,
    certainty: Certainty,
    evidence: str,
    next_step: str,
    rows: int | None = None,
    size: int | None = None,
) -> Finding:
    return Finding(
        kind=kind,
        certainty=certainty,
        evidence=evidence,
        next_step=next_step,
        operator_id=life.operator_id,
        store_name=life.store_name,
        rows=rows,
        bytes=size,
    )
