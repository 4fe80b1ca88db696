"""Reports of many checkpoints as one document: a table, the worst first, and what stands behind it.

Of each checkpoint a row is kept, and the text that its format has of it; where that is kept is for
the caller to say (:class:`Kept`), because all of them together may be large. A checkpoint that
could not be read at all is a row, and an entry of every format, as any other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.findings.gates import Passed
from inspector.findings.verdict import Level
from inspector.plain_text import escape
from inspector.quantities import short_count_text
from inspector.render.as_csv import csv_line
from inspector.render.as_json import dumps, render_json
from inspector.render.as_junit import junit_document, junit_failure, junit_suite
from inspector.render.as_prometheus import Observed, observed, prometheus_text, unreadable
from inspector.render.display import Display
from inspector.render.first_screen import first_screen
from inspector.render.fitting import drawn_table
from inspector.render.fleet_rows import OPTIONAL, RANKS, WIDE, failed_row, row_of
from inspector.render.formats import render
from inspector.render.plain import plain_names, plain_row
from inspector.render.report import SCHEMA_VERSION, Column, Report, Table
from inspector.render.text import markdown_table, markdown_text

_PEOPLE = ("table", "markdown")
_LINES = ("ndjson", "csv")


@dataclass(frozen=True)
class Member:
    """What is kept of one checkpoint.

    Attributes:
        row: of the table, by the names of its columns.
        columns: of the table, as far as this checkpoint has them.
        text: what its format has of it, piece by piece.
        names: of the fields of its own table's rows, where the format has those.
        observed: what Prometheus gets of it.
    """

    row: Mapping[str, Any]
    columns: Sequence[Column]
    text: Callable[[], Iterator[str]]
    names: Sequence[str] = ()
    observed: Observed | None = None

    @property
    def level(self) -> Level:
        """How much it needs a person."""
        return Level(self.row["level"])

    @property
    def needs_a_person(self) -> bool:
        """Whether it is shown without being asked for."""
        return self.level is not Level.OK or bool(self.row.get("gates_exceeded"))


Kept = Callable[[Iterator[str]], Callable[[], Iterator[str]]]
"""Keeps text somewhere; gives what brings it back."""


@dataclass(frozen=True)
class Form:
    """How a fleet is written.

    Attributes:
        command: what ran.
        output: the format.
        display: of text for people.
        details: whole reports in place of first screens.
        keep: where texts are kept.
    """

    command: str
    output: str
    display: Display
    details: bool
    keep: Kept

    def member(self, report: Report, exit_code: Callable[[], int]) -> Member:
        """What is kept of a report.

        Args:
            report: its tables are read for it.
            exit_code: what the command says of it, when they have been read.
        """
        text = self.keep(self._text(report))
        row, columns = row_of(report)
        row["exit_code"] = int(exit_code())
        return Member(row, columns, text, plain_names(report.primary), observed(report))

    def failure(self, checkpoint: str, message: str, kind: str, exit_code: int) -> Member:
        """What is kept of a checkpoint that could not be read at all.

        Args:
            checkpoint: as its user spelled it.
            message: why.
            kind: the class of error, for machines.
            exit_code: of the command on this checkpoint alone.
        """
        text = ""
        if self.output == "json":
            error = {"kind": kind, "message": message, "exit_code": int(exit_code)}
            head = {"schema_version": SCHEMA_VERSION, "command": self.command}
            text = dumps({**head, "checkpoint": checkpoint, "error": error})
        elif self.output == "junit":
            text = junit_failure(self.command, checkpoint, message)
        row, columns = failed_row(checkpoint, message, exit_code)
        return Member(row, columns, self.keep(iter((text,))), observed=unreadable(checkpoint))

    def _text(self, report: Report) -> Iterator[str]:
        if self.output in _LINES:
            table = report.primary
            return (dumps(plain_row(table, row)) + "\n" for row in table.rows)
        if self.output == "json":
            return render_json(report)
        if self.output in _PEOPLE and self.details:
            return render(report, self.output, self.display)
        return self._read(report)

    def _read(self, report: Report) -> Iterator[str]:
        """Texts that show no rows; problems are found by reading them all the same."""
        for table in report.tables:
            for _ in table.rows:
                pass
        if self.output == "junit":
            yield junit_suite(report)
        if self.output in _PEOPLE:
            for line in first_screen(report):
                yield from self.paragraph(line.text)
            for gate in report.gates:
                if gate.passed is Passed.EXCEEDED:
                    yield from self.paragraph(f"Gate: {gate.sentence}.")

    def paragraph(self, text: str) -> Iterator[str]:
        """Text for people."""
        if self.output == "markdown":
            yield f"{markdown_text(text)}\n\n"
        else:
            yield from self.display.text(escape(text))


def document(form: Form, members: Sequence[Member], gone: Sequence[str] = ()) -> Iterator[str]:
    """All checkpoints as one document.

    Args:
        form: how it is written.
        members: in any order.
        gone: checkpoints of the baseline that are no longer there.
    """
    ordered = sorted(members, key=_urgency)
    if form.output == "json":
        yield from _json(form, ordered, gone)
    elif form.output == "ndjson":
        yield from (dumps(line) + "\n" for line in _lines(ordered))
    elif form.output == "csv":
        yield from _csv(ordered)
    elif form.output == "junit":
        yield from junit_document(["".join(member.text()) for member in ordered])
    elif form.output == "prometheus":
        yield prometheus_text([m.observed for m in ordered if m.observed is not None])
    else:
        yield from _for_people(form, ordered, gone)


def _urgency(member: Member) -> tuple[Any, ...]:
    """The worst first: by level, then what fails, then by bytes."""
    row = member.row
    failing = (row.get("gates_exceeded") or 0) + (row.get("new_or_worse") or 0)
    return (-member.level.rank, -failing, -(row.get("row_bytes") or 0), row["checkpoint"])


def fleet_table(members: Sequence[Member]) -> Table:
    """A row for each checkpoint."""
    columns: dict[str, Column] = {}
    for member in sorted(members, key=lambda each: -len(each.columns)):
        for column in member.columns:
            columns.setdefault(column.name, column)
    rows = [member.row for member in members]
    for name in OPTIONAL:
        if all(row.get(name) is None for row in rows):
            columns.pop(name, None)
    return Table(
        "fleet",
        _headline(members),
        [replace(c, wide=c.name in WIDE, rank=RANKS.get(c.name)) for c in columns.values()],
        rows,
        "no checkpoints found",
    )


def _headline(members: Sequence[Member]) -> str:
    found = Counter(member.level for member in members)
    words = {
        Level.UNREADABLE: "not fully readable",
        Level.ERROR: "with errors",
        Level.WARNING: "with warnings",
        Level.INFO: "with information only",
        Level.OK: "ok",
    }
    parts = [f"{found[level]} {word}" for level, word in words.items() if found[level]]
    return f"{short_count_text(len(members), 'checkpoint')}: {', '.join(parts)}"


# --- documents -----------------------------------------------------------------------------------


def _json(form: Form, members: Sequence[Member], gone: Sequence[str]) -> Iterator[str]:
    table = fleet_table(members)
    head = {
        "schema_version": SCHEMA_VERSION,
        "command": form.command,
        "complete": all(member.level is not Level.UNREADABLE for member in members),
        "gone": list(gone),
        "fleet": [plain_row(table, row) for row in table.rows],
    }
    yield dumps(head)[:-1] + ', "reports": ['
    comma = "\n"
    for member in members:
        yield comma
        yield from member.text()
        comma = ",\n"
    yield "\n]}\n"


def _lines(members: Sequence[Member]) -> Iterator[dict[str, Any]]:
    """The rows of all own tables; a checkpoint without any, or that failed, has one of its own."""
    for member in members:
        head = {name: member.row.get(name) for name in ("checkpoint", "level", "message")}
        empty = True
        for line in _joined_lines(member.text()):
            empty = False
            yield head | json.loads(line)
        if empty:
            yield head


def _joined_lines(pieces: Iterator[str]) -> Iterator[str]:
    rest = ""
    for piece in pieces:
        *lines, rest = (rest + piece).split("\n")
        yield from lines
    if rest:
        yield rest


def _csv(members: Sequence[Member]) -> Iterator[str]:
    names = dict.fromkeys(("checkpoint", "level", "message"))
    for member in members:
        names |= dict.fromkeys(member.names)
    yield csv_line(list(names))
    for line in _lines(members):
        yield csv_line([line.get(name) for name in names])


def _for_people(form: Form, members: Sequence[Member], gone: Sequence[str]) -> Iterator[str]:
    table = fleet_table(members)
    if form.output == "markdown":
        yield f"# {form.command}\n"
        yield from markdown_table(table, wide=form.display.wide)
    else:
        yield from drawn_table(table, form.display)
    for path in gone:
        yield "\n"
        yield from form.paragraph(f"{path} is in the baseline, but was not found.")
    for member in members:
        text = member.text()
        first = next(text, "")
        if not first or not (form.details or member.needs_a_person):
            continue
        yield "\n"
        yield from _heading(form, member)
        yield first
        yield from text
    if not form.details:
        yield "\n"
        yield from form.paragraph(HINT)


HINT = "Use --details for the whole report of each checkpoint."


def _heading(form: Form, member: Member) -> Iterator[str]:
    path = str(member.row["checkpoint"])
    if form.output == "markdown":
        yield f"## {markdown_text(path)}\n\n"
    else:
        yield from form.display.text(escape(path), "heading")
