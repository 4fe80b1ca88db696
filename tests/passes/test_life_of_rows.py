"""Operators by their rules, fed random events, against what is read from the files they leave.

Each simulator keeps its own account of the rows that a batch's watermark covered and that outlived
the batch; state is never looked at to make it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from inspector import api
from inspector.model import JOIN_COUNT_STORES, JOIN_ROW_STORES
from inspector.sparktypes import LONG, TIMESTAMP, VOID, StructField, StructType
from tests import cases, encode
from tests.attributes import attributes
from tests.cases import STRING, Batch
from tests.encode import Record
from tests.facts.histories import changes_between
from tests.profiles import costly
from tests.reports import cell_values, findings_with_id, rows_of_table

Event = tuple[int, int]
"""A user and a time in ms."""

SECOND = 1000
MARK = {"spark.watermarkDelayMs": 0}
WINDOW = StructType((StructField("start", TIMESTAMP), StructField("end", TIMESTAMP)))
ROW = StructType((StructField("count", LONG),))
BY_WINDOW = StructType((StructField("window", WINDOW, metadata=MARK), StructField("user", STRING)))
BY_TIME = StructType((StructField("user", STRING), StructField("ts", TIMESTAMP, metadata=MARK)))
BY_USER = StructType((StructField("user", STRING),))
DUMMY = StructType((StructField("__dummy__", VOID),))
SESSION_KEY = StructType((StructField("user", STRING), StructField("sessionStartTime", TIMESTAMP)))
SESSION = StructType(
    (
        StructField("user", STRING),
        StructField("session_window", WINDOW, metadata={**MARK, "spark.sessionWindow": True}),
        StructField("count", LONG),
    )
)


@dataclass
class Operator:
    """A stateful operator with one store, and its account.

    Attributes:
        keeps: never removes a row (complete mode).
        delay: time in ms for which a row of dropDuplicatesWithinWatermark is kept.
        rows: key bytes -> value bytes and the time, in ms, by which the row goes.
        covered: key bytes -> version in which a watermark first covered the row as it stands.
    """

    keeps: bool = False
    delay: int = 7 * SECOND
    rows: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)
    covered: dict[bytes, int] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    name = ""
    certainty = "inferred"
    key = value = StructType(())
    by_value = False

    def run(self, events: Iterable[Event], late: int, watermark: int, version: int) -> list[Record]:
        """One batch: late rows dropped, puts, then what the watermark evicts."""
        self.records = []
        for user, time in events:
            self.take(user, time, 0 if self.keeps else late)
        self.evict(watermark)
        for key, (_, goes) in self.rows.items():
            if watermark and goes <= watermark:
                self.covered.setdefault(key, version)
        return self.records

    def take(self, user: int, time: int, late: int) -> None:
        """One row of input."""
        raise NotImplementedError

    def evict(self, watermark: int) -> None:
        """Remove what the watermark covers."""
        for key, (_, goes) in list(self.rows.items()):
            if watermark and goes <= watermark and not self.keeps:
                self.remove(key)

    def put(self, key: bytes, value: bytes, goes: int) -> None:
        if self.by_value or key not in self.rows:
            self.covered.pop(key, None)
        self.rows[key] = (value, goes)
        self.records.append((key, value))

    def remove(self, key: bytes) -> None:
        del self.rows[key]
        self.covered.pop(key, None)
        self.records.append((key, None))


class Aggregation(Operator):
    """``groupBy(window(ts, 10 seconds), user).count()``."""

    name, key, value = "stateStoreSave", BY_WINDOW, ROW

    def take(self, user: int, time: int, late: int) -> None:
        start = time // (10 * SECOND) * 10 * SECOND
        end = start + 10 * SECOND
        if late and end <= late:
            return
        key = encode.row(BY_WINDOW, ((start * 1000, end * 1000), f"u{user}"))
        self.put(key, encode.row(ROW, (len(self.records),)), end)


class Deduplicate(Operator):
    """``dropDuplicates("user", "ts")``; ``steps`` behind with incrementalCleanupFactor."""

    name, key, value = "dedupe", BY_TIME, DUMMY
    # The leftovers show that it sees no watermark, or that something else put them.
    certainty = "undecided"

    def take(self, user: int, time: int, late: int) -> None:
        key = encode.row(BY_TIME, (f"u{user}", time * 1000))
        if key not in self.rows and not (late and time <= late):
            self.put(key, encode.row(DUMMY, (None,)), time)


class DeduplicateWithin(Operator):
    """``dropDuplicatesWithinWatermark("user")``."""

    name, key, value = "dedupeWithinWatermark", BY_USER, cases.EXPIRES_AT
    certainty = "undecided"
    by_value = True

    def take(self, user: int, time: int, late: int) -> None:
        key = encode.row(BY_USER, (f"u{user}",))
        if key not in self.rows and not (late and time <= late):
            goes = time + self.delay
            self.put(key, cases.micros(goes * 1000), goes)


class Sessions(Operator):
    """``groupBy(session_window(ts, "5 seconds"), user).count()``."""

    name, key, value = "sessionWindowStateStoreSaveExec", SESSION_KEY, SESSION
    by_value = True

    def take(self, user: int, time: int, late: int) -> None:
        start, end = time, time + 5 * SECOND
        if late and end <= late:
            return
        for second, (_, goes) in list(self.rows.items()):
            name, began = self.spans[second]
            if name == user and began <= end and start <= goes:
                start, end = min(start, began), max(end, goes)
                self.remove(second)
        key = encode.row(SESSION_KEY, (f"u{user}", start * 1000))
        self.spans[key] = (user, start)
        value = encode.row(SESSION, (f"u{user}", (start * 1000, end * 1000), 1))
        self.put(key, value, end)

    @property
    def spans(self) -> dict[bytes, tuple[int, int]]:
        """Key bytes -> user and start."""
        result: dict[bytes, tuple[int, int]] = self.__dict__.setdefault("_spans", {})
        return result


def batches_since(start: int) -> st.SearchStrategy[list[list[Event]]]:
    """Return batches of events of four users within a minute."""
    times = st.integers(start, start + 60 * SECOND)
    events = st.lists(st.tuples(st.integers(0, 3), times), max_size=6)
    return st.lists(events, min_size=1, max_size=8)


batches = batches_since(0)


def newest_time(events: Iterable[Event], newest: int) -> int:
    """Return the latest time of events, or ``newest`` if no event is later."""
    return max([newest, *(time for _, time in events)])


@dataclass
class BatchRun:
    """The log entry of a batch, the records that it wrote, and the rows after it."""

    log: Batch
    records: list[Record]
    rows: dict[bytes, bytes]


def run_query(operator: Operator, history: list[list[Event]], delay: int) -> list[BatchRun]:
    """Run one batch for each list of events. The watermark is ``delay`` ms behind the events."""
    runs = []
    watermark = before = newest = 0
    for number, events in enumerate(history):
        records = operator.run(events, before, watermark, number + 1)
        rows = {key: value for key, (value, _) in operator.rows.items()}
        runs.append(BatchRun(Batch(watermark, SECOND * number + 1, number), records, rows))
        newest = newest_time(events, newest)
        before, watermark = watermark, max(watermark, newest - delay, 0)
    return runs


def simulate(
    operator: Operator, history: list[list[Event]], delay: int, root: Path, snapshot: int = 0
) -> dict[str, int]:
    """Run a query and write its checkpoint. Return the first covered version of leftovers by key.

    If the query has a version ``snapshot``, the files before it are missing, as after cleanup.
    """
    runs = run_query(operator, history, delay)
    cases.write_logs(root, attributes(runs, "log"), {"shuffle.partitions": "1"})
    cases.write_operator(root, 0, operator.name, "default", partitions=1)
    deltas = dict(enumerate(attributes(runs, "records"), 1))
    if 0 < snapshot <= len(runs):
        cases.write_store(
            root / "state/0/0",
            dict(islice(deltas.items(), snapshot, None)),
            {snapshot: list(runs[snapshot - 1].rows.items())},
        )
    else:
        cases.write_store(root / "state/0/0", deltas, {})
        snapshot = 1
    cases.write_schema(root / "state/0/0", operator.key, operator.value)
    return {key.hex(): max(version, snapshot) for key, version in operator.covered.items()}


def found_in(root: Path, **options: tuple[str, ...]) -> list[Any]:
    """Return the rows of all leftovers."""
    report = api.leftovers(str(root), api.Options(**options))  # type: ignore[arg-type]
    assert not report.problems
    return [*report.primary.rows, *rows_of_table(report, "undecided_keys")]


@costly
@given(
    make=st.sampled_from([Aggregation, Deduplicate, DeduplicateWithin, Sessions]),
    keeps=st.booleans(),
    history=batches,
    delay=st.integers(0, 15 * SECOND),
    snapshot=st.integers(0, 8),
)
def test_leftovers_equal_the_operators_own_account(
    make: type[Operator], keeps: bool, history: list[list[Event]], delay: int, snapshot: int
) -> None:
    operator = make(keeps=keeps)
    with tempfile.TemporaryDirectory() as folder:
        account = simulate(operator, history, delay, Path(folder), snapshot)
        result = found_in(Path(folder))
    assert dict(cell_values(result, "key_hex", "expired_version")) == account
    assert set(cell_values(result, "class")) <= {"past_watermark"}
    assert keeps or not result
    assert set(cell_values(result, "certainty")) <= {make.certainty}


@costly
@given(history=batches, delay=st.integers(0, 15 * SECOND))
def test_rows_that_wait_for_the_next_batch_are_no_leftovers_in_4_3(
    history: list[list[Event]], delay: int
) -> None:
    """With incrementalCleanupFactor a batch may evict by the watermark of the one before."""

    class Stepwise(Deduplicate):
        bound = 0

        def evict(self, watermark: int) -> None:
            super().evict(self.bound)
            self.bound = watermark

    operator = Stepwise()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        waiting = simulate(operator, history, delay, root)
        before = found_in(root)
        setting = '"spark.sql.dropDuplicates.deterministicKeyOrder.enabled": "true"'
        for log in (root / "offsets").iterdir():
            log.write_text(log.read_text().replace('"conf": {', f'"conf": {{{setting}, '))
        result = found_in(root)
    # An older Spark would have removed them.
    assert dict(cell_values(before, "key_hex", "expired_version")) == waiting
    assert result == []


SIDE_KEY = StructType((StructField("field0", STRING), StructField("index", LONG)))
SIDE_ROW = StructType(
    (
        StructField("user", STRING),
        StructField("ts", TIMESTAMP, metadata=MARK),
        StructField("matched", LONG),
    )
)
COUNT = StructType((StructField("value", LONG),))
JOIN_KEY = StructType((StructField("field0", STRING),))


@dataclass
class JoinSide:
    """One side of a join by ``SymmetricHashJoinStateManager``: the last row fills a gap.

    Attributes:
        kept: how far behind the watermark rows are kept; None for ever.
    """

    kept: int | None
    rows: dict[str, list[int]] = field(default_factory=dict)
    counts: dict[int, list[Record]] = field(default_factory=dict)
    values: dict[int, list[Record]] = field(default_factory=dict)

    def run(self, events: Iterable[Event], watermark: int, version: int) -> None:
        counters, rows = self.counters(), self.stored_rows()
        for user, time in events:
            self.rows.setdefault(f"user-{user}" * (user + 1), []).append(time)
        for times in self.rows.values():
            at = 0
            while at < len(times) and self.kept is not None and watermark:
                if times[at] <= watermark - self.kept:
                    times[at] = times[-1]
                    times.pop()
                else:
                    at += 1
        self.rows = {user: times for user, times in self.rows.items() if times}
        self.counts[version] = changes_between(counters, self.counters())
        self.values[version] = changes_between(rows, self.stored_rows())

    def counters(self) -> dict[bytes, bytes]:
        """Return the rows of the store of counters."""
        return {
            encode.row(JOIN_KEY, (user,)): encode.row(COUNT, (len(times),))
            for user, times in self.rows.items()
        }

    def stored_rows(self) -> dict[bytes, bytes]:
        """Return the rows of the store of the side's rows."""
        return {
            encode.row(SIDE_KEY, (user, at)): encode.row(SIDE_ROW, (user, time * 1000, 0))
            for user, times in self.rows.items()
            for at, time in enumerate(times)
        }


