"""The page as one HTML file that loads nothing, and a page of a fleet.

Everything that a checkpoint holds is hostile: Jinja2 escapes markup, control characters are shown
as escapes, and a Content-Security-Policy lets run no script and style but this package's, by their
hashes. The file is ASCII, so that it means the same whatever encoding a browser takes it for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby, islice
from types import SimpleNamespace
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from markupsafe import escape as markup_escape

from inspector import docs
from inspector.findings.finding import Finding, Kind, Severity
from inspector.findings.verdict import Level
from inspector.light_dataclasses import dataclass, replace
from inspector.plain_text import escape
from inspector.quantities import bytes_text, capitalise, sentence
from inspector.render.as_json import render_json
from inspector.render.cells import (
    NUMBERS,
    UNKNOWN,
    about,
    about_time,
    cell_text,
    summary_name,
    summary_text,
)
from inspector.render.first_screen import Line, command_line, copy_command, first_screen
from inspector.render.fleet_rows import cause_text, groups_of, short_history, short_names
from inspector.render.page import (
    MOST_ROWS,
    BarChart,
    Block,
    LineChart,
    LinkedTable,
    Picture,
    Section,
    Text,
)
from inspector.render.page.pictures import picture_view
from inspector.render.plain import ProblemRow, problem_row
from inspector.render.report_data import ReportData
from inspector.render.tabular import Column, Table, Unit
from inspector.time_text import time_ms_text

_ASSETS = files(__package__) / "assets"  # folder of scripts, styles and templates
# size of a fleet's page; checkpoints beyond it have only a row of the table
MOST_FLEET_BYTES = 8_000_000

_FLEET_NUMBERS = 5  # columns of numbers that a report without a state lacks


def render_page(report: ReportData) -> Iterator[str]:
    """Yield a report as one HTML file, piece by piece.

    It shows the sections of the report's page, or else its tables.
    """
    view = report_view(report)
    title = f"{report.command} of {view.name}"
    names = {"command": report.command, "heading": view.name, "path": view.path}
    yield from _write(title=title, **names, view=view, fleet=None)


def render_fleet_page(
    reports: Sequence[ReportData], failures: Sequence[tuple[str, str]] = ()
) -> Iterator[str]:
    """Yield one HTML file for many checkpoints: their causes, and a table whose rows open them.

    Each checkpoint has its first screen, growth and findings while :data:`MOST_FLEET_BYTES` leaves
    room, the worst first. ``failures`` are path and message of checkpoints that could not be read.
    """
    ordered = sorted(
        reports, key=lambda r: (-r.level.rank, -(r.summary.get("row_bytes") or 0), r.checkpoint)
    )
    parts, links, room = [], [], MOST_FLEET_BYTES
    blocks: Any = environment().get_template("blocks.html.j2").module
    for number, report in enumerate(ordered, start=1):
        part = Markup(blocks.fleet_part(_view(report, f"c{number}-")))
        left = len(part) <= room
        parts += [part] if left else []
        room -= len(part) if left else 0
        links.append(f"c{number}-open" if left else "")
    count = f"of {len(reports) + len(failures)} checkpoints"
    names = {"command": "audit", "heading": f"Audit {count}", "path": ""}
    fleet = _fleet(ordered, failures, links, parts)
    yield from _write(title=f"audit {count}", **names, view=None, fleet=fleet)


def report_view(report: ReportData) -> View:
    """Return a report for the templates, with all sections of its page."""
    return _view(report, "")


def _view(report: ReportData, prefix: str) -> View:
    """Return a report for the templates.

    With a ``prefix`` for its ids it is part of a fleet's page, and is shorter.
    """
    # Their rows may be read once, and are shown and embedded.
    report = replace(report, tables=[replace(t, rows=list(t.rows)) for t in report.tables])
    summary = [
        (summary_name(name, v), summary_cell(name, v, report.summary))
        for name, v in report.summary.items()
        if name != "checkpoint"  # the heading says it
    ]
    lines = [] if report.verdict else [Line("verdict", report.command)]
    return View(
        prefix=prefix,
        # The last part of a path alone is often ``checkpoint``.
        name="/".join(report.checkpoint.rstrip("/").split("/")[-2:]) or report.checkpoint,
        path=report.checkpoint,
        level=report.level.value,
        headline=[*first_screen(report), *lines],
        growth=list(growth_of(report.charts)),
        summary=summary,
        sections=list(_own_sections(report) if prefix else _sections(report)),
        command=f"{command_line(report.command, report)} -O page.html" if prefix else "",
        json="" if prefix else Markup(json_for_html("".join(render_json(report)))),
    )


def _section(
    name: str, title: str, blocks: Iterable[Block], findings: Sequence[dict[str, Any]] = ()
) -> View:
    """Return a section of a page for the templates."""
    views = list(views_of(blocks))
    return View(name=name, title=title, blocks=views, findings=findings, command="")


def section_view(section: Section) -> View:
    """Return a section of a page for the templates, with its command line."""
    view = _section(section.name, section.title, section.blocks)
    view.command = section.command
    return view


def _sections(report: ReportData) -> Iterator[View]:
    """Yield the sections of a report's own page."""
    yield from _own_sections(report)
    sections, notes = report.page, report.notes
    if sections is None:
        sections = (Section("tables", "Tables", report.visible_tables),)
        notes = (*notes, *report.footnotes)
    yield from map(section_view, sections)
    if notes:
        yield _section("notes", "Notes", [Text(notes)])
    if report.steps:
        steps = [f"{number}. {s.text} {s.command}" for number, s in enumerate(report.steps, 1)]
        yield _section("steps", "Next steps", [Text(steps)])


