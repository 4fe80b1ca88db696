"""The service: audits all checkpoints on a schedule, one after the other, in a worker process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from math import ceil

from inspector.clock import epoch_ms
from inspector.credentials import redact
from inspector.light_dataclasses import dataclass, field
from inspector.quantities import bytes_text, count_text, duration_text
from inspector.render.as_prometheus import Observed, prometheus_text
from inspector.render.audit_history import Row, row_of_failure
from inspector.serve.audit_worker import (
    Answer,
    AuditRequest,
    HistoryRequest,
    RecallRequest,
    SearchRequest,
)
from inspector.serve.auditor import AuditError, Auditor, AuditStoppedError
from inspector.serve.last_results import LastResult, result_of_failure
from inspector.serve.process_memory import process_bytes
from inspector.time_text import time_ms_text

AUDIT_SECONDS = 300.0  # seconds that an audit may take, unless the command says another time
RECALL_SECONDS = 60.0  # seconds that reading the kept results may take at the start
_LATE_SECONDS = 60.0  # seconds beyond interval and limit after which the service is not healthy
_END_SECONDS = 10.0  # seconds that stop() waits for the thread of the rounds to end

_MEMORY = "spark_state_service_memory_bytes"  # name of the metric on memory


class SystemClock:
    """Clock of the machine, and waiting by it."""

    def seconds(self) -> float:
        """Return seconds that never go back, from an unknown begin."""
        return time.monotonic()

    def epoch_ms(self) -> int:
        """Return the present time in epoch ms."""
        return epoch_ms()

    def wait(self, stopping: threading.Event, seconds: float) -> None:
        """Wait this long, or until ``stopping`` is set."""
        stopping.wait(seconds)


@dataclass(frozen=True)
class CheckpointSearch:
    """Search for checkpoints that were made after the start."""

    request: SearchRequest  # request to the worker
    # takes the path of a new checkpoint, and returns the request to audit it; None if it may not be
    add: Callable[[str], AuditRequest | None]


@dataclass(frozen=True)
class ServicePlan:
    """Tasks of a service: the checkpoints, and how often each is audited."""

    checkpoints: Sequence[AuditRequest]  # path and page of each checkpoint of the start
    every_seconds: float  # seconds from the begin of a round to the begin of the next one
    audit_seconds: float = AUDIT_SECONDS  # seconds that one audit may take
    has_history: bool = False  # rows of each round are added to a history
    notify: Callable[[str], None] = field(default=lambda _text: None)  # gets messages on errors
    search: CheckpointSearch | None = None  # search before each round but the first; None for none


class Service:
    """Rounds of audits in a thread, and the last result of each checkpoint."""

    def __init__(
        self, plan: ServicePlan, auditor: Auditor, clock: SystemClock | None = None
    ) -> None:
        """Prepare a service; :meth:`start` begins its first round."""
        self._plan, self._auditor, self._clock = plan, auditor, clock or SystemClock()
        self._checkpoints = list(plan.checkpoints)
        self._results: list[LastResult | None] = [None] * len(plan.checkpoints)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._progress, self._begin_ms = self._clock.seconds(), self._clock.epoch_ms()
        self.rounds = 0  # number of finished rounds
        # when the last round ended, epoch ms; before that, the last audit of an earlier process
        self.round_end_ms: int | None = None

    @property
    def results(self) -> Sequence[LastResult | None]:
        """The last result of each checkpoint, by its index; None before the first audit."""
        return list(self._results)

    def start(self) -> None:
        """Start the rounds in a thread."""
        self._thread = threading.Thread(target=self.run, name="service", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the rounds and the worker process."""
        self._stopping.set()
        self._auditor.close()
        if self._thread is not None:
            self._thread.join(_END_SECONDS)

    def run(self) -> None:
        """Recall the kept results, then audit in rounds until :meth:`stop`.

        A round that takes longer than the interval is followed at once by the next one; rounds
        that were missed are left out.
        """
        try:
            self._recall()
            while not self._stopping.is_set():
                begin = self._clock.seconds()
                self._round()
                left = begin + self._plan.every_seconds - self._clock.seconds()
                if left > 0:
                    self._clock.wait(self._stopping, left)
        except AuditStoppedError:
            return

    def _recall(self) -> None:
        """Take over the results that an earlier process has kept."""
        request = RecallRequest(self._checkpoints)
        try:
            answer = self._auditor.ask(request, RECALL_SECONDS)
        except AuditError as error:
            self._plan.notify(f"The last results cannot be read: {error}")
            return
        if answer.error:
            self._plan.notify(f"The history cannot be read: {answer.error}")
        for index, result in enumerate(answer.recalled):
            self._results[index] = result
        times = [result.audited_ms for result in answer.recalled if result is not None]
        self.round_end_ms = max(times, default=None)

    def _round(self) -> None:
        """Audit each checkpoint once, and add the rows to the history.

        A round that is not the first one looks for new checkpoints before.
        """
        if self.rounds and self._plan.search is not None:
            self._find_new(self._plan.search)
        rows: list[Row] = []
        for index in range(len(self._checkpoints)):
            if self._stopping.is_set():
                raise AuditStoppedError
            self._progress = self._clock.seconds()
            rows += self._audit(index).rows
        self._progress = self._clock.seconds()
        if rows and self._plan.has_history:
            self._add_to_history(rows)
        self.rounds += 1
        self.round_end_ms = self._clock.epoch_ms()

    def _find_new(self, search: CheckpointSearch) -> None:
        """Add the checkpoints that were not there at the last search; an error is a message."""
        self._progress = self._clock.seconds()
        try:
            answer = self._auditor.ask(search.request, self._plan.audit_seconds)
        except AuditError as error:
            self._plan.notify(f"New checkpoints cannot be searched: {error}")
            return
        if answer.error:
            self._plan.notify(f"New checkpoints cannot be searched: {answer.error}")
        known = {request.path for request in self._checkpoints}
        for path in answer.paths:
            request = None if path in known else search.add(path)
            if request is not None:
                self._checkpoints.append(request)
                self._results.append(None)

    def _audit(self, index: int) -> Answer:
        """Audit a checkpoint and keep its result; an audit without an answer is a result, too."""
        request, seconds = self._checkpoints[index], self._plan.audit_seconds
        try:
            answer = self._auditor.ask(request, seconds)
        except AuditError as error:
            now, path = self._clock.epoch_ms(), redact(request.path)
            moment = datetime.fromtimestamp(now / 1000, timezone.utc)
            result = result_of_failure(path, request.url, str(error), now)
            rows = [row_of_failure(path, str(error), "audit", moment)]
            answer = Answer(result, rows)
        if answer.error:
            self._plan.notify(f"The result is not kept: {answer.error}")
        self._results[index] = answer.result
        return answer

    def _add_to_history(self, rows: Sequence[Row]) -> None:
        """Add the rows of a round to the history; an error is a message."""
        try:
            error = self._auditor.ask(HistoryRequest(rows), self._plan.audit_seconds).error
        except AuditError as raised:
            error = str(raised)
        if error:
            self._plan.notify(f"The history is not written: {error}")

    # --- what is shown --------------------------------------------------------------------------

    @property
    def is_healthy(self) -> bool:
        """True if the rounds go on: the thread runs, and no audit is long overdue."""
        plan = self._plan
        allowed = max(plan.every_seconds, plan.audit_seconds, RECALL_SECONDS) + _LATE_SECONDS
        runs = self._thread is None or self._thread.is_alive()
        return runs and self._clock.seconds() - self._progress <= allowed

    def metrics(self) -> str:
        """Return the metrics of all last results, and the memory of both processes."""
        observed: list[Observed] = [r.observed for r in self._results if r is not None]
        written_ms = self._begin_ms if self.round_end_ms is None else self.round_end_ms
        lines = [prometheus_text(observed, written_ms / 1000)]
        sizes = {"server": process_bytes(), "worker": self._auditor.memory_bytes}
        lines.append(f"# HELP {_MEMORY} Resident memory of the processes of inspector serve.\n")
        lines.append(f"# TYPE {_MEMORY} gauge\n")
        lines += [f'{_MEMORY}{{process="{name}"}} {size}\n' for name, size in sizes.items() if size]
        return "".join(lines)

    def about(self) -> str:
        """Return sentences on the schedule and the memory of the worker, for people."""
        number, plan = len(self._checkpoints), self._plan
        every = duration_text(ceil(plan.every_seconds * 1000))
        text = f"{count_text(number, 'checkpoint')} audited every {every}"
        if self.round_end_ms is not None:
            text += f", last at {time_ms_text(self.round_end_ms)}"
        size = self._auditor.memory_bytes
        return f"{text}." + ("" if size is None else f" The worker uses {bytes_text(size)}.")