def run_join(
    sides: Mapping[str, JoinSide], left: list[list[Event]], right: list[list[Event]]
) -> list[Batch]:
    """Run both sides under one watermark, 3 seconds behind; the log of the batches."""
    watermark = newest = 0
    logs: list[Batch] = []
    for number, events in enumerate(zip(left, right, strict=False)):
        logs.append(Batch(watermark, SECOND * number + 1, number))
        for side, mine in zip(sides.values(), events, strict=True):
            side.run(mine, watermark, number + 1)
        newest = newest_time(chain(*events), newest)
        watermark = max(watermark, newest - 3 * SECOND, 0)
    return logs


def write_join(root: Path, logs: list[Batch], sides: Mapping[str, JoinSide], *, lost: bool) -> None:
    """The checkpoint of a join; with every row of the left side ``lost``."""
    cases.write_logs(root, logs, {"shuffle.partitions": "1"})
    stores = (*JOIN_COUNT_STORES, *JOIN_ROW_STORES)
    cases.write_operator(root, 0, "symmetricHashJoin", *stores, partitions=1)
    if lost:
        sides["left"].values = {version: [] for version in sides["left"].values}
    for name, side in sides.items():
        counters = root / f"state/0/0/{name}-keyToNumValues"
        rows = root / f"state/0/0/{name}-keyWithIndexToValue"
        cases.write_store(counters, side.counts)
        cases.write_store(rows, side.values)
        cases.write_schema(counters, JOIN_KEY, COUNT)
        cases.write_schema(rows, SIDE_KEY, SIDE_ROW)


