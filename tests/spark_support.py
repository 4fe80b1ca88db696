"""A real Spark beside the tests, from nothing but PySpark's own files and a Java.

A standalone cluster (a master and workers, whose executors are JVMs of their own) and a Spark
Connect server, all on the loopback, on ports that they choose themselves; and a driver in a process
of its own, so that the JVM and the settings of one test are never those of another.

All processes carry a mark in their environment, which their children inherit: what is left of them
at the end is found by it, however it was started, and killed. This needs a Linux's ``/proc``.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from subprocess import CompletedProcess
from typing import ParamSpec, TypeVar

import pytest

from inspector.engines.session import provide_java
from tests.checkpoint_files import contents_below

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 300.0
"""Seconds to wait for anything: many times what it takes, so that only a hang is a failure."""

LONG = 4 * PATIENCE
"""Seconds for a script of many Sparks, or of one with much to do."""

MARK = "INSPECTOR_TEST_SPARK"
"""Environment variable by which the processes of one test are known: its value is its folder."""

SILENCE = """
appender.console.type = Console
appender.console.name = console
rootLogger.level = off
rootLogger.appenderRef.console.ref = console
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = off
"""
"""Settings of Log4j for a driver.

Without an appender Spark takes them for none, and without a level for the class that PySpark starts
it raises the level of all to WARN (``org.apache.spark.internal.Logging``).
"""

OPTIONS = ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS")
"""Variables whose options Spark's scripts give to the JVMs that they start."""

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
QUICK += "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""Of a JVM that lives for a minute: what a better compiler would gain it takes to compile. Spark's
own classes are believed: to verify them takes a quarter of its start."""

ARCHIVE = "INSPECTOR_TEST_ARCHIVE"
"""Environment variable: a file for the classes of Spark, in runs that start many JVMs."""

FEW_CLASSES = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
assert session.range(9).groupBy("id").count().mapInArrow(lambda rows: rows, "id long").count() == 9
java = session.sparkContext._gateway.proc
session.stop()
java.stdin.close()
sys.exit(java.wait())
"""
"""What most tests have a Spark do, so that its classes are those that they load.

It ends as its JVM does, and after it: by itself a driver does not wait for the JVM that it leaves.
"""

CRASH_LINES = 20
"""Of the report of a JVM that crashed: its signal and frame, how it was built and started."""

FROM_OUTSIDE = ("SPARK_", "PYSPARK_", "PYTHONPATH", "HADOOP_", "YARN_")
"""Beginnings of variables that would make a Spark another one than the test means."""


