"""Width and colours of the output on a terminal and in a pipe."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from rich.cells import cell_len

from inspector.cli.terminal import PIPED_WIDTH, UNKNOWN_WIDTH, display_of, width_of
from tests.cli.support import COMMANDS, checkpoint_of, run
from tests.fixture_folder import REPOSITORY
from tests.profiles import crossed, sampled

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LEAK = checkpoint_of("fmgws_event_ignore")


def _piece(screen: int) -> bytes:
    try:
        return os.read(screen, 1 << 16)
    except OSError:  # how Linux says that nobody writes to it any more
        return b""


def on_terminal(width: int, *args: str | Path, **environment: str) -> tuple[int, str]:
    """Run a command on a terminal of a width and return exit code and output."""
    result, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    inherited = os.environ.copy()
    inherited.pop("COLUMNS", None)
    inherited.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "inspector", *map(str, args)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**inherited, "TERM": "xterm-256color", **environment},
        cwd=REPOSITORY,
    )
    os.close(terminal)
    message = b""
    with os.fdopen(result, "rb", buffering=0) as screen:
        while piece := _piece(screen.fileno()):
            message += piece
    return process.wait(), message.decode().replace("\r\n", "\n")


@contextmanager
def terminal_of(monkeypatch: pytest.MonkeyPatch, columns: int) -> Iterator[None]:
    """Use a terminal as stdout of this process."""
    _, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as file:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setattr(sys, "stdout", file)
        yield


def widest(lines: list[str]) -> int:
    """Return the width of the widest line, except commands, which are never wrapped."""
    return max(cell_len(line) for line in lines if not line.lstrip().startswith("inspector "))


@pytest.mark.parametrize("width", sampled([40, 80, 120], 3))
def test_audit_fits_the_terminal_width(width: int) -> None:
    code, result = on_terminal(width, "audit", LEAK)
    lines = re.split("[\r\n]", ANSI.sub("", result))  # a progress of a slow machine goes back by \r
    assert code == 1
    assert "SS203" in result
    assert widest(lines) <= width
    assert any(line.strip().startswith("inspector copy ") and len(line) > width for line in lines)
    assert "\x1b[1;31m" in result, "an error is red"


@pytest.mark.parametrize(("name", "width"), crossed(COMMANDS, ("40", "80", "120")))
def test_every_report_fits_the_terminal_width(
    name: str, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspector.cli import output_files
    from inspector.render.display import Display

    monkeypatch.setattr(output_files, "display_of", lambda _: Display(int(width)))
    for case in ("fmgws_event_ignore", "join_left_outer"):
        outcome = run(name, checkpoint_of(case))
        assert outcome.out
        assert widest(outcome.out.split("\n")) <= int(width)


def test_wide_option_shows_every_column() -> None:
    _, result = on_terminal(60, "sizes", LEAK, "--wide", "--color", "never")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", result), "a colour"
    assert all(name in result for name in ("KEY", "P50", "P99", "MAX"))
    assert "with --wide" not in result
    _, narrow = on_terminal(60, "sizes", LEAK, "--color", "never")
    assert "more columns with --wide)" in narrow


def test_piped_table_has_every_column_and_no_colour() -> None:
    table = run("sizes", LEAK).out
    names = run("sizes", LEAK, "-o", "csv").out.splitlines()[0].split(",")
    assert set(re.findall(r"\w+", table.lower())).issuperset(names)
    assert "\x1b" not in table
    assert run("audit", LEAK, "--color", "always").out.startswith("\x1b[1;31mError")


@pytest.mark.parametrize(
    ("choice", "environment", "expected"),
    [
        ("auto", {}, True),
        ("auto", {"NO_COLOR": "1"}, False),
        ("auto", {"TERM": "dumb"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {}, False),
    ],
)
def test_color_option_and_environment(
    choice: str, environment: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal_of(monkeypatch, 70), mock.patch.dict(os.environ, environment):
        display = display_of({"color": choice})
        assert (display.width, display.color) == (70, expected)
        # A file is no terminal, even if stdout is one.
        to_file = display_of({"color": choice, "output_file": "x"})
        assert (to_file.width, to_file.color) == (70, choice == "always")


@pytest.mark.parametrize(
    ("columns", "options", "width"),
    [
        ("", {}, PIPED_WIDTH),
        ("none", {}, PIPED_WIDTH),
        ("60", {}, 60),
        ("0", {}, None),
        ("", {"wide": True}, None),
        ("60", {"wide": True}, None),
        ("", {"output_file": "x"}, PIPED_WIDTH),
    ],
)
def test_width_of_piped_output(
    columns: str, options: dict[str, Any], width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert display_of(options).width == width


@pytest.mark.parametrize(("columns", "width"), [("", PIPED_WIDTH), ("60", 60)])
def test_piped_audit_fits_its_width(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert widest(run("audit", LEAK).out.splitlines()) <= width


def test_columns_variable_overrides_the_terminal_width(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    with (tmp_path / "file").open("w") as file:
        assert width_of(file) == UNKNOWN_WIDTH
    _, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 33, 0, 0))
    with os.fdopen(terminal, "w") as file:
        assert width_of(file) == 33
        monkeypatch.setenv("COLUMNS", "44")
        assert width_of(file) == 44
        monkeypatch.setenv("COLUMNS", "none")
        assert width_of(file) == 33


def test_closed_stdout_is_one_sentence() -> None:
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m inspector info {LEAK} >&-"],
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (6, b"error: standard output is closed\n")
