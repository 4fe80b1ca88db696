"""Findings about rows that outlive their rule, SS2xx."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inspector.facts.ages import Ages
from inspector.facts.expired import LeftoverClass
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.versions import VersionFacts
from inspector.findings.catalogue import (
    DATA_BATCHES,
    NEVER_EXPIRES,
    NO_REMOVES,
    NO_WATERMARK,
    PAST_WATERMARK,
    TIMEOUT_KEPT,
    UNDECIDED,
    WINDOW,
)
from inspector.findings.finding import Finding, Kind
from inspector.model import Certainty
from inspector.operators.rule import Clock, StoreRule


@dataclass(frozen=True)
class LeftoverTotal:
    """How many leftovers of one class a store has, and since which version; adds by hand.

    Attributes:
        fired: the longest run of timeouts of any of them.
        by_change: keys by what became of their state.
        before_window: they expired before the window of proof.
        reason: what the judgement rests on.
    """

    kind: LeftoverClass
    certainty: Certainty
    rows: int
    bytes: int
    oldest_version: int
    fired: int = 1
    by_change: Mapping[str, int] = field(default_factory=dict)
    before_window: bool = False
    reason: str = ""


@dataclass(frozen=True)
class StoreLifetime:
    """What is known of the life of one store's rows, all partitions together.

    Attributes:
        operator_id, operator_name, store_name: which store.
        rule: its operator's rule.
        newest: facts of the judged version.
        removals: removed rows over the whole window; window: versions in it whose change is known.
        puts: the same of puts.
        leftovers: by class and certainty.
        watermark_ms: of the judged version's batch, or, as long as that had none, the one that it
            made for the next; None if not recorded.
        first: facts of the oldest version of the window.
        calls: what is known of a group state's timers; None for other operators.
        ages: when the rows were last put.
        data_batches: batches that brought new data, up to the judged one.
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
    first: VersionFacts = field(default_factory=VersionFacts)
    calls: TimerCalls | None = None
    ages: Ages | None = None
    data_batches: int = DATA_BATCHES


def judge(life: StoreLifetime) -> Iterator[Finding]:
    """The lifetime findings of one store."""
    yield from _never(life)
    never_armed = list(_never_armed(life))
    yield from never_armed
    yield from _leftovers(life)
    yield from _undecided(life, said=bool(never_armed))
    yield from _grows(life)
    expiry = life.rule.expiry
    waits = expiry is not None and expiry.clock is Clock.WATERMARK and not life.watermark_ms
    waits &= life.data_batches >= DATA_BATCHES
    if expiry is not None and waits and life.newest.rows:
        yield _finding(
            life,
            NO_WATERMARK,
            Certainty.PROVEN,
            f"rows go when {expiry.name} is at or below the watermark, and the judged batch "
            "has no watermark yet",
            NO_WATERMARK.to_do,
        )


def _never(life: StoreLifetime) -> Iterator[Finding]:
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


def _never_armed(life: StoreLifetime) -> Iterator[Finding]:
    """Keys of a group state with a timeout that no call ever armed."""
    calls = life.calls
    if calls is None or not calls.never_armed_rows or life.window < WINDOW:
        return
    rows, size = calls.never_armed_rows, calls.never_armed_bytes
    if not calls.armed_keys:
        if life.removals:
            return
        said = "no key had a timeout at any version of the window, and none was removed"
        certainty = Certainty.PROVEN
    elif calls.unarmed_by_data:
        said = "they had no timeout at any version of the window, though other keys had"
        certainty = Certainty.INFERRED
    else:
        return  # reported as kept without a timeout since before the window
    yield _finding(
        life,
        NEVER_EXPIRES,
        certainty,
        f"{rows:,} of {life.newest.rows:,} rows: {said} ({life.window} versions); only new data "
        "for them can call the function",
        "call state.setTimeoutDuration or state.setTimeoutTimestamp in every call that keeps the "
        "state: each call clears the timer that was set before",
        rows,
        size,
    )


