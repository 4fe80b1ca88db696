"""Runs of one analysis for many checkpoints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from inspector.analyses.shared.fleet_run import find_all, means_many, run_all
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import Options
from inspector.checkpoint.search import Found
from inspector.engines.choose import LOCAL, EngineOptions
from inspector.engines.engine import CHECKPOINTS, HADOOP, Measure
from inspector.exceptions import EngineError, NotACheckpointError
from tests.attributes import attributes
from tests.cli.support import checkpoint_of
from tests.fixture_folder import NEWEST

PATHS = [str(checkpoint_of(case)) for case in ("agg_update", "agg_v1", "agg_append", "agg_global")]


@pytest.mark.parametrize(
    ("paths", "recursive", "several_values"),
    [(["a"], False, False), (["a"], True, True), (["a*"], False, True), (["a", "b"], False, True)],
)
def test_paths_that_mean_many_checkpoints(
    paths: list[str], recursive: bool, several_values: bool
) -> None:
    assert means_many(paths, recursive=recursive) is several_values


def test_repeated_path_is_found_once() -> None:
    result = find_all(
        [PATHS[0], f"{PATHS[0]}/", str(NEWEST / "agg_u*/*")], Options(), recursive=False
    )
    assert attributes(result, "path") == [PATHS[0]]


def test_path_in_two_spellings_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkpoint_of("agg_append").parent)
    result = find_all(["checkpoint", "./*"], Options(), recursive=False)
    assert attributes(result, "path") == ["checkpoint"]


def test_unsearchable_path_is_a_failure() -> None:
    places = find_all(["unheard-of://x/*", "s3://buck*/y"], Options(), recursive=False)
    assert [type(location.error) for location in places] == [EngineError, NotACheckpointError]
    spark = Options(engine=EngineOptions(LOCAL, io=HADOOP))
    with pytest.raises(EngineError, match="name each checkpoint"):
        list(find_all(["/x/*"], spark, recursive=False))


def test_at_once_limits_concurrent_runs() -> None:
    running, highest = 0, 0
    lock, two = threading.Lock(), threading.Event()

    def make(run: Opened) -> str:
        nonlocal running, highest
        with lock:
            running += 1
            highest = max(highest, running)
            if running == 2:
                two.set()
        two.wait(10)
        with lock:
            running -= 1
        return run.checkpoint.root

    outcomes = list(run_all(map(Found, PATHS), Options(), make, at_once=2))
    assert sorted(str(outcome.result) for outcome in outcomes) == sorted(PATHS)
    assert highest == 2


def test_failed_run_is_an_outcome(tmp_path: Path) -> None:
    def make(run: Opened) -> int:
        if run.checkpoint.root == PATHS[1]:
            raise ZeroDivisionError
        return run.version

    lost = Found("/lost", PermissionError("no"))
    places = [Found(PATHS[0]), lost, Found(PATHS[1]), Found(str(tmp_path)), Found(PATHS[2])]
    outcomes = {outcome.path: outcome for outcome in run_all(iter(places), Options(), make)}
    assert len(outcomes) == 5
    assert isinstance(outcomes["/lost"].error, PermissionError)
    assert isinstance(outcomes[PATHS[1]].error, ZeroDivisionError)
    assert isinstance(outcomes[str(tmp_path)].error, NotACheckpointError)
    assert (outcomes[PATHS[0]].error, outcomes[PATHS[0]].result) == (None, 10)
    assert (outcomes[PATHS[2]].error, outcomes[PATHS[2]].result) == (None, 10)


def test_interrupt_ends_all_runs() -> None:
    def make(_run: Opened) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run_all(map(Found, PATHS), Options(), make))


def measures_of(places: Iterable[Found], at_once: int) -> list[Measure]:
    """Run an analysis, and return the progress after each checkpoint."""
    measures: list[Callable[[], Measure]] = []

    def watch(measure: Callable[[], Measure]) -> AbstractContextManager[None]:
        measures.append(measure)
        return nullcontext()

    options = Options(engine=EngineOptions(LOCAL, watch=watch))
    outcomes = run_all(places, options, lambda run: run.version, at_once=at_once)
    return [measures[0]() for _ in outcomes]


def test_fleet_progress_counts_checkpoints() -> None:
    assert measures_of([*map(Found, PATHS)], 1) == [
        Measure(1, 4, CHECKPOINTS),
        Measure(2, 4, CHECKPOINTS),
        Measure(3, 4, CHECKPOINTS),
        Measure(4, 4, CHECKPOINTS),
    ]


@pytest.mark.parametrize(("at_once", "total"), [(1, 0), (5, 4)])
def test_fleet_progress_of_an_iterator(at_once: int, total: int) -> None:
    """The total is unknown until the iterator has ended: with 5 at once, before the first result.

    One at a time, all checkpoints but the last are done by then.
    """
    measures = measures_of(map(Found, PATHS), at_once)
    assert attributes(measures, "total") == [total] * 4
    assert measures[-1].done == 4
