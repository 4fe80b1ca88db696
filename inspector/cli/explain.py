"""``inspector explain``: the documentation, in the terminal."""

from __future__ import annotations

import os
import re
import shlex
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from inspector import analyses
from inspector.checkpoint.confs import SHUFFLE_PARTITIONS
from inspector.cli.output_files import destination, write
from inspector.cli.terminal import display_of
from inspector.discovery import checkpoint as discovery
from inspector.docs import contents, data, lookup, near, symptom_groups
from inspector.plain_text import escape
from inspector.render.first_screen import first_screen
from inspector.render.text import markdown_text

_MOST_WORDS = 3  # a topic has not more; anything longer is a message
_NARROW = 100  # columns of a list in a message on stderr
_LONGEST = 1 << 20  # most characters of a text that is read; of a longer file the end
_PATH = re.compile(r"[.~]{0,2}/\S{1,4000}")  # text that looks like a path


@click.command()
@click.argument("words", metavar="[TOPIC] [PATH]", nargs=-1)
@click.option(
    "--wide",
    is_flag=True,
    help="Do not wrap lines. Piped output is otherwise wrapped at the environment variable "
    "COLUMNS, or at 100; 0 means no wrapping.",
)
def explain(words: tuple[str, ...], *, wide: bool) -> None:
    """A page of the documentation, a finding, an error, a symptom, a word.

    TOPIC is the name of a page (tutorial), the id of a finding (SS203), an error class of this
    package or of Spark or a slug, a command, a class of leftovers, or a word of the glossary;
    report.schema.json is the JSON Schema of reports. What was seen will do as well: a message of
    Spark, "OOM", "exit code 137", "state grows", a file with a log or a stack trace; - reads one
    from stdin. With the PATH of a checkpoint the answer is about that one. Without a topic all are
    listed.
    """
    # os.path, as a pasted message is longer than any name, for which pathlib raises.
    paths = (w for w in words if ("://" in w and " " not in w) or os.path.isdir(w))
    checkpoint = next(paths, None)
    topic = " ".join(_text(word) for word in words if word != checkpoint)
    if words and not topic.strip():
        message = "there is no text; beside a checkpoint say what was seen, such as 'state grows'"
        raise click.UsageError(message)
    # A message of several words may end with the path of a file.
    last = words[-1] if len(words) == 2 and checkpoint is None else ""
    if _PATH.fullmatch(last) and not _FILE.search(last) and not os.path.exists(last):
        raise click.UsageError(f"there is nothing at {escape(last)}")
    try:
        topic_data = data(topic)
        text = topic_data or (lookup(topic) if words else contents())
    except FileNotFoundError:
        message = "this copy of the package has no documentation: it was packed for Spark workers"
        raise click.UsageError(message) from None
    if text is None:
        raise click.UsageError(_unknown_text(topic))
    is_terminal = sys.stdout is not None and sys.stdout.isatty() and topic_data is None
    # The marks of Markdown are drawn on a terminal, and read where it is piped.
    say = markdown_text if is_terminal else escape
    if lines := [*_changes(topic, checkpoint), *_files(topic, checkpoint)]:
        text = "\n".join(("# In this text", "", *map(escape, lines), "", text))
    if checkpoint is not None:
        text = _of_checkpoint(text, checkpoint, say)
    with destination(None, force=False) as file:
        if is_terminal:
            # They take a while to import, and only terminals need them.
            from rich import console, markdown  # noqa: PLC0415

            console.Console(file=sys.stdout).print(markdown.Markdown(text))
        else:
            width = None if topic_data else display_of({"wide": wide}).width
            write([_fold(text, width)], file)


def _fold(text: str, width: int | None) -> str:
    """Return Markdown with its paragraphs wrapped to ``width`` columns; None wraps nothing.

    Code, tables and headings stay as they are.
    """
    if width is None:
        return text
    wrapper = textwrap.TextWrapper(max(width, 20), break_long_words=False, break_on_hyphens=False)
    lines: list[str] = []
    is_code = False
    for line in text.split("\n"):
        begin = line.lstrip(" ")
        is_code ^= begin.startswith("```")
        is_prose = begin and not is_code and not begin.startswith(("|", "#", "```"))
        wrapper.subsequent_indent = " " * (len(line) - len(begin) + 2 * begin.startswith("- "))
        lines += wrapper.wrap(line) if is_prose else [line]
    return "\n".join(lines)


