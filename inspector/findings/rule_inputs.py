"""Facts of a run put together as the lifetime findings take them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.plan import possible_times
from inspector.facts.ages import AHEAD, Ages, RowsBehind
from inspector.facts.join_rows import JoinCheck, KeyTimeVotes, MatchedPuts, RemovedRows
from inspector.facts.top_keys import TopBy, TopKey
from inspector.facts.variable_entries import EntriesPerKey, FiredKeys, TimersWithoutState
from inspector.facts.versions import VersionFacts
from inspector.findings.joins import JoinLifetime, Retention
from inspector.findings.lifetime_rules import LongSession, StoreLifetime
from inspector.findings.variables import VariableLife
from inspector.findings.views.checkpoint_view import OperatorView
from inspector.findings.views.query_clock import watermark_of
from inspector.findings.views.store_keys import columns_of
from inspector.findings.views.store_view import StoreView
from inspector.merge.collect import Facts, count_covered_rows
from inspector.model import BatchClock, BatchId, StoreName, TimeoutKind
from inspector.operators import deduplicate_within_watermark, transform_with_state
from inspector.operators.deduplicate import NAMES as DEDUPLICATE
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.operators.rule import MICROS_PER_MS, WATERMARK_KEY, Clock, RowKind, StoreRule
from inspector.operators.session_window import NAMES as SESSION
from inspector.sparktypes import TIMESTAMP, TIMESTAMP_NTZ, StringType, StructField
from inspector.sums import group_by

_MOST_TRIES = 6  # of an event that is sent again, in all
_FEWEST_KEYS = 20  # keys of which a column without equal values is worth a name
_FAR_DIGITS = 4  # binary digits of 8 minutes


def store_lifetimes(operator: OperatorView) -> Iterator[StoreLifetime]:
    """What is known of the life of each store's rows."""
    checkpoint, version = operator.whole.checkpoint, operator.whole.version
    doubt, clock = _doubt(checkpoint, version), operator.whole.clock
    for store in operator.stores:
        rule, history, expiry, fields = store.rule, store.history, store.expiry, store.key_fields
        put = store.keys.sample
        yield StoreLifetime(
            operator_id=store.operator_id,
            operator_name=store.operator_name,
            store_name=store.store_name,
            rule=rule,
            newest=store.newest,
            removals=history.removals,
            puts=history.puts,
            inserts=history.inserts,
            quiet=history.quiet_versions,
            growing=history.is_growing,
            span_ms=history.span_ms,
            window=history.window,
            leftovers=expiry.leftovers,
            provable=store.facts.provable(store.name),
            watermark_ms=clock.watermark_ms,
            first=history.first,
            calls=expiry.calls,
            ages=store.sum(Ages),
            data_batches=clock.data_batches,
            doubt=doubt,
            fired=store.sum(FiredKeys),
            delays_ms=clock.delays_ms,
            by_fastest=clock.is_by_fastest,
            gap_ms=clock.gap_ms,
            is_list=store.operator.family(store.store_name) is transform_with_state.Family.LIST,
            **_progress(store, rule, (history.quiet_versions, history.window - 1)),
            longest=_longest(store),
            reach_ms=store.keys.window_ms or expiry.gap_ms,
            alike=dict(_alike(put, fields, unique=store.operator_name in DEDUPLICATE)),
            compared=len(put),
            unique=" or ".join(store.keys.unique_columns),
            sets="spark_grouping_id" in [field.name for field in fields],
            **_possible_watermark(store),
            returns=_returns(store),
            versions=store.versions,
            by_event_time=expiry.usual_kind is TimeoutKind.EVENT_TIME,
            **_no_puts(store),
            expiring=expiry.expiring,
            now_ms=expiry.now_ms,
        )


def _possible_watermark(store: StoreView) -> Any:
    """Whether a time of the rows may have a watermark that no schema shows, and has none likely."""
    # It has none where the watermark is 0 after a batch with data of every source. It would have
    # removed a row that it has passed.
    clock, sources = store.checkpoint.clock(store.version), store.checkpoint.logs.sources
    watermark_ms = None if clock is None else watermark_of(clock)
    of_batch = sources.get(BatchId(store.version - 1), ())
    if watermark_ms == 0 and of_batch and all(source.moved for source in of_batch):
        return {}
    fed = {source.name for entry in sources.values() for source in entry if source.moved}
    ages = store.sum(Ages)
    oldest_ms = None if ages is None else ages.oldest_ms
    return {
        "watermark_possible": bool(possible_times(store.operator, store.store_name)),
        "watermark_refuted": (watermark_ms == 0 and fed >= {source.name for source in of_batch})
        if not watermark_ms or oldest_ms is None
        else oldest_ms <= watermark_ms,
    }


