"""History of audits: a table of Parquet files, partitioned by day.

A row is a store at one audit, or a checkpoint that has none or could not be read. pandas, Spark and
DuckDB read the folder as it is; :mod:`inspector.analyses.trend` says what the audits say together.
"""

from __future__ import annotations

import glob
import io
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from inspector import __version__
from inspector.checkpoint.destination import Destination
from inspector.checkpoint.drivers import connect
from inspector.checkpoint.patience import translate_error
from inspector.checkpoint.urls import absolute, spell_root
from inspector.exceptions import CheckpointError
from inspector.light_dataclasses import dataclass, field
from inspector.model import Subset
from inspector.render.report import Report
from inspector.sums import group_by

if TYPE_CHECKING:
    from inspector.engines.choose import EngineOptions
    from inspector.engines.spark_tables import SparkTable

DAY = "day"  # the column by which the files are partitioned, in UTC
PARQUET = "parquet"  # the format of a history that this process writes
UNREADABLE = "failed"  # the level of a checkpoint of which nothing could be read

# fields of :class:`Part`; one that is set shows that a report is about a part
_SELECTED = ("operator_id", "store_name", "partition_id", "version")
_SHOWN = 12  # numbers of parts that a sentence lists

Row = dict[str, Any]  # a row of the history by column name


def schema() -> pa.Schema:
    """Return the columns of a history; those that an older history lacks are null."""
    time, text, number = pa.timestamp("us", "UTC"), pa.string(), pa.int64()
    columns: list[tuple[pa.DataType, str]] = [
        (time, "audited"),
        (text, "command inspector_version checkpoint query_id level"),
        (number, "problems batch_id"),
        (time, "batch_time watermark"),
        (pa.int32(), "operator_id"),
        (text, "store_name"),
        (number, "rows key_bytes value_bytes row_bytes leftovers"),
        (pa.list_(text), "findings"),
        (number, "state_file_bytes"),
        (pa.bool_(), "is_part"),
        (pa.int32(), "subset subsets"),
        (text, "error"),
    ]
    return pa.schema([(name, kind) for kind, names in columns for name in names.split()])


def rows_of(report: Report, audited: datetime, *, is_newest: bool = True) -> list[Row]:
    """Return the rows of a report of ``audit`` or ``verify``, one for each store.

    A checkpoint without stores has one row. ``is_newest`` is False if an older batch was judged.
    """
    head, part = report.summary, report.part
    subset = None if part is None or part.subset is None else Subset.parse(part.subset)
    selected = part is not None and any(getattr(part, n) is not None for n in _SELECTED)
    common = _head(report.command, report.checkpoint, audited) | {
        "level": report.level.value,
        "problems": len(report.problems),
        **{name: head.get(name) for name in ("query_id", "batch_id", "state_file_bytes")},
        "batch_time": _time(head.get("batch_timestamp_ms")),
        "watermark": _time(head.get("watermark_ms")),
        "is_part": selected or not is_newest,
        "subset": subset and subset.number,
        "subsets": subset and subset.count,
    }
    tables = {table.name: table for table in report.tables}
    classes = tables.get("classes")
    stores: dict[tuple[int | None, str | None], Row] = {}
    for table in filter(None, (tables.get("sizes"), tables.get("checks"))):
        for row in table.rows:
            sizes = ("rows", "key_bytes", "value_bytes", "row_bytes")
            store_sizes = {size: row.get(size) for size in sizes}
            store_sizes["leftovers"] = None if classes is None else 0
            stores[row["operator_id"], row["store_name"]] = store_sizes
    for row in () if classes is None else classes.rows:
        store_sizes = stores.setdefault((row["operator_id"], row["store_name"]), {})
        store_sizes["leftovers"] = (store_sizes.get("leftovers") or 0) + row["keys"]
    rows = []
    for (operator_id, store_name), store_sizes in (stores or {(None, None): {}}).items():
        ids = {
            finding.kind.id
            for finding in report.findings
            if finding.operator_id in (None, operator_id)
            and finding.store_name in (None, store_name)
        }
        names = {"operator_id": operator_id, "store_name": store_name}
        rows.append({**common, **names, **store_sizes, "findings": sorted(ids)})
    return rows


