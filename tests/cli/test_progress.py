"""Text of the progress line, and the terminals that show it."""

import io
import itertools
import os
import pty
import re
import sys
import time
from typing import Any

import pytest
from rich.console import Console

from inspector.cli.click_options import progress_text, show_progress, watch_of
from inspector.engines.engine import BYTES, TASKS, Measure

MIB = 1 << 20


@pytest.mark.parametrize(
    ("measure", "seconds", "expected"),
    [
        (Measure(0, 100 * MIB, BYTES), 2, "0 B of 100.0 MiB"),
        (Measure(20 * MIB, 100 * MIB, BYTES), 2, "20.0 MiB of 100.0 MiB, 10.0 MiB/s, 8 s left"),
        (Measure(MIB, 0, BYTES), 2, "1.0 MiB, 512.0 KiB/s"),
        (Measure(5, 1000, TASKS), 60, "5 of 1,000 tasks, 3 h 19 min left"),
        (Measure(0, 0, TASKS), 60, "0 tasks"),
    ],
)
def test_progress_text_has_bytes_rate_and_remaining_time(
    measure: Measure, seconds: float, expected: str
) -> None:
    assert progress_text(measure, seconds) == expected


def _console(width: int) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, width=width, force_terminal=True), text


@pytest.mark.parametrize("width", [40, 80])
def test_progress_is_shown_and_erased(width: int) -> None:
    console, text = _console(width)
    done = itertools.count()

    def measure() -> Measure:
        return Measure(next(done) * MIB, 2 * MIB, BYTES)

    with show_progress(measure, 0, console):
        while next(done) < 4 or "2.0 MiB of" not in text.getvalue():
            time.sleep(0.01)
    # Bytes that are read twice do not exceed the total, and the cursor is shown again.
    shown = re.findall(r"([\d.]+) MiB of", text.getvalue())
    assert max(map(float, shown)) == 2.0
    assert text.getvalue().count("\x1b[?25h") == 1


def test_progress_of_a_short_run_is_not_shown() -> None:
    console, text = _console(80)
    with show_progress(lambda: Measure(0, 1, BYTES), 3600, console):
        pass
    assert text.getvalue() == ""


def test_progress_raises_errors_of_its_block() -> None:
    console, _ = _console(80)
    with pytest.raises(ZeroDivisionError), show_progress(lambda: Measure(0, 1, BYTES), 0, console):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("parsed", "terminals", "expected"),
    [
        ({"output": "table"}, ("stdout", "stderr"), True),
        ({"output": "table"}, ("stderr",), True),
        ({"output": "table"}, ("stdout",), False),
        ({"output": "table", "quiet": True}, ("stderr",), False),
        ({"output": "table", "no_progress": True}, ("stderr",), False),
        ({"output": "ndjson"}, ("stdout", "stderr"), False),
        ({"output": "ndjson"}, ("stderr",), True),
        ({"output": "ndjson", "output_file": "x"}, ("stdout", "stderr"), True),
    ],
)
def test_progress_is_shown_only_on_a_terminal(
    parsed: dict[str, Any],
    terminals: tuple[str, ...],
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as file:
        for name in ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, file if name in terminals else io.StringIO())
        watch = watch_of(parsed)
        assert (getattr(watch, "func", None) is show_progress) == expected
