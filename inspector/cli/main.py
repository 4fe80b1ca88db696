"""The command ``inspector``: finds the subcommand, and turns errors into words and exit codes."""

from __future__ import annotations

import os
import sys

import click

from inspector import __version__, analyses
from inspector.cli.commands import command_of
from inspector.cli.exits import Exit, exit_of
from inspector.exceptions import InspectorError

EXPLAIN = "explain"
"""The one command that is no analysis: it prints documentation."""

HELP_ORDER = (
    *("audit", "info", "files", "verify", "sizes", "sharing", "memory", "leftovers"),
    *("timeline", "top", "rows", "history", "diff", "export", EXPLAIN),
)
"""The order of the help: from the whole to the single key. Others follow by their names."""


def commands() -> list[str]:
    """The names of all commands, in the order of the help."""
    names = [*(name for name in analyses.names() if analyses.load(name).command), EXPLAIN]
    return sorted(
        names, key=lambda n: (HELP_ORDER.index(n) if n in HELP_ORDER else len(HELP_ORDER), n)
    )


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return commands()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name == EXPLAIN:
            from inspector.cli.explain import explain  # noqa: PLC0415 - looks for its pages

            return explain
        if cmd_name not in analyses.names():
            return None
        analysis = analyses.load(cmd_name)
        return command_of(analysis) if analysis.command else None


@click.group(
    cls=_Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "INSPECTOR",
    },
)
@click.version_option(__version__, "--version", prog_name="inspector")
def inspector() -> None:
    """See inside the state of Spark Structured Streaming.

    PATH is a checkpoint's root by any fsspec URL or in Spark's spelling (s3a://, abfss://, dbfs:/,
    hdfs://, file:/), or a path below it: state/, an operator, a partition, one file.

    Exit codes: 0 nothing at or above --fail-on; 1 findings; 2 usage; 3 not a checkpoint; 4 part of
    it could not be read; 5 unsupported provider (RocksDB); 6 storage; 70 internal; 130 interrupted.
    """


def run() -> None:
    """Run the command line and end the process."""
    try:
        inspector.main(prog_name="inspector", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(Exit.INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(Exit.USAGE)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except (InspectorError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(exit_of(error))
    except Exception as error:
        click.echo(
            f"internal error: {type(error).__name__}: {error}\n"
            "This is a fault of the inspector; INSPECTOR_DEBUG=1 shows where it happened.",
            err=True,
        )
        if os.environ.get("INSPECTOR_DEBUG"):
            raise
        sys.exit(Exit.INTERNAL)