@costly
@given(
    left=batches,
    right=batches,
    remaining=st.tuples(
        st.integers(0, 20 * SECOND), st.one_of(st.none(), st.integers(0, 9 * SECOND))
    ),
    message=st.integers(0, 25 * SECOND),
    lost=st.booleans(),
)
def test_a_joins_retention_counters_and_leftovers(
    left: list[list[Event]],
    right: list[list[Event]],
    remaining: tuple[int, int | None],
    message: int,
    lost: bool,
) -> None:
    sides = {"left": JoinSide(remaining[0]), "right": JoinSide(remaining[1])}
    logs = run_join(sides, left, right)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_join(root, logs, sides, lost=lost)
        report = api.leftovers(str(root))
        result = found_in(root, join_retention=(f"right={message}ms",))
    assert not list(report.primary.rows)
    counters = list(map(len, sides["left"].rows.values()))
    evidence = attributes(findings_with_id(report, "SS208"), "evidence")
    if lost and counters:
        assert re.match(rf"{sum(counters):,} rows? missing", evidence[0])
        assert re.search(rf"\b{len(counters):,} keys? with a counter and no row", evidence[0])
    assert len(evidence) == (lost and counters != [])
    bound = logs[-1].watermark_ms - message
    assert set(cell_values(result, "key_hex")) == {
        encode.row(SIDE_KEY, (user, at)).hex()
        for user, times in sides["right"].rows.items()
        for at, time in enumerate(times)
        if logs[-1].watermark_ms and time < bound
    }


