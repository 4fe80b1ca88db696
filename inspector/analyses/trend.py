"""``trend``: what the audits of a history say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc

from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.options import ENGINE, LIMIT, STORAGE, Option, Options
from inspector.engines.choose import LOCAL, EngineOptions
from inspector.exceptions import CheckpointError
from inspector.render import audit_history, page
from inspector.render import tabular as t
from inspector.render.fleet_rows import short_names
from inspector.render.report import Report

DAYS = 30  # days before the newest audit over which the growth is computed by default
# most lines of the chart of row bytes over audits, one for each checkpoint that grew most; a page
# has six colours
MOST_LINES = 5
# number of bars of the chart of idle checkpoints, at most; only those idle for longest have one
MOST_BARS = 10

_STORE = ["checkpoint", "operator_id", "store_name"]  # columns that name a store in the history
_MS_PER_DAY = 86_400_000  # milliseconds of a day

# type of the columns of tables that have the root (path) of a checkpoint
Checkpoint = Annotated[t.Text, "Its root."]


class GrowthRow(t.Row, table="growth", empty="no store was audited twice"):
    """A store: how it grew between the first and the last audit of the period, most bytes first."""

    checkpoint: Annotated[Checkpoint, t.Rank(1)]
    operator_id: Annotated[t.OperatorId, t.Rank(7)]
    store_name: Annotated[t.StoreName, t.Rank(6)]
    audits: Annotated[t.Count, "Audits of the period.", t.Rank(8)]
    from_ms: Annotated[t.TimeMs, "The first of them.", t.WIDE]
    to_ms: Annotated[t.TimeMs, "The last of them.", t.WIDE]
    rows: Annotated[t.Rows, t.Rank(5)]
    row_bytes: Annotated[t.RowBytes, t.Rank(3)]
    added_rows: Annotated[t.Count, "Live rows more than at the first audit.", t.Rank(4)]
    added_bytes: Annotated[t.Bytes, "Row bytes more than at the first audit.", t.Rank(2)]
    bytes_per_hour: Annotated[t.BytesPerHour, "Between these two audits, on average.", t.Rank(9)]


class StandingRow(t.Row, table="standing", empty="the last audits have no findings"):
    """A finding that the last audit of a store has, and since when without a gap; oldest first."""

    checkpoint: Annotated[Checkpoint, t.Rank(2)]
    operator_id: Annotated[t.OperatorId | None, t.Rank(5)]
    store_name: Annotated[t.StoreName | None, t.Rank(4)]
    finding: Annotated[t.Text, "Its id.", t.Rank(1)]
    since_ms: Annotated[t.TimeMs, "The first of the audits in a row that have it.", t.Rank(3)]
    audits: Annotated[t.Count, "How many audits in a row have it.", t.Rank(6)]
    is_since_first: Annotated[t.Flag, "Whether every audit of the history has it.", t.WIDE]


class CommitRow(t.Row, table="commits"):
    """A checkpoint: its newest committed batch, and how long ago it was; longest first."""

    checkpoint: Annotated[Checkpoint, t.Rank(1)]
    level: Annotated[
        t.Text, "Level of the last audit's verdict; `failed`: nothing could be read.", t.Rank(5)
    ]
    batch_id: Annotated[t.Id | None, "The newest batch that an audit saw.", t.Rank(3)]
    batch_time_ms: Annotated[t.TimeMs | None, "Its processing time.", t.Rank(4)]
    idle_ms: Annotated[
        t.DurationMs | None, "From then to the last audit.", t.Title("idle"), t.Rank(2)
    ]
    seen_since_ms: Annotated[
        t.TimeMs | None, "The first audit to which it was the newest.", t.Rank(6)
    ]
    audited_ms: Annotated[t.TimeMs, "The last audit.", t.Rank(7)]


@analysis(uses=(STORAGE, ENGINE), tables=(GrowthRow, StandingRow, CommitRow))
def trend(
    path: Annotated[str, Option("The history: what audit --history has written.")],
    options: Options | None = None,
    *,
    days: Annotated[
        int,
        Option(
            "Compute the growth over this many days before the newest audit. The other "
            "tables use the whole history.",
            minimum=1,
        ),
    ] = DAYS,
    history_format: Annotated[
        str, Option("Format of the history, as it was written.", metavar="FORMAT")
    ] = audit_history.PARQUET,
    limit: Annotated[int, LIMIT] = 0,
) -> Report:
    """Trends of many audits: what grew most, how old findings are, which queries do not commit.

    PATH is the folder, or table of a catalog, to which each ``audit --history PATH`` appends.
    Growth needs two audits of a store. Audits that lack a checkpoint, could not judge it, or read
    only a part of it or the batch of --batch, are skipped for it. No option chooses checkpoints.
    It exits with 0; -O trend.html writes a page.

    Raises:
        CheckpointError: there is no history at the path.
        EngineError, OSError: it cannot be read.
    """
    options = options or Options()
    is_local = options.engine in (EngineOptions(), EngineOptions(LOCAL))
    needs_spark = history_format != audit_history.PARQUET or not is_local
    history = audit_history.HistoryTable(
        path, options.storage_options, history_format, options.engine if needs_spark else None
    )
    table = history.read()
    if table is None:
        raise CheckpointError(
            "got no audits at this path, expected a folder that --history has written", path
        )
    # Audits of whole checkpoints at their newest batch, oldest first; times in epoch ms.
    is_audit = pc.equal(table["command"], pa.scalar("audit"))
    chosen = table.filter(pc.and_(is_audit, pc.invert(table["is_part"])))
    for name in ("audited", "batch_time"):
        times_ms = chosen[name].cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
        chosen = chosen.set_column(chosen.schema.get_field_index(name), name, times_ms)
    audits = chosen.sort_by("audited")
    times = {time for time in audits["audited"].to_pylist() if time is not None}
    newest = max(times, default=0)
    growth = list(_growth(audits, newest - days * _MS_PER_DAY))
    growth.sort(key=lambda row: row.added_bytes, reverse=True)
    standing = sorted(_standing(audits), key=lambda row: (row.since_ms, row.checkpoint))
    commits = sorted(_commits(audits), key=lambda row: (-(row.idle_ms or 0), row.checkpoint))
    maximum = limit or None
    tables = (
        GrowthRow.table(f"growth of the last {days} days, the most first", growth[:maximum]),
        StandingRow.table("findings that stand, the oldest first", standing[:maximum]),
        CommitRow.table("newest committed batches, the longest idle first", commits[:maximum]),
    )
    lines = _lines(audits, growth, sorted(times)), _findings_line(audits, sorted(times))
    headings = ("Growth", "Findings", "Commits")
    summary: dict[str, Any] = {"audits": len(times), "checkpoints": len(commits)}
    summary |= {"newest_audit_ms": newest or None, "days": days}
    parts = zip(headings, (*lines, _idle_bars(commits)), tables, strict=True)
    sections = [
        page.Section(last_table.name, heading, [*blocks, last_table])
        for heading, blocks, last_table in parts
    ]
    return Report("trend", path, summary, tables, page=sections)


def _growth(audits: pa.Table, since_ms: int) -> Iterator[GrowthRow]:
    """Yield a row on the growth of each store between its first and last audit since ``since_ms``.

    The time is in epoch ms. ``audits`` is the history, oldest first, with times in epoch ms. Audits
    without row bytes, and stores with only one audit, are left out.
    """
    recent = pc.greater_equal(audits["audited"], pa.scalar(since_ms))
    chosen = audits.filter(pc.and_(recent, pc.is_valid(audits["row_bytes"])))
    names = ("audited", "rows", "row_bytes")
    ends: list[Any] = [(name, end) for name in names for end in ("first", "last")]
    grouped = chosen.group_by(_STORE, use_threads=False).aggregate([*ends, ("audited", "count")])
    for row in grouped.to_pylist():
        passed_ms = row["audited_last"] - row["audited_first"]
        added = row["row_bytes_last"] - row["row_bytes_first"]
        if passed_ms:
            yield GrowthRow(
                **{name: row[name] for name in _STORE},
                audits=row["audited_count"],
                from_ms=row["audited_first"],
                to_ms=row["audited_last"],
                rows=row["rows_last"],
                row_bytes=row["row_bytes_last"],
                added_rows=row["rows_last"] - row["rows_first"],
                added_bytes=added,
                bytes_per_hour=added * 3_600_000 / passed_ms,
            )


def _standing(audits: pa.Table) -> Iterator[StandingRow]:
    """Yield a row for each finding of the last audit of a store.

    It has the number of consecutive audits up to the last one that have the finding, and the time
    of the first of these. Audits that could not judge findings are passed over.
    """
    read = audits.filter(pc.is_valid(audits["findings"]))
    standing = _with_findings(read)
    times = {
        _store_key(row): sorted(row["audited_distinct"])
        for row in read.group_by(_STORE).aggregate([("audited", "distinct")]).to_pylist()
    }
    counts = standing.group_by([*_STORE, "finding"]).aggregate([("audited", "distinct")])
    for row in counts.to_pylist():
        audits_of_store, having = times[_store_key(row)], set(row["audited_distinct"])
        newest_run = list(takewhile(having.__contains__, reversed(audits_of_store)))
        if newest_run:
            yield StandingRow(
                **{name: row[name] for name in (*_STORE, "finding")},
                since_ms=newest_run[-1],
                audits=len(newest_run),
                is_since_first=len(newest_run) == len(audits_of_store),
            )


def _with_findings(audits: pa.Table) -> pa.Table:
    """Return a table with a row for each finding of each row of ``audits``.

    Its columns are checkpoint, operator, store, ``audited`` (the time in epoch ms) and ``finding``
    (the id of the finding).
    """
    lists = audits["findings"].combine_chunks()
    rows = audits.select([*_STORE, "audited"]).take(pc.list_parent_indices(lists))
    return rows.append_column("finding", pc.list_flatten(lists))


def _store_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the checkpoint, operator id and store name in a row, as a key of a dictionary."""
    return tuple(row[name] for name in _STORE)


