"""Verdict on a checkpoint: how urgent it is, whether its state grows, and the main cause."""

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
_INFORMATION = 3  # index, in RANKS, of the first rank that is for findings of severity info
_MOST = 0.5  # share of the state's bytes from which a finding is about most of them
# factor of bytes from which a lifetime finding replaces a symptom as the main cause
_FAR_MORE = 10


def too_short(versions: int) -> str:
    """Return a clause, in lower case, on why the history does not show if the state grows.

    ``versions`` is the number of versions that the growth was to be fitted to; 0 if none has a
    clock.
    """
    if not versions:
        return "the batches that can be read, or their clocks, do not tell whether the state grows"
    if versions < FEWEST:
        return "too few batches can be read to tell whether the state grows"
    return (
        f"the {versions:,} batches that can be read began within {SHORTEST_MS // 1000} seconds, "
        "too short a time to tell whether the state grows"
    )


def short_history_text(since_ms: int, newest_ms: int | None) -> str:
    """Return ``extrapolated from 5 seconds`` if the history is shorter than SHORT_S, else "".

    ``since_ms`` and ``newest_ms`` are the ends of the history in epoch ms. Returns "" if
    ``newest_ms`` is None.
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
        """Position of the level from the least (0) to the most urgent."""
        return list(Level).index(self)


@dataclass(frozen=True)
class StateSize:
    """Size of the judged version, over all stores that could be read."""

    rows: int  # number of live rows, exact
    bytes: int  # UnsafeRow bytes of the live rows, exact
    # estimated heap of the versions that executors retain by default; None if the state is not on
    # the heap
    heap_bytes: int | None
    counters: int = 0  # number of the live rows that only count other rows, as in a join


@dataclass(frozen=True)
class StateGrowth:
    """Growth of the state of all stores, over versions that every partition can restore.

    Rates are per hour of batch clock, by a robust line (:mod:`inspector.estimates.growth`); they
    are estimates, and not above 0 if the state was judged not to grow.
    """

    rows_per_hour: float  # change of the number of live rows
    bytes_per_hour: float  # change of the UnsafeRow bytes of live rows
    # change of the estimated heap bytes; None if the state is not on the heap
    heap_bytes_per_hour: float | None
    since_batch: int  # batch where the fitted line begins
    since_ms: int  # clock of that batch, epoch ms
    growing: bool  # True if the rise is larger than the changes of one batch explain
    # True if the line begins with the oldest version that can be read; the rise may be older then
    since_oldest: bool = True
    versions: int = 0  # number of versions that the line is fitted to
    # True if there are enough versions, over enough time, to see a trend; if False, ``growing`` is
    # False, too
    judged: bool = True
    # new keys per hour, counted exactly without timers, counters and indexes; None if unknown
    new_rows_per_hour: float | None = None
    # removed keys per hour, counted exactly without timers, counters and indexes; None if unknown
    removed_rows_per_hour: float | None = None
    # words for key columns with a different value in nearly each of the newest keys; empty if no
    # keys were compared, as by ``watch``
    new_columns: tuple[str, ...] = ()

    def rate_for_limits(self, per_hour: float) -> float | None:
        """Return a rate as limits and alerts compare it: 0 for a rise if the state does not grow.

        ``per_hour`` is one of the rates. Returns None if there are too few versions to see a trend.
        """
        # Alerts must not fire for a healthy state. The fitted line also rises for a state that
        # fluctuates or has just filled its window, so a rise that is not a trend counts as 0.
        if not self.judged:
            return None
        return per_hour if self.growing else min(per_hour, 0)


@dataclass(frozen=True)
class Cause:
    """Finding that explains most, in words for a person who has never seen this tool."""

    finding: Finding  # main finding
    sentence: str  # the cause in one plain sentence
    # share of the judged version's rows that the finding is about, 0 to 1; None if it counts none
    rows_share: float | None
    bytes_share: float | None  # share of the row bytes, 0 to 1; None if it counts none
    heap_share: float | None  # estimated share of the heap, 0 to 1; None if it counts none
    to_do: str  # advice to the user, a sentence
    command: str  # command that shows more, without program and path: ``top --operator 1``
    operator_name: str | None = None  # name of the operator; None if it is about no single one
    # name of the store; None if it is about no single store: the shares are then of all stores of
    # the operator with this cause
    store_name: str | None = None


@dataclass(frozen=True)
class Verdict:
    """Judgement on a checkpoint: urgency, numbers of findings, growth, size and main cause."""

    level: Level  # urgency of the checkpoint
    errors: int  # number of findings of severity error
    warnings: int  # number of findings of severity warning
    infos: int  # number of findings of severity info
    problems: int  # number of causes for which something could not be read as it should
    growth: StateGrowth | None = None  # growth of the state; None if the versions span no time
    cause: Cause | None = None  # main cause; None if there is nothing to explain
    # size of the judged version; None from a command that reads no rows
    size: StateSize | None = None
    # number of expired rows that are still there, exact; None if a store's rule is unknown for lack
    # of its schema
    leftovers: int | None = 0
    # judgement of a restart; None if a part of the checkpoint, or an older version, was judged
    restart: Restart | None = None


def level_of(findings: Sequence[Finding], problems: Sequence[Problem]) -> Level:
    """Return UNREADABLE if one of the problems means that a part cannot be read.

    Otherwise return the level of the most severe finding, or OK without findings.
    """
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
"""Ranks of findings when the main cause is chosen: (groups, least severity), the first is best.

