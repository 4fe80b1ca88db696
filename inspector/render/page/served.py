"""Pages of ``inspector serve``: a checkpoint's parts, and the fleet, each with its navigation.

They use the templates, the style and the scripts of the page that is one file, but load style and
scripts from the same server. Hostile texts are escaped as there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from inspector.findings.verdict import Level
from inspector.light_dataclasses import dataclass
from inspector.render.cells import UNKNOWN
from inspector.render.fleet_rows import cause_text, groups_of, row_of, short_names
from inspector.render.page import LineChart, Section
from inspector.render.page.document import (
    SCRIPTS,
    STYLES,
    Cell,
    View,
    asset,
    environment,
    growth_of,
    number_cell,
    report_view,
    section_view,
)
from inspector.render.report_data import ReportData
from inspector.render.tabular import Unit

ASSETS = {
    "page.css": ("text/css", (*STYLES, "serve.css")),
    "page.js": ("text/javascript", (*SCRIPTS, "serve.js")),
}
"""Name of a file that pages load -> its media type, and the assets that it consists of."""


@cache
def asset_text(name: str) -> str:
    """Return the content of a file of :data:`ASSETS`. Raises KeyError for any other name."""
    return "\n".join(map(asset, ASSETS[name][1]))


@dataclass(frozen=True)
class Link:
    """A text that leads to another page."""

    text: str  # visible text, not escaped
    url: str = ""  # page of the same server; "" for the page itself


@dataclass(frozen=True)
class Field:
    """A field of a form: a list of choices, or a text that the user types."""

    name: str  # name in the query of the URL
    label: str  # visible name
    value: str = ""  # present value
    # (value, text) of each choice; None for a text
    choices: Sequence[tuple[str, str]] | None = None
    hint: str = ""  # example of a text


@dataclass(frozen=True)
class Form:
    """A form whose fields become the query of a URL."""

    label: str  # name of the form
    url: str  # page that gets the fields
    fields: Sequence[Field]  # fields that the user sees
    button: str  # text of its button
    hidden: Sequence[tuple[str, str]] = ()  # (name, value) pairs that the form passes on


@dataclass(frozen=True)
class Frame:
    """Everything around the content of a page."""

    title: str  # heading
    path: str = ""  # path of the checkpoint; "" for the fleet
    trail: Sequence[Link] = ()  # pages above this one, from the fleet down, and this one
    forms: Sequence[Form] = ()  # batch selector, search, sort
    links: Sequence[Link] = ()  # further pages, such as the same one with values shown
    notes: Sequence[str] = ()  # sentences above the content
    command: str = ""  # command line that shows the same as the page; "" for none
    about: str = ""  # sentence on the server, at the end of the page


@dataclass(frozen=True)
class FleetEntry:
    """A checkpoint on the page of a fleet."""

    path: str  # path as the user spelled it
    url: str  # page of the checkpoint
    level: Level | None  # level of its last audit; None before the first one
    cause: str  # main cause, or the error, as a sentence
    rows: int | None = None  # live rows
    row_bytes: int | None = None  # bytes of these rows
    bytes_per_hour: float | None = None  # growth; None if unknown
    leftovers: int | None = None  # expired rows
    charts: Sequence[LineChart] = ()  # growth of rows and bytes over batches
    commit_time_ms: int | None = None  # when the newest commit was written, epoch ms


_NUMBERS = ("rows", "row_bytes", "bytes_per_hour", "leftovers")  # fields that a row of a fleet has


def fleet_entry(report: ReportData, url: str, commit_time_ms: int | None) -> FleetEntry:
    """Return the entry of an audited checkpoint; its tables are not kept."""
    row, _ = row_of(report)
    numbers = {name: row.get(name) for name in _NUMBERS}
    return FleetEntry(
        path=report.checkpoint,
        url=url,
        level=report.level,
        cause=cause_text(report),
        charts=report.charts,
        commit_time_ms=commit_time_ms,
        **numbers,
    )


def report_html(frame: Frame, report: ReportData, sections: Sequence[Section] = ()) -> str:
    """Return the page of a report as HTML, with ``sections`` before those of the report."""
    view = report_view(report)
    view.sections = [*map(section_view, sections), *view.sections]
    view.is_judged = report.verdict is not None
    return _render(frame, view=view)


def fleet_html(frame: Frame, entries: Sequence[FleetEntry], now_ms: int, command: str) -> str:
    """Return the page of a fleet as HTML, the most urgent checkpoint first.

    ``now_ms`` is the time from which ages are counted. Entries without a level come last, and the
    page then loads itself again.
    """
    ordered = sorted(entries, key=_urgency)
    names, frame_text = short_names([entry.path for entry in ordered])
    levels = [entry.level.value if entry.level else _PENDING for entry in ordered]
    causes = [(e.path, level, e.cause) for e, level in zip(ordered, levels, strict=True)]
    groups = list(groups_of(causes))
    group_of = {index: number for number, group in enumerate(groups) for index in group.members}
    rows = [
        View(
            entry=entry,
            level=level,
            rank=entry.level.rank if entry.level else -1,
            name=name,
            group=group_of[index],
            cells=_cells(entry, now_ms),
            growth=[chart.svg for chart in growth_of(entry.charts[-1:])],
        )
        for index, (entry, level, name) in enumerate(zip(ordered, levels, names, strict=True))
    ]
    counts = Counter(levels)
    fleet = View(
        rows=rows,
        groups=groups,
        counts=[(level.value, counts[level.value]) for level in reversed(Level)],
        pending=counts[_PENDING],
        frame=frame_text,
        command=command,
    )
    return _render(frame, fleet=fleet)


def message_html(frame: Frame, message: str) -> str:
    """Return a page with one message, such as an error, as HTML."""
    return _render(frame, message=message)


_PENDING = "pending"  # word for the level of a checkpoint that is not audited yet


def _urgency(entry: FleetEntry) -> tuple[int, int, str]:
    """Return the sort key of an entry: level, then bytes, then path."""
    rank = entry.level.rank if entry.level else -1
    return -rank, -(entry.row_bytes or 0), entry.path


def _cells(entry: FleetEntry, now_ms: int) -> list[Cell]:
    """Return the cells with numbers of a checkpoint's row."""
    age = None if entry.commit_time_ms is None else max(0, now_ms - entry.commit_time_ms)
    return [
        number_cell(Unit.COUNT, entry.rows),
        number_cell(Unit.BYTES, entry.row_bytes),
        number_cell(Unit.BYTES, entry.bytes_per_hour, exact=False),
        number_cell(Unit.COUNT, entry.leftovers),
        Cell(UNKNOWN) if age is None else number_cell(Unit.DURATION_MS, age // 1000 * 1000),
    ]


def _render(frame: Frame, **content: object) -> str:
    """Return a page with one kind of content: ``view``, ``fleet`` or ``message``."""
    values = dict.fromkeys(("view", "fleet", "message")) | content
    return environment().get_template("serve.html.j2").render(frame=frame, **values)
