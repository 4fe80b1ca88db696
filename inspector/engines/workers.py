"""The Python workers of a Spark: what they have, asked before any work is sent to them."""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import shutil
import socket
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa

import inspector
from inspector.engines.engine import BatchFunction
from inspector.exceptions import EngineError

NEEDED = ("pyarrow", "numpy", "fsspec", "xxhash", "google_crc32c", "pandas")
"""Modules that a worker has to have: the package's own dependencies, and PySpark's."""

VENV_PACK = (
    "install them there, or ship an environment (venv-pack): "
    "--conf spark.archives=environment.tar.gz#environment "
    "--conf spark.pyspark.python=./environment/bin/python"
)


def question(modules: tuple[str, ...] = NEEDED) -> Callable[[Any], str]:
    """The function that a worker runs; it carries all that it needs, as nothing may be there."""

    def answer(_number: Any) -> str:
        import importlib  # noqa: PLC0415 - on the worker
        import json  # noqa: PLC0415
        import platform  # noqa: PLC0415
        import sys  # noqa: PLC0415

        missing = []
        for name in modules:
            try:
                importlib.import_module(name)
            except ImportError:  # noqa: PERF203
                missing.append(name)
        told = {
            "host": platform.node(),
            "executable": sys.executable,
            "missing": missing,
            "inspector": None,
            "kernel": None,
        }
        try:
            package = importlib.import_module("inspector")
            kernel = importlib.import_module("inspector.kernel.loader")
            told["inspector"] = package.__version__
            told["kernel"] = kernel.kernel_name()
        except ImportError as error:
            if not missing:
                told["missing"] = [] if error.name == "inspector" else [str(error.name or error)]
        return json.dumps(told)

    return answer


def judge(answers: Iterable[str]) -> list[Mapping[str, Any]]:
    """The distinct workers' answers.

    Raises:
        EngineError: one cannot do the work; says what it lacks.
    """
    workers = [json.loads(answer) for answer in sorted(set(answers))]
    for one in workers:
        if one["missing"]:
            raise EngineError(
                f"the Python worker {one['executable']} on {one['host']} has no "
                f"{', '.join(one['missing'])}: {VENV_PACK}"
            )
    return workers


def must_ship(workers: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a worker lacks this package, or has another version of it."""
    return any(one["inspector"] != inspector.__version__ for one in workers)


def kernel_note(workers: Iterable[Mapping[str, Any]]) -> str | None:
    """What to know if workers run the slow twin of the kernel."""
    if all(one["kernel"] == "c" for one in workers):
        return None
    return (
        "workers run the Python twin of the kernel, many times slower than the compiled one; "
        "install the package's wheel on them, or ship a venv-pack archive with it"
    )


def on_worker(function: BatchFunction) -> BatchFunction:
    """The function as a Spark task runs it."""

    def on_worker(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin()
        yield from function(batches)

    return on_worker


def begin() -> None:
    """Spare a task what PySpark's workers lose time with, before it reads; nothing elsewhere."""
    tasks = sys.modules.get("pyspark.taskcontext")  # where there is none, nobody has imported it
    if tasks is not None and tasks.TaskContext.get() is not None:
        _freeze()
        _acknowledge()


@functools.cache
def _freeze() -> None:
    """Keep what a worker has imported out of its garbage collections.

    PySpark's workers collect all generations after each task (``pyspark/daemon.py``), and so walk
    over all objects of all modules: longer than many a task takes. Modules live as long as the
    worker does. Once: how many are frozen is counted one by one too.
    """
    gc.freeze()


def _acknowledge() -> None:
    """Tell the JVM at once that its bytes have come.

    It sends a task in small pieces over TCP, each of which waits for the one before to be
    acknowledged (Nagle), and Linux puts that off by up to 40 ms; until the next reading, so that
    each task has to ask. (Spark's Unix domain sockets, 4.1 and later, are as fast; but some workers
    that end then print a traceback, as the JVM no longer listens.)
    """
    if not hasattr(socket, "TCP_QUICKACK"):
        return  # not Linux
    for name in os.listdir("/proc/self/fd"):
        try:
            connection = socket.socket(fileno=int(name))
        except OSError:  # it is no socket
            continue
        with suppress(OSError):
            if connection.family in (socket.AF_INET, socket.AF_INET6):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        connection.detach()  # it is not ours to close


def package_zip(folder: Path | None = None) -> Path:
    """This package as a zip that workers can import: pure Python, so on the kernel's Python twin.

    Args:
        folder: where to put it; if not given a new one, which ends with this process.
    """
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="inspector-zip-"))
        # Not earlier: an executor that starts in the middle of a job fetches it too.
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = folder / "inspector.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _sources(resources.files(inspector), inspector.__name__):
            archive.writestr(name, text)
    return target


def _sources(folder: Any, name: str) -> Iterator[tuple[str, bytes]]:
    """The modules below a folder, which may lie in a zip itself."""
    for entry in sorted(folder.iterdir(), key=lambda each: str(each.name)):
        place = f"{name}/{entry.name}"
        if entry.is_dir():
            yield from _sources(entry, place)
        elif entry.name.endswith(".py"):
            yield place, entry.read_bytes()
