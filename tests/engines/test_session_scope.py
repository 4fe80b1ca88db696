"""Resources of a session end with it. These tests need no Spark."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inspector.engines import session as sessions
from inspector.engines.session import (
    SessionScope,
    close_stopped_scopes,
    is_stopped,
    message_of,
    register,
    scope_of,
)


class Classic:
    """A session of this process, whose context loses its JVM object when it is stopped."""

    def __init__(self) -> None:
        self._sc: Any = SimpleNamespace(_jsc=object())

    def stop(self) -> None:
        self._sc._jsc = None


class Connect:
    """A session of a server, with a flag that it was stopped."""

    is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True


def test_every_session_has_one_scope() -> None:
    first, second = Classic(), Classic()
    assert scope_of(first) is scope_of(first)
    assert scope_of(second) is not scope_of(first)


def test_user_session_has_no_master_confs_or_owned_workers() -> None:
    scope = scope_of(Classic())
    assert (scope.master, scope.owns_workers, dict(scope.confs)) == (None, False, {})


def test_confs_of_a_session_started_here_are_secret() -> None:
    session: Any = Classic()
    register(session, SessionScope("local", {"my.key": "s3cr3t"}))
    assert message_of(ValueError("got s3cr3t"), session) == "got ***"


@pytest.mark.parametrize("kind", [Classic, Connect])
def test_stopped_session_releases_its_scope(kind: Any) -> None:
    session = kind()
    assert not is_stopped(session)
    scope = scope_of(session)
    folder = Path(scope.folder("inspector-test-"))
    scope.listings["name"] = None  # type: ignore[assignment]
    scope.workers_checked = True
    assert folder.is_dir()
    session.stop()
    assert is_stopped(session)
    scope_of(kind())
    assert not folder.exists()
    assert scope.listings == {}
    assert session not in sessions._scopes
    assert not scope_of(session).workers_checked


@pytest.mark.parametrize("kind", [Classic, Connect])
def test_running_session_keeps_its_scope(kind: Any) -> None:
    session = kind()
    scope = scope_of(session)
    folder = Path(scope.folder("inspector-test-"))
    close_stopped_scopes()
    assert folder.is_dir()
    assert scope_of(session) is scope
    scope.close()


def test_collected_session_releases_its_scope() -> None:
    session = Classic()
    scope = scope_of(session)
    folder = Path(scope.folder("inspector-test-"))
    del session
    gc.collect()
    assert not folder.exists()
    assert not any(value is scope for value in sessions._scopes.values())


def test_close_callbacks_run_once_in_reverse_order() -> None:
    scope, message = SessionScope(), list[int]()
    scope.on_close(message.append, 1)
    scope.on_close(message.append, 2)
    scope.close()
    scope.close()
    assert message == [2, 1]


def test_scope_folder_is_removed_at_exit() -> None:
    program = (
        "from inspector.engines.session import scope_of\n"
        "class Session: pass\n"
        "session = Session(); print(scope_of(session).folder('inspector-test-'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    folder = Path(done.stdout.decode().strip())
    assert folder.name.startswith("inspector-test-")
    assert not folder.exists()


# --- confs that are set for a while -------------------------------------------------------------


class Confs(dict[str, str]):
    """Confs of a session with the methods of PySpark."""

    def set(self, name: str, value: str) -> None:
        self[name] = value

    def unset(self, name: str) -> None:
        del self[name]


@pytest.mark.parametrize("before", [{}, {"spark.x": "before"}])
def test_conf_is_restored_after_a_failure(before: dict[str, str]) -> None:
    confs = Confs(before)

    def fail() -> None:
        with SessionScope().conf(confs, "spark.x", "now"):
            assert confs["spark.x"] == "now"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert confs == before


@pytest.mark.parametrize("before", [{}, {"spark.x": "before"}])
def test_overlapping_conf_blocks_restore_the_first_value(before: dict[str, str]) -> None:
    # The first block that begins ends first, as in two threads.
    confs, scope = Confs(before), SessionScope()
    first, second = (scope.conf(confs, "spark.x", "now") for _ in range(2))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert confs["spark.x"] == "now"
    second.__exit__(None, None, None)
    assert confs == before