def _commits(audits: pa.Table) -> Iterator[CommitRow]:
    """Yield a row for each checkpoint on the newest committed batch that an audit saw.

    If the last audits could not read the checkpoint, it is the batch that an earlier audit saw. Its
    columns are None if no audit saw one.
    """
    # "last" skips nulls: if a checkpoint cannot be read now, its newest batch is the last one seen.
    last: list[Any] = [(name, "last") for name in ("audited", "level", "batch_id", "batch_time")]
    newest = audits.group_by(["checkpoint"], use_threads=False).aggregate(last)
    batches = audits.group_by(["checkpoint", "batch_id"]).aggregate([("audited", "min")])
    first = {(r["checkpoint"], r["batch_id"]): r["audited_min"] for r in batches.to_pylist()}
    for row in newest.to_pylist():
        time, audited = row["batch_time_last"], row["audited_last"]
        yield CommitRow(
            checkpoint=row["checkpoint"],
            level=row["level_last"],
            batch_id=row["batch_id_last"],
            batch_time_ms=time,
            idle_ms=None if time is None else max(0, audited - time),
            seen_since_ms=first.get((row["checkpoint"], row["batch_id_last"])),
            audited_ms=audited,
        )


def _lines(audits: pa.Table, growth: Sequence[GrowthRow], times: Sequence[int]) -> list[page.Block]:
    """Return the chart of the row bytes of the checkpoints that grew most, in a list.

    The list is empty if nothing grew, or if there are fewer than two audits. ``growth`` has the
    growth of each store; ``times`` are those of all audits, in epoch ms, ascending.
    """
    added: Counter[str] = Counter()
    for grown in growth:
        added[grown.checkpoint] += grown.added_bytes
    chosen = [path for path, amount in added.most_common(MOST_LINES) if amount > 0]
    rows = audits.filter(pc.is_in(audits["checkpoint"], pa.array(chosen, pa.string())))
    sums = rows.group_by(["checkpoint", "audited"]).aggregate([("row_bytes", "sum")])
    values_by_path: dict[str, dict[int, int]] = {path: {} for path in chosen}
    for row in sums.to_pylist():
        values_by_path[row["checkpoint"]][row["audited"]] = row["row_bytes_sum"]
    names, frame = short_names(chosen)
    series = [
        page.Series(name, [values_by_path[path].get(time) for time in times])
        for name, path in zip(names, chosen, strict=True)
    ]
    about = f"In {frame}" if frame else ""
    return _over_audits("Row bytes of those that grew most", t.Unit.BYTES, times, series, about)


