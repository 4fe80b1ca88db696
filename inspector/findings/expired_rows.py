"""SS202, SS203, SS210, SS212 and SS213: expired keys that are still there, class by class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import LeftoverCount
from inspector.findings import catalogue
from inspector.findings.finding import Finding, Severity
from inspector.light_dataclasses import dataclass, field
from inspector.merge.resolution import reasons_of
from inspector.model import Certainty, TimeoutKind
from inspector.operators.rule import RowKind
from inspector.quantities import count_text
from inspector.sums import sum_known

PAST = (LeftoverClass.PAST_WATERMARK, LeftoverClass.PAST_PROCESSING_TIME)


@dataclass(frozen=True)
class LeftoverTotal:
    """How many leftovers of one judgement a store has, and since which version."""

    kind: LeftoverClass
    certainty: Certainty
    rows: int
    bytes: int  # their row bytes
    oldest_version: int  # the oldest whose batch proves of one of them that it had expired
    fired: int = 1  # the longest run of timeouts of any of them
    # keys by what became of their state; None for rules without a timer
    by_change: Mapping[str, int | None] = field(default_factory=dict)
    before_window: bool = False  # they expired before the window of proof
    reason: str = ""  # what the judgement rests on; empty for a plain proof
    # of the first timeout in the runs with which their histories end; None where it is not known
    first_version: int | None = None
    key_bytes: int = 0  # those of their keys

    @classmethod
    def of(cls, counts: Sequence[LeftoverCount]) -> LeftoverTotal:
        """What the partitions count of one judgement, together."""
        judgement = counts[0]
        firsts = [f for c in counts if (f := c.first_expired_version) is not None]
        changes = ("untouched", "changed", "empty")
        return cls(
            judgement.leftover_class,
            judgement.certainty,
            sum(count.rows for count in counts),
            sum(count.row_bytes for count in counts),
            min(count.expired_version for count in counts),
            fired=max(count.fired for count in counts),
            by_change={name: sum_known(getattr(c, name) for c in counts) for name in changes},
            before_window=judgement.before_window,
            reason=reasons_of(counts) or "",
            first_version=min(firsts) if len(firsts) == len(counts) else None,
            key_bytes=sum(count.key_bytes for count in counts),
        )

    @property
    def keys(self) -> str:
        """``1 key``, ``68 keys``."""
        return count_text(self.rows, "key")

    @property
    def them(self) -> str:
        """The pronoun for them."""
        return "it" if self.rows == 1 else "them"


@dataclass(frozen=True)
class Place:
    """Where leftovers are, and what their user can do."""

    operator_id: int
    store_name: str
    advice: str  # what helps against leftovers of its rule; empty if that is not known
    row_kind: RowKind = RowKind.ROW  # what its rows are
    # whether it removed rows in the history, and in complete output mode would not
    removes: bool = False


def judge_leftovers(subject: Place, leftovers: Sequence[LeftoverTotal]) -> Iterator[Finding]:
    """A finding for each class and certainty that there is."""
    judgements = [of for of in leftovers if of.rows and of.certainty is not Certainty.UNDECIDED]
    rearmed = [of for of in judgements if of.kind is LeftoverClass.REARMED]
    for total in leftovers:
        if total in judgements:
            kind = _KINDS[subject.row_kind] if total.kind in PAST else catalogue.TIMEOUT_KEPT
            severity = _severity(total)
            cause, next_step = _cause(total, subject), subject.advice
            if total.kind is LeftoverClass.REARMED:
                next_step = _REARMED_ADVICE
                if subject.row_kind is RowKind.ROW:
                    cause = _rearmed_cause([of for of in rearmed if _severity(of) is severity])
            yield kind.of_store(
                *(subject, _evidence(subject, total), total.rows, total.bytes, cause),
                certainty=total.certainty,
                next_step=next_step or "inspector leftovers lists the keys",
                severity=severity,
            )


def judge_open(
    subject: Place,
    leftovers: Sequence[LeftoverTotal],
    *,
    said: bool,
    provable: Mapping[TimeoutKind, int] = MappingProxyType({}),
) -> Iterator[Finding]:
    """Keys that may be stuck; one that has a new timer is judged again when that runs out."""
    # said: that keys without a timer since before the window can never expire is a finding.
    # provable: keys that naming a clock of the timers would prove to be left.
    result = [
        total
        for total in leftovers
        if total.certainty is Certainty.UNDECIDED
        and not (said and total.before_window)
        and not (total.kind is LeftoverClass.REARMED and not total.by_change.get("untouched"))
    ]
    rows = sum(total.rows for total in result)
    if rows:
        reasons = "; ".join(sorted({total.reason for total in result}))
        timers = subject.row_kind is RowKind.TIMER
        text = count_text(rows, "timer" if timers else "key")
        yield catalogue.UNDECIDED.of_store(
            subject,
            f"{text}: {reasons}",
            rows,
            sum(total.bytes for total in result),
            _undecided_cause(text, result, timers=timers),
            next_step=f"{_by_option(provable)}{catalogue.UNDECIDED.to_do}",
        )


def _by_option(provable: Mapping[TimeoutKind, int]) -> str:
    """What each value of ``--timeout-kind`` would prove; empty if none does."""
    options = [
        f"if the query uses {kind.value}-time timeouts, with --timeout-kind {kind.value} "
        f"{count_text(keys, 'key')} {'is' if keys == 1 else 'are'} proven to be left behind; "
        for kind, keys in provable.items()
    ]
    return "".join(options)


def _undecided_cause(text: str, totals: Sequence[LeftoverTotal], *, timers: bool) -> str:
    if timers:
        clause = "it fires" if text.startswith("1 ") else "they fire"
        return f"The time of {text} has come, and the next batch will show whether {clause}."
    if all(total.kind is LeftoverClass.PAST_WATERMARK for total in totals):
        return (
            f"The watermark of the query has passed {text}, and the files do not show whether it "
            "reaches the operator."
        )
    return f"The files do not show whether a timeout left {text} behind."


def _severity(total: LeftoverTotal) -> Severity:
    """An error only where keys are proven to be stuck; a new timer may be what is meant."""
    if total.kind in PAST:
        return catalogue.PAST_WATERMARK.severity
    if total.kind is LeftoverClass.REARMED:
        idle = total.fired > 1 and total.by_change.get("untouched")
        return Severity.WARNING if idle else Severity.INFO
    return Severity.ERROR if total.certainty is Certainty.PROVEN else Severity.WARNING


_REARMED_ADVICE = (
    "where a key has had its last timeout, call state.remove() in place of setting another; if a "
    "timer that comes again and again is meant, nothing has to be done"
)


def _cause(total: LeftoverTotal, subject: Place) -> str:
    keys, pronoun, is_single = total.keys, total.them, total.rows == 1
    rows = count_text(total.rows, _NOUNS[subject.row_kind])
    if subject.row_kind is RowKind.TTL_VALUE:
        clause = "it has" if is_single else "they have"
        return f"The TTL of {rows} has run out, and {clause} not been removed."
    if subject.row_kind is RowKind.TIMER:
        clause = "it was" if is_single else "they were"
        return f"The time of {rows} has come, and {clause} neither fired nor deleted."
    sure = total.certainty is Certainty.PROVEN
    if total.kind is LeftoverClass.PAST_WATERMARK:
        kept = "" if sure else ", as complete output mode keeps every group"
        if subject.removes and not sure:
            kept = ", though it removed others"
        return f"The watermark has passed {rows} that the operator still keeps{kept}."
    if total.kind is LeftoverClass.PAST_PROCESSING_TIME:
        return f"The time to remove {rows} has come and the state still has {pronoun}."
    likely = "The timeout of" if sure else "Most likely the timeout of"
    if total.kind is LeftoverClass.IGNORED_TIMEOUT:
        return (
            f"{likely} {keys} fired and the function did nothing about it, so that it fires "
            "again in every batch."
        )
    return (
        f"{likely} {keys} fired and the function kept {pronoun} without a timeout, so nothing but "
        f"new data can have {pronoun} removed."
    )


def _rearmed_cause(totals: Sequence[LeftoverTotal]) -> str:
    """What is proven and what is likely of keys of one store is one cause."""
    rows = sum(total.rows for total in totals)
    proven = sum(total.rows for total in totals if total.certainty is Certainty.PROVEN)
    fired = max(total.fired for total in totals)
    words = [f"up to {fired:,} times in a row"] if fired > 1 else []
    words += [f"proven of {proven:,}"] if 0 < proven < rows else []
    often = f" ({'; '.join(words)})" if words else ""
    return (
        f"{'The' if proven == rows else 'Most likely the'} timeout of {count_text(rows, 'key')} "
        f"fired{often}, and the function set a new one instead "
        f"of removing {'it' if rows == 1 else 'them'}."
    )


def _evidence(subject: Place, total: LeftoverTotal) -> str:
    text = _NOUNS[subject.row_kind] if total.kind in PAST else "key"
    return f"{count_text(total.rows, text)}: {_event_text(total)}{_details(total)}; {_since(total)}"


def _event_text(total: LeftoverTotal) -> str:
    if total.before_window:
        return f"without a timeout, so that only new data can call the function for {total.them}"
    return _WORDS[total.kind][total.rows != 1]


def _since(total: LeftoverTotal) -> str:
    if total.before_window:
        return (
            f"since before version {total.oldest_version}, the oldest that can be read: what "
            f"happened to {total.them} then is not known"
        )
    if total.kind is LeftoverClass.REARMED:
        if total.first_version is None:
            return f"these timeouts fired in batch {total.oldest_version - 1} or later"
        return f"the first of these timeouts fired in batch {total.first_version - 1}"
    return f"the oldest since batch {total.oldest_version - 1}"


def _details(total: LeftoverTotal) -> str:
    words = [", ".join(f"{n:,} {_CHANGES[word]}" for word, n in total.by_change.items() if n)]
    if total.kind is LeftoverClass.IGNORED_TIMEOUT:
        words = []
    words += [f"up to {total.fired:,} times in a row" if total.fired > 1 else "", total.reason]
    text = "; ".join(filter(None, words))
    return f" ({text})" if text else ""


_KINDS = {
    RowKind.ROW: catalogue.PAST_WATERMARK,
    RowKind.TTL_VALUE: catalogue.EXPIRED_TTL,
    RowKind.TIMER: catalogue.DUE_TIMER,
}
_NOUNS = {RowKind.ROW: "row", RowKind.TTL_VALUE: "value", RowKind.TIMER: "timer"}
_WORDS = {
    LeftoverClass.PAST_WATERMARK: (
        "a batch ran with a watermark that covered it, and it stayed",
        "a batch ran with a watermark that covered them, and they stayed",
    ),
    LeftoverClass.PAST_PROCESSING_TIME: (
        "a batch ran after the time at which it should have gone, and it stayed",
        "a batch ran after the time at which they should have gone, and they stayed",
    ),
    LeftoverClass.KEPT_WITHOUT_TIMEOUT: (
        "its timeout fired and it was kept without one",
        "their timeout fired and they were kept without one",
    ),
    LeftoverClass.IGNORED_TIMEOUT: (
        "its timeout fired and was not answered",
        "their timeout fired and was not answered",
    ),
    LeftoverClass.REARMED: (
        "its timeout fired and was set again",
        "their timeout fired and was set again",
    ),
}
"""What happened to one row, and to several."""
_CHANGES = {
    "untouched": "with their state unchanged",
    "changed": "with their state changed",
    "empty": "with no state left but the empty row",
}
