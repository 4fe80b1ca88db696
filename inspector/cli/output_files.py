"""Reports to stdout or to a file: whole or not at all, and never over one that is there."""

from __future__ import annotations

import codecs
import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from inspector.analyses.shared.declare import Analysis
from inspector.checkpoint.urls import lies_in
from inspector.cli.exits import Exit, message_of
from inspector.cli.partial_files import is_written_through, partial_file, real_target
from inspector.cli.terminal import NEVER, display_of
from inspector.credentials import mask_secrets
from inspector.exceptions import OutpacedError
from inspector.findings.finding import Severity
from inspector.light_dataclasses import replace
from inspector.plain_text import escape
from inspector.render.first_screen import part_text
from inspector.render.renderers import render
from inspector.render.report import Report
from inspector.render.text import message_lines

if TYPE_CHECKING:
    from inspector.engines.choose import EngineOptions
    from inspector.render.audit_history import Record


def outside(checkpoint: str, output: str) -> None:
    """Raise click.UsageError if an output, a path or URL, is inside the checkpoint."""
    if lies_in(output, checkpoint):
        raise click.UsageError(f"{output} is inside the checkpoint, which is never written to")


def page_options() -> Iterator[click.Option]:
    """Yield the option of a command that makes a page of its own."""
    page = "Also write an HTML page with charts to this file."
    yield click.Option(["--html"], type=click.Path(), help=page)


def history_options() -> Iterator[click.Option]:
    """Yield the options of a command whose reports can be added to a history."""
    yield click.Option(
        ["--history"],
        metavar="PATH",
        help="Append the results to a table of Parquet files in this folder, on any storage."
        " inspector trend PATH reports on it.",
    )
    yield click.Option(
        ["--history-format"],
        metavar="FORMAT",
        default="parquet",
        show_default=True,
        help="Format of the history: parquet, or one that Spark writes (--engine spark), such"
        " as delta or iceberg; PATH may then be a table of a catalog: audits.ops.state.",
    )


def _record_of(
    analysis: Analysis, parsed: Mapping[str, Any], keywords: dict[str, Any], engine: EngineOptions
) -> Record | None:
    """Return the record that a run adds to a history; None without ``--history``.

    A history on Spark uses the engine's session. Times of earlier verifications are added to
    ``keywords`` if the run verifies a subset.
    """
    if not analysis.remembered:
        return None
    folder, form = parsed["history"], parsed["history_format"]
    if folder is None and form != "parquet":
        raise click.UsageError("--history-format is for --history")
    if folder is None:
        return None
    from inspector.render import audit_history as h  # noqa: PLC0415 - for few

    for path in parsed["paths"]:
        outside(path, folder)
    options = dict(parsed["storage_option"] or {})
    table = h.HistoryTable(folder, options, form, None if form == h.PARQUET else engine)
    if keywords.get("subset") is not None:
        keywords["proofs"] = h.Proofs.in_history(table)
    newest = parsed["batch"] is None and parsed["state_version"] is None
    return h.Record(table, analysis.name, is_newest=newest)


@contextmanager
def destination(path: str | None, *, force: bool) -> Iterator[TextIO]:
    """Open the target: stdout, a device or pipe, or a file that appears if the block succeeds.

    ``path`` None is stdout. click.UsageError: the file is there and ``force`` is not given, or none
    can be made there. BrokenPipeError: the reader of stdout has gone.
    """
    if path is None:
        if sys.stdout is None:
            raise OSError("standard output is closed")
        yield sys.stdout
        sys.stdout.flush()
        return
    target = real_target(path)
    if is_written_through(target):
        with target.open("w", encoding="utf-8") as file:
            yield file
        return
    if target.exists() and not force:
        raise click.UsageError(f"{path} exists; --force overwrites it")
    if not target.parent.is_dir():
        raise click.UsageError(f"{path} cannot be made: {os.strerror(errno.ENOENT)}")
    with partial_file(target) as partial, partial.open("w", encoding="utf-8") as file:
        yield file


def write(pieces: Iterable[str], file: TextIO) -> None:
    """Write text piece by piece, with secrets masked.

    Characters that the encoding lacks are escaped as in JSON.
    """
    encoding = getattr(file, "encoding", None) or "utf-8"
    for piece in map(mask_secrets, pieces):
        file.write(piece.encode(encoding, _JSON_ESCAPES).decode(encoding))


