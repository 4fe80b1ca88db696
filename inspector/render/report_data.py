"""Content of every report, so that every format can render every command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inspector.findings.baseline import Comparison, failing
from inspector.findings.finding import Finding, Kind, Severity
from inspector.findings.metrics import Gate, Passed
from inspector.findings.verdict import Level, Verdict, level_of
from inspector.light_dataclasses import dataclass, field
from inspector.model import READABLE, Problem, StoreName
from inspector.quantities import count_text
from inspector.render.tabular import Table

if TYPE_CHECKING:
    from inspector.checkpoint.state_schema import StateSchema
    from inspector.render.page import LineChart, Section

_LONGEST_PATH = 120  # characters of a path in the ``repr`` of a report

# Version of the JSON envelope. It grows when a name is removed or changes its meaning.
SCHEMA_VERSION = 2

LISTED = ("findings", "problems")  # tables whose rows every report has under their own name


@dataclass(frozen=True)
class Part:
    """The part of a checkpoint that a report is about; all numbers are exact, from the listing."""

    operator_id: int | None  # selected operator; None for all
    store_name: str | None  # selected store; None for all
    partition_id: int | None  # selected partition; None for all
    version: int | None  # of the file that the path names
    stores: int  # number of stores of the part
    of_stores: int  # number of stores of the checkpoint
    partitions: int  # number of partitions of the part, counted for each operator
    of_partitions: int  # number of partitions of the checkpoint
    file_bytes: int  # bytes of deltas and snapshots of the part
    of_file_bytes: int  # bytes of deltas and snapshots of the checkpoint
    subset: str | None = None  # which of these files were read, by the hash of their names: 1/24


@dataclass(frozen=True)
class Step:
    """One step that the user takes next: a sentence, and perhaps a command."""

    text: str  # a sentence; it ends with a colon if there is a command
    command: str = ""  # a command line that does it, which works as it is


@dataclass(frozen=True)
class ReportData:
    """Content of a command's report on one checkpoint."""

    command: str  # name of the command
    checkpoint: str  # root, as the user spelled it
    # values by name, in order; times in ms under names that end in ``_ms``
    summary: Mapping[str, Any]
    tables: Sequence[Table]  # the first is the command's own: all that ndjson and csv hold
    findings: Sequence[Finding] = ()  # findings, the most severe first
    # what could not be read, or is wrong; may grow while ``rows`` of a table are read
    problems: Sequence[Problem] = field(default_factory=list)
    notes: Sequence[str] = ()  # what a reader must know or do, in any format
    steps: Sequence[Step] = ()  # what the user does next, in order
    footnotes: Sequence[str] = ()  # what the columns mean; for people
    judged: bool = False  # the command judges; no findings then means that all is well
    # what the user must know first; None for a command without a verdict
    verdict: Verdict | None = None
    # numbers by the names of :data:`inspector.findings.metrics.METRICS`
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    gates: Sequence[Gate] = ()  # limits that the metrics are compared with
    comparison: Comparison | None = None  # comparison with a baseline; None without one
    # least severity of a finding that is a failure; None if none is
    fail_on: Severity | None = None
    part: Part | None = None  # the part of the checkpoint that was read; None if all was
    # sections of its HTML page; None if the page shows the tables
    page: Sequence[Section] | None = None
    nothing_done: bool = False  # there was nothing to change, which fails as a finding does
    rules: Sequence[Kind] = ()  # the kinds of findings that it judges by; empty for all rules
    charts: Sequence[LineChart] = ()  # how the state grew, for pages and notebooks
    # schemas of the state by operator and store; empty in reports of audits
    schemas: Mapping[StoreName, StateSchema] = field(default_factory=dict, repr=False)

    @property
    def primary(self) -> Table:
        """The command's own table: the first one."""
        return self.tables[0]

    @property
    def visible_tables(self) -> list[Table]:
        """Tables for people, without those whose rows are shown in another part of the report."""
        return [table for table in self.tables if table.shown and table.name not in LISTED]

    @property
    def complete(self) -> bool:
        """True if everything could be read. It is known after the rows have been read."""
        return all(problem.slug in READABLE for problem in self.problems)

    @property
    def level(self) -> Level:
        """Level of the checkpoint: how urgently it needs a person. Known when all rows are read."""
        restart = None if self.verdict is None else self.verdict.restart
        stopping = (p for p in self.problems if restart is None or not restart.loads_without(p))
        return level_of(self.findings, tuple(stopping))

    @property
    def failing(self) -> tuple[Finding, ...]:
        """Findings that are a failure, by ``fail_on`` and the comparison with a baseline."""
        return failing(self.findings, self.fail_on, self.comparison)

    @property
    def fails(self) -> bool:
        """True if a finding, limit or metric fails, or nothing was done.

        An incomplete read does not count here.
        """
        exceeded = any(gate.passed is Passed.EXCEEDED for gate in self.gates)
        worse = self.comparison is not None and bool(self.comparison.worse_metrics)
        has_failing = bool(self.failing) or (worse and self.fail_on is not None)
        return self.nothing_done or exceeded or has_failing

    def __repr__(self) -> str:
        parts = [] if self.verdict is None else [self.verdict.level.value]
        parts.append(", ".join(table.name for table in self.tables))
        if self.judged:
            parts.append(count_text(len(self.findings), "finding"))
        if self.problems:
            parts.append(count_text(len(self.problems), "problem"))
        checkpoint = repr(self.checkpoint[:_LONGEST_PATH])
        return f"<Report {self.command} of {checkpoint}: {'; '.join(parts)}>"
