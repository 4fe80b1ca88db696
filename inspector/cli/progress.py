"""Progress on stderr, where that is a terminal, for whatever takes more than a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from inspector.cli.terminal import AUTO, has_color
from inspector.engines.engine import BYTES, Measure, Watch
from inspector.quantities import bytes_text, duration_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

PATIENCE_SECONDS = 1.0  # what takes less shows nothing
REFRESH_SECONDS = 0.2
ROOM_FOR_BAR = 60  # a narrower terminal has room for the numbers alone


def watch_of(parsed: Mapping[str, Any]) -> Watch:
    """What shows the progress of a command, or nothing if nobody would see it.

    Rows that go to the same terminal while they are read show by themselves that there is progress.
    """
    streams = parsed.get("output") not in ("table", "markdown") and not parsed.get("output_file")
    hidden = parsed.get("quiet") or parsed.get("no_progress") or not sys.stderr.isatty()
    if hidden or (streams and sys.stdout is not None and sys.stdout.isatty()):
        return lambda _measure: nullcontext()
    return partial(shown, color=has_color(parsed.get("color", AUTO), terminal=True))


@contextmanager
def shown(
    measure: Callable[[], Measure],
    patience: float = PATIENCE_SECONDS,
    console: Console | None = None,
    *,
    color: bool = False,
) -> Iterator[None]:
    """Show progress while the block runs, after ``patience`` seconds; on stderr by default."""
    ended = threading.Event()
    begin = time.monotonic()

    def show() -> None:
        if ended.wait(patience):
            return
        progress = _bar(console, color=color)
        task = progress.add_task("", **_state(measure(), time.monotonic() - begin))
        with progress:
            while not ended.wait(REFRESH_SECONDS):
                progress.update(task, **_state(measure(), time.monotonic() - begin))
                progress.refresh()

    thread = threading.Thread(target=show, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _state(now: Measure, seconds: float) -> dict[str, Any]:
    """What a bar shows: the fields of a task of rich."""
    # What is read again, such as a file that has just changed, makes no more than all.
    done = min(now.done, now.total) if now.total else now.done
    text = progress_text(replace(now, done=done), seconds)
    return {"completed": done, "total": now.total or None, "text": text}


def progress_text(now: Measure, seconds: float) -> str:
    """``8.0 MiB of 165.5 MiB, 2.3 MiB/s, 1 min left``; what is not known yet is left out.

    Rate and remaining time are by what was done in the seconds since it began.
    """
    words = bytes_text if now.unit == BYTES else "{:,}".format
    text = words(now.done)
    if now.total:
        text += f" of {words(now.total)}"
    if now.unit != BYTES:
        text += f" {now.unit}"
    if now.done and now.unit == BYTES:
        text += f", {bytes_text(now.done / seconds)}/s"
    if now.done and now.total:
        remaining = (now.total - now.done) * seconds / now.done
        text += f", {duration_text(round(remaining) * 1000)} left"
    return text


def _bar(own: Console | None, *, color: bool) -> Progress:
    # rich takes a while to import, and most commands end before anything is shown.
    from rich import console, progress, table  # noqa: PLC0415 - for terminals

    screen = own or console.Console(stderr=True, no_color=not color)
    wide = screen.width >= ROOM_FOR_BAR
    column = table.Column(no_wrap=wide)
    text = progress.TextColumn("{task.fields[text]}", table_column=column)
    bar = (progress.BarColumn(bar_width=None),) if wide else ()
    return progress.Progress(
        text, *bar, console=screen, transient=True, expand=True, auto_refresh=False
    )