def _returns(store: StoreView) -> int:
    """Keys that were put anew after they had gone, where each has one row; at least so many."""
    family, ages = store.operator.family(store.store_name), store.sum(Ages) or Ages()
    usual = (*GROUP_STATE, *deduplicate_within_watermark.NAMES)
    if store.operator.name not in usual and family is not transform_with_state.Family.VALUE:
        return 0
    return max(0, ages.born - ages.keys)


def _no_puts(store: StoreView) -> Any:
    """Batches whose data reached a store that the sources alone feed, and did not change it."""
    checkpoint, versions = store.checkpoint, store.versions
    clock, unfed = checkpoint.clock(max(versions, default=0)), 0
    ahead = clock is not None and (clock.watermark_ms or 0) > (clock.timestamp_ms or 0)
    if len(checkpoint.query) > 1 or store.store_name in COUNT_STORES or ahead:
        return {}  # that the watermark lies in the future is SS211
    for version in sorted(versions, reverse=True):
        if versions[version].puts or versions[version].rebased:
            return {"unfed": unfed, "fed_at": version - 1 if versions[version].puts else None}
        sources = checkpoint.logs.sources.get(BatchId(version - 1), ())
        unfed += bool(sources) and all(source.moved for source in sources)
    return {"unfed": unfed}


def _progress(store: StoreView, rule: StoreRule, spans: tuple[int, int]) -> Any:
    """How far the clock of a store's rows went through some versions; and timers that went."""
    clock = rule.expiry and rule.expiry.clock
    kind = store.facts.resolution.usual_clock(store.name)
    by = {Clock.WATERMARK: [watermark_of], Clock.PROCESSING_TIME: [_timestamp]}.get(
        clock or Clock.WATERMARK, [watermark_of] if kind is TimeoutKind.EVENT_TIME else [_timestamp]
    )
    if clock is Clock.TIMEOUT and kind is None:
        by = [watermark_of, _timestamp]  # by either it is so long
    quiet, whole = (
        min(_advance_ms(store.checkpoint, store.version, n, of) for of in by) for n in spans
    )
    went = store.sum(RemovedRows) or RemovedRows()
    is_timer = rule.row_kind is RowKind.TIMER
    return {
        "moved_ms": whole if is_timer else quiet,
        "all_moved_ms": whole,
        "early": went.early if is_timer else 0,
        "on_time": went.on_time if is_timer else 0,
    }


def _advance_ms(
    checkpoint: Checkpoint,
    version: int,
    versions: int,
    by: Callable[[BatchClock], int | None],
) -> int:
    """Ms by which a clock moved through so many versions."""
    first, last = checkpoint.clock(version - versions), checkpoint.clock(version)
    begin = 0 if first is None else by(first) or 0
    return ((by(last) or 0) - begin) if begin and last is not None else 0


def _timestamp(clock: BatchClock) -> int | None:
    return clock.timestamp_ms


