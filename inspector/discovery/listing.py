"""What is wrong with a checkpoint by the names of its files alone; no file is read for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from inspector.checkpoint.layout import FOREIGN, StoreLayout
from inspector.checkpoint.roots import STATE
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.placement import has_partition, impossible_partitions, was_left
from inspector.discovery.state_checks import ranges_text, state_problems
from inspector.model import COMPARED, Problem
from inspector.providers.chain import compared_versions, restorable_versions


def listing_problems(checkpoint: Checkpoint, version: int) -> Iterator[Problem]:
    """What is wrong with files and folders by their names alone: what is missing, or too many.

    Args:
        checkpoint: what was found.
        version: the judged version; every store has to be able to restore it.
    """
    yield from impossible_partitions(checkpoint, version)
    yield from state_problems(checkpoint, version)
    for operator in checkpoint.operators:
        left = {
            partition.partition_id
            for partition in operator.layout.partitions
            if was_left(checkpoint, partition, version)
        }
        for store in operator.layout.folders:
            if store.store.partition_id not in left:
                yield from _gaps(checkpoint, store, version)
    yield from _comparison_problems(checkpoint, version)


def _comparison_problems(checkpoint: Checkpoint, version: int) -> Iterator[Problem]:
    """That a provider wrote no deltas: what a version changed is then less than known."""
    result = {
        location: [v for v in compared_versions(files) if v <= version]
        for location, files in checkpoint.store_files.items()
    }
    versions = sorted({v for of_store in result.values() for v in of_store})
    if versions:
        yield Problem(
            COMPARED,
            f"of {'version' if len(versions) == 1 else 'versions'} {ranges_text(versions)} there "
            "are snapshots and no deltas: what these versions changed is how their snapshots "
            "differ, so that a row which was put again with the value that it had is not counted",
            checkpoint.storage.full_path(STATE),
        )


def _gaps(checkpoint: Checkpoint, layout: StoreLayout, version: int) -> Iterator[Problem]:
    files = checkpoint.store_files[layout.directory]
    restorable = restorable_versions(files)
    for file in (files.deltas.get(0), files.snapshots.get(0)):
        if file is not None:
            message = "got a state file of version 0, which is the empty state and has none"
            yield Problem(FOREIGN, message, file.path, store=layout.store)
    location = checkpoint.storage.full_path(layout.directory)
    if version and version not in restorable:
        yield Problem(
            "missing-version",
            f"state version {version} (batch {version - 1}) cannot be restored from these files, "
            f"which can restore {_restorable_text(restorable)}",
            location,
            store=layout.store,
            version=version,
        )
    oldest = restorable[0] if restorable else 1
    # Where deltas are written for all versions, each has one, also that of a snapshot: cleanup
    # removes a snapshot before the delta beside it, for it lists one file for each version
    # (HDFSBackedStateStoreProvider.fetchFiles). Of the oldest version no change is read.
    alone = [*files.snapshots] if files.compares else restorable[:1]
    # A tool writes what it likes, and a version that has no such partition has no file here.
    alone += [v for v in files.snapshots if files.snapshots[v].continues is not None]
    partition = layout.store.partition_id
    unwritten = {
        v
        for v in range(oldest, version)
        if v - 1 in checkpoint.logs.given_up or not has_partition(checkpoint, partition, v)
    }
    known = [v for v in sorted({*files.deltas, *alone, *unwritten}) if oldest <= v <= version]
    points = [*([] if restorable else [0]), *known, version + 1]
    holes = [(a + 1, b - 1) for a, b in pairwise(points) if b > a + 1]
    # A repartitioning whose log entry is purged may have left the partition out for a while.
    logged = min(checkpoint.logs.confs, default=0)
    if files.compares:
        holes = [(a, b) for a, b in holes if b + 1 not in files.snapshots or b > logged]
    lost = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in holes)
    single = len(holes) == 1 and holes[0][0] == holes[0][1]
    if lost:
        yield Problem(
            "missing-delta",
            f"{'the delta of version' if single else 'the deltas of versions'} {lost} "
            f"{'is' if single else 'are'} missing, expected one for every version",
            location,
            store=layout.store,
        )


def _restorable_text(versions: Sequence[int]) -> str:
    noun = "version" if len(versions) == 1 else "versions"
    return f"{noun} {ranges_text(versions)}" if versions else "no version"
