"""``inspector serve``: starts the web application and prints its URL."""

from __future__ import annotations

import os
import socket
from importlib.util import find_spec
from typing import Any

import click

from inspector.analyses.shared.fleet_run import find_all
from inspector.cli.click_options import api_options, option_parameters
from inspector.cli.config_file import config_options, print_file_in_use
from inspector.cli.help_pages import HelpfulCommand
from inspector.cli.service_options import service_of, service_options, token_of
from inspector.exceptions import EngineError
from inspector.serve.sources import SHARED, Source

NAME = "serve"  # name of the command

_TEXT = """Browse checkpoints in a web browser: from the fleet down to the history of one key.

It needs the extra serve (pip install '.[serve]'), prints an HTTP URL with a token that every
request needs (for TLS use a proxy), and runs until Ctrl-C. With several PATHs, a pattern or
--recursive the first page lists all checkpoints. The page of a checkpoint has its audit with all
findings, and links to its operators, stores, partitions and rows. A search finds rows by key
(user=a, or its hash); the page of a key has its history. No page writes to a checkpoint. Reload a
page to see newer batches. Keys and values are shown as hashes; --show-values adds a link that shows
them. Each page has a command that shows the same. From another machine, forward the port by ssh, or
give --host.
"""


def _options() -> list[click.Parameter]:
    """Return the argument and the options of the command."""
    return [
        click.Argument(["paths"], metavar="PATH...", nargs=-1, required=True),
        click.Option(
            ["--host"],
            default="127.0.0.1",
            show_default=True,
            metavar="ADDRESS",
            help="Address to listen on; 0.0.0.0 accepts other machines.",
        ),
        click.Option(
            ["--port"],
            type=click.IntRange(0, 65535),
            default=8765,
            show_default=True,
            metavar="N",
            help="Port to listen on; 0 takes a free one.",
        ),
        click.Option(
            ["--allow-host"],
            multiple=True,
            metavar="NAME",
            help="Further name of this server in its URLs, such as that of a proxy; repeatable. "
            "localhost, --host and, with 0.0.0.0, IP addresses are accepted too; no other name is.",
        ),
        click.Option(
            ["--show-values"],
            is_flag=True,
            help="Let pages show keys and values in clear, by a link on each page.",
        ),
        click.Option(
            ["--request-seconds"],
            type=click.FloatRange(1),
            default=120.0,
            show_default=True,
            metavar="SECONDS",
            help="Time that the work of one request may take.",
        ),
        click.Option(
            ["-r", "--recursive"], is_flag=True, help="Serve every checkpoint in or below PATH."
        ),
        *service_options(),
        *option_parameters(SHARED),
        *config_options(),
    ]


def _serve(**parsed: Any) -> None:
    """Serve the checkpoints until the process is ended."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise EngineError(
            f"serve needs {' and '.join(missing)}, which is not installed: "
            "pip install 'spark-state-inspector[serve]'"
        )
    if parsed["verbose"]:
        print_file_in_use(click.get_current_context())
    from inspector.serve.server import run_server  # noqa: PLC0415 - an extra, and slow to import

    options = api_options(parsed, SHARED)
    candidates = list(find_all(parsed["paths"], options, recursive=parsed["recursive"]))
    errors = [candidate.error for candidate in candidates if candidate.error is not None]
    if errors and len(errors) == len(candidates):
        raise errors[0]
    paths = [candidate.path for candidate in candidates]
    source = Source(paths, options, parsed["show_values"])
    service = service_of(parsed, source)
    token, host = token_of(parsed["token_file"]), parsed["host"]
    with _listen(host, parsed["port"]) as listening:
        name = f"[{host}]" if ":" in host else host
        port = listening.getsockname()[1]
        click.echo(f"http://{name}:{port}/?token={token}")
        click.echo("Press Ctrl-C to end.", err=True)
        seconds, hosts = parsed["request_seconds"], parsed["allow_host"]
        run_server(source, listening, token, host, hosts, seconds, service)


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; click.UsageError if the address or the port cannot be used."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        message = f"cannot listen on {host}, port {port}: {reason}; --port 0 takes a free port"
        raise click.UsageError(message) from None


serve = HelpfulCommand(NAME, params=_options(), callback=_serve, help=_TEXT)