def _own_sections(report: ReportData) -> Iterator[View]:
    """Yield the sections on findings and problems, which a fleet's page has, too."""
    if report.judged:
        gravest = sorted(report.findings, key=lambda f: (-f.severity, -(f.bytes or 0)))
        blocks = [] if gravest else [Text(("There are no findings.",))]
        yield _section(
            "findings",
            "Findings",
            blocks,
            [_finding(finding, report.checkpoint) for finding in gravest],
        )
    if report.problems:
        rows = [problem_row(problem) for problem in report.problems]
        table = ProblemRow.table("Unreadable or inconsistent files", rows)
        yield _section("problems", "Problems", [table])


def _finding(finding: Finding, checkpoint: str) -> dict[str, Any]:
    """Return the texts of a finding for the templates."""
    kind = finding.kind
    operator = "" if finding.operator_id is None else f"operator {finding.operator_id}"
    store = "" if finding.store_name in (None, "default") else f"store {finding.store_name}"
    evidence = sentence(finding.evidence)
    next_step, command = copy_command(finding.next_step, checkpoint)
    return {
        "id": kind.id,
        "severity": finding.severity.word,
        "title": capitalise(kind.title),
        "cause": "" if evidence.startswith(finding.cause.rstrip(".")) else finding.cause,
        "certainty": finding.certainty.value,
        "place": ", ".join(filter(None, (operator, store))),
        "bytes": "" if finding.bytes is None else bytes_text(finding.bytes),
        "evidence": evidence,
        "next_step": f"{next_step} {command}" if command else sentence(next_step),
        "explanation": _explanation(kind),
    }


_MEANING, _EVIDENCE = "", "Evidence"  # paragraphs of a finding's entry in the documentation


def _explanation(kind: Kind) -> list[tuple[str, str]]:
    """Return (heading, paragraph) pairs that explain a kind of finding."""
    paragraphs = docs.entry(kind.id).paragraphs
    is_finding = (
        _EVIDENCE in paragraphs
    )  # the entry of a restart rule explains itself in the report
    labels = {_MEANING: "What it means", _EVIDENCE: _EVIDENCE} if is_finding else {}
    return [(label, paragraphs[name]) for name, label in (labels | {"Source": "Source"}).items()]


