"""Commands on many checkpoints: one document about all of them, and the most severe exit code."""

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
from inspector.cli import output_files
from inspector.cli.click_options import api_options, own_options
from inspector.cli.exits import Exit, exit_of, message_of
from inspector.cli.terminal import NEVER, display_of
from inspector.credentials import redact
from inspector.exceptions import InspectorError
from inspector.plain_text import escape
from inspector.render.fleet import Form, Member, document
from inspector.render.gating import read_baseline

_IN_MEMORY = 1 << 20  # bytes of an unfinished text kept in memory; a longer one goes to a file
_PIECE = 1 << 16  # bytes of a text that are read at a time
_ENCODING = ("utf-8", "surrogatepass")  # names of files may hold bytes that are no UTF-8


def write_fleet(analysis: Analysis, parsed: dict[str, Any]) -> NoReturn:
    """Run an analysis on all checkpoints that the paths mean, write one document, and exit."""
    if parsed["output"] in analysis.formats:
        raise click.UsageError(f"-o {parsed['output']} is for one checkpoint, got several")
    try:
        filters = Shown.of(parsed.get("level"), parsed.get("finding"))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    options = api_options(parsed, analysis.shared)
    candidates: Iterable[Found] = _outside_outputs(
        find_all(parsed["paths"], options, recursive=parsed["recursive"]), parsed
    )
    if not parsed["recursive"] and not any(map(is_pattern, parsed["paths"])):
        candidates = list(candidates)
    with Spool() as spool:
        output, display = parsed["output"], display_of(parsed)
        has_filters = analysis.has_verdict
        form = Form(analysis.name, output, display, parsed["details"], has_filters, spool.keep)
        fleet = _Fleet(analysis, parsed, options, form)
        members = list(fleet.members(candidates, options, filters))
        if options.cache is not None:
            counts = f"{len(fleet.recalled):,} of {len(members) + fleet.left_out:,}"
            options.engine.notify(f"cache: {counts} reports are from {shown_url(options.cache)}")
        gone = fleet.gone()
        fleet.beside.write()
        with output_files.destination(parsed["output_file"], force=parsed["force"]) as file:
            if parsed["output"] == "html" and fleet.beside.has_page:
                pieces = fleet.beside.page()
            else:
                pieces = document(form, members, gone, fleet.left_out)
            output_files.write(pieces, file)
    sys.exit(fleet.exit_code)


def _outside_outputs(candidates: Iterable[Found], parsed: dict[str, Any]) -> Iterator[Found]:
    """Yield the candidates; click.UsageError if an output would be inside one of them."""
    names = ("output_file", "html", "history", "cache")
    outputs = [parsed[name] for name in names if parsed.get(name) is not None]
    for candidate in candidates:
        for output in outputs:
            output_files.outside(candidate.path, output)
        yield candidate


class _Fleet:
    """Run of a command on many checkpoints, with what its document and exit code need."""

    def __init__(
        self, analysis: Analysis, parsed: dict[str, Any], options: Options, form: Form
    ) -> None:
        """Prepare the outputs of a run."""
        self._analysis, self._parsed, self._form = analysis, parsed, form
        self._own = own_options(analysis, parsed)
        outputs = analysis, parsed, self._own, options.engine
        self.beside = output_files.Beside(*outputs, many=True)
        self._identities: list[tuple[str, str | None]] = []
        self.recalled: list[str] = []
        self.exit_code, self.left_out = int(Exit.OK), 0

    def members(
        self, candidates: Iterable[Found], options: Options, filters: Shown
    ) -> Iterator[Member]:
        """Yield the results of each checkpoint that the filters show, as soon as they are ready.

        The exit code counts the others, too.
        """
        fail_on = self._parsed.get("fail_on", NEVER)

        def make(run: Opened | Recalled) -> tuple[Member, bool]:
            report = self._analysis.function(run, **self._own)
            if isinstance(run, Recalled) and run.is_kept:
                self.recalled.append(report.checkpoint)
            self._note(report.checkpoint, report.summary.get("query_id"))
            report = output_files.failing_on(report, fail_on)
            member = self._form.member(report, lambda: output_files.code_of(report, fail_on))
            is_shown = filters.shows(report)
            self.beside.add(report, is_shown=is_shown)
            return member, is_shown

        at_once: int | None = self._parsed["at_once"]
        for outcome in run_all(candidates, options, make, at_once, self._ahead()):
            member, is_shown = outcome.result or (self._failure(outcome), filters.shows(None))
            self.exit_code = max(self.exit_code, member.row["exit_code"])
            self.left_out += not is_shown
            if is_shown:
                yield member

    def _ahead(self) -> Ahead | None:
        """Return the function that makes reports on executors; None if they are made here.

        They are made here if pages are asked for, or if the analysis uses no cache.
        """
        if self.beside.has_page or CACHE not in self._analysis.uses:
            return None
        from inspector.api.many import audits_by_executors  # noqa: PLC0415 - takes an audit

        return audits_by_executors

    def _failure(self, outcome: Outcome[tuple[Member, bool]]) -> Member:
        """Record a checkpoint that failed, print its error, and return its results."""
        error, path = outcome.error, redact(outcome.path)
        assert error is not None
        self._note(path, None)
        self.beside.fail(path, error)
        kind = error.slug if isinstance(error, InspectorError) else type(error).__name__
        message = message_of(error)
        click.echo(f"error: {escape(message)}", err=True)
        message = message.removeprefix(f"{path}: ")
        return self._form.failure(path, message, kind, exit_of(error))

    def _note(self, checkpoint: str, query_id: str | None) -> None:
        """Record that a checkpoint was found, if there is a baseline."""
        if self._parsed.get("baseline") is not None:  # there may be ten thousand
            self._identities.append((checkpoint, query_id))

    def gone(self) -> list[str]:
        """Return the checkpoints of the baseline that were not found; empty without a baseline."""
        if self._parsed.get("baseline") is None:
            return []
        earlier = read_baseline(self._parsed["baseline"])
        present = [earlier.earlier(*identity) for identity in self._identities]
        return [member.checkpoint for member in earlier if member not in present]


class Spool:
    """File on disk for texts that are read later, so that they take no memory."""

    def __init__(self) -> None:
        """Create the temporary file."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._lock = Lock()

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def keep(self, pieces: Iterator[str]) -> Callable[[], Iterator[str]]:
        """Write a text to the file, and return a function that yields it again.

        The text is made completely before the file is locked.
        """
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
        """Yield the text that begins at a byte and has this size in bytes."""
        decoder = codecs.getincrementaldecoder(_ENCODING[0])(_ENCODING[1])
        while size > 0:
            self._file.seek(begin)
            piece = self._file.read(min(size, _PIECE))
            begin, size = begin + len(piece), size - len(piece)
            yield decoder.decode(piece, final=not size)
