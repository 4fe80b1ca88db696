"""The reference of commands: a page for each analysis, and the overview of them all."""

from __future__ import annotations

from collections.abc import Iterable

import click
from documentation.reference import CommandOption, reference

from inspector import analyses
from inspector.analyses.shared.declare import Analysis
from inspector.cli.click_options import report_options
from inspector.cli.commands import command_of
from inspector.cli.main import EXPLAIN, commands
from inspector.cli.main import inspector as group

FOLDER = "reference/commands"
"""Where the pages are, below the documentation."""

_MARK = "<!-- Made by scripts/refresh_docs.py from inspector/analyses/{}.py -->"


def command_pages() -> dict[str, str]:
    """Each analysis' page by its path below the documentation, without ``.md``."""
    return {f"{FOLDER}/{name}": _page(analyses.load(name)) for name in analyses.names()}


def _page(analysis: Analysis) -> str:
    title, rest = reference(analysis, _more(analysis)).split("\n", 1)
    return f"{title}\n{_MARK.format(analysis.name)}\n{rest.rstrip()}\n"


def _more(analysis: Analysis) -> list[CommandOption]:
    """The options of its command that neither it declares nor all have."""
    if not analysis.command:
        return []
    declared = {each.flag for each in (*analysis.options, *analysis.shared)}
    of_command = _options(command_of(analysis).params)
    return [
        each
        for flag, each in of_command.items()
        if flag not in declared and each not in _common().values()
    ]


def _common() -> dict[str, CommandOption]:
    return _options(report_options(()))


def _options(parameters: Iterable[click.Parameter]) -> dict[str, CommandOption]:
    """Options as the help shows them, by their long spelling."""
    context = click.Context(group)
    records = {each.opts[-1]: each.get_help_record(context) for each in parameters}
    return {
        flag: CommandOption(*record)
        for flag, record in records.items()
        if record is not None and flag.startswith("--")
    }


def command_list() -> str:
    """A line for each command, in the order of the help, and for the calls that are none."""
    names = [name for name in commands() if name != EXPLAIN]
    calls = [name for name in analyses.names() if name not in names]
    return "\n".join(["| command | what it shows |", "|---|---|", *map(_line, [*names, *calls])])


def _line(name: str) -> str:
    analysis = analyses.load(name)
    more = "" if analysis.command else " A call of `inspector.api`, and no command."
    return f"| [{name}](commands/{name}.md) | {analysis.text.split(chr(10))[0]}{more} |"


def output_options() -> str:
    """The options of output that all commands have."""
    rows = [f"| `{_cell(each.spelling)}` | {each.meaning} |" for each in _common().values()]
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
