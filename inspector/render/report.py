"""The one form of every report, so that no command can be missing in one of the formats."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from inspector.findings.baseline import Comparison, failing
from inspector.findings.finding import Finding, Kind, Severity
from inspector.findings.gates import Gate, Passed
from inspector.findings.verdict import Level, Verdict, level_of
from inspector.model import READABLE, Problem
from inspector.render.streamed import StreamedRows

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST_PATH = 120

if TYPE_CHECKING:
    from inspector.render.page.model import Page

SCHEMA_VERSION = 2
"""Of the JSON envelope. Grows when a name is removed or changes its meaning.

1: first form. 2: the verdict is an object, numbers are numbers, findings and problems stand in it
once, and ``columns`` has those of every table.
"""


class Unit(enum.Enum):
    """What a column's numbers count; text renderers format by it, machine formats do not."""

    TEXT = "text"
    COUNT = "count"
    BYTES = "bytes"
    PER_HOUR = "per_hour"
    BYTES_PER_HOUR = "bytes_per_hour"
    SHARE = "share"
    RATIO = "ratio"
    DURATION_MS = "duration_ms"
    TIME_MS = "time_ms"
    ID = "id"
    VALUE = "value"
    FLAG = "flag"


class Estimate(int):
    """A whole number that is not counted from bytes, in a column where others are."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: its name in machine formats.
        unit: what it holds.
        exact: counted from bytes; False for an estimate.
        doc: what it means.
        title: its head in tables for people, where the name does not say it plainly.
        wide: tables for people leave it out where the width is limited, unless all columns are
            requested.
        rank: a narrow terminal shows the columns of the lowest ranks; those without one follow in
            their order.
    """

    name: str
    unit: Unit = Unit.TEXT
    exact: bool = True
    doc: str = field(default="", compare=False)
    title: str | None = field(default=None, compare=False)
    wide: bool = field(default=False, compare=False)
    rank: int | None = field(default=None, compare=False)

    @property
    def head(self) -> str:
        """Its head in tables for people; a time is shown as text, so that its unit is left out."""
        if self.title is not None:
            return self.title
        timed = self.unit in (Unit.TIME_MS, Unit.DURATION_MS)
        return (self.name.removesuffix("_ms") if timed else self.name).replace("_", " ")


