"""Signals end the process at once: no thread is waited for, and no partial file is left.

Partitions are read by threads, and a kernel call over a large block cannot be broken off, so that
an exception in the main thread would wait for seconds until all of them have ended. State is only
ever read, so there is nothing to end in order but the files that are being written.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from inspector.cli.partial_files import remove_all

_ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_SHOW_CURSOR = "\x1b[?25h\n"


@contextmanager
def end_on_signals() -> Iterator[None]:
    """Let signals end the process while the block runs: with 130 for Ctrl-C, else 128 + number.

    Python runs a signal's handler in the main thread only, when that is back in Python; a thread of
    its own is woken at once instead.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = {number: signal.getsignal(number) for number in _ENDING}
    woken_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number, handler in before.items():
        # A signal that whoever started the process ignores, as nohup does, stays ignored.
        if handler is not signal.SIG_IGN:
            signal.signal(number, _end)
    thread = threading.Thread(target=_wait, args=(reader,), name="signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken_before)
        for number, handler in before.items():
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
    with suppress(Exception):
        remove_all()
    with suppress(Exception):
        # A progress bar hides the cursor.
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
    os._exit(128 + number)
