"""The probe of Python workers, its check, tuning of workers, and the package that is sent."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import inspector
from inspector.engines import workers
from inspector.engines.workers import (
    check,
    kernel_note,
    lack_package,
    package_zip,
    probe,
    quick_acknowledgements,
    tune,
)
from inspector.exceptions import EngineError
from tests.spark_support import without_package


def plain(program: str, *paths: str | Path, stdin: bytes = b"") -> str:
    """Run a program by a Python with only its standard library and some paths."""
    head = f"import sys; sys.path += {[str(path) for path in paths]!r}\n"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", head + program],
        input=stdin,
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


def libraries() -> Path:
    """Return the folder of this Python's libraries without this package."""
    import numpy

    return without_package(Path(numpy.__file__).parents[1])


ANSWER = "import pickle; print(pickle.load(sys.stdin.buffer)(0))"


def probed(*paths: str | Path, modules: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Return the answer of a worker that has only some paths, probed as PySpark does."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", exc_type=ImportError)
    sent = probe() if modules is None else probe(modules)
    folder = Path(cloudpickle.__file__).parents[2]
    # The worker imports only the modules of PySpark that unpickle the function.
    head = (
        "import importlib.util as u\n"
        f"s = u.spec_from_file_location('pyspark', {str(folder / 'pyspark' / 'none.py')!r},"
        f" submodule_search_locations=[{str(folder / 'pyspark')!r}])\n"
        "sys.modules['pyspark'] = u.module_from_spec(s)\n"
    )
    document: dict[str, Any] = json.loads(
        plain(head + ANSWER, *paths, stdin=cloudpickle.dumps(sent))
    )
    return document


def test_probe_names_missing_modules() -> None:
    result = probed(modules=("json", "pyarrow", "no_such_module"))
    assert result["missing"] == ["pyarrow", "no_such_module"]
    assert (result["inspector"], result["kernel"]) == (None, None)
    assert result["executable"] == sys.executable
    assert result["host"]


def test_worker_with_only_the_libraries_is_accepted() -> None:
    result = probed(libraries())
    assert (result["missing"], result["inspector"]) == ([], None)
    assert lack_package(check([json.dumps(result)]))


def test_probe_names_package_version_and_kernel() -> None:
    home = Path(inspector.__file__).parents[1]
    result = probed(libraries(), home)
    assert result["inspector"] == inspector.__version__
    assert result["kernel"] in {"c", "python"}
    assert not lack_package([result])


def test_probe_names_a_library_that_the_package_lacks(tmp_path: Path) -> None:
    kernel = tmp_path / "inspector" / "kernel"
    kernel.mkdir(parents=True)
    (tmp_path / "inspector" / "__init__.py").write_text("__version__ = '9'")
    (kernel / "loader.py").write_text("import no_such_library")
    assert probed(tmp_path, modules=())["missing"] == ["no_such_library"]


# --- checking ---------------------------------------------------------------------------------


def answer(**changed: Any) -> str:
    result = {
        "host": "node-7",
        "executable": "/opt/python",
        "missing": [],
        "inspector": inspector.__version__,
        "kernel": "c",
    }
    return json.dumps(result | changed)


def test_equal_worker_answers_count_once() -> None:
    assert len(check([answer(), answer(), answer(host="node-8")])) == 2


def test_missing_modules_are_named_with_worker_and_advice() -> None:
    bad = answer(host="node-8", missing=["pyarrow", "xxhash"])
    with pytest.raises(EngineError) as caught:
        check([answer(), bad])
    words = str(caught.value)
    assert "/opt/python on node-8 has no pyarrow, xxhash" in words
    assert "spark.archives" in words


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([inspector.__version__], False),
        ([None], True),
        (["0.0.0"], True),
        ([inspector.__version__, None], True),
    ],
)
def test_package_is_sent_if_one_worker_lacks_it(versions: list[str | None], expected: bool) -> None:
    assert lack_package(check([answer(inspector=version) for version in versions])) == expected


def test_python_kernel_on_workers_gives_a_note() -> None:
    assert kernel_note(check([answer()])) is None
    note = kernel_note(check([answer(), answer(kernel="python")]))
    assert note is not None
    assert "Python twin" in note


# --- tuning ----------------------------------------------------------------------------------

OPTION = (socket.IPPROTO_TCP, getattr(socket, "TCP_QUICKACK", 0))
LINUX = pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="Linux has it alone")


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a loopback TCP connection. The second one delays acknowledgements."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        first = socket.create_connection(server.getsockname())
        second, _ = server.accept()
    with first, second:
        second.setsockopt(*OPTION, 0)
        yield first, second


