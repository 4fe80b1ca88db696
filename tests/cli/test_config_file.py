"""Option values from the file that ``--config`` names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import Outcome, checkpoint_of, run

JOIN = checkpoint_of("join_left_outer")


def test_config_file_sets_options(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('join-retention = ["left=10s"]\noutput = "ndjson"\n')
    outcome = run("leftovers", JOIN, "--join-retention", "left=10s", "-o", "ndjson")
    assert len(outcome.ndjson) == 20
    assert run("leftovers", JOIN, "--config", file).out == outcome.out


def test_command_line_precedes_the_config_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('[join-retention]\nleft = "10s"\n')
    outcome = run(
        "leftovers", JOIN, "--config", file, "--join-retention", "left=20s", "-o", "ndjson"
    )
    assert outcome.ndjson == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("limits = 3", "no option 'limits', did you mean 'limit'?"),
        ("limit = ", "rules.toml"),
        ("config = 'x'", "config"),
        ("a = " + "[" * 50_000, "rules.toml"),
        ("#" * (1 << 20) + "\n", "more than 1,048,576 bytes"),
    ],
)
def test_invalid_config_file_is_a_usage_error(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(content)
    outcome = run("leftovers", JOIN, "--config", file)
    assert outcome.code == 2
    assert message in outcome.err


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
def test_invalid_rule_option_is_a_usage_error(option: tuple[str, str]) -> None:
    outcome = run("leftovers", JOIN, *option)
    assert outcome.code == 2
    assert outcome.out == ""


# --- pyproject.toml and the environment ----------------------------------------------------------

LEAK = checkpoint_of("agg_complete")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Path of a ``pyproject.toml`` that does not exist yet."""
    return tmp_path / "pyproject.toml"


def gates(outcome: Outcome) -> dict[str, float]:
    return {row["metric"]: row["most"] for row in outcome.json["tables"].get("gates", ())}


def test_named_pyproject_sets_options_of_all_commands_and_of_one(project: Path) -> None:
    project.write_text(
        '[project]\nname = "x"\n[tool.inspector]\noutput = "json"\ntimeout-kind = "event"\n'
        '[tool.inspector.audit]\nfail-on = "never"\nmax = { "state.bytes" = "1GiB" }\n'
    )
    outcome = run("audit", LEAK, "--config", project)
    assert (outcome.code, gates(outcome)) == (0, {"state.bytes": 1 << 30})
    assert run("info", LEAK, "--config", project).json["command"] == "info"


def test_command_line_wins_over_environment_and_environment_over_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('max = ["state.rows=2"]\noutput = "json"\n')
    assert gates(run("audit", LEAK, "--config", file)) == {"state.rows": 2}
    monkeypatch.setenv("INSPECTOR_AUDIT_MAX", "state.rows=3 state.bytes=1KiB")
    outcome = run("audit", LEAK, "--config", file)
    assert gates(outcome) == {"state.rows": 3, "state.bytes": 1024}
    outcome = run("audit", LEAK, "--config", file, "--max", "state.rows=4")
    assert gates(outcome) == {"state.rows": 4}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("fail-onn = 'never'", "did you mean 'fail-on'?"),
        ("[tool.inspector.audit]\nlimit = 3", "no option 'limit'"),
        ("[tool.inspector.audits]\nlimit = 3", "no option 'audits'"),
    ],
)
def test_unknown_option_name_is_a_usage_error(project: Path, content: str, message: str) -> None:
    project.write_text(content if "tool" in content else f"[tool.inspector]\n{content}\n")
    outcome = run("audit", LEAK, "--config", project)
    assert outcome.code == 2
    assert message in outcome.err
    assert str(project) in outcome.err


@pytest.mark.parametrize(
    "content", ["[tool.other]\nx = 1\n", "[tool]\ninspector = 3\n", "tool = 3\n"]
)
def test_pyproject_without_table_of_the_inspector_sets_nothing(project: Path, content: str) -> None:
    project.write_text(content)
    assert run("info", LEAK, "--config", project).code == 0


def test_option_of_another_command_is_ignored(project: Path) -> None:
    project.write_text('[tool.inspector]\nfail-on = "never"\nretain = 3\n')
    assert run("audit", LEAK, "--config", project).code == 0
    outcome = run("memory", LEAK, "-o", "json", "--config", project)
    assert outcome.json["summary"]["retained_versions"] == 3


def test_named_file_sets_output_file(project: Path, tmp_path: Path) -> None:
    target = tmp_path / "made"
    project.write_text(f'[tool.inspector]\noutput-file = "{target}"\noutput = "json"\n')
    outcome = run("info", JOIN, "--config", project)
    assert outcome.out == ""
    assert target.read_text().startswith("{")
    assert outcome.err == ""


def test_verbose_prints_option_file_in_use(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("wide = true\n")
    assert run("info", JOIN, "--config", file).err == ""
    messages = run("info", JOIN, "--config", file, "-v").err.splitlines()
    assert messages == [f"options: {file}"]


@pytest.mark.parametrize("folder", [".", "below"])
def test_pyproject_that_is_not_named_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.inspector]\noutput = "json"\nunknown = 1\n')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / folder)
    outcome = run("info", JOIN, "-v")
    assert outcome.code == 0
    assert not outcome.out.startswith("{")
    assert outcome.err == ""
