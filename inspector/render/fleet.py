"""Reports of many checkpoints as one document: a table, the worst first, and what stands behind it.

Of each checkpoint a row is kept, and the text that its format has of it; where is for the caller to
say (:class:`Kept`), as all together may be large. One that could not be read is a row too.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inspector.findings.verdict import Level
from inspector.light_dataclasses import dataclass, replace
from inspector.plain_text import escape
from inspector.quantities import short_count_text
from inspector.render import fleet_rows
from inspector.render.as_junit import junit_document, junit_failure, junit_suite
from inspector.render.as_prometheus import Observed, metrics_of, prometheus_text, unreadable
from inspector.render.display import Display
from inspector.render.fitting import drawn_table
from inspector.render.plain import csv_line, dumps, plain_names, plain_row, render_ndjson
from inspector.render.renderers import render
from inspector.render.report_data import SCHEMA_VERSION, ReportData
from inspector.render.tabular import Column, Table
from inspector.render.text import markdown_table, markdown_text

_LEVEL_WIDTH = max(len(level.value) for level in Level) + 2  # characters of the column of levels
# words behind a number of checkpoints with a level
_LEVEL_WORDS = {
    Level.UNREADABLE: "not fully readable",
    Level.ERROR: "with errors",
    Level.WARNING: "with warnings",
    Level.INFO: "with information only",
    Level.OK: "ok",
}


@dataclass(frozen=True, slots=True)
class Member:
    """Results of one checkpoint of a fleet, kept until the document is written."""

    row: Mapping[str, Any]  # values of its row in the table of the fleet
    columns: Sequence[Column]  # columns of this row
    text: Callable[[], Iterator[str]]  # yields its text in the format of the fleet, piece by piece
    names: Sequence[str] = ()  # columns of its own table, for CSV
    observed: Observed | None = None  # its metrics for Prometheus; None in other formats
    cause: str = ""  # its cause for people; empty for a command that judges nothing
    to_do: tuple[str, str] | None = None  # id of the main finding, and the advice; None without one

    @property
    def level(self) -> Level:
        """Level of the checkpoint."""
        return Level(self.row["level"])


# stores text, and returns a function that reads it again
Kept = Callable[[Iterator[str]], Callable[[], Iterator[str]]]


@dataclass(frozen=True)
class Form:
    """Format of the document on a fleet; with ``details`` it has whole reports."""

    command: str  # name of the command
    output: str  # name of the format
    display: Display  # width and colours of text
    details: bool  # whole reports follow the table
    has_filters: bool  # the command has the options --level and --finding
    keep: Kept  # stores the text of a checkpoint until the document is written

    def member(self, report: ReportData, exit_code: Callable[[], int]) -> Member:
        """Return the results of a report.

        Its rows are read to the end before ``exit_code`` is called.
        """
        text = self.keep(self._text(report))
        row, columns = fleet_rows.row_of(report)
        row["exit_code"] = int(exit_code())
        names = plain_names(report.primary) if self.output == "csv" else ()
        cause = report.verdict and report.verdict.cause
        # Many of a fleet say the same: it is kept once.
        advice = (cause.finding.kind.id, sys.intern(cause.to_do)) if cause else None
        if row["message"]:
            row["message"] = sys.intern(row["message"])
        exported = metrics_of(report) if self.output == "prometheus" else None
        cause_line = sys.intern(fleet_rows.cause_text(report))
        return Member(row, columns, text, names, exported, cause_line, advice)

    def failure(self, checkpoint: str, message: str, kind: str, exit_code: int) -> Member:
        """Return the results of a checkpoint that could not be read.

        ``kind`` names the error in JSON.
        """
        text = ""
        if self.output == "json":
            error = {"kind": kind, "message": message, "exit_code": int(exit_code)}
            head = {"schema_version": SCHEMA_VERSION, "command": self.command}
            text = dumps({**head, "checkpoint": checkpoint, "error": error})
        elif self.output == "junit":
            text = junit_failure(self.command, checkpoint, message)
        row, columns = fleet_rows.row_of_failure(checkpoint, message, exit_code)
        lines = self.keep(iter((text,)))
        return Member(row, columns, lines, observed=unreadable(checkpoint), cause=f"{message}.")

    def _text(self, report: ReportData) -> Iterator[str]:
        """Yield the text of a report in the format of the fleet."""
        if self.output in ("ndjson", "csv"):
            return render_ndjson(report)
        if self.output == "json" or (self.details and self.output in ("table", "markdown")):
            return render(report, self.output, self.display)
        return self._read(report)

    def _read(self, report: ReportData) -> Iterator[str]:
        """Read all rows, which finds problems, and yield the text of formats that show no rows."""
        for table in report.tables:
            for _ in table.rows:
                pass
        if self.output == "junit":
            yield junit_suite(report)

    def paragraph(self, text: str) -> Iterator[str]:
        """Yield a paragraph of text for people, below an empty line."""
        yield "\n"
        if self.output == "markdown":
            yield f"{markdown_text(text)}\n\n"
        else:
            yield from self.display.text(escape(text))


def document(
    form: Form, members: Sequence[Member], gone: Sequence[str] = (), left_out: int = 0
) -> Iterator[str]:
    """Yield the document on all checkpoints, the worst first.

    ``gone`` are paths that only the baseline has; ``left_out`` is the number of checkpoints that
    filters hide.
    """
    ordered = sorted(members, key=_urgency)
    if form.output == "json":
        yield from _json(form.command, ordered, gone)
    elif form.output == "ndjson":
        yield from (dumps(line) + "\n" for line in _lines(ordered))
    elif form.output == "csv":
        names = dict.fromkeys(("checkpoint", "level", "message"))
        for member in ordered:
            names |= dict.fromkeys(member.names)
        yield csv_line(list(names))
        for line in _lines(ordered):
            yield csv_line([line.get(name) for name in names])
    elif form.output == "junit":
        yield from junit_document(["".join(member.text()) for member in ordered])
    elif form.output == "prometheus":
        yield prometheus_text([m.observed for m in ordered if m.observed is not None])
    else:
        yield from _for_people(form, ordered, gone, left_out)


def _urgency(member: Member) -> tuple[Any, ...]:
    """Return the sort key of a checkpoint: level, failed limits, then row bytes."""
    row = member.row
    failing = (row.get("gates_exceeded") or 0) + (row.get("new_or_worse") or 0)
    return (-member.level.rank, -failing, -(row.get("row_bytes") or 0), row["checkpoint"])


def fleet_table(members: Sequence[Member]) -> Table:
    """Return the table with a row for each checkpoint."""
    columns: dict[str, Column] = {}
    for member in sorted(members, key=lambda kept: -len(kept.columns)):
        for column in member.columns:
            wide, rank = column.name in fleet_rows.WIDE, fleet_rows.RANKS.get(column.name)
            columns.setdefault(column.name, replace(column, wide=wide, rank=rank))
    rows = [member.row for member in members]
    for name in fleet_rows.OPTIONAL:
        if all(row.get(name) is None for row in rows):
            columns.pop(name, None)
    counts = Counter(member.level for member in members)
    parts = [f"{counts[level]} {word}" for level, word in _LEVEL_WORDS.items() if counts[level]]
    failing = sum(bool(member.row.get("gates_exceeded")) for member in members)
    limits_text = f", {failing:,} above a limit" if failing else ""
    title = f"{short_count_text(len(members), 'checkpoint')}{limits_text}: {', '.join(parts)}"
    return Table("fleet", title, [*columns.values()], rows, "no checkpoints found")


def _json(command: str, members: Sequence[Member], gone: Sequence[str]) -> Iterator[str]:
    """Yield the JSON document: the table of the fleet, then the report of each checkpoint."""
    table = fleet_table(members)
    head = {
        "schema_version": SCHEMA_VERSION,
        "command": command,
        "complete": all(member.level is not Level.UNREADABLE for member in members),
        "gone": list(gone),
    }
    yield dumps(head)[:-1] + ', "fleet": ['
    for number, row in enumerate(table.rows):
        yield (", " if number else "") + dumps(plain_row(table, row))
    yield '], "reports": ['
    for number, member in enumerate(members):
        yield ",\n" if number else "\n"
        yield from member.text()
    yield "\n]}\n"


def _lines(members: Sequence[Member]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the own tables of all checkpoints, each with its checkpoint.

    A checkpoint without rows, or that could not be read, has one line.
    """
    for member in members:
        head = {name: member.row.get(name) for name in ("checkpoint", "level", "message")}
        empty, begun = True, ""
        for piece in member.text():
            *lines, begun = (begun + piece).split("\n")
            for line in lines:
                empty = False
                yield head | json.loads(line)
        if empty:
            yield head


