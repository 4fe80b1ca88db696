"""Rules on the command line and in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import Outcome, checkpoint_of, run

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
    [
        ("limits = 3", "no option 'limits', did you mean 'limit'?"),
        ("limit = ", "rules.toml"),
        ("config = 'x'", "config"),
        ("a = " + "[" * 50_000, "rules.toml"),
        ("#" * (1 << 20) + "\n", "more than 1,048,576 bytes"),
    ],
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


# --- pyproject.toml and the environment ----------------------------------------------------------

LEAK = checkpoint_of("agg_complete")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's file, and a folder in it as the working folder."""
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    return tmp_path / "pyproject.toml"


def gates(outcome: Outcome) -> dict[str, float]:
    return {row["metric"]: row["most"] for row in outcome.json["tables"].get("gates", ())}


def test_a_project_has_options_for_all_commands_and_for_one(project: Path) -> None:
    project.write_text(
        '[project]\nname = "x"\n[tool.inspector]\noutput = "json"\ntimeout-kind = "event"\n'
        '[tool.inspector.audit]\nfail-on = "never"\nmax = { "state.bytes" = "1GiB" }\n'
    )
    outcome = run("audit", LEAK)
    assert (outcome.code, gates(outcome)) == (0, {"state.bytes": 1 << 30})
    assert run("info", LEAK).json["command"] == "info"


def test_what_is_nearer_counts_more(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write_text('[tool.inspector.audit]\nmax = ["state.rows=1"]\noutput = "json"\n')
    assert gates(run("audit", LEAK)) == {"state.rows": 1}
    file = tmp_path / "rules.toml"
    file.write_text('max = ["state.rows=2"]\n')
    assert gates(run("audit", LEAK, "--config", file)) == {"state.rows": 2}
    monkeypatch.setenv("INSPECTOR_AUDIT_MAX", "state.rows=3 state.bytes=1KiB")
    assert gates(run("audit", LEAK, "--config", file)) == {"state.rows": 3, "state.bytes": 1024}
    assert gates(run("audit", LEAK, "--max", "state.rows=4")) == {"state.rows": 4}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("fail-onn = 'never'", "did you mean 'fail-on'?"),
        ("[tool.inspector.audit]\nlimit = 3", "no option 'limit'"),
        ("[tool.inspector.audits]\nlimit = 3", "no option 'audits'"),
    ],
)
def test_a_name_that_no_command_has_is_an_error(project: Path, content: str, said: str) -> None:
    project.write_text(content if "tool" in content else f"[tool.inspector]\n{content}\n")
    outcome = run("audit", LEAK)
    assert outcome.code == 2
    assert said in outcome.err
    assert str(project) in outcome.err


@pytest.mark.parametrize(
    "content", ["[tool.other]\nx = 1\n", "[tool]\ninspector = 3\n", "tool = 3\n", "broken = "]
)
def test_a_project_of_others_says_nothing(project: Path, content: str) -> None:
    project.write_text(content)
    assert run("info", LEAK).code == 0


def test_an_option_of_another_command_is_left_to_it(project: Path) -> None:
    project.write_text('[tool.inspector]\nfail-on = "never"\nretain = 3\n')
    assert run("audit", LEAK).code == 0
    assert run("memory", LEAK, "-o", "json").json["summary"]["retained_versions"] == 3