WITH_SPARK = [
    pytest.mark.spark,
    # What PySpark says of the versions of its own dependencies, and of sockets it leaves to the GC.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""Marks of tests that hold a Spark session in their own process: fixture ``spark``."""


def spark_home() -> Path:
    """PySpark's own folder: its ``bin`` and ``jars`` are a whole Spark."""
    spec = find_spec("pyspark")
    assert spec
    assert spec.origin
    return Path(spec.origin).parent


@cache
def crashes() -> Path:
    """The folder in which the JVMs of this process and its children say why they crashed.

    By default they say it where they run: for many tests in the tree of this repository.
    """
    folder = tempfile.mkdtemp(prefix="inspector-crashes-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def assert_no_crash() -> None:
    """See to it that no JVM has crashed since this was last asked.

    Raises:
        AssertionError: some did; with the first lines of their reports.
    """
    reports = list(crashes().iterdir())
    if reports:
        time.sleep(1)  # they are still being written
        heads = []
        for report in reports:
            lines = report.read_text("utf-8", "replace").splitlines()
            heads.append("\n".join(lines[:CRASH_LINES]))
            report.unlink()
        result = "\n\n".join(heads)
        raise AssertionError(f"{len(reports)} JVMs crashed:\n{result}")


def start_quickly() -> None:
    """Have every Spark that this process or one of its children starts take half of the time.

    Where :data:`ARCHIVE` names a file, it keeps Spark's classes as a JVM has them in memory (Java's
    "application class data sharing"). It is made where it is not there, which takes as long as
    three starts. A JVM with other JARs ignores it.
    """
    options = f"{QUICK} -Xlog:disable -XX:ErrorFile={crashes()}/%p.log"
    archive = os.environ.get(ARCHIVE)
    if archive and not Path(archive).exists() and not _make_archive(Path(archive), options):
        archive = None
        del os.environ[ARCHIVE]  # nor do the workers of this run try to make one
    if archive:
        options += f" -XX:SharedArchiveFile={archive}"
    # Executors are started by what the driver says, which takes such properties as its confs.
    os.environ[OPTIONS[0]] = f'{options} "-Dspark.executor.extraJavaOptions={options}"'
    os.environ[OPTIONS[1]] = options


def _make_archive(archive: Path, options: str) -> bool:
    """Make an archive that is whole, and has served once; whether there is one.

    Every Spark of a run would crash by a bad one: as it is used, no JVM checks its sums. It gets
    its name at the end. A JVM writes it as it ends, under a name of this process: two that write to
    the same path may open the same file (``FileMapInfo::open_for_write``).
    """
    aside = archive.with_name(f"{archive.name}.{os.getpid()}")
    tried = "-Xshare:on -XX:+UnlockDiagnosticVMOptions -XX:+VerifySharedSpaces"
    settings = {MARK: str(aside), "SPARK_LOCAL_IP": "127.0.0.1"}
    settings |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    try:
        for item in (f"-XX:ArchiveClassesAtExit={aside}", f"{tried} -XX:SharedArchiveFile={aside}"):
            messages = os.environ | settings | {OPTIONS[0]: f"{options} {item}"}
            finish([sys.executable, "-c", FEW_CLASSES], messages, archive.parent).check_returncode()
        aside.rename(archive)
    except (AssertionError, OSError, subprocess.CalledProcessError) as error:
        aside.unlink(missing_ok=True)
        sys.stderr.write(f"no archive of Spark's classes: Sparks start slowly ({error})\n")
        return False
    return True


def environment(folder: Path) -> dict[str, str]:
    """What every process of a test's Spark is started with.

    No ``PYTHONPATH``, and a Python without this package: workers have the libraries alone. The
    folder of settings is none, so that nobody's ``spark-defaults.conf`` counts and Spark logs at
    its default level, INFO, to standard error. Temporary files are made in the folder.
    """
    provide_java()
    result = {k: v for k, v in os.environ.items() if not k.startswith(FROM_OUTSIDE)}
    return result | {
        MARK: str(folder),
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONF_DIR": str(folder / "no-settings"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        **{name: os.environ[name] for name in OPTIONS},
        "PYSPARK_PYTHON": str(bare_python(folder)),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "TMPDIR": str(folder),
    }


@cache
def without_package(libraries: Path) -> Path:
    """A folder with the same libraries but this package; itself, if it is not among them."""
    if not (libraries / "inspector").exists():
        return libraries
    links = Path(tempfile.mkdtemp(prefix="inspector-tests-"))
    atexit.register(shutil.rmtree, links)
    for entry in libraries.iterdir():
        if entry.name != "inspector":
            (links / entry.name).symlink_to(entry)
    return links


def bare_python(folder: Path, *before: Path) -> Path:
    """A program that is this Python with its libraries, but without this package.

    Where it is installed in editable form, a ``.pth`` file leads to it, which nobody reads here.
    Where it lies among the libraries, links lead to all but it.

    Args:
        folder: where to put it.
        before: folders whose modules hide the libraries of the same name.
    """
    installed = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    libraries = [str(without_package(Path(path))) for path in installed]
    first = "".join(f"{path}:" for path in before)
    program = folder / "python"
    program.write_text(
        "#!/bin/sh\n"
        f"PYTHONPATH='{first}'\"${{PYTHONPATH:+$PYTHONPATH:}}\"'{':'.join(libraries)}'\n"
        f"export PYTHONPATH; exec '{sys.executable}' -S \"$@\"\n"
    )
    program.chmod(0o755)
    return program


def quiet(settings: dict[str, str], folder: Path) -> dict[str, str]:
    """The same environment for a driver: nothing on its standard error but what Python says."""
    silent = folder / "log4j2.properties"
    silent.write_text(SILENCE)
    options = f"{settings[OPTIONS[0]]} -Dlog4j2.configurationFile={silent}"
    return settings | {OPTIONS[0]: options}


def until(result: Callable[[], T | None], subject: str, patience: float = PATIENCE) -> T:
    """Ask again and again until there is an answer.

    Raises:
        TimeoutError: there was none in time; the message says what was waited for.
        AssertionError: a JVM crashed meanwhile, so that there may never be one.
    """
    end = time.monotonic() + patience
    while (answer := result()) is None:
        assert_no_crash()
        if time.monotonic() > end:
            raise TimeoutError(f"no {subject} within {patience:.0f} s")
        time.sleep(0.01)
    return answer


# --- processes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Service:
    """A process of Spark's, and the file to which it logs."""

    process: subprocess.Popen[bytes]
    log: Path

    def says(self, pattern: str) -> str:
        """The first group of a pattern, as soon as its log has it.

        Raises:
            AssertionError: the process ended before; with the end of its log.
            TimeoutError: it runs, but does not say so.
        """

        def look() -> str | None:
            ended = self.process.poll()
            match = re.search(pattern, self.log.read_text("utf-8", "replace"))
            assert match or ended is None, f"ended with {ended}:\n{self.log.read_text()[-2000:]}"
            return match[1] if match else None

        return until(look, f"{pattern!r} in {self.log}")


@contextmanager
def service(name: str, folder: Path, *command: str) -> Iterator[Service]:
    """Start one of the programs of PySpark's ``bin``; it is stopped at the end."""
    log = folder / f"{name}.log"
    program, *args = command
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(spark_home() / "bin" / program), *args],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Service(process, log)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def processes(folder: Path) -> list[int]:
    """The running processes that carry the mark of a folder, but for this one."""
    mark = f"{MARK}={folder}".encode()
    return [pid for pid in _pids() if pid != os.getpid() and mark in _proc(pid, "environ")]


def _pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _proc(pid: int, name: str) -> list[bytes]:
    """The NUL-separated parts of a file of ``/proc``: none of a process that has just gone."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


@contextmanager
def nothing_left(folder: Path) -> Iterator[None]:
    """See to it that no process with the mark of a folder outlives the block.

    Raises:
        AssertionError: some had to be killed, though the block itself ended well.
    """
    try:
        yield
    except BaseException:
        _kill_all(folder)
        raise
    try:
        until(lambda: None if processes(folder) else True, "end of all processes")
    except TimeoutError:
        left = [b" ".join(_proc(pid, "cmdline"))[:200] for pid in processes(folder)]
        raise AssertionError(f"still running: {left}") from None
    finally:
        _kill_all(folder)


def _kill_all(folder: Path) -> None:
    for pid in processes(folder):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def finish(
    command: list[str], settings: dict[str, str], cwd: Path, patience: float = PATIENCE
) -> CompletedProcess[str]:
    """Run a command to its end, however it ends.

    Args:
        command: a program and its arguments.
        settings: what :func:`environment` gives, and more; the mark at least.
        cwd: where it runs.
        patience: seconds.

    Raises:
        TimeoutError: it does not end, and was killed.
        AssertionError: a JVM has crashed, for whose answer it may wait; likewise.
    """
    with ThreadPoolExecutor(1) as reader:
        run = partial(subprocess.run, command, cwd=cwd, env=settings, capture_output=True)
        done = reader.submit(lambda: run(text=True, check=False))
        try:
            until(lambda: done.done() or None, f"end of {command}", patience)
        except BaseException:
            _kill_all(Path(settings[MARK]))
            raise
    return done.result()


# --- a cluster ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Executor:
    """An executor of some application: a JVM, and its folder below that of its worker."""

    pid: int
    folder: Path

    @property
    def log(self) -> str:
        """What it has logged: one line as a task starts, and one as it is finished."""
        file = self.folder / "stderr"  # its worker makes it a moment after the process
        return file.read_text("utf-8", "replace") if file.exists() else ""

    def tasks(self, state: str) -> set[str]:
        """Return the names of the tasks that it logged as "Running" or as "Finished"."""
        return set(re.findall(rf"{state} (task \S+ in stage \S+)", self.log))

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the process for a block, and wait until its worker has written all that it said."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            lengths = [-1] * 5
            while len(set(lengths)) > 1:
                time.sleep(0.05)
                lengths = [*lengths[1:], len(self.log)]
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kill it as the kernel does when memory is short."""
        os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Cluster:
    """A running standalone cluster.

    Attributes:
        url: of its master, as ``--master`` takes it.
        folder: where its workers have their folders, ``worker-<n>/<application>/<executor>``.
    """

    url: str
    folder: Path

    def executors(self) -> list[Executor]:
        """The executors that run now, of all applications."""
        name = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"
        result = [pid for pid in processes(self.folder) if name in _proc(pid, "cmdline")]
        return [Executor(pid, Path(os.readlink(f"/proc/{pid}/cwd"))) for pid in result]

    def kill_one_at_work(self, job: Future[T], tasks: int) -> Executor:
        """Kill the first executor that has finished some more tasks, in the midst of another.

        Each candidate is stopped first. An executor logs a task as finished before it tells the
        driver, so a task that is not logged as finished then is lost with the process.

        Args:
            job: gives the executors their tasks; just started.
            tasks: number of tasks that the executor finishes first.

        Raises:
            AssertionError: the job ended before.
            Exception: what the job raised, if that is how it ended.
        """
        before = {executor.pid: executor.tasks("Finished") for executor in self.executors()}

        def killed() -> Executor | None:
            if job.done():
                raise AssertionError(f"the job ended before: {str(job.result())[:200]}")
            for executor in self.executors():
                new = executor.tasks("Finished") - before.get(executor.pid, set())
                if len(new) < tasks:
                    continue
                with executor.stopped():
                    if executor.tasks("Running") > executor.tasks("Finished"):
                        executor.kill()
                        return executor
            return None

        return until(killed, f"executor with {tasks} finished tasks and one that runs")

    def tried_again(self) -> list[str]:
        """Tasks that were started once more, after a loss: of their stage, or all of it again."""
        logs = b"\n".join(contents_below(self.folder, "worker-*/*/*/stderr").values())
        task = r"Running task (\d+\.(?:[1-9]\d* in stage \d+\.\d+|\d+ in stage \d+\.[1-9]\d*))"
        return re.findall(task, logs.decode("utf-8", "replace"))


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and its workers, each of one core and 1 GB, all of them registered."""
    with nothing_left(folder), ExitStack() as stack:
        places = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        deploy = "org.apache.spark.deploy"
        program = f"{deploy}.master.Master"
        master = stack.enter_context(service("master", folder, "spark-class", program, *places))
        url = master.says(r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            name = f"worker-{number}"
            own = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / name), url)
            words = ("spark-class", f"{deploy}.worker.Worker", *places, *own)
            stack.enter_context(service(name, folder, *words))
        master.says(rf"(?s)((?:Registering worker.*){{{workers}}})")
        yield Cluster(url, folder)


# --- a Spark Connect server ----------------------------------------------------------------------


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Spark Connect server; its ``sc://`` URL. PySpark has its jar since 4.0."""
    confs = (
        *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
        *("--conf", "spark.connect.grpc.binding.port=0"),
    )
    program = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = ("spark-submit", "--class", program, "--master", "local[2]", *confs)
    with (
        nothing_left(folder),
        service("connect", folder, *command, "--conf", "spark.ui.enabled=false") as server,
    ):
        port = server.says(r"Spark Connect server started at: \S*?:(\d+)\b")
        yield f"sc://127.0.0.1:{port}"


# --- a driver ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Driver:
    """A process for the functions of a test that hold a Spark session.

    It imports this repository as this process does; the JVM that it starts knows nothing of it.
    """

    pool: ProcessPoolExecutor

    def start(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin a function of some module there; its arguments and its result are pickled."""
        return self.pool.submit(_plainly, function, *args, **kwargs)

    def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a function there."""
        return self.result(self.start(function, *args, **kwargs))

    def result(self, job: Future[T]) -> T:
        """The result of what was begun.

        Raises:
            TimeoutError: it does not end. Its process is killed, for whose end all else would wait.
            AssertionError: a JVM has crashed, for whose answer it may wait; likewise.
        """
        try:
            until(lambda: job.done() or None, "end of a job")
        except BaseException:
            for child in multiprocessing.active_children():
                child.kill()
            raise
        return job.result()


def _plainly(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """PySpark's exceptions hold its gateway, which no pickle takes: give their text instead."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        raise RuntimeError(traceback.format_exc()) from error


def _replace_environment(settings: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(settings)


@contextmanager
def driver(folder: Path) -> Iterator[Driver]:
    """A process of one's own for a Spark session; it and its JVM end with the block."""
    settings = quiet(environment(folder), folder)
    spawn = multiprocessing.get_context("spawn")
    with (
        nothing_left(folder),
        ProcessPoolExecutor(1, spawn, _replace_environment, (settings,)) as pool,
    ):
        yield Driver(pool)
