"""Options of ``inspector serve`` as a service: the schedule of audits, and a lasting token."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from inspector.analyses.shared.fleet_run import means_many
from inspector.cli.output_files import outside
from inspector.light_dataclasses import replace
from inspector.model import Redact
from inspector.operators.user_rules import parse_duration
from inspector.plain_text import escape
from inspector.serve.service import AUDIT_SECONDS, CheckpointSearch, Service, ServicePlan
from inspector.serve.sources import Source

_LEAST_TOKEN = 16  # least number of characters of a token in a file


def service_options() -> Iterator[click.Option]:
    """Yield the options of a service."""
    yield click.Option(
        ["--every"],
        metavar="DURATION",
        help="Audit all checkpoints on schedule, such as every 15m, and serve /metrics for "
        "Prometheus and /healthz (without token).",
    )
    yield click.Option(
        ["--cache"],
        metavar="PATH",
        help="With --every: keep reports and last results in this folder. Unchanged checkpoints "
        "are then not read again, and a restart shows the last results.",
    )
    yield click.Option(
        ["--history"],
        metavar="PATH",
        help="With --every: append the results of each round to a table of Parquet files.",
    )
    yield click.Option(
        ["--audit-seconds"],
        type=click.FloatRange(1),
        default=AUDIT_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="With --every: time that one audit may take; then the next checkpoint follows.",
    )
    yield click.Option(
        ["--token-file"],
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Take the token from this file, which is made if it is missing. Prometheus sends it "
        "as Authorization: Bearer.",
    )


def service_of(parsed: Mapping[str, Any], source: Source) -> Service | None:
    """Return the service that the options describe; None without ``--every``.

    Raises click.UsageError for options that do not fit together.
    """
    text, folders = parsed["every"], list(filter(None, (parsed["cache"], parsed["history"])))
    if text is None:
        for name in ("cache", "history"):
            if parsed[name] is not None:
                raise click.UsageError(f"--{name} is for --every, such as --every 15m")
        return None
    try:
        seconds = parse_duration(text) / 1000
    except ValueError as error:
        raise click.UsageError(f"--every: {error}") from None
    if seconds < 1:
        raise click.UsageError(f"--every: got {text}, expected at least 1s")
    for path in source.paths:
        _keep_outside(path, folders)
    # Half of all analyses, which pages of a server without a schedule need later.
    from inspector.serve import audit_worker as work  # noqa: PLC0415
    from inspector.serve.auditor import WorkerProcess  # noqa: PLC0415
    from inspector.serve.last_audits import url_of  # noqa: PLC0415

    options = replace(source.options, cache=parsed["cache"], redact=Redact.HASH)
    requests = [work.AuditRequest(path, url_of(index)) for index, path in enumerate(source.paths)]

    def add(path: str) -> work.AuditRequest | None:
        """Let pages show a new checkpoint, and return the request to audit it.

        A checkpoint that has the cache or the history in it is a message, and None.
        """
        try:
            _keep_outside(path, folders)
        except click.UsageError as error:
            _print(error.message)
            return None
        source.paths.append(path)
        return work.AuditRequest(path, url_of(len(source.paths) - 1))

    paths, recursive = parsed["paths"], parsed["recursive"]
    search = (
        work.SearchRequest(paths, recursive) if means_many(paths, recursive=recursive) else None
    )
    plan = ServicePlan(
        requests,
        seconds,
        parsed["audit_seconds"],
        has_history=parsed["history"] is not None,
        notify=_print,
        search=None if search is None else CheckpointSearch(search, add),
    )
    return Service(plan, WorkerProcess(work.WorkerOptions.of(options, parsed["history"])))


def _keep_outside(path: str, folders: Iterable[str]) -> None:
    """Raise click.UsageError if one of the folders to write to is in a checkpoint."""
    for folder in folders:
        outside(path, folder)


def _print(message: str) -> None:
    """Print a message of the service to stderr."""
    click.echo(f"serve: {escape(message)}", err=True)


def token_of(file: str | None) -> str:
    """Return the token of a file, which is made if it does not exist; a new token without a file.

    Raises click.UsageError if the token in the file is too short.
    """
    token = secrets.token_urlsafe(24)
    if file is None:
        return token
    if Path(file).exists():
        token = Path(file).read_text("utf-8").strip()
        if len(token) < _LEAST_TOKEN or not token.isprintable() or not token.isascii():
            message = f"{file}: expected a token of at least {_LEAST_TOKEN} ASCII characters"
            raise click.UsageError(message)
        return token
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as opened:
        opened.write(f"{token}\n")
    return token
