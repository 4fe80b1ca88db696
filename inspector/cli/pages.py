"""``--html FILE``: the page of what was audited, beside the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from inspector.analyses.shared.declare import Analysis
from inspector.cli.output_files import destination, outside, write
from inspector.render.report import Report

HTML = "html"


def page_options(analysis: Analysis) -> Iterator[click.Option]:
    """The option of a command that makes a page of its own."""
    if analysis.page:
        yield click.Option(
            ["--html"],
            type=click.Path(),
            help="Also write an HTML page with charts to this file. It needs no network.",
        )


class Pages:
    """The page of a run: beside its reports by ``--html``, or instead of them by ``-o html``.

    Attributes:
        wanted: what a page shows has to be computed.

    Raises:
        click.UsageError: the file is there and is not to be overwritten, or it is the report's own
            file, or it would lie in a checkpoint.
    """

    def __init__(
        self, analysis: Analysis, parsed: Mapping[str, Any], *, many: bool = False
    ) -> None:
        self._parsed = parsed
        self._many = many
        self._reports: list[Report] = []
        self._failures: list[tuple[str, str]] = []
        self._place = parsed["html"] if analysis.page else None
        self.wanted = analysis.page and (parsed["output"] == HTML or self._place is not None)
        if self._place is not None:
            self._check(self._place)

    def _check(self, target: str) -> None:
        """Say before a long audit what its end would say."""
        for path in self._parsed["paths"]:
            outside(path, target)
        output = self._parsed["output_file"]
        if output and Path(output).resolve() == Path(target).resolve():
            raise click.UsageError("--html and --output-file name the same file")
        if Path(target).exists() and not self._parsed["force"]:
            raise click.UsageError(f"{target} exists; --force overwrites it")

    def add(self, report: Report) -> None:
        """Take a report."""
        if self.wanted:
            self._reports.append(report)

    def fail(self, path: str, error: Exception) -> None:
        """Take a checkpoint of which there is no report."""
        if self.wanted:
            self._failures.append((path, str(error)))

    def write(self) -> None:
        """Write the page that stands beside the reports, if there is to be one."""
        if self._place is not None:
            with destination(self._place, force=self._parsed["force"]) as file:
                write(self.page(), file)

    def page(self) -> Iterator[str]:
        """The page."""
        from inspector.render.page.document import (  # noqa: PLC0415 - only where there is a page
            render_fleet_page,
            render_page,
        )

        if self._many:
            return render_fleet_page(self._reports, self._failures)
        return render_page(self._reports[0])
