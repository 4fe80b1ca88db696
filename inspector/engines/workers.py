"""Python workers of a Spark session: checks of their packages, and measures to speed them up."""

from __future__ import annotations

import functools
import gc
import importlib
import ipaddress
import json
import os
import platform
import socket
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa

import inspector
from inspector.engines.engine import BatchFunction
from inspector.exceptions import EngineError

# names of the modules that this package and PySpark need on Python workers
REQUIRED_MODULES = ("pyarrow", "numpy", "fsspec", "xxhash", "google_crc32c", "pandas")
# end of the error message for modules that workers lack: how the user can install them there
VENV_PACK = (
    "install them there, or ship an environment (venv-pack): "
    "--conf spark.archives=environment.tar.gz#environment "
    "--conf spark.pyspark.python=./environment/bin/python"
)


def probe(modules: tuple[str, ...] = REQUIRED_MODULES) -> Callable[[Any], str]:
    """Return a function for a UDF that describes the Python worker in which it runs.

    ``modules`` are the modules that a worker needs. The function ignores its argument and returns a
    JSON object with five keys:

    * ``host``, and ``executable``, the path of the worker's Python;
    * ``missing``, the names of modules that cannot be imported;
    * ``inspector``, the version of this package, or null if the package cannot be imported;
    * ``kernel``, this package's decoder of state files: ``c`` or ``python``, or null if the
      package cannot be imported.

    The function itself uses only the standard library, so it runs on workers without this package.
    """

    def answer(_number: Any) -> str:
        """Return the description of the worker as JSON."""
        missing = []
        for name in modules:
            try:
                importlib.import_module(name)
            except ImportError:  # noqa: PERF203
                missing.append(name)
        result = {
            "host": platform.node(),
            "executable": sys.executable,
            "missing": missing,
            "inspector": None,
            "kernel": None,
        }
        try:
            package = importlib.import_module("inspector")
            kernel = importlib.import_module("inspector.kernel.loader")
            result["inspector"] = package.__version__
            result["kernel"] = kernel.kernel_name()
        except ImportError as error:
            if not missing:
                result["missing"] = [] if error.name == "inspector" else [str(error.name or error)]
        return json.dumps(result)

    return answer


def check(answers: Iterable[str]) -> list[Mapping[str, Any]]:
    """Parse ``answers``, JSON texts of :func:`probe`, and return the distinct ones as mappings.

    EngineError: a worker lacks a module other than this package.
    """
    workers = [json.loads(answer) for answer in sorted(set(answers))]
    for worker in workers:
        if worker["missing"]:
            raise EngineError(
                f"the Python worker {worker['executable']} on {worker['host']} has no "
                f"{', '.join(worker['missing'])}: {VENV_PACK}"
            )
    return workers


