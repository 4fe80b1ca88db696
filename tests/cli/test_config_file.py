"""Rules on the command line and in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import checkpoint_of, run

JOIN = checkpoint_of("join_left_outer")


def test_a_file_holds_what_the_command_line_can_say(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('join-retention = ["left=10s"]\noutput = "ndjson"\n')
    said = run("leftovers", JOIN, "--join-retention", "left=10s", "-o", "ndjson")
    assert len(said.ndjson) == 20
    assert run("leftovers", JOIN, "--config", file).out == said.out


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('[join-retention]\nleft = "10s"\n')
    outcome = run(
        "leftovers", JOIN, "--config", file, "--join-retention", "left=20s", "-o", "ndjson"
    )
    assert outcome.ndjson == []


@pytest.mark.parametrize(
    ("content", "said"),
    [("limits = 3", "no option 'limits'"), ("limit = ", "rules.toml"), ("config = 'x'", "config")],
)
def test_a_file_that_is_wrong_is_a_usage_error(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(content)
    outcome = run("leftovers", JOIN, "--config", file)
    assert outcome.code == 2
    assert said in outcome.err


@pytest.mark.parametrize(
    "option",
    [
        ("--operator-rule", "7=never"),
        ("--operator-rule", "0=sometimes"),
        ("--event-time-field", "0=nope"),
        ("--join-retention", "left=soon"),
        ("--config", "/nowhere.toml"),
    ],
)
def test_a_rule_that_cannot_be_is_a_usage_error(option: tuple[str, str]) -> None:
    outcome = run("leftovers", JOIN, *option)
    assert outcome.code == 2
    assert outcome.out == ""
