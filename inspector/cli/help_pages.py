"""Help of the commands: a short form that fits one screen, and the full form.

``--help`` describes the options of the command itself and the most used shared options, in one
clause option, and lists the names of all others. ``--help-all`` describes every option. Both have
the sections that the documentation has (:class:`Section`).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from typing import Any

import click


class Section(enum.Enum):
    """Part of the help in which an option is described; the value is its title."""

    OWN = "Options"
    READ = "What to read"
    JUDGE = "How to judge"
    OUTPUT = "Output"
    RUN = "Where to run"


# long flags of shared options, by section
_FLAGS: Mapping[Section, str] = {
    Section.READ: "--recursive --batch --state-version --operator --store --partition --key --where"
    " --key-schema --value-schema --storage-option --provider-format",
    Section.JUDGE: "--fail-on --threshold --timeout-kind --event-time-field --operator-rule"
    " --join-retention",
    Section.OUTPUT: "--output --output-file --force --html --history --history-format --details"
    " --level --finding --limit --redact --wide --color --quiet --no-progress --verbose",
    Section.RUN: "--engine --master --conf --io --workers --at-once --memory-limit --cache"
    " --config",
}
SECTIONS: Mapping[str, Section] = {
    flag: section for section, flags in _FLAGS.items() for flag in flags.split()
}
"""Flag of an option that several commands share -> its section. All others are ``Section.OWN``."""

MOST_USED = frozenset(
    (
        *("--recursive", "--batch", "--operator", "--store", "--partition", "--key", "--where"),
        *("--fail-on", "--threshold", "--output", "--output-file", "--redact", "--html"),
        *("--limit", "--master"),
    )
)
"""Shared options that the short help describes."""

_ALL_OPTIONS = "inspector.all_options"  # key in ``click.Context.meta``: the full help is requested
_DETAIL = re.compile(r"\.? +\[(?:default|x[<>]=).*|\. .*|[;:] .*|, such as .*|\.$")
"""End of a description that only the full help has: defaults, details and examples."""


class HelpfulCommand(click.Command):
    """Command with ``--help`` for one screen and ``--help-all`` for everything."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return all parameters, with ``--help-all`` as the last."""
        return [*super().get_params(ctx), _help_all_option()]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does; in the short help only the first paragraph."""
        text = self.help or ""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text if ctx.meta.get(_ALL_OPTIONS) else text.split("\n\n")[0])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section; the short help describes some and names the others."""
        full = bool(ctx.meta.get(_ALL_OPTIONS))
        for section, options in options_by_section(self.get_params(ctx)).items():
            described = [option for option in options if full or _is_described(option, section)]
            records = [_record(option, ctx, full=full) for option in described]
            names = [long_flag(option) for option in options if option not in described]
            with formatter.section(section.value):
                if records:
                    formatter.write_dl(records)
                if names:
                    formatter.write_text(f"Also {', '.join(names)}")
        if not full:
            formatter.write_paragraph()
            formatter.write_text(f"{ctx.command_path} --help-all describes every option.")


def options_by_section(parameters: Iterable[click.Parameter]) -> dict[Section, list[click.Option]]:
    """Return the options of each section, in the order of ``Section`` and of the parameters.

    Sections without an option are left out.
    """
    options = [option for option in parameters if isinstance(option, click.Option)]
    sections = {section: [o for o in options if section_of(o) is section] for section in Section}
    return {section: members for section, members in sections.items() if members}


def section_of(option: click.Option) -> Section:
    """Return the section of an option; an option that only one command has is ``Section.OWN``."""
    return SECTIONS.get(long_flag(option), Section.OWN)


def long_flag(option: click.Option) -> str:
    """Return the long spelling of an option, such as ``--output``."""
    return next(flag for flag in reversed(option.opts) if flag.startswith("--"))


def _is_described(option: click.Option, section: Section) -> bool:
    """True if the short help describes the option, in place of naming it."""
    return section is Section.OWN or long_flag(option) in MOST_USED


def _record(option: click.Option, ctx: click.Context, *, full: bool) -> tuple[str, str]:
    """Return spelling and description of an option; not ``full``: only the main clause."""
    record = option.get_help_record(ctx)
    assert record is not None, option
    spelling, text = record
    if full:
        return spelling, text
    return spelling, f"{_DETAIL.sub('', text, count=1)}."


def _help_all_option() -> click.Option:
    """Return the option ``--help-all``."""
    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_all,
        help="Describe every option and exit.",
    )


def _show_all(context: click.Context, _parameter: object, value: Any) -> None:
    """Print the full help and end the process, if the option is given."""
    if value and not context.resilient_parsing:
        context.meta[_ALL_OPTIONS] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()