EPOCH = 1_000_000 * SECOND


@costly
@given(
    make=st.sampled_from([Aggregation, Deduplicate, DeduplicateWithin, Sessions]),
    history=batches_since(EPOCH),
    delay=st.integers(0, 15 * SECOND),
    change=st.integers(-15 * SECOND, 15 * SECOND),
)
@example(  # late by its event's time, though its deadline is not reached
    make=DeduplicateWithin,
    history=[[(0, EPOCH + 50 * SECOND)], [], [(1, EPOCH + 47 * SECOND)]],
    delay=10 * SECOND,
    change=-8 * SECOND,
)
def test_simulated_delay_equals_query_with_that_delay(
    make: type[Operator], history: list[list[Event]], delay: int, change: int
) -> None:
    then = max(0, delay + change)
    operator, changed = make(delay=delay), make(delay=then)
    with tempfile.TemporaryDirectory() as folder:
        simulate(operator, history, delay, Path(folder))
        report = api.simulate(folder, watermark_delay=f"{then}ms", old_delay=f"{delay}ms")
    real = attributes(run_query(changed, history, then), "rows")
    (row,) = report.primary.rows
    certainty = row["certainty"]
    if certainty not in ("exact", "at least"):
        assert make in (DeduplicateWithin, Sessions) or "none was due" in row["why"]
        return
    holds = int.__eq__ if certainty == "exact" else int.__le__
    for batch in report.tables[1].rows:
        there = real[batch["batch_id"]]
        assert holds(batch["rows_then"], len(there))
        size = sum(map(len, chain(*there.items())))
        assert holds(batch["row_bytes_then"], size)
    assert holds(row["peak_rows_then"], max(map(len, real)))
