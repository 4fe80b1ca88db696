"""The last audit of each checkpoint, as the fleet's page shows it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

from inspector.analyses.audit import audit
from inspector.checkpoint.stops import Stop, WorkStoppedError, obey_stop
from inspector.credentials import redact
from inspector.exceptions import InspectorError
from inspector.findings.verdict import Level
from inspector.model import Redact
from inspector.quantities import sentence
from inspector.render.page.served import FleetEntry, fleet_entry
from inspector.render.report import Report
from inspector.serve.sources import Part, Source, commit_time_ms

_WAITING = "Not audited yet."  # cause of a checkpoint before its first audit


class Fleet:
    """Last audits of all checkpoints; each entry is replaced as a whole."""

    def __init__(self, source: Source) -> None:
        """Begin without any audit."""
        self._source = source
        self._entries: dict[int, FleetEntry] = {}  # entry of each audited checkpoint, by its index
        self._lock = threading.Lock()
        self._is_started = False

    @property
    def entries(self) -> Sequence[FleetEntry]:
        """An entry for each checkpoint, by its index."""
        paths = enumerate(list(self._source.paths))
        return [self._entries.get(index) or _waiting(index, path) for index, path in paths]

    @property
    def is_complete(self) -> bool:
        """True if each checkpoint was audited, or could not be."""
        return len(self._entries) == len(self._source.paths)

    def start(self) -> None:
        """Audit all checkpoints once, in a thread; does nothing at further calls."""
        with self._lock:
            is_started, self._is_started = self._is_started, True
        if not is_started:
            threading.Thread(target=self.audit_all, name="fleet", daemon=True).start()

    def audit_all(self, stop: Stop | None = None) -> None:
        """Audit the checkpoints one after the other; an error is an entry, too."""
        stop = stop or Stop()
        with suppress(WorkStoppedError), obey_stop(stop):
            for index in range(len(self._source.paths)):
                self.audit_one(index, stop)

    def audit_one(self, index: int, stop: Stop) -> None:
        """Audit one checkpoint and keep its entry; an error of the checkpoint is one, too."""
        try:
            opened = self._source.open(index, Part(), stop, redact=Redact.HASH)
            self.keep(index, audit(opened), commit_time_ms(opened.checkpoint))
        except Exception as error:  # noqa: BLE001 - one checkpoint does not stop the others
            self.fail(index, error)

    def keep(self, index: int, report: Report, committed: int | None) -> None:
        """Keep the entry of an audit of the newest batch.

        ``committed`` is the time of its commit, epoch ms; None if unknown.
        """
        self._entries[index] = fleet_entry(report, url_of(index), committed)

    def fail(self, index: int, error: Exception) -> None:
        """Keep the error of a checkpoint that could not be audited."""
        path, text = redact(self._source.paths[index]), message_of(error)
        self._entries[index] = FleetEntry(path, url_of(index), Level.UNREADABLE, text)


def _waiting(index: int, path: str) -> FleetEntry:
    """Return the entry of a checkpoint before its first audit."""
    return FleetEntry(redact(path), url_of(index), None, _WAITING)


def url_of(index: int) -> str:
    """Return the URL of a checkpoint's page."""
    return f"/{index}"


def message_of(error: Exception) -> str:
    """Return the sentence on an error that stopped an analysis, without secrets."""
    if isinstance(error, MemoryError):
        return "There is not enough memory."
    if isinstance(error, (InspectorError, OSError, ValueError)):
        return sentence(redact(str(error) or type(error).__name__))
    return f"Internal error: {type(error).__name__}."
