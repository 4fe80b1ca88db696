"""The worker process: real audits, and processes that hang, end, or grow."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from inspector.analyses.shared.options import Options
from inspector.findings.verdict import Level
from inspector.serve.audit_worker import (
    AuditRequest,
    HistoryRequest,
    RecallRequest,
    SearchRequest,
    WorkerOptions,
    answer,
)
from inspector.serve.auditor import AuditError, AuditStoppedError, WorkerProcess
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, copy_of
from tests.reports import cell_values

LONG = 120.0  # seconds that no test waits for

HANGS = "import sys, time; time.sleep(1000)"
ENDS = "raise SystemExit(7)"


def worker(tmp_path: Path, **fields: str) -> WorkerOptions:
    """Options of a worker with a cache and a history."""
    options = Options(cache=str(tmp_path / "cache"), **fields)  # type: ignore[arg-type]
    return WorkerOptions.of(options, str(tmp_path / "history"))


def request(path: Path) -> AuditRequest:
    return AuditRequest(str(path), "/0")


# --- answers ---------------------------------------------------------------------------------


def test_an_audit_gives_result_and_rows(tmp_path: Path) -> None:
    reply = answer(request(checkpoint_of("fmgws_event_ignore")), worker(tmp_path))
    assert reply.result is not None
    assert reply.error == ""
    assert (reply.result.entry.level, reply.result.entry.rows) == (Level.ERROR, 128)
    assert cell_values(reply.rows, "row_bytes") == [reply.result.entry.row_bytes]


def test_a_search_finds_the_checkpoints_that_are_there_now(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir()
    search = SearchRequest([str(folder)], recursive=True)
    assert "got no checkpoint at this path or below" in answer(search, worker(tmp_path)).error
    first = copy_of("agg_append", folder / "first")
    assert answer(search, worker(tmp_path)).paths == [str(first)]
    second = copy_of("join_left_outer", folder / "second")
    reply = answer(search, worker(tmp_path))
    assert (reply.paths, reply.error) == ([str(first), str(second)], "")


def test_damaged_and_vanished_checkpoints_are_results(tmp_path: Path) -> None:
    damaged = copy_of("agg_append", tmp_path / "damaged")
    for file in damaged.glob("state/0/0/*.delta"):
        file.write_bytes(b"no delta")
    reply = answer(request(damaged), worker(tmp_path))
    assert reply.result is not None
    assert reply.result.entry.level is Level.UNREADABLE
    shutil.rmtree(damaged)
    reply = answer(request(damaged), worker(tmp_path))
    assert reply.result is not None
    assert reply.result.entry.level is Level.UNREADABLE
    assert cell_values(reply.rows, "level") == ["failed"]
    assert str(damaged) in reply.result.entry.cause


def test_stored_results_survive_restart(tmp_path: Path) -> None:
    options = worker(tmp_path)
    first = answer(request(checkpoint_of("agg_append")), options).result
    recall = RecallRequest([request(checkpoint_of("agg_append")), request(tmp_path)])
    recalled, missing = answer(recall, worker(tmp_path)).recalled
    assert missing is None
    assert recalled is not None
    assert first is not None
    assert (recalled.entry.rows, recalled.entry.level) == (first.entry.rows, first.entry.level)
    assert recalled.entry.charts == first.entry.charts
    assert list(recalled.observed[1]) == [(n, tuple(m), float(v)) for n, m, v in first.observed[1]]
    assert recalled.audited_ms == first.audited_ms


def test_without_a_cache_the_history_has_the_last_results(tmp_path: Path) -> None:
    options = WorkerOptions.of(Options(), str(tmp_path / "history"))
    path, gone = checkpoint_of("fmgws_event_ignore"), tmp_path / "gone"
    for _ in range(2):
        rows = [*answer(request(path), options).rows, *answer(request(gone), options).rows]
        assert answer(HistoryRequest(rows), options).error == ""
    recall = RecallRequest([request(path), request(gone), request(checkpoint_of("agg_append"))])
    recalled, failed, missing = answer(recall, options).recalled
    assert missing is None
    assert recalled is not None
    assert failed is not None
    assert (recalled.entry.rows, recalled.entry.leftovers) == (128, 68)
    assert recalled.entry.level is Level.ERROR
    assert recalled.entry.cause == "Findings at the last audit: SS201, SS203."
    assert ("spark_state_rows", 128) in [(name, value) for name, _, value in recalled.observed[1]]
    assert failed.entry.level is Level.UNREADABLE


def test_unchanged_checkpoints_keep_the_time_of_their_commit(tmp_path: Path) -> None:
    path, options = checkpoint_of("agg_append"), worker(tmp_path)
    first, second = answer(request(path), options).result, answer(request(path), options).result
    assert first is not None
    assert second is not None
    assert first.entry.commit_time_ms == second.entry.commit_time_ms is not None


def test_a_history_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("a file")
    rows = answer(request(checkpoint_of("agg_append")), worker(tmp_path)).rows
    assert answer(HistoryRequest(rows), worker(tmp_path)).error


# --- processes -------------------------------------------------------------------------------


def test_a_process_audits_one_checkpoint_after_the_other(tmp_path: Path) -> None:
    process = WorkerProcess(worker(tmp_path))
    try:
        first = process.ask(request(checkpoint_of("agg_append")), LONG).result
        second = process.ask(request(checkpoint_of("fmgws_event_ignore")), LONG).result
        assert attributes([first, second], "entry.rows") == [100, 128]
        assert process.starts == 1
        assert sys.platform != "linux" or process.memory_bytes
    finally:
        process.close()


def test_a_process_that_hangs_is_replaced(tmp_path: Path) -> None:
    process = WorkerProcess(worker(tmp_path), (sys.executable, "-c", HANGS))
    for _ in range(2):
        with pytest.raises(AuditError, match="took longer than 1 second: see --audit-seconds"):
            process.ask(request(tmp_path), 1)
    assert process.starts == 2


def test_a_process_that_ends_is_replaced(tmp_path: Path) -> None:
    process = WorkerProcess(worker(tmp_path), (sys.executable, "-c", ENDS))
    for _ in range(2):
        with pytest.raises(AuditError, match="The worker process ended with code 7"):
            process.ask(request(tmp_path), LONG)
    assert process.starts == 2


def test_a_process_that_has_grown_is_replaced(tmp_path: Path) -> None:
    process = WorkerProcess(worker(tmp_path), most_bytes=1)
    try:
        for _ in range(2):
            assert process.ask(request(checkpoint_of("agg_append")), LONG).result is not None
        assert process.starts == (2 if process.memory_bytes else 1)
    finally:
        process.close()


def test_closed_worker_gives_no_result(tmp_path: Path) -> None:
    process = WorkerProcess(worker(tmp_path))
    process.close()
    with pytest.raises(AuditStoppedError):
        process.ask(request(checkpoint_of("agg_append")), LONG)
    assert process.starts == 0