def row_of_failure(checkpoint: str, message: str, command: str, audited: datetime) -> Row:
    """Return the row of a checkpoint that could not be read at all."""
    row = _head(command, checkpoint, audited)
    return {**row, "level": UNREADABLE, "is_part": False, "error": message}


def _head(command: str, checkpoint: str, audited: datetime) -> Row:
    """Return the first columns of every row."""
    return {
        "audited": audited,
        "command": command,
        "inspector_version": __version__,
        "checkpoint": place_of(checkpoint),
    }


def place_of(checkpoint: str) -> str:
    """Return a checkpoint's absolute path, which is the same wherever an audit was started."""
    return spell_root(absolute(checkpoint)).rstrip("/")


def _time(value: int | None) -> datetime | None:
    """Return epoch ms as a time in UTC; None for None."""
    return None if value is None else datetime.fromtimestamp(value / 1000, timezone.utc)


class HistoryTable:
    """History of audits in a table, with methods to append rows and to read all rows.

    Spark reads and writes it if an engine is given; otherwise this process does. The path is a
    folder; for Spark it may be the name of a table in a catalog.
    """

    def __init__(
        self,
        path: str,
        options: Mapping[str, str],
        form: str = PARQUET,
        engine: EngineOptions | None = None,
    ) -> None:
        """Prepare a history; an ``engine`` is given if Spark reads and writes it.

        ``form`` is the format of the table.
        """
        self.path, self._options = path, options
        self._spark: SparkTable | None = None
        if engine is not None:
            from inspector.engines.spark_tables import SparkTable  # noqa: PLC0415 - needs PySpark

            self._spark = SparkTable(path, form, engine)

    def append(self, rows: Sequence[Row]) -> None:
        """Add the rows of one run, as a file for each day.

        Raises EngineError or OSError.
        """
        if self._spark is not None:
            if rows:
                table = pa.Table.from_pylist(list(rows), schema=schema())
                days = table["audited"].cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
                self._spark.append(table.append_column(DAY, days), DAY)
            return
        import pyarrow.parquet as pq  # noqa: PLC0415 - takes a while, and few keep audits

        for day, day_rows in group_by(rows, lambda row: row["audited"].date().isoformat()).items():
            content = io.BytesIO()
            table = pa.Table.from_pylist(day_rows, schema=schema())
            pq.write_table(table, content, compression="zstd", coerce_timestamps="us")
            name = f"{DAY}={day}/{uuid.uuid4().hex}.parquet"
            Destination(self.path, self._options).write(name, [content.getvalue()])

    def read(self) -> pa.Table | None:
        """Return all rows; None if there are none yet.

        Raises CheckpointError for files of another kind, EngineError and OSError.
        """
        if self._spark is not None:
            return self._spark.read(schema())
        import pyarrow.dataset as ds  # noqa: PLC0415 - as above

        path, table = self.path, None
        system, folder = connect(absolute(path), self._options)
        try:
            list_files = (system or glob).glob
            # Not all files of a Delta table are of its newest version.
            is_delta = bool(list_files(f"{folder.rstrip('/')}/_delta_log"))
            files = [] if is_delta else list_files(f"{folder.rstrip('/')}/{DAY}=*/*.parquet")
            if files:
                table = ds.dataset(files, schema(), format="parquet", filesystem=system).to_table()
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            message = f"got files that are not a history of audits: {error}"
            raise CheckpointError(message, path) from None
        except Exception as error:  # noqa: BLE001 - drivers raise whatever their makers liked
            raise translate_error(error, spell_root(path), self._options) from None
        if is_delta:
            message = "got a Delta table, which Spark reads: --history-format delta --engine spark"
            raise CheckpointError(message, path)
        return table


