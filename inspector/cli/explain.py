"""``inspector explain``: the documentation, in the terminal."""

from __future__ import annotations

import sys

import click

from inspector.cli.writing import destination, write
from inspector.docs import contents, lookup, near


@click.command()
@click.argument("topic", required=False)
def explain(topic: str | None) -> None:
    """A page of the documentation, a finding, an error, a word.

    TOPIC is the name of a page (tutorial), the id of a finding (SS203), an error class of this
    package or of Spark or a slug, a command, a class of leftovers, or a word of the glossary.
    Without one all topics are listed.
    """
    try:
        text = contents() if topic is None else lookup(topic)
    except FileNotFoundError:
        raise click.UsageError(
            "this copy of the package has no pages: it was packed for the workers of a Spark"
        ) from None
    if text is None:
        raise click.UsageError(_unknown(topic or ""))
    with destination(None, force=False) as file:
        if file.isatty():
            _to_terminal(text)
        else:
            write([text], file)


def _unknown(topic: str) -> str:
    found = near(topic)
    hint = f"did you mean {', '.join(found)}?" if found else "inspector explain lists all topics"
    return f"no topic {topic!r}; {hint}"


def _to_terminal(text: str) -> None:
    from rich.console import Console  # noqa: PLC0415 - takes a while, and only terminals need it
    from rich.markdown import Markdown  # noqa: PLC0415

    Console(file=sys.stdout).print(Markdown(text))
