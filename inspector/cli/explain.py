"""``inspector explain``: the documentation, in the terminal."""

from __future__ import annotations

import sys

import click

from inspector.cli.writing import destination, write
from inspector.docs import contents, data, lookup, near

_MOST_WORDS = 3
"""A topic has not more; anything longer is a message."""
_SHOWN = 80
_LONGEST = 1 << 20


@click.command()
@click.argument("words", metavar="[TOPIC]", nargs=-1)
def explain(words: tuple[str, ...]) -> None:
    """A page of the documentation, a finding, an error, a word.

    TOPIC is the name of a page (tutorial), the id of a finding (SS203), an error class of this
    package or of Spark or a slug, a command, a class of leftovers, or a word of the glossary;
    report.schema.json is the JSON Schema of reports. A whole message of Spark will do as well: the
    class in it is found; - reads one from stdin. Without a topic all are listed.
    """
    topic = _stdin() if words == ("-",) else " ".join(words)
    try:
        for_programs = data(topic)
        text = for_programs or (lookup(topic) if words else contents())
    except FileNotFoundError:
        raise click.UsageError(
            "this copy of the package has no pages: it was packed for the workers of a Spark"
        ) from None
    if text is None:
        raise click.UsageError(_unknown(topic))
    with destination(None, force=False) as file:
        if file.isatty() and for_programs is None:
            _to_terminal(text)
        else:
            write([text], file)


def _unknown(topic: str) -> str:
    found = near(topic)
    hint = f"did you mean {', '.join(found)}?" if found else "inspector explain lists all topics"
    if len(topic.split()) > _MOST_WORDS:
        return f"the message has no error class that is known here; {hint}"
    return f"no topic {topic[:_SHOWN]!r}; {hint}"


def _stdin() -> str:
    """A message from stdin; of a log that is piped in by mistake only the beginning."""
    return sys.stdin.read(_LONGEST)


def _to_terminal(text: str) -> None:
    from rich.console import Console  # noqa: PLC0415 - takes a while, and only terminals need it
    from rich.markdown import Markdown  # noqa: PLC0415

    Console(file=sys.stdout).print(Markdown(text))
