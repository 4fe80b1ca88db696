"""Parts of messages about leftovers (expired rows that are still there), for several findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import LeftoverCount
from inspector.findings.finding import Severity
from inspector.findings.views.store_expiry import CHANGES
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.eviction import way_of
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.rule import RowKind

# classes of leftovers whose expiry time a clock has passed
PAST = (LeftoverClass.PAST_WATERMARK, LeftoverClass.PAST_PROCESSING_TIME)
# classes of leftovers whose timers are set, so that Spark will call the function for them again
CALLED = (LeftoverClass.IGNORED_TIMEOUT, LeftoverClass.REARMED)
# Sentence of the advice on leftovers of the classes CALLED, whose timers are still set. A copy
# of the checkpoint is not needed, because Spark calls the fixed function for their keys.
CALLED_ADVICE = (
    "The keys that are there need no copy: their timers are set, so Spark calls the fixed function "
    "for them"
)
# advice on leftovers of group state; a command follows it
CALL_AGAIN = "For the keys that are there a copy can have the function called once more"
# advice on leftovers of operators without group state; a command follows it
LEAVE_OUT = "A copy can leave out the rows that are there"
EVICTION = "inspector copy PATH NEW --evict leftovers --plan"
"""Command that shows what a copy without leftovers changes; ``PATH`` is the checkpoint."""
INFERRED_EVICTION = "inspector copy PATH NEW --evict leftovers --certainty inferred --plan"
"""Command EVICTION with the option for inferred leftovers, which are not left out by default."""
CHANGE_WORDS = (
    "with their state unchanged",
    "with their state changed",
    "with no state left but the empty row",
)  # words for what became of the state of leftover keys, in the order of CHANGES


def leftovers_of(
    store: StoreView, row_kind: RowKind | None, *classes: LeftoverClass
) -> Iterator[LeftoverCount]:
    """Yield the counts of a store's leftovers of some classes that are proven or inferred.

    Undecided leftovers are left out. Nothing is yielded if the rows of the store are of another
    kind than ``row_kind``; None stands for all kinds.
    """
    for total in store.expiry.leftovers if row_kind in (None, store.rule.row_kind) else ():
        is_decided = total.certainty is not Certainty.UNDECIDED
        if total.rows and is_decided and total.leftover_class in classes:
            yield total


def numbers_of(store: StoreView, total: LeftoverCount, severity: Severity) -> dict[str, Any]:
    """Return values for findings about leftovers, by name of argument or template field.

    The names are ``certainty``, ``severity``, ``since``, ``details`` and ``advice``. The value
    of ``since`` is a text on when the oldest leftover was left behind. ``total`` is the count
    that the finding is about.
    """
    return {
        "certainty": total.certainty,
        "severity": severity,
        "since": since_of(total),
        "details": "; ".join(details_of(total)),
        "advice": advice_for(store, total, severity),
    }


def since_of(total: LeftoverCount) -> str:
    """Return words for the time since which rows are left behind, such as ``batch 12``.

    It is ``before version N, ...`` for leftovers from before the window. For keys with a new
    timeout it is the batch of their first timeout, or ``batch N or later``.
    """
    if total.before_window:
        return f"before version {total.expired_version}, the oldest that can be read"
    if total.leftover_class is not LeftoverClass.REARMED:
        return f"batch {total.expired_version - 1}"
    if total.first_expired_version is None:
        return f"batch {total.expired_version - 1} or later"
    return f"batch {total.first_expired_version - 1}"


def details_of(total: LeftoverCount) -> Iterator[str]:
    """Yield clauses on leftover keys: what became of their state, timeouts in a row, the reason.

    A clause is left out if nothing is known about it.
    """
    counts = [] if total.is_ignored else [getattr(total, name) for name in CHANGES]
    changes = zip(counts, CHANGE_WORDS, strict=False)
    if words := ", ".join(f"{count:,} {change}" for count, change in changes if count):
        yield words
    if (total.fired or 0) > 1:
        yield f"up to {total.fired:,} times in a row"
    if total.reason:
        yield total.reason


def advice_for(store: StoreView, total: LeftoverCount, severity: Severity) -> str:
    """Return advice against leftovers, and on a copy of the checkpoint if it can help.

    A copy is not named for a finding of severity info, or if rows of the operator must not be
    evicted. If the timers of the keys are still set, an added sentence says that no copy is needed.
    """
    # Advice for a store without a known rule does not help rows that a rule was found for.
    advice = store.rule.advice if store.rule.expiry is not None else ""
    if total.leftover_class is LeftoverClass.REARMED:
        advice = (
            "where a key has had its last timeout, call state.remove() in place of setting "
            "another; if a timer that comes again and again is meant, nothing has to be done"
        )
    advice = advice or "inspector leftovers lists the keys"
    if severity is Severity.INFO:
        return advice
    if total.leftover_class in CALLED:
        return f"{advice}. {CALLED_ADVICE}"
    if way_of(store.operator_name, store.rule, None, None, expired=True).refused:
        return advice
    cure = CALL_AGAIN if store.operator_name in GROUP_STATE else LEAVE_OUT
    command = EVICTION if total.certainty is Certainty.PROVEN else INFERRED_EVICTION
    return f"{advice}. {cure}: {command}"
