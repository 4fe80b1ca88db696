"""Signals end the process without a traceback or a partial file."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from benchmark.checkpoint import Size, make

from inspector.cli.partial_files import end_on_signals
from tests.attributes import attributes
from tests.fixture_folder import REPOSITORY

SIZE = Size(keys=400_000, versions=3, partitions=2)
"""Size of a checkpoint that takes longer to read than the test takes."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose two partitions take seconds to read."""
    return make(tmp_path_factory.mktemp("large") / "checkpoint", SIZE).path


@pytest.mark.parametrize(
    ("kernel", "command"),
    [
        ("c", ["rows", "--redact", "all", "-o", "ndjson", "-O"]),
        ("python", ["rows", "--redact", "all", "-o", "ndjson", "-O"]),
        ("c", ["copy", "--workers", "1"]),
    ],
    ids=["rows", "rows-python", "copy"],
)
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_signal_ends_the_process_without_a_partial_file(
    command: list[str], kernel: str, number: str, code: int, large: Path, tmp_path: Path
) -> None:
    if kernel == "c":
        pytest.importorskip("inspector.kernel._kernel_c")
    name, *options = command
    process = subprocess.Popen(
        [sys.executable, "-m", "inspector", name, str(large), *options, str(tmp_path / "made")],
        cwd=REPOSITORY,
        env={**os.environ, "INSPECTOR_KERNEL": kernel},
        stderr=subprocess.PIPE,
    )
    while not list(tmp_path.iterdir()) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(getattr(signal, number))
    process.send_signal(getattr(signal, number))
    _, result = process.communicate()
    assert process.returncode == code
    assert b"Traceback" not in result
    assert list(tmp_path.iterdir()) == []


def test_signal_handlers_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    start = threading.Thread.start

    def record_and_start(thread: threading.Thread) -> None:
        threads.append(thread)
        start(thread)

    previous = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.setattr(threading.Thread, "start", record_and_start)
    with end_on_signals():
        assert signal.getsignal(signal.SIGINT) is not previous[0]
        assert attributes(threads, "name") == ["signals"]
        assert threads[0].is_alive()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == previous
    assert not threads[0].is_alive()
    assert signal.set_wakeup_fd(-1) == -1


def test_ignored_sighup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with end_on_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signal_handling_in_another_thread() -> None:
    ran: list[bool] = []

    def inside() -> None:
        with end_on_signals():
            ran.append(True)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert ran == [True]
