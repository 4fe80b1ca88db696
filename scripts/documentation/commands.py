"""The pages of the commands, and what they share: options and columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import cache

import click
from documentation.examples import example
from documentation.reference import (
    QUANTILE,
    CommandOption,
    Meaning,
    SharedText,
    column_entry,
    meaning,
    meaning_table,
    option_line,
    reference,
    shared_options_like,
    spelled_line,
)

from inspector import analyses
from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.options import SHARED
from inspector.cli.commands import command_of
from inspector.cli.help_pages import Section, long_flag, options_by_section
from inspector.cli.main import SERVE, WITHOUT_ANALYSIS, commands
from inspector.cli.main import inspector as group
from inspector.render.tabular import Column, Row

FOLDER = "reference/commands"
"""Folder of the pages, below the documentation."""

_MARK = "<!--scripts/refresh_docs.py-->"
# Columns of many analyses whose names say what they are. They, and all quantiles, are described on
# one page for all analyses. The page of a command describes its other columns itself.
_CLEAR_NAMES = (
    *("operator_id", "operator_name", "store_name", "partition_id"),
    *("key", "value", "rows", "row_bytes", "key_bytes", "value_bytes"),
)
# Shared options that the page of ``serve`` names.
_USED_BY_SERVE = ("--recursive", "--cache", "--history", "--storage-option", "--workers")
# A longer text on the commands that have an option is not repeated for another option.
_MANY_WORDS = 8


def command_pages(printed: Callable[[list[str]], str]) -> dict[str, str]:
    """Return the page of each analysis by its path below the documentation, without ``.md``.

    Args:
        printed: returns the output of ``inspector`` for these arguments.
    """
    pages = {f"{FOLDER}/{name}": _page(analyses.load(name), printed) for name in analyses.names()}
    return pages | {f"{FOLDER}/{SERVE}": _plain_page(SERVE)}


def _command(name: str) -> click.Command:
    """Return a command by its name."""
    result = group.get_command(click.Context(group), name)
    assert result is not None
    return result


def _plain_page(name: str) -> str:
    """Return the page of a command that is no analysis."""
    command = _command(name)
    sections = options_by_section(command.params)
    own = sections.pop(Section.OWN)
    first, *further = (command.help or "").strip().split("\n\n")
    usage = f"    inspector {name} [OPTIONS] PATH..."
    lines = "\n".join(_help_line(row, "") for row in _help_rows(own))
    flags = {long_flag(item) for options in sections.values() for item in options}
    shared = shared_options_like(f"`{flag}`" for flag in _USED_BY_SERVE if flag in flags)
    parts = (f"# {name}\n{_MARK}", first, *further, "## Options", usage, lines, shared)
    return "\n\n".join(parts) + "\n"


def _page(analysis: Analysis, printed: Callable[[list[str]], str]) -> str:
    sections = _sections(analysis)
    declared = {item.flag for item in analysis.options}
    own = [item for item in sections.get(Section.OWN, ()) if long_flag(item) not in declared]
    flags = {
        long_flag(item)
        for section, options in sections.items()
        if section is not Section.OWN
        for item in options
    }
    if not analysis.command:
        flags = {item.flag for item in analysis.shared}
    # An option that the command declares for itself under the name of a shared one.
    flags -= {item.flag for item in analysis.options} & {item.flag for item in SHARED}
    shared = SharedText(
        frozenset(map(meaning, shared_columns())), frozenset(flags), _owners_of_tables()
    )
    text = reference(analysis, _help_rows(own), example(analysis.name, printed), shared)
    title, remainder = text.split("\n", 1)
    return f"{title}\n{_MARK}\n{remainder.rstrip()}\n"


@cache
def _owners_of_tables() -> Mapping[type[Row], str]:
    """Return the analysis that describes a table: of those that have it, the one with fewest.

    Audit describes only its own tables: a user looks for leftovers on the page of leftovers.
    """
    result: dict[type[Row], str] = {}
    names = sorted(analyses.names(), key=lambda name: len(analyses.load(name).tables))
    for name in sorted(names, key=lambda name: name == "audit"):
        for table in analyses.load(name).tables:
            result.setdefault(table, name)
    return result


def _sections(analysis: Analysis) -> dict[Section, list[click.Option]]:
    if not analysis.command:
        return {}
    return options_by_section(command_of(analysis).params)


def _help_rows(options: Iterable[click.Option]) -> list[CommandOption]:
    context = click.Context(group)
    records = [item.get_help_record(context) for item in options]
    return [CommandOption(*record) for record in records if record is not None]


def command_list() -> str:
    """Return a line for each command, in the order of the help, and for calls of the API alone."""
    names = [name for name in commands() if name not in WITHOUT_ANALYSIS]
    calls = [name for name in analyses.names() if name not in names]
    first = (_command(SERVE).help or "").split("\n")[0]
    served = f"- [{SERVE}](commands/{SERVE}.md): {first}"
    return "\n".join([*map(_line, names), served, *map(_line, calls)])


def _line(name: str) -> str:
    analysis = analyses.load(name)
    more = "" if analysis.command else " A call in Python, no command."
    return f"- [{name}](commands/{name}.md): {analysis.text.split(chr(10))[0]}{more}"


def shared_options() -> str:
    """Return the options that several commands have, by the sections of the help.

    In a section the options of all commands come first, then those of some commands, by commands.
    """
    options: dict[Section, dict[str, click.Option]] = {section: {} for section in Section}
    users: dict[str, dict[str, str]] = {}
    declared = {item.flag: item for item in SHARED}
    for name in _command_names():
        analysis = analyses.load(name)
        redefined = {item.flag for item in analysis.options} & set(declared)
        for section, result in _sections(analysis).items():
            for item in [item for item in result if long_flag(item) not in redefined]:
                known = options[section].get(long_flag(item))
                options[section][long_flag(item)] = _with_choices(item, of=known)
                if section is not Section.OWN:
                    default = item.default if isinstance(item.default, str) else ""
                    users.setdefault(long_flag(item), {})[name] = default
    lines: list[str] = []
    first_flags: dict[str, str] = {}  # text on the users of an option -> first option with it
    for section in [entry for entry in Section if entry is not Section.OWN]:
        lines += ["", f"### {section.value}", ""]
        lines_by_users: dict[str, list[str]] = {"": []}
        for flag, option in options[section].items():
            default = _default_text(users[flag])
            if flag in declared:
                line = option_line(declared[flag], default or None)
            else:
                (row,) = _help_rows([option])
                line = _help_line(row, default)
            text = _users_text(users[flag])
            first = first_flags.setdefault(text, flag)
            if text not in lines_by_users and len(text.split()) > _MANY_WORDS:
                text = text if first == flag else f"All that have `{first}`:"
            lines_by_users.setdefault(text, []).append(line)
        for text, entries in lines_by_users.items():
            lines += [text, *([""] if text else []), *entries, *([""] if entries else [])]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines))


def _command_names() -> list[str]:
    return [name for name in analyses.names() if analyses.load(name).command]


def _users_text(users: Collection[str]) -> str:
    """Return a line with the commands that have an option, or that lack it; "" if all have it."""
    others = [name for name in _command_names() if name not in users]
    if not others:
        return ""
    is_rare = len(users) <= len(others)
    return f"Only {', '.join(users)}:" if is_rare else f"All except {', '.join(others)}:"


def _default_text(defaults: Mapping[str, str]) -> str:
    """Return the defaults of an option, each with its commands; "" if they have one default."""
    commands: dict[str, list[str]] = {}
    for name, default in defaults.items():
        commands.setdefault(default, []).append(name)
    if len(commands) == 1 or "" in commands:
        return ""
    *few, (frequent, _) = sorted(commands.items(), key=lambda item: len(item[1]))
    stated = [f"`{text}` for {' and '.join(names)}" for text, names in few]
    return ", ".join([*stated, f"else `{frequent}`"])


def _with_choices(option: click.Option, of: click.Option | None) -> click.Option:
    """Return an option with the choices that it has in a command or in those before (``of``)."""
    known, new = [_choices(item) for item in (of, option)]
    if of is None or set(new) <= set(known):
        return of or option
    every = copy(of)
    every.type = click.Choice([*known, *(choice for choice in new if choice not in known)])
    return every


def _choices(option: click.Option | None) -> Sequence[str]:
    """Return the choices of an option; none if it has other values or there is no option."""
    return option.type.choices if option and isinstance(option.type, click.Choice) else ()


def _help_line(option: CommandOption, default: str) -> str:
    text, _, bracket = option.meaning.partition("  [")
    display = re.split("[];]", bracket.removeprefix("default: "))[0] if "default" in bracket else ""
    notes = [f"default {default or display}"] if default or display else []
    return spelled_line(option.spelling, notes, text)


@cache
def shared_columns() -> list[Column]:
    """Return the columns that have one meaning in tables of many analyses, by name.

    Only the most frequent meaning of a name is shared, and only if the name says it: a page has
    the meaning of all its other columns.
    """
    columns: dict[Meaning, Column] = {}
    frequency: Counter[Meaning] = Counter()
    for name in analyses.names():
        for table in analyses.load(name).tables:
            for column in table.columns():
                columns.setdefault(meaning(column), column)
                frequency[meaning(column)] += 1
    result: dict[str, Column] = {}
    for key, _ in frequency.most_common():
        if key[0] in _CLEAR_NAMES or QUANTILE.search(key[0]):
            result.setdefault(key[0], columns[key])
    return [result[name] for name in sorted(result)]


_QUANTILES_TEXT = (
    "Percentiles (nearest rank) and maximum of the bytes of a row's key, value or both."
)


def column_list() -> str:
    """Return the table of the shared columns; all quantiles share one line."""
    columns = shared_columns()
    entries = [column_entry(column) for column in columns if not QUANTILE.search(column.name)]
    quantiles = [column.name.rpartition("_") for column in columns if QUANTILE.search(column.name)]
    stems = [f"`{stem}_*`" for stem in dict.fromkeys(stem for stem, _, _ in quantiles)]
    ends = [f"`{end}`" for end in dict.fromkeys(end for _, _, end in quantiles)]
    entries.append((f"{', '.join(stems)} (`*` is {', '.join(ends)})", _QUANTILES_TEXT))
    return "\n".join(meaning_table("column", entries))
