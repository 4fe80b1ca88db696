"""Audits by Spark's executors: reports equal to local ones, jobs, cache, and memory."""

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
from inspector.analyses.shared.opening import Recalled
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
from tests.attributes import attributes
from tests.cli.support import checkpoint_of
from tests.fixture_folder import FIXTURES

EVERY = sorted(FIXTURES.glob("*/*/checkpoint"))
FEW = [str(checkpoint_of(case)) for case in ("agg_update", "agg_append", "agg_v1", "agg_global")]


class Executors(Engine):
    """An engine in place of Spark that pickles its functions and tasks.

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
    """Return the audit of executors by path; None is an audit that is left to the driver."""
    audits = audits_by_executors(map(Found, paths), options or api.Options(), engine)
    return {item.path: item if isinstance(item, Audited) else None for item in audits}


def with_messages(options: api.Options) -> tuple[api.Options, list[str]]:
    """Return options that record the messages of the engine, and the list of messages."""
    messages: list[str] = []
    return replace(options, engine=EngineOptions(LOCAL, notify=messages.append)), messages


def run_of(audits: dict[str, Audited | None], path: str) -> Recalled:
    """Return the run that an executor made of a checkpoint."""
    audit = audits[path]
    assert audit is not None
    assert audit.run is not None
    return audit.run


@pytest.mark.parametrize(
    "paths", [EVERY[::24], pytest.param(EVERY[::6], marks=pytest.mark.full)], ids=["few", "many"]
)
def test_executor_reports_equal_local_reports(paths: list[Path]) -> None:
    options = api.Options(thresholds={"heap_bytes": 1})
    result = audited([str(path) for path in paths], Executors(), options)
    for path in result:
        run = run_of(result, path)
        assert not run.is_kept
        assert run.report.to_dict() == api.audit(path, options).to_dict()


def test_jobs_list_and_audit_at_once_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task has a weight in bytes and a number of files, as the listing counted them."""
    monkeypatch.setattr(many, "AT_ONCE", 3)
    engine = Executors()
    assert None not in audited(FEW, engine).values()
    assert [len(job) for job in engine.jobs] == [3, 3, 1, 1]
    assert attributes(engine.jobs[0], "cost") == [0, 0, 0]
    agg_update = engine.jobs[1][0]
    assert agg_update.files >= 20
    assert agg_update.weight >= 12_006


def test_large_checkpoint_is_left_to_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "WHOLE_COST", 0)
    monkeypatch.setattr(many, "SHARES", 2)
    large = str(checkpoint_of("join_left_outer"))
    result = audited([FEW[3], large], Executors())
    assert result[large] is None
    assert result[FEW[3]] is not None


def test_failed_checkpoints_are_left_to_the_driver(tmp_path: Path) -> None:
    lost = Found("/lost", PermissionError("no"))
    (tmp_path / "other").mkdir()
    other = Found(str(tmp_path / "other"))
    audits = audits_by_executors([lost, *map(Found, FEW), other], api.Options(), Executors())
    results = {item.path: item for item in audits}
    assert set(results) == {"/lost", *FEW, other.path}
    assert (results.pop("/lost"), results.pop(other.path)) == (lost, other)
    assert {type(item) for item in results.values()} == {Audited}


@pytest.mark.parametrize("job", [1, 2])
def test_checkpoints_of_a_failed_job_are_left_to_the_driver(job: int) -> None:
    options, messages = with_messages(api.Options())
    engine = Executors()
    engine.broken = job
    assert audited(FEW, engine, options) == dict.fromkeys(FEW)
    assert messages == ["engine: done again by the driver: an executor was lost"]


def test_messages_of_executors_are_printed_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    options, messages = with_messages(api.Options(cache=str(tmp_path / "file")))
    assert None not in audited(FEW, Executors(), options).values()
    (message,) = messages
    assert message.startswith(f"cache: not used: {tmp_path / 'file'}")


def test_interrupted_job_continues_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints from the cache take one listing each, and no place in a job of audits."""
    monkeypatch.setattr(many, "AT_ONCE", 2)
    paths = [str(copy_of("agg_update", tmp_path / name)) for name in "abcdef"]
    options = api.Options(cache=str(tmp_path / "cache"))
    first = audits_by_executors(map(Found, paths), options, Executors())
    assert attributes(islice(first, 3), "path") == paths[:3]
    del first  # as if the process had ended
    cache_files.cache_files.cache_clear()
    engine = Executors()
    again = audited(paths, engine, options)
    from_cache = [run_of(again, path).is_kept for path in paths]
    assert from_cache == [True, True, True, True, False, False]
    assert [len(job) for job in engine.jobs] == [2, 0, 2, 0, 2, 2]
    expected = body(api.audit(paths[0]))
    assert body(run_of(again, paths[0]).report) == expected
    assert body(run_of(again, paths[5]).report) == body(api.audit(paths[5]))


def test_cache_secret_is_written_before_the_audits(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    secrets: list[bytes] = []

    class Watching(Executors):
        """Executors that read the secret before each job of audits, as another process does."""

        def run(self, job: Job) -> Iterator[pa.RecordBatch]:
            if self.jobs:
                secrets.append((cache / cache_files.SECRET).read_bytes())
            cache_files.cache_files.cache_clear()
            return super().run(job)

    paths = [str(copy_of("agg_update", tmp_path / name)) for name in "ab"]
    result = audited(paths, Watching(), api.Options(cache=str(cache)))
    assert None not in result.values()
    assert secrets == [(cache / cache_files.SECRET).read_bytes()]
    assert len(secrets[0]) == 32


def test_executors_do_not_report_the_kernel_of_the_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("inspector.analyses.shared.run.kernel_name", lambda: PYTHON)
    options, messages = with_messages(api.Options())
    assert None not in audited(FEW, Executors(), options).values()
    assert messages == []
    api.audit(FEW[0], options)
    assert "Python kernel" in "\n".join(messages)


def test_cache_inside_a_checkpoint_is_not_used(tmp_path: Path) -> None:
    inside = copy_of("agg_update", tmp_path)
    before = sorted(inside.rglob("*"))
    result = audited([str(inside)], Executors(), api.Options(cache=str(inside / "cache")))
    assert result == {str(inside): None}
    assert sorted(inside.rglob("*")) == before


@pytest.mark.parametrize("output", ["json", "table", "ndjson"])
def test_fleet_members_in_memory_are_small(output: str) -> None:
    """Pickle writes an object that several members share once, as memory has it once."""
    report = api.audit(FEW[0])
    with Spool() as spool:
        form = Form("audit", output, Display(), details=False, has_filters=True, keep=spool.keep)
        members = [form.member(replace(report, checkpoint=f"/{n}"), lambda: 0) for n in range(100)]
        assert not isinstance(members[0].text, str)
        fields = attributes(members, "row", "columns", "names", "cause", "to_do")
        assert len(pickle.dumps(fields)) < 400 * 100
        assert "/99" in "".join(document(form, members))
