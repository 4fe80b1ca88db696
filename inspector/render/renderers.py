"""Renderers by the name of their format."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from inspector.render.as_json import render_json
from inspector.render.as_prometheus import render_prometheus
from inspector.render.display import Display
from inspector.render.plain import render_csv, render_ndjson
from inspector.render.report_data import ReportData
from inspector.render.text import render_markdown, render_text

# renderers of machine formats that are loaded at once
_MACHINE: dict[str, Callable[[ReportData], Iterator[str]]] = {
    "json": render_json,
    "ndjson": render_ndjson,
    "csv": render_csv,
    "prometheus": render_prometheus,
}
FORMATS = ("table", "json", "ndjson", "csv", "markdown", "html")  # the formats of every report
OF_VERDICTS = ("junit", "prometheus")  # formats of reports with a verdict

# suffix of a file -> format that it asks for
SUFFIXES = {
    "json": "json",
    "ndjson": "ndjson",
    "csv": "csv",
    "md": "markdown",
    "txt": "table",
    "xml": "junit",
    "prom": "prometheus",
    "html": "html",
}


def render(
    report: ReportData, output: str = "table", display: Display | None = None
) -> Iterator[str]:
    """Yield a report as text, piece by piece.

    ``output`` is a name of :data:`FORMATS` or :data:`OF_VERDICTS`. Without a ``display`` no line is
    wrapped and every column is shown.
    """
    if output == "html":
        from inspector.render.page.document import render_page  # noqa: PLC0415 - few are pages

        return render_page(report)
    if output == "junit":
        from inspector.render.as_junit import render_junit  # noqa: PLC0415 - loads an XML library

        return render_junit(report)
    if output in _MACHINE:
        return _MACHINE[output](report)
    text_renderer = {"table": render_text, "markdown": render_markdown}[output]
    return text_renderer(report, display or Display())