def lack_package(workers: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if a worker lacks this package or has another version of it.

    ``workers`` are results of :func:`check`.
    """
    return any(worker["inspector"] != inspector.__version__ for worker in workers)


def kernel_note(workers: Iterable[Mapping[str, Any]]) -> str | None:
    """Return a note for the user if a worker runs the slow kernel; None otherwise.

    The kernel is this package's decoder of state files. The slow kernel is its twin in Python.
    ``workers`` are results of :func:`check`.
    """
    if all(worker["kernel"] == "c" for worker in workers):
        return None
    return (
        "workers run the Python twin of the kernel, many times slower than the compiled one; "
        "install the package's wheel on them, or ship a venv-pack archive with it"
    )


def tune(function: BatchFunction) -> BatchFunction:
    """Return ``function`` with measures that make small tasks faster in a Python worker.

    Imported modules are excluded from garbage collection until the worker ends. Bytes of the JVM
    are acknowledged without delay while ``function`` runs. Spark may reuse the worker for other
    jobs (spark.python.worker.reuse), so it must serve no other session.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results of ``function`` after freezing, with quick acknowledgements."""
        _freeze()
        with quick_acknowledgements():
            yield from function(batches)

    return run


@functools.cache
def _freeze() -> None:
    """Exclude all objects that exist now from garbage collection; later calls do nothing."""
    # PySpark's workers collect all generations after each task (pyspark/daemon.py), which takes
    # longer than many tasks. Frozen objects are skipped.
    gc.freeze()


@contextmanager
def quick_acknowledgements() -> Iterator[None]:
    """Acknowledge the bytes that the JVM sends without delay while the block runs.

    It sets the socket option TCP_QUICKACK of this process's TCP connections to loopback addresses,
    and restores it afterwards. It does nothing on systems without the option; only Linux has it.
    """
    # The JVM sends a piece of a task when the previous piece was acknowledged (Nagle). Linux delays
    # acknowledgements by up to 40 ms (TCP_QUICKACK of tcp(7)). With Spark's Unix domain sockets,
    # 4.1 and later, some workers print a traceback when they end, because the JVM no longer
    # listens.
    changed: list[tuple[socket.socket, int]] = []
    try:
        if hasattr(socket, "TCP_QUICKACK"):  # only Linux has the option
            for connection in _loopback_connections():
                previous = _acknowledge_quickly(connection)
                if previous is None:
                    connection.close()
                else:
                    changed.append((connection, previous))
        yield
    finally:
        # In reverse order: several descriptors may belong to one connection, and only the first of
        # them saw the option's previous value.
        for connection, previous in reversed(changed):
            with suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, previous)
            connection.close()


def _acknowledge_quickly(connection: socket.socket) -> int | None:
    """Set the socket option TCP_QUICKACK of ``connection`` to 1 and return its previous value.

    Return None if the option cannot be set.
    """
    with suppress(OSError):
        previous = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return previous
    return None


def _loopback_connections() -> Iterator[socket.socket]:
    """Yield a duplicate of each IP socket of this process whose peer has a loopback address.

    The caller closes the duplicates. Sockets are found by the descriptors in ``/proc/self/fd``.
    """
    for name in os.listdir("/proc/self/fd"):
        try:
            connection = socket.socket(fileno=int(name))
        except OSError:  # it is no socket
            continue
        duplicate = None
        try:
            if _is_loopback(connection):
                with suppress(OSError):  # the process may have no descriptor left
                    duplicate = connection.dup()
        finally:
            connection.detach()  # the descriptor belongs to the process
        if duplicate is not None:
            yield duplicate


def _is_loopback(connection: socket.socket) -> bool:
    """Return True if an IP connection has a peer with a loopback address, such as 127.0.0.1.

    Return False for a Unix socket, for a socket that is not connected, and for a peer with any
    other address of this machine.
    """
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    try:
        host = str(connection.getpeername()[0])
    except OSError:  # it is not connected
        return False
    return ipaddress.ip_address(host.partition("%")[0]).is_loopback


# names of the documentation pages in the zip for workers; :mod:`inspector.findings` reads texts
# from them
_READ_PAGES = ("findings.md", "metrics.md")


def package_zip(folder: Path) -> Path:
    """Write this package as a zip for workers into ``folder``, and return the path of the zip.

    It does not contain the compiled kernel, this package's decoder of state files, so workers use
    the slow twin of the kernel in Python.
    """
    target = folder / "inspector.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _sources(resources.files(inspector), inspector.__name__):
            archive.writestr(name, text)
    return target


def _sources(folder: Any, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield (name in the zip, content) of Python files and _READ_PAGES in ``folder`` and below it.

    ``name`` is the name of the folder in the zip.
    """
    for entry in sorted(folder.iterdir(), key=lambda item: str(item.name)):
        location = f"{name}/{entry.name}"
        if entry.is_dir():
            yield from _sources(entry, location)
        elif entry.name.endswith(".py") or entry.name in _READ_PAGES:
            yield location, entry.read_bytes()
