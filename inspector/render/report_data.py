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

_LONGEST_PATH = 120

SCHEMA_VERSION = 2  # of the JSON envelope; grows when a name is removed or changes its meaning

LISTED = ("findings", "problems")  # tables whose rows every report has under their own name


@dataclass(frozen=True)
class Part:
    """The part of a checkpoint that a report is about; all numbers are exact, from the listing."""

    # what was selected; None where all were
    operator_id: int | None
    store_name: str | None
    partition_id: int | None
    version: int | None  # of the file that the path names
    # of all partitions: those that the part has, and those of the checkpoint
    stores: int
    of_stores: int
    partitions: int  # counted operator by operator
    of_partitions: int
    file_bytes: int  # of deltas and snapshots
    of_file_bytes: int
    subset: str | None = None  # which of these files were read, by the hash of their names: 1/24


@dataclass(frozen=True)
class Step:
    """One thing that the user does next."""

    text: str  # a sentence; it ends with a colon if there is a command
    command: str = ""  # a command line that does it, which works as it is


@dataclass(frozen=True)
class ReportData:
    """Content of a command's report on one checkpoint."""

    command: str  # its name
    checkpoint: str  # root, as the user spelled it
    summary: Mapping[str, Any]  # in order; times in ms under names that end in ``_ms``
    tables: Sequence[Table]  # the first is the command's own: all that ndjson and csv hold
    findings: Sequence[Finding] = ()
    # what could not be read, or is wrong; may grow while ``rows`` of a table are read
    problems: Sequence[Problem] = field(default_factory=list)
    notes: Sequence[str] = ()  # what a reader must know or do, in any format
    steps: Sequence[Step] = ()  # what the user does next, in order
    footnotes: Sequence[str] = ()  # what the columns mean; for people
    judged: bool = False  # the command judges; no findings then means that all is well
    verdict: Verdict | None = None  # what one has to know first
    # its numbers by the names of :data:`inspector.findings.metrics.METRICS`
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    gates: Sequence[Gate] = ()  # limits that they are compared with
    comparison: Comparison | None = None  # with a baseline, if there is one
    fail_on: Severity | None = None  # from which on a finding is a failure; None if none is
    part: Part | None = None  # the part of the checkpoint that was read; None if all was
    page: Sequence[Section] | None = None  # what its HTML page shows besides its tables
    nothing_done: bool = False  # what it was to change is not there, which fails as a finding does
    rules: Sequence[Kind] = ()  # the kinds of findings that it judges by; empty for all rules
    charts: Sequence[LineChart] = ()  # how the state grew, for pages and notebooks
    # of the state, by operator and store; empty in reports of audits
    schemas: Mapping[StoreName, StateSchema] = field(default_factory=dict, repr=False)

    @property
    def primary(self) -> Table:
        """The command's own table."""
        return self.tables[0]

    @property
    def visible_tables(self) -> list[Table]:
        """Tables for people, without one whose rows other parts of the report show in full."""
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
        """The findings that its gate fails for."""
        return failing(self.findings, self.fail_on, self.comparison)

    @property
    def fails(self) -> bool:
        """True if a gate fails for a finding or metric. An incomplete read does not count here."""
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
