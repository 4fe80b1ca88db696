"""Options of the test run: what a plain ``pytest`` leaves out, and what shares a process."""

import gc
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import is_hypothesis_test, settings
from xdist.scheduler import LoadScopeScheduling

from inspector.checkpoint import patience
from inspector.engines.session import java_home_of_package, provide_java
from inspector.exceptions import EngineError
from tests.fixture_folder import FIXTURES
from tests.profiles import FEW, load_profile
from tests.spark_support import SILENCE, assert_no_crash, start_quickly

for _name in ("COLUMNS", "LINES"):
    # readline, which pytest imports, sets them below Python, so that workers and children have
    # the width of a terminal that is not there.
    os.environ.pop(_name, None)
    os.unsetenv(_name)
os.environ["COLUMNS"] = "0"  # what is piped is not folded: texts are compared line by line

# What is compiled is written, also where a container's settings say otherwise: each process of a
# run, and each of the many that the tests start, would compile everything anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

RELEASES = sorted(
    (path.name for path in FIXTURES.iterdir() if path.is_dir()),
    key=lambda release: tuple(map(int, release.split("."))),
)

IN_BETWEEN = set(RELEASES[1:-1])
"""Releases of Spark whose fixtures a plain run leaves out: neither the oldest nor the newest."""

FULL = {
    "test_bench.py": "measures for seconds, and judges no result",
    "test_cluster.py": "a cluster of its own processes and a Spark Connect server",
    "test_workloads.py": "compiles Scala, and runs queries on Spark",
    "engines/test_workers.py": "starts a Python for each of its workers",
    "test_executed_notebook.py": "executes a notebook in a process of its own",
    "test_slow_reader.py": "each command, on a query that goes on",
}
"""Test files, or tests, that are ``full`` as a whole, each with the reason."""

ALL_CHECKPOINTS = "test_leftovers_by_partition_equal_those_of_all_partitions"
FULL[f"analyses/shared/test_fact_tables.py::{ALL_CHECKPOINTS}"] = "all checkpoints of two releases"

SMOKE = {
    "engines/test_spark.py::test_spark_field_sizes_equal_local_ones": "both engines agree",
    "engines/test_spark.py::test_unreadable_files_are_problem_facts_on_spark": "its errors",
    "test_spark.py": "what Spark's own reader says",
}
"""Tests on Spark, or files of them, that are not ``full``: one session serves them all."""

WHOLE_COMMANDS = (
    *("analyses/", "api/", "cli/", "merge/test_combine.py", "merge/test_ranges.py"),
    *("checkpoint/test_storage.py", "discovery/", "estimates/test_price.py"),
    *("facts/test_misplaced.py", "facts/test_registry.py", "findings/test_every_id.py"),
    *("providers/rocksdb/test_reader.py", "render/test_conversions.py", "render/test_notebook.py"),
    "serve/test_walk.py",
    *("test_analyses.py", "test_api.py", "test_byte_damage.py", "test_credentials.py"),
    *("test_damage.py", "test_forms.py", "test_injection.py", "test_object_stores.py"),
    *("test_pairs.py", "passes/test_follow.py", "spark/", "test_repartitioned.py"),
    *("test_rocksdb_fixtures.py", "test_spark.py", "test_unseen_files.py"),
)
"""Rooms and files whose tests read a whole checkpoint, or run a command, for each parameter."""

OF_EACH = 1
"""Parameter sets that a plain run takes of a test of those: not the same one of all tests."""

IN_ONE_PROCESS = {
    "spark": ("engines/test_hadoop.py", "engines/test_spark.py", "test_spark.py"),
    "tables on spark": ("spark/",),
}
"""Files with the fixture ``spark``: a process runs those of a name, and starts one JVM for them.

All in one would take longer than all else: a core would be idle at the end.
"""

LONGEST = (
    *(*IN_ONE_PROCESS, "tests/test_bench.py", "tests/test_workloads.py", "tests/test_copies.py"),
    *("tests/test_injection.py", "tests/test_cluster.py", "tests/test_slow_reader.py"),
    *("tests/api/test_fleet_job.py", "tests/analyses/shared/test_fact_tables.py"),
)
"""What begins first, of all in one process and of files: a minute or more in a full run.

They have few tests: begun last, each would keep one core busy beside others that are idle.
"""

FOUND = pytest.StashKey[Counter[tuple[str, bool]]]()


