"""The page as one HTML file that loads nothing, and a page of a fleet.

Everything that a checkpoint holds is hostile: Jinja2 escapes markup, control and format characters
are shown as escapes, and a Content-Security-Policy lets run no script and no style but the ones
of this package, by their hashes. The file is ASCII: other characters are references or escapes,
so that it means the same whatever encoding a browser takes it for.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from inspector.findings.finding import Finding
from inspector.findings.verdict import Level, Verdict
from inspector.plain_text import escape
from inspector.quantities import bytes_text, sentence
from inspector.render.as_json import LISTED, render_json
from inspector.render.cells import UNKNOWN, summary_name
from inspector.render.first_screen import Line, first_screen
from inspector.render.page.cells import Cell, number_cell, summary_cell
from inspector.render.page.model import FailedCheckpoint, Scale, Section, Text
from inspector.render.page.views import View, views_of
from inspector.render.plain import ProblemRow, problem_row
from inspector.render.report import Report

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

MOST_FLEET_BYTES = 8_000_000
"""Size of a fleet's page from which on checkpoints that need less have no details of their own."""

_SCRIPTS = (
    ("uplot.LICENSE", "uplot.min.js"),
    ("d3-hierarchy.LICENSE", "d3-hierarchy.min.js"),
    ("", "page.js"),
)
_STYLES = (("uplot.LICENSE", "uplot.min.css"), ("", "page.css"))

_NOT_SHOWN = ("checkpoint",)
"""Of a summary: the heading says it."""

_FLEET_NUMBERS = ("rows", "row bytes", "heap", "growth per hour", "leftovers")
"""What the table of a fleet has columns for, besides the counts of findings."""


def render_page(report: Report) -> Iterator[str]:
    """A report as one HTML file, piece by piece.

    Args:
        report: with a page of its own, or without: then its tables are shown.
    """
    view = _view(report, "")
    yield from _written(
        title=f"{report.command} of {view.name}",
        command=report.command,
        heading=view.name,
        path=view.path,
        view=view,
        fleet=None,
    )


def render_fleet_page(
    reports: Sequence[Report], failures: Sequence[FailedCheckpoint] = ()
) -> Iterator[str]:
    """One HTML file for many checkpoints: a table, worst first, whose rows open the checkpoints.

    The first screen of each, and as many of the other sections as :data:`MOST_FLEET_BYTES` leaves
    room for, beginning with the worst.

    Args:
        reports: audits, with or without a page, in any order.
        failures: checkpoints that could not be read at all; they come first.
    """
    ordered = sorted(reports, key=_urgency)
    parts, links, room = [], [], MOST_FLEET_BYTES
    for number, report in enumerate(ordered, start=1):
        part = _fleet_part(report, f"c{number}-")
        if len(part) > room:
            part = _fleet_part(_without_sections(report), f"c{number}-")
        left = len(part) <= room
        parts += [part] if left else []
        room -= len(part) if left else 0
        links.append(f"c{number}-open" if left else "")
    yield from _written(
        title=f"audit of {len(reports) + len(failures)} checkpoints",
        command="audit",
        heading=f"Audit of {len(reports) + len(failures)} checkpoints",
        path="",
        view=None,
        fleet=_fleet(ordered, failures, links, parts),
    )


# --- what the templates fill in --------------------------------------------------------------


@dataclass(frozen=True)
class SectionView:
    """A section of a page."""

    name: str
    title: str
    blocks: Sequence[View]
    findings: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class CheckpointView:
    """A report as the templates need it.

    Attributes:
        prefix: of its ids, where a page has several reports.
        name: the end of its path. path: all of it.
        headline: its first lines.
        json: the report as :func:`inspector.render.as_json.render_json` has it, to be read by
            programs.
    """

    prefix: str
    name: str
    path: str
    level: str
    headline: Sequence[Line]
    summary: Sequence[tuple[str, Cell]]
    sections: Sequence[SectionView]
    json: Markup


