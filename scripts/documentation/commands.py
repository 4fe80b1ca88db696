"""The pages of the commands, and what they share: options and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cache

import click
from documentation.examples import example
from documentation.reference import (
    COLUMN_HEAD,
    OPTION_HEAD,
    CommandOption,
    Meaning,
    SharedText,
    column_row,
    meaning,
    option_row,
    reference,
)

from inspector import analyses
from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.options import SHARED
from inspector.cli.commands import command_of
from inspector.cli.help_pages import Section, long_flag, options_by_section
from inspector.cli.main import EXPLAIN, commands
from inspector.cli.main import inspector as group
from inspector.render.tabular import Column

FOLDER = "reference/commands"
"""Folder of the pages, below the documentation."""

_MARK = "<!-- Made by scripts/refresh_docs.py from inspector/analyses/{}.py -->"
_BY_COMMAND = "see the command"  # default of an option, if it differs from command to command
_SEVERAL = 2  # analyses whose tables have a column that is described once for all of them


def command_pages(printed: Callable[[list[str]], str]) -> dict[str, str]:
    """Return the page of each analysis by its path below the documentation, without ``.md``.

    Args:
        printed: returns the output of ``inspector`` for these arguments.
    """
    return {f"{FOLDER}/{name}": _page(analyses.load(name), printed) for name in analyses.names()}


def _page(analysis: Analysis, printed: Callable[[list[str]], str]) -> str:
    sections = _sections(analysis)
    declared = {element.flag for element in analysis.options}
    own = [item for item in sections.get(Section.OWN, ()) if long_flag(item) not in declared]
    flags = {
        section.value: {long_flag(option): _own_default(option) for option in options}
        for section, options in sections.items()
        if section is not Section.OWN
    }
    shared = SharedText(frozenset(map(meaning, shared_columns())), flags)
    text = reference(analysis, _help_rows(own), example(analysis.name, printed), shared)
    title, remainder = text.split("\n", 1)
    return f"{title}\n{_MARK.format(analysis.name)}\n{remainder.rstrip()}\n"


def _sections(analysis: Analysis) -> dict[Section, list[click.Option]]:
    if not analysis.command:
        return {}
    return options_by_section(command_of(analysis).params)


def _help_rows(options: Iterable[click.Option]) -> list[CommandOption]:
    context = click.Context(group)
    records = [option.get_help_record(context) for option in options]
    return [CommandOption(*record) for record in records if record is not None]


def command_list() -> str:
    """Return a line for each command, in the order of the help, and for calls of the API alone."""
    names = [name for name in commands() if name != EXPLAIN]
    calls = [name for name in analyses.names() if name not in names]
    return "\n".join(["| command | what it shows |", "|---|---|", *map(_line, [*names, *calls])])


def _line(name: str) -> str:
    analysis = analyses.load(name)
    options = "" if analysis.command else " A call of `inspector.api`, and no command."
    return f"| [{name}](commands/{name}.md) | {analysis.text.split(chr(10))[0]}{options} |"


def shared_options() -> str:
    """Return the options that several commands have, by the sections of the help."""
    options: dict[Section, dict[str, click.Option]] = {section: {} for section in Section}
    for name in analyses.names():
        for section, result in _sections(analyses.load(name)).items():
            for entry in result:  # the longest list of choices is that of all formats
                actual = options[section].get(long_flag(entry))
                options[section][long_flag(entry)] = max(actual or entry, entry, key=_choices)
    declared = {element.flag: element for element in SHARED}
    lines: list[str] = []
    for section in [item for item in Section if item is not Section.OWN]:
        lines += ["", f"### {section.value}", "", *OPTION_HEAD]
        for flag, option in options[section].items():
            default = _BY_COMMAND if _own_default(option) else None
            if flag in declared:
                name = f"Options.{declared[flag].name}"
                lines.append(option_row(declared[flag], name, default))
            else:
                (row,) = _help_rows([option])
                lines.append(_help_row(row, default))
    return "\n".join(lines)


@cache
def _defaults() -> Mapping[str, Set[str]]:
    """Return the defaults of each shared option over all commands."""
    result: dict[str, set[str]] = {}
    for name in analyses.names():
        for options in _sections(analyses.load(name)).values():
            for option in options:
                result.setdefault(long_flag(option), set()).add(str(option.default))
    return result


def _own_default(option: click.Option) -> str:
    """Return the default of an option whose default differs from command to command, else ""."""
    differs = len(_defaults()[long_flag(option)]) > 1
    return option.default if differs and isinstance(option.default, str) else ""


def _choices(option: click.Option) -> int:
    return len(option.type.choices) if isinstance(option.type, click.Choice) else 0


def _help_row(option: CommandOption, default: str | None) -> str:
    spelling, text = (item.replace("|", "\\|") for item in (option.spelling, option.meaning))
    text, _, notes = text.partition("  [")
    display = notes.removeprefix("default: ").partition("]")[0] if "default" in notes else ""
    return f"| `{spelling}` |  | {default or display} | {text} |"


@cache
def shared_columns() -> list[Column]:
    """Return the columns that have one meaning in tables of several analyses, by name.

    Of a name with several meanings only the most frequent is shared.
    """
    columns: dict[Meaning, Column] = {}
    users: dict[Meaning, set[str]] = {}
    frequency: Counter[Meaning] = Counter()
    for name in analyses.names():
        for table in analyses.load(name).tables:
            for column in table.columns():
                columns.setdefault(meaning(column), column)
                users.setdefault(meaning(column), set()).add(name)
                frequency[meaning(column)] += 1
    result: dict[str, Column] = {}
    for key, _ in frequency.most_common():
        if len(users[key]) >= _SEVERAL:
            result.setdefault(key[0], columns[key])
    return [result[name] for name in sorted(result)]


def column_list() -> str:
    """Return the table of the shared columns."""
    return "\n".join([*COLUMN_HEAD, *map(_unmarked, shared_columns())])


def _unmarked(column: Column) -> str:
    return column_row(column).replace("\\*", "", 1)
