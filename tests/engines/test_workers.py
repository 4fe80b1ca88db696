"""What workers say that they have, how it is judged, and the package that is sent to them."""

from __future__ import annotations

import gc
import json
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import inspector
from inspector.engines.workers import (
    begin,
    judge,
    kernel_note,
    must_ship,
    on_worker,
    package_zip,
    question,
)
from inspector.exceptions import EngineError
from tests.spark_support import without_package


def plain(program: str, *paths: str | Path, stdin: bytes = b"") -> str:
    """Run a program by a Python that has its standard library and some paths, and no more."""
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
    """Where this Python has its libraries; this package is not among them."""
    import numpy

    return without_package(Path(numpy.__file__).parents[1])


ANSWER = "import pickle; print(pickle.load(sys.stdin.buffer)(0))"


def asked_of(*paths: str | Path, modules: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The answer of a worker with nothing but some paths, asked as PySpark asks."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", exc_type=ImportError)
    asked = question() if modules is None else question(modules)
    folder = Path(cloudpickle.__file__).parents[2]
    # Only what unpickles the function is taken from PySpark; pickle names its modules.
    head = (
        "import importlib.util as u\n"
        f"s = u.spec_from_file_location('pyspark', {str(folder / 'pyspark' / 'none.py')!r},"
        f" submodule_search_locations=[{str(folder / 'pyspark')!r}])\n"
        "sys.modules['pyspark'] = u.module_from_spec(s)\n"
    )
    told: dict[str, Any] = json.loads(plain(head + ANSWER, *paths, stdin=cloudpickle.dumps(asked)))
    return told


def test_a_worker_with_nothing_says_what_it_lacks() -> None:
    told = asked_of(modules=("json", "pyarrow", "no_such_module"))
    assert told["missing"] == ["pyarrow", "no_such_module"]
    assert (told["inspector"], told["kernel"]) == (None, None)
    assert told["executable"] == sys.executable
    assert told["host"]


def test_a_worker_with_the_libraries_alone_is_good_enough() -> None:
    told = asked_of(libraries())
    assert (told["missing"], told["inspector"]) == ([], None)
    assert must_ship(judge([json.dumps(told)]))


def test_a_worker_with_the_package_names_its_version_and_kernel() -> None:
    home = Path(inspector.__file__).parents[1]
    told = asked_of(libraries(), home)
    assert told["inspector"] == inspector.__version__
    assert told["kernel"] in {"c", "python"}
    assert not must_ship([told])


def test_a_package_that_lacks_a_library_names_it(tmp_path: Path) -> None:
    kernel = tmp_path / "inspector" / "kernel"
    kernel.mkdir(parents=True)
    (tmp_path / "inspector" / "__init__.py").write_text("__version__ = '9'")
    (kernel / "loader.py").write_text("import no_such_library")
    assert asked_of(tmp_path, modules=())["missing"] == ["no_such_library"]


# --- judging ---------------------------------------------------------------------------------


def answer(**changed: Any) -> str:
    told = {
        "host": "node-7",
        "executable": "/opt/python",
        "missing": [],
        "inspector": inspector.__version__,
        "kernel": "c",
    }
    return json.dumps(told | changed)


def test_workers_that_answer_alike_are_told_once() -> None:
    assert len(judge([answer(), answer(), answer(host="node-8")])) == 2


def test_what_is_missing_is_named_with_its_worker_and_a_way_out() -> None:
    bad = answer(host="node-8", missing=["pyarrow", "xxhash"])
    with pytest.raises(EngineError) as caught:
        judge([answer(), bad])
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
def test_it_is_sent_where_one_worker_lacks_it(versions: list[str | None], expected: bool) -> None:
    assert must_ship(judge([answer(inspector=version) for version in versions])) == expected


def test_a_slow_kernel_is_worth_a_note() -> None:
    assert kernel_note(judge([answer()])) is None
    note = kernel_note(judge([answer(), answer(kernel="python")]))
    assert note is not None
    assert "Python twin" in note


def test_nothing_is_frozen_where_no_task_runs() -> None:
    def function(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    batch = pa.record_batch({"id": [1]})
    assert list(on_worker(function)([batch])) == [batch]
    assert not gc.get_freeze_count()


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="Linux has it alone")
@pytest.mark.parametrize("in_task", [True, False])
def test_a_task_acknowledges_at_once_what_has_come(
    monkeypatch: pytest.MonkeyPatch, in_task: bool
) -> None:
    context = SimpleNamespace(get=lambda: object() if in_task else None)
    tasks = SimpleNamespace(TaskContext=context)
    monkeypatch.setitem(sys.modules, "pyspark.taskcontext", tasks)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    option = socket.IPPROTO_TCP, socket.TCP_QUICKACK
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
    with one, other:
        other.setsockopt(*option, 0)
        begin()
        assert other.getsockopt(*option) == in_task
        one.sendall(b"still open")
        assert other.recv(10) == b"still open"


# --- the package as a zip --------------------------------------------------------------------


def test_the_zip_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    path = package_zip(tmp_path)
    assert path == tmp_path / "inspector.zip"
    home = Path(inspector.__file__).parent
    names = zipfile.ZipFile(path).namelist()
    sources = {"inspector/" + file.relative_to(home).as_posix() for file in home.rglob("*.py")}
    assert set(names) == sources
    assert len(names) == len(set(names)) > 100
    assert not any("test" in name.lower() for name in names)


def test_a_zip_begets_its_like(tmp_path: Path) -> None:
    path = package_zip(tmp_path)
    second = tmp_path / "second"
    second.mkdir()
    program = (
        "from pathlib import Path; from inspector.engines.workers import package_zip\n"
        f"package_zip(Path({str(second)!r}))"
    )
    plain(program, libraries(), path)
    one, other = (zipfile.ZipFile(each) for each in (path, second / path.name))
    assert {n: one.read(n) for n in one.namelist()} == {n: other.read(n) for n in other.namelist()}


def test_a_folder_of_its_own_ends_with_the_process() -> None:
    program = (
        "from inspector.engines.workers import package_zip\n"
        "path = package_zip(); assert path.is_file(); print(path)"
    )
    where = Path(plain(program, libraries(), Path(inspector.__file__).parents[1]).strip())
    assert where.name == "inspector.zip"
    assert not where.parent.exists()


def test_a_worker_can_do_its_work_by_the_zip_alone(tmp_path: Path) -> None:
    path = package_zip(tmp_path)
    told = asked_of(libraries(), path)
    assert (told["missing"], told["inspector"]) == ([], inspector.__version__)
    assert told["kernel"] == "python"
    program = (
        "from inspector.passes.run import run_tasks, run_fields\n"
        "from inspector.passes.typed_rows import run_typed\n"
        "import inspector; print(inspector.__file__, list(run_tasks([])), list(run_typed([])))"
    )
    where, *facts = plain(program, libraries(), path).split()
    assert where == str(path / "inspector" / "__init__.py")
    assert facts == ["[]", "[]"]
