"""Audits that Spark's executors make whole: equal to those of this process, and flat in memory."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import inspector.api as api
from inspector.analyses.shared.fleet_run import Audited
from inspector.api import many
from inspector.api.many import audits_by_executors
from inspector.checkpoint import cache_files
from inspector.checkpoint.search import Found
from inspector.cli.fleets import Spool
from inspector.engines.choose import LOCAL, EngineOptions
from inspector.engines.engine import Engine, Job, Work
from inspector.engines.local import LocalEngine
from inspector.exceptions import EngineError
from inspector.kernel.loader import PYTHON
from inspector.render.display import Display
from inspector.render.fleet import Form, document
from tests.analyses.shared.test_report_cache import body, copy_of
from tests.cases import hdfs_cases, rocksdb_cases
from tests.cli.support import checkpoint_of

EVERY = [path / "checkpoint" for path in (*hdfs_cases(), *rocksdb_cases())]
FEW = [str(checkpoint_of(case)) for case in ("agg_update", "agg_append", "agg_v1", "agg_global")]


class Executors(Engine):
    """Stands for Spark: what it runs crosses as bytes.

    Attributes:
        jobs: the tasks of each job.
        broken: the number of the job that fails.
    """

    def __init__(self) -> None:
        self.jobs: list[Sequence[Work]] = []
        self.broken: int | None = None

    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        assert job.merge is None
        self.jobs.append(job.work)
        if len(self.jobs) == self.broken:
            raise EngineError("an executor was lost")
        sent = cloudpickle.loads(cloudpickle.dumps(job.function))  # type: ignore[no-untyped-call]
        for batch in LocalEngine(1).run(Job(sent, job.schema, job.work)):
            assert batch.schema == job.schema
            yield batch


def audited(
    paths: Sequence[str], engine: Engine, options: api.Options | None = None
) -> dict[str, Audited | None]:
    """By path what executors made; None for what is left to the driver."""
    audits = audits_by_executors(map(Found, paths), options or api.Options(), engine)
    return {item.path: item if isinstance(item, Audited) else None for item in audits}


def told(options: api.Options) -> tuple[api.Options, list[str]]:
    message: list[str] = []
    return replace(options, engine=EngineOptions(LOCAL, notify=message.append)), message


@pytest.mark.parametrize(
    "paths", [EVERY[::24], pytest.param(EVERY[::3], marks=pytest.mark.full)], ids=["few", "many"]
)
def test_executor_reports_equal_local_reports(paths: list[Path]) -> None:
    options = api.Options(thresholds={"heap_bytes": 1})
    result = audited([str(path) for path in paths], Executors(), options)
    for path, item in result.items():
        assert item is not None
        assert item.run is not None
        assert not item.run.is_kept
        assert item.run.report.to_dict() == api.audit(path, options).to_dict()


def test_jobs_list_and_audit_at_once_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "AT_ONCE", 3)
    engine = Executors()
    assert all(audited(FEW, engine).values())
    assert [len(job) for job in engine.jobs] == [3, 3, 1, 1]
    listed, tasks = engine.jobs[0], engine.jobs[1]
    assert {work.cost for work in listed} == {0}
    # What a task is packed by: bytes and files, as the listing told.
    for work, path in zip(tasks, FEW, strict=False):
        files = [item for item in (Path(path) / "state").rglob("*.delta") if item.is_file()]
        assert work.files >= len(files)
        assert work.weight >= sum(file.stat().st_size for file in files)


def test_large_checkpoint_is_left_to_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "WHOLE_COST", 0)
    monkeypatch.setattr(many, "SHARES", 2)
    large = str(checkpoint_of("join_left_outer"))
    result = audited([FEW[3], large], Executors())
    assert [path for path, item in result.items() if item is None] == [large]


def test_failed_checkpoints_are_left_to_the_driver(tmp_path: Path) -> None:
    lost = Found("/lost", PermissionError("no"))
    (tmp_path / "other").mkdir()
    places = [lost, *map(Found, FEW), Found(str(tmp_path / "other"))]
    audits = list(audits_by_executors(places, api.Options(), Executors()))
    assert {element.path for element in audits if isinstance(element, Audited)} == set(FEW)
    assert [item for item in audits if not isinstance(item, Audited)] == [lost, places[-1]]


@pytest.mark.parametrize("job", [1, 2])
def test_checkpoints_of_a_failed_job_are_left_to_the_driver(job: int) -> None:
    options, result = told(api.Options())
    engine = Executors()
    engine.broken = job
    assert audited(FEW, engine, options) == dict.fromkeys(FEW)
    assert result == ["engine: done again by the driver: an executor was lost"]


def test_messages_of_executors_are_printed_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    options, actual = told(api.Options(cache=str(tmp_path / "file")))
    result = audited(FEW, Executors(), options)
    assert all(result.values())
    # Of each checkpoint the cache has another name: one line for all would hide none of them.
    assert actual
    assert len(actual) == len(set(actual))
    assert all(line.startswith("cache: not used: ") for line in actual)


def test_interrupted_job_continues_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "AT_ONCE", 2)
    paths = [str(copy_of("agg_update", tmp_path / str(number))) for number in range(6)]
    options = api.Options(cache=str(tmp_path / "cache"))
    first = audits_by_executors(map(Found, paths), options, Executors())
    done = [element.path for element in islice(first, 3)]
    del first  # as if the process had ended
    cache_files.cache_files.cache_clear()
    engine = Executors()
    again = audited(paths, engine, options)
    result = [path for path, item in again.items() if item and item.run and item.run.is_kept]
    assert set(done) <= set(result)
    assert result == paths[:4]
    # Those take one listing each, and no place in a job of audits.
    assert [len(job) for job in engine.jobs if job] == [2, 2, 2, 2]
    for path, value in again.items():
        assert value is not None
        assert value.run is not None
        assert body(value.run.report) == body(api.audit(path))


def test_cache_secret_is_written_before_the_audits(tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    secrets: list[bytes] = []

    class Watching(Executors):
        def run(self, job: Job) -> Iterator[pa.RecordBatch]:
            if self.jobs:
                secrets.append((cache / cache_files.SECRET).read_bytes())
            cache_files.cache_files.cache_clear()  # as another process would begin
            return super().run(job)

    paths = [str(copy_of("agg_update", tmp_path / str(number))) for number in range(2)]
    assert all(audited(paths, Watching(), api.Options(cache=str(cache))).values())
    assert secrets == [(cache / cache_files.SECRET).read_bytes()]
    assert len(secrets[0]) == 32


def test_executors_do_not_report_the_kernel_of_the_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("inspector.analyses.shared.run.kernel_name", lambda: PYTHON)
    options, result = told(api.Options())
    assert all(audited(FEW, Executors(), options).values())
    assert not result
    api.audit(FEW[0], options)
    assert [line for line in result if "Python kernel" in line]


def test_cache_inside_a_checkpoint_is_not_used(tmp_path: Path) -> None:
    inside = copy_of("agg_update", tmp_path)
    before = sorted(inside.rglob("*"))
    result = audited([str(inside)], Executors(), api.Options(cache=str(inside / "cache")))
    assert result == {str(inside): None}
    assert sorted(inside.rglob("*")) == before


def test_fleet_members_in_memory_are_small() -> None:
    report = api.audit(FEW[0])
    count = 100
    for output in ("json", "table", "ndjson"):
        with Spool() as spool:
            form = Form("audit", output, Display(), details=False, keep=spool.keep)
            members = [
                form.member(replace(report, checkpoint=f"/{n}"), lambda: 0) for n in range(count)
            ]
            # Their texts are in the spool's file. Pickle writes an object that several members
            # share once, as memory holds it once.
            assert not any(isinstance(member.text, str) for member in members)
            result = [
                (member.row, member.columns, member.names, member.cause, member.to_do)
                for member in members
            ]
            kept_bytes = len(pickle.dumps(result))
            assert "/99" in "".join(document(form, members))
        assert kept_bytes / count < 400, (output, kept_bytes / count)