class Record:
    """The rows of one run, which are added to a history at its end."""

    def __init__(self, table: HistoryTable, command: str, *, is_newest: bool) -> None:
        """Begin a record of one run of ``command``.

        ``is_newest`` is False if the user chose an older batch.
        """
        self._table, self._command, self._is_newest = table, command, is_newest
        self._audited = datetime.now(timezone.utc)
        self._rows: list[Row] = []

    def add(self, report: Report) -> None:
        """Record the rows of a report."""
        self._rows += rows_of(report, self._audited, is_newest=self._is_newest)

    def fail(self, checkpoint: str, message: str) -> None:
        """Record the row of a checkpoint that could not be read at all."""
        self._rows.append(row_of_failure(checkpoint, message, self._command, self._audited))

    def write(self) -> None:
        """Append the recorded rows to the history."""
        self._table.append(self._rows)


@dataclass(frozen=True)
class Proofs:
    """Times at which each subset of each checkpoint's state was last verified without a problem."""

    # time of the last verification, by checkpoint and subset
    times: Mapping[str, Mapping[Subset, datetime]] = field(default_factory=dict)
    place: str | None = None  # path of the history; None without one

    @classmethod
    def in_history(
        cls, history: str | HistoryTable, options: Mapping[str, str] | None = None
    ) -> Proofs:
        """Return the proofs of a history; none if it does not exist yet.

        EngineError: no driver for the storage. OSError: it cannot be read.
        """
        if isinstance(history, str):
            history = HistoryTable(history, options or {})
        path, table = history.path, history.read()
        if table is None:
            return cls(place=path)
        names = ["command", "checkpoint", "subset", "subsets", "problems", "audited", "is_part"]
        times: dict[str, dict[Subset, datetime]] = {}
        for row in table.select(names).to_pylist():
            # A checkpoint that could not be read has no count of problems.
            if row["command"] == "verify" and row["problems"] == 0 and not row["is_part"]:
                subset = Subset(row["subset"] or 1, row["subsets"] or 1)
                checkpoint_times = times.setdefault(row["checkpoint"], {})
                previous = checkpoint_times.get(subset, row["audited"])
                checkpoint_times[subset] = max(previous, row["audited"])
        return cls(times, path)

    def next(self, checkpoint: str, count: int) -> Subset:
        """Return the subset of ``count`` with the oldest proof; one without a proof is first."""
        times = self._of(checkpoint, count)
        never = datetime.min.replace(tzinfo=timezone.utc)
        return min(times, key=lambda subset: (times[subset] or never, subset.number))

    def sentence(self, checkpoint: str, subset: Subset, *, proven: bool) -> str:
        """Return a sentence on the age of the oldest proof after this part was verified."""
        if self.place is None:
            hint = "--history PATH keeps when each was verified"
            return f"Nothing is remembered of the other parts: {hint}."
        now = datetime.now(timezone.utc)
        times = self._of(checkpoint, subset.count) | ({subset: now} if proven else {})
        unaudited = sorted(part.number for part, time in times.items() if time is None)
        if unaudited:
            count = f"{len(unaudited):,} of {subset.count:,}"
            numbers = ", ".join(map(str, unaudited[:_SHOWN])) + (
                ", ..." * (len(unaudited) > _SHOWN)
            )
            return f"{count} parts have no proof in {self.place}: {numbers}."
        oldest = min(time for time in times.values() if time is not None)
        hours = (now - oldest).total_seconds() / 3600
        return (
            f"Each of {subset.count:,} parts has been verified; the oldest proof is of "
            f"{oldest:%Y-%m-%d %H:%M} UTC, {hours:,.1f} h ago. Files that came later count from "
            "the next proof of their part on."
        )

    def _of(self, checkpoint: str, count: int) -> dict[Subset, datetime | None]:
        """Return the time of the newest proof of each of ``count`` subsets; None without one.

        A verification of all files counts for every subset.
        """
        proofs = self.times.get(place_of(checkpoint), {})
        everything = Subset(1, 1)
        newest: dict[Subset, datetime | None] = {}
        for subset in (Subset(number, count) for number in range(1, count + 1)):
            times = [proofs[part] for part in (subset, everything) if part in proofs]
            newest[subset] = max(times, default=None)
        return newest
