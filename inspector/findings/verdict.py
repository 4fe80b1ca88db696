"""The verdict on a checkpoint: how bad it is, whether its state grows, and the main cause."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

from inspector.discovery.restart import Restart
from inspector.estimates import FEWEST, SHORTEST_MS
from inspector.findings.finding import Concerns, Finding, Group, Kind, Severity, Weight
from inspector.light_dataclasses import dataclass
from inspector.model import READABLE, Certainty, Problem
from inspector.quantities import go_on_with, short_count_text

SHORT_S = 600  # seconds of history below which a rate per hour says what it was made of
_INFORMATION = 3  # the first of :data:`RANKS` that is information alone
_MOST = 0.5  # share of all bytes that few rows have for them to be what is at stake
_FAR_MORE = 10  # times the bytes of a store that only gains rows, which explain its state better


def too_short(versions: int) -> str:
    """What is said of growth where no trend is judged through so many versions, or no time."""
    if not versions:
        return "the batches that can be read, or their clocks, do not tell whether the state grows"
    if versions < FEWEST:
        return "too few batches can be read to tell whether the state grows"
    return (
        f"the {versions:,} batches that can be read began within {SHORTEST_MS // 1000} seconds, "
        "too short a time to tell whether the state grows"
    )


def short_history_text(since_ms: int, newest_ms: int | None) -> str:
    """From how short a history a rate per hour is drawn, in words; empty if it is long enough."""
    seconds = SHORT_S if newest_ms is None else (newest_ms - since_ms) / 1000
    if seconds >= SHORT_S:
        return ""
    return f"extrapolated from {short_count_text(max(1, round(seconds)), 'second')}"


class Level(enum.Enum):
    """How much a checkpoint needs a person, from least to most."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    UNREADABLE = "unreadable"

    @property
    def rank(self) -> int:
        """Its place from the least to the most urgent."""
        return list(Level).index(self)


@dataclass(frozen=True)
class StateSize:
    """What the judged version holds, over all stores that could be read."""

    rows: int  # live ones, exact
    bytes: int  # their UnsafeRow bytes, exact
    # what the versions that an executor retains by default take of its heap, all partitions
    # together; an estimate. None where no executor keeps them on its heap.
    heap_bytes: int | None
    counters: int = 0  # those of the rows that only count the others, as a join's do


@dataclass(frozen=True)
class StateGrowth:
    """How the state of all stores grows over the versions that every partition can restore."""

    # rows_per_hour, bytes_per_hour, heap_bytes_per_hour: per hour of batch clock, by a robust line
    # (:mod:`inspector.estimates.growth`); estimates. Bytes are UnsafeRow bytes. Not above 0 where
    # the state was judged not to grow.
    rows_per_hour: float
    bytes_per_hour: float
    heap_bytes_per_hour: float | None
    # since_batch, since_ms: where that line begins: the batch and its clock, epoch ms
    since_batch: int
    since_ms: int
    growing: bool  # it goes up by more than what one batch's changes explain
    # the line begins with the oldest version that can be read, and may have begun before it
    since_oldest: bool = True
    versions: int = 0  # through which the line is drawn
    # there are enough versions, over enough time, to see a trend; if not, ``growing`` is False
    judged: bool = True
    # new_rows_per_hour, removed_rows_per_hour: keys that came and keys that went over those
    # versions, by exact counts without timers and what only counts or indexes other rows; None if
    # what the versions changed is unknown
    new_rows_per_hour: float | None = None
    removed_rows_per_hour: float | None = None
    # words for columns of which nearly each of the newest keys has another value; none by what
    # compares no keys, as ``watch``
    new_columns: tuple[str, ...] = ()

    def rate_for_limits(self, per_hour: float) -> float | None:
        """One of the rates, as limits and alerts look at it; None where too few versions tell."""
        # None of them may go off for a healthy state: of one that only fluctuates, or has just
        # filled its window, the line goes up too. So a rise that is no trend is 0.
        if not self.judged:
            return None
        return per_hour if self.growing else min(per_hour, 0)


@dataclass(frozen=True)
class Cause:
    """The finding that explains most, in words for a person who has never seen this tool."""

    finding: Finding
    sentence: str  # the cause in one plain sentence
    # rows_share, bytes_share, heap_share: of the rows, row bytes and heap of the judged version
    # that the finding is about, 0 to 1; None where it counts none. The last is an estimate.
    rows_share: float | None
    bytes_share: float | None
    heap_share: float | None
    to_do: str  # what to change, a sentence
    command: str  # that shows more, without the program's name and path: ``top --operator 1``
    operator_name: str | None = None  # None if it is about no single operator
    # None if it is about no single store: where the same is the matter with several stores of an
    # operator, the shares are of all of them
    store_name: str | None = None


@dataclass(frozen=True)
class Verdict:
    """What a person has to know first."""

    level: Level  # how much the checkpoint needs a person
    # errors, warnings, infos: findings of each severity
    errors: int
    warnings: int
    infos: int
    problems: int  # things that could not be read as they should, each once
    growth: StateGrowth | None = None  # None if the versions span no time
    cause: Cause | None = None  # None if there is nothing to explain
    size: StateSize | None = None  # None from a command that looks at files alone
    # rows that should be gone and are there; exact. None if the rule of a store is not known
    # because it has no schema.
    leftovers: int | None = 0
    restart: Restart | None = None  # None where a part, or an older version, was judged


