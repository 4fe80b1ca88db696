"""Commands on many checkpoints: one document about all of them, and the gravest exit code."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from threading import Lock
from typing import Any, NoReturn

import click

from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.fleet_run import Ahead, Outcome, Shown, find_all, run_all
from inspector.analyses.shared.opening import Opened, Recalled
from inspector.analyses.shared.options import CACHE, Options
from inspector.checkpoint.search import Found, is_pattern
from inspector.checkpoint.urls import spell_root as shown_url
from inspector.cli.click_options import api_options, own_options
from inspector.cli.exits import Exit, exit_of, message_of
from inspector.cli.output_files import (
    HTML,
    Pages,
    code_of,
    destination,
    failing_on,
    outside,
    record_of,
    write,
)
from inspector.cli.terminal import NEVER, display_of
from inspector.credentials import redact
from inspector.exceptions import InspectorError
from inspector.plain_text import escape
from inspector.render.fleet import Form, Member, document
from inspector.render.gating import read_baseline

_IN_MEMORY = 1 << 20
_PIECE = 1 << 16
_ENCODING = ("utf-8", "surrogatepass")  # names of files may hold bytes that are no UTF-8


def write_fleet(analysis: Analysis, parsed: dict[str, Any]) -> NoReturn:
    """Run an analysis on all checkpoints that the paths mean, write one document, and exit."""
    if parsed["output"] in analysis.formats:
        raise click.UsageError(f"-o {parsed['output']} is for one checkpoint, got several")
    try:
        shown = Shown.of(parsed.get("level"), parsed.get("finding"))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    pages = Pages(analysis, parsed, many=True)
    options = api_options(parsed, analysis.shared)
    candidates = find_all(parsed["paths"], options, recursive=parsed["recursive"])
    names = ("output_file", "html", "history", "cache")
    checked: Iterable[Found] = _check(candidates, [parsed.get(name) for name in names])
    if not parsed["recursive"] and not any(map(is_pattern, parsed["paths"])):
        checked = list(checked)
    with Spool() as spool:
        form = Form(
            analysis.name, parsed["output"], display_of(parsed), parsed["details"], spool.keep
        )
        fleet = _Fleet(analysis, parsed, options, form, pages, shown)
        members = list(fleet.members(checked, options))
        if options.cache is not None:
            counts = f"{len(fleet.recalled):,} of {len(members) + fleet.left_out:,}"
            options.engine.notify(f"cache: {counts} reports are from {shown_url(options.cache)}")
        gone = fleet.gone()
        pages.write()
        if fleet.record is not None:
            fleet.record.write()
        with destination(parsed["output_file"], force=parsed["force"]) as file:
            is_page = parsed["output"] == HTML and pages.wanted
            write(pages.page() if is_page else document(form, members, gone, fleet.left_out), file)
    sys.exit(fleet.exit_code)


def _check(candidates: Iterable[Found], outputs: Iterable[str | None]) -> Iterator[Found]:
    files = [output for output in outputs if output is not None]
    for candidate in candidates:
        for file in files:
            outside(candidate.path, file)
        yield candidate


class _Fleet:
    def __init__(
        self,
        analysis: Analysis,
        parsed: dict[str, Any],
        options: Options,
        form: Form,
        pages: Pages,
        shown: Shown,
    ) -> None:
        self._analysis, self._form = analysis, form
        self._pages, self._shown = pages, shown
        self._own = own_options(analysis, parsed) | ({"page": True} if pages.wanted else {})
        self.record = record_of(analysis, parsed, self._own, options.engine)
        self._fail_on: str = parsed.get("fail_on", NEVER)
        self._at_once: int | None = parsed["at_once"]
        self._baseline: str | None = parsed.get("baseline")
        self._found: list[tuple[str, str | None]] = []
        self.recalled: list[str] = []
        self.exit_code, self.left_out = int(Exit.OK), 0

    def members(self, candidates: Iterable[Found], options: Options) -> Iterator[Member]:
        """What is kept of each checkpoint that is shown, as they are ready."""

        def make(run: Opened | Recalled) -> tuple[Member, bool]:
            report = self._analysis.function(run, **self._own)
            if isinstance(run, Recalled) and run.is_kept:
                self.recalled.append(report.checkpoint)
            self._note(report.checkpoint, report.summary.get("query_id"))
            report = failing_on(report, self._fail_on)
            if self.record is not None:
                self.record.add(report)
            member = self._form.member(report, lambda: code_of(report, self._fail_on))
            shown = self._shown.shows(report)
            if shown:
                self._pages.add(report)
            return member, shown

        for outcome in run_all(candidates, options, make, self._at_once, self._ahead()):
            member, shown = outcome.result or (self._failure(outcome), self._shown.shows(None))
            self.exit_code = max(self.exit_code, member.row["exit_code"])
            self.left_out += not shown
            if shown:
                yield member

    def _ahead(self) -> Ahead | None:
        """What makes reports on Spark, for an analysis that takes those that are there."""
        if self._pages.wanted or CACHE not in self._analysis.uses:
            return None
        from inspector.api.many import audits_by_executors  # noqa: PLC0415 - takes an audit

        return audits_by_executors

    def _failure(self, outcome: Outcome[tuple[Member, bool]]) -> Member:
        error, path = outcome.error, redact(outcome.path)
        assert error is not None
        self._note(path, None)
        self._pages.fail(path, error)
        kind = error.slug if isinstance(error, InspectorError) else type(error).__name__
        message = message_of(error)
        if self.record is not None:
            self.record.fail(path, message)
        click.echo(f"error: {escape(message)}", err=True)
        message = message.removeprefix(f"{path}: ")
        return self._form.failure(path, message, kind, exit_of(error))

    def _note(self, checkpoint: str, query_id: str | None) -> None:
        if self._baseline is not None:  # else nobody asks, and there may be ten thousand
            self._found.append((checkpoint, query_id))

    def gone(self) -> list[str]:
        """Checkpoints of the baseline that were not found."""
        if self._baseline is None:
            return []
        earlier = read_baseline(self._baseline)
        present = [earlier.earlier(path, query_id) for path, query_id in self._found]
        return [member.checkpoint for member in earlier if member not in present]


class Spool:
    """Texts on disk until they are wanted, in one file, so that memory does not grow with them."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._lock = Lock()

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def keep(self, pieces: Iterator[str]) -> Callable[[], Iterator[str]]:
        """Write a text, made before the file is waited for, and give what reads it."""
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spooled:
            for piece in pieces:
                spooled.write(piece.encode(*_ENCODING))
            size = spooled.tell()
            spooled.seek(0)
            with self._lock:
                begin = self._file.seek(0, os.SEEK_END)
                shutil.copyfileobj(spooled, self._file)
        return partial(self._read, begin, size)

    def _read(self, begin: int, size: int) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder(_ENCODING[0])(_ENCODING[1])
        while size > 0:
            self._file.seek(begin)
            piece = self._file.read(min(size, _PIECE))
            begin, size = begin + len(piece), size - len(piece)
            yield decoder.decode(piece, final=not size)