# --- what runs -------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the examples, and a Java for all processes that the tests start."""
    if not config.getoption("--hypothesis-profile"):
        # -m full, not -m "not full"
        load_profile(has_many=bool(re.search(r"(?<!not )\bfull\b", config.getoption("markexpr"))))
    with suppress(EngineError):  # the fixture spark says it
        provide_java()
    java_home_of_package.cache_clear()  # to the tests it is one that the user gave
    start_quickly()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As in the background of a script; the processes that the tests interrupt would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Import a share of all test files, where several processes are to collect all of them.

    On a clean checkout each would rewrite the assertions of all, which takes longer than to collect
    the tests: so each reads what the others have written.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return
    tests = Path(__file__).parent
    files = [path.relative_to(tests.parent) for path in sorted(tests.rglob("test_*.py"))]
    for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # its collection says it
            import_module(".".join(file.with_suffix("").parts))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector the modules and the items: all of them stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what a plain run leaves out, before pytest chooses by marks.

    Tests in a browser run where ``-m`` says so, and are in no other choice: few machines have one.
    """
    config.stash[FOUND] = Counter(
        (f"tests/{_file(item)}", item.get_closest_marker("browser") is not None) for item in items
    )
    if "browser" not in config.getoption("markexpr"):
        config.hook.pytest_deselected(items=[i for i in items if i.get_closest_marker("browser")])
        items[:] = [item for item in items if not item.get_closest_marker("browser")]
    for item in items:
        if isinstance(item, pytest.Function) and _is_full(item):
            item.add_marker(pytest.mark.full)
    for item in _too_many(items):
        item.add_marker(pytest.mark.full)


def pytest_runtest_teardown() -> None:
    """A JVM that crashed is told by the test in which it did, if nothing that waits for it has."""
    assert_no_crash()


@pytest.fixture
def tests_found(request: pytest.FixtureRequest) -> Counter[tuple[str, bool]]:
    """How many tests this run found, before any was left out: by file, and if in a browser."""
    return request.config.stash[FOUND]


def _is_full(item: pytest.Function) -> bool:
    if _is_listed(item, FULL) or _is_of_a_release_in_between(item):
        return True
    if item.get_closest_marker("spark") and not _is_listed(item, SMOKE):
        return True
    return is_hypothesis_test(item.obj) and settings.get_current_profile_name() != FEW


def _too_many(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Those that a plain run leaves out of tests that have many parameter sets."""
    result: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if _file(item).startswith(WHOLE_COMMANDS) and not item.get_closest_marker("full"):
            result.setdefault((_file(item), item.name.partition("[")[0]), []).append(item)
    for (_, name), group in result.items():
        sets = sorted(group, key=lambda item: item.name)  # they come in any order
        first = crc32(name.encode())
        actual = {(first + n * len(sets) // OF_EACH) % len(sets) for n in range(OF_EACH)}
        yield from (item for n, item in enumerate(sets) if n not in actual)


def _is_listed(item: pytest.Function, names: dict[str, str]) -> bool:
    file = _file(item)
    return file in names or f"{file}::{item.originalname}" in names


def _file(item: pytest.Item) -> str:
    return _below_tests(item.path)


@cache
def _below_tests(path: Path) -> str:
    return path.relative_to(Path(__file__).parent).as_posix()


def _is_of_a_release_in_between(item: pytest.Function) -> bool:
    """Whether a parameter is a fixture of such a release."""
    callspec = getattr(item, "callspec", None)
    values = [] if callspec is None else list(callspec.params.values())
    paths = [value for value in values if isinstance(value, Path)]
    return any(IN_BETWEEN & set(path.parts) for path in paths if path.is_relative_to(FIXTURES))


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """A test file runs in one process, which makes what its tests share once; Spark's all in one.

    Not by ``--dist=loadgroup``: pytest-xdist 3.8 gives no group to an item of pytest 9.
    """

    def _assign_work_unit(self, node: Any) -> None:
        """The longest first; then in the order of pytest-xdist: many tests first."""
        longest = next((scope for scope in LONGEST if scope in self.workqueue), None)
        if longest is not None:
            self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        if file == "tests/test_fixtures.py":
            return nodeid  # nothing is shared, and its many tests fill the gaps at the end
        below = file.removeprefix("tests/")
        return next((n for n, files in IN_ONE_PROCESS.items() if below.startswith(files)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    """Which process runs what, where there are several."""
    return Scheduling(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept-golden",
        action="store_true",
        help="write what the renderers say now to tests/golden",
    )


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests mean the same wherever they run: no colours, no options from the environment."""
    for name in ("NO_COLOR", "FORCE_COLOR", "INSPECTOR_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(patience, "OUTAGE", patience.Outage())


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One small session. Without a Java these tests fail: they must not be forgotten silently."""
    try:
        provide_java()
    except EngineError as error:
        pytest.fail(f"{error}; or leave these tests out with -m 'not spark and not full'")
    import pyspark
    from fixtures.sparks import file_manager, release_of
    from pyspark.sql import SparkSession

    home = Path(__file__).resolve().parents[1]
    scratch = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        paths = os.pathsep.join(map(str, (home, home / "scripts")))
        patch.setenv("PYTHONPATH", paths, prepend=os.pathsep)
        quiet = scratch / "log4j2.properties"
        quiet.write_text(SILENCE)
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={quiet}")
            .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.showConsoleProgress", "false")
            # What would be compiled, for a few rows, is interpreted.
            .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .config("spark.sql.codegen.wholeStage", "false")
            .config(*file_manager(release_of(pyspark.__version__)))
            .getOrCreate()
        )
        yield session
        session.stop()
        # Its sockets are closed by the garbage collector, with a warning that the tests of Spark
        # ignore: in a later test of this process it would be an error.
        gc.collect()
