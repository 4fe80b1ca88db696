"""The command line as a whole."""

import subprocess
import sys

import click
import pytest

from inspector import __version__
from inspector.cli.main import HELP_ORDER, commands, inspector
from tests.cli.support import ELSEWHERE, FIXTURES, checkpoint_of, run


def test_the_commands_that_are_tested_elsewhere_are_commands() -> None:
    assert set(ELSEWHERE) < set(commands())


def test_the_order_of_the_help_is_that_of_jobs_and_then_by_name() -> None:
    named, others = commands()[: len(HELP_ORDER)], commands()[len(HELP_ORDER) :]
    assert tuple(named) == HELP_ORDER
    assert others == sorted(others)


def test_help_lists_every_command_with_its_job() -> None:
    outcome = run("--help")
    assert outcome.code == 0
    assert outcome == run("-h")
    for name in commands():
        (line,) = (line for line in outcome.out.splitlines() if line.startswith(f"  {name} "))
        assert len(line.split()) > 3


@pytest.mark.parametrize("name", commands())
def test_a_command_is_found_by_its_name_and_described(name: str) -> None:
    command = inspector.get_command(click.Context(inspector), name)
    assert command is not None
    assert (command.name, bool(command.help)) == (name, True)
    assert all(p.help for p in command.params if isinstance(p, click.Option))


def test_an_unknown_command_is_told() -> None:
    outcome = run("explode", checkpoint_of("agg_update"))
    assert outcome.code == 2
    assert "No such command 'explode'" in outcome.err


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").out == f"inspector, version {__version__}\n"


def test_the_package_can_be_run() -> None:
    command = [sys.executable, "-m", "inspector", "info", str(checkpoint_of("agg_update"))]
    done = subprocess.run(command, cwd=FIXTURES.parents[1], capture_output=True, check=True)
    assert done.stdout.decode() == run("info", checkpoint_of("agg_update")).out
    assert done.stderr == b""


def test_a_command_does_without_spark() -> None:
    path = str(checkpoint_of("agg_update"))
    program = (
        "import sys; from inspector.cli.main import run\n"
        f"sys.argv = ['inspector', 'audit', {path!r}]\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "sys.exit('pyspark' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=FIXTURES.parents[1], capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stderr.startswith(b"engine: local (no Spark is given")
    assert done.stderr.count(b"\n") == 1
