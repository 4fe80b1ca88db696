"""Help of the commands: one screen, or every option."""

from __future__ import annotations

import re

import click
import pytest

from inspector.cli.help_pages import MOST_USED, SECTIONS, Section
from inspector.cli.main import EXPLAIN, inspector
from tests.cli.support import run, spellings

SCREEN_LINES = 50
COMMANDS = sorted(set(inspector.list_commands(click.Context(inspector))) - {EXPLAIN})


def help_of(command: str, option: str) -> str:
    outcome = run(command, option)
    assert outcome.code == 0
    return outcome.out


@pytest.mark.parametrize("command", COMMANDS)
def test_short_help_fits_one_screen(command: str) -> None:
    assert len(help_of(command, "--help").splitlines()) <= SCREEN_LINES


def test_short_help_of_audit_names_every_option() -> None:
    command = inspector.get_command(click.Context(inspector), "audit")
    assert command is not None
    text = help_of("audit", "--help")
    flags = set(re.findall(r"--[\w-]+", " ".join(spellings(command))))
    assert flags <= set(re.findall(r"--[\w-]+", text))


def test_short_help_has_main_clauses_without_details() -> None:
    text = help_of("audit", "--help")
    assert "  --threshold NAME=VALUE          Threshold of a finding.\n" in text
    assert "Also --timeout-kind, --event-time-field, --operator-rule, --join-retention" in text
    assert text.endswith("inspector audit --help-all describes every option.\n")


def test_full_help_has_details_and_defaults() -> None:
    text = help_of("audit", "--help-all")
    assert "skew_ratio=5" in text
    assert "--timeout-kind [event|processing]" in text
    assert "[default: warning]" in text
    assert "Also --" not in text


@pytest.mark.parametrize("option", ["--help", "--help-all"])
def test_help_lists_options_in_sections(option: str) -> None:
    titles = re.findall(r"^(\S.*):$", help_of("audit", option), re.MULTILINE)
    assert titles == ["Options", "What to read", "How to judge", "Output", "Where to run"]


def test_help_sections_name_existing_flags() -> None:
    context = click.Context(inspector)
    commands = [inspector.get_command(context, name) or click.Command(name) for name in COMMANDS]
    flags = set().union(*map(spellings, commands))
    assert set(SECTIONS) - flags == set()
    assert MOST_USED - flags == set()
    assert Section.OWN not in SECTIONS.values()
