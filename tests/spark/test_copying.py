"""``copy`` on Spark: each partition is written where its task runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspector.analyses.copy import _Copy
from inspector.checkpoint.destination import Destination
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, run
from tests.spark_support import WITH_SPARK

pytestmark = [*WITH_SPARK, pytest.mark.usefixtures("spark")]


def state_of(root: Path) -> dict[str, bytes]:
    """Contents of the state files by path, without the place of the checkpoint in them."""
    state, place = root / "state", str(root).encode()
    return {
        str(path.relative_to(state)): path.read_bytes().replace(place, b"ROOT")
        for path in state.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("case", ["fmgws_event_ignore", "rocksdb_fmgws_event_ignore"])
def test_executors_write_what_this_process_writes(case: str, tmp_path: Path) -> None:
    states, outcomes = [], []
    for engine in ("local", "spark"):
        dest = tmp_path / engine
        arguments = ("copy", checkpoint_of(case), dest, "--evict", "leftovers", "-o", "json")
        outcomes.append(run(*arguments, "--engine", engine))
        states.append(state_of(dest))
    assert attributes(outcomes, "code") == [0, 0]
    assert states[0] == states[1]
    assert outcomes[0].rows == outcomes[1].rows
    assert outcomes[0].json["summary"]["evicted_rows"] > 0


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("fmgws_event_ignore", "--partitions 5"),
        ("join_left_outer", "--partitions 1"),
        ("rocksdb_agg_update", "--partitions 7"),
        ("rocksdb_tws_event", "--partitions 3"),
        ("fmgws_event_ignore", "--partitions 3 --evict leftovers"),
        ("rocksdb_agg_update", "--provider hdfs"),
        ("agg_v1", "--state-format 2 --partitions 3"),
    ],
)
def test_executors_move_rows_as_this_process_does(case: str, words: str, tmp_path: Path) -> None:
    states, outcomes = [], []
    for engine in ("local", "spark"):
        dest = tmp_path / engine
        given = (*words.split(), "-o", "json", "--engine", engine)
        outcomes.append(run("copy", checkpoint_of(case), dest, *given))
        states.append(state_of(dest))
    assert attributes(outcomes, "code") == [0, 0], outcomes[1].err
    assert states[0] == states[1]
    assert outcomes[0].rows == outcomes[1].rows
    names = ("partitions", "provider", "state_format", "evicted_rows", "rows")
    summaries = [outcome.json["summary"] for outcome in outcomes]
    values = [{name: summary.get(name) for name in names} for summary in summaries]
    assert values[0] == values[1]
    assert sorted(attributes(tmp_path.iterdir(), "name")) == ["local", "spark"]


def test_writer_that_fails_leaves_no_copy(tmp_path: Path) -> None:
    """The paths of files are longer than the system allows while they are written."""
    room = os.pathconf(tmp_path, "PC_PATH_MAX") - len("/.copy.12345678.inspector-copy/state/0/0")
    folder = tmp_path
    while len(str(folder)) < room - 40:
        folder = folder / ("x" * min(200, room - 40 - len(str(folder))))
    folder.mkdir(parents=True)
    arguments = ("copy", checkpoint_of("fmgws_event_ignore"), folder / "copy", "--partitions", "3")
    outcome = run(*arguments, "--engine", "spark")
    assert outcome.code == 2
    assert "error: Spark: OSError: " in outcome.err
    assert list(folder.iterdir()) == []


def test_file_that_breaks_after_the_audit_stops_all_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Receivers of an object store, whose folders cannot be renamed, would leave files."""
    root = Path(shutil.copytree(checkpoint_of("agg_update"), tmp_path / "checkpoint"))
    newest = max(root.glob("state/0/1/*.delta"), key=lambda path: int(path.stem))
    monkeypatch.setattr(_Copy, "_check_whole", lambda *_: newest.write_bytes(b"broken"))
    dest = tmp_path / "copies"
    dest.mkdir()

    @contextmanager
    def lasting_folder(*_: object) -> Iterator[Destination]:
        yield Destination(str(dest))

    monkeypatch.setattr("inspector.analyses.copy.new_folder", lasting_folder)
    outcome = run("copy", root, dest / "copy", "--partitions", "3", "--engine", "spark")
    assert outcome.code == 4
    assert str(newest) in outcome.err
    assert list(dest.iterdir()) == []
