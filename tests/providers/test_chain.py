"""Files that restore a version, compared with a direct evaluation of the definition."""

from __future__ import annotations

from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.exceptions import MissingVersionError
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.chain import (
    Chain,
    FileNames,
    Step,
    StoreFiles,
    chain_for,
    compared_versions,
    replay_steps,
    restorable_versions,
)
from tests.attributes import attributes
from tests.cases import state_file

NAMES = FileNames("{}.delta", "{}.snapshot")
NEWEST = 9
versions = st.sets(st.integers(1, NEWEST))


def files_of(deltas: set[int], snapshots: set[int]) -> StoreFiles:
    return StoreFiles.of(
        [
            *map(state_file, snapshots, repeat(FileKind.SNAPSHOT)),
            *map(state_file, deltas),
        ],
        NAMES,
    )


def bases(deltas: set[int], snapshots: set[int], version: int) -> list[int]:
    """Return the versions from which a version can be restored: 0 and those of snapshots."""
    starts = {0} | snapshots & set(range(version + 1))
    return [start for start in starts if deltas >= set(range(start + 1, version + 1))]


@given(versions, versions)
def test_version_is_restorable_from_snapshot_with_all_later_deltas(
    deltas: set[int], snapshots: set[int]
) -> None:
    possible = [v for v in range(1, NEWEST + 2) if bases(deltas, snapshots, v)]
    assert restorable_versions(files_of(deltas, snapshots)) == possible


@given(versions, versions, st.integers(1, NEWEST + 1))
def test_chain_starts_at_newest_snapshot_as_in_spark(
    deltas: set[int], snapshots: set[int], version: int
) -> None:
    files = files_of(deltas, snapshots)
    newest = max(snapshots & set(range(version + 1)), default=0)
    expected = range(newest + 1, version + 1)
    if not set(expected) <= deltas:
        with pytest.raises(MissingVersionError) as raised:
            chain_for(files, version)
        first = min(set(expected) - deltas)
        assert f"{first}.delta is missing" in raised.value.message
        return
    base = state_file(newest, FileKind.SNAPSHOT) if newest else None
    after = tuple(map(state_file, expected))
    assert chain_for(files, version) == Chain(version, base, after)
    assert chain_for(files, version).files == (*filter(None, [base]), *after)


@given(versions, versions, st.integers(0, NEWEST + 1))
def test_replay_makes_all_restorable_versions_and_reads_files_once(
    deltas: set[int], snapshots: set[int], upto: int
) -> None:
    files = files_of(deltas, snapshots)
    steps = replay_steps(files, upto)
    assert attributes(steps, "version") == [v for v in restorable_versions(files) if v <= upto]
    read = list(filter(None, chain(*attributes(steps, "base", "delta", "check"))))
    assert len(set(read)) == len(read)
    assert attributes(read, "version") == sorted(attributes(read, "version"))
    reached = 0
    for step in steps:
        if step.base is None:
            assert step.version == reached + 1
            assert step.delta == files.deltas[step.version]
            assert step.check == files.snapshots.get(step.version)
        else:
            assert (step.base, step.check) == (files.snapshots[step.version], None)
            assert step.version != reached + 1 or step.version not in files.deltas
        reached = step.version


def test_snapshot_is_compared_with_replayed_deltas() -> None:
    files = files_of({1, 2, 5, 6}, {2, 5})
    assert replay_steps(files, 6) == [
        Step(1, delta=state_file(1)),
        Step(2, delta=state_file(2), check=state_file(2, FileKind.SNAPSHOT)),
        Step(5, base=state_file(5, FileKind.SNAPSHOT), delta=state_file(5)),
        Step(6, delta=state_file(6)),
    ]


def test_version_after_gap_names_gap_and_start() -> None:
    files = files_of({1, 2, 5, 6, 8}, {4})
    with pytest.raises(MissingVersionError, match=r"version 8 .* 7\.delta is .* after 4\.snapshot"):
        chain_for(files, 8)
    with pytest.raises(MissingVersionError, match=r"3\.delta is missing.* the empty version 0"):
        chain_for(files, 3)


def test_version_0_needs_no_file() -> None:
    assert chain_for(files_of(set(), set()), 0) == Chain(0, None, ())


def test_files_of_other_kinds_or_without_version_are_ignored() -> None:
    store_file = StoreFile("p/3.delta.crc", FileKind.SPARK_CHECKSUM, Version(3), 1)
    nameless = StoreFile("p/x.delta", FileKind.DELTA, None, 1)
    files = StoreFiles.of([store_file, nameless, state_file(2)], NAMES)
    assert (dict(files.deltas), dict(files.snapshots)) == ({2: state_file(2)}, {})


def test_newest_version_of_deltas_and_snapshots() -> None:
    assert files_of({1, 2}, {7}).newest == 7
    assert files_of({1, 8}, {7}).newest == 8
    assert files_of(set(), set()).newest == 0


def test_chain_without_snapshot_uses_delta_of_same_version() -> None:
    snapshot = state_file(2, FileKind.SNAPSHOT)
    files = files_of({1, 2}, {2}).without(snapshot)
    assert (set(files.deltas), set(files.snapshots)) == ({1, 2}, set())
    assert chain_for(files, 2).files == (state_file(1), state_file(2))


def test_snapshots_are_compared_if_provider_writes_no_deltas() -> None:
    snapshots = {
        1: state_file(1, FileKind.SNAPSHOT),
        2: state_file(2, FileKind.SNAPSHOT),
        4: state_file(4, FileKind.SNAPSHOT),
        5: state_file(5, FileKind.SNAPSHOT),
    }
    deltas = {5: state_file(5)}
    alone = StoreFiles(deltas, snapshots, NAMES, compares=True)
    assert replay_steps(alone, 5) == [
        Step(1, compared=snapshots[1]),  # from the empty version 0
        Step(2, compared=snapshots[2]),
        Step(4, base=snapshots[4]),
        Step(5, delta=deltas[5], check=snapshots[5]),
    ]
    assert compared_versions(alone) == [1, 2]
    assert compared_versions(StoreFiles(deltas, snapshots, NAMES)) == []
    assert Step(1, compared=snapshots[1]).files == (snapshots[1],)
    assert alone.without(snapshots[2]).compares
