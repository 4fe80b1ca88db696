"""Files that get their name when they are complete, and leave nothing behind if they never are."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import click

# unfinished files of this process, and folders made for them; removed when it ends
_PARTIAL: set[Path] = set()
# held while a file is created, and forever by a thread that ends the process
_CREATING = threading.RLock()
_CREATION_SECONDS = 0.5  # longest wait for the creation of a file before the process ends


@contextmanager
def partial_file(target: Path) -> Iterator[Path]:
    """Yield a hidden file next to a target, which replaces the target if the block succeeds.

    If the block fails, the file is removed, and a folder that was made for it. Raises
    click.UsageError if it cannot be created.
    """
    is_new_folder = not target.parent.exists()
    partial = target.parent / f".{target.name}.{os.urandom(4).hex()}"
    try:
        # Its name is known before it is there: a signal finds every file that there is.
        with _CREATING:
            if is_new_folder:
                _PARTIAL.add(target.parent)
                target.parent.mkdir()
            _PARTIAL.add(partial)
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        _PARTIAL.difference_update((partial, target.parent))
        raise click.UsageError(f"{target} cannot be made: {error.strerror}") from None
    try:
        yield partial
        os.replace(partial, target)
    except BaseException:
        remove(partial)
        if is_new_folder:
            remove(target.parent)
        raise
    _PARTIAL.difference_update((partial, target.parent))


def remove_all() -> None:
    """Remove all unfinished files, because the process ends now.

    No other file can be begun afterwards.
    """
    _CREATING.acquire(timeout=_CREATION_SECONDS)
    for path in sorted(_PARTIAL, key=lambda p: len(p.parts), reverse=True):
        remove(path)
    # Of commands only copy loads it.
    destination = sys.modules.get("inspector.checkpoint.destination")
    for folder in tuple(getattr(destination, "UNFINISHED", ())):
        for _ in range(20):  # other threads still write into it
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                break


def remove(path: Path) -> None:
    """Remove a file or an empty folder; errors are ignored."""
    with suppress(OSError):
        path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
    _PARTIAL.discard(path)


def is_written_through(target: Path) -> bool:
    """Return whether a target is a device or a pipe, which is written to directly.

    click.UsageError: it is a folder.
    """
    if target.is_dir():
        raise click.UsageError(f"{target} is a folder, expected a file")
    if target.is_char_device() or target.is_fifo():
        return True
    if target.exists() and not target.is_file():
        raise click.UsageError(f"{target} is not a regular file and is not overwritten")
    return False


def real_target(path: str) -> Path:
    """Return the file that a path means: the target of a symbolic link, so that the link stays."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


# signals that end the process
_ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@contextmanager
def end_on_signals() -> Iterator[None]:
    """Let signals end the process while the block runs: with 130 for Ctrl-C, else 128 + number.

    Python runs handlers in the main thread, when that is back in Python; this thread wakes at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    previous = {number: signal.getsignal(number) for number in _ENDING}
    woken_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number, handler in previous.items():
        # A signal that whoever started the process ignores, as nohup does, stays ignored.
        if handler is not signal.SIG_IGN:
            signal.signal(number, _end)
    thread = threading.Thread(target=_wait, args=(reader,), name="signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken_before)
        for number, handler in previous.items():
            signal.signal(number, handler)
        os.close(writer)
        thread.join()
        os.close(reader)


def _wait(reader: int) -> None:
    """End the process at the first signal; return when the pipe is closed."""
    while signals := os.read(reader, 1):
        number = signals[0]
        # PySpark has a handler of its own for Ctrl-C, which cancels the jobs of the cluster.
        if number in _ENDING and signal.getsignal(number) is _end:
            _end(number, None)


def _end(number: int, _frame: FrameType | None) -> None:
    """Remove unfinished files and end the process with 128 + the signal's number."""
    with suppress(Exception):
        remove_all()
    with suppress(Exception):
        # A progress bar hides the cursor.
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), b"\x1b[?25h\n")
    os._exit(128 + number)