def _text(word: str) -> str:
    """Return the word, or the content of stdin (``-``) or of the file that it names.

    Of a long file the end is returned, because it has the causes.
    """
    if word == "-":
        return sys.stdin.read(_LONGEST)
    if not os.path.isfile(word):
        return word
    with Path(word).open("rb") as file:
        file.seek(max(0, Path(word).stat().st_size - _LONGEST))
        return file.read().decode("utf-8", "replace")


# message on a conf that the checkpoint overrides: ``OffsetSeqMetadata.setSessionConf`` (2.3 to 4.3)
_IGNORED = re.compile(
    r"Updating the value of conf '([^']{1,200})' in current session from '([^']{0,200})' to "
    r"'([^']{0,200})'"
)
# How 4.1 and later call the recorded ``spark.sql.shuffle.partitions`` in a session.
_PARTITIONS = "spark.sql.streaming.internal.stateStore.partitions"
_SCHEMA = r"(StructType.{0,20000}?)"  # pattern of a schema in a message
_REFUSED = (
    re.compile(rf"Existing (key|value)_schema={_SCHEMA} and new \w+_schema={_SCHEMA}\.\s", re.S),
    # 3.1 to 3.5, where the new one comes first
    re.compile(
        rf"(?=Provided (key|value) schema: .*?Existing \1 schema: {_SCHEMA}\s*(?:\n|- |$))"
        rf"Provided \w+ schema: {_SCHEMA}\s*(?:\n|- )",
        re.S,
    ),
)
"""``StateSchemaCompatibilityChecker``: key or value, the schema of the state, and the query's."""
# message on another number of sources: ``OffsetSeq.toStreamProgress`` (2.1 to 4.3)
_SOURCES = re.compile(
    r"There are \[(\d{1,9})\] sources in the checkpoint offsets and now there are \[(\d{1,9})\]"
)
# path of a state file or log entry in a text
_FILE = re.compile(
    r"(?<![\w-])(state/\d{1,10}/\d{1,10}/(?:[\w-]{1,255}/)?\w[\w-]{0,255}"
    r"\.(?:delta|snapshot|changelog|zip|sst)|(?:offsets|commits)/\d{1,19})(?![\w/-]|\.[\w./-])"
)
_OF_ANOTHER = ": the text is of another"  # words if a text is about another checkpoint
_MOST_FILES = 5  # files of a text that are looked up, the last ones
_AUDITED = re.compile(r"SS[1-3]\d\d")  # findings of an audit; others compare two queries
# part of a schema in Spark's spelling that DDL writes differently
_FIELD = re.compile(r"StructField\(([^(),]+),|StructType(?=\()|,(?:true|false)\)")
# names of types in DDL that are not the lower-case ones
_SPELLINGS = {"Long": "bigint", "Integer": "int", "Short": "smallint", "Byte": "tinyint"}


def _changes(text: str, checkpoint: str | None) -> list[str]:
    """Return lines on changes of the query that Spark ignored or refused, according to a log.

    With a checkpoint each line says whether the log is about this checkpoint.
    """
    ignored = dict.fromkeys(_IGNORED.findall(text))
    refused = dict.fromkeys(
        (part, _ddl(old), _ddl(new))
        for pattern in _REFUSED
        for part, old, new in pattern.findall(text)
        if _ddl(old) != _ddl(new)
    )
    sources = dict.fromkeys(_SOURCES.findall(text))
    tables: dict[str, Any] = {"confs": [], "stores": []}
    if checkpoint is not None and (ignored or refused or sources):
        info = analyses.load("info").function(checkpoint)
        tables = {table.name: table.rows for table in info.tables}
    stores = tables["stores"]
    confs = {row["conf"]: row["value"] for row in tables["confs"]}
    counts = " and ".join(map(str, sorted({store["partitions"] for store in stores})))
    lines = []
    for old, new in sources:
        line = f"- Spark refused other sources: {old} in the checkpoint, {new} in the query."
        if checkpoint is not None:
            positions = discovery.open_checkpoint(checkpoint).logs.sources
            count = len(positions[max(positions)]) if positions else 0
            line += f" This one has {count}{'' if count == int(old) else _OF_ANOTHER}."
        lines.append(line)
    for key, session, recorded in ignored:
        conf = SHUFFLE_PARTITIONS if key == _PARTITIONS else key
        line = f"- Spark ignored `{conf}={session}`: the checkpoint keeps `{recorded}`."
        if checkpoint is not None and confs.get(conf) == recorded:
            has = f", and its state has {counts} partitions" if counts else ""
            line += f" This one records it{has if conf == SHUFFLE_PARTITIONS else ''}."
        elif checkpoint is not None:
            line += f" This one records {confs.get(conf, 'none')}{_OF_ANOTHER}."
        lines.append(line)
    for part, old, new in refused:
        line = f"- Spark refused another {part} schema: the state has `{old}`, the query `{new}`."
        if checkpoint is not None:
            names = [
                f"operator {store['operator_id']} ({store['operator_name']})"
                for store in stores
                if _words(str(store[f"{part}_schema"])) == _words(old)
            ]
            names_text = f" In this checkpoint it is {' or '.join(names)}."
            line += names_text if names else f" No operator of this checkpoint has it{_OF_ANOTHER}."
        lines.append(line)
    return lines


