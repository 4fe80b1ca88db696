"""Tasks of many small files, divided between processes: every report is the same."""

from __future__ import annotations

import gc
import io
import json
import subprocess
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from inspector import api
from inspector.analyses.shared.run import Run, work_of
from inspector.discovery.tasks import Request
from inspector.engines import processes
from inspector.engines.engine import Work
from inspector.engines.local import MOST_PROCESSES, LocalEngine, share_out
from inspector.engines.processes import by_processes, serve
from inspector.facts.registry import facts_schema
from inspector.passes.run import run_tasks
from inspector.render.renderers import render
from inspector.schemas import TASKS, specs_in, task_batch
from tests.cli.support import checkpoint_of

AGGREGATION = str(checkpoint_of("agg_append"))
COMMANDS = (api.audit, api.sharing)


def small(files: int) -> Work:
    return Work("", 352 * files, in_python=True, files=files)


def text(command: Any, case: str, **options: Any) -> str:
    return "".join(render(command(str(checkpoint_of(case)), api.Options(**options)), "json"))


@pytest.fixture(name="started")
def _started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that were started; any work of two tasks is worth two."""
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def note(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(start(*args, **options))
        return started[-1]

    monkeypatch.setattr("inspector.engines.local.PROCESS_COST", 1)
    monkeypatch.setattr("inspector.engines.local.os.cpu_count", lambda: 2)
    monkeypatch.setattr("inspector.engines.processes.subprocess.Popen", note)
    return started


def test_many_small_files_are_divided_and_few_are_not() -> None:
    many = [small(400) for _ in range(200)]
    first, second = share_out(many, 2)
    assert [*first, *second] == many
    assert len(first) == len(second)
    assert share_out(many, 1) == [many]
    assert len(share_out(many * 10, 64)) == MOST_PROCESSES
    few = [small(400) for _ in range(20)]
    assert share_out(few, 2) == [few]
    assert share_out([small(80_000)], 2) == [[small(80_000)]], "a task is not divided"
    assert share_out([], 2) == []


def test_shares_cost_about_the_same() -> None:
    shares = share_out([small(70_000), *(small(7_000) for _ in range(10))], 2)
    assert [sum(item.files for item in share) for share in shares] == [70_000, 70_000]


def test_a_limit_of_memory_is_that_of_one_process(started: list[Any]) -> None:
    limited = text(api.audit, "agg_append", memory_limit=1 << 30)
    assert not started
    assert limited == text(api.audit, "agg_append")
    assert started


@pytest.mark.parametrize(("case", "many"), [("fmgws_event_ignore", 0), ("join_left_outer", 1000)])
def test_reports_are_the_same(
    case: str, many: int, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.analyses.shared.run.MANY", many)
    divided = [text(command, case) for command in COMMANDS]
    assert len(started) >= len(COMMANDS)
    assert all(process.wait() == 0 for process in started)
    started.clear()
    assert divided == [text(command, case, workers=1) for command in COMMANDS]
    assert not started, "who asks for workers gets them in this process"


@pytest.mark.parametrize("fault", ["it fails", "it is not there"])
def test_what_a_process_does_not_do_is_done_here(
    fault: str, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "it fails":
        monkeypatch.setattr(processes, "_PROGRAM", "raise SystemExit(1)")
    else:
        monkeypatch.setattr("inspector.engines.processes.sys.executable", "/nowhere/python")
    report = text(api.audit, "agg_append")
    assert bool(started) is (fault == "it fails")
    assert report == text(api.audit, "agg_append", workers=1)


def test_a_fault_of_a_task_is_raised_here(started: list[Any]) -> None:
    good = work_of(Run.start(AGGREGATION, None).tasks(Request())[0])
    bad = Work("{", 1, in_python=True)
    with pytest.raises(ValueError, match="Expecting property name"):
        list(LocalEngine().map(run_tasks, facts_schema(), [good, bad]))
    assert len(started) == 1


def test_what_no_other_process_can_import_stays_here(started: list[Any]) -> None:
    def echo(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    work = [Work(name, 1, in_python=True) for name in "abcd"]
    batches = list(LocalEngine().map(echo, facts_schema(), work))
    assert [batch.column("spec")[0].as_py() for batch in batches] == list("abcd")
    assert [batch.column("task_id")[0].as_py() for batch in batches] == [0, 1, 2, 3]
    assert not started


def test_a_process_ends_with_whoever_breaks_off(started: list[Any]) -> None:
    work = [work_of(task) for task in Run.start(AGGREGATION, None).tasks(Request())]
    batches = by_processes(run_tasks, [work[:1], work[1:]], None)
    assert next(batches).num_rows
    batches.close()  # type: ignore[attr-defined]
    assert [process.wait(timeout=300) is not None for process in started] == [True]


def test_a_process_whose_parent_was_killed_begins_no_more_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent, results, parents = io.BytesIO(), io.BytesIO(), iter([7, 7, 1])
    with pa.ipc.new_stream(sent, TASKS) as stream:
        for name in "abc":
            stream.write_batch(task_batch(name))
    monkeypatch.setattr("inspector.engines.processes.os.getppid", lambda: next(parents))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(sent.getvalue())))
    monkeypatch.setattr("sys.stdout", SimpleNamespace(buffer=results))
    threshold = gc.get_threshold()
    try:
        serve(json.dumps([json.dumps(["itertools", "chain"])]))
    finally:
        gc.set_threshold(*threshold)
    assert [*specs_in(pa.ipc.open_stream(results.getvalue()))] == ["a"]
