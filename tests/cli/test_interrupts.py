"""Signals: the process ends, without a traceback and without half a file."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from inspector.cli.partial_files import end_on_signals
from tests.cli.support import FIXTURES, copy_of, replace_state, schema_json, schema_of
from tests.encode import row

ROWS = 100_000
"""Rows of a version that the Python kernel reads for longer than the test takes."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose two partitions take a while."""
    path = copy_of("agg_append", tmp_path_factory.mktemp("large"))
    key, value = (("user", "string"),), (("count", "long"),)
    value_row = row(schema_of(*value), [1])
    one = row(schema_of(*key), ["user-000000"])
    at = one.index(b"000000")
    keys = [one[:at] + f"{i:06}".encode() + one[at + 6 :] for i in range(ROWS)]
    records = [(each, value_row) for each in keys]
    every = {(partition, version): records for partition in (0, 1) for version in range(1, 11)}
    return replace_state(path, (schema_json(*key), schema_json(*value)), every)


@pytest.mark.parametrize("kernel", ["c", "python"])
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_the_process_and_leaves_no_partial_file(
    kernel: str, number: str, code: int, large: Path, tmp_path: Path
) -> None:
    if kernel == "c":
        pytest.importorskip("inspector.kernel._kernel_c")
    command = ["rows", str(large), "--redact", "all", "-o", "ndjson", "-O"]
    process = subprocess.Popen(
        [sys.executable, "-m", "inspector", *command, str(tmp_path / "rows.ndjson")],
        cwd=FIXTURES.parents[1],
        env={**os.environ, "INSPECTOR_KERNEL": kernel},
        stderr=subprocess.PIPE,
    )
    while not list(tmp_path.iterdir()) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(getattr(signal, number))
    process.send_signal(getattr(signal, number))
    _, said = process.communicate()
    assert process.returncode == code
    assert b"Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_before_is_put_back() -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    threads = threading.active_count()
    with end_on_signals():
        assert signal.getsignal(signal.SIGINT) is not before[0]
        assert threading.active_count() == threads + 1
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
    assert threading.active_count() == threads
    assert signal.set_wakeup_fd(-1) == -1


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with end_on_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_than_the_main_one_can_run_the_command_line() -> None:
    ran: list[bool] = []

    def inside() -> None:
        with end_on_signals():
            ran.append(True)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert ran == [True]