def _leftovers(life: StoreLifetime) -> Iterator[Finding]:
    for total in life.leftovers:
        if not total.rows or total.certainty is Certainty.UNDECIDED:
            continue
        past = total.kind in PAST
        # What helps where no rule is known is beside the point for rows that one was found for.
        advice = life.rule.advice if life.rule.expiry is not None else ""
        yield _finding(
            life,
            PAST_WATERMARK if past else TIMEOUT_KEPT,
            total.certainty,
            f"{total.rows:,} rows: {_said(total)}{_details(total)}; {_since(total)}",
            advice or "see inspector leftovers for the keys",
            total.rows,
            total.bytes,
        )


def _undecided(life: StoreLifetime, *, said: bool) -> Iterator[Finding]:
    """Keys that may be stuck; one that was armed anew is judged again when its timer runs out.

    Args:
        life: of the store.
        said: that keys without a timer since before the window can never expire is a finding.
    """
    found = [
        total
        for total in life.leftovers
        if total.certainty is Certainty.UNDECIDED
        and not (said and total.before_window)
        and not (total.kind is LeftoverClass.REARMED and not total.by_change.get("untouched"))
    ]
    rows = sum(total.rows for total in found)
    if rows:
        reasons = "; ".join(sorted({total.reason for total in found}))
        yield _finding(
            life,
            UNDECIDED,
            Certainty.UNDECIDED,
            f"{rows:,} rows: {reasons}",
            "see the table undecided of inspector leftovers for what would decide them",
            rows,
            sum(total.bytes for total in found),
        )


def _said(total: LeftoverTotal) -> str:
    if total.before_window:
        return "they have no timeout, so nothing will ever call them again; most likely it fired"
    return _WORDS[total.kind]


def _since(total: LeftoverTotal) -> str:
    if total.before_window:
        return f"before the window of proof, which begins with version {total.oldest_version}"
    return f"the oldest since batch {total.oldest_version - 1}"


def _details(total: LeftoverTotal) -> str:
    changes = [f"{n:,} {_CHANGES[word]}" for word, n in total.by_change.items() if n]
    if total.kind is LeftoverClass.IGNORED_TIMEOUT:
        changes = []
    words = [", ".join(changes)] if changes else []
    if total.fired > 1:
        words.append(f"up to {total.fired:,} times in a row")
    if total.reason:
        words.append(total.reason)
    return f" ({'; '.join(words)})" if words else ""


def _grows(life: StoreLifetime) -> Iterator[Finding]:
    """Rows that only become more, where no rule that is known could tell whether they should."""
    rule = life.rule
    known = rule.expiry is not None or rule.never is not None or rule.event_time is not None
    grown = life.newest.rows - life.first.rows
    if known or rule.needs_none or life.removals or life.window < WINDOW or grown <= 0:
        return
    yield _finding(
        life,
        NO_REMOVES,
        Certainty.INFERRED,
        f"{grown:,} rows more than {life.window} versions before, and none was removed "
        f"({rule.unknown})",
        rule.advice or "give the rule with --operator-rule, if you know it",
        life.newest.rows,
        life.newest.row_bytes,
    )


PAST = (LeftoverClass.PAST_WATERMARK, LeftoverClass.PAST_PROCESSING_TIME)
_WORDS = {
    LeftoverClass.PAST_WATERMARK: "the watermark of a processed batch covered them and they stayed",
    LeftoverClass.PAST_PROCESSING_TIME: "the processing time of a batch that ran was past the "
    "moment at which they should have gone",
    LeftoverClass.KEPT_WITHOUT_TIMEOUT: "their timeout fired and they were kept with no timeout, "
    "so nothing will ever call them again",
    LeftoverClass.IGNORED_TIMEOUT: "their timeout fired and was ignored, so it fires each batch",
    LeftoverClass.REARMED: "their timeout fired and was armed anew",
}
_CHANGES = {
    "untouched": "with their state untouched",
    "changed": "with their state changed",
    "empty": "with no state, as an empty row",
}


def _finding(  # noqa: PLR0913 - the fields of one value
    life: StoreLifetime,
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
