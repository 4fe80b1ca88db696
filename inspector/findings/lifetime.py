"""Findings about rows that outlive their rule, SS2xx."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from inspector.facts.ages import Ages
from inspector.facts.expiring import Expiring
from inspector.facts.leftover_facts import LeftoverCount
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.variable_entries import FiredKeys
from inspector.facts.versions import VersionFacts
from inspector.findings import catalogue
from inspector.findings.expired_rows import Place, judge_leftovers, judge_open
from inspector.findings.finding import Finding, Severity
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import Certainty, TimeoutKind
from inspector.operators.aggregation import NAMES as AGGREGATIONS
from inspector.operators.deduplicate import NAMES as DEDUPLICATE
from inspector.operators.deduplicate_within_watermark import NAMES as WITHIN_WATERMARK
from inspector.operators.eviction import way_of
from inspector.operators.global_limit import NAMES as LIMIT
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.join import NAMES as JOIN
from inspector.operators.rule import Clock, RowKind, StoreRule
from inspector.operators.session_window import NAMES as SESSION
from inspector.operators.transform_with_state import NAMES as PROCESSORS
from inspector.operators.transform_with_state import TTL_OPTION
from inspector.quantities import capitalise, count_text, duration_text, go_on_with, share_text
from inspector.time_text import time_ms_text

_DAY_MS, _HOUR_MS = 86_400_000, 3_600_000
_FEW_GO = 0.1  # share of the keys that came below which those that a function removed are few
_FEWEST_GONE = 10  # rows that went, for it to mean something
_BY_SCHEMA = "; by the schema, which does not show a withWatermark that a restart has added"
_SETS = "; cube, rollup or grouping sets write each event to a group of every set"
_FALLS = 0.75  # the most that the share of new keys is of that in the quarter before, if it falls
_FEWEST_ALIKE = 5  # keys that differ in one column
_ALWAYS = 0.9  # of the keys that are there, so many at least are written in a batch
_MANY = 0.2  # share of the sessions
_GAPS = 4  # times the gap that a session lasts, at least, if events prolong it again and again
_LONG_GAP_MS = 3 * _HOUR_MS  # shorter ones are usual, whatever the sessions
_GAPS_LASTING = 20  # times what a session lasts that a gap is, if it is far longer
_BY_EVENT_TIME = (
    "set event-time timeouts and timers from the event time or the watermark "
    "(getCurrentWatermarkMs), or use those of the processing time, which go by the wall clock"
)
_USUAL_MS = [60_000 * n for n in (1, 2, 5, 10, 15, 20, 30, 45, 60, 120, 180, 240, 360, 480)]
"""Usual lengths of a timeout."""
_NEAR = 0.002  # share of a timeout by which what is read of it may be off: events come late
_LONGER_TTL = f"declare {{0!r}} with a TTL ({TTL_OPTION}) that is longer than {{1}}"
_LONGER_DELAY = (
    "give withWatermark a delay that is longer than the time after which duplicates come: "
    "dropDuplicatesWithinWatermark keeps a key for that delay after its event"
)
_WRITES_ALL = (*AGGREGATIONS, *SESSION, *JOIN, *LIMIT)
_WRONG_UNIT = ": a wrong unit? Spark takes ms."
_FAR_ROWS = (
    "row",
    "The watermark has to advance by {1} (to {2}) before {0} can go",
    ": look at the delay of withWatermark, the window, gap or time range, and their units.",
)
_FAR_TIMEOUTS = ("timeout", "The expiry of {0} lies {1} ahead ({3} {2})", _WRONG_UNIT)
_FAR = {
    RowKind.TTL_VALUE: ("value", "The TTL of {0} ends {1} ahead ({3} {2})", ": a wrong unit?"),
    RowKind.TIMER: ("timer", *_FAR_TIMEOUTS[1:]),
}
_SET_ALWAYS = (
    "call state.setTimeoutDuration or state.setTimeoutTimestamp in every call that keeps the "
    "state: each call clears the timer that was set before"
)
_MOSTLY = 0.7  # share of puts of new groups from which on they say why an aggregation grows
_FEW = 0.05  # share of the rows whose growth says nothing, in a history too short for a trend


@dataclass(frozen=True)
class LongSession:
    """The session that most versions wrote: when it began, in how many, and words for its key."""

    start_ms: int
    puts: int
    words: str = ""
    most: int = 0  # versions that wrote any one session


@dataclass(frozen=True)
class StoreLifetime:
    """What is known of the life of one store's rows, all partitions together."""

    operator_id: int
    operator_name: str
    store_name: str
    rule: StoreRule
    newest: VersionFacts
    removals: int  # removed rows over the whole window
    puts: int  # put rows over it
    window: int  # versions in it whose change is known
    leftovers: Sequence[LeftoverCount]
    # of the judged batch, or, as long as that had none, what it made for the next; None: not known
    watermark_ms: int | None
    first: VersionFacts = field(default_factory=VersionFacts)  # of the window's oldest version
    calls: TimerCalls | None = None  # of a group state's timers; None for other operators
    ages: Ages | None = None
    data_batches: int = DEFAULTS.data_batches  # batches that brought new data, up to the judged one
    inserts: int = 0  # puts of keys that were not there, over the window
    quiet: int = 0  # versions at its end that put rows, and none of a new key
    growing: bool | None = None  # whether its bytes do; None where too few versions tell
    # by the batch clock, from the oldest version that can be read to the judged one; None: unknown
    span_ms: int | None = None
    expiring: Expiring | None = None  # when the rows expire, by the clock that they go by
    now_ms: int | None = None  # what that clock reads
    batch_ms: int | None = None  # the clock of the judged version's batch; None if not recorded
    # why the watermark is not known, where it is None; empty where Spark has removed the entry, or
    # never wrote one
    doubt: str = ""
    # keys that naming a clock of a group state's timers would prove to be left
    provable: Mapping[TimeoutKind, int] = field(default_factory=dict)
    fired: FiredKeys | None = None  # of transformWithState, keys of which no timer is left
    delays_ms: Sequence[int] = ()  # those of withWatermark that the schemas give, the longest first
    unfed: int = 0  # batches with data of every source, since the last one that put a row
    fed_at: int | None = None  # that batch; None if it was before the history, or never
    by_fastest: bool = False  # of several watermarks the greatest counts
    gap_ms: int | None = None  # the median from one batch to the next; None of too few
    # the batch after which the clock went back, by how much, and how far it had been ahead of that
    # of the judged batch; all 0 where it never was
    set_back: tuple[int, int, int] = (0, 0, 0)
    is_list: bool = False  # its rows are the entries of a list
    sets: bool = False  # its rows are those of cube, rollup or grouping sets
    # by how much the clock of its rows moved through the quiet versions; of timers and of
    # all_moved_ms, through all that can be read
    moved_ms: int = 0
    all_moved_ms: int = 0
    longest: LongSession | None = None  # of sessions, the one that was written most often
    # early, on_time: timers that went before they were due, and when they were
    early: int = 0
    on_time: int = 0
    reach_ms: int = 0  # from an event to its row's expiry time: about a window, a session's gap
    exact: str = ""  # words for columns of its key that events hardly share; empty for none
    # of the keys compared, how many differ from another in a way alone; by its words
    alike: Mapping[str, int] = field(default_factory=dict)
    compared: int = 0  # keys
    unique: str = ""  # words for a column of which no two of them share a value, or none
    watermark_possible: bool = False  # a time of its rows may have a watermark that no schema shows
    watermark_refuted: bool = False  # it would have removed a row by now, or there likely is none
    returns: int = 0  # at least so many puts of keys that were not there, and had been before
    versions: Mapping[int, VersionFacts] = field(default_factory=dict)  # all that can be read
    batches_open: float = 0  # through which a window can get events, as the watermark moves
    # the watermark that the judged batch made, if each batch up to it had new data
    next_ms: int | None = None
    by_event_time: bool = False  # the timers of a group state are known to follow event time


