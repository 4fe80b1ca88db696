"""SS203: timeout fired and key kept.

What it means:
    The timeout of a key fired, the function was called for it, and the key is still there: with no
    timer (`kept_without_timeout`), with the timer that fired (`ignored_timeout`, Python only; it
    fires in every later batch), or with a new one (`rearmed`).

How it is proven:
    The timer was due by the clock of a batch that ran, and the record of that batch is where Spark
    writes those of timeouts; else it is inferred (topic `proofs`).

Source:
    FlatMapGroupsWithStateExec.processTimedOutState, InputProcessor.onIteratorCompletion (2.4 to
    4.3); FlatMapGroupsInPandasWithStateExec (3.4 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import LeftoverCount
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.leftover_numbers import leftovers_of, numbers_of
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.quantities import count_text

# classes of leftovers: keys that were kept after their timeout fired
KEPT, IGNORED, REARMED = (
    LeftoverClass.KEPT_WITHOUT_TIMEOUT,
    LeftoverClass.IGNORED_TIMEOUT,
    LeftoverClass.REARMED,
)


class KeptKeys(Rule[StoreView]):
    """Keys of a group state that a timeout did not remove."""

    scope = "store"
    id = "SS203"
    title = "timeout fired and key kept"
    severity = Severity.ERROR
    certainties = (Certainty.PROVEN, Certainty.INFERRED)
    spark = "GroupState.remove"
    next_step = (
        "call state.remove() in the branch where state.hasTimedOut. A function that keeps a key "
        "on purpose sets a new timeout there (`rearmed`)"
    )
    command = "leftovers"
    explains = ("SS204", "SS210")
    explains_store = True

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield the keys of a group state that are still there after their timeout fired.

        There is one evidence for each class and certainty. The classes are: the key has no timeout
        now, the timeout that fired is still set, or the function set a new timeout.
        """
        totals = [*leftovers_of(store, None, KEPT, IGNORED, REARMED)]
        rearmed = [total for total in totals if total.leftover_class is REARMED]
        cases = {KEPT: self.leaked, IGNORED: self.ignored, REARMED: self.rearmed}
        for total in totals:
            severity = severity_of(total)
            alike = [total]
            if total in rearmed:
                # Keys of a store that are proven and keys that are likely have one cause.
                alike = [other for other in rearmed if severity_of(other) is severity]
            yield cases[total.leftover_class](
                total.rows,
                total.row_bytes,
                **numbers_of(store, total, severity),
                **keys_of(alike),
            )

    leaked = Case(
        cause="{words:capital} leaked: {keys:/its} timeout fired and the function did not call "
        "state.remove().",
        evidence="{rows:key} {rows:/was} kept without a timeout after {rows:/its} timeout fired, "
        "the oldest since {since}{details:brackets}",
        next_step="{advice}",
    )
    ignored = Case(
        cause="{words:capital} leaked: {keys:/its} timeout fired and the function did nothing "
        "about it, so that it fires again in every batch.",
        evidence="the timeout of {rows:key} fired and was not answered, the oldest since {since}"
        "{details:brackets}",
        next_step="{advice}",
    )
    rearmed = Case(
        cause="{words:capital} {keys:/was} kept: {keys:/its} timeout fired{often:brackets}, and "
        "the function set a new one and did not call state.remove().",
        evidence="the timeout of {rows:key} fired and was set again, the first since {since}"
        "{details:brackets}",
        next_step="{advice}",
    )


def keys_of(totals: Sequence[LeftoverCount]) -> dict[str, Any]:
    """Return values for templates, by name: ``keys``, ``words`` and ``often``.

    ``keys`` is the number of keys in ``totals``, and ``words`` is that number in words. ``often``
    says how often timeouts fired in a row, and how many keys are proven; "" for neither.
    """
    keys = sum(total.rows for total in totals)
    proven = sum(total.rows for total in totals if total.certainty is Certainty.PROVEN)
    fired = max(total.fired or 0 for total in totals)
    number = count_text(keys, "key")
    often = [f"up to {fired:,} times in a row"] if fired > 1 else []
    often += [f"proven of {proven:,}"] if 0 < proven < keys else []
    words = number if proven == keys else f"most likely {number}"
    return {"keys": keys, "words": words, "often": "; ".join(often)}


def severity_of(total: LeftoverCount) -> Severity:
    """Return the severity of a finding about one count of leftovers.

    It is an error if the keys are proven to be stuck, and a warning if that is inferred. Keys with
    a new timer may be intended: a warning if timeouts in a row left the state unchanged, else info.
    """
    if total.leftover_class is REARMED:
        is_idle = (total.fired or 0) > 1 and bool(total.untouched)
        return Severity.WARNING if is_idle else Severity.INFO
    return Severity.ERROR if total.certainty is Certainty.PROVEN else Severity.WARNING
