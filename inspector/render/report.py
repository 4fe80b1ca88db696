"""The one form of every report, so that no command can be missing in one of the formats."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.findings.finding import Finding
from inspector.model import READABLE, Problem

SCHEMA_VERSION = 1
"""Of the JSON envelope. Grows when a name is removed or changes its meaning; 1: first form."""


class Unit(enum.Enum):
    """What a column's numbers count; text renderers format by it, machine formats do not."""

    TEXT = "text"
    COUNT = "count"
    BYTES = "bytes"
    TIME_MS = "time_ms"
    ID = "id"
    VALUE = "value"
    FLAG = "flag"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: its name in machine formats.
        unit: what it holds.
        exact: counted from bytes; False for an estimate.
        doc: what it means; empty for a column of a name that many tables have
            (:mod:`inspector.analyses.shared.column_docs`).
    """

    name: str
    unit: Unit = Unit.TEXT
    exact: bool = True
    doc: str = field(default="", compare=False)


@dataclass(frozen=True)
class Table:
    """Rows under columns.

    Attributes:
        name: its name in JSON. title: what it shows, for people.
        columns: in order; a row may lack a name, which is null.
        rows: read once; an iterator where they are too many to hold.
        empty: what to say when there are no rows.
        wide: columns that tables for people leave out.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Iterable[Mapping[str, Any]]
    empty: str = "none"
    wide: frozenset[str] = frozenset()


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

    @property
    def primary(self) -> Table:
        """The command's own table."""
        return self.tables[0]

    @property
    def complete(self) -> bool:
        """Whether all that should have been read could be; known when the rows have been read."""
        return all(problem.slug in READABLE for problem in self.problems)
