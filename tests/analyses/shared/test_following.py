"""Watching a checkpoint: each new batch is yielded once, and only new files are read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector.analyses import watch as following
from inspector.analyses.shared.options import Options
from inspector.analyses.watch import PATIENCE, BatchSeen, Following, Pace
from inspector.checkpoint.storage import Storage
from inspector.exceptions import CheckpointError, NotACheckpointError
from inspector.facts.versions import VersionFacts
from tests.attributes import attributes
from tests.checkpoint_files import remove_paths
from tests.faults import before_each_read
from tests.growing import Growing

CASE = "trouble_kept_timeouts"


@pytest.fixture
def query(tmp_path: Path) -> Growing:
    """Return a query that has run three batches."""
    growing = Growing(CASE, tmp_path)
    growing.run(0, 1, 2)
    return growing


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """Return the list of files that are opened, in order."""
    paths: list[str] = []
    with before_each_read(lambda _storage, relative: paths.append(relative)):
        yield paths


def rows(seen: BatchSeen) -> int:
    facts = seen.facts.versions.items()
    return sum((item for (_, v), item in facts if v == seen.run.version), VersionFacts()).rows


def ids(batches: Iterator[BatchSeen]) -> list[int]:
    return attributes(batches, "batch_id")


def test_watch_yields_each_new_batch_once(query: Growing) -> None:
    followed = Following(str(query.root), Options())
    assert ids(followed.look()) == [2]
    assert ids(followed.look()) == []
    query.run(3)
    assert ids(followed.look()) == [3]
    query.run(4)
    query.run(5)
    assert ids(followed.look()) == [4, 5]
    assert ids(followed.look()) == []


@pytest.mark.parametrize(("last", "first"), [(0, []), (2, [1, 2]), (99, [0, 1, 2])])
def test_watch_starts_with_last_batches(query: Growing, last: int, first: list[int]) -> None:
    followed = Following(str(query.root), Options(), last)
    assert ids(followed.look()) == first
    query.run(3)
    assert ids(followed.look()) == [3]


def test_watch_counts_rows_of_each_batch(query: Growing) -> None:
    followed = Following(str(query.root), Options(), 99)
    assert [rows(seen) for seen in followed.look()] == [9, 17, 25]
    query.run(3)
    query.run(4)
    assert [rows(seen) for seen in followed.look()] == [33, 41]


def test_watch_waits_for_the_commit(query: Growing) -> None:
    followed = Following(str(query.root), Options())
    assert ids(followed.look()) == [2]
    query.plan(3)
    assert ids(followed.look()) == []
    (query.root / "state/0/0/.4.delta.3f2a.tmp").write_bytes(b"half a fi")
    query.write_state(3)
    assert ids(followed.look()) == []
    (query.root / "commits/.3.crc").write_bytes(b"crc")
    query.commit(3)
    (seen,) = followed.look()
    assert (seen.batch_id, rows(seen), seen.run.problems(seen.facts)) == (3, 33, ())


def test_watch_opens_only_new_files(query: Growing, opened: list[str]) -> None:
    followed = Following(str(query.root), Options())
    list(followed.look())
    assert {"metadata", "offsets/0", "commits/2", "state/0/1/1.delta"} <= set(opened)
    assert len(opened) == len(set(opened))
    opened.clear()
    list(followed.look())
    assert opened == []
    query.run(3)
    list(followed.look())
    assert sorted(opened) == ["commits/3", "offsets/3", "state/0/0/4.delta", "state/0/1/4.delta"]


def test_watch_after_cleanup_by_the_query(query: Growing) -> None:
    followed = Following(str(query.root), Options())
    query.run(*range(3, 12))
    list(followed.look())
    remove_paths(query.root, "offsets/[0-8]", "commits/[0-8]", "state/0/[01]/[1-9].delta")
    query.run(12)
    (seen,) = followed.look()
    assert (seen.batch_id, rows(seen)) == (12, 105)
    assert sum(attributes(seen.facts.totals, "fact.rows")) == 72


@pytest.mark.parametrize(
    ("seen", "newest", "removed"),
    [(8, 10, "batch 9 was removed before it"), (7, 10, "batches 8 to 9 were removed before they")],
)
def test_watch_notes_batches_removed_unread(
    query: Growing, seen: int, newest: int, removed: str
) -> None:
    query.run(*range(3, seen + 1))
    followed = Following(str(query.root), Options())
    assert ids(followed.look()) == [seen]
    query.run(*range(seen + 1, newest + 1))
    remove_paths(query.root, "state/0/0/*.delta")  # the snapshot of version 11 remains
    (batch_seen,) = followed.look()
    assert batch_seen.batch_id == newest
    assert batch_seen.notes == (
        f"{removed} could be read here: batch {newest} is the newest that is whole",
    )


def test_watch_after_reset_to_an_earlier_batch(query: Growing) -> None:
    query.run(3)
    query.run(4)
    followed = Following(str(query.root), Options())
    assert ids(followed.look()) == [4]
    remove_paths(query.root, "offsets/[34]", "commits/[34]")
    assert ids(followed.look()) == []
    query.run(3)
    (seen,) = followed.look()
    assert (seen.batch_id, rows(seen)) == (3, 33)
    (note,) = seen.notes
    assert note.startswith("the query was reset from batch 4 to batch 2;")
    query.run(4)
    (seen,) = followed.look()
    assert (seen.batch_id, rows(seen), seen.notes) == (4, 41, ())


def test_watch_after_replacement_by_another_query(query: Growing) -> None:
    followed = Following(str(query.root), Options())
    list(followed.look())
    was = json.loads((query.root / "metadata").read_text())["id"]
    shutil.rmtree(query.root)
    growing = Growing("healthy_kept_timeouts", query.root.parent)
    (growing.root / "metadata").write_text('{"id":"22963bf4-bb40-4fc3-855e-7fd5ef06d3d7"}')
    growing.run(0)
    (seen,) = followed.look()
    assert (seen.batch_id, rows(seen)) == (0, 9)
    another = "22963bf4-bb40-4fc3-855e-7fd5ef06d3d7"
    assert seen.notes == (f"the checkpoint now belongs to another query: {another}, it was {was}",)


def test_watch_of_a_deleted_checkpoint_is_an_error(query: Growing) -> None:
    followed = Following(str(query.root), Options())
    list(followed.look())
    shutil.rmtree(query.root)
    with pytest.raises(NotACheckpointError):
        list(followed.batches(Pace(0.01)))


def test_watch_retries_after_storage_timeout(
    query: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed = Following(str(query.root), Options())
    list(followed.look())
    listing, failures = Storage._listing, iter(range(PATIENCE - 1))

    def moody(storage: Storage, relative: str) -> Any:
        if next(failures, None) is not None:
            raise TimeoutError("timed out")
        return listing(storage, relative)

    monkeypatch.setattr(Storage, "_listing", moody)
    query.run(3)
    (seen,) = followed.batches(Pace(0.01, until=3))
    assert seen.batch_id == 3
    assert 1 <= len(seen.notes) < PATIENCE  # one look makes several listings
    assert seen.notes[0].startswith("the storage did not respond; retrying: ")
    assert seen.notes[0].endswith("timed out")


@pytest.mark.parametrize("pace", [Pace(0.001), Pace(0.001, ends=0)])
def test_watch_gives_up_on_silent_storage(
    query: Growing, monkeypatch: pytest.MonkeyPatch, pace: Pace
) -> None:
    followed = Following(str(query.root), Options())
    list(followed.look())

    def refused(*_: Any) -> Any:
        raise TimeoutError("timed out")

    monkeypatch.setattr(Storage, "_listing", refused)
    with pytest.raises(TimeoutError):
        list(followed.batches(pace))


def test_watch_of_one_partition(query: Growing, opened: list[str]) -> None:
    followed = Following(str(query.root), Options(partition_id=1))
    (seen,) = followed.look()
    assert {store.partition_id for store, _ in seen.facts.versions} == {1}
    assert not [path for path in opened if path.startswith("state/0/0/") and "_meta" not in path]
    with pytest.raises(CheckpointError):
        list(Following(str(query.root), Options(operator_id=9)).look())


# --- pace ------------------------------------------------------------------------------------


def test_watch_pace_between_batches(query: Growing, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def committing(seconds: float) -> None:
        waits.append(seconds)
        query.run(2 + len(waits))

    monkeypatch.setattr(following, "sleep", committing)
    batches = Following(str(query.root), Options()).batches(Pace(7, until=8))
    assert ids(batches) == [2, 3, 4, 5, 6, 7, 8]
    assert waits == [7] * 6


def test_watch_until_a_past_batch_ends(query: Growing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(following, "sleep")
    assert ids(Following(str(query.root), Options()).batches(Pace(7, until=1))) == [2]
    assert ids(Following(str(query.root), Options(), 0).batches(Pace(7, until=2))) == []


def test_watch_ends_at_its_deadline(query: Growing, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    waits: list[float] = []

    def waiting(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(following, "sleep", waiting)
    monkeypatch.setattr(following, "monotonic", lambda: now[0])
    assert ids(Following(str(query.root), Options()).batches(Pace(4, ends=110))) == [2]
    assert waits == [4, 4, 2]
