"""Rules on the command line and in a file."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from inspector.cli.terminal import ViewOption
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


# --- files that were merely found -----------------------------------------------------------------

HARMFUL = """[tool.inspector]
output-file = "made"
force = true
engine = "spark"
master = "local[1]"
workers = 3
output = "ndjson"
[tool.inspector.conf]
"spark.driver.extraJavaOptions" = "-XX:OnError=touch"
[tool.inspector.storage-option]
endpoint_url = "http://192.0.2.1"
"""
NOBODY = 65534


def test_a_file_that_was_found_sets_only_the_view(project: Path) -> None:
    project.write_text(HARMFUL)
    outcome = run("leftovers", JOIN, "--join-retention", "left=10s")
    assert len(outcome.ndjson) == 20
    assert not (project.parent / "src" / "made").exists()
    (warning,) = [line for line in outcome.err.splitlines() if "does not set" in line]
    assert (
        "does not set conf, engine, force, master, output-file, storage-option, workers:" in warning
    )
    assert "does not set" not in run("leftovers", JOIN, "-q").err


def test_a_file_that_is_named_sets_everything(project: Path) -> None:
    project.write_text('[tool.inspector]\noutput-file = "made"\noutput = "json"\n')
    outcome = run("info", JOIN, "--config", project)
    assert outcome.out == ""
    assert (project.parent / "src" / "made").read_text().startswith("{")
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("command", "setting", "shown"),
    [
        ("audit", "none", False),  # it redacts by itself
        ("audit", "all", False),
        ("leftovers", "none", True),  # it shows what its user asked for
        ("leftovers", "hash", False),
    ],
)
def test_a_file_that_was_found_may_redact_more_and_never_less(
    project: Path, command: str, setting: str, shown: bool
) -> None:
    project.write_text(f'[tool.inspector]\nredact = "{setting}"\n')
    outcome = run(command, LEAK, "-o", "json")
    assert ("user-" in outcome.out) == shown
    assert ("does not set redact" in outcome.err) == (command == "audit" and setting == "none")
    named = run(command, LEAK, "-o", "json", "--config", project)
    assert ("user-" in named.out) == (setting == "none")


def test_only_options_that_are_declared_as_views_are_set_by_a_found_file() -> None:
    from inspector import analyses
    from inspector.cli.commands import command_of

    views: dict[str, bool] = {}
    for name in analyses.names():
        for each in command_of(analyses.load(name)).params:
            if isinstance(each, click.Option) and each.name is not None:
                views[each.name] = views.get(each.name, False) or isinstance(each, ViewOption)
    acting = {
        *("output_file", "force", "html", "prometheus", "baseline", "form", "recursive", "at_once"),
        *("engine", "master", "conf", "io", "storage_option", "workers", "memory_limit"),
        *("key_schema", "value_schema"),
    }
    assert acting <= views.keys()
    assert not [name for name in acting if views[name]]
    assert views["timeout_kind"]
    assert views["fail_on"]


def others(monkeypatch: pytest.MonkeyPatch, path: Path, owner: int) -> None:
    """Let a path belong to somebody else, also where the tests may not give it away."""

    def changed(status: os.stat_result) -> os.stat_result:
        if (status.st_ino, status.st_dev) != (target.st_ino, target.st_dev):
            return status
        return os.stat_result((*status[:4], owner, *status[5:]))

    target = os.lstat(path)
    for name in ("stat", "lstat", "fstat"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, real=real, **k: changed(real(*a, **k)))


@pytest.mark.parametrize("part", ["file", "folder", "link"])
def test_a_file_that_others_own_is_not_used(
    project: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    if part == "link":
        (project.parent / "real.toml").write_text('[tool.inspector]\noutput = "json"\n')
        project.symlink_to("real.toml")
    else:
        project.write_text('[tool.inspector]\noutput = "json"\n')
    assert run("info", JOIN).out.startswith("{")
    others(monkeypatch, project.parent if part == "folder" else project, NOBODY)
    outcome = run("info", JOIN, "-v")
    assert not outcome.out.startswith("{")
    assert f"{project} is not used: user {NOBODY} owns" in outcome.err
    assert outcome.err.count("is not used") == 1
    assert run("info", JOIN, "--config", project).out.startswith("{")


@pytest.mark.parametrize(
    ("of_folder", "mode"), [(False, 0o620), (False, 0o602), (True, 0o770), (True, 0o1777)]
)
def test_a_file_that_others_can_write_is_not_used(
    project: Path, *, of_folder: bool, mode: int
) -> None:
    project.write_text('[tool.inspector]\noutput = "json"\n')
    (project.parent if of_folder else project).chmod(mode)
    outcome = run("info", JOIN)
    assert not outcome.out.startswith("{")
    assert "others than its owner can write to" in outcome.err


def test_what_is_used_is_said_on_demand(project: Path, tmp_path: Path) -> None:
    project.write_text('[tool.inspector]\noutput = "json"\n')
    file = tmp_path / "rules.toml"
    file.write_text("wide = true\n")
    assert run("info", JOIN, "--config", file).err == ""
    said = run("info", JOIN, "--config", file, "-v").err.splitlines()
    assert said == [f"options: {project}", f"options: {file}"]


def test_the_name_of_a_refused_folder_is_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a\x1b[31m"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.inspector]\nwide = true\n")
    folder.chmod(0o777)
    monkeypatch.chdir(folder)
    outcome = run("info", JOIN)
    assert "is not used" in outcome.err
    assert "\x1b" not in outcome.err


def test_a_pipe_is_not_waited_for(project: Path) -> None:
    os.mkfifo(project)
    assert run("info", JOIN).code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_in_a_shared_folder_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    shared.chmod(0o1777)
    file = shared / "pyproject.toml"
    file.write_text(HARMFUL)
    os.chown(file, NOBODY, NOBODY)
    monkeypatch.chdir(shared / "mine")
    outcome = run("info", JOIN)
    assert (outcome.code, (shared / "mine" / "made").exists()) == (0, False)
    assert f"user {NOBODY} owns" in outcome.err