def _fleet(
    ordered: Sequence[ReportData],
    failures: Sequence[tuple[str, str]],
    links: Sequence[str],
    parts: Sequence[Markup],
) -> dict[str, Any]:
    """Return the content of a fleet's page for the templates.

    ``links`` are the ids that rows open, ``parts`` the markup of the checkpoints.
    """
    failed = [(path, Level.UNREADABLE, sentence(message)) for path, message in failures]
    entries = failed + [(r.checkpoint, r.level, cause_text(r)) for r in ordered]
    names, frame = short_names([path for path, _, _ in entries])
    groups = list(groups_of([(path, level.value, cause) for path, level, cause in entries]))
    group_of = {index: number for number, g in enumerate(groups) for index in g.members}
    cells = [[Cell(UNKNOWN)] * (2 + _FLEET_NUMBERS)] * len(failures)
    cells += map(_fleet_numbers, ordered)
    links = [""] * len(failures) + [*links]
    rows = [
        {"rank": level.rank, "level": level.value, "name": names[index], "cause": cause}
        | {"link": links[index], "cells": cells[index], "group": group_of[index]}
        for index, (_, level, cause) in enumerate(entries)
    ]
    counts = Counter(level for _, level, _ in entries)
    kinds = {finding.kind for report in ordered for finding in report.findings}
    return {
        "frame": frame,
        "groups": groups,
        "meanings": sorted((kind.id, kind.title, _explanation(kind)) for kind in kinds),
        "counts": [(level.value, counts[level]) for level in reversed(Level)],
        "rows": rows,
        "checkpoints": parts,
        "left_out": links.count(""),
        "most": bytes_text(MOST_FLEET_BYTES),
    }


def _fleet_numbers(report: ReportData) -> list[Cell]:
    """Return the cells with numbers of a checkpoint's row."""
    severities = Counter(finding.severity for finding in report.findings)
    numbers = [severities[severity] for severity in (Severity.ERROR, Severity.WARNING)]
    counts = [Cell(str(number), number) for number in numbers]
    verdict = report.verdict
    if verdict is None or verdict.size is None:
        return [*counts, *[Cell(UNKNOWN)] * _FLEET_NUMBERS]
    size, growth = verdict.size, verdict.growth
    is_known = growth is not None and not short_history(report)
    grows = growth.rate_for_limits(growth.bytes_per_hour) if growth and is_known else None
    return [
        *counts,
        number_cell(Unit.COUNT, size.rows),
        number_cell(Unit.BYTES, size.bytes),
        number_cell(Unit.BYTES, size.heap_bytes, exact=False),
        number_cell(Unit.BYTES, grows, exact=False),
        number_cell(Unit.COUNT, verdict.leftovers),
    ]


def _write(**filled: Any) -> Iterator[str]:
    """Yield the page that the template makes of these values, as ASCII."""
    scripts = list(map(asset, SCRIPTS))
    style = "\n".join(map(asset, STYLES))
    filled |= {"scripts": list(map(Markup, scripts)), "style": Markup(style)}
    csp = _security_policy(scripts, style)
    for piece in environment().get_template("page.html.j2").generate(csp=csp, **filled):
        yield piece.encode("ascii", "xmlcharrefreplace").decode("ascii")
    yield "\n"


# kinds of content that the page never loads
_FORBIDDEN = (
    *("img-src", "connect-src", "font-src", "object-src", "frame-src", "worker-src"),
    *("manifest-src", "media-src", "base-uri", "form-action"),
)


def _security_policy(scripts: Sequence[str], style: str) -> str:
    """Return a Content-Security-Policy that allows only these scripts and this style, inline."""
    allowed = f"script-src {' '.join(map(_hash, scripts))}; style-src {_hash(style)}"
    forbidden = "; ".join(f"{name} 'none'" for name in _FORBIDDEN)
    return f"default-src 'none'; {allowed}; {forbidden}; require-trusted-types-for 'script'"


