"""Which renderer a format's name means."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from inspector.render.as_csv import render_csv
from inspector.render.as_json import render_json, render_ndjson
from inspector.render.report import Report
from inspector.render.text import render_markdown, render_text

FORMATS: dict[str, Callable[[Report], Iterator[str]]] = {
    "table": render_text,
    "json": render_json,
    "ndjson": render_ndjson,
    "csv": render_csv,
    "markdown": render_markdown,
}


def render(report: Report, output: str = "table") -> Iterator[str]:
    """The report as text, piece by piece, in one of :data:`FORMATS`."""
    return FORMATS[output](report)