def _findings_line(audits: pa.Table, times: Sequence[int]) -> list[page.Block]:
    """Return the chart of the number of findings of each audit, in a list.

    A finding counts once for each checkpoint. ``times`` are those of all audits, in epoch ms,
    ascending. The list is empty for fewer than two.
    """
    standing = _with_findings(audits.filter(pc.is_valid(audits["findings"])))
    distinct = standing.group_by(["audited", "checkpoint", "finding"]).aggregate([])
    counts = Counter(distinct["audited"].to_pylist())
    series = [page.Series("findings", [counts[time] for time in times])]
    about = "Each finding counts once for each checkpoint that has it."
    return _over_audits("Findings of each audit", t.Unit.COUNT, times, series, about)


def _over_audits(
    title: str, scale: t.Unit, times: Sequence[int], series: Sequence[page.Series], about: str
) -> list[page.Block]:
    """Return a line chart over the audits, in a list; empty for fewer than two audits or no line.

    ``scale`` is the unit of the values in ``series``, which has a value for each of ``times``
    (epoch ms) in each line. ``about`` is a sentence below the title.
    """
    if len(times) < 2 or not series:
        return []
    numbers = range(1, len(times) + 1)
    return [page.LineChart(title, scale, numbers, times, series, about, ("audit", "audits"))]


def _idle_bars(commits: Sequence[CommitRow]) -> list[page.Block]:
    """Return the bar chart of the checkpoints without a new batch for longest, in a list.

    ``commits`` has a row for each checkpoint, the longest idle first. The list is empty if no batch
    has a known time.
    """
    idle = [(row.checkpoint, row.idle_ms) for row in commits if row.idle_ms is not None]
    names, _ = short_names([path for path, _ in idle])
    bars = [page.Bar(name, (ms,)) for name, (_, ms) in zip(names[:MOST_BARS], idle, strict=False)]
    about = "From the newest batch that an audit saw to the last audit."
    chart = page.BarChart(
        "The longest idle", t.Unit.DURATION_MS, "checkpoint", ("idle",), bars, about
    )
    return [chart] if bars else []