@dataclass(frozen=True)
class Table:
    """Rows under columns.

    Attributes:
        name: its name in JSON. title: what it shows, for people.
        columns: in order; a row may lack a name, which is null.
        rows: a list, or, where they are too many to hold,
            :class:`~inspector.render.streamed.StreamedRows`, which are read once.
        empty: what to say when there are no rows.
        shown: to people; False for one that says what another one of the report says already.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Iterable[Mapping[str, Any]]
    empty: str = "none"
    shown: bool = True

    def with_wide(self, *names: str) -> Table:
        """The same with more columns that tables for people leave out."""
        columns = [replace(one, wide=one.wide or one.name in names) for one in self.columns]
        return replace(self, columns=columns)

    def __post_init__(self) -> None:
        """Rows of a generator say so when they are read twice."""
        if isinstance(self.rows, Iterator):
            object.__setattr__(self, "rows", StreamedRows(self.rows, self.name))

    def __repr__(self) -> str:
        """Its name and size: rows are many, and may be personal data."""
        rows = self.rows
        count = len(rows) if isinstance(rows, Sized) else getattr(rows, "count", None)
        words = "" if count is None else f", {count:,} {'row' if count == 1 else 'rows'}"
        return f"<Table {self.name}: {len(self.columns)} columns{words}>"


@dataclass(frozen=True)
class Part:
    """The part of a checkpoint that a report is about; all numbers are exact, from the listing.

    Attributes:
        operator_id, store_name, partition_id: what was selected; None where all were.
        version: the state version of the file that the path names; None if it names none.
        stores, of_stores: stores of all partitions that the part has, and those of the checkpoint.
        partitions, of_partitions: the same of the partitions, counted operator by operator.
        file_bytes, of_file_bytes: the same of the bytes of deltas and snapshots.
        subset: which part of these files was read, by the hash of their names: ``1/24``; None
            where all were.
    """

    operator_id: int | None
    store_name: str | None
    partition_id: int | None
    version: int | None
    stores: int
    of_stores: int
    partitions: int
    of_partitions: int
    file_bytes: int
    of_file_bytes: int
    subset: str | None = None


@dataclass(frozen=True)
class Report:
    """What a command reports about one checkpoint.

    Attributes:
        command: its name. checkpoint: root, as the user spelled it.
        summary: name -> value, in order; times in ms under names that end in ``_ms``.
        tables: the first is the command's own: all that ndjson and csv hold.
        findings, problems: judged and unreadable. Problems may still be added while ``rows`` of a
            table is read.
        notes: what a reader must know or do, in any format.
        footnotes: what the columns mean; for people.
        judged: the command judges; no findings then means that all is well.
        verdict: what one has to know first; None for a command that judges nothing.
        metrics: its numbers by the names of :data:`inspector.findings.metrics.METRICS`; empty for
            a command that judges nothing.
        gates: limits that they are held against. comparison: with a baseline, if there is one.
        fail_on: the severity from which on a finding is a failure; None if none is.
        part: the part of the checkpoint that was read; None if all was.
        page: what its HTML page shows besides; None for its tables alone.
        nothing_done: what it was asked to change is not there, which fails as a finding does.
        rules: the kinds of findings that it judges by; empty for those of the catalogue.
    """

    command: str
    checkpoint: str
    summary: Mapping[str, Any]
    tables: Sequence[Table]
    findings: Sequence[Finding] = ()
    problems: Sequence[Problem] = field(default_factory=list)
    notes: Sequence[str] = ()
    footnotes: Sequence[str] = ()
    judged: bool = False
    verdict: Verdict | None = None
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    gates: Sequence[Gate] = ()
    comparison: Comparison | None = None
    fail_on: Severity | None = None
    part: Part | None = None
    page: Page | None = None
    nothing_done: bool = False
    rules: Sequence[Kind] = ()

    @property
    def primary(self) -> Table:
        """The command's own table."""
        return self.tables[0]

    @property
    def complete(self) -> bool:
        """Whether all that should have been read could be; known when the rows have been read."""
        return all(problem.slug in READABLE for problem in self.problems)

    @property
    def level(self) -> Level:
        """How much the checkpoint needs a person; known when the rows have been read."""
        restart = None if self.verdict is None else self.verdict.restart
        stopping = (p for p in self.problems if restart is None or not restart.loads_without(p))
        return level_of(self.findings, tuple(stopping))

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The findings that its gate fails for."""
        return failing(self.findings, self.fail_on, self.comparison)

    @property
    def fails(self) -> bool:
        """Whether a gate fails for what was found; a checkpoint that was read in part aside."""
        if (
            self.nothing_done
            or any(gate.passed is Passed.EXCEEDED for gate in self.gates)
            or self.failing
        ):
            return True
        worse = self.comparison is not None and bool(self.comparison.worse_metrics)
        return worse and self.fail_on is not None

    def __repr__(self) -> str:
        """One short line: what it is of, and what it holds."""
        found, bad = len(self.findings), len(self.problems)
        parts = [", ".join(table.name for table in self.tables)]
        if self.verdict is not None:
            parts.insert(0, self.verdict.level.value)
        if self.judged:
            parts.append(f"{found} finding" + "s" * (found != 1))
        if bad:
            parts.append(f"{bad} problem" + "s" * (bad != 1))
        place = repr(self.checkpoint[:_LONGEST_PATH])
        return f"<Report {self.command} of {place}: {'; '.join(parts)}>"

    def to_dict(self) -> dict[str, Any]:
        """The JSON of ``-o json`` as Python values: the same names, numbers and times.

        Rows that are read when they are needed are read and held, so that it can be called again.
        """
        from inspector.render.conversions import as_dict  # noqa: PLC0415 - it needs a Report

        return as_dict(self)

    def to_arrow(self, table: str | None = None) -> pa.Table:
        """One table as Arrow, by its name; the command's own by default.

        Numbers are 64 bit, ``x_ms`` is the timestamp ``x``, nested values are JSON texts.

        Raises:
            KeyError: there is no such table.
        """
        from inspector.render.conversions import as_arrow  # noqa: PLC0415 - as above

        return as_arrow(self, table)

    def to_pandas(self, table: str | None = None) -> Any:
        """The same as a DataFrame of pandas.

        Raises:
            KeyError: there is no such table.
            EngineError: pandas is not installed.
        """
        from inspector.render.conversions import as_pandas  # noqa: PLC0415 - as above

        return as_pandas(self, table)

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict and the head of the command's own table."""
        from inspector.render.notebook import html_head  # noqa: PLC0415 - as above

        return html_head(self)
