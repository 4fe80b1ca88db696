"""The worker process of the service: it reads checkpoints, and nothing else in the service does.

A read that hangs, or takes too much memory, ends with this process and not with the server. The
server sends pickled requests over a connection, one at a time, and gets the answers as pickles;
both ends are the same program.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import cached_property
from multiprocessing.connection import Connection
from typing import Any, cast

from inspector.analyses.audit import audit
from inspector.analyses.shared.fleet_run import find_all
from inspector.analyses.shared.opening import Opened, Recalled, begin
from inspector.analyses.shared.options import Options
from inspector.clock import epoch_ms
from inspector.credentials import redact
from inspector.engines.choose import LOCAL, EngineOptions
from inspector.light_dataclasses import dataclass, field, fields
from inspector.render.audit_history import HistoryTable, Row, row_of_failure, rows_of
from inspector.serve.last_audits import message_of
from inspector.serve.last_results import (
    KeptResults,
    LastResult,
    result_of,
    result_of_failure,
)
from inspector.serve.process_memory import process_bytes
from inspector.serve.recalled_history import results_of_history
from inspector.serve.sources import commit_time_ms


@dataclass(frozen=True)
class WorkerOptions:
    """Options of all audits of the service."""

    # fields of the options of each audit, without its engine, which cannot be pickled
    values: Mapping[str, Any] = field(default_factory=dict)
    history: str | None = None  # folder of the history; None for none

    @classmethod
    def of(cls, options: Options, history: str | None = None) -> WorkerOptions:
        """Return the options of a worker whose audits have these options and the local engine."""
        values = {f.name: getattr(options, f.name) for f in fields(options) if f.name != "engine"}
        plain = {n: dict(v) if isinstance(v, Mapping) else v for n, v in values.items()}
        return cls(plain, history)

    @cached_property
    def options(self) -> Options:
        """Options of each audit, with its cache."""
        return Options(**self.values, engine=EngineOptions(LOCAL))


@dataclass(frozen=True)
class AuditRequest:
    """Request to audit a checkpoint."""

    path: str  # path as the user spelled it
    url: str  # page of the checkpoint


@dataclass(frozen=True)
class SearchRequest:
    """Request for the checkpoints that the paths of the start name now."""

    paths: Sequence[str]  # folders and patterns
    recursive: bool  # True if folders are searched for checkpoints in and below them


@dataclass(frozen=True)
class RecallRequest:
    """Request for the kept results of checkpoints, in this order."""

    checkpoints: Sequence[AuditRequest]  # path and page of each checkpoint


@dataclass(frozen=True)
class HistoryRequest:
    """Request to add rows to the history."""

    rows: Sequence[Row]  # rows of all checkpoints of one round


@dataclass(frozen=True)
class Answer:
    """Answer of the worker to a request."""

    result: LastResult | None = None  # result of an audit
    rows: Sequence[Row] = ()  # rows of the audit for the history
    recalled: Sequence[LastResult | None] = ()  # kept results, in the order of the request
    paths: Sequence[str] = ()  # paths of the checkpoints that a search has found
    error: str = ""  # what went wrong beside the audit, such as writing the cache; "" for nothing


def answer(request: Any, worker: WorkerOptions) -> Answer:
    """Return the answer to a request; errors are part of it."""
    if isinstance(request, AuditRequest):
        return _audit(request, worker)
    if isinstance(request, RecallRequest):
        return _recall(request, worker)
    if isinstance(request, SearchRequest):
        return _search(request, worker)
    assert isinstance(request, HistoryRequest)
    return Answer(error=_append(request.rows, worker))


def _audit(request: AuditRequest, worker: WorkerOptions) -> Answer:
    """Audit a checkpoint, keep its result, and return it."""
    audited = datetime.now(timezone.utc)
    results, path = _kept_results(worker), redact(request.path)
    try:
        opened = begin(request.path, worker.options)
        report = audit(cast("Opened", opened))
        if isinstance(opened, Recalled):  # no file has changed since the last result
            last = results.read(request.path, request.url) if results else None
            committed = None if last is None else last.entry.commit_time_ms
        else:
            committed = commit_time_ms(opened.checkpoint)
        result = result_of(report, request.url, committed, epoch_ms())
        rows = rows_of(report, audited)
    except Exception as error:  # noqa: BLE001 - one checkpoint does not stop the others
        message = message_of(error)
        result = result_of_failure(path, request.url, message, epoch_ms())
        rows = [row_of_failure(path, message, "audit", audited)]
    error_text = results.write(request.path, result) if results else ""
    return Answer(result, rows if worker.history else (), error=error_text)


def _recall(request: RecallRequest, worker: WorkerOptions) -> Answer:
    """Return the kept results of checkpoints, from the cache or else from the history."""
    results, error = _kept_results(worker), ""
    recalled = [results.read(c.path, c.url) if results else None for c in request.checkpoints]
    if worker.history is not None and None in recalled:
        try:
            audits = HistoryTable(worker.history, worker.options.storage_options).read()
            if audits is not None:
                pairs = [(item.path, item.url) for item in request.checkpoints]
                rows = results_of_history(audits, pairs)
                recalled = [
                    result or row_result for result, row_result in zip(recalled, rows, strict=True)
                ]
        except Exception as raised:  # noqa: BLE001 - the service goes on
            error = message_of(raised)
    return Answer(recalled=recalled, error=error)


def _search(request: SearchRequest, worker: WorkerOptions) -> Answer:
    """Return the paths of the checkpoints that a search finds, and the first error of it."""
    try:
        found = list(find_all(request.paths, worker.options, recursive=request.recursive))
    except Exception as error:  # noqa: BLE001 - the service goes on
        return Answer(error=message_of(error))
    errors = [message_of(item.error) for item in found if item.error is not None]
    return Answer(
        paths=[item.path for item in found if item.error is None], error="".join(errors[:1])
    )


def _append(rows: Sequence[Row], worker: WorkerOptions) -> str:
    """Add rows to the history; return the error as a text, "" if there is none."""
    assert worker.history is not None
    try:
        HistoryTable(worker.history, worker.options.storage_options).append(rows)
    except Exception as error:  # noqa: BLE001 - the service goes on
        return message_of(error)
    return ""


def _kept_results(worker: WorkerOptions) -> KeptResults | None:
    """Return the kept results; None without a cache."""
    folder = worker.options.cache
    return None if folder is None else KeptResults(folder, worker.options.storage_options)


def main(number: int) -> None:
    """Answer the requests of a connection, given by the number of its file, until it is closed.

    The process ends as soon as the server does, even during a read.
    """
    # A service manager may send it to all processes; the server closes the connection instead.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    connection: Connection[Any, Any] = Connection(number)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, requests), daemon=True).start()
    worker: WorkerOptions = pickle.loads(requests.get())  # noqa: S301 - from the server
    while True:
        request = pickle.loads(requests.get())  # noqa: S301 - from the server
        result = answer(request, worker)
        size = process_bytes()
        connection.send_bytes(pickle.dumps((result, size)))


def _receive(connection: Any, requests: queue.SimpleQueue[bytes]) -> None:
    """Pass requests on; end the process when the server has closed the connection."""
    try:
        while True:
            requests.put(connection.recv_bytes())
    except (EOFError, OSError):
        os._exit(0)