The documentation's page ``explanation/judgements`` gives the reasons. Within a rank the most severe
finding is best, and among equally severe ones the one about most bytes.
"""


def main_finding(
    findings: Sequence[Finding],
    sizes: Mapping[Finding, int],
    total: int = 0,
    *,
    growing: bool = True,
) -> Finding | None:
    """Return the finding that explains most: the best by :data:`RANKS`, or its reason.

    A finding that the query stands still comes first, unless rows are proven to leak or the state
    has integrity errors. Few values with most of the bytes come before rows that outlive their
    rule. If ``growing`` is False, information on cost comes before information on rows that may
    outlive their rule. ``sizes`` are the bytes that each finding is about, and ``total`` is all
    bytes. Returns None without findings.
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
    """Return True if a lifetime finding is proven and has at least the severity warning."""
    return any(
        finding.kind.group is Group.LIFETIME
        and finding.severity >= Severity.WARNING
        and finding.certainty is Certainty.PROVEN
        for finding in findings
    )


def _is_urgent(finding: Finding) -> bool:
    """Return True if the finding says that the query itself stands still."""
    return finding.weight is Weight.URGENT


def _is_heavy(finding: Finding, size: int, total: int) -> bool:
    """Return True if a finding is about few values with at least half of the state's bytes.

    ``size`` are the bytes that the finding is about, ``total`` those of the state.
    """
    return finding.kind.concerns is Concerns.REWRITTEN_ROWS and 0 < _MOST * total <= size


def _worst_of(
    ranked: Sequence[Finding],
    findings: Sequence[Finding],
    sizes: Mapping[Finding, int],
    total: int,
) -> Finding:
    """Return the best finding of a rank: the most severe, unintended ones first, then the largest.

    ``ranked`` are the findings of the rank, and ``findings`` are all. If the best one is a symptom,
    a lifetime finding about at least ten times its bytes is returned instead, if there is one.
    ``sizes`` are the bytes that each finding is about, and ``total`` is all bytes.
    """

    def standing(finding: Finding) -> tuple[Severity, bool, int]:
        """Return the sort key of a finding: severity, True unless intended, and bytes."""
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
    """Return the main finding's cause, joined with that of an efficiency finding if one fits.

    The second cause is added only to a lifetime finding about an operator. It must be about the
    operator and store of the main finding, and about at least half of ``total`` bytes or of a kind
    that is always about most rows. ``sizes`` are the bytes that each finding is about. If several
    fit, the most severe one is taken, and among equals the largest. Both causes form one sentence,
    and the main one is first unless the kind of the other one leads it.
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
    """Return a sort key of reasons: those of the whole query first, then by severity and id."""
    return kind.in_store, -kind.severity, kind.id


def _root_of(finding: Finding, findings: Sequence[Finding]) -> Finding:
    """Return the last reason in the chain of reasons of a finding; the finding if it has none.

    A reason is one of ``findings`` whose kind explains the finding's id, in the same store if
    ``in_store``.
    """
    reasons = [
        reason
        for reason in findings
        if finding.kind.id in reason.kind.explains
        and (not reason.kind.in_store or reason.store == finding.store)
    ]
    reason = min(reasons, key=lambda candidate: by_reach(candidate.kind), default=None)
    return finding if reason is None else _root_of(reason, findings)