def _for_people(
    form: Form, members: Sequence[Member], gone: Sequence[str], left_out: int
) -> Iterator[str]:
    """Yield the document as text or Markdown."""
    causes = [(m.row["checkpoint"], m.level.value, m.cause) for m in members]
    groups = list(fleet_rows.groups_of(causes))
    table = fleet_table([members[index] for group in groups for index in group.members])
    if form.output == "markdown":
        yield f"# {form.command}\n"
        yield from markdown_table(table, wide=form.display.wide)
    elif form.display.wide:
        yield from drawn_table(table, form.display)
    else:
        names, frame = fleet_rows.short_names([str(member.row["checkpoint"]) for member in members])
        common_text = f"Each of them is {frame}." if frame else ""
        if any(member.cause for member in members):
            yield from form.display.text(table.title, "heading")
            yield from form.display.text(common_text) if common_text else ()
            yield from _cause_list(form.display, members, names, groups)
        else:
            rows = [{**m.row, "checkpoint": name} for m, name in zip(members, names, strict=True)]
            title = f"{table.title}. {common_text}".strip()
            yield from drawn_table(replace(table, title=title, rows=rows), form.display)
    if left_out:
        hidden = short_count_text(left_out, "checkpoint")
        yield from form.paragraph(f"{hidden} not shown, by --level and --finding.")
    for path in gone:
        yield from form.paragraph(f"{path} is in the baseline, but was not found.")
    yield from _actions(form, members)
    for member in members if form.details else ():
        yield "\n"
        path = str(member.row["checkpoint"])
        if form.output == "markdown":
            yield f"## {markdown_text(path)}\n\n"
        else:
            yield from form.display.text(escape(path), "heading")
        yield from member.text()
    if not form.details:
        filters = ", --level and --finding for some of them" if form.has_filters else ""
        yield from form.paragraph(
            "Use --details for the whole report of each checkpoint, --wide for a row with all "
            f"numbers{filters}."
        )