def _files(text: str, checkpoint: str | None) -> list[str]:
    """Return lines on whether files that a text names are in the checkpoint; none without one."""
    names = list(dict.fromkeys(_FILE.findall(text)))[-_MOST_FILES:]
    if checkpoint is None or not names:
        return []
    exists = discovery.open_checkpoint(checkpoint).storage.exists
    words = {True: "there", False: "not there"}
    return [f"- `{name}` is {words[exists(name)]} in this checkpoint." for name in names]


def _ddl(schema: str) -> str:
    """Return ``user string,n bigint`` for ``StructType(StructField(user,StringType,true),...)``."""
    text = _FIELD.sub(lambda match: f"{match[1]} " if match[1] else "", schema)
    text = re.sub(r"(\w+)Type\b", lambda m: _SPELLINGS.get(m[1], m[1].lower()), text)
    return text.removeprefix("(").removesuffix(")")


def _words(schema: str) -> list[str]:
    """Return the names and types in a schema, without ``struct``."""
    return [word for word in re.findall(r"\w+", schema) if word != "struct"]


def _of_checkpoint(text: str, path: str, say: Callable[[str], str]) -> str:
    """Return an answer with the state of one checkpoint before it.

    It has the verdict, and which of the causes in the answer this checkpoint has. ``say`` escapes
    texts.
    """
    report = analyses.load("audit").function(path)
    findings = {finding.kind.id: finding for finding in report.findings}
    causes = dict.fromkeys(_AUDITED.findall(text))
    lines = [f"# This checkpoint: {say(path)}", ""]
    for line in first_screen(report):
        sentence = say(line.text.removesuffix(line.code))
        lines += [f"{sentence}`{line.code}`" if line.code else sentence, ""]
    lines += [f"- It has {id_}: {say(findings[id_].cause)}" for id_ in causes if id_ in findings]
    absent = [id_ for id_ in causes if id_ not in findings]
    if absent:
        lines.append(f"- It does not have {', '.join(absent)}.")
    named = re.sub(r"(`inspector [^`]*)\bPATH\b", rf"\1{shlex.quote(path)}", text)
    return "\n".join(lines) + "\n\n" + named


def _unknown_text(topic: str) -> str:
    """Return the message for an unknown topic: the nearest topics, or all symptoms by group."""
    topics = ", ".join(near(topic))
    is_message = len(topic.split()) > _MOST_WORDS
    unknown = "no symptom is known for this text" if is_message else f"unknown topic {topic[:80]!r}"
    if topics:
        hint = f"the nearest topics are {topics}" if is_message else f"did you mean {topics}?"
        return f"{unknown}; {hint}"
    groups = (f"{group}: {', '.join(names)}" for group, names in symptom_groups().items())
    symptoms = "\n\n".join(map(_fold_line, groups))
    return f"{unknown}; inspector explain NAME explains each of these symptoms:\n\n{symptoms}"


def _fold_line(line: str) -> str:
    """Return a line wrapped to ``_NARROW`` columns, its further lines indented."""
    return textwrap.fill(line, _NARROW, subsequent_indent="    ", break_on_hyphens=False)