def _view(report: Report, prefix: str) -> CheckpointView:
    from markupsafe import Markup  # noqa: PLC0415 - with Jinja2, which only pages need

    # Their rows may be read once, and are shown and embedded.
    report = replace(report, tables=[replace(t, rows=list(t.rows)) for t in report.tables])
    summary = [
        (summary_name(name), summary_cell(name, v))
        for name, v in report.summary.items()
        if name not in _NOT_SHOWN
    ]
    return CheckpointView(
        prefix,
        _name(report.checkpoint),
        report.checkpoint,
        report.level.value,
        _headline(report),
        summary,
        list(_sections(report)),
        Markup(json_for_html("".join(render_json(report)))),
    )


def _sections(report: Report) -> Iterator[SectionView]:
    if report.judged:
        found = [_finding(one) for one in sorted(report.findings, key=_gravity)]
        nothing = [] if found else list(views_of([Text(("There are no findings.",))]))
        yield SectionView("findings", "Findings", nothing, found)
    if report.problems:
        table = ProblemRow.table(
            "Unreadable or inconsistent files", [problem_row(one) for one in report.problems]
        )
        yield SectionView("problems", "Problems", list(views_of([table])))
    if report.page is None:
        shown = [each for each in report.tables if each.shown and each.name not in LISTED]
        sections: Iterable[Section] = (Section("tables", "Tables", shown),)
    else:
        sections = report.page.sections
    for section in sections:
        yield SectionView(section.name, section.title, list(views_of(section.blocks)))
    said = [*report.notes, *(report.footnotes if report.page is None else ())]
    if said:
        yield SectionView("notes", "Notes", list(views_of([Text(said)])))


def _finding(finding: Finding) -> dict[str, Any]:
    kind = finding.kind
    operator = "" if finding.operator_id is None else f"operator {finding.operator_id}"
    store = "" if finding.store_name in (None, "default") else f"store {finding.store_name}"
    means = [kind.means, kind.to_do, f"In Spark: {kind.spark}", kind.source]
    return {
        "id": kind.id,
        "severity": finding.severity.word,
        "title": kind.title[:1].upper() + kind.title[1:],
        "cause": finding.cause,
        "certainty": finding.certainty.value,
        "place": ", ".join(filter(None, (operator, store))),
        "bytes": "" if finding.bytes is None else bytes_text(finding.bytes),
        "evidence": sentence(finding.evidence),
        "next_step": sentence(finding.next_step),
        "means": [sentence(text) for text in means if text],
    }


def _gravity(finding: Finding) -> tuple[int, int]:
    return -finding.severity, -(finding.bytes or 0)


def _headline(report: Report) -> list[Line]:
    return [*first_screen(report), *([] if report.verdict else [Line("verdict", report.command)])]


def _name(path: str) -> str:
    """The last two parts of a path: the last one alone is often ``checkpoint``."""
    return "/".join(path.rstrip("/").split("/")[-2:]) or path


# --- a fleet ---------------------------------------------------------------------------------


def _urgency(report: Report) -> tuple[int, int, str]:
    return -report.level.rank, -(report.summary.get("row_bytes") or 0), report.checkpoint


def _fleet_part(report: Report, prefix: str) -> Markup:
    made: Markup = (
        _environment()
        .get_template("blocks.html.j2")
        .module.fleet_part(  # type: ignore[attr-defined]
            _view(report, prefix)
        )
    )
    return made


def _without_sections(report: Report) -> Report:
    return replace(report, page=None, tables=report.tables[:1], notes=(), footnotes=())


def _fleet(
    ordered: Sequence[Report],
    failures: Sequence[FailedCheckpoint],
    links: Sequence[str],
    parts: Sequence[Markup],
) -> dict[str, Any]:
    failed = Level.UNREADABLE
    rows = [
        {
            "rank": failed.rank,
            "level": failed.value,
            "checkpoint": failure.checkpoint,
            "link": "",
            "cause": sentence(failure.message),
            "cells": [Cell(UNKNOWN)] * (2 + len(_FLEET_NUMBERS)),
        }
        for failure in failures
    ]
    rows += [_fleet_row(one, link) for one, link in zip(ordered, links, strict=True)]
    counts = Counter(row["level"] for row in rows)
    left_out = links.count("")
    return {
        "title": "Checkpoints, worst first",
        "counts": [(level.value, counts[level.value]) for level in reversed(Level)],
        "numbers": _FLEET_NUMBERS,
        "rows": rows,
        "checkpoints": parts,
        "left_out": left_out
        and f"This page is limited to {bytes_text(MOST_FLEET_BYTES)}: the last "
        f"{left_out} checkpoints of the table have no details here. Audit them one by one.",
    }