def _cause_list(
    display: Display,
    members: Sequence[Member],
    names: Sequence[str],
    groups: Sequence[fleet_rows.CauseGroup],
) -> Iterator[str]:
    """Yield the causes of the checkpoints, those with the same cause together."""
    for group in groups:
        level = f"{group.level:<{_LEVEL_WIDTH}}"
        number = len(group.members)
        subject = short_count_text(number, "checkpoint") if number > 1 else names[group.members[0]]
        yield from display.text(f"{subject}: {group.cause}", group.level, prefix=level)
        if group.level == Level.OK.value and number > 1:
            listed = ", ".join(names[index] for index in group.members)
            yield from display.text(listed, prefix=" " * (_LEVEL_WIDTH + 2))
        if group.level == Level.OK.value or number == 1:
            continue
        widest = max(len(names[index]) for index in group.members)
        room = display.width and max(display.width - _LEVEL_WIDTH - widest - 4, 0)
        for index in group.members:
            numbers = fleet_rows.numbers_text(members[index].row, room)
            line = f"{names[index]:<{widest}}  {numbers}".rstrip()
            yield from display.text(line, prefix=" " * (_LEVEL_WIDTH + 2))


def _actions(form: Form, members: Sequence[Member]) -> Iterator[str]:
    """Yield the recommended action of each finding that is a cause; information only by id."""
    counts = Counter(m.to_do for m in members if m.to_do and m.level is not Level.INFO)
    if counts:
        yield from form.paragraph("Recommended actions, by finding:")
    for (name, advice), number in counts.items():
        count_text = f" ({short_count_text(number, 'checkpoint')})" if number > 1 else ""
        if form.output == "markdown":
            yield f"- {name}{count_text}: {markdown_text(advice)}\n"
        else:
            yield from form.display.text(f"{advice}{count_text}", prefix=f"{name}  ")
    notes = sorted({m.to_do[0] for m in members if m.to_do and m.level is Level.INFO})
    if notes:
        listed = " ".join(notes)
        yield from form.paragraph(f"The findings of level info: inspector explain {listed}")
