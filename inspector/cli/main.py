"""The command ``inspector``: finds the subcommand, and turns errors into words and exit codes."""

from __future__ import annotations

import atexit
import difflib
import gc
import io
import os
import shlex
import signal
import sys
from typing import Any

import click

from inspector import __version__, analyses
from inspector.cli.exits import Exit, exit_of, message_of
from inspector.cli.partial_files import end_on_signals
from inspector.credentials import learn_arguments, redact
from inspector.model import LIMITS_FAULT
from inspector.plain_text import escape, escape_lines

# new objects after which the garbage collector runs; Python's default is 700
_COLLECT_AFTER = 100_000

EXPLAIN = "explain"  # command that is no analysis: it prints documentation
SERVE = "serve"  # command that is no analysis: it starts a server
WITHOUT_ANALYSIS = (SERVE, EXPLAIN)  # commands that are no analyses

HELP_ORDER = (
    *("audit", "info", "files", "verify", "sizes", "sharing", "memory", "leftovers"),
    *("timeline", "simulate", "watch", "top", "rows"),
    *("history", "diff", "export", "copy", "preflight", "trend", SERVE, EXPLAIN),
)
"""The order of the help: from the whole to the single key. Others follow by their names."""

# added to the message on an internal error
_BUG = "\nThis is a bug in the inspector; INSPECTOR_DEBUG=1 shows where it happened."


def commands() -> list[str]:
    """Return the names of all commands, in the order of the help."""
    names = [name for name in analyses.names() if analyses.load(name).command]
    order = {name: rank for rank, name in enumerate(HELP_ORDER)}
    names += WITHOUT_ANALYSIS
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))


class _Commands(click.Group):
    """Group of the commands, which are loaded when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands, in the order of the help."""
        return commands()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command by its name; None if there is none. Loads its module."""
        if cmd_name == EXPLAIN:
            from inspector.cli.explain import explain  # noqa: PLC0415 - looks for its pages

            return explain
        if cmd_name == SERVE:
            from inspector.cli.serve import serve  # noqa: PLC0415 - opens checkpoints

            return serve
        if cmd_name not in analyses.names():
            return None
        from inspector.cli.commands import command_of  # noqa: PLC0415 - reads and renders

        analysis = analyses.load(cmd_name)
        return command_of(analysis) if analysis.command else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with the whole first sentence of its help."""
        listed = [self.get_command(ctx, name) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(c.name or "", c.get_short_help_str(1000)) for c in listed if c])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; end with exit code 0 if the reader of stdout has gone."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader has seen enough. Python would complain once more at its last flush.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(Exit.OK)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is a usage error with a hint."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            ctx.fail(f"Unknown command {name!r}. {_hint(name)}")
        return super().resolve_command(ctx, args)


def _hint(unknown: str) -> str:
    """Return what the user may have meant by an unknown command."""
    if "/" in unknown or os.path.exists(unknown):
        return f"Did you mean `inspector audit {shlex.quote(unknown)}`?"
    similar = " or ".join(difflib.get_close_matches(unknown, commands()))
    return f"Did you mean {similar}?" if similar else "inspector -h lists all commands"


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "INSPECTOR"},
)
@click.version_option(__version__, "--version", prog_name="inspector")
def inspector() -> None:
    """See inside the state of Spark Structured Streaming.

    PATH is a checkpoint's root by any fsspec URL or in Spark's spelling (s3a://, abfss://, dbfs:/,
    hdfs://, file:/), or a path below it: state/, an operator, a partition, one file.

    Exit codes: 0 nothing at or above --fail-on; 1 findings; 2 usage; 3 not a checkpoint; 4 part of
    it could not be read; 5 unsupported provider; 6 storage; 70 internal; 130 interrupted.
    """


def run() -> None:
    """Run the command line and end the process."""
    # What is imported stays. Walking it again and again took a twentieth of a short command's time.
    gc.set_threshold(_COLLECT_AFTER)
    # Nothing here multiplies matrices. numpy's threads for that spin on a core when they start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    atexit.register(gc.freeze)  # else Python walks everything once more as it ends
    with end_on_signals():
        learn_arguments(sys.argv[1:])
        if LIMITS_FAULT:
            click.echo(f"error: {LIMITS_FAULT}", err=True)
            sys.exit(Exit.USAGE)
        try:
            inspector.main(prog_name="inspector", standalone_mode=False)
        except click.ClickException as error:
            error_text = io.StringIO()
            error.show(error_text)
            click.echo(escape_lines(redact(error_text.getvalue())), nl=False, err=True)
            sys.exit(Exit.USAGE)
        except (click.exceptions.Abort, KeyboardInterrupt):
            # It has come by PySpark, which ends its jobs; the next one shall not wait for that.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            sys.exit(Exit.INTERRUPTED)
        except Exception as error:  # noqa: BLE001 - so that no fault ends without a word
            code, message = exit_of(error), escape(message_of(error))
            is_bug = code is Exit.INTERNAL
            click.echo(message + _BUG if is_bug else f"error: {message}", err=True)
            if is_bug and os.environ.get("INSPECTOR_DEBUG"):
                import traceback  # noqa: PLC0415 - only for a bug

                click.echo(escape_lines(redact(traceback.format_exc())), err=True)
            sys.exit(code)
