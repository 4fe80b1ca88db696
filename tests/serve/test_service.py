"""The service: its schedule by a clock of the test, and what hangs, is damaged or has vanished."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from inspector.findings.verdict import Level
from inspector.render.as_prometheus import unreadable
from inspector.render.page.served import FleetEntry
from inspector.serve.audit_worker import (
    Answer,
    AuditRequest,
    HistoryRequest,
    RecallRequest,
    SearchRequest,
)
from inspector.serve.auditor import AuditError, AuditStoppedError
from inspector.serve.last_results import LastResult
from inspector.serve.service import CheckpointSearch, Service, ServicePlan, SystemClock
from tests.attributes import attributes
from tests.reports import cell_values

PATHS = ("/a", "/b", "/c")


class TestClock(SystemClock):
    """A clock that goes on only when something waits, or when a test says so."""

    __test__ = False

    def __init__(self) -> None:
        self.now, self.waits, self.most_waits = 1000.0, list[float](), 3

    def seconds(self) -> float:
        return self.now

    def epoch_ms(self) -> int:
        return int(self.now * 1000)

    def wait(self, stopping: threading.Event, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
        if len(self.waits) >= self.most_waits:
            stopping.set()


class FakeAuditor:
    """An auditor that answers by functions of the test."""

    def __init__(self, clock: TestClock, takes: float = 1) -> None:
        self.clock, self.takes = clock, takes
        self.requests: list[Any] = []
        self.times: list[float] = []
        self.special: dict[str, Callable[[], Answer]] = {}
        self.recalled: list[LastResult | None] = []
        self.history_error = ""
        self.searches: list[Answer | AuditError] = []
        self.closed = False
        self.memory_bytes: int | None = 50 << 20

    def ask(self, request: Any, seconds: float) -> Answer:
        assert seconds > 0
        self.requests.append(request)
        if isinstance(request, RecallRequest):
            return Answer(recalled=self.recalled or [None] * len(request.checkpoints))
        if isinstance(request, HistoryRequest):
            return Answer(error=self.history_error)
        if isinstance(request, SearchRequest):
            found = self.searches.pop(0)
            if isinstance(found, AuditError):
                raise found
            return found
        self.times.append(self.clock.now)
        self.clock.now += self.takes
        if request.path in self.special:
            return self.special[request.path]()
        return Answer(result(request.path, request.url), [{"checkpoint": request.path}])

    def close(self) -> None:
        self.closed = True

    @property
    def audited(self) -> list[str]:
        return [item.path for item in self.requests if isinstance(item, AuditRequest)]


def result(path: str, url: str = "/0", level: Level = Level.OK, at: int = 5) -> LastResult:
    """A result of a checkpoint."""
    return LastResult(FleetEntry(path, url, level, "No findings."), unreadable(path), at)


def plan(every: float = 60, **fields: Any) -> ServicePlan:
    """A plan for three checkpoints."""
    requests = [AuditRequest("/a", "/0"), AuditRequest("/b", "/1"), AuditRequest("/c", "/2")]
    return ServicePlan(requests, every, **fields)


def service(
    takes: float = 1, every: float = 60, **fields: Any
) -> tuple[Service, FakeAuditor, TestClock]:
    clock = TestClock()
    auditor = FakeAuditor(clock, takes)
    return Service(plan(every, **fields), auditor, clock), auditor, clock


def test_rounds_begin_at_the_interval() -> None:
    running, auditor, clock = service()
    running.run()
    assert auditor.times[::3] == [1000, 1060, 1120]
    assert auditor.audited == [*PATHS] * 3
    assert clock.waits == [57, 57, 57]
    assert running.rounds == 3
    assert running.round_end_ms == 1_123_000


def test_a_long_round_is_followed_at_once_and_missed_rounds_are_left_out() -> None:
    running, auditor, clock = service(takes=30)

    def last() -> Answer:
        auditor.takes = 1
        clock.most_waits = 1
        return Answer(result("/c"))

    auditor.special["/c"] = last
    running.run()
    assert auditor.times[:4] == [1000, 1030, 1060, 1090]
    assert clock.waits == [57]  # after the second round, which was short


def test_a_checkpoint_that_hangs_stops_no_other_one() -> None:
    running, auditor, clock = service(audit_seconds=7)
    clock.most_waits = 1

    def hang() -> Answer:
        raise AuditError("The audit took longer than 7 seconds: see --audit-seconds.")

    auditor.special["/b"] = hang
    running.run()
    entries = attributes(running.results, "entry")
    assert attributes(entries, "level") == [Level.OK, Level.UNREADABLE, Level.OK]
    assert entries[1].cause == "The audit took longer than 7 seconds: see --audit-seconds."
    assert 'spark_state_level{checkpoint="/b",query_id=""} 4.0' in running.metrics()


def test_new_checkpoints_are_audited_from_the_next_round_on() -> None:
    messages: list[str] = []
    search = CheckpointSearch(SearchRequest(["/"], True), lambda path: AuditRequest(path, "/3"))
    running, auditor, _clock = service(search=search, notify=messages.append)
    auditor.searches = [AuditError("It hangs."), Answer(paths=[*PATHS, "/d"])]
    running.run()
    assert auditor.audited == [*PATHS, *PATHS, *PATHS, "/d"]
    *_, newest = running.results
    assert newest is not None
    assert newest.entry.url == "/3"
    assert messages == ["New checkpoints cannot be searched: It hangs."]
    assert running.about().startswith("4 checkpoints")


def test_new_checkpoints_that_may_not_be_audited_are_left_out() -> None:
    search = CheckpointSearch(SearchRequest(["/"], True), lambda _path: None)
    running, auditor, clock = service(search=search)
    clock.most_waits = 2
    auditor.searches = [Answer(paths=["/d"], error="Half of it.")]
    running.run()
    assert auditor.audited == [*PATHS] * 2


def test_history_has_the_rows_of_each_round_and_of_failures() -> None:
    running, auditor, clock = service(has_history=True)
    clock.most_waits = 2

    def hang() -> Answer:
        raise AuditError("It hangs.")

    auditor.special["/b"] = hang
    running.run()
    written = [item.rows for item in auditor.requests if isinstance(item, HistoryRequest)]
    first, second = written
    assert cell_values(first, "checkpoint") == cell_values(second, "checkpoint") == [*PATHS]
    assert first[1]["error"] == "It hangs."
    assert first[1]["level"] == "failed"


def test_errors_of_cache_and_history_are_messages() -> None:
    messages: list[str] = []
    running, auditor, clock = service(has_history=True, notify=messages.append)
    clock.most_waits = 1
    auditor.history_error = "There is no room."
    auditor.special["/a"] = lambda: Answer(result("/a"), error="It is full.")
    running.run()
    assert messages == [
        "The result is not kept: It is full.",
        "The history is not written: There is no room.",
    ]
    assert running.rounds == 1


def test_last_results_are_there_after_a_restart() -> None:
    running, auditor, _clock = service()
    auditor.recalled = [result("/a", level=Level.ERROR, at=900_000), None, None]
    seen: list[Any] = []

    def first() -> Answer:
        seen.append([item and item.entry.level for item in running.results])
        seen.append(running.round_end_ms)
        return Answer(result("/a"))

    auditor.special["/a"] = first
    running.run()
    assert seen[:2] == [[Level.ERROR, None, None], 900_000]


def test_a_worker_that_cannot_recall_stops_no_audit() -> None:
    messages: list[str] = []
    running, auditor, _clock = service(notify=messages.append)
    ask_worker = auditor.ask

    def ask(request: Any, seconds: float) -> Answer:
        if isinstance(request, RecallRequest):
            raise AuditError("It hangs.")
        return ask_worker(request, seconds)

    auditor.ask = ask  # type: ignore[method-assign]
    running.run()
    assert messages == ["The last results cannot be read: It hangs."]
    assert running.rounds == 3


def test_stop_ends_the_rounds_and_the_worker() -> None:
    running, auditor, _clock = service()

    def stop() -> Answer:
        running.stop()
        raise AuditStoppedError

    auditor.special["/b"] = stop
    running.run()
    assert auditor.closed
    assert auditor.audited == ["/a", "/b"]
    assert running.rounds == 0


@pytest.mark.parametrize(("late", "healthy"), [(0, True), (359, True), (361, False)])
def test_health_reports_running_audits(late: float, *, healthy: bool) -> None:
    running, _auditor, clock = service(audit_seconds=300)
    clock.now += late
    assert running.is_healthy is healthy


def test_a_dead_thread_is_not_healthy() -> None:
    running, auditor, _clock = service()

    def fail() -> Answer:
        raise AuditStoppedError

    auditor.special["/a"] = fail
    running.start()
    assert running._thread is not None
    running._thread.join()
    assert not running.is_healthy


def test_metrics_show_the_memory_of_both_processes() -> None:
    running, _auditor, _clock = service()
    text = running.metrics()
    assert f'spark_state_service_memory_bytes{{process="worker"}} {50 << 20}\n' in text
    assert "# TYPE spark_state_service_memory_bytes gauge\n" in text
    assert text.count("spark_state_inspected_timestamp_seconds 1000") == 1


def test_about_has_schedule_and_memory() -> None:
    running, _auditor, _clock = service()
    assert running.about() == "3 checkpoints audited every 1 min. The worker uses 50.0 MiB."
    running.run()
    assert running.about().startswith(
        "3 checkpoints audited every 1 min, last at 1970-01-01T00:18:43.000Z."
    )