def _longest(store: StoreView) -> LongSession | None:
    """Of the sessions that were written most often in each partition the one that began first."""
    if store.operator.name not in SESSION or not store.key_fields:
        return None
    tops = [key for key in store.facts.of_store(TopKey, store.name) if key.by is TopBy.PUTS]
    *_, slots = columns_of([top.key for top in tops], store.key_fields)
    times = [int.from_bytes(slot, "little", signed=True) for slot in slots]
    starts = dict(zip(times, tops, strict=True))
    if not starts:
        return None
    begin, first = min(starts.items(), key=itemgetter(0))
    words = store.words_of_key(first.key)
    said, most = f" ({words})" if words else "", max(top.puts for top in tops)
    return LongSession(begin // MICROS_PER_MS, first.puts, said, most)


def _alike(
    put: Mapping[bytes, int], fields: Sequence[StructField], *, unique: bool
) -> Iterator[tuple[str, int]]:
    """How many of some keys differ from another one in a column alone, and how they differ."""
    # unique: the columns are to make out events, which have a time, and not what they are of.
    columns = [*columns_of([*put], fields)]
    rows = [*zip(*columns, strict=True)]
    times = [field.data_type in (TIMESTAMP, TIMESTAMP_NTZ) for field in fields]
    for at, field in enumerate(fields):
        is_text = isinstance(field.data_type, StringType)
        if not is_text and not unique:
            continue
        column = columns[at]
        shared = [row[:at] + row[at + 1 :] for row in rows]
        if is_text:
            spelled = [text.decode(errors="replace").strip().casefold() for text in column]
            how = f"in the case or the blanks of {field.name!r}: one thing has several keys"
            spellings = group_by(zip(spelled, shared, put.values(), strict=True), itemgetter(0, 1))
            if last := last_of_older([[at for *_, at in keys] for keys in spellings.values()]):
                how = (
                    f"in the case or the blanks of {field.name!r}, and the older of two has no put "
                    f"since batch {last - 1}, as after a change of the query"
                )
            yield how, len(rows) - len(spellings)
        alike = len(rows) - len(set(shared))
        # Where most are alike, as with times that are null, this is the column that makes them out.
        several = any(times[:at] + times[at + 1 :]) and 2 * alike <= len(rows)
        beside = any(WATERMARK_KEY in of.metadata for of in (*fields[:at], *fields[at + 1 :]))
        if unique and several and len(set(column)) == len(rows):
            how = f"in {field.name!r}, which no two keys share: if an event gets it anew each time "
            yield f"{how}that it is sent, duplicates are not seen", alike
        elif unique and beside and times[at]:  # one event, two times
            how = f"in {field.name!r}, another time than the watermark's: if it is when an event "
            yield f"{how}was read, duplicates are not seen", alike
        elif (
            unique
            and WATERMARK_KEY in field.metadata
            and (
                in_pairs(shared)
                or come_and_go(shared, [int.from_bytes(t, "little", signed=True) for t in column])
            )
        ):
            how = f"in {field.name!r}, the event time: if an event sent again has a new one"
            yield f"{how}, duplicates are not seen", alike


def last_of_older(versions: Iterable[Sequence[int]]) -> int:
    """The version after which one of each pair was put no more, and the other was; 0 for none."""
    # versions: those that put the keys of each thing last.
    pairs = [sorted(of_one) for of_one in versions if len(of_one) == 2]
    last = max((older for older, _ in pairs), default=0)
    ended = len(pairs) >= _FEWEST_KEYS and all(newer > last for _, newer in pairs)
    return last if ended else 0


def in_pairs(values: Sequence[Hashable]) -> bool:
    """Whether some are there twice, as what is sent again, and hardly one more often."""
    # Of one in five that equals another, values drawn from a set have 14 % three times (Poisson).
    # Where nearly all are pairs, such as a begin and an end, that is what they are.
    counts = Counter(values)
    again = len(values) - len(counts)
    more = sum(count - 2 for count in counts.values() if count > 2)
    return 5 * again >= len(values) and 5 * again <= 2 * len(values) and 20 * more <= again


def come_and_go(values: Sequence[Hashable], times: Sequence[int]) -> bool:
    """Whether values are there a few times each, closer together than by chance, as retries are."""
    # Between the first and the last of n times drawn from a span lie (n - 1) / (n + 1) of it.
    # Those of users, who come all the time, do; a begin and an end are there twice, nearly all.
    found = group_by(zip(values, times, strict=True), itemgetter(0))
    several = [[time for _, time in of_one] for of_one in found.values() if len(of_one) > 1]
    counts = Counter(map(len, several))
    again = len(values) - len(found)
    if sum(counts.values()) < _FEWEST_KEYS or max(counts) > _MOST_TRIES or 5 * again < len(values):
        return False
    by_chance = sum((len(of_one) - 1) / (len(of_one) + 1) for of_one in several)
    apart = sum(max(of_one) - min(of_one) for of_one in several)
    ordered = sorted(times)  # without the ends: one time may be null, or years ahead
    whole = ordered[-1 - len(times) // 20] - ordered[len(times) // 20]
    return counts[2] < 2 * again // 3 and 3 * apart <= 2 * by_chance * whole


def join_lifetime(
    checkpoint: Checkpoint, operator: Operator, version: int, facts: Facts
) -> JoinLifetime:
    """What is known of the two sides of a join."""
    names = {store: StoreName(operator.operator_id, store) for store in VALUE_STORES}
    sides = {store: name for store, name in names.items() if name in facts.retention}
    checks, partners = facts.sums(JoinCheck), facts.sums(MatchedPuts)
    votes = facts.merged(KeyTimeVotes)
    return JoinLifetime(
        operator.operator_id,
        {store: retention(checkpoint, facts, name, version) for store, name in sides.items()},
        {store: checks[name] for store, name in names.items() if name in checks},
        {store: count_covered_rows(votes.get(name, {})) for store, name in names.items()},
        {store: partners[name] for store, name in names.items() if name in partners},
    )


def variable_lives(operator: Operator, version: int, facts: Facts) -> Iterator[VariableLife]:
    """What is known of each store of a transformWithState; nothing for other operators."""
    if operator.processor is None:
        return
    timers, entries = facts.sums(TimersWithoutState), facts.sums(EntriesPerKey)
    merged = facts.by_store()
    for store in operator.layout.store_names:
        name = StoreName(operator.operator_id, store)
        family, variable = operator.family(store), operator.variable(store)
        if family is None:
            continue
        changes = [change for change in merged.get(name, {}).values() if not change.rebased]
        schema = operator.schemas.get(store)
        # An index outlives its variable, if that is neither declared nor has rows.
        is_gone = (
            variable not in (None, store)
            and operator.processor.declares(variable or "") is False
            and not facts.of_version(StoreName(name.operator_id, variable or ""), version).rows
        )
        yield VariableLife(
            *(operator.operator_id, store, family, operator.processor.declares(store)),
            facts.of_version(name, version),
            variable if is_gone else None,
            *(timers.get(name), entries.get(name), sum(changes, VersionFacts()), len(changes)),
            None if schema is None else transform_with_state.has_ttl(schema.value),
        )


def retention(checkpoint: Checkpoint, facts: Facts, name: StoreName, version: int) -> Retention:
    """How far behind the watermark the rows of one side reached."""
    versions = facts.by_store().get(name, {})
    result = [version_facts for version_facts in versions.values() if not version_facts.rebased]
    newest = facts.of_version(name, version)
    watermarks: dict[int, int] = {}
    behind: dict[int, int] = {}
    for at, oldest in facts.retention.get(name, {}).items():
        clock = checkpoint.clock(at)
        if clock is not None and clock.watermark_ms:
            watermarks[at] = clock.watermark_ms
            behind[at] = clock.watermark_ms - oldest
    # Of a key with several rows the last takes the place of the one that goes
    # (SymmetricHashJoinStateManager), so that a newer row is removed from the store.
    counters = StoreName(name.operator_id, COUNT_STORES[0])
    keys = facts.of_version(counters, version).rows
    one_each = name.store_name == VALUE_STORES[0] and keys == newest.rows
    early = facts.sums(RemovedRows).get(name, RemovedRows()).early if one_each else 0
    removed = sum(version_facts.removed_rows for version_facts in result)
    first = next(iter(versions.values()), VersionFacts())
    return Retention(behind, watermarks, removed, newest, first, len(result), early)


def _doubt(checkpoint: Checkpoint, version: int) -> str:
    """Why the watermark of a version's batch is not known; empty where the log begins later."""
    before = (c for batch, c in checkpoint.logs.clocks.items() if batch < version - 1)
    if all(clock.watermark_ms is None for clock in before):
        return ""  # purged, or never recorded
    entry = f"entry {version - 1} of the offset log"
    return f"{entry} is missing, cannot be read or is contradicted by another"


class LateRows(NamedTuple):
    """Rows that came with others, and that the watermark of the same batch left far behind."""

    batch: int  # which
    # late, rows: of those that it put, the ones behind, and all
    late: int
    rows: int
    # how far they are behind the watermark that it made, at the least; the furthest less than four
    # times as far
    least_ms: int


def late_rows(batch: int, digits: Mapping[int, int]) -> LateRows | None:
    """What of a batch came late, by :class:`inspector.facts.ages.RowsBehind`; None if nothing."""
    # A source that was read from long ago on has rows of all ages. Where some are far behind and
    # none is half as far, they are of another source, or of another clock.
    far = max(digits, default=AHEAD)
    apart = not any(digits.get(far - n) for n in (2, 3)) and min(digits, default=far) < far - 3
    if far < _FAR_DIGITS or not apart:
        return None
    late = sum(rows for digit, rows in digits.items() if digit >= far - 1)
    nearest = min(digit for digit in digits if digit >= far - 1)
    return LateRows(batch, late, sum(digits.values()), 60_000 << (nearest - 1))


def late_batches(facts: Facts) -> list[LateRows]:
    """Rows that the watermark of their own batch left far behind, of all stores of an operator."""
    digits: dict[tuple[int, int], Counter[int]] = {}
    for name, versions in facts.merged(RowsBehind).items():
        for version, behind in versions.items():
            digits.setdefault((version - 1, name.operator_id), Counter()).update(behind.digits)
    result = (late_rows(batch, of_batch) for (batch, _), of_batch in digits.items())
    return [rows for rows in result if rows is not None]