def _hash(text: str) -> str:
    """Return the hash of a script or style as a Content-Security-Policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('ascii')).digest()).decode()}'"


def json_for_html(text: str) -> str:
    """Return JSON for a script element, as ASCII and without characters that could end it."""
    plain = json.dumps(json.loads(text), separators=(",", ":"), allow_nan=False)
    for char in "<>&":
        plain = plain.replace(char, f"\\u{ord(char):04x}")
    return plain


SCRIPTS = ("uplot.min.js", "page.js")  # scripts of every page, in order
STYLES = ("uplot.min.css", "page.css")  # styles of every page, in order


@cache
def asset(name: str) -> str:
    """Return the text of a script or style; that of uPlot with its licence."""
    text = _ASSETS.joinpath(name).read_text("ascii").strip() + "\n"
    if name.startswith("uplot"):
        licence = _ASSETS.joinpath("uplot.LICENSE").read_text("ascii").strip()
        text = f"/*!\n{licence}\n*/\n{text}"
    return text


@cache
def environment() -> Environment:
    """Return the templates of pages; they escape markup and control characters."""
    jinja = Environment(
        autoescape=True,
        finalize=_plain,
        loader=FunctionLoader(lambda name: _ASSETS.joinpath(name).read_text("utf-8")),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    jinja.filters |= {"path": _path_markup, "prose": _prose_markup, "documentation": _entry_markup}
    return jinja


def _path_markup(path: str) -> Markup:
    """Return markup of a path, conf or key that may break after separators, but not in words."""
    text = str(markup_escape(escape(path)))
    return Markup(re.sub(r"(?<=[/_.])(?=\w)", "<wbr>", text))


def _prose_markup(text: str) -> Markup:
    """Return markup of a text; times stay on one line, and confs may break after dots."""
    markup = str(markup_escape(escape(text)))
    markup = re.sub(r"(?<=[a-zA-Z]\.)(?=[a-zA-Z])", "<wbr>", markup)
    time = r"\d{4}-\d\d-\d\dT[\d:.]+Z"
    return Markup(re.sub(time, r'<span class="moment">\g<0></span>', markup))


def _entry_markup(text: str) -> Markup:
    """Return markup of a text of the documentation, in which backquotes mark code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(_prose_markup(text))))