def level_of(findings: Sequence[Finding], problems: Sequence[Problem]) -> Level:
    """The gravest of what was found; unreadable parts are graver than any finding."""
    if any(problem.slug not in READABLE for problem in problems):
        return Level.UNREADABLE
    worst = max((finding.severity for finding in findings), default=None)
    return Level.OK if worst is None else Level(worst.word)


RANKS = (
    ((Group.INTEGRITY,), Severity.ERROR),
    ((Group.LIFETIME,), Severity.WARNING),
    ((Group.EFFICIENCY, Group.INTEGRITY), Severity.WARNING),
    ((Group.LIFETIME,), Severity.INFO),
    ((Group.EFFICIENCY, Group.INTEGRITY), Severity.INFO),
)
"""What findings are about, and their least severity; from what explains most to what explains
least, as ``explanation/judgements`` says. Within a rank the graver finding comes first, and of two
that are as grave the one about more bytes."""


def main_finding(
    findings: Sequence[Finding],
    sizes: Mapping[Finding, int],
    total: int = 0,
    *,
    growing: bool = True,
) -> Finding | None:
    """The finding that explains most: by :data:`RANKS`, then the reason of that one, if it has one.

    Few values with most of the bytes come before rows that outlive their rule. Where the state is
    known not to grow, what it costs comes before rows that may outlive it. ``sizes`` are the bytes
    of the state that each is about, if it counts any, ``total`` is all of it.
    """
    findings = [f for f in findings if f.weight is not Weight.BACKGROUND] or findings
    urgent = None if _leaks(findings) else next(filter(_is_urgent, findings), None)
    heavy = [f for f in findings if _is_heavy(f, sizes.get(f, 0), total)]
    ranks = RANKS if growing else (*RANKS[:-2], RANKS[-1], RANKS[-2])
    for number, (groups, least) in enumerate(ranks):
        # A query that stands still needs a person before its state does, unless that leaks.
        if number and urgent is not None:
            return urgent
        ranked = [f for f in findings if f.kind.group in groups and f.severity >= least]
        if heavy and number and (number >= _INFORMATION or (ranked and number == 1)):
            return max(heavy, key=lambda finding: sizes[finding])
        if ranked:
            return _root_of(_worst_of(ranked, findings, sizes, total), findings)
    return None


def _leaks(findings: Sequence[Finding]) -> bool:
    """Return whether rows are proven to outlive their rule, as a warning or worse."""
    return any(
        finding.kind.group is Group.LIFETIME
        and finding.severity >= Severity.WARNING
        and finding.certainty is Certainty.PROVEN
        for finding in findings
    )


def _is_urgent(finding: Finding) -> bool:
    return finding.weight is Weight.URGENT


def _is_heavy(finding: Finding, size: int, total: int) -> bool:
    """Return whether a finding is about few values with most of the bytes of the state."""
    return finding.kind.concerns is Concerns.REWRITTEN_ROWS and 0 < _MOST * total <= size


def _worst_of(
    ranked: Sequence[Finding],
    findings: Sequence[Finding],
    sizes: Mapping[Finding, int],
    total: int,
) -> Finding:
    """Return the most severe of the ranked findings, unintended ones first, then the largest.

    If it is a symptom, return a lifetime finding about far more bytes instead, if there is one.
    ``sizes`` and ``total`` are bytes.
    """

    def standing(finding: Finding) -> tuple[Severity, bool, int]:
        is_meant = finding.weight is Weight.INTENDED
        return finding.severity, not is_meant, sizes.get(finding, 0)

    worst = max(ranked, key=standing)
    if worst.weight is not Weight.SYMPTOM:
        return worst
    size = max(1, _FAR_MORE * sizes.get(worst, total))
    reasons = [
        finding
        for finding in findings
        if finding.kind.group is Group.LIFETIME
        and finding.weight is not Weight.INTENDED
        and sizes.get(finding, 0) >= size
    ]
    return max(reasons, key=lambda finding: sizes[finding], default=worst)


def cause_sentence(
    findings: Sequence[Finding], main: Finding, sizes: Mapping[Finding, int], total: int
) -> str:
    """The cause of the main finding, and what else is the matter with most of the same rows."""
    about = [
        finding
        for finding in findings
        if finding.kind.group is Group.EFFICIENCY
        and finding.operator_id == main.operator_id
        and (main.store_name is None or finding.store_name in (None, main.store_name))
        and (finding.kind.about_most or sizes.get(finding, 0) >= _MOST * total)
    ]
    if main.kind.group is not Group.LIFETIME or main.operator_id is None or not about:
        return main.cause
    beside = max(about, key=lambda finding: (finding.severity, sizes.get(finding, 0)))
    first, second = (beside, main) if main.kind.id in beside.kind.leads else (main, beside)
    return f"{first.cause.removesuffix('.')}; {go_on_with(second.cause)}"


def by_reach(kind: Kind) -> tuple[bool, int, str]:
    """The order in which reasons are looked for: of the whole query first, then the graver ones."""
    return kind.in_store, -kind.severity, kind.id


def _root_of(finding: Finding, findings: Sequence[Finding]) -> Finding:
    reasons = [
        reason
        for reason in findings
        if finding.kind.id in reason.kind.explains
        and (not reason.kind.in_store or reason.store == finding.store)
    ]
    reason = min(reasons, key=lambda candidate: by_reach(candidate.kind), default=None)
    return finding if reason is None else _root_of(reason, findings)