def judge(life: StoreLifetime, thresholds: Thresholds = DEFAULTS) -> Iterator[Finding]:
    """The lifetime findings of one store."""
    yield from _never(life, thresholds)
    yield from _null_times(life, thresholds)
    far = [*_far(life, thresholds)]
    beside = [] if far else [*_far_beside(life, thresholds)] or [*_long_gap(life, thresholds)]
    # That some rows stay longer than the others says more than that no key was met again.
    yield from beside or [*far, *_unique(life, thresholds)]
    for rule in _RULES:
        yield from rule(life, thresholds)
    never_armed = list(_judge_timers(life, thresholds))
    yield from never_armed
    # What helps where no rule is known is beside the point for rows that one was found for.
    advice = life.rule.advice if life.rule.expiry is not None else ""
    # In complete mode too, sessions that are merged are removed.
    removes = bool(life.removals) and life.operator_name not in SESSION
    subject = Place(
        life.operator_id, life.store_name, advice, life.rule.row_kind, removes, _cure(life)
    )
    yield from judge_leftovers(subject, life.leftovers)
    undecided = judge_open(subject, life.leftovers, said=bool(never_armed), provable=life.provable)
    stays_anyway = _stay_either_way(life, thresholds)
    yield from (_warning(life, finding) if stays_anyway else finding for finding in undecided)
    yield from _grows(life, thresholds)
    yield from _no_watermark(life, thresholds)


def _cure(life: StoreLifetime) -> str:
    """Return what a copy can do for leftovers of a store; empty if it does not evict them."""
    if way_of(life.operator_name, life.rule, None, None, expired=True).refused:
        return ""
    if life.operator_name in GROUP_STATE:
        return "For the keys that are there a copy can have the function called once more"
    return "A copy can leave out the rows that are there"


