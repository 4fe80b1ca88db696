"""Facts of a run put together as the lifetime findings take them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from inspector.decode.row_hash import row_hash
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.plan import possible_times
from inspector.discovery.what_if import delays_of
from inspector.facts.ages import AHEAD, Ages, RowsBehind
from inspector.facts.expiring import Expiring
from inspector.facts.join_rows import JoinCheck, KeyTimeVotes, MatchedPuts, RemovedRows
from inspector.facts.leftover_facts import LeftoverCount
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.top_keys import SampledKey, TopBy, TopKey
from inspector.facts.variable_entries import EntriesPerKey, FiredKeys, TimersWithoutState
from inspector.facts.versions import VersionFacts
from inspector.findings.cost_inputs import KeyWords, StoreInputs, columns_of
from inspector.findings.expired_rows import total_of
from inspector.findings.joins import JoinLifetime, Retention
from inspector.findings.lifetime import LongSession, StoreLifetime
from inspector.findings.thresholds import DEFAULTS
from inspector.findings.variables import VariableLife
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts, covered_timed_rows
from inspector.model import BatchClock, BatchId, Certainty, StoreName, TimeoutKind
from inspector.operators import deduplicate_within_watermark, transform_with_state
from inspector.operators.aggregation import UNNAMED
from inspector.operators.deduplicate import NAMES as DEDUPLICATE
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.operators.rule import MICROS_PER_MS, WATERMARK_KEY, Clock, RowKind, StoreRule
from inspector.operators.session_window import NAMES as SESSION
from inspector.sparktypes import DOUBLE, FLOAT, TIMESTAMP, TIMESTAMP_NTZ, StringType, StructField
from inspector.sums import group_by

_MOST_TRIES = 6  # of an event that is sent again, in all
_FEWEST_KEYS = 20  # keys of which a column without equal values is worth a name
EVENT_TIME = "event time"
_FAR_DIGITS = 4  # binary digits of 8 minutes


def store_lifetimes(
    checkpoint: Checkpoint,
    operator: Operator,
    version: int,
    facts: Facts,
    growing: Mapping[StoreName, bool] = MappingProxyType({}),
    key_words: KeyWords = lambda _store, key, _schema=None: row_hash(key),
) -> Iterator[StoreLifetime]:
    """What is known of the life of each store's rows."""
    clock = checkpoint.clock(version)
    delays_ms = sorted(delays_of(checkpoint), reverse=True)
    by_fastest = checkpoint.conf(version, "multipleWatermarkPolicy") == "max"
    times = [c.timestamp_ms for _, c in sorted(checkpoint.logs.clocks.items())]
    recorded = [time for time in times if time is not None]
    gaps = sorted(after - before for before, after in pairwise(recorded))
    set_back, doubt = _set_back(checkpoint, version), _doubt(checkpoint, version)
    before = [c for batch, c in checkpoint.logs.clocks.items() if batch < version]
    data_batches = sum(c.has_new_data is True for c in before)
    for name, rule in operator.rules.items():
        store = StoreInputs(checkpoint, operator, name, version, facts, key_words)
        versions, fields, put = store.versions, store.key_fields, sampled_keys(facts, store.name)
        result = [changes for changes in versions.values() if not changes.rebased]
        quiet, window_ms = _quiet(versions), store.windows.length_ms if store.windows else 0
        moved = _advance_ms(checkpoint, version, len(result) - 1, _watermark) or math.inf
        yield StoreLifetime(
            operator_id=operator.operator_id,
            operator_name=operator.name,
            store_name=name,
            rule=rule,
            newest=versions.get(version, VersionFacts()),
            removals=sum(changes.removed_rows for changes in result),
            puts=sum(changes.puts for changes in result),
            inserts=sum(changes.inserts for changes in result),
            quiet=quiet,
            growing=growing.get(store.name),
            span_ms=span(checkpoint.clock(min(versions, default=version)), clock),
            window=len(result),
            leftovers=_totals(store),
            provable=facts.provable(store.name),
            watermark_ms=None if clock is None else _watermark(clock),
            batch_ms=None if clock is None else clock.timestamp_ms,
            first=next(iter(versions.values()), VersionFacts()),
            calls=_calls(store),
            ages=store.sum(Ages),
            data_batches=data_batches,
            doubt=doubt,
            fired=store.sum(FiredKeys),
            delays_ms=delays_ms,
            by_fastest=by_fastest,
            gap_ms=gaps[len(gaps) // 2] if gaps else None,
            set_back=set_back,
            is_list=operator.family(name) is transform_with_state.Family.LIST,
            **_progress(store, rule, (quiet, len(result) - 1)),
            longest=_longest(store),
            reach_ms=window_ms or _reach_ms(store, clock),
            exact=_exact(fields, *store.rows_and_records()),
            alike=dict(_alike(put, fields, unique=operator.name in DEDUPLICATE)),
            compared=len(put),
            unique=" or ".join(unique_columns([*put], fields)),
            sets="spark_grouping_id" in [field.name for field in fields],
            **_possible_watermark(store),
            returns=_returns(store),
            versions=versions,
            next_ms=_next_ms(checkpoint, clock),
            by_event_time=facts.resolution.usual_clock(store.name) is TimeoutKind.EVENT_TIME,
            batches_open=(len(result) - 1) * window_ms / moved,
            **_no_puts(store),
            **_expiring(facts, store.name, rule, version, clock),
        )


def _possible_watermark(store: StoreInputs) -> Any:
    """Whether a time of the rows may have a watermark that no schema shows, and has none likely."""
    # It has none where the watermark is 0 after a batch with data of every source. It would have
    # removed a row that it has passed.
    clock, sources = store.checkpoint.clock(store.version), store.checkpoint.logs.sources
    watermark_ms = None if clock is None else _watermark(clock)
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


def _quiet(versions: Mapping[int, VersionFacts]) -> int:
    """How many of the newest versions in a row that put rows brought no new one."""
    newest_first = (versions[version] for version in sorted(versions, reverse=True))
    steady = takewhile(lambda facts: not facts.new_rows, newest_first)
    return sum(bool(facts.puts) and not facts.rebased for facts in steady)


def _returns(store: StoreInputs) -> int:
    """Keys that were put anew after they had gone, where each has one row; at least so many."""
    family, ages = store.operator.family(store.store_name), store.sum(Ages) or Ages()
    usual = (*GROUP_STATE, *deduplicate_within_watermark.NAMES)
    if store.operator.name not in usual and family is not transform_with_state.Family.VALUE:
        return 0
    return max(0, ages.born - ages.keys)


def _next_ms(checkpoint: Checkpoint, clock: BatchClock | None) -> int | None:
    """The watermark that the judged batch made, where each batch up to it had new data."""
    if clock is None:
        return None
    clocks = sorted(checkpoint.logs.clocks.items())
    fed = [c.has_new_data for batch, c in clocks if batch <= clock.batch_id][1:]
    return clock.next_watermark_ms if all(fed) and len(fed) >= DEFAULTS.data_batches else None


def _exact(fields: Sequence[StructField], written: int, records: int) -> str:
    """Columns of a key that events hardly share: an id, where rows are as many as records read."""
    numbers = [repr(field.name) for field in fields if field.data_type in (DOUBLE, FLOAT)]
    if numbers:
        return f"floating-point numbers ({', '.join(numbers)})"
    equal = DEFAULTS.unique_share * max(written, records) <= min(written, records)
    return "an id of each record" if equal and records >= DEFAULTS.unique_puts else ""


def _no_puts(store: StoreInputs) -> Any:
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


def _progress(store: StoreInputs, rule: StoreRule, spans: tuple[int, int]) -> Any:
    """How far the clock of a store's rows went through some versions; and timers that went."""
    clock = rule.expiry and rule.expiry.clock
    kind = store.facts.resolution.usual_clock(store.name)
    by = {Clock.WATERMARK: [_watermark], Clock.PROCESSING_TIME: [_timestamp]}.get(
        clock or Clock.WATERMARK, [_watermark] if kind is TimeoutKind.EVENT_TIME else [_timestamp]
    )
    if clock is Clock.TIMEOUT and kind is None:
        by = [_watermark, _timestamp]  # by either it is so long
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


def _longest(store: StoreInputs) -> LongSession | None:
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
    words = store.key_words(store.name, first.key)
    said, most = f" ({words})" if words else "", max(top.puts for top in tops)
    return LongSession(begin // MICROS_PER_MS, first.puts, said, most)


def _reach_ms(store: StoreInputs, clock: BatchClock | None) -> int:
    """From the newest event to the newest expiry time: of sessions the gap, of keys the delay."""
    # 0 where it cannot be told. The newest event is the delay ahead of the watermark that it made.
    ages, operator = store.sum(Ages), store.operator
    newest = None if ages is None else ages.newest_ms
    if newest is None or clock is None or not clock.next_watermark_ms:
        return 0
    ahead = max(0, newest - clock.next_watermark_ms)
    if operator.name in deduplicate_within_watermark.NAMES:
        return ahead // 2  # the delay is in both
    values = (field for schema in operator.schemas.values() for field in schema.value.fields)
    delays = [field.metadata.get(WATERMARK_KEY, 0) for field in values]
    return max(0, ahead - max(delays, default=0)) if operator.name in SESSION else 0


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


def sampled_keys(facts: Facts, name: StoreName) -> dict[bytes, int]:
    """The keys of a store that were put last, and the version, or 0, that put each."""
    # A partition in two folders has each twice.
    return {sampled.key: sampled.version or 0 for sampled in facts.of_store(SampledKey, name)}


def unique_columns(
    keys: Sequence[bytes], fields: Sequence[StructField], share: float = 1
) -> list[str]:
    """Words for one or two columns with as many values as keys, or nearly so, times last."""
    if len(keys) < _FEWEST_KEYS:
        return []
    columns = enumerate(columns_of(keys, fields))
    unique = [at for at, column in columns if len({*column}) >= share * len(keys)]
    unique.sort(key=lambda at: fields[at].data_type in (TIMESTAMP, TIMESTAMP_NTZ))
    names = [fields[at].name for at in unique[:2]]
    return [
        f"grouping expression {at + 1}" if name == UNNAMED else repr(name)
        for at, name in zip(unique, names, strict=False)
    ]


def _set_back(checkpoint: Checkpoint, version: int) -> tuple[int, int, int]:
    """The batch after which the batch clock went back, by how many ms, and how far it was ahead.

    Ahead of that of the version's batch: of several, that which was farthest.
    """
    last = checkpoint.clock(version)
    clocks = [c for batch, c in sorted(checkpoint.logs.clocks.items()) if batch < version]
    steps = (
        (-(span(clock, last) or 0), clock.batch_id, -back)
        for clock, after in pairwise(clocks)
        if (back := span(clock, after) or 0) < 0
    )
    ahead, batch, back = max(steps, default=(0, 0, 0))
    return (batch, back, ahead) if ahead > 0 else (0, 0, 0)


def span(first: BatchClock | None, last: BatchClock | None) -> int | None:
    """Ms from the beginning of one batch to that of another; None where either is not known."""
    times = [clock.timestamp_ms for clock in (first, last) if clock is not None]
    recorded = [time for time in times if time is not None]
    return recorded[1] - recorded[0] if len(recorded) > 1 else None


def _expiring(
    facts: Facts, name: StoreName, rule: StoreRule, version: int, batch: BatchClock | None
) -> dict[str, Any]:
    """When the rows of a store expire, where the clock that they go by is known."""
    clock = facts.resolution.clock_of(name, version)
    kind = clock.kind or facts.resolution.usual_clock(name)
    of_store = facts.merged(Expiring).get(name, {}).values()
    # A restart may have changed a clock that the batch does not show, if no timer is due by it.
    by_kind = [
        item
        for item in of_store
        if kind is None or item.timeout_kind in (None, kind) or not (clock.shown or item.due_rows)
    ]
    if rule.expiry is None or batch is None or not by_kind:
        return {}
    kinds = [item.timeout_kind for item in by_kind if item.timeout_kind is not None]
    clocks = [batch.time_ms(kind) for kind in kinds] or [rule.expiry.clock.time_ms(batch)]
    # Where timers may follow either clock, what is far ahead of the later one is of both.
    # A watermark of 0 is none, which no timer waits for; one that is not known may be any.
    now = None if None in clocks else max(map(int, filter(None, clocks)), default=None)
    return {"expiring": min(by_kind, key=lambda item: item.due_rows), "now_ms": now}


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
        {store: covered_timed_rows(votes.get(name, {})) for store, name in names.items()},
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


def _watermark(clock: BatchClock) -> int | None:
    """Of a batch, or, as long as that had none, the one that it made for the next."""
    return clock.watermark_ms or clock.next_watermark_ms or clock.watermark_ms


class NewestTime(NamedTuple):
    """The newest time by which the rows of a store go."""

    millis: int  # epoch milliseconds
    what: str  # what kind of time it is: ``window end``
    # the event time that some row had at the least; None where that is not known
    event_ms: int | None = None
    store_name: str = ""  # of the store
    version: int = 0  # that put the row last; 0 if not known


def newest_times(
    checkpoint: Checkpoint, facts: Facts, lengths: Mapping[StoreName, int] = MappingProxyType({})
) -> list[NewestTime]:
    """The newest times of stores that go by the watermark, or may; ``lengths``: windows, in ms."""
    result: list[NewestTime] = []
    for operator in checkpoint.operators:
        for store, rule in operator.rules.items():
            field = rule.expiry or rule.event_time
            name = StoreName(operator.operator_id, store)
            ages = facts.sums(Ages).get(name)
            newest = None if ages is None else ages.newest_ms
            by_event_time = facts.resolution.usual_clock(name) is TimeoutKind.EVENT_TIME
            if field is not None and field.clock is Clock.TIMEOUT and by_event_time:
                result += [
                    NewestTime(max(item.rows) * item.width, "timeout", None, store)
                    for item in facts.merged(Expiring).get(name, {}).values()
                    if item.rows and item.timeout_kind is TimeoutKind.EVENT_TIME
                ]
            elif (
                field is not None and field.clock is Clock.WATERMARK and ages and newest is not None
            ):
                what = _what(field.name)
                length = 0 if what == EVENT_TIME else lengths.get(name)
                event = None if length is None else newest - length
                result.append(NewestTime(newest, what, event, store, ages.newest[1]))
    return result


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


def _what(field_name: str) -> str:
    """What a rule's field holds: not every one is the event time of a row."""
    if field_name == transform_with_state.TIMER_FIELD:
        return "timer"
    if field_name == deduplicate_within_watermark.FIELD:
        return "expiry time (event time and delay)"
    return "window end" if field_name.endswith(".end") else EVENT_TIME


def _calls(store: StoreInputs) -> TimerCalls | None:
    facts, name = store.facts, store.name
    usual = facts.resolution.usual_clock(name)
    kinds = (usual,) if usual else tuple(TimeoutKind)
    calls = [facts.calls[name, kind] for kind in kinds if (name, kind) in facts.calls]
    if not calls:
        return None
    # Those by either clock are sure.
    sure = max(calls, key=lambda of: of.lost_rows)
    return replace(calls[0], lost_rows=sure.lost_rows, lost_bytes=sure.lost_bytes)


def _totals(store: StoreInputs) -> tuple[LeftoverCount, ...]:
    merged: dict[tuple[str, str, bool, str], list[LeftoverCount]] = {}
    for total in (*store.facts.totals, *store.facts.undecided_totals):
        if total.store.name == store.name:
            count = total.fact
            # Undecided keys are counted apart by what leaves them so.
            why = count.reason or "" if count.certainty is Certainty.UNDECIDED else ""
            judged = (count.leftover_class.value, count.certainty.value, count.before_window, why)
            merged.setdefault(judged, []).append(count)
    return tuple(total_of(of_class) for _, of_class in sorted(merged.items()))
