"""The run that every command begins with: its version, part, problems and progress."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.shared.data_tables import table_work
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run, work_of
from inspector.discovery.tasks import SMALL_FILE_BYTES, Request
from inspector.engines.choose import EngineOptions
from inspector.engines.engine import Measure
from inspector.exceptions import CheckpointError
from inspector.model import StoreId
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, copy_of
from tests.reports import slugs

JOIN = str(checkpoint_of("join_left_outer"))


@pytest.mark.parametrize(
    ("options", "version"),
    [
        (None, 10),
        (Options(), 10),
        (Options(batch=0), 1),
        (Options(batch=8), 9),
        (Options(state_version=8), 8),
        (Options(state_version=0), 0),
    ],
)
def test_run_version_is_newest_committed_or_requested(
    options: Options | None, version: int
) -> None:
    assert Run.start(JOIN, options).version == version


def test_uncommitted_version_only_on_request() -> None:
    path = str(checkpoint_of("uncommitted"))
    assert Run.start(path, None).version == 4
    assert Run.start(path, Options(batch=4)).version == 5
    with pytest.raises(CheckpointError, match="does not exist"):
        Run.start(path, Options(batch=5))


@pytest.mark.parametrize(
    "options",
    [Options(operator_id=1), Options(partition_id=2), Options(store_name="default")],
)
def test_missing_operator_store_or_partition_is_an_error(options: Options) -> None:
    there = r"it has operator 0 \(partitions 0 to 1; stores left-keyToNumValues, left-keyWith"
    with pytest.raises(CheckpointError, match=f"no such operator, store or partition, {there}"):
        Run.start(JOIN, options)


def test_run_repr() -> None:
    run = Run.start(JOIN, None)
    assert repr(run) == f"<Run of {JOIN!r} at version {run.version}>"


def test_facts_cover_only_the_requested_part() -> None:
    run = Run.start(JOIN, Options(store_name="left-keyToNumValues", partition_id=1))
    facts = run.facts()
    store = StoreId(0, "left-keyToNumValues", 1)
    assert sorted(facts.versions) == [(store, version) for version in range(1, 11)]


def test_problems_of_the_listing_come_before_those_of_the_files(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/9.delta").unlink()
    (path / "state/0/1/9.delta").write_bytes(b"junk")
    run = Run.start(str(path), None)
    problems = run.problems(run.facts())
    assert slugs(problems[:2]) == ["missing-version", "missing-delta"]
    assert problems[:2] == run.listed
    (unreadable,) = problems[2:]
    assert unreadable.path == str(path / "state/0/1/9.delta")


@pytest.mark.parametrize(("kernel", "notes"), [("c", 0), ("python", 1)])
def test_progress_and_note_about_the_python_kernel(
    monkeypatch: pytest.MonkeyPatch, kernel: str, notes: int
) -> None:
    monkeypatch.setattr("inspector.analyses.shared.run.kernel_name", lambda: kernel)
    measures: list[Measure] = []

    @contextmanager
    def watch(measure: Callable[[], Measure]) -> Iterator[None]:
        measures.append(measure())
        yield
        measures.append(measure())

    message: list[str] = []
    options = Options(engine=EngineOptions("local", notify=message.append, watch=watch))
    run = Run.start(JOIN, options)
    file_bytes = sum(attributes(run.tasks(Request()), "file_bytes"))
    run.facts()
    first, last = measures
    assert (first.done, first.total, first.unit) == (0, file_bytes, "bytes")
    assert last.done >= last.total > 0
    assert [text[:25] for text in message] == ["engine: the Python kernel"] * notes


def test_progress_of_rows_and_changes() -> None:
    totals: list[int] = []

    def watch(measure: Callable[[], Measure]) -> AbstractContextManager[None]:
        totals.append(measure().total)
        return nullcontext()

    options = Options(engine=EngineOptions("local", watch=watch))
    assert list(api.rows(JOIN, options).primary.rows)
    assert list(api.changes(JOIN, options).primary.rows)
    of_rows, of_changes = totals
    assert of_rows > 0
    assert of_changes > 0


def test_small_tasks_run_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    (task, *_) = Run.start(JOIN, None).tasks(Request())
    assert work_of(task).in_python
    assert table_work(task, "{}", ()).in_python
    monkeypatch.setattr("inspector.discovery.tasks.SMALL_FILE_BYTES", SMALL_FILE_BYTES >> 15)
    assert not work_of(task).in_python
    assert not table_work(task, "{}", ()).in_python
