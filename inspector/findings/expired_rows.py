"""SS202, SS203, SS210, SS212 and SS213: expired keys that are still there, class by class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import LeftoverCount
from inspector.findings import catalogue
from inspector.findings.finding import Finding, Severity
from inspector.light_dataclasses import dataclass
from inspector.model import Certainty, TimeoutKind
from inspector.operators.rule import RowKind
from inspector.quantities import count_text

PAST = (LeftoverClass.PAST_WATERMARK, LeftoverClass.PAST_PROCESSING_TIME)
_REARMED_ADVICE = (
    "where a key has had its last timeout, call state.remove() in place of setting another; if a "
    "timer that comes again and again is meant, nothing has to be done"
)
EVICTION = "inspector copy PATH NEW --evict leftovers{certainty} --plan"
"""Command that shows what a copy without leftovers changes; ``PATH`` is the checkpoint."""
_CALLED = (LeftoverClass.IGNORED_TIMEOUT, LeftoverClass.REARMED)
_CALLED_ADVICE = (
    "The keys that are there need no copy: their timers are set, so Spark calls the fixed function "
    "for them"
)
_KINDS = {
    RowKind.ROW: catalogue.PAST_WATERMARK,
    RowKind.TTL_VALUE: catalogue.EXPIRED_TTL,
    RowKind.TIMER: catalogue.DUE_TIMER,
}
_NOUNS = {RowKind.ROW: "row", RowKind.TTL_VALUE: "value", RowKind.TIMER: "timer"}
_WORDS = {
    LeftoverClass.PAST_WATERMARK: "a batch ran with a watermark that covered {them}, and {they} "
    "stayed",
    LeftoverClass.PAST_PROCESSING_TIME: "a batch ran after the time at which {they} should have "
    "gone, and {they} stayed",
    LeftoverClass.KEPT_WITHOUT_TIMEOUT: "{their} timeout fired and {they} {were} kept without one",
    LeftoverClass.IGNORED_TIMEOUT: "{their} timeout fired and was not answered",
    LeftoverClass.REARMED: "{their} timeout fired and was set again",
}  # what happened to a row, or to several
_PLURAL = ("they", "them", "their", "were", "have")
_SINGULAR = ("it", "it", "its", "was", "has")
_CHANGES = {
    "untouched": "with their state unchanged",
    "changed": "with their state changed",
    "empty": "with no state left but the empty row",
}


@dataclass(frozen=True)
class Place:
    """Where leftovers are, and what their user can do."""

    operator_id: int
    store_name: str
    advice: str  # what helps against leftovers of its rule; empty if that is not known
    row_kind: RowKind = RowKind.ROW  # what its rows are
    removes: bool = False  # whether it removed rows in the history: in complete mode it would not
    # what a copy can do for leftovers that are there, as a sentence; empty if they are not evicted
    cure: str = ""


def judge_leftovers(subject: Place, leftovers: Sequence[LeftoverCount]) -> Iterator[Finding]:
    """A finding for each class and certainty that there is."""
    judgements = [of for of in leftovers if of.rows and of.certainty is not Certainty.UNDECIDED]
    rearmed = [of for of in judgements if of.leftover_class is LeftoverClass.REARMED]
    for total in judgements:
        is_past = total.leftover_class in PAST
        kind = _KINDS[subject.row_kind] if is_past else catalogue.TIMEOUT_KEPT
        severity = _severity(total)
        cause, next_step = _cause(total, subject), subject.advice
        if total in rearmed:
            next_step = _REARMED_ADVICE
            if subject.row_kind is RowKind.ROW:
                cause = _rearmed_cause([of for of in rearmed if _severity(of) is severity])
        next_step = next_step or "inspector leftovers lists the keys"
        if total.leftover_class in _CALLED and severity is not Severity.INFO:
            next_step = f"{next_step}. {_CALLED_ADVICE}"
        elif subject.cure and severity is not Severity.INFO:
            sure = total.certainty is Certainty.PROVEN
            command = EVICTION.format(certainty="" if sure else " --certainty inferred")
            next_step = f"{next_step}. {subject.cure}: {command}"
        yield kind.of_store(
            *(subject, _evidence(subject, total), total.rows, total.row_bytes, cause),
            certainty=total.certainty,
            next_step=next_step,
            severity=severity,
        )


def judge_open(
    subject: Place,
    leftovers: Sequence[LeftoverCount],
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
        and (total.leftover_class is not LeftoverClass.REARMED or total.untouched)
    ]
    rows = sum(total.rows for total in result)
    if rows:
        timers = subject.row_kind is RowKind.TIMER
        text = count_text(rows, "timer" if timers else "key")
        options = [
            f"if the query uses {kind.value}-time timeouts, with --timeout-kind {kind.value} "
            f"{count_text(keys, 'key')} {'is' if keys == 1 else 'are'} proven to be left behind; "
            for kind, keys in provable.items()
        ]
        yield catalogue.UNDECIDED.of_store(
            subject,
            f"{text}: {'; '.join(sorted({total.reason or '' for total in result}))}",
            rows,
            sum(total.row_bytes for total in result),
            _undecided_cause(text, result, timers=timers),
            next_step=f"{''.join(options)}{catalogue.UNDECIDED.to_do}",
        )


def _undecided_cause(text: str, totals: Sequence[LeftoverCount], *, timers: bool) -> str:
    if timers:
        clause = "it fires" if text.startswith("1 ") else "they fire"
        return f"The time of {text} has come, and the next batch will show whether {clause}."
    if all(total.leftover_class is LeftoverClass.PAST_WATERMARK for total in totals):
        return (
            f"The watermark of the query has passed {text}, and the files do not show whether it "
            "reaches the operator."
        )
    return f"The files do not show whether a timeout left {text} behind."


def _severity(total: LeftoverCount) -> Severity:
    """An error only where keys are proven to be stuck; a new timer may be what is meant."""
    if total.leftover_class in PAST:
        return catalogue.PAST_WATERMARK.severity
    if total.leftover_class is LeftoverClass.REARMED:
        return Severity.WARNING if total.fired > 1 and total.untouched else Severity.INFO
    return Severity.ERROR if total.certainty is Certainty.PROVEN else Severity.WARNING


def _cause(total: LeftoverCount, subject: Place) -> str:
    keys = count_text(total.rows, "key")
    they, them, _, were, have = _SINGULAR if total.rows == 1 else _PLURAL
    rows = count_text(total.rows, _NOUNS[subject.row_kind])
    if subject.row_kind is RowKind.TTL_VALUE:
        return f"The TTL of {rows} has run out, and {they} {have} not been removed."
    if subject.row_kind is RowKind.TIMER:
        return f"The time of {rows} has come, and {they} {were} neither fired nor deleted."
    sure = total.certainty is Certainty.PROVEN
    if total.leftover_class is LeftoverClass.PAST_WATERMARK:
        kept = "" if sure else ", as complete output mode keeps every group"
        if subject.removes and not sure:
            kept = ", though it removed others"
        return f"The watermark has passed {rows} that the operator still keeps{kept}."
    if total.leftover_class is LeftoverClass.PAST_PROCESSING_TIME:
        return f"The time to remove {rows} has come and the state still has {them}."
    likely = "The timeout of" if sure else "Most likely the timeout of"
    if total.is_ignored:
        return (
            f"{likely} {keys} fired and the function did nothing about it, so that it fires "
            "again in every batch."
        )
    return (
        f"{likely} {keys} fired and the function kept {them} without a timeout, so nothing but "
        f"new data can have {them} removed."
    )


def _rearmed_cause(totals: Sequence[LeftoverCount]) -> str:
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


def _evidence(subject: Place, total: LeftoverCount) -> str:
    text = _NOUNS[subject.row_kind] if total.leftover_class in PAST else "key"
    event = _WORDS[total.leftover_class]
    if total.before_window:
        event = "without a timeout, so that only new data can call the function for {them}"
    words = dict(zip(_PLURAL, _SINGULAR if total.rows == 1 else _PLURAL, strict=True))
    since = _since(total).format(**words)
    return f"{count_text(total.rows, text)}: {event.format(**words)}{_details(total)}; {since}"


def _since(total: LeftoverCount) -> str:
    if total.before_window:
        return (
            f"since before version {total.expired_version}, the oldest that can be read: what "
            "happened to {them} then is not known"
        )
    if total.leftover_class is LeftoverClass.REARMED:
        if total.first_expired_version is None:
            return f"these timeouts fired in batch {total.expired_version - 1} or later"
        return f"the first of these timeouts fired in batch {total.first_expired_version - 1}"
    return f"the oldest since batch {total.expired_version - 1}"


def _details(total: LeftoverCount) -> str:
    changes = {} if total.is_ignored else {w: getattr(total, of) for of, w in _CHANGES.items()}
    words = [", ".join(f"{n:,} {change}" for change, n in changes.items() if n)]
    words += [f"up to {total.fired:,} times in a row"] if total.fired > 1 else []
    text = "; ".join(filter(None, (*words, total.reason)))
    return f" ({text})" if text else ""