@LINUX
def test_quick_acknowledgements_are_set_and_restored(
    connection: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = connection
    again = second.dup()
    duplicates: list[socket.socket] = []
    find = workers._loopback_connections

    def record() -> Iterator[socket.socket]:
        for duplicate in find():
            duplicates.append(duplicate)
            yield duplicate

    monkeypatch.setattr(workers, "_loopback_connections", record)
    with quick_acknowledgements():
        assert second.getsockopt(*OPTION) == 1
    assert second.getsockopt(*OPTION) == 0
    assert duplicates
    assert set(map(socket.socket.fileno, duplicates)) == {-1}  # all closed
    first.sendall(b"still open")
    assert second.recv(10) == b"still open"
    again.close()


@LINUX
def test_remote_connections_are_unchanged(
    connection: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, second = connection
    monkeypatch.setattr("inspector.engines.workers._is_loopback", lambda _socket: False)
    with quick_acknowledgements():
        assert second.getsockopt(*OPTION) == 0


@LINUX
@pytest.mark.parametrize("method", ["dup", "getpeername"])
def test_connection_that_cannot_be_inspected_stays_open(
    connection: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def fail(_socket: socket.socket) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")

    first, second = connection
    monkeypatch.setattr(socket.socket, method, fail, raising=False)
    with quick_acknowledgements():
        pass
    monkeypatch.undo()
    first.sendall(b"still open")
    assert second.recv(10) == b"still open"


@LINUX
def test_closed_search_leaves_connections_open(
    connection: tuple[socket.socket, socket.socket],
) -> None:
    first, second = connection
    found: Any = workers._loopback_connections()
    next(found).close()
    found.close()
    first.sendall(b"still open")
    assert second.recv(10) == b"still open"


@LINUX
def test_duplicate_is_closed_if_its_option_cannot_be_set(
    connection: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    duplicate = connection[1].dup()
    duplicate.shutdown(socket.SHUT_RDWR)
    monkeypatch.setattr(workers, "_loopback_connections", lambda: iter([duplicate]))
    monkeypatch.setattr(socket, "TCP_QUICKACK", 9999)
    with quick_acknowledgements():
        assert duplicate.fileno() == -1


@LINUX
def test_tuned_task_closed_early_restores_connections(
    connection: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, second = connection
    frozen: list[bool] = []
    monkeypatch.setattr("inspector.engines.workers._freeze", lambda: frozen.append(True))
    batch = pa.record_batch({"id": [1]})
    run: Any = tune(lambda batches: iter(batches))([batch, batch])
    assert next(run) == batch
    assert (frozen, second.getsockopt(*OPTION)) == ([True], 1)
    run.close()
    assert second.getsockopt(*OPTION) == 0


# --- the package as a zip --------------------------------------------------------------------


def test_package_zip_has_only_the_package(tmp_path: Path) -> None:
    path = package_zip(tmp_path)
    assert path == tmp_path / "inspector.zip"
    home = Path(inspector.__file__).parent
    names = zipfile.ZipFile(path).namelist()
    sources = {"inspector/" + file.relative_to(home).as_posix() for file in home.rglob("*.py")}
    pages = ["inspector/docs/reference/findings.md", "inspector/docs/reference/metrics.md"]
    assert set(names) == sources.union(pages)
    assert len(names) == len(set(names)) > 100
    assert "test" not in str(names).lower()


def test_package_zip_can_be_made_from_the_zip(tmp_path: Path) -> None:
    path = package_zip(tmp_path)
    second = tmp_path / "second"
    second.mkdir()
    program = (
        "from pathlib import Path; from inspector.engines.workers import package_zip\n"
        f"package_zip(Path({str(second)!r}))"
    )
    plain(program, libraries(), path)
    assert contents(second / path.name) == contents(path)


def contents(path: Path) -> dict[str, bytes]:
    """Return the bytes of each file of a zip."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_worker_runs_from_the_package_zip(tmp_path: Path) -> None:
    path = package_zip(tmp_path)
    result = probed(libraries(), path)
    assert (result["missing"], result["inspector"]) == ([], inspector.__version__)
    assert result["kernel"] == "python"
    program = (
        "from inspector.passes.worker import run_tasks, run_fields\n"
        "from inspector.passes.typed_rows import run_typed_rows\n"
        "from inspector.findings.rule import all_kinds\n"
        "from inspector.findings.metrics import METRICS\n"
        "assert all(kind.title for kind in all_kinds()) and all(metric.doc for metric in METRICS)\n"
        "import inspector; print(inspector.__file__, list(run_tasks([])), list(run_typed_rows([])))"
    )
    where, *facts = plain(program, libraries(), path).split()
    assert where == str(path / "inspector" / "__init__.py")
    assert facts == ["[]", "[]"]
