"""The history of a rehearsal: which operators read state back, fired timers or evicted rows.

A rehearsal is a checkpoint that a query made from chosen rows. Two of them, of the old and the new
query, are compared before the new query takes over the state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from functools import partial
from typing import Any

from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.light_dataclasses import dataclass, field
from inspector.model import BatchClock, TimeoutKind
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.join import time_fields
from inspector.operators.rule import WATERMARK_KEY, Clock, RowPart
from inspector.operators.transform_with_state import TTL_FIELD, Family
from inspector.sparktypes import StructField

TIMEOUT = "timeoutTimestamp"  # field of a group state's value that holds its timer, epoch ms
EXPIRY = "expiryTimestampMs"  # field of the key of a timer of transformWithState, epoch ms
# one year, in ms: timers that are later than the first batch's processing time follow processing
# time if the watermark is further behind that time
YEAR_MS = 365 * 24 * 3_600_000
# one day, in ms: a row of a join that is further behind the watermark and stays shows that the join
# keeps rows
DAY_MS = 24 * 3_600_000
# unit of watermarks: a join's time range is known exactly if it is open by no more ms
RANGE_MS = 1
MOST_VERSIONS = 64  # number of state versions up to which a rehearsal's older versions are read

Store = tuple[int, str]  # operator id, store name
Snapshot = Mapping[Store, Mapping[str, tuple[Any, Any]]]
"""Live rows of one state version: by store and by the text of the key, the key and the value."""


# distances of rows behind the watermark, in ms: the greatest of kept rows, and the least of evicted
# ones that is greater; None if there is no such row
Distances = tuple[int | None, int | None]


@dataclass(frozen=True)
class Coverage:
    """Actions of the operators in one rehearsal, by operator id, and the times that they set."""

    # ids of operators of which a batch with data changed a key that was there before
    read_back: frozenset[int] = frozenset()
    # ids of operators that fired a timer, evicted a row, or kept one that the watermark had passed
    fired: frozenset[int] = frozenset()
    # ids of operators that set a timer, or whose rows the watermark removes by logic that no schema
    # shows
    timed: frozenset[int] = frozenset()
    # ids of joins whose time range is not known exactly -> the distances that bound it
    open_ranges: Mapping[int, Distances] = field(default_factory=dict)
    # store -> distances (ms) of expiry times (TTL) from the clock of the batch that wrote them
    ttls: Mapping[Store, frozenset[int]] = field(default_factory=dict)
    # store -> distances (ms) of processing-time timers from the clock of the batch that set them
    timers: Mapping[Store, frozenset[int]] = field(default_factory=dict)


def has_user_code(operator: Operator) -> bool:
    """Return True if a function of the user reads the operator's existing state.

    So it is for group state, for a transformWithState processor, and for an aggregate that stores
    its buffer in a field ``buf``.
    """
    if operator.name in GROUP_STATE or operator.processor is not None:
        return True
    schemas = operator.schemas.values()
    return any(field.name == "buf" for schema in schemas for field in schema.value.fields)


def timeout_ms(value: Any) -> int | None:
    """Return the timer (epoch ms) in the decoded value of a group state; None if none is set."""
    timeout = value.get(TIMEOUT) if isinstance(value, dict) else None
    return timeout if isinstance(timeout, int) and timeout > 0 else None


def timer_clock(checkpoint: Checkpoint, timers: Iterable[int]) -> TimeoutKind | None:
    """Return the clock that the timers of a group state follow; None if the files do not show it.

    ``timers`` are their times, epoch ms. It is event time if a timer is not later than the
    processing time of batch 0. Otherwise it is processing time if the newest watermark is more than
    a year behind that time, or absent.
    """
    clocks = checkpoint.logs.clocks
    first = next((clock for batch, clock in clocks.items() if batch == 0), None)
    if first is not None and first.timestamp_ms is not None:
        first_ms = first.timestamp_ms
        if any(timer <= first_ms for timer in timers):
            return TimeoutKind.EVENT_TIME
        watermark = max(c.next_watermark_ms or c.watermark_ms or 0 for c in clocks.values())
        if watermark < first_ms - YEAR_MS:  # 0 without a watermark
            return TimeoutKind.PROCESSING_TIME
    return None


def compared_versions(before: Checkpoint, new: Checkpoint) -> list[tuple[int, int]]:
    """Return pairs of state versions, of ``before`` and ``new``, after the same inputs.

    The two rehearsals have read the same rows. If their batches have data in the same order, all
    versions are paired; if as many batches have data, the versions of these are. The last pair are
    the newest versions. It is the only one otherwise, or if the log of a rehearsal lacks a batch.
    """
    newest = before.newest_version, new.newest_version
    flags = [_data_flags(checkpoint) for checkpoint in (before, new)]
    if not all(flags):
        return [newest]
    if list(flags[0].values()) == list(flags[1].values()):
        return [*zip(flags[0], flags[1], strict=True)]
    with_data = [[version for version, is_data in side.items() if is_data] for side in flags]
    pairs = list(zip(*with_data, strict=False)) if len(with_data[0]) == len(with_data[1]) else []
    return [*(pair for pair in pairs if pair != newest), newest]


def _data_flags(checkpoint: Checkpoint) -> dict[int, bool]:
    """Return for each state version from 1 on True if its batch read new rows, else False.

    Empty if the log lacks a batch, if there is no version, or if there are more than MOST_VERSIONS.
    """
    newest = checkpoint.newest_version
    clocks = {version: checkpoint.clock(version) for version in range(1, newest + 1)}
    if not 0 < newest <= MOST_VERSIONS or None in clocks.values():
        return {}
    return {version: _has_data(clock) for version, clock in clocks.items()}


def _has_data(clock: BatchClock | None) -> bool:
    """True if the batch read new rows, or may have; also for an unknown batch (None)."""
    return clock is None or clock.has_new_data is not False  # None: no batch is before it


def coverage_of(
    checkpoint: Checkpoint,
    snapshots: Mapping[int, Snapshot],  # by state version; versions may be absent
    kinds: Mapping[int, TimeoutKind | None],  # clocks of group states' timers by operator id
) -> Coverage:
    """Return the actions of the operators in a rehearsal, if the rows in ``snapshots`` show them.

    Actions of a batch show only if the versions before and after it are given; the version before
    the first one is empty.
    """
    read_back, fired, timed, open_ranges = set(), set(), set(), {}
    for operator in checkpoint.query:
        number = operator.operator_id
        for store in operator.schemas if operator.name == "symmetricHashJoin" else ():
            bounds = _time_range(checkpoint, operator, store, snapshots)
            if bounds is not None and not _is_exact(*bounds):
                open_ranges[number] = bounds
        if _follows_watermark(operator):
            timed.add(number)
        for version, snapshot in snapshots.items():
            if any(_timers(operator, snapshot)):
                timed.add(number)
            previous = {} if version == 1 else snapshots.get(version - 1)
            clock = checkpoint.clock(version)
            if previous is None or clock is None:
                continue
            is_fired, is_read = _step(operator, previous, snapshot, clock, kinds.get(number))
            if is_fired:
                fired.add(number)
            if is_read:
                read_back.add(number)
    return Coverage(
        *(frozenset(read_back), frozenset(fired), frozenset(timed), open_ranges),
        ttls=_durations(checkpoint, snapshots, _ttls),
        timers=_durations(checkpoint, snapshots, partial(_clock_timers, kinds)),
    )


def _time_range(
    checkpoint: Checkpoint, operator: Operator, store: str, snapshots: Mapping[int, Snapshot]
) -> Distances | None:
    """Return the distances from the watermark that bound the time range of one store of a join.

    Returns None if its value has no column with a watermark, or its key has one. Returns None, too,
    if no row was evicted beyond the kept ones, and there were none or one was kept for ``DAY_MS``.
    """
    schema = operator.schemas[store]
    columns = [i for i, column in enumerate(schema.value.fields) if _has_delay(column)]
    if not columns or time_fields(schema.key):
        return None
    kept, evicted = set[int](), set[int]()
    for version, snapshot in snapshots.items():
        clock = checkpoint.clock(version)
        previous = snapshots.get(version - 1, {}).get((operator.operator_id, store), {})
        watermark = clock.watermark_ms if clock is not None else None
        if not watermark:
            continue
        rows = snapshot.get((operator.operator_id, store), {})
        # A row that is removed gives its index to another one: rows are identified by values.
        still = Counter(_without_match(value) for _, value in rows.values())
        for _, value in previous.values():
            text = _without_match(value)
            time = _field_ms(value, (columns[0],), 1000)
            if time is not None:
                (kept if still[text] else evicted).add(watermark - time)
            still[text] -= 1 if still[text] else 0
    most = max(kept, default=None)
    beyond = [distance for distance in evicted if most is None or distance > most]
    if not beyond and (most is None or most >= DAY_MS):
        return None
    return most, min(beyond, default=None)


def _without_match(value: Any) -> str:
    """Return the text of a join row's decoded value, without names and its field ``matched``.

    That field is the flag that the row met a partner.
    """
    fields = value.items() if isinstance(value, dict) else ()
    return repr([part for name, part in fields if name != "matched"])


def _is_exact(kept: int | None, evicted: int | None) -> bool:
    """Return True if both distances (ms) are known and differ by no more than ``RANGE_MS``."""
    return kept is not None and evicted is not None and evicted - kept <= RANGE_MS


# Function that returns the times in one row, in epoch ms, from the operator, the name of the
# store, the decoded key and the decoded value. The caller makes durations of the times.
Durations = Callable[[Operator, str, Any, Any], Iterable[int]]


def _durations(
    checkpoint: Checkpoint, snapshots: Mapping[int, Snapshot], times: Durations
) -> dict[Store, frozenset[int]]:
    """Return how far times in rows are after the processing time of their batch, in ms, by store.

    ``times`` yields the times of a row. Only rows count that the batch added or changed, and of
    these the times that the row did not have before. Stores without such times are absent.
    """
    operators = {operator.operator_id: operator for operator in checkpoint.query}
    distances: dict[Store, set[int]] = {}
    for version, snapshot in snapshots.items():
        clock = checkpoint.clock(version)
        previous = {} if version == 1 else snapshots.get(version - 1)
        if clock is None or clock.timestamp_ms is None or previous is None:
            continue
        for store, rows in snapshot.items():
            before = previous.get(store, {})
            for text, row in rows.items():
                if store[0] in operators and before.get(text) != row:
                    written = set(times(operators[store[0]], store[1], *row))
                    if text in before:
                        written -= set(times(operators[store[0]], store[1], *before[text]))
                    distances.setdefault(store, set()).update(
                        t - clock.timestamp_ms for t in written
                    )
    return {store: frozenset(of_store) for store, of_store in distances.items() if of_store}


def _ttls(operator: Operator, store: str, _key: Any, value: Any) -> Iterator[int]:
    """Yield the expiry times (epoch ms) of a value with a TTL, or of the entries of a list value.

    Yields none unless the store has a variable of transformWithState.
    """
    family = operator.family(store) if operator.processor is not None else None
    if family is not None and family.is_variable:
        for entry in value if isinstance(value, list) else [value]:
            time = entry.get(TTL_FIELD) if isinstance(entry, dict) else None
            if isinstance(time, int):
                yield time


def _clock_timers(
    kinds: Mapping[int, TimeoutKind | None], operator: Operator, store: str, key: Any, value: Any
) -> Iterator[int]:
    """Yield the timer (epoch ms) in a row, if it is one and follows processing time.

    ``kinds`` are the clocks of group states' timers by operator id.
    """
    if operator.name in GROUP_STATE:
        timer = timeout_ms(value)
        if timer is not None and kinds.get(operator.operator_id) is TimeoutKind.PROCESSING_TIME:
            yield timer
    elif store.startswith("$proc") and operator.family(store) is Family.TIMERS:
        yield from filter(None, [_expiry_ms(key)])


def _follows_watermark(operator: Operator) -> bool:
    """Return True if the watermark may remove rows of an operator, by logic that no schema shows.

    That is the time range of a join with a watermark column, and the output mode of an aggregation
    whose rows expire by the watermark.
    """
    if operator.name == "symmetricHashJoin":
        schemas = operator.schemas.values()
        fields = [f for s in schemas for f in (*s.key.fields, *s.value.fields)]
        return any(map(_has_delay, fields))
    rules = operator.rules.values()
    return operator.name == "stateStoreSave" and any(
        rule.expiry is not None and rule.expiry.clock is Clock.WATERMARK for rule in rules
    )


def _of_operator(
    operator: Operator, snapshot: Snapshot
) -> Iterator[tuple[str, Mapping[str, tuple[Any, Any]]]]:
    """Yield (store name, rows) for each store of one operator in a snapshot."""
    for (number, store), rows in snapshot.items():
        if number == operator.operator_id:
            yield store, rows


def _timers(operator: Operator, snapshot: Snapshot) -> Iterator[int]:
    """Yield the timers of an operator that are set in a version, epoch ms."""
    for store, rows in _of_operator(operator, snapshot):
        if operator.name in GROUP_STATE:
            yield from filter(None, (timeout_ms(value) for _, value in rows.values()))
        elif operator.family(store) is Family.TIMERS:
            yield from (_expiry_ms(key) for key, _ in rows.values())


def _expiry_ms(key: Any) -> int:
    """Return the time of a timer of transformWithState, epoch ms; 0 if the key has none."""
    time = key.get(EXPIRY) if isinstance(key, dict) else None
    return time if isinstance(time, int) else 0


def _step(
    operator: Operator,
    previous: Snapshot,
    snapshot: Snapshot,
    clock: BatchClock,
    kind: TimeoutKind | None,
) -> tuple[bool, bool]:
    """Return two flags of a batch, from the live rows before (``previous``) and after it.

    The first is True if a timer fired, a row was evicted, or a row stayed that the watermark had
    passed. The second is True if new data changed a row of ``previous``, which shows that state was
    read back. ``kind`` is the clock of group state's timers; None if it may be either.
    """
    if operator.processor is not None:
        return _processor_step(operator, previous, snapshot, clock)
    fired, read_back, has_data = False, False, _has_data(clock)
    thresholds = [clock.time_ms(k) or 0 for k in ([kind] if kind else TimeoutKind)]
    after = dict(_of_operator(operator, snapshot))
    for store, rows in _of_operator(operator, previous):
        for text, row in rows.items():
            later = after.get(store, {}).get(text)
            if operator.name not in GROUP_STATE:
                fired |= later is None or _is_due(operator, store, row, clock)
                read_back |= has_data and later is not None and later != row
                continue
            timer = timeout_ms(row[1])
            due = [timer is not None and timer < threshold for threshold in thresholds]
            # A batch with data may call the function for the rows of a key whose timer is due.
            fired |= all(due) and (not has_data or later in (None, row))
            read_back |= has_data and not any(due) and later != row
    return fired, read_back


def _is_due(operator: Operator, store: str, row: tuple[Any, Any], clock: BatchClock) -> bool:
    """Return True if the watermark of a batch has passed a row, given as key and value.

    Its presence then shows that it is kept. For a join, an event time of the value must be a day
    behind. False if the rule of the store does not follow the watermark.
    """
    watermark, rule = clock.watermark_ms or 0, operator.rules.get(store)
    if operator.name == "symmetricHashJoin":
        schema = operator.schemas.get(store)
        columns = schema.value.fields if schema is not None else ()
        times = [_field_ms(row[1], (i,), 1000) for i, c in enumerate(columns) if _has_delay(c)]
        return any(time is not None and time + DAY_MS <= watermark for time in times)
    expiry = rule.expiry if rule is not None else None
    if expiry is None or expiry.clock is not Clock.WATERMARK:
        return False
    part = row[0] if expiry.part is RowPart.KEY else row[1]
    time = _field_ms(part, expiry.path, expiry.per_ms)
    return time is not None and time + expiry.delay_ms <= watermark


def _has_delay(column: StructField) -> bool:
    """True if the column carries a watermark."""
    return WATERMARK_KEY in column.metadata


def _field_ms(part: Any, path: tuple[int, ...], per_ms: int) -> int | None:
    """Return the time at a path of field ordinals in a decoded key or value, epoch ms.

    ``per_ms`` is the number of units of an integer in one millisecond; a text is an ISO time. None
    if there is no time.
    """
    for ordinal in path:
        values = list(part.values()) if isinstance(part, dict) else []
        part = values[ordinal] if ordinal < len(values) else None
    if isinstance(part, int):
        return part // per_ms
    try:
        time = datetime.fromisoformat(part.replace("Z", "+00:00"))
    except (AttributeError, ValueError):  # null, no time, or beyond the years of Python
        return None
    return int((time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp() * 1000)


def _processor_step(
    operator: Operator, previous: Snapshot, snapshot: Snapshot, clock: BatchClock
) -> tuple[bool, bool]:
    """Return two flags of a batch of a transformWithState processor.

    The first is True if a timer that was due is gone, so that it fired. The second is True if new
    data changed variables of a grouping key that had some before, and that fired no timer. A value
    whose TTL has passed does not count as changed. ``previous`` are the rows before.
    """
    after = dict(_of_operator(operator, snapshot))
    fired, present, touched = set(), set(), set()
    for store, rows in _of_operator(operator, previous):
        family = operator.family(store)
        later = after.get(store, {})
        if family is Family.TIMERS:
            is_event = store.startswith("$event")
            now = clock.time_ms(TimeoutKind.EVENT_TIME if is_event else TimeoutKind.PROCESSING_TIME)
            gone = (key for text, (key, _) in rows.items() if text not in later)
            fired |= {_group(key) for key in gone if _expiry_ms(key) <= (now or 0)}
        elif family is not None and family.is_variable:
            present |= {_group(key) for key, _ in rows.values()}
            for text, row in rows.items():
                expired = text not in later and _ttl_ms(row[1]) <= (clock.timestamp_ms or 0)
                if later.get(text) != row and not expired:
                    touched.add(_group(row[0]))
    for store, rows in after.items():  # rows that are new, such as another entry of a map
        family = operator.family(store)
        if family is not None and family.is_variable:
            old = previous.get((operator.operator_id, store), {})
            touched |= {_group(key) for text, (key, _) in rows.items() if text not in old}
    return bool(fired), _has_data(clock) and bool((touched & present) - fired)


def _group(key: Any) -> str:
    """Return the text of the grouping key within the key of a map entry, a timer or a value."""
    return repr(key["key"] if isinstance(key, dict) and "key" in key else key)


def _ttl_ms(value: Any) -> float:
    """Return the expiry time of a value, epoch ms; infinite without a TTL."""
    time = value.get(TTL_FIELD) if isinstance(value, dict) else None
    return time if isinstance(time, int) else float("inf")
