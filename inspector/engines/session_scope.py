"""What this process keeps for a Spark session: it belongs to the session and ends with it.

Facts about workers, listings, secrets and temporary files are held for each session, never by the
process. What a session that was started here changes in this process is undone at its end; a user's
own session is left as it was found.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from inspector.light_dataclasses import dataclass

if TYPE_CHECKING:
    from inspector.engines.hadoop_listing import Listing

    UndoStack = ExitStack[bool | None]


@dataclass(frozen=True)
class Request:
    """What a session was started with: the master and the confs."""

    master: str | None
    conf: Mapping[str, str]


@dataclass
class _Override:
    """A conf's value before, and how many blocks need the other one at this moment."""

    before: str | None
    users: int = 0


class SessionScope:
    """What belongs to one session, by what it was started with (None: it is the user's own).

    ``owns_workers``: its Python workers serve no other session; those of a Spark Connect server
    may, even where the session was started here.
    """

    def __init__(self, request: Request | None = None, *, owns_workers: bool = False) -> None:
        self.request, self.owns_workers = request, owns_workers
        self.listings: dict[str, Listing] = {}  # of checkpoints by name, as long as they are open
        self.worker_note: str | None = None  # what a user is to know of the workers, if anything
        self.workers_checked = False  # they were asked what they have, which takes a job
        self._undo: UndoStack = ExitStack()
        self._lock = threading.Lock()
        self._overrides: dict[str, _Override] = {}

    @property
    def secrets(self) -> Mapping[str, str]:
        """Confs, of which no message shows what is secret."""
        return self.request.conf if self.request else {}

    def on_close(self, undo: Callable[..., Any], *args: Any) -> None:
        """Let a function be called at the end, the last one first."""
        self._undo.callback(undo, *args)

    def folder(self, prefix: str) -> str:
        """A new temporary folder that is removed at the end."""
        path = tempfile.mkdtemp(prefix=prefix)
        self._undo.callback(shutil.rmtree, path, ignore_errors=True)
        return path

    def close(self) -> None:
        """Undo what was done for the session; harmless when repeated."""
        self.listings.clear()
        self._undo.close()

    @contextmanager
    def conf(self, settings: Any, name: str, value: str) -> Iterator[None]:
        """Set a conf of the session as long as the block lasts, in however many threads.

        All at the same time set the same value; the last one restores what was before the first.
        """
        with self._lock:
            if name not in self._overrides:
                self._overrides[name] = _Override(settings.get(name, None))
                settings.set(name, value)
            self._overrides[name].users += 1
        try:
            yield
        finally:
            with self._lock:
                override = self._overrides[name]
                override.users -= 1
                if not override.users:
                    del self._overrides[name]
                    if override.before is None:
                        settings.unset(name)
                    else:
                        settings.set(name, override.before)


_scopes: WeakKeyDictionary[Any, SessionScope] = WeakKeyDictionary()  # of sessions not stopped


def scope_of(session: Any) -> SessionScope:
    """The scope of a session; a new one of a user's session that was not seen before."""
    close_stopped_scopes()
    scope = _scopes.get(session)
    return register(session, SessionScope()) if scope is None else scope


def register(session: Any, scope: SessionScope) -> SessionScope:
    """Bind a scope to a session: it is closed when that is gone, at the latest with the process."""
    _scopes[session] = scope
    weakref.finalize(session, scope.close)
    return scope


def close_stopped_scopes() -> None:
    """Close the scopes of sessions that were stopped, which somebody may still hold."""
    for session, scope in list(_scopes.items()):
        if is_stopped(session):
            scope.close()
            _scopes.pop(session, None)


def is_stopped(session: Any) -> bool:
    """Whether a session was stopped, by whomever: Connect says so, a classic one lost its JVM."""
    if hasattr(type(session), "is_stopped"):
        return bool(session.is_stopped)
    context = getattr(session, "_sc", None)
    return context is not None and context._jsc is None
