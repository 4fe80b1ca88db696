"""The server's side of the worker process: requests with a limit of seconds each."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Protocol

from inspector.light_dataclasses import dataclass
from inspector.quantities import count_text
from inspector.serve.audit_worker import Answer, WorkerOptions

MOST_WORKER_BYTES = (
    1 << 30
)  # memory of the worker after an audit, above which a new one replaces it
_POLL_SECONDS = 0.2  # seconds between two checks whether the service ends
# program of the worker; its words are the folders to import from, and the number of a file
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:-1]; from inspector.serve.audit_worker import main; "
    "main(int(sys.argv[-1]))"
)
_END_SECONDS = 5.0  # seconds that a closed worker has to end before it is killed


class AuditError(Exception):
    """Raised if the worker did not answer: it took too long, or its process ended."""


class AuditStoppedError(Exception):
    """Raised if the service ended while it waited for an answer."""


class Auditor(Protocol):
    """Sender of requests, such as :class:`WorkerProcess`."""

    @property
    def memory_bytes(self) -> int | None:
        """Resident memory of the worker after its last answer; None if unknown."""

    def ask(self, request: Any, seconds: float) -> Answer:
        """Return the answer to a request. Raises AuditError and AuditStoppedError."""

    def close(self) -> None:
        """End the worker; a request that waits raises AuditStoppedError."""


@dataclass(frozen=True)
class _Running:
    """A worker process, and the connection to it."""

    process: subprocess.Popen[bytes]  # process
    connection: Connection[Any, Any]  # connection of this side


class WorkerProcess:
    """Worker that is started when it is needed, and replaced when it hangs or has grown."""

    def __init__(
        self,
        worker: WorkerOptions,
        command: Sequence[str] | None = None,
        most_bytes: int = MOST_WORKER_BYTES,
    ) -> None:
        """Prepare a worker with options for all audits.

        ``command`` starts it, with the number of a file as the last word; None for this package.
        """
        self._worker, self._most_bytes = worker, most_bytes
        # The worker imports from where this process does, and not from its current folder.
        self._command = command or (sys.executable, "-c", _PROGRAM, *sys.path)
        self._running: _Running | None = None
        self._closed = threading.Event()
        self.starts = 0  # number of processes that were started
        self._memory_bytes: int | None = None

    @property
    def memory_bytes(self) -> int | None:
        """Resident memory of the worker after its last answer; None if unknown."""
        return self._memory_bytes

    def ask(self, request: Any, seconds: float) -> Answer:
        """Return the answer to a request.

        Raises AuditError if it takes longer than ``seconds`` or if the process ends, and
        AuditStoppedError after :meth:`close`. The process is then killed.
        """
        running = self._running or self._start()
        try:
            running.connection.send_bytes(pickle.dumps(request))
            self._wait(running.connection, seconds)
            result, size = pickle.loads(running.connection.recv_bytes())  # noqa: S301 - own process
        except (EOFError, OSError):
            code = self._kill()
            if self._closed.is_set():
                raise AuditStoppedError from None
            raise AuditError(f"The worker process ended with code {code}.") from None
        except BaseException:
            self._kill()
            raise
        self._memory_bytes = size
        if size is not None and size > self._most_bytes:
            self._end()
        answer: Answer = result
        return answer

    def _wait(self, connection: Any, seconds: float) -> None:
        """Wait until the worker begins to send its answer.

        Raises AuditError if no answer begins within ``seconds``, and AuditStoppedError if
        :meth:`close` was called meanwhile.
        """
        left = seconds
        while not connection.poll(min(_POLL_SECONDS, max(left, 0))):
            left -= _POLL_SECONDS
            if self._closed.is_set():
                raise AuditStoppedError
            if left <= 0:
                limit = count_text(round(seconds), "second")
                raise AuditError(f"The audit took longer than {limit}: see --audit-seconds.")

    def close(self) -> None:
        """End the worker; a request that waits raises AuditStoppedError."""
        self._closed.set()
        running = self._running
        if running is not None:
            with suppress(OSError):
                running.process.kill()
            with suppress(subprocess.TimeoutExpired):
                running.process.wait(_END_SECONDS)

    def _start(self) -> _Running:
        """Start a process and send it the options."""
        if self._closed.is_set():
            raise AuditStoppedError
        ours, theirs = Pipe()
        command = [*self._command, str(theirs.fileno())]
        process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C is for the server
        )
        theirs.close()
        self.starts += 1
        self._running = _Running(process, ours)
        if self._closed.is_set():  # closed while the process was started
            self._kill()
            raise AuditStoppedError
        with suppress(OSError):  # the next request says that the process has ended
            ours.send_bytes(pickle.dumps(self._worker))
        return self._running

    def _end(self) -> None:
        """Let the process end because it has answered; kill it if it does not."""
        running, self._running = self._running, None
        if running is not None:
            running.connection.close()
            try:
                running.process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                running.process.kill()
                running.process.wait()

    def _kill(self) -> int:
        """Kill the process and return the code with which it ended."""
        running, self._running = self._running, None
        if running is None:
            return 0
        running.connection.close()
        with suppress(subprocess.TimeoutExpired):
            return running.process.wait(_POLL_SECONDS)  # it may have ended by itself
        running.process.kill()
        return running.process.wait()