def _fleet_row(report: Report, link: str) -> dict[str, Any]:
    severities = Counter(finding.severity.word for finding in report.findings)
    counts = [Cell(str(severities[word]), severities[word]) for word in ("error", "warning")]
    level = report.level
    return {
        "rank": level.rank,
        "level": level.value,
        "checkpoint": report.checkpoint,
        "link": link,
        "cause": next(line.text for line in _headline(report) if line.kind == "verdict"),
        "cells": [*counts, *_fleet_numbers(report.verdict)],
    }


def _fleet_numbers(verdict: Verdict | None) -> list[Cell]:
    if verdict is None or verdict.size is None:
        return [Cell(UNKNOWN)] * len(_FLEET_NUMBERS)
    size, growth = verdict.size, verdict.growth
    grows = None if growth is None else growth.held_against(growth.bytes_per_hour)
    return [
        number_cell(Scale.COUNT, size.rows),
        number_cell(Scale.BYTES, size.bytes),
        number_cell(Scale.BYTES, size.heap_bytes, exact=False),
        number_cell(Scale.BYTES, grows, exact=False),
        number_cell(Scale.COUNT, verdict.leftovers),
    ]


# --- the file --------------------------------------------------------------------------------


def _written(**filled: Any) -> Iterator[str]:
    from markupsafe import Markup  # noqa: PLC0415 - as above

    scripts, style = [_asset(*each) for each in _SCRIPTS], "\n".join(map(_joined, _STYLES))
    pieces = (
        _environment()
        .get_template("page.html.j2")
        .generate(
            csp=content_security_policy(scripts, [style]),
            scripts=[Markup(script) for script in scripts],
            style=Markup(style),
            **filled,
        )
    )
    for piece in pieces:
        yield piece.encode("ascii", "xmlcharrefreplace").decode("ascii")
    yield "\n"


def content_security_policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """A policy that allows these inline scripts and styles, and nothing else whatever."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src {' '.join(map(_hash, styles))}",
            *(f"{name} 'none'" for name in _FORBIDDEN),
            "require-trusted-types-for 'script'",
        )
    )


_FORBIDDEN = (
    *("img-src", "connect-src", "font-src", "object-src", "frame-src", "worker-src"),
    *("manifest-src", "media-src", "base-uri", "form-action"),
)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('ascii')).digest()).decode()}'"


def json_for_html(text: str) -> str:
    """JSON that can stand in a script element: nothing in it ends the element, all is ASCII."""
    plain = json.dumps(json.loads(text), separators=(",", ":"), allow_nan=False)
    for char in "<>&":
        plain = plain.replace(char, f"\\u{ord(char):04x}")
    return plain


@cache
def _asset(licence: str, name: str) -> str:
    folder = files(__package__) / "assets"
    text = (folder / name).read_text("ascii").strip() + "\n"
    if licence:
        words = (folder / licence).read_text("ascii").strip()
        text = f"/*!\n{words}\n*/\n{text}"
    return text


def _joined(each: tuple[str, str]) -> str:
    return _asset(*each)


@cache
def _environment() -> Environment:
    # Jinja2 takes a while to import, and only pages need it.
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415

    folder = files(__package__) / "assets"
    return Environment(
        autoescape=True,
        finalize=_shown,
        keep_trailing_newline=False,
        loader=FunctionLoader(lambda name: (folder / name).read_text("utf-8")),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )


def _shown(value: Any) -> Any:
    """Text without control and format characters; markup of this package as it is."""
    return escape(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
