"""Conditions of a restart besides the state files: options, paths and partition counts.

* Operator metadata of format 2 names the schemas of ``transformWithState`` by absolute paths
  (``OperatorStateMetadataV2``). Spark reads the schemas from these paths, wherever the checkpoint
  is: a checkpoint that was moved does not start. Joins of formats 3 and 4 have such
  metadata too, and start anywhere.
* A commit log of format 3 stays in this format. With sink evolution off, its default, Spark 4.2
  and later run the batch and fail at its commit (``CommitLog``, "requirement failed: VERSION_3
  commit log requires a non-empty sinkMetadataMap").
* A query with source evolution does not start without it (``MicroBatchExecution.logicalPlan``).
* Asynchronous progress tracking writes both logs once in a while. It restarts from the newest
  entry alone, and every other query needs the entry before that
  (``validateOffsetLogAndGetPrevOffset``).
* An entry of offset log format 2 without ``spark.sql.shuffle.partitions``, as Spark 4.2.0 writes
  it, gets the number from operator metadata (``recoverStatefulShufflePartitions``, 4.2.1 and 4.3).
  In format 1 the value of the session holds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress

from inspector.checkpoint.confs import SHUFFLE_PARTITIONS, SOURCE_EVOLUTION
from inspector.checkpoint.logs import COMMITS, OFFSETS
from inspector.checkpoint.roots import STATE
from inspector.checkpoint.urls import absolute, is_local, translate
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.placement import partition_count
from inspector.discovery.restart_reasons import Condition, Doubt, Refusal
from inspector.exceptions import InspectorError
from inspector.model import LIMITS, BatchId

_STREAMING = "spark.sql.streaming."  # prefix of Spark's confs of streaming
# conf that turns on sink evolution
SINK_EVOLUTION = f"{_STREAMING}queryEvolution.enableSinkEvolution"
# option of the writer that turns on asynchronous progress tracking
ASYNC_PROGRESS = "asyncProgressTrackingEnabled"
# conf by which a stream-stream join ignores rows that are null
SKIP_NULLS = f"{_STREAMING}stateStore.skipNullsForStreamStreamJoins.enabled"
# Rules of ``preflight``: the schemas are not where the metadata says, or only there if the
# checkpoint was not moved.
SCHEMA_PATHS, SCHEMA_PATHS_ELSEWHERE = "schema-paths", "schema-paths-elsewhere"
# rule of ``preflight``: the number of partitions is recorded nowhere
LOST_PARTITION_COUNT = "partition-count-lost"
# Rule of ``preflight``: a join's rows show that a restart needs SKIP_NULLS. Only a command that
# reads the state knows.
JOIN_NULLS = "join-nulls"
WITH_SINKS = 3  # format of the commit log that names the sinks
_V2 = 2  # format of the offset log that may lack the number of partitions


def conditions_of(checkpoint: Checkpoint, planned: int) -> Iterator[Condition]:
    """Yield the options that a restart needs; ``planned`` is the newest planned batch, or -1."""
    logs = checkpoint.logs
    if logs.formats.get(COMMITS) == WITH_SINKS:
        yield Condition(
            "sink-evolution",
            SINK_EVOLUTION,
            "true",
            "each attempt runs the batch, writes its output and fails at its commit",
        )
    if logs.confs.get(BatchId(planned), {}).get(SOURCE_EVOLUTION) == "true":
        yield Condition("source-evolution", SOURCE_EVOLUTION, "true", "Spark refuses the sources")
    if needs_async_progress(checkpoint, planned):
        yield Condition(
            "async-progress",
            ASYNC_PROGRESS,
            "true",
            f"Spark needs {OFFSETS}/{planned - 1}, which such a query does not write",
            is_conf=False,
        )
    count = _partitions_in_folders(checkpoint) if _lacks_partition_count(checkpoint, planned) else 0
    if count and logs.formats.get(OFFSETS, 1) < _V2:
        yield Condition(
            "session-partitions",
            SHUFFLE_PARTITIONS,
            str(count),
            "Spark takes the number of partitions from the session, as the offset log lacks it",
        )


def needs_async_progress(checkpoint: Checkpoint, planned: int) -> bool:
    """Return True if progress tracking was asynchronous and left out the entry before the newest.

    Other queries keep at least two entries. A log whose only entry is batch N > 0, without a
    commit of another batch, is that of asynchronous tracking whose older entries were purged.
    """
    logs = checkpoint.logs
    is_alone = logs.clocks.keys() == {planned} and STATE not in checkpoint.layout.root_names
    return (logs.is_sparse or is_alone) and planned > 0 and planned - 1 not in logs.confs


def refusals_of(
    checkpoint: Checkpoint, planned: int, restart_path: str | None = None
) -> Iterator[Refusal | Doubt]:
    """Yield each condition that prevents a restart, or may prevent it, besides state files.

    ``restart_path`` is the path from which Spark will read the checkpoint; by default the opened
    one.
    """
    # Of files that Spark has staged too, the root is the URL that Spark reads.
    root = absolute(restart_path or checkpoint.storage.root)
    for operator in checkpoint.query:
        if operator.processor is not None:
            yield from _judge_schema_paths(checkpoint, operator, root)
    numbers = metadata_partition_counts(checkpoint)
    is_v2 = checkpoint.logs.formats.get(OFFSETS, 1) >= _V2
    if is_v2 and _lacks_partition_count(checkpoint, planned) and len(numbers) != 1:
        where = f"in {OFFSETS}/{planned} nor in operator metadata"
        if numbers:
            listed = ", ".join(map(str, sorted(numbers)))
            where = f"in {OFFSETS}/{planned} nor one in operator metadata, which says {listed}"
        yield Refusal(
            f"the number of partitions, which is neither {where}",
            "Failed to recover the state-store partition count",
            LOST_PARTITION_COUNT,
            verb="needs",
            details=("not recorded", "one number"),
        )


def restart_partition_count(checkpoint: Checkpoint, version: int) -> int:
    """Return the number of partitions that a restart expects; 0 if it is not known."""
    recorded = partition_count(checkpoint, version)
    planned = checkpoint.logs.last_offset
    if recorded or planned is None or checkpoint.logs.formats.get(OFFSETS, 1) < _V2:
        return recorded
    numbers = metadata_partition_counts(checkpoint)
    count = numbers.pop() if len(numbers) == 1 else 0
    return count if count <= LIMITS.partitions else 0


def metadata_partition_counts(checkpoint: Checkpoint) -> set[int]:
    """Return the partition counts in the metadata of all operators."""
    stores = (store for o in checkpoint.query if o.metadata for store in o.metadata.stores)
    return {store.num_partitions for store in stores if store.num_partitions}


def _lacks_partition_count(checkpoint: Checkpoint, planned: int) -> bool:
    """True if a query with partitioned state does not record how many partitions it has."""
    confs = checkpoint.logs.confs.get(BatchId(planned))
    is_partitioned = any(not operator.single_partition for operator in checkpoint.query)
    return confs is not None and SHUFFLE_PARTITIONS not in confs and is_partitioned


def _partitions_in_folders(checkpoint: Checkpoint) -> int:
    """Return the number of folders of partitions per operator; 0 if operators differ.

    Operators that run in a single partition do not count.
    """
    counts = {
        len(operator.layout.partitions)
        for operator in checkpoint.query
        if not operator.single_partition
    }
    return counts.pop() if len(counts) == 1 else 0


def foreign_schemas(
    checkpoint: Checkpoint, restart_path: str | None = None
) -> Iterator[tuple[int, str]]:
    """Yield each operator whose state schemas Spark reads from another checkpoint, and its root.

    The schemas exist there. ``restart_path`` is as for :func:`refusals_of`.
    """
    root = absolute(restart_path or checkpoint.storage.root)
    for operator in checkpoint.query:
        newest = _path_outside(operator, root) if operator.processor is not None else None
        if newest is None or not _exists_there(checkpoint, newest, root):
            continue
        old_root = newest.partition("/state/")[0]
        if not (is_local(root) and _is_same_folder(path_of(old_root), path_of(root))):
            yield operator.operator_id, old_root


def _is_same_folder(path: str, other: str) -> bool:
    """Return True if two local paths are one folder, or if that cannot be seen."""
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return True


def _path_outside(operator: Operator, root: str) -> str | None:
    """Return the newest schema path in the metadata that leads out of the checkpoint, if any."""
    folder = f"{path_of(root)}/{operator.layout.directory}"
    stores = operator.metadata.stores if operator.metadata else ()
    paths = [path for store in stores for path in store.schema_paths]
    # hdfs:///a is on the cluster's own name node, which Spark names in the path.
    has_host = is_local(root) or ":///" not in root
    moved = [p for p in paths if not path_of(p, has_host=has_host).startswith(f"{folder}/")]
    return moved[-1] if moved else None


def _exists_there(checkpoint: Checkpoint, path: str, root: str) -> bool | None:
    """Return whether a schema file exists at its path in full; None if it cannot be seen."""
    # Another host or bucket is not asked, whatever the metadata names.
    if _authority(path) == _authority(root):
        with suppress(InspectorError, OSError, ValueError):
            return checkpoint.storage.at(path).exists("")
    return None


def _judge_schema_paths(
    checkpoint: Checkpoint, operator: Operator, root: str
) -> Iterator[Refusal | Doubt]:
    """Yield a refusal or doubt for schema paths in the metadata that lead out of the checkpoint."""
    folder = f"{path_of(root)}/{operator.layout.directory}"
    newest, number = _path_outside(operator, root), operator.operator_id
    if newest is None:
        return
    old_root, details = newest.partition("/state/")[0], (newest, folder)
    is_there = _exists_there(checkpoint, newest, root)
    if is_there:
        return  # of a copy, or by another name of this folder: Spark reads the schemas there
    if is_there is False:
        name = f"the state schemas of operator {number} below {old_root}, where the query ran"
        error = "FileNotFoundException"
        yield Refusal(name, error, SCHEMA_PATHS, "looks for", details, number)
        return
    reason = (
        f"the metadata of operator {number} names its schemas below {old_root}: Spark starts if it "
        "sees the checkpoint there, and fails with FileNotFoundException if it was moved"
    )
    yield Doubt(reason, SCHEMA_PATHS_ELSEWHERE, details, number)


def path_of(url: str, *, has_host: bool = True) -> str:
    """Return the path of a URL without scheme and trailing slashes, as fsspec's driver sees it.

    Hadoop spells ``file:/a``, ``file:///a`` and ``/a`` alike. Without ``has_host`` the host of a
    remote URL is left out.
    """
    protocol, target = _translation(url)
    path = re.sub("^[^:/]*:", "", target).strip("/")
    if not has_host and protocol != "file":
        path = path.partition("/")[2]
    return f"/{path}"


def _authority(url: str) -> tuple[str, str]:
    """Return the storage of a URL: its protocol, and the host or bucket if it is not local."""
    protocol = _translation(url)[0]
    return protocol, "" if protocol == "file" else path_of(url).split("/")[1]


def _translation(url: str) -> tuple[str, str]:
    """Return fsspec's protocol and target of a URL; "" and the URL if it cannot be translated."""
    try:
        address = translate(url)
    except InspectorError:
        return "", url
    return address.protocol, address.target
