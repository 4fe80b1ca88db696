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
from inspector.quantities import capitalise, count_text, duration_text, share_text
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
"""Usual lengths of a timeout."""
_LONGER_TTL = f"declare {{0!r}} with a TTL ({TTL_OPTION}) that is longer than {{1}}"
_LONGER_DELAY = (
    "give withWatermark a delay that is longer than the time after which duplicates come: "
    "dropDuplicatesWithinWatermark keeps a key for that delay after its event"
)
_WRITES_ALL = (*AGGREGATIONS, *SESSION, *JOIN, *LIMIT)
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
    # of the keys compared, how many differ from another in a way alone; by its words
    alike: Mapping[str, int] = field(default_factory=dict)
    compared: int = 0  # keys
    unique: str = ""  # words for a column of which no two of them share a value, or none
    watermark_possible: bool = False  # a time of its rows may have a watermark that no schema shows
    watermark_refuted: bool = False  # it would have removed a row by now, or there likely is none
    returns: int = 0  # at least so many puts of keys that were not there, and had been before
    versions: Mapping[int, VersionFacts] = field(default_factory=dict)  # all that can be read
    by_event_time: bool = False  # the timers of a group state are known to follow event time


def judge(life: StoreLifetime, thresholds: Thresholds = DEFAULTS) -> Iterator[Finding]:
    """The lifetime findings of one store."""
    yield from _never(life, thresholds)
    yield from _null_times(life, thresholds)
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
    *(_nearly_equal, _put_off, _short_delay),
    *(_short_ttl, _renewals, _returning, _no_puts),
)