def _plain(value: Any) -> Any:
    """Return a text with control and format characters shown as escapes.

    Markup, and values that are not texts, are returned unchanged.
    """
    return escape(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


_LEAST_BAR = 0.4  # least width of a bar that is not 0, in percent, so that it is visible


View = SimpleNamespace  # values for a template, by name; ``kind`` names the template's part


def views_of(blocks: Iterable[Block]) -> Iterator[View]:
    """Yield the views of a section's blocks for a template; adjacent line charts are one view."""
    for are_lines, group in groupby(blocks, lambda block: isinstance(block, LineChart)):
        if are_lines:
            # Side by side, where there is room.
            yield View(kind="lines", charts=list(map(_VIEWS[LineChart], group)))
        else:
            for block in group:
                if isinstance(block, Picture):
                    yield _drawn_view(block)
                else:
                    yield _VIEWS[type(block)](block)


def _drawn_view(picture: Picture) -> View:
    """Return a picture for the templates, with a table of its numbers."""
    view = picture_view(picture)
    return View(picture=True, table=table_view(view.numbers), **vars(view))


def table_view(table: Table) -> View:
    """Return a table for the templates: its columns for people, and up to MOST_ROWS rows."""
    columns = [column for column in table.columns if not column.wide]
    rows = list(islice(iter(table.rows), MOST_ROWS + 1))
    cut_text = (
        f"This page shows only the first {MOST_ROWS:,} rows." if len(rows) > MOST_ROWS else ""
    )
    return View(
        kind="table",
        title=capitalise(table.title),
        heads=[View(text=column.head, number=column.unit in NUMBERS) for column in columns],
        rows=[[cell(c, row.get(c.name)) for c in columns] for row in rows[:MOST_ROWS]],
        more=cut_text,
        empty=capitalise(table.empty) + ".",
        docs=[(column.head, column.doc.replace("`", "")) for column in columns if column.doc],
    )


def link_table_view(block: LinkedTable) -> View:
    """Return a table with links for the templates, as :func:`table_view` does."""
    view = table_view(block.table)
    names = [column.name for column in block.table.columns if not column.wide]
    for name, urls in block.links.items():
        position = names.index(name)
        for row, url in zip(view.rows, urls, strict=False):
            row[position] = replace(row[position], url=url)
    return view


def chart_view(chart: LineChart) -> View:
    """Return a line chart for the templates, with a table of its newest values."""
    newest = slice(-MOST_ROWS, None)
    clock = Column("time_ms", Unit.TIME_MS)
    lines = zip(*(series.values[newest] for series in chart.series), strict=True)
    batches = zip(chart.batches[newest], chart.times_ms[newest], lines, strict=True)
    rows = []
    for batch, time, line in batches:
        pairs = zip(chart.series, line, strict=True)
        numbers = [number_cell(chart.scale, value, exact=of.exact) for of, value in pairs]
        rows.append([Cell(str(batch), batch), cell(clock, time), *numbers])
    singular, plural = chart.over
    heads = [View(text=singular, number=True), View(text="time", number=False)]
    heads += [View(text=series.name, number=True) for series in chart.series]
    left_out = len(chart.batches) > MOST_ROWS
    cut_text = f"This page shows only the newest {MOST_ROWS:,} {plural}." if left_out else ""
    words = {"title": chart.title, "more": cut_text, "empty": "No version can be restored."}
    table = View(kind="table", heads=heads, rows=rows, docs=(), **words)
    description, scale = _description(chart), chart.scale.value
    return View(title=chart.title, about=chart.about, said=description, scale=scale, table=table)


def _description(chart: LineChart) -> str:
    """Return sentences on the begin, end, least and greatest value of each line."""
    sentences = []
    for series in chart.series:
        pairs = zip(chart.batches, series.values, strict=True)
        points = [(batch, value) for batch, value in pairs if value is not None]
        if not points:
            sentences.append(f"{capitalise(series.name)}: not known.")
            continue
        numbers = [value for _, value in points]
        begin, end, minimum, maximum = (
            number_text(chart.scale, number)
            for number in (numbers[0], numbers[-1], min(numbers), max(numbers))
        )
        about = "" if series.exact else "about "
        text = f"{capitalise(series.name)}: {about}{end} after {chart.over[0]} {points[-1][0]}"
        if len(points) > 1:
            text += (
                f", {begin} after {chart.over[0]} {points[0][0]}; least {minimum}, most {maximum}"
            )
        sentences.append(f"{text}.")
    return " ".join(sentences)


def bars_view(chart: BarChart) -> View:
    """Return a bar chart for the templates; widths are percentages of the longest bar."""
    longest = max((sum(bar.parts) for bar in chart.bars), default=0)
    bars = [
        View(
            label=bar.label,
            rects=list(_rects(bar.parts, longest)),
            cells=[number_cell(chart.scale, part, exact=bar.exact) for part in bar.parts],
            note=capitalise(bar.note),
            exact=bar.exact,
        )
        for bar in chart.bars
    ]
    return View(kind="bars", **vars(chart) | {"bars": bars})


def _rects(parts: Sequence[int], longest: int) -> Iterator[View]:
    """Yield position and width, in percent, of each part of a bar; parts of 0 are left out."""
    x = 0.0
    for part, amount in enumerate(parts):
        width = max(100 * amount / longest, _LEAST_BAR) if amount > 0 else 0.0
        width = min(width, 100 - x)
        if width > 0:
            yield View(part=part, x=round(x, 2), width=round(width, 2))
        x += width


# makes the view of a block, by its type
_VIEWS: Mapping[type, Callable[[Any], View]] = {
    Table: table_view,
    LinkedTable: link_table_view,
    LineChart: chart_view,
    BarChart: bars_view,
    Text: lambda text: View(kind="text", **vars(text)),
}

WIDTH, HEIGHT = 300, 60  # size of the small charts, in pixels
MOST_POINTS = 120  # points of a line; of more batches only some are drawn


def growth_of(charts: Sequence[LineChart]) -> Iterator[View]:
    """Yield a small chart of the first line of each chart that has two values at least.

    It has a title, a text with the first and the last value, and the SVG.
    """
    for chart in charts:
        values = chart.series[0].values
        points = [(b, v) for b, v in zip(chart.batches, values, strict=True) if v is not None]
        if len(points) > 1:
            (first, begin), (last, end) = points[0], points[-1]
            start, now = (number_text(chart.scale, value) for value in (begin, end))
            text = f"{start} after {chart.over[0]} {first}, {now} after {chart.over[0]} {last}"
            drawing = (
                environment()
                .get_template("growth.svg.j2")
                .render(width=WIDTH, height=HEIGHT, lines=list(_polylines(chart.batches, values)))
            )
            yield View(title=chart.title, text=text, svg=Markup(drawing))


def _polylines(batches: Sequence[int], values: Sequence[int | None]) -> Iterator[str]:
    """Yield the points of the line as SVG has them, one text for each run of known values."""
    step = -(-len(values) // MOST_POINTS)
    sampled = list(zip(batches, values, strict=True))[::-step][::-1]
    first, last = sampled[0][0], sampled[-1][0]
    across = WIDTH / max(last - first, 1)
    pixels_per_unit = (HEIGHT - 4) / (max(value for _, value in sampled if value is not None) or 1)
    for is_known, points in groupby(sampled, lambda point: point[1] is not None):
        if is_known:
            yield " ".join(
                f"{(batch - first) * across:.0f},{HEIGHT - 2 - (value or 0) * pixels_per_unit:.1f}"
                for batch, value in points
            )


@dataclass(frozen=True)
class Cell:
    """Content of one cell of a page."""

    text: str  # text for people, not escaped: it may come from a key or path
    number: int | float | None = None  # value in machine formats; None if it is no number
    code: bool = False  # it is a key, a value or a schema
    url: str = ""  # page to which the cell leads; "" for none


def cell(column: Column, value: Any) -> Cell:
    """Return the cell for a value of a column."""
    is_time = column.unit is Unit.TIME_MS and value is not None
    text = about(column, value) + time_text(value) if is_time else cell_text(column, value)
    if _is_number(value):
        return Cell(text, value)
    code = isinstance(value, (dict, list)) or column.unit is Unit.VALUE
    return Cell(text, code=value is not None and (code or column.name.endswith("_schema")))


def number_cell(unit: Unit, value: float | None, *, exact: bool = True) -> Cell:
    """Return the cell for a number with this unit; ``-`` for None, and ``~`` if not exact."""
    if value is None:
        return Cell(UNKNOWN)
    return Cell(("" if exact else "~") + number_text(unit, value), value)


def number_text(unit: Unit, value: float) -> str:
    """Return a number, rounded to a whole one, with its unit."""
    return cell_text(Column("", unit), round(value))


def time_text(millis: int) -> str:
    """Return a time (epoch ms) in UTC, such as ``2024-01-01 00:00:10``, with ms if it has some."""
    return time_ms_text(millis).replace("T", " ").removesuffix("Z").removesuffix(".000")


def summary_cell(name: str, value: Any, summary: Mapping[str, Any]) -> Cell:
    """Return the cell for a value of a report's summary."""
    text = summary_text(name, value, summary)
    if name.endswith("_ms") and value is not None:
        text = about_time(name) + time_text(value)
    elif name.endswith("_bytes") and value is not None:
        text = ("~" if "estimate" in name else "") + bytes_text(value)
    return Cell(text, value if _is_number(value) else None)


def _is_number(value: object) -> bool:
    """True for a number that is no boolean."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
