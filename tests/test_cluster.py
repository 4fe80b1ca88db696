"""The pipeline on a real cluster: executors elsewhere, one of them killed, and Spark Connect.

The executors have the libraries of this Python, but of this package only what the driver ships.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import inspector
from inspector.pipeline import run_tasks
from inspector.pipeline.discovery import open_checkpoint
from inspector.pipeline.plan import Wanted, plan
from inspector.schemas import FACTS, TASKS, batch_of
from tests.cli.support import FIXTURES
from tests.spark_support import Cluster, Driver, connect_server, driver, standalone

pytestmark = pytest.mark.spark

BatchFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

SOME = (
    *("agg_append", "codec_zstd", "dedup_after_join", "fmgws_event_idle", "join_left_outer"),
    *("session_window", "snapshot_in_middle", "wide_value"),
)


@dataclass(frozen=True)
class Answer:
    """What came back: facts, and of some tasks which package and kernel their workers ran."""

    facts: list[dict[str, Any]]
    workers: list[dict[str, str]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect")) as url:
        yield url


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Driver]:
    with driver(tmp_path) as process:
        yield process


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as workers get it: without the compiled kernel, so that they run its twin."""
    package = Path(inspector.__file__).parent
    target = tmp_path_factory.mktemp("shipped") / "inspector.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for file in package.rglob("*.py"):
            archive.write(file, file.relative_to(package.parent))
    return target


def specs_of(*cases: str) -> list[str]:
    """The tasks of some fixtures, as an audit wants them."""
    specs = []
    for case in cases:
        checkpoint = open_checkpoint(str(FIXTURES / case / "checkpoint"))
        wanted = Wanted(checkpoint.newest_version, True)
        specs += [task.to_json() for task in plan(checkpoint, wanted)]
    return specs


def in_process(specs: list[str]) -> list[dict[str, Any]]:
    tasks = batch_of(TASKS, [{"task_id": i, "spec": spec} for i, spec in enumerate(specs)])
    return [fact for batch in run_tasks([tasks]) for fact in batch.to_pylist()]


# --- what runs in the driver's process -----------------------------------------------------------


def on_cluster(url: str, package: Path, specs: list[str], partitions: int) -> Answer:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(url).config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    try:
        spark.sparkContext.addPyFile(str(package))
        return _run(spark, specs, partitions)
    finally:
        spark.stop()


def over_connect(url: str, package: Path, specs: list[str], partitions: int) -> Answer:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(url).getOrCreate()
    try:
        spark.addArtifacts(str(package), pyfile=True)
        return _run(spark, specs, partitions)
    finally:
        spark.stop()


def _run(spark: Any, specs: list[str], partitions: int) -> Answer:
    """The job, and a look at the workers: with the DataFrame API alone, and without a shuffle."""
    from pyspark.sql.pandas.types import from_arrow_schema

    numbers = spark.range(0, len(specs), 1, partitions)
    facts = numbers.mapInArrow(_facts_of(specs), from_arrow_schema(FACTS))
    looks = spark.range(0, 4, 1, 4).mapInArrow(_look(), "package string, kernel string")
    return Answer(facts.toArrow().to_pylist(), looks.toArrow().to_pylist())


# Functions within functions are pickled with their code: workers do not have this module.


def _facts_of(specs: list[str]) -> BatchFunction:
    def facts_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from inspector.pipeline import run_tasks
        from inspector.schemas import TASKS, batch_of

        for batch in batches:
            ids: list[Any] = batch.column(0).to_pylist()
            rows = [{"task_id": i, "spec": specs[i]} for i in ids]
            yield from run_tasks([batch_of(TASKS, rows)])

    return facts_of


def _look() -> BatchFunction:
    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow

        import inspector
        from inspector.decode.kernel import kernel_name

        for _ in batches:
            row = {"package": inspector.__file__, "kernel": kernel_name()}
            yield pyarrow.RecordBatch.from_pylist([row])

    return look


# --- tests -----------------------------------------------------------------------------------


def test_facts_of_executors_that_have_only_what_was_shipped(
    cluster: Cluster, elsewhere: Driver, shipped: Path
) -> None:
    specs = specs_of(*SOME)
    answer = elsewhere.run(on_cluster, cluster.url, shipped, specs, 4)
    assert _sorted(answer.facts) == _sorted(in_process(specs))
    assert_shipped(answer, shipped)


def test_the_loss_of_an_executor_loses_no_fact(
    cluster: Cluster, elsewhere: Driver, shipped: Path
) -> None:
    specs = specs_of(*SOME) * 2
    job = elsewhere.start(on_cluster, cluster.url, shipped, specs, len(specs))
    killed = cluster.kill_one_at_work(job, tasks=2)
    answer = job.result()
    assert "Running task" in killed.log
    assert cluster.tried_again(), "it was killed when all was done: give it more to do"
    assert _sorted(answer.facts) == _sorted(in_process(specs))


def test_facts_over_spark_connect(connect: str, elsewhere: Driver, shipped: Path) -> None:
    specs = specs_of(*SOME)
    answer = elsewhere.run(over_connect, connect, shipped, specs, 4)
    assert _sorted(answer.facts) == _sorted(in_process(specs))
    assert_shipped(answer, shipped)


def assert_shipped(answer: Answer, package: Path) -> None:
    """No worker ran the repository's own package, even where it is installed for this Python."""
    assert len(answer.workers) == 4
    for worker in answer.workers:
        assert worker["package"].endswith(f"/{package.name}/inspector/__init__.py")
        assert worker["kernel"] == "python"


def _sorted(facts: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(fact) for fact in facts)
