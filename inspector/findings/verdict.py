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

SHORT_S = 600  # seconds of history below which rates per hour are marked as extrapolated
_INFORMATION = 3  # index of the first rank that has only information
_MOST = 0.5  # share of all bytes from which few values are the main cause
# factor of bytes by which a store that only gains rows explains the state better than a symptom
_FAR_MORE = 10


def too_short(versions: int) -> str:
    """Return a clause on why this number of versions does not show a trend."""
    if not versions:
        return "the batches that can be read, or their clocks, do not tell whether the state grows"
    if versions < FEWEST:
        return "too few batches can be read to tell whether the state grows"
    return (
        f"the {versions:,} batches that can be read began within {SHORTEST_MS // 1000} seconds, "
        "too short a time to tell whether the state grows"
    )


def short_history_text(since_ms: int, newest_ms: int | None) -> str:
    """Return ``extrapolated from 5 seconds`` if rates rest on a short history, else no text.

    ``since_ms`` and ``newest_ms`` are epoch ms.
    """
    seconds = SHORT_S if newest_ms is None else (newest_ms - since_ms) / 1000
    if seconds >= SHORT_S:
        return ""
    return f"extrapolated from {short_count_text(max(1, round(seconds)), 'second')}"


class Level(enum.Enum):
    """Urgency of a checkpoint, from least to most."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    UNREADABLE = "unreadable"

    @property
    def rank(self) -> int:
        """Position from the least to the most urgent."""
        return list(Level).index(self)


@dataclass(frozen=True)
class StateSize:
    """Size of the judged version, over all stores that could be read."""

    rows: int  # number of live rows, exact
    bytes: int  # their UnsafeRow bytes, exact
    # estimated heap of the versions that executors retain by default; None if the state is not on
    # the heap
    heap_bytes: int | None
    counters: int = 0  # number of these rows that only count other rows, as in a join


@dataclass(frozen=True)
class StateGrowth:
    """Growth of the state of all stores, over versions that every partition can restore.

    Rates are per hour of batch clock, by a robust line (:mod:`inspector.estimates.growth`); they
    are estimates, and not above 0 if the state was judged not to grow.
    """

    rows_per_hour: float  # live rows
    bytes_per_hour: float  # UnsafeRow bytes
    heap_bytes_per_hour: float | None  # heap bytes; None if the state is not on the heap
    since_batch: int  # batch where the line begins
    since_ms: int  # clock of that batch, epoch ms
    growing: bool  # the rise is larger than the changes of one batch explain
    # the line begins with the oldest version that can be read, and may have begun before it
    since_oldest: bool = True
    versions: int = 0  # number of versions that the line is fitted to
    # there are enough versions, over enough time, to see a trend; if not, ``growing`` is False
    judged: bool = True
    # new keys, counted exactly without timers, counters and indexes; None if unknown
    new_rows_per_hour: float | None = None
    # removed keys, counted in the same way; None if unknown
    removed_rows_per_hour: float | None = None
    # words for key columns with a different value in nearly each of the newest keys; empty if no
    # keys were compared, as by ``watch``
    new_columns: tuple[str, ...] = ()

    def rate_for_limits(self, per_hour: float) -> float | None:
        """Return one of the rates as limits and alerts compare it; None if too few versions tell.

        A rate above 0 counts as 0 if the state does not grow.
        """
        # None of them may go off for a healthy state: of one that only fluctuates, or has just
        # filled its window, the line goes up too. So a rise that is no trend is 0.
        if not self.judged:
            return None
        return per_hour if self.growing else min(per_hour, 0)


@dataclass(frozen=True)
class Cause:
    """The finding that explains most, in words for a person who has never seen this tool."""

    finding: Finding  # main finding
    sentence: str  # the cause in one plain sentence
    # share of the judged version's rows that the finding is about, 0 to 1; None if it counts none
    rows_share: float | None
    bytes_share: float | None  # share of the row bytes; None if it counts none
    heap_share: float | None  # estimated share of the heap; None if it counts none
    to_do: str  # what to change, a sentence
    command: str  # command that shows more, without program and path: ``top --operator 1``
    operator_name: str | None = None  # None if it is about no single operator
    # None if it is about no single store; the shares are of all stores of the operator with this
    # cause
    store_name: str | None = None


@dataclass(frozen=True)
class Verdict:
    """Judgement on a checkpoint that a person has to know first."""

    level: Level  # urgency of the checkpoint
    errors: int  # number of findings of severity error
    warnings: int  # number of findings of severity warning
    infos: int  # number of findings of severity info
    problems: int  # number of causes for which something could not be read as it should
    growth: StateGrowth | None = None  # None if the versions span no time
    cause: Cause | None = None  # None if there is nothing to explain
    size: StateSize | None = None  # None from a command that looks at files alone
    # number of expired rows that are still there, exact; None if a store's rule is unknown for lack
    # of its schema
    leftovers: int | None = 0
    restart: Restart | None = None  # None where a part, or an older version, was judged


def level_of(findings: Sequence[Finding], problems: Sequence[Problem]) -> Level:
    """Return the most severe level; a part that cannot be read is worse than any finding."""
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
    """Return the finding that explains most: by :data:`RANKS`, or the reason of that one.

    Few values with most of the bytes come before rows that outlive their rule. If the state does
    not grow, what it costs comes before rows that may outlive their rule. ``sizes`` are the bytes
    that each finding is about, ``total`` all bytes. None without a finding.
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
    """True if the finding says that the query itself stands still."""
    return finding.weight is Weight.URGENT


def _is_heavy(finding: Finding, size: int, total: int) -> bool:
    """Return whether a finding is about few values with most bytes of the state.

    ``size`` are the bytes that it is about, ``total`` all bytes.
    """
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
    """Return the main finding's cause, and the cause of an efficiency finding if one fits.

    The second cause is added only to a lifetime finding about an operator. It must be about the
    operator and store of the main finding, and about at least half of ``total`` bytes or of a kind
    that is always about most rows. ``sizes`` are the bytes that each finding is about.
    """
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
    """Return the sort key of reasons: of the whole query first, then by severity, then by id."""
    return kind.in_store, -kind.severity, kind.id


def _root_of(finding: Finding, findings: Sequence[Finding]) -> Finding:
    """Return the last reason in the chain of reasons of a finding; itself if it has none."""
    reasons = [
        reason
        for reason in findings
        if finding.kind.id in reason.kind.explains
        and (not reason.kind.in_store or reason.store == finding.store)
    ]
    reason = min(reasons, key=lambda candidate: by_reach(candidate.kind), default=None)
    return finding if reason is None else _root_of(reason, findings)
