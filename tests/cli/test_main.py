"""The command ``inspector``: help, suggestions, start-up and completion."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from inspector import __version__
from inspector.cli.main import HELP_ORDER, commands, inspector
from tests.cli.support import ELSEWHERE, checkpoint_of, run
from tests.fixture_folder import REPOSITORY
from tests.profiles import sampled


def test_commands_tested_elsewhere_exist() -> None:
    assert set(ELSEWHERE) < set(commands())


def test_help_orders_commands_by_job_and_name() -> None:
    named, siblings = commands()[: len(HELP_ORDER)], commands()[len(HELP_ORDER) :]
    assert tuple(named) == HELP_ORDER
    assert siblings == sorted(siblings)


def test_help_lists_every_command_with_its_job() -> None:
    outcome = run("--help")
    jobs = outcome.out.partition("Commands:")[2]
    assert "..." not in jobs
    assert outcome.code == 0
    assert outcome == run("-h")
    listed = re.findall(r"^  ([a-z]+) +\S+ \S+ \S+", outcome.out, re.M)
    assert sorted({*listed} & {*commands()}) == sorted(commands())


@pytest.mark.parametrize("name", commands())
def test_every_command_and_option_has_help(name: str) -> None:
    command = inspector.get_command(click.Context(inspector), name)
    assert command is not None
    assert (command.name, bool(command.help)) == (name, True)
    assert all(p.help for p in command.params if isinstance(p, click.Option))


def test_path_instead_of_command_names_audit() -> None:
    path = str(checkpoint_of("agg_update"))
    outcome = run(path)
    assert outcome.code == 2
    assert f"Did you mean `inspector audit {path}`?" in outcome.err


def test_unknown_command_names_the_command() -> None:
    outcome = run("explode", checkpoint_of("agg_update"))
    assert outcome.code == 2
    assert "Unknown command 'explode'" in outcome.err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("adit", "audit"), ("timline", "timeline"), ("leftover", "leftovers"), ("size", "sizes")],
)
def test_misspelt_command_is_suggested(typed: str, meant: str) -> None:
    outcome = run(typed, checkpoint_of("agg_update"))
    assert outcome.code == 2
    assert f"Did you mean {meant}" in outcome.err


def test_unknown_command_without_a_suggestion_names_the_list() -> None:
    assert "inspector -h lists all commands" in run("xyzzy").err
    assert run("--xyzzy").code == 2


@pytest.mark.parametrize(
    ("typed", "meant"), [("--opertor=0", "--operator"), ("--outptu=json", "--output")]
)
def test_misspelt_option_is_suggested(typed: str, meant: str) -> None:
    outcome = run("audit", checkpoint_of("agg_update"), typed)
    assert outcome.code == 2
    assert "Did you mean" in outcome.err
    assert f"'{meant}'" in outcome.err


def test_memory_error_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(inspector, "main", fail)
    outcome = run("audit", "x")
    assert outcome.code == 4
    assert outcome.err.startswith("error: there is not enough memory")
    assert outcome.err.count("\n") == 1


def test_memory_error_reports_the_bytes_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    path = checkpoint_of("fmgws_event_ignore")
    monkeypatch.setattr("inspector.state.replay.StateMap._read", full)
    outcome = run("audit", path, "--engine", "local", "--workers", "1")
    assert outcome.code == 4
    assert "not enough memory" in outcome.err
    assert re.search(r"Of this checkpoint [\d,]+ of [\d,]+ bytes had been read", outcome.err)
    items = run("audit", path, path.parent.parent / "agg_update/checkpoint", "--workers", "1")
    assert items.code == 4
    assert "internal error" not in items.err


@pytest.mark.parametrize("output", sampled(["table", "json", "csv", "ndjson"], 4))
def test_closed_pipe_is_quiet_with_several_checkpoints(output: str) -> None:
    path = str(checkpoint_of("fmgws_event_ignore"))
    command = [sys.executable, "-m", "inspector", "audit", "-q", "-o", output, *[path] * 3]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command, cwd=REPOSITORY, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_version_option_prints_the_package_version() -> None:
    assert run("--version").out == f"inspector, version {__version__}\n"


def test_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "inspector", "info", str(checkpoint_of("agg_update"))]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True)
    assert done.stdout.decode() == run("info", checkpoint_of("agg_update")).out
    assert done.stderr == b""


@pytest.mark.parametrize("case", ["agg_append", "rocksdb_agg_update_snapshots"])
def test_info_starts_without_numpy_and_pyarrow(case: str) -> None:
    code = (
        "import sys; from inspector.cli import main\n"
        "try: main.run()\n"
        "except SystemExit: pass\n"
        "print({'numpy', 'pyarrow'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, "info", str(checkpoint_of(case))]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True)
    assert done.stdout.startswith(b"checkpoint")
    assert done.stdout.endswith(b"set()\n")


NOT_AT_START = {
    *(
        "fsspec",
        "asyncio",
        "ssl",
        "pandas",
        "pyspark",
        "jinja2",
        "tomllib",
        "pyarrow.compute",
        "numpy.ma",
        "concurrent.futures",
        "logging",
        "tempfile",
    ),
    *("inspector.render.page.document", "inspector.cli.fleets", "inspector.cli.export_files"),
    *("inspector.analyses.trend", "inspector.render.audit_history"),
    *("inspector.serve", "inspector.cli.serve", "inspector.render.page.served"),
    *("starlette", "uvicorn"),
    *("inspector.analyses.shared.estimate", "inspector.estimates.price", "inspector.encode"),
}
"""Modules that a report of a local checkpoint does not need."""


@pytest.mark.parametrize(("command", "maximum"), [("info", 330), ("audit", 635)])
def test_start_imports_few_modules(command: str, maximum: int, tmp_path: Path) -> None:
    """Each takes a quarter of a millisecond, and some take ten. A rule of an audit is a module."""
    program = (
        "import sys; from inspector.cli import main\n"
        "try: main.run()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    arguments = [command, str(checkpoint_of("agg_update")), "-q"]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=tmp_path,  # where no file of options is
        capture_output=True,
        check=True,
        text=True,
    )
    modules = set(done.stderr.split())
    assert "inspector.discovery.checkpoint" in modules
    assert NOT_AT_START & modules == set()
    # The Python twin has more modules than the C kernel, and an editable install one.
    ours = {name for name in modules if not name.startswith(("inspector.kernel.", "__editable__"))}
    assert len(ours) <= maximum


def test_audit_does_not_import_pyspark() -> None:
    path = str(checkpoint_of("agg_update"))
    program = (
        "import sys; from inspector.cli.main import run\n"
        f"sys.argv = ['inspector', 'audit', '-v', {path!r}]\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "sys.exit('pyspark' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=False)
    assert done.returncode == 0
    assert b"engine: local (no Spark session" in done.stderr
    other_lines = re.sub(rb".*\(no Spark session.*\n", b"", done.stderr)
    assert re.fullmatch(rb"((engine: the Python kernel|options: ).*\n)*", other_lines)


@pytest.mark.parametrize(
    ("words", "expected"),
    sampled(
        [
            ("inspector top --by row", "row_bytes"),
            ("inspector timeline --la", "--last"),
            ("inspector tim", "timeline"),
        ],
        3,
    ),
)
def test_shell_completes_commands_options_and_values(words: str, expected: str) -> None:
    environment = {
        **os.environ,
        "_INSPECTOR_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    command = [sys.executable, "-m", "inspector"]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == [f"plain,{expected}"]
