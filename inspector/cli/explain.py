"""``inspector explain``: the documentation, in the terminal."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import click

from inspector import analyses
from inspector.cli.output_files import destination, write
from inspector.docs import contents, data, lookup, near
from inspector.render.first_screen import first_screen
from inspector.render.text import markdown_text

_MOST_WORDS = 3
"""A topic has not more; anything longer is a message."""
_SHOWN = 80
_LONGEST = 1 << 20


@click.command()
@click.argument("words", metavar="[TOPIC] [PATH]", nargs=-1)
def explain(words: tuple[str, ...]) -> None:
    """A page of the documentation, a finding, an error, a symptom, a word.

    TOPIC is the name of a page (tutorial), the id of a finding (SS203), an error class of this
    package or of Spark or a slug, a command, a class of leftovers, or a word of the glossary;
    report.schema.json is the JSON Schema of reports. What was seen will do as well: a message of
    Spark, "OOM", "exit code 137", "state grows", a file with a log or a stack trace; - reads one
    from stdin. With the PATH of a checkpoint the answer is about that one. Without a topic all are
    listed.
    """
    checkpoint = next((word for word in words if _is_checkpoint(word)), None)
    topic = " ".join(_text(word) for word in words if word != checkpoint)
    try:
        for_programs = data(topic)
        text = for_programs or (lookup(topic) if words else contents())
    except FileNotFoundError:
        raise click.UsageError(
            "this copy of the package has no documentation: it was packed for Spark workers"
        ) from None
    if text is None:
        raise click.UsageError(_unknown_text(topic))
    if checkpoint is not None:
        text = _of_checkpoint(text, checkpoint)
    with destination(None, force=False) as file:
        if file.isatty() and for_programs is None:
            # They take a while to import, and only terminals need them.
            from rich import console, markdown  # noqa: PLC0415

            console.Console(file=sys.stdout).print(markdown.Markdown(text))
        else:
            write([text], file)


def _is_checkpoint(word: str) -> bool:
    # os.path, as a pasted message is longer than any name, for which pathlib raises.
    return ("://" in word and " " not in word) or os.path.isdir(word)


def _text(word: str) -> str:
    """A word as it is, or what it names: stdin, or a file; of a long one the end, where causes are.

    Raises:
        click.UsageError: the file is none that can be read.
    """
    if word == "-":
        return sys.stdin.read(_LONGEST)
    if not os.path.isfile(word):
        return word
    with Path(word).open("rb") as file:
        file.seek(max(0, Path(word).stat().st_size - _LONGEST))
        return file.read().decode("utf-8", "replace")


def _of_checkpoint(text: str, path: str) -> str:
    """An answer with the path in its commands, and with what this checkpoint has of its causes."""
    report = analyses.load("audit").function(path)
    ids = {finding.kind.id: finding for finding in report.findings}
    causes = dict.fromkeys(re.findall(r"SS\d{3}", text))
    lines = [f"# This checkpoint: {markdown_text(path)}", ""]
    for line in first_screen(report):
        said = markdown_text(line.text.removesuffix(line.code) if line.code else line.text)
        lines += [f"{said}`{line.code}`" if line.code else said, ""]
    for id_ in causes:
        if id_ in ids:
            lines.append(f"- It has {id_}: {markdown_text(ids[id_].cause)}")
    absent = [id_ for id_ in causes if id_ not in ids]
    if absent:
        lines.append(f"- It does not have {', '.join(absent)}.")
    named = re.sub(r"(`inspector [^`]*)\bPATH\b", rf"\1{shlex.quote(path)}", text)
    return "\n".join(lines) + "\n\n" + named


def _unknown_text(topic: str) -> str:
    topics = near(topic)
    hint = f"did you mean {', '.join(topics)}?" if topics else "inspector explain lists all topics"
    if len(topic.split()) > _MOST_WORDS:
        return f"the text has no error class and no words that are known here; {hint}"
    return f"unknown topic {topic[:_SHOWN]!r}; {hint}"