def _no_watermark(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Rows that wait for a watermark where there is none, or where it is not known whether."""
    expiry, rows = life.rule.expiry, life.newest.rows
    if expiry is None or life.watermark_ms or not rows:
        return
    batches = count_text(life.data_batches, "batch", "batches")
    bare = _is_bare(life, thresholds)
    if life.by_event_time and bare and life.expiring is not None:
        yield from _no_timeout_fires(life, life.expiring, batches)
    if expiry.clock is not Clock.WATERMARK:
        return
    when = f"rows go when {expiry.name} is at or below the watermark, and"
    if life.watermark_ms is None and life.doubt:
        yield catalogue.NO_WATERMARK.of_store(
            life,
            f"{when} that of the judged batch is not known: {life.doubt}",
            cause="Whether there is a watermark is not known, because an entry of the logs is "
            "missing or in doubt.",
            certainty=Certainty.UNDECIDED,
            next_step="see the problems of the report for the entry of the log",
        )
    elif bare:
        newest = None if life.ages is None else life.ages.newest_ms
        time = "" if newest is None else f"; the newest {expiry.name} is {time_ms_text(newest)}"
        evidence = f"{when} the judged batch has none after {batches} with data"
        all_rows = count_text(rows, "row")
        cause = f"There is no watermark yet, so none of the {all_rows} can expire{time}."
        yield catalogue.NO_WATERMARK.of_store(life, evidence, *life.newest.rows_and_bytes, cause)


def _no_timeout_fires(life: StoreLifetime, far: Expiring, batches: str) -> Iterator[Finding]:
    """Timeouts in event time that wait for a watermark where there is none."""
    rows, size = sum(far.rows.values()), sum(far.bytes.values())
    if rows:
        evidence = "timeouts in event time fire when the watermark has passed them, and the judged "
        evidence += f"batch has none after {batches} with data"
        cause = f"There is no watermark after {batches} with data, so none of "
        cause += f"{count_text(rows, 'timeout')} in event time can fire: are all event times null?"
        step = "look at how the column of withWatermark is parsed: a text in another format than "
        step += "the expected one gives null, and null moves no watermark"
        yield catalogue.NO_WATERMARK.of_store(life, evidence, rows, size, cause, next_step=step)


def _stay_either_way(life: StoreLifetime, thresholds: Thresholds) -> bool:
    """Whether no row of a group state goes, whichever clock its timers follow."""
    # By processing time each is proven to be left behind. By event time no timer can fire while the
    # watermark is 0 (premise due-by-clock), as of rows of other operators SS207 warns.
    proven = 0 < life.newest.rows <= life.provable.get(TimeoutKind.PROCESSING_TIME, 0)
    return proven and not life.removals and _is_bare(life, thresholds)


def _is_bare(life: StoreLifetime, thresholds: Thresholds) -> bool:
    """Whether there is no watermark though there was data for one."""
    return life.watermark_ms == 0 and life.data_batches >= thresholds.data_batches


def _warning(life: StoreLifetime, finding: Finding) -> Finding:
    return replace(
        finding,
        severity=Severity.WARNING,
        evidence=f"{finding.evidence}; by processing time they are left behind, and by event time "
        f"none can expire, as the judged batch has no watermark after "
        f"{count_text(life.data_batches, 'batch', 'batches')} with data",
        cause=f"The store holds {count_text(life.newest.rows, 'key')}, and no timeout removes "
        f"{'it' if life.newest.rows == 1 else 'them'}, whether the timeouts follow processing time "
        "or event time.",
    )


def _never(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    rule, newest = life.rule, life.newest
    if rule.never is None or not newest.rows:
        return
    if life.removals:
        # A function may remove keys whenever it likes; where it does, there is no leak to claim.
        yield from _partial_removal(life, thresholds)
        return
    yield _never_expires(
        life,
        thresholds,
        f"{rule.never}; {count_text(newest.rows, 'row')}, none removed in the "
        f"{count_text(life.window, 'version')} whose changes can be read"
        f"{_BY_SCHEMA if life.watermark_possible else ''}",
        *newest.rows_and_bytes,
        f"{capitalise(rule.never)}{_why_more(life, thresholds)}.",
        next_step=rule.advice,
        certainty=Certainty.INFERRED if life.watermark_possible else Certainty.PROVEN,
        severity=Severity.INFO if life.watermark_possible and not life.watermark_refuted else None,
    )


def _why_more(life: StoreLifetime, thresholds: Thresholds) -> str:
    """What makes the rows that never expire, and where the watermark of the query is."""
    words = _SETS if life.sets else ""
    if life.operator_name in DEDUPLICATE and life.unique and not life.sets:
        words = f"; {life.unique} differs in each of {count_text(life.compared, 'key')}"
    if life.operator_name not in AGGREGATIONS:
        return words
    if life.watermark_ms and not (life.watermark_possible and not life.watermark_refuted):
        words += f"; that of the query ({time_ms_text(life.watermark_ms)}) is on another column"
    share = life.inserts / max(1, life.puts)
    if life.inserts >= thresholds.unique_puts and _MOSTLY <= share < thresholds.unique_share:
        words += f"; {share_text(share)} of the puts made a new group"  # of more SS217 says it
    return words


def _small_share(life: StoreLifetime, thresholds: Thresholds) -> str:
    """Words for how few of many keys a function removed; empty if it removed none, or more."""
    many = life.inserts >= thresholds.unique_puts
    if not many or not 0 < life.removals <= _FEW_GO * life.inserts:
        return ""
    share = share_text(life.removals / life.inserts)
    return f"it removed {life.removals:,} of {count_text(life.inserts, 'key')} that came ({share})"


def _partial_removal(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Keys that nothing touches, where the function removes few, or others soon or never."""
    few = _small_share(life, thresholds)
    if few:
        yield _never_expires(
            life,
            thresholds,
            f"{life.rule.never}; {few}, in {count_text(life.window, 'version')}",
            *life.newest.rows_and_bytes,
            f"{capitalise(life.rule.never or '')}: {few}.",
            next_step=life.rule.advice,
            severity=Severity.INFO,
        )
        return
    middle, ages = (min(life.versions, default=0) + max(life.versions, default=0)) // 2, life.ages
    if ages is None or ages.window_version > middle or middle not in life.versions:
        return
    rows, newer = life.versions[middle].rows, [v for at, v in life.versions.items() if at > middle]
    kept = sum(count for at, count in ages.rows.items() if at <= middle)
    came, went = sum(v.new_rows for v in newer), sum(v.removed_rows for v in newer)
    gone = went - (rows - kept)  # at least so many of those that came
    if gone < max(_FEWEST_GONE, (rows - kept) * came / max(1, rows)):
        return
    if life.newest.rows <= rows or 2 * kept < rows:
        return
    never, old = life.rule.never or "", count_text(rows, "key")
    words = f"of {old} that were there {len(newer):,} versions ago {kept:,} are untouched, and "
    words += f"at least {gone:,} of the {came:,} that came since are gone"
    yield catalogue.NEVER_EXPIRES.of_store(
        life,
        f"{never}; {words}",
        kept,
        sum(size for at, size in ages.bytes.items() if at <= middle),
        f"{capitalise(never)}, and it removes some soon and others not: {words}.",
        next_step=life.rule.advice,
        certainty=Certainty.INFERRED,
        severity=Severity.INFO,
    )


def _never_expires(
    life: StoreLifetime, thresholds: Thresholds, *arguments: Any, **more: Any
) -> Finding:
    """Rows that no rule removes: where they do not become more, they may be meant to stay."""
    finding = catalogue.NEVER_EXPIRES.of_store(life, *arguments, **more)
    if life.window >= thresholds.window_versions and (
        not life.inserts or _is_quiet(life, thresholds)
    ):
        versions = count_text(life.quiet if life.inserts else life.window, "version")
        reason = f"no key was new in the newest {versions}"
    elif life.growing is False:
        reason = "the store does not grow"
    else:
        reason = _fills_up(life, thresholds)
    if not reason:
        return finding
    cause = f"{finding.cause.removesuffix('.')}; {reason}."
    return replace(finding, severity=Severity.INFO, cause=cause)


def _fills_up(life: StoreLifetime, thresholds: Thresholds) -> str:
    """Words for keys of a set that has an end: the share of new ones among the puts falls."""
    # With keys that never come again it stays. It falls from each to the next of the three newest
    # quarters of the history by a quarter, and by more than chance (three deviations of the
    # counts).
    versions = [v for _, v in sorted(life.versions.items()) if v.puts and not v.rebased]
    many = len(versions) // 4
    if many < thresholds.window_versions:
        return ""
    parts = [versions[len(versions) - at * many :][:many] for at in (3, 2, 1)]
    new = [sum(v.new_rows for v in part) for part in parts]
    shares = [count / sum(v.puts for v in part) for count, part in zip(new, parts, strict=True)]
    steady = any(after > _FALLS * before for before, after in pairwise(shares))
    if steady or new[0] - new[2] < 3 * math.sqrt(new[0] + new[2]):
        return ""
    now, before = share_text(shares[2]), share_text(shares[0])
    return f"ever fewer keys are new ({now} of the newest puts, {before} before)"


def _null_times(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Rows whose event time is null: the predicate of no watermark holds of them."""
    expiring, ages, size = life.expiring, life.ages, None
    expiry = life.rule.expiry or life.rule.event_time
    if expiry is None or expiry.clock is not Clock.WATERMARK:
        return
    if life.rule.expiry is not None and expiring is not None:
        rows, new, size = expiring.endless_rows, expiring.endless_new, expiring.endless_bytes
    elif life.rule.expiry is None and ages is not None:
        rows, new = ages.untimed, ages.untimed_new
    else:
        return
    if not rows or rows < thresholds.far_share * life.newest.rows:
        return
    sets = ": the totals of cube, rollup or grouping sets" if life.sets else ""
    warned = new and life.growing is not False and life.window >= thresholds.window_versions
    yield catalogue.NEVER_EXPIRES.of_store(
        life,
        f"{expiry.name} is null in {rows:,} of {count_text(life.newest.rows, 'row')}, and a row "
        f"goes when it is at or below the watermark; {new:,} of them came in the newer half of "
        f"{count_text(life.window, 'version')}",
        rows,
        size,
        f"The event time of {count_text(rows, 'row')} is null ({expiry.name}), so no watermark "
        f"removes {'it' if rows == 1 else 'them'}{sets}; {f'{new:,}' if new else 'none'} of them "
        "came in the newer half of the history.",
        next_step="name the grouping sets, each with the window, in place of cube or rollup"
        if sets
        else "drop the rows without an event time before the operator, or give them one; look "
        "at how the column is parsed",
        severity=None if warned else Severity.INFO,
    )


def _unique(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """A key that every event makes anew, where the operator is to bring events together."""
    several, calls = life.operator_name in (*AGGREGATIONS, *GROUP_STATE), life.calls
    if not several or life.window < thresholds.window_versions:
        return
    timed = life.rule.expiry is not None and (calls is None or bool(calls.armed_keys))
    goes = timed or life.removals
    # Of no use is a group state in which no key was met again, if no data removed it, and a window.
    by_data = life.removals + 1 if calls is None else life.removals - calls.timeout_removed
    # Which of two records came of data their order tells, of most of them.
    lost = 4 * by_data < life.removals and timed and life.returns < thresholds.unique_puts
    lost |= life.batches_open >= thresholds.window_versions
    unset = calls is not None and calls.never_armed_rows
    differs = bool(life.unique and life.growing and life.operator_name in AGGREGATIONS)
    if goes and not life.exact and (unset or not (lost or differs)):
        return
    never = life.rule.never or ("the function never set a timeout" if unset else "")
    # Event times may be what a function lacks for timeouts.
    if not life.rule.never and unset and _is_bare(life, thresholds):
        never += ", and there is no watermark (are the event times null?)"
    if life.puts < thresholds.unique_puts or life.inserts < thresholds.unique_share * life.puts:
        return
    subject = life.unique or "the key"
    reason = f"{subject} is unique to each event{'' if life.exact else ', or to each batch'}"
    if goes and life.exact:
        never = f"the key has {life.exact}"
    elif goes and not (differs and not lost):
        until = "timeout" if calls else "window ended"
        named = life.unique and life.operator_name in AGGREGATIONS
        also = f" ({life.unique} differs in each)" if named else " by a later batch"
        few = "no" if life.inserts == life.puts else "hardly any"
        reason = f"{few} key was met again before its {until}{also}"
        if life.reach_ms and not calls:
            never = f"keys come once in windows of {duration_text(life.reach_ms)}"
    words = f"{life.inserts:,} of {count_text(life.puts, 'put')}"
    went = f"{life.removals:,} keys were" if life.removals else "no key was"
    evidence = f"{words} in {count_text(life.window, 'version')} were of keys that were not there, "
    evidence += f"and {went} removed"
    cause = f"{capitalise(never or 'keys come once')}; {words} were of new keys: {reason}."
    yield catalogue.UNIQUE_KEYS.of_store(life, evidence, *life.newest.rows_and_bytes, cause)


def _nearly_equal(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Keys that should be one, but for one column of theirs."""
    how = max(life.alike, key=lambda how: life.alike[how], default="")
    alike = life.alike.get(how, 0)
    if alike < max(_FEWEST_ALIKE, thresholds.alike_share * life.compared):
        return
    words = f"of the newest {count_text(life.compared, 'key')} {alike:,} differ from another only"
    cause = f"{capitalise(words)} {how}."
    yield catalogue.NEARLY_EQUAL.of_store(life, f"{words} {how}", cause=cause)


def _put_off(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Sessions, or timers, that new events put off for long: all of them, or one among many."""
    far, now, rows, calls = life.expiring, life.now_ms, life.newest.rows, life.calls
    if far is None or not far.rows or not now or life.window < thresholds.window_versions:
        return
    gap = min(far.rows) * far.width - now
    if gap <= -far.width:
        return  # of timers that may follow either clock: by the later one they are due
    moved_ms, cause = life.moved_ms, ""
    moved = duration_text(moved_ms)
    # New keys come, and each batch writes all that are there, as where finished things go on.
    always = life.puts >= _ALWAYS * sum(of.rows for of in life.versions.values()) > 0
    if life.operator_name in SESSION:
        if life.removals or not _is_quiet(life, thresholds):
            yield from _long_sessions(life, far, now, thresholds)
            return
        sessions = "it" if rows == 1 else f"all {rows:,} sessions"
        cause = f"No session has closed while the watermark moved by {moved}: new events prolong "
        cause += f"{sessions} before the gap has passed."
    elif calls is not None:
        fired = calls.timeout_kept or calls.timeout_rearmed or calls.timeout_removed
        # Of any other put a timeout may be the reason.
        by_data = calls.armed_by_data + calls.unarmed_by_data >= life.puts
        all_armed = sum(far.rows.values()) == rows and by_data and not fired
        quiet = _is_quiet(life, thresholds)
        if all_armed and not life.removals and (quiet or always):
            moved_ms = moved_ms if quiet else life.all_moved_ms
            every = "each batch has data for nearly every key, which"
            every = "each call for new data" if quiet else every
            moved, timers = duration_text(moved_ms), "it" if rows == 1 else f"all {rows:,}"
            cause = f"No timeout has fired while its clock moved by {moved}: {every} "
            cause += f"sets {timers} anew before it is due."
    elif life.early > _FEWEST_GONE and not life.on_time and not far.due_rows:
        # Of timers each call deletes one and registers another, so that the keys are never quiet.
        cause = f"No timer has fired while its clock moved by {moved}: each call for new data "
        cause += f"deletes the timer before it is due ({life.early:,} of them) and sets another."
    # Sessions that most versions wrote are open for as long as the clock moved.
    often = life.operator_name in SESSION and life.puts >= thresholds.hot_share * rows * life.window
    often |= always and calls is not None
    if not cause or moved_ms < max(1, gap / 2 if often else 3 * gap):
        return
    evidence = f"nothing has expired in {count_text(life.window, 'version')}; the first of "
    evidence += f"{rows:,} is due {duration_text(max(gap, 0))} after its clock, which moved by "
    evidence += duration_text(moved_ms)
    yield catalogue.OPEN_SESSIONS.of_store(life, evidence, *life.newest.rows_and_bytes, cause)


def _long_sessions(
    life: StoreLifetime, far: Expiring, now: int, thresholds: Thresholds
) -> Iterator[Finding]:
    """Most sessions, or one of many, that have been open for far longer than the others are."""
    rows, gap, longest = far.lasting, life.reach_ms, life.longest
    subject = f"{rows:,} of {count_text(life.newest.rows, 'session')}"
    moved, often = life.all_moved_ms, longest is not None and 2 * longest.puts >= life.window
    most = rows >= thresholds.hot_share * life.newest.rows and _GAPS * gap <= moved / 2
    # Fewer, and in a shorter history, if as many versions as not wrote them.
    many = often and rows >= max(_FEWEST_GONE, _MANY * life.newest.rows) and gap <= 0.4 * moved
    if gap > 0 and (most or many):
        evidence = f"{subject} were there before the newer half of "
        evidence += f"{count_text(life.window, 'version')}; the gap is ~{duration_text(gap)}"
        cause = f"{subject} are open for half of the history or longer, in which the watermark "
        cause += f"moved by {duration_text(moved)}: new events prolong them before the gap of "
        cause += f"~{duration_text(gap)} has passed."
        yield catalogue.OPEN_SESSIONS.of_store(life, evidence, rows, cause=cause)
        return
    if longest is None:
        return
    length = now - longest.start_ms
    # By Little's law, how long a row is there is how many there are by how many go.
    usual = life.newest.rows * moved / max(1, life.removals)
    short = (life.newest.rows - rows) * moved / max(1, life.removals)
    several = rows > 1 and 4 * short <= moved  # else the usual ones may be there for so long
    usual = short if several else usual
    if life.removals < _FEWEST_GONE or length < 3 * usual or 2 * longest.puts < life.window:
        return
    pronoun, at_least = "it", f"for {duration_text(length)} at least"
    words = f"one session{longest.words} is open {at_least}"
    if several:
        pronoun, words = "them", f"{subject} stay open, one{longest.words} {at_least}"
    others = f"the others are there for ~{duration_text(round(usual))}"
    evidence = f"{words}, by the watermark, and was written in {longest.puts:,} of "
    evidence += f"{count_text(life.window, 'version')}; {others}"
    cause = f"{capitalise(words)}, as new events prolong {pronoun} again and again, and {others}: "
    cause += "a robot, a heartbeat or a default key?"
    yield catalogue.OPEN_SESSIONS.of_store(life, evidence, rows if several else 1, cause=cause)


def _far(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Rows whose deadline lies years ahead of their clock, or far beyond all that went so far."""
    far, now = life.expiring, life.now_ms
    if far is None or now is None:
        return
    limit = now + round(thresholds.far_days * _DAY_MS)
    late: Mapping[int, int] = {b: n for b, n in far.rows.items() if b * far.width >= limit}
    rows = sum(late.values())
    alone = not rows or rows < thresholds.far_share * life.newest.rows
    if alone:
        late, rows = _none_near(life, far, now, thresholds), life.newest.rows
    if not late:
        return
    size = sum(far.bytes[bucket] for bucket in late)
    ahead = min(late) * far.width - now
    noun, cause, question = _FAR.get(life.rule.row_kind, _FAR_ROWS)
    if life.rule.expiry and life.rule.expiry.clock is Clock.TIMEOUT:
        noun, cause, question = _FAR_TIMEOUTS
    elif not alone and life.delays_ms and 2 * max(life.delays_ms[0], life.reach_ms) < ahead:
        question = ": by its delay it should be sooner, so their event times lie in the future, "
        question += "and other data holds the watermark back."
    variable, setting, next_step = "", "delay, gap or timeout", catalogue.FAR_EXPIRY.to_do
    if life.rule.row_kind is RowKind.TTL_VALUE:
        variable = f" of {life.store_name!r}"
        setting = f"TTL{variable} ({TTL_OPTION})"
        next_step = f"compare the TTL that {life.store_name!r} is declared with ({TTL_OPTION}), "
        next_step += "and its unit, with what is meant"
    if alone:
        next_step = f"shorten the {setting} if the query can do with less: until the first rows "
        next_step += "go the state only grows. If it is meant to be so long, size the state for "
        next_step += "it: inspector simulate says what another one would hold"
    # An expiry that the wall clock set lies near it, however far event times are behind.
    of_clock = not alone and noun in ("timeout", "timer") and life.batch_ms is not None
    if of_clock and 10 * abs(now + ahead - (life.batch_ms or 0)) < ahead:
        behind = duration_text((life.batch_ms or 0) - now)
        question = ", near the batch clock: most likely set from the wall clock, while event "
        question += f"times are {behind} older."
        next_step = _BY_EVENT_TIME
    until, near = time_ms_text(now + ahead), ahead < _DAY_MS
    yield catalogue.FAR_EXPIRY.of_store(
        life,
        f"{count_text(rows, noun)} of {life.newest.rows:,} can go {duration_text(ahead)} after the "
        f"{'clock' if now == life.batch_ms else 'watermark'} of the judged batch at the earliest",
        rows,
        size,
        _of_delay(life, ahead if alone else 0, cause).format(
            f"{'the first of ' * (noun == 'row' and rows > 1)}{count_text(rows, noun)}{variable}",
            duration_text(ahead),
            until if near else until.partition("T")[0],
            "at" if near else "on",
        )
        + (_end_of_cause(life, (max(far.rows) + 1) * far.width - now) if alone else question),
        next_step=next_step,
        severity=Severity.INFO if ahead < thresholds.far_warned * _DAY_MS else None,
    )


def _either_clock(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Timeouts near to the batch clock, and far ahead of the watermark that they may go by."""
    far, calls, watermark, batch = life.expiring, life.calls, life.watermark_ms, life.batch_ms
    if far is None or calls is None or not watermark or batch is None or life.by_event_time:
        return
    # Those in processing time may have fired, and then removed what they were of.
    fired = calls.timeout_kept or calls.timeout_rearmed or calls.timeout_removed or life.removals
    ahead = min(far.rows, default=0) * far.width - batch
    rows, behind = sum(far.rows.values()), batch - watermark
    short = life.window < thresholds.window_versions or rows < life.newest.rows
    if short or fired or life.now_ms != batch or behind < _DAY_MS or 10 * abs(ahead) > behind:
        return
    older, timeouts = duration_text(behind), count_text(rows, "timeout")
    evidence = f"{timeouts} lie near the clock of the judged batch, whose watermark is {older} "
    evidence += "behind it; the files do not show by which of the two they go"
    cause = f"The expiry of {timeouts} is near the batch clock, and the watermark {older} behind "
    cause += "it: if the query has EventTimeTimeout, and no such delay, it was set from the wall "
    cause += "clock, and none fires."
    yield _perhaps_far(life, evidence, cause, _BY_EVENT_TIME)


def _perhaps_far(life: StoreLifetime, evidence: str, cause: str, next_step: str) -> Finding:
    """That all rows may expire far later than they are meant to."""
    more: Any = {"certainty": Certainty.INFERRED, "severity": Severity.INFO, "next_step": next_step}
    return catalogue.FAR_EXPIRY.of_store(life, evidence, *life.newest.rows_and_bytes, cause, **more)


def _long_gap(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Sessions that wait far longer for more events than any of them lasts."""
    longest, gap = life.longest, life.reach_ms
    if longest is None or not life.removals or life.window < thresholds.window_versions:
        return
    # By the batch clock, or by the watermark, which a query that catches up moves faster.
    history = max(life.span_ms or 0, life.all_moved_ms)
    lasting = longest.most * history / life.window
    if not _LONG_GAP_MS <= gap <= history or gap < _GAPS_LASTING * lasting:
        return
    versions = count_text(longest.most, "batch", "batches")
    evidence = f"no session was written in more than {versions}; the gap is ~{duration_text(gap)}"
    cause = f"The gap of session_window is ~{duration_text(gap)}, though no session has events in "
    cause += f"more than {versions} (~{duration_text(round(lasting))}): they all wait for what "
    cause += "does not come."
    step = "shorten the gap to somewhat more than the pauses within a session, if no events come "
    yield _perhaps_far(life, evidence, cause, f"{step}after longer ones")


def _end_of_cause(life: StoreLifetime, longest: int) -> str:
    """The end of a cause of rows of which none is near to its time, which the user has set."""
    unit = _thousandfold(life, longest)
    if not life.removals:
        return f"{unit}; no row has gone yet."
    if life.calls is not None:
        gone = f"{life.removals:,} keys were removed"
        return f"{unit}; no timeout is known to have fired, and {gone}."
    merged = ", as do sessions that are merged" if life.operator_name in SESSION else ""
    return f"{unit}; {count_text(life.removals, 'row')} went sooner{merged}."


def _thousandfold(life: StoreLifetime, longest: int) -> str:
    """Words for a time that a user sets in ms, where it is a thousand times a usual one."""
    usual = min(_USUAL_MS, key=lambda usual: abs(longest - 1000 * usual))
    near = abs(longest - 1000 * usual) <= _NEAR * longest
    # A whole number of days is what a user may have meant.
    meant = abs(longest - _DAY_MS * round(longest / _DAY_MS)) <= _NEAR * longest
    in_ms = life.calls is not None or life.rule.row_kind is not RowKind.ROW
    # Where the judged batch put nothing, the newest put may be as old as the history.
    late = not life.newest.puts and (life.span_ms or 0) > _NEAR * longest
    if not near or meant or not in_ms or late:
        return ""
    return f", a thousand times {duration_text(usual)} (a wrong unit?)"


def _far_beside(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Rows whose deadline lies far behind that of the others, with nothing between."""
    # Of one gap or timeout for all, those that were put at other times would be between.
    far, now, is_session = life.expiring, life.now_ms, life.operator_name in SESSION
    if far is None or now is None or not (is_session or life.calls):
        return
    ends = sorted(bucket * far.width - now for bucket in far.rows)
    least = _least_far(life, thresholds)
    limits = [
        ahead
        for near, ahead in pairwise(ends)
        if ahead >= max(least, 2 * thresholds.far_spans * max(near, far.width))
    ]
    if not limits:
        return
    late = [bucket for bucket in far.rows if bucket * far.width - now >= limits[0]]
    rows = sum(far.rows[bucket] for bucket in late)
    if rows < thresholds.alike_share * life.newest.rows:
        return
    near = max(end for end in ends if end < limits[0]) + far.width
    noun = "session" if is_session else "timeout"
    words = f"{rows:,} of {count_text(sum(far.rows.values()), noun)} can end after "
    words += f"{duration_text(limits[0])} at the earliest, and the others within "
    words += duration_text(near)
    longest = (max(far.rows) + 1) * far.width - now
    reason = "the gap of session_window differs from row to row"
    (batch, back_ms, was_ahead), step, certainty = life.set_back, "", Certainty.PROVEN
    if not is_session:
        reason = f"the function sets some far longer{_thousandfold(life, longest)}"
    if not is_session and not life.by_event_time and 2 * was_ahead >= limits[0]:
        certainty = Certainty.INFERRED
        reason = "most likely they were set before the batch clock went back "
        reason += f"{duration_text(back_ms)}, after batch {batch}"
        step = "compare the clocks of the machines that the driver ran on; "
    step += "compare what sets the gap or timeout of these rows, and its unit, with what is meant: "
    yield catalogue.FAR_EXPIRY.of_store(
        life,
        f"{words}, by the clock of the judged batch",
        rows,
        sum(far.bytes[bucket] for bucket in late),
        f"{words}: {reason}.",
        next_step=f"{step}inspector rows lists them",
        severity=Severity.INFO,
        certainty=certainty,
    )


def _of_delay(life: StoreLifetime, ahead: int, cause: str) -> str:
    """A cause with the delay before it, where that is most of what the rows wait for."""
    delay = max(life.delays_ms, default=0)
    if not ahead or life.rule.expiry is None:
        return cause
    if life.rule.expiry.clock is not Clock.WATERMARK:
        # Of a group state no schema has the delay.
        behind = (life.batch_ms or 0) - (life.now_ms or 0)
        if 2 * behind < ahead:
            return cause
        start = f"The watermark is {duration_text(behind)} behind the batch clock"
    elif 2 * life.reach_ms >= max(ahead, 2 * delay) and life.operator_name not in WITHIN_WATERMARK:
        start = f"Windows are {duration_text(life.reach_ms)} long"
        if life.operator_name in SESSION:
            start = f"The gap of session_window is ~{duration_text(life.reach_ms)}"
    elif life.operator_name in WITHIN_WATERMARK:
        start = "dropDuplicatesWithinWatermark keeps each key for the delay of withWatermark"
        start += f", ~{duration_text(life.reach_ms)}" if life.reach_ms else ""
    elif 2 * delay >= ahead:
        start = f"The delay of withWatermark is {duration_text(delay)}"
        if delay % _HOUR_MS and delay / 1000 in _USUAL_MS:
            start += f", a thousand times {duration_text(delay // 1000)} (a wrong unit?)"
    else:
        return cause
    return f"{start}: {go_on_with(cause)}"


def _none_near(
    life: StoreLifetime, far: Expiring, now: int, thresholds: Thresholds
) -> Mapping[int, int]:
    """All rows, by bucket, where even the first to go does not go for long; else nothing."""
    # A delay, a gap or a timeout of a month is what it is meant to be, or a month too long: an hour
    # of history shows nothing of it, but that the state only grows until then.
    known = sum(far.rows.values()) == life.newest.rows and life.rule.row_kind is not RowKind.TIMER
    ahead = min(far.rows, default=0) * far.width - now
    return far.rows if known and _is_far(life, ahead, thresholds) else {}


def _is_far(life: StoreLifetime, ahead: int, thresholds: Thresholds) -> bool:
    """Whether so many ms are many beside a history in which no row came to its end."""
    # Sessions that were merged are gone too, and keys that a function removed before their timeout.
    calls = life.calls
    fired = calls and (calls.timeout_kept or calls.timeout_rearmed or calls.timeout_removed)
    ended = life.removals and life.operator_name not in SESSION and (calls is None or fired)
    return not ended and ahead >= _least_far(life, thresholds)


def _least_far(life: StoreLifetime, thresholds: Thresholds) -> float:
    """From how many ms on a time is far ahead, beside the history; infinite if that is short."""
    may_grow = life.growing is not False or life.inserts  # it may be quiet just now
    if life.window < thresholds.window_versions or life.span_ms is None or not may_grow:
        return math.inf
    return max(thresholds.far_hours * _DAY_MS / 24, thresholds.far_spans * life.span_ms)


def _long_delay(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """A side of a join whose every row the watermark has yet to pass, because of a long delay."""
    # Where it lies further back than by the delay, a source is late (SS206).
    oldest = None if life.ages is None else life.ages.oldest_ms
    if life.rule.event_time is None or oldest is None or not life.watermark_ms:
        return
    ahead = oldest - life.watermark_ms
    if not _is_far(life, ahead, thresholds) or ahead > max(life.delays_ms, default=0):
        return
    longest, *others = map(duration_text, life.delays_ms)
    beside = f" (others: {', '.join(others)})" if others else ""
    rows = count_text(life.newest.rows, "row")
    yield catalogue.FAR_EXPIRY.of_store(
        life,
        f"the oldest of {rows} is of {time_ms_text(oldest)}, and the watermark of the judged batch "
        f"is {time_ms_text(life.watermark_ms)}",
        *life.newest.rows_and_bytes,
        f"The longest delay of withWatermark, {longest}{beside}, holds the watermark back: it has "
        f"to advance by {duration_text(ahead)} before it passes the first of {rows}.",
        next_step="give both sides a delay that their data needs: of several watermarks the least "
        "counts, so that the rows of all sides stay for the longest delay",
        severity=Severity.INFO,
    )


def _short_ttl(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Values of which no later batch sees any, as their TTL ends before it begins."""
    far, now, gap = life.expiring, life.now_ms, life.gap_ms
    if far is None or now is None or gap is None or life.rule.row_kind is not RowKind.TTL_VALUE:
        return
    # Only values that the judged batch put show the whole TTL.
    if not life.newest.puts or not far.rows or life.window < thresholds.window_versions:
        return
    longest = (max(far.rows) + 1) * far.width - now
    if longest > gap:
        return
    ttl, pause = duration_text(longest), duration_text(gap)
    evidence = f"the values that the judged batch put end {ttl} after it at the latest; half of "
    evidence += f"the batches begin {pause} or more after the one before"
    cause = f"The TTL of {life.store_name!r} ends before the next batch sees a value: it is {ttl} "
    cause += f"at most, and batches are {pause} apart."
    step = _LONGER_TTL.format(life.store_name, "the time from one batch to the next")
    yield catalogue.SHORT_TTL.of_store(
        life, evidence, *life.newest.rows_and_bytes, cause, next_step=step
    )


def _renewals(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Values that gather though they have a TTL, as each is written anew before it ends."""
    # Each write renews it (ValueStateImplWithTTL.update).
    far, now, kept = life.expiring, life.now_ms, life.first.rows and not life.removals
    if life.rule.row_kind is not RowKind.TTL_VALUE or far is None or not far.rows or now is None:
        return
    # Only values that the judged batch put show the whole TTL. Entries of a list move up.
    renewed = life.newest.puts and life.puts >= 2 * life.inserts
    if not renewed or life.is_list or life.window < len(life.versions) - 1:
        return
    ttl, passed = (max(far.rows) + 1) * far.width - now, life.span_ms or 0
    gathers = life.growing is True and not _is_quiet(life, thresholds)
    if not kept or not gathers or far.due_rows or passed < 2 * ttl:
        return
    yield catalogue.OPEN_SESSIONS.of_store(
        life,
        f"none of {life.newest.rows:,} values has expired in {duration_text(passed)}, and the last "
        f"ends {duration_text(ttl)} from now; {life.puts:,} puts, {life.inserts:,} of new keys",
        *life.newest.rows_and_bytes,
        f"No value of {life.store_name!r} has expired in {duration_text(passed)}, though its TTL "
        f"is {duration_text(ttl)} at most: each is written anew before it ends, by data or by a "
        "timer that sets itself again, and that renews it.",
        next_step=f"write {life.store_name!r} only when its value changes by new data, not in "
        "handleExpiredTimer; there clear it, or set no further timer",
    )


def _short_delay(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """A delay of withWatermark that gives late events no time at all."""
    field = life.rule.expiry or life.rule.event_time
    if field is None or field.clock is not Clock.WATERMARK or not life.delays_ms:
        return
    delay = life.delays_ms[0]
    short = delay < thresholds.short_delay_ms and life.window >= thresholds.window_versions
    if not short or not life.watermark_ms or not life.puts:
        return
    words = f"the delay of withWatermark is {duration_text(delay)}"
    evidence = f"by the schema {words}; how many records came late is not in the checkpoint "
    evidence += "(numRowsDroppedByWatermark)"
    cause = f"{capitalise(words)}: an event older than the newest of an earlier batch is late at "
    cause += "once, and is dropped."
    step = "give withWatermark the time by which events come out of order, such as 10 minutes; "
    step += "numRowsDroppedByWatermark of the query's progress counts those that were dropped"
    yield catalogue.SHORT_TTL.of_store(life, evidence, cause=cause, next_step=step)


def _returning(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Keys that went and are put anew, again and again."""
    within, versions = life.operator_name in WITHIN_WATERMARK, count_text(life.window, "version")
    filled = [facts for facts in life.versions.values() if facts.rows and not facts.rebased]
    none_old = all(facts.new_rows == facts.rows for facts in filled)
    if within and none_old and len(filled) >= thresholds.window_versions:
        words = "no key outlives the next batch"
        cause = f"The delay of dropDuplicatesWithinWatermark is so short that {words}: duplicates "
        cause += "that are read later are given out again."
        evidence, longer = f"{words}, in {versions}", _LONGER_DELAY
        yield catalogue.SHORT_TTL.of_store(life, evidence, cause=cause, next_step=longer)
        return
    share = thresholds.alike_share if within else thresholds.hot_share
    least = max(thresholds.unique_puts, share * life.inserts)
    if life.returns < least or life.window < thresholds.window_versions:
        return
    if life.calls is not None and life.returns > 2 * life.calls.timeout_removed:
        return  # the function may remove keys for reasons of its own
    if life.operator_name in PROCESSORS and life.rule.row_kind is not RowKind.TTL_VALUE:
        return  # and so may a processor, which clears its variables and begins them anew
    pauses, noun = "the pauses between the events of a key", "timeout"
    longer = "call setTimeoutDuration or setTimeoutTimestamp with a time, in ms, longer than "
    longer += pauses
    if life.rule.row_kind is RowKind.TTL_VALUE:
        noun, longer = "TTL", _LONGER_TTL.format(life.store_name, pauses)
    reason = f"the {noun} is shorter than {pauses}"
    if within:
        reason = "they come again later than the delay of withWatermark, and are given out again"
        longer = _LONGER_DELAY
    words = f"{life.returns:,} of {life.inserts:,} keys that came had been removed before"
    evidence, cause = f"{words}, in {versions}", f"Keys come back: {words}: {reason}."
    yield catalogue.SHORT_TTL.of_store(life, evidence, cause=cause, next_step=longer)


def _waiting(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Rows that the watermark has passed which the newest batch made, and no batch after it."""
    far, now, until, rule = life.expiring, life.now_ms, life.next_ms, life.rule.expiry
    if not now or not until or far is None or rule is None or rule.clock is not Clock.WATERMARK:
        return
    rows = sum(n for bucket, n in far.rows.items() if (bucket + 1) * far.width <= until)
    short = until - now < thresholds.far_hours * _DAY_MS / 24
    if short or 2 * rows < life.newest.rows or life.leftovers:
        return
    words = f"at least {rows:,} of {count_text(life.newest.rows, 'row')}"
    made = f"the judged batch made the watermark {time_ms_text(until)}"
    cause = f"The watermark of the next batch removes {words}, and no batch without new data has "
    cause += "ever run: what append mode gives out waits for it."
    yield catalogue.WAITING.of_store(life, f"{made}, which has passed {words}", cause=cause)


def _no_puts(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """A store that each record in time is written to, and to which none was for long."""
    if life.unfed < thresholds.window_versions or life.operator_name not in _WRITES_ALL:
        return
    batches = f"the newest {count_text(life.unfed, 'batch', 'batches')} with data of every source"
    since = "" if life.fed_at is None else f" since batch {life.fed_at}"
    policy = "" if not life.by_fastest else ", that of the fastest source (multipleWatermarkPolicy)"
    side = life.store_name.partition("-")[0]
    where = f" of the join's {side} side" if life.operator_name in JOIN else ""
    # A null time is in no window, so that Spark drops the row (TimeWindowing).
    reason = (
        "their event time is null, as of a text in a format that is not the expected one,"
        if life.watermark_ms == 0
        else f"they come too late for the watermark{policy},"
    )
    yield catalogue.UNFED.of_store(
        life,
        f"no row was put{since} into the store, through {batches}",
        cause=f"Most likely the limit is reached, so that the query emits nothing more: no row has "
        f"been counted{since}, through {batches}."
        if life.operator_name in LIMIT
        else f"No row{where} was stored{since}, through {batches}: {reason} or they are dropped "
        f"before the operator{', or match at once in a left semi join' if side == 'left' else ''}.",
    )


def _judge_timers(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Keys of a group state with a timeout that has none for them, and what took it away."""
    calls = life.calls
    if calls is None or life.window < thresholds.window_versions:
        return
    yield from _loss_by_data(life, calls, thresholds)
    if not calls.never_armed_rows:
        return
    rows, versions = calls.never_armed_rows, count_text(life.window, "version")
    clause = f"nothing but new data can have {'it' if rows == 1 else 'them'} removed"
    if not calls.armed_keys:
        few = _small_share(life, thresholds)
        if life.removals and not few:
            return
        said = f"no key had a timeout at any version of the window, and {few or 'none was removed'}"
        clause = f"a key goes only when the function removes it: {few}" if few else clause
        certainty = Certainty.PROVEN
    elif calls.unarmed_by_data:
        said = "they had no timeout at any version of the window, though other keys had"
        certainty = Certainty.INFERRED
    else:
        return  # reported as kept without a timeout since before the window
    yield _never_expires(
        life,
        thresholds,
        f"{rows:,} of {count_text(life.newest.rows, 'row')}: {said} ({versions}); only new data "
        "for them can call the function",
        rows,
        calls.never_armed_bytes,
        f"The function set no timeout for {count_text(rows, 'key')} in {versions}, so {clause}.",
        certainty=certainty,
        next_step=_SET_ALWAYS,
        # A function that removes keys may remove the others later.
        severity=Severity.INFO if life.removals and not calls.armed_keys else None,
    )


def _loss_by_data(
    life: StoreLifetime, calls: TimerCalls, thresholds: Thresholds
) -> Iterator[Finding]:
    """Keys whose timer went by a call for data that set no new one, and by no timeout."""
    # Proven of those whose last timer such a call surely took away.
    rows, size, sure = calls.lost_rows, calls.lost_bytes, True
    if rows < max(1, thresholds.alike_share * life.newest.rows):
        rows, size, sure = calls.cleared_rows, 0, False
        guessed = calls.unarmed_by_data >= rows and not calls.timeout_kept and not life.leftovers
        if not rows or not guessed or life.removals:
            return
    most = rows >= thresholds.hot_share * life.newest.rows
    if not sure and not most:
        return
    by_data = life.removals - calls.timeout_removed
    gone = "no key was removed"
    if life.removals:
        gone = f"a timeout surely removed {calls.timeout_removed:,} of {life.removals:,} that went"
    keys = count_text(rows, "key")
    # By one clock, which a restart may have changed: no exact number.
    unset = "" if sure else f"~{calls.unarmed_by_data:,} calls for data set none; "
    yield _never_expires(
        life,
        thresholds,
        f"{keys} of {life.newest.rows:,} had a timeout in the window and have none; {unset}{gone}",
        rows,
        size or None,
        f"A call for new data took the timeout of {keys} away, as it set no new one: nothing "
        "but more data can have them removed.",
        certainty=Certainty.PROVEN if sure else Certainty.INFERRED,
        next_step=_SET_ALWAYS,
        # Where data removes keys too, those without a timeout may wait for it.
        severity=None if sure and most and 4 * by_data <= life.removals else Severity.INFO,
    )


def _is_quiet(life: StoreLifetime, thresholds: Thresholds) -> bool:
    """Whether no new key came for long, though rows were put: the keys are those that there are."""
    return life.quiet >= max(thresholds.window_versions, life.window / 2)


def _grows(life: StoreLifetime, thresholds: Thresholds) -> Iterator[Finding]:
    """Rows that only become more, where no rule that is known could tell whether they should."""
    rule = life.rule
    is_known = rule.expiry is not None or rule.never is not None or rule.event_time is not None
    grown = life.newest.rows - life.first.rows
    if is_known or rule.needs_none or life.removals or grown <= 0:
        return
    short = life.window < thresholds.window_versions or _is_quiet(life, thresholds)
    if short or (life.growing is not True and grown <= _FEW * life.newest.rows):
        return
    rows, versions = count_text(grown, "row"), count_text(life.window, "version")
    evidence = f"{rows} more than {versions} before, and none was removed ({rule.unknown})"
    subject, fired = "The store", life.fired
    if life.operator_name in PROCESSORS and rule.advice:
        subject = f"The variable {life.store_name!r} has no TTL: it"
    if fired is not None and fired.kept:
        keys = count_text(fired.keys, "key")
        kept = "them all" if fired.kept == fired.keys else f"{fired.kept:,} of them"
        evidence += f"; the timers of {keys} were due and are gone: they fired, or were deleted"
        subject = f"Timers of {keys} came due and are gone, and the variable {life.store_name!r} "
        subject += f"kept {kept}: it"
    cause = f"{subject} gained {rows} in {versions} and lost none."
    step = rule.advice or catalogue.NO_REMOVES.to_do
    yield catalogue.NO_REMOVES.of_store(
        life, evidence, *life.newest.rows_and_bytes, cause, next_step=step
    )


_RULES = (
    *(_nearly_equal, _put_off, _short_delay, _long_delay, _waiting),
    *(_short_ttl, _renewals, _returning, _no_puts, _either_clock),
)