def _json_escapes(error: UnicodeError) -> tuple[str, int]:
    """Return JSON escapes for characters that cannot be encoded, and where to go on.

    A handler of encoding errors for :mod:`codecs`.
    """
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


_JSON_ESCAPES = "inspector.json_escapes"  # name of that handler
codecs.register_error(_JSON_ESCAPES, _json_escapes)


def write_report(report: Report, parsed: dict[str, Any]) -> None:
    """Write a report to the target of the options.

    For ndjson and csv, problems and notes are printed on stderr. Raises OutpacedError if a file
    would lack rows of a version that was removed.
    """
    output = parsed["output"]
    if parsed["output_file"] is not None:
        outside(report.checkpoint, parsed["output_file"])
    with destination(parsed["output_file"], force=parsed["force"]) as file:
        write(render(report, output, display_of(parsed)), file)
        # Rows of a version that went while they were written make no file: it would look whole.
        is_file_only = parsed["output_file"] is not None and not report.judged
        for problem in report.problems if is_file_only else ():
            if problem.slug == OutpacedError.slug:
                raise OutpacedError(problem.message, problem.path)
    if output in ("ndjson", "csv"):
        for line in message_lines(report.problems, quiet=parsed["quiet"]):
            click.echo(line, err=True)
        part = [] if report.part is None else [part_text(report.part)]
        for note in (*part, *report.notes) if not parsed["quiet"] else ():
            click.echo(f"note: {escape(note)}", err=True)


def code_of(report: Report, fail_on: str) -> Exit:
    """Return the exit code of a report.

    4 if something could not be read, else 1 if a finding or limit fails, else 0. ``fail_on`` is the
    value of ``--fail-on``.
    """
    if not report.complete:
        return Exit.INCOMPLETE
    return Exit.FINDINGS if failing_on(report, fail_on).fails else Exit.OK


def failing_on(report: Report, fail_on: str) -> Report:
    """Return the report with the least severity of a finding that is a failure."""
    return replace(report, fail_on=None if fail_on == NEVER else Severity[fail_on.upper()])


class Beside:
    """Further outputs of a run: a page, and rows of a history.

    The page is written in addition (``--html``) or in place of the report (``-o html``). Arguments
    that the analysis needs for them are added to ``keywords``. Raises click.UsageError if a file
    exists or a path is not allowed, EngineError or OSError if the history cannot be used.
    """

    def __init__(
        self,
        analysis: Analysis,
        parsed: Mapping[str, Any],
        keywords: dict[str, Any],
        engine: EngineOptions,
        *,
        many: bool = False,
    ) -> None:
        """Check the targets of page and history before the analysis runs.

        ``many`` is True for a page on several checkpoints.
        """
        self._parsed, self._many = parsed, many
        self._reports: list[Report] = []
        self._failures: list[tuple[str, str]] = []
        target = self._target = parsed["html"] if analysis.page else None
        self.has_page = analysis.page and (parsed["output"] == "html" or target is not None)
        if self.has_page:
            keywords["page"] = True  # what it shows has to be computed
        if target is not None:
            # Said before a long audit, and not at its end.
            for path in parsed["paths"]:
                outside(path, target)
            output = parsed["output_file"]
            if output and Path(output).resolve() == Path(target).resolve():
                raise click.UsageError("--html and --output-file name the same file")
            if Path(target).exists() and not parsed["force"]:
                raise click.UsageError(f"{target} exists; --force overwrites it")
        self._record = _record_of(analysis, parsed, keywords, engine)

    def add(self, report: Report, *, is_shown: bool = True) -> None:
        """Record a report for the history, and for the HTML page if it is shown."""
        if self._record is not None:
            self._record.add(report)
        if self.has_page and is_shown:
            self._reports.append(report)

    def fail(self, path: str, error: Exception) -> None:
        """Record a checkpoint without a report, and its error."""
        if self._record is not None:
            self._record.fail(path, message_of(error))
        if self.has_page:
            self._failures.append((path, str(error)))

    def write(self) -> None:
        """Write the page of ``--html``, if requested, and then append the rows to the history."""
        if self._target is not None:
            with destination(self._target, force=self._parsed["force"]) as file:
                write(self.page(), file)
        if self._record is not None:
            self._record.write()

    def page(self) -> Iterator[str]:
        """Yield the page, as HTML."""
        from inspector.render.page.document import render_fleet_page, render_page  # noqa: PLC0415 - only where there is a page

        if self._many:
            return render_fleet_page(self._reports, self._failures)
        return render_page(self._reports[0])
