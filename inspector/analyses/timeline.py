"""``timeline``: what each batch did, and where it leads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

from inspector.analyses.page.charts import growth_charts
from inspector.analyses.shared import state_growth
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import (
    Judged,
    StoreIds,
    batch_columns,
    notes_on_appended,
    store_ids,
    values_of_fields,
)
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import REPLAY, RULES, Option, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.source_reads import SourceReadRow, source_read_table
from inspector.analyses.shared.store_heaps import HeapByVersion, heap_by_version
from inspector.discovery.batch_times import batch_durations
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.tasks import Request
from inspector.discovery.unknown_watermarks import operator_holding_back
from inspector.estimates.growth import sparkline
from inspector.facts.expiring import Expiring, Width
from inspector.facts.join_rows import KeyTimeVotes
from inspector.findings.verdict import short_history_text, too_short
from inspector.merge.collect import Facts
from inspector.model import BatchClock, BatchId, StoreName, TimeoutKind
from inspector.operators.rule import Clock, StoreRule
from inspector.quantities import bytes_rate_text, bytes_text, capitalise, duration_text
from inspector.render import tabular as t
from inspector.render.plain import fields_of
from inspector.render.report import Report
from inspector.sums import group_by, sum_or_none
from inspector.time_text import time_ms_text

# most buckets of expiry times that are listed for one store, such as three days of hours
MOST_LINES = 72
# share of a store's rows, among those that expire first and among those that expire last, that does
# not decide on the width of the buckets, because their clock may be wrong
_MOST_OF = 0.05


class ExpiringRow(t.StoreRow, table="expiring", empty="no store has rows of this version"):
    """Rows of one store that expire within the same time.

    `inspector rows` shows the time of each row in `expires_at_ms`.
    """

    clock: Annotated[t.Text | None, "`watermark` or `processing time`; null if unknown."]
    fate: Annotated[
        t.Text,
        "`expires`, `expired` (before `--batch`, and still there), `never` or `unknown`.",
        t.Rank(6),
    ]
    expires_from_ms: Annotated[
        t.TimeMs | None,
        "The clock at which the first of them expires.",
        t.Title("expires from"),
        t.Rank(1),
    ] = None
    within_ms: Annotated[
        t.DurationMs | None, "Time from then until the last has expired.", t.Rank(21)
    ] = None
    rows: Annotated[t.Count, "Rows with this fate.", t.Rank(2)]
    row_bytes: Annotated[t.Bytes, "Their key and value bytes.", t.Rank(3)]
    rows_left: Annotated[t.Count, "Rows of the store that remain, if no others come.", t.Rank(4)]
    row_bytes_left: Annotated[t.Bytes, "Their key and value bytes.", t.Rank(5)]
    why: Annotated[
        t.Text | None,
        "Why they never expire, why that is unknown, or why expired rows may be there.",
    ] = None


# footnote of the report on the table of rows that will expire
FORWARD_FOOTNOTE = (
    "What expires is counted by the rows' own clocks and the rule of their operator; it is exact. "
    "The rows that are left are those of the judged version alone: new ones come meanwhile, and "
    "what has expired already is counted as gone. Event times go by the watermark, which follows "
    "the newest event by the query's delay."
)
# name of each width of a bucket in the title of the table; wider ones are "longer times"
_BY = {
    Width.SECOND: "second",
    Width.MINUTE: "minute",
    Width.HOUR: "hour",
    Width.DAY: "day",
    Width.MONTH: "30 days",
}
# name in the table of each clock by which rows expire
_CLOCKS = {TimeoutKind.EVENT_TIME: "watermark", TimeoutKind.PROCESSING_TIME: "processing time"}


def expiring_table(judged: Judged) -> t.Table:
    """Return the table of rows that will expire, store by store, the soonest first.

    It has rows on what has expired and on what never does, too. The facts must have been requested
    with ``expiring``.
    """
    checkpoint, version, facts = judged.checkpoint, judged.version, judged.facts
    operators = {operator.operator_id: operator for operator in checkpoint.operators}
    rows: list[ExpiringRow] = []
    widths: set[Width] = set()
    for name, versions in facts.by_store(version).items():
        store, operator = store_ids(checkpoint, name), operators[name.operator_id]
        rule = operator.rules[name.store_name]
        upstream = operator_holding_back(checkpoint, operator, version)
        doubt = rule.doubt or (f"downstream of {upstream} the watermark lags" if upstream else None)
        is_known = rule.expiry is not None or _goes_by_key(facts, name)
        result = _by_clock(facts, name, version) if is_known else []
        for forecast in map(readable, result):
            widths |= {forecast.width} if forecast.rows else set()
            rows += _expiring_rows(store, forecast, rule, doubt)
        if not result and versions[version].rows:
            why = rule.never or rule.unknown or "the store has no schema"
            fate = "unknown" if rule.never is None else "never"
            amounts = versions[version].rows_and_bytes
            rows.append(_expiring_row(store, amounts, amounts, clock=None, fate=fate, why=why))
    widths_text = " and ".join(_BY.get(width, "longer times") for width in sorted(widths))
    title = "what will expire" + (f", by {widths_text}" if widths_text else "")
    return ExpiringRow.table(f"{title}: forecast, assuming no leaks", rows)


def expiring_forecasts(
    judged: Judged,
) -> Iterator[tuple[StoreName, str, Callable[[BatchClock], int | None], Expiring]]:
    """Yield (store, name of its clock, function, forecast) for stores whose rule is known.

    The function returns the time of that clock in a batch, epoch ms; None if the batch has none.
    The forecast has the buckets of :func:`readable`. A store whose timers may follow either clock
    is yielded for both. The facts must have been requested with ``expiring``.
    """
    operators = {operator.operator_id: operator for operator in judged.checkpoint.operators}
    for name in judged.facts.by_store(judged.version):
        rule = operators[name.operator_id].rules[name.store_name]
        if rule.expiry is None and not _goes_by_key(judged.facts, name):
            continue
        for expiring in _by_clock(judged.facts, name, judged.version):
            kind = _clock_kind(rule, expiring)
            yield name, _CLOCKS[kind], partial(BatchClock.time_ms, kind=kind), readable(expiring)


def _clock_kind(rule: StoreRule, expiring: Expiring) -> TimeoutKind:
    """Return the clock by which the rows of a forecast expire.

    It is the clock that the forecast assumes for timers, or else the clock of the store's rule.
    EVENT_TIME stands for the watermark.
    """
    if expiring.timeout_kind is not None:
        return expiring.timeout_kind
    has_watermark = rule.expiry is None or rule.expiry.clock is Clock.WATERMARK
    return TimeoutKind.EVENT_TIME if has_watermark else TimeoutKind.PROCESSING_TIME


def unknown_timers(judged: Judged) -> Iterator[str]:
    """Yield a sentence for each store of timers that the table of expiry lists by both clocks.

    It does so if the files do not show which clock the timers follow.
    """
    for name in judged.facts.merged(Expiring):
        if len(_by_clock(judged.facts, name, judged.version)) > 1:
            yield (
                f"The bytes do not show which clock the timers of operator {name.operator_id} "
                "follow: they are listed by either, and --timeout-kind says which it is."
            )


def readable(expiring: Expiring) -> Expiring:
    """Return the forecast in buckets of seconds, minutes, hours, days or months.

    The buckets are the shortest ones with which the table has at most ``MOST_LINES`` lines.
    """
    buckets, width = sorted(expiring.rows), Width.ALL
    # The span leaves out the first and the last few rows.
    margin_rows = int(sum(expiring.rows.values()) * _MOST_OF)
    ends = [_after(expiring.rows, order, margin_rows) for order in (buckets, buckets[::-1])]
    span = (ends[1] - ends[0] + 1) * expiring.width if buckets else 0
    width = next((step for step in Width if step * MOST_LINES >= span), Width.ALL)
    return expiring.at_least(width).coarsen(MOST_LINES)


def _after(rows: Mapping[int, int], buckets: Iterable[int], minimum: int) -> int:
    """Return the first of ``buckets`` up to which there are more than ``minimum`` rows.

    ``rows`` has the number of rows of each bucket. The last bucket is returned if there are no more
    rows than that, and 0 without buckets.
    """
    seen = bucket = 0
    for bucket in buckets:
        seen += rows[bucket]
        if seen > minimum:
            break
    return bucket


def _by_clock(facts: Facts, name: StoreName, version: int) -> list[Expiring]:
    """Return the forecasts of when a store's rows expire, one for each clock of its timers.

    There are several only if it is not known which clock the timers follow. A store without timers
    has one forecast, and a store without a known rule none.
    """
    forecasts = facts.merged(Expiring).get(name, {})
    kind = facts.resolution.clock_of(name, version).kind or facts.resolution.usual_clock(name)
    return [
        expiring
        for _, expiring in sorted(forecasts.items())
        if kind is None or expiring.timeout_kind in (None, kind)
    ]


def _goes_by_key(facts: Facts, name: StoreName) -> bool:
    """Return True if the facts show that rows of a join's store go by the event time in their key.

    That is so if this time equals the event time of every row that has one, of at least one row.
    """
    path = facts.key_times.get(name.operator_id)
    votes = None if path is None else facts.merged(KeyTimeVotes).get(name, {}).get(path)
    return votes is not None and votes.same > 0 and not votes.other


def _expiring_rows(
    store: StoreIds, expiring: Expiring, rule: StoreRule, doubt: str | None
) -> Iterator[ExpiringRow]:
    """Yield rows on what has expired, on each bucket that will, and on what never does.

    Their fates are ``expired``, ``expires`` and ``never``. Each has the number of rows, and their
    bytes, that are left after it. ``expiring`` has the amounts by bucket of expiry time. ``doubt``
    is the reason why expired rows may stay, for the row on them; None without a doubt.
    """
    clock = _CLOCKS[_clock_kind(rule, expiring)]
    endless = (expiring.endless_rows, expiring.endless_bytes)
    left = sum(expiring.rows.values()) + endless[0], sum(expiring.bytes.values()) + endless[1]
    if expiring.due_rows:
        due = expiring.due_rows, expiring.due_bytes
        yield _expiring_row(store, due, left, clock=clock, fate="expired", why=doubt)
    for bucket, amount in sorted(expiring.rows.items()):
        amounts = amount, expiring.bytes[bucket]
        left = left[0] - amounts[0], left[1] - amounts[1]
        times = max(bucket * expiring.width, -(1 << 63)), int(expiring.width)
        yield _expiring_row(store, amounts, left, times, clock=clock, fate="expires")
    if expiring.endless_rows:
        why = "their field is null" if expiring.timeout_kind is None else "no timer is set"
        yield _expiring_row(store, endless, endless, clock=clock, fate="never", why=why)


def _expiring_row(
    store: StoreIds,
    amounts: tuple[int, int],
    left: tuple[int, int],
    times: tuple[int | None, int | None] = (None, None),
    **words: Any,
) -> ExpiringRow:
    """Return a row on some rows of a store, and on the rows that are left after them.

    ``amounts`` and ``left`` are both a number of rows and their bytes. ``times`` are the epoch ms
    from which on the rows may go, and within how many ms they do; None without such a time.
    ``words`` are further columns by name.
    """
    return ExpiringRow(
        **store,
        **words,
        rows=amounts[0],
        row_bytes=amounts[1],
        rows_left=left[0],
        row_bytes_left=left[1],
        expires_from_ms=times[0],
        within_ms=times[1],
    )


# columns with numbers of changes, which are null if the version before is not known
_CHANGES = ("puts", "inserts", "updates", "same_value_puts", "removals")
# footnote on the tables of batches and growth: what their columns count
FOOTNOTE = (
    "Rows and bytes are those of the partitions that can restore the version. The lag is the "
    "batch's processing time less the watermark. The heap is the estimate of the command memory "
    "for two retained versions. Replay deltas are the deltas that a restart at that version reads "
    "after its newest snapshot, in the partition that reads most. Counts and bytes are exact; "
    "growth is an estimate, the median slope between all pairs of versions."
)
# columns that are summed over stores in the table of all stores together
_SUMMED = (
    *("partitions", "of_partitions", "rows", "row_bytes", "heap_bytes"),
    *(*_CHANGES, "delta_bytes", "snapshot_bytes"),
)


class MeasuresRow(t.Row):
    """Measures of one batch."""

    batch_id: Annotated[t.BatchId, t.Rank(1)]
    version: Annotated[t.Version, t.WIDE]
    batch_timestamp_ms: Annotated[t.BatchTimestampMs | None, t.Title("batch time"), t.Rank(2)]
    duration_ms: Annotated[
        t.DurationMs | None,
        "How long the batch took, by its files in `offsets` and `commits`; null if unknown, as in "
        "a copy.",
        t.Title("took"),
        t.Rank(23),
    ]
    watermark_ms: Annotated[t.WatermarkMs | None, t.Rank(27)]
    lag_ms: Annotated[t.LagMs | None, t.Rank(24)]
    new_data: Annotated[t.NewData | None, t.Rank(30)]
    partitions: Annotated[t.Count, "Partitions that can restore the version.", t.WIDE]
    of_partitions: Annotated[t.Count, "Partitions of the store, in all.", t.WIDE]
    rows: Annotated[t.Rows, t.Rank(21)]
    row_bytes: Annotated[t.RowBytes, t.Rank(22)]
    heap_bytes: Annotated[t.HeapBytes | None, t.Title("heap"), t.Rank(28)]
    puts: Annotated[t.Puts | None, t.Rank(25)]
    inserts: Annotated[t.Inserts | None, t.WIDE]
    updates: Annotated[t.Updates | None, t.WIDE]
    same_value_puts: Annotated[t.SameValuePuts | None, t.Rank(29)]
    removals: Annotated[t.Removals | None, t.Rank(26)]
    delta_bytes: Annotated[t.DeltaBytes, t.Rank(31)]
    snapshot_bytes: Annotated[t.SnapshotBytes, t.WIDE]
    replay_deltas: Annotated[t.ReplayDeltas | None, t.Rank(32)]


class BatchRow(MeasuresRow, t.StoreRow, table="batches", empty="no version can be restored"):
    """One store after one batch."""


class _StoresRow(t.Row):
    """Batch with the number of stores that can restore its version."""

    batch_id: t.BatchId
    version: t.Version
    stores: Annotated[t.Count, "Stores that can restore the version.", t.Rank(33)]


class TotalRow(MeasuresRow, _StoresRow, table="totals", empty="no version can be restored"):
    """All stores together after one batch."""


class GrowthRow(t.StoreRow, table="growth"):
    """Growth of one store, with a forecast."""

    operator_name: t.OperatorName | None
    row_bytes: Annotated[
        t.Text, "Row bytes of the versions as a line of bars.", t.Title("over time"), t.Rank(11)
    ]
    rows_per_hour: Annotated[
        t.PerHour | None,
        "Median slope of the rows between pairs of versions: all, or of growing state those since "
        "it was smallest.",
        t.Title("rows"),
        t.Rank(12),
    ] = None
    bytes_per_hour: Annotated[
        t.BytesPerHour | None, "Median slope of the row bytes.", t.Title("row bytes"), t.Rank(13)
    ] = None
    heap_bytes_per_hour: Annotated[
        t.BytesPerHour | None, "Median slope of the heap estimate.", t.Title("heap"), t.Rank(21)
    ] = None
    rows_at_capacity: Annotated[
        t.Flag | None, "Whether the row bytes have reached `--capacity`.", t.Rank(24)
    ] = None
    rows_reach_capacity_ms: Annotated[
        t.TimeMs | None,
        "When they will; null if they have or if they do not grow.",
        t.Rank(22),
        t.ESTIMATE,
    ] = None
    heap_at_capacity: Annotated[
        t.Flag | None, "Whether the heap estimate has reached `--capacity`.", t.Rank(25), t.ESTIMATE
    ] = None
    heap_reaches_capacity_ms: Annotated[
        t.TimeMs | None,
        "When it will; null if it has or if it does not grow.",
        t.Rank(23),
        t.ESTIMATE,
    ] = None


# columns of growth that answer ``--capacity``, for row bytes
_ROWS_REACH = ("rows_at_capacity", "rows_reach_capacity_ms")
# columns of growth that answer ``--capacity``, for the estimated heap
_HEAP_REACHES = ("heap_at_capacity", "heap_reaches_capacity_ms")

# facts (results of reading state files) that the command requests of its tasks: those of each
# version, of single partitions, and when the live rows expire
FACTS = Request(partitions=True, expiring=True)


@analysis(
    uses=(RULES, REPLAY),
    tables=(BatchRow, TotalRow, GrowthRow, ExpiringRow, SourceReadRow),
    facts=FACTS,
    many=True,
)
def timeline(
    path: str | Opened,
    options: Options | None = None,
    *,
    capacity: Annotated[
        int | None,
        Option(
            "Estimate when the row bytes and the heap reach this size, such as 8GiB.", size=True
        ),
    ] = None,
    last: Annotated[
        int | None,
        Option("Show only the last N batches. Growth is computed from all of them.", minimum=1),
    ] = None,
) -> Report:
    """Each batch: clock, watermark, lag, rows, bytes, changes; growth; what expires and when.

    It begins with the oldest version that the files can restore; --batch is the last batch shown.
    Puts, removals and other changes are null if a version is known from a snapshot alone. Growth is
    null if there are fewer than 6 batches, or if they span less than 30 seconds. If the clock of
    timers is unknown, ``expiring`` lists them by both clocks; --timeout-kind sets it.
    """
    run = Run.start(path, options)
    return timeline_report(run.judge(run.facts(FACTS)), capacity, last)


def timeline_report(judged: Judged, capacity: int | None = None, last: int | None = None) -> Report:
    """Return the report: batches by store and together, growth, and what will expire.

    ``capacity`` is a size in bytes; the report says when row bytes and heap reach it. ``last`` is
    the number of newest batches that are listed; None lists all.
    """
    checkpoint, merged = judged.checkpoint, judged.facts.by_store()
    heaps = heap_by_version(judged)
    versions = sorted({version for store_facts in merged.values() for version in store_facts})
    last_versions = set(versions if last is None else versions[-last:])
    rows = [row for row in _rows(judged, heaps) if row.version in last_versions]
    batches = BatchRow.table("batches, by store", rows).without_constants()
    # A sum is unknown if the number of one store is unknown.
    groups = sorted(group_by(rows, lambda row: row.version).items())
    sums = [_total(store_rows) for _, store_rows in groups]
    totals = TotalRow.table("batches, all stores together", sums, shown=len(merged) > 1)
    totals = totals.without_constants()
    reads = source_read_table(judged, {total.version: total.rows for total in sums})
    together = state_growth.growth_together(judged, heaps)
    notes = [*notes_on_appended(checkpoint)]
    notes += _capacity_notes(together, capacity, has_heap=bool(heaps))
    reaches: dict[str, Any] = {}
    if together is not None and together.bytes.judged:
        reaches = _reaches(together, capacity, has_heap=bool(heaps))
    elif together is not None:
        notes.append(f"{capitalise(too_short(len(together.points)))}.")
    # Batches in the log that have a watermark, and how often it moved from one to the next.
    marks = [clock.watermark_ms for clock in checkpoint.logs.clocks.values() if clock.watermark_ms]
    moves = sum(later > earlier for earlier, later in pairwise(marks))
    return judged.report(
        "timeline",
        (batches, totals, _growth(judged, heaps, capacity), expiring_table(judged), reads),
        {"batches_with_watermark": len(marks), "watermark_moves": moves, **reaches},
        notes=(*notes, *unknown_timers(judged)),
        charts=growth_charts(judged),
        footnotes=(*(_rate_notes(together) if together else ()), FOOTNOTE, FORWARD_FOOTNOTE),
    )


def _total(rows: Sequence[BatchRow]) -> TotalRow:
    """Return the row on all stores together, from the rows of each store for one version.

    Numbers are summed; a sum is None if the number of one store is. The number of deltas to replay
    is the largest, and the clocks are those of the batch.
    """
    measures = fields_of(rows[0], *(column.name for column in MeasuresRow.columns()))
    depths = [row.replay_deltas for row in rows if row.replay_deltas is not None]
    measures |= {name: sum_or_none(getattr(row, name) for row in rows) for name in _SUMMED}
    measures["replay_deltas"] = max(depths, default=None)
    return TotalRow(**measures, stores=len(rows))


def _rows(judged: Judged, heaps: HeapByVersion) -> Iterator[BatchRow]:
    """Yield a row for each version of each store, with the clocks and changes of its batch.

    ``heaps`` has the estimated heap bytes by store and version; empty if there is no heap.
    """
    checkpoint = judged.checkpoint
    durations = batch_durations(checkpoint.logs)
    for store, versions in judged.facts.by_store().items():
        counts = state_growth.whole_stores(checkpoint, versions)
        for version, facts in versions.items():
            yield BatchRow(
                **store_ids(checkpoint, store),
                **batch_columns(checkpoint, version),
                duration_ms=durations.get(BatchId(version - 1)),
                partitions=facts.stores,
                of_partitions=counts[version],
                **fields_of(facts, "rows", "row_bytes", "delta_bytes", "snapshot_bytes"),
                heap_bytes=heaps.get(store, {}).get(version),
                # A sum over some of the partitions would look like all of it.
                **values_of_fields(facts, _CHANGES, is_known=not facts.rebased),
                replay_deltas=_replay_deltas(checkpoint, store, version),
            )


def _rate_notes(growth: state_growth.StoreGrowth) -> Iterator[str]:
    """Yield one note if the rates per hour are extrapolated from a short history; else none.

    The note is for the report's footnotes, which are not in CSV rows and not on stderr.
    """
    points = growth.points[growth.bytes.start :]
    if growth.bytes.judged and (short := short_history_text(points[0].time_ms, points[-1].time_ms)):
        yield f"Rates per hour are {short}."


def _replay_deltas(checkpoint: Checkpoint, store: StoreName, version: int) -> int | None:
    """Return how many deltas a restart at ``version`` reads of a store, in the worst partition.

    They are the deltas after the newest snapshot at or below the version. None if the store has no
    partition with files.
    """
    layouts = (layout for layout in checkpoint.layout.stores if layout.store.name == store)
    store_files = (checkpoint.store_files.get(layout.directory) for layout in layouts)
    snapshots = [files.snapshots for files in store_files if files is not None]
    depths = [
        version - max((v for v in versions if v <= version), default=0) for versions in snapshots
    ]
    return max(depths, default=None)


def _growth(judged: Judged, heaps: HeapByVersion, capacity: int | None) -> t.Table:
    """Return the table of the growth of each store per hour.

    With a ``capacity`` in bytes it says when row bytes and heap reach it. Rates are null if the
    versions are too few, or span too short a time. ``heaps`` has the heap bytes by store and
    version.
    """
    rows = []
    for store, versions in judged.facts.by_store().items():
        points = state_growth.store_points(judged.checkpoint, versions, heaps.get(store, {}))
        growth, rates = state_growth.growth_of(points), dict[str, Any]()
        # Too few batches, or too short a time, say nothing about an hour.
        if growth is not None and growth.bytes.judged:
            rates = _reaches(growth, capacity, has_heap=bool(heaps))
            rates["rows_per_hour"] = round(growth.rows.per_hour)
            rates["bytes_per_hour"] = round(growth.bytes.line.per_hour)
            rates["heap_bytes_per_hour"] = round(growth.heap.per_hour) if heaps else None
        ids, bars = (
            store_ids(judged.checkpoint, store),
            [version_facts.row_bytes for version_facts in versions.values()],
        )
        rows.append(GrowthRow(**ids, row_bytes=sparkline(bars), **rates))
    title, columns = "growth per hour", GrowthRow.columns(without=(*_ROWS_REACH, *_HEAP_REACHES))
    if capacity is not None:
        title += f", and when row bytes and heap reach {bytes_text(capacity)}"
        columns = GrowthRow.columns()
    return GrowthRow.table(title, rows, columns=columns)


def _reaches(
    growth: state_growth.StoreGrowth, capacity: int | None, *, has_heap: bool
) -> dict[str, Any]:
    """Return the columns, by name, on whether and when row bytes and heap reach ``capacity``.

    The capacity is in bytes; without one there are no columns. A time is in epoch ms; None if the
    capacity is reached already, or will not be reached. Without ``has_heap`` there are no columns
    on the heap.
    """
    answers: dict[str, Any] = {}
    if capacity is None:
        return answers
    lines = ((_ROWS_REACH, growth.bytes.line), (_HEAP_REACHES, growth.heap))
    for (reached_name, when), line in lines if has_heap else lines[:1]:
        answers[reached_name] = line.newest >= capacity
        answers[when] = None if answers[reached_name] else line.reaches_ms(capacity)
    return answers


def _capacity_notes(
    growth: state_growth.StoreGrowth | None, capacity: int | None, *, has_heap: bool
) -> Iterator[str]:
    """Yield sentences on when the row bytes and heap of all stores together reach ``capacity``.

    The capacity is in bytes; nothing is yielded without one. ``growth`` is that of all stores
    together; None if their versions span no time.
    """
    if capacity is None:
        return
    size = bytes_text(capacity)
    if growth is None or not growth.bytes.judged:
        why = ": its versions span no time" if growth is None else ""
        yield f"It is unknown whether the state will reach {size}{why}."
        return
    lines = [("The row bytes", growth.bytes.line, ""), ("The heap estimate", growth.heap, "~")]
    for text, line, about in lines if has_heap else lines[:1]:
        now, rate = f"{about}{bytes_text(line.newest)}", bytes_rate_text(line.per_hour)
        when = line.reaches_ms(capacity)
        all_stores = f"{text} of all stores together, {now} now,"
        if line.newest >= capacity:
            yield f"{all_stores} {'has' if about else 'have'} reached {size}."
        elif when is None:
            yield (
                f"{all_stores} will not reach {size} at the growth of the batches that can be read."
            )
        else:
            later = duration_text(when - line.newest_ms)
            yield (
                f"{all_stores} will reach {size} ~{later} after the newest batch, on "
                f"~{time_ms_text(when)}, if {'it keeps' if about else 'they keep'} growing by "
                f"~{rate}."
            )
    if not growth.bytes.growing:
        yield (
            "These batches do not prove permanent growth: a state that is still filling, or "
            "whose rows come and expire in waves, looks the same."
        )
