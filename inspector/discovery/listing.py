"""Problems of a checkpoint that its file names show; no file is read.

* Spark numbers the stateful operators of a query from 0 on (``IncrementalExecution``), and each has
  its folder from its first batch on.
* The partitions of an operator are those of its metadata (4.0 on) and, before, of
  ``spark.sql.shuffle.partitions`` in the offset log, which a restart takes over
  (``OffsetSeqMetadata``). A repartitioning of 4.3 gives the state another number, writes it into
  the log and, in format 2, the metadata, and leaves the folders that were there. An operator that
  needs all rows in one place has partition 0 alone, whatever both say.
* Each partition has every store of its operator, from its first task on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from inspector.checkpoint.layout import FOREIGN, StoreLayout
from inspector.checkpoint.logfile import UNSEEN
from inspector.checkpoint.logs import OFFSETS
from inspector.checkpoint.roots import STATE, Selection
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.partition_shape import SinglePartition
from inspector.discovery.placement import (
    has_partition,
    impossible_partitions,
    partition_count,
    partition_counts,
    was_left,
)
from inspector.discovery.unknown_watermarks import batches_for_state_alone
from inspector.exceptions import DecodeError
from inspector.model import COMPARED, LEFT, LIMITS, FileKind, Problem, StoreFile
from inspector.operators.physical import Asks
from inspector.providers.chain import compared_versions, restorable_versions


def listing_problems(checkpoint: Checkpoint, version: int) -> Iterator[Problem]:
    """Yield a problem for each operator, partition or store that is missing or unexpected.

    Uses file names only. ``version`` is the state version that all stores must restore.
    """
    yield from impossible_partitions(checkpoint, version)
    yield from state_problems(checkpoint, version)
    for operator in checkpoint.operators:
        left = {
            p.partition_id for p in operator.layout.partitions if was_left(checkpoint, p, version)
        }
        for store in operator.layout.folders:
            if store.store.partition_id not in left:
                yield from _gaps(checkpoint, store, version)
        last = checkpoint.last_versions.get(operator.operator_id, version)
        if last < version:
            yield Problem(
                LEFT,
                f"operator {operator.operator_id} ({operator.name}) ends with version {last} in "
                "every partition, and others go on: the query no longer has it, as Spark before "
                "4.0 allows, or its files are lost",
                checkpoint.storage.full_path(operator.layout.directory),
            )
    # Where no deltas were written, what a version changed is less than known.
    compared = {v for files in checkpoint.store_files.values() for v in compared_versions(files)}
    versions = sorted(v for v in compared if v <= version)
    if versions:
        yield Problem(
            COMPARED,
            f"of {'version' if len(versions) == 1 else 'versions'} {ranges_text(versions)} there "
            "are snapshots and no deltas: what these versions changed is how their snapshots "
            "differ, so that a row which was put again with the value that it had is not counted",
            checkpoint.storage.full_path(STATE),
        )


def _gaps(checkpoint: Checkpoint, layout: StoreLayout, version: int) -> Iterator[Problem]:
    """Yield the problems of one store's versions: stray or version-0 files, and missing files.

    A version that cannot be restored, and holes between its deltas, are problems of their own.
    """
    files = checkpoint.store_files[layout.directory]
    restorable = restorable_versions(files)
    for file in (files.deltas.get(0), files.snapshots.get(0)):
        if file is not None:
            message = "got a state file of version 0, which is the empty state and has none"
            yield Problem(FOREIGN, message, file.path, store=layout.store)
    location = checkpoint.storage.full_path(layout.directory)
    yield from _stray(checkpoint, layout)
    if version and version not in restorable:
        noun = "version" if len(restorable) == 1 else "versions"
        text = f"{noun} {ranges_text(restorable)}" if restorable else "no version"
        yield Problem(
            "missing-version",
            f"state version {version} (batch {version - 1}) cannot be restored from these files, "
            f"which can restore {text}",
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
    skipped = checkpoint.logs.skipped_batches
    unwritten = {
        v
        for v in range(oldest, version)
        if v not in files.deltas
        and (
            v - 1 in skipped
            or not has_partition(checkpoint, layout.store.operator_id, partition, v)
        )
    }
    present = [v for v in sorted({*files.deltas, *alone, *unwritten}) if oldest <= v <= version]
    points = [*([] if restorable else [0]), *present, version + 1]
    holes = _holes(points)
    # A repartitioning whose log entry is purged may have left the partition out for a while.
    logged = min(checkpoint.logs.confs, default=0)
    if files.compares:
        holes = [(a, b) for a, b in holes if b + 1 not in files.snapshots or b > logged]
    snapshots_alone = files.compares and files.snapshots and not files.deltas
    noun = "snapshot" if snapshots_alone else files.names.delta_noun
    if holes:
        nouns = f"the {noun}{'' if _is_single(holes) else 's'} of version"
        copies = _describe_copies(checkpoint, layout, holes)
        message = f"{_fault_text(nouns, holes, 'missing')}{copies}, expected one for every version"
        yield Problem("missing-delta", message, location, store=layout.store)


# begin of the words on a whole temporary file, before its name
_COPY = ", although the temporary file "
_IS_WHOLE = " beside it is whole"  # end of the words on a whole temporary file, behind its name
_MOST_COPIES = 20  # temporary files of one store that are read


def complete_copy(message: str) -> str:
    """Return the name of the temporary file that a message on a missing delta calls whole.

    No text if the message names none.
    """
    return message.partition(_COPY)[2].partition(_IS_WHOLE)[0]


def _describe_copies(
    checkpoint: Checkpoint, layout: StoreLayout, holes: Sequence[tuple[int, int]]
) -> str:
    """Return the words on a temporary file that holds a missing delta, or no text.

    ``holes`` are the first and last versions of each gap. A task writes a delta under a temporary
    name, and renames it. Where the storage lost the new name the file may still have the old one
    (SPARK-40826).
    """
    spelled = checkpoint.store_files[layout.directory].names.delta
    candidates = [
        (file, name)
        for file in layout.files
        if file.kind is FileKind.TEMPORARY
        and any(first <= (file.version or 0) <= last for first, last in holes)
        and (name := file.path.rpartition("/")[2]).startswith(f".{spelled.format(file.version)}.")
    ]
    for file, name in candidates[:_MOST_COPIES]:
        if _is_whole(checkpoint, file):
            return f"{_COPY}{name}{_IS_WHOLE}"
    return ""


def _is_whole(checkpoint: Checkpoint, file: StoreFile) -> bool:
    """Return whether a file can be decoded as a delta up to its end mark."""
    # Only where a delta is missing: what decodes takes time to import.
    from inspector.decode.changelog import read_changelog  # noqa: PLC0415
    from inspector.decode.frames import DEFAULT_CODEC, inflate, sniff  # noqa: PLC0415

    storage = checkpoint.storage
    try:
        content = storage.read(storage.relative(file.path), size=file.size)
        blocks = inflate([content], sniff(content) or DEFAULT_CODEC)
        deque(read_changelog(blocks)[1], maxlen=0)
    except (DecodeError, OSError):
        return False
    return True


def _stray(checkpoint: Checkpoint, layout: StoreLayout) -> Iterator[Problem]:
    """Yield a problem if a store has a version that no batch in the offset log can have made.

    The log is listed again first, as a running query may have planned batches since.
    """
    planned = checkpoint.logs.last_offset
    files = checkpoint.store_files[layout.directory]
    present = {*files.deltas, *files.snapshots}
    versions = sorted(present)
    if planned is None or not versions or not versions[0] <= planned + 2 < versions[-1]:
        return
    impossible = [v for v in versions if v > planned + 2]
    newest = next((v for v in impossible if v - 1 not in present), versions[-1])
    if newest <= checkpoint.newest_listed_batch + 2:
        return
    path = (files.deltas.get(newest) or files.snapshots[newest]).path
    follows = (
        "no restart reads it, and it may keep Spark from removing old files"
        if newest - 1 not in present
        else "the logs are older than the state, as from a backup, and a restart runs the batches "
        "after that again, between files of their first run"
    )
    found_text = (
        f"got version {newest}, and the newest batch, {planned}, makes version {planned + 1}"
    )
    yield Problem(STRAY, f"{found_text}: {follows}", path, store=layout.store, version=newest)


# --- the folders of the state ----------------------------------------------------------------


STRAY = "stray-version"  # slug of a problem: a version that no planned batch can have made
MISSING_OPERATOR = "missing-operator"  # slug of a problem: an operator whose folder is missing
# slug of a problem: the newest batch is a repartitioning without commit
UNFINISHED_REPARTITION = "unfinished-repartition"
# Spark's error class at a restart in an unfinished repartitioning
UNFINISHED_ERROR = "STREAMING_UNFINISHED_REPARTITION_DETECTED"


def state_problems(checkpoint: Checkpoint, version: int) -> Iterator[Problem]:
    """Yield a problem for each missing or unexpected folder of the state.

    Before the first committed batch (``version`` 0) it yields only unfinished repartitionings, and
    lost logs.
    """
    yield from _open_repartitioning(checkpoint)
    # No entries at all beside state; a copied folder ``state`` has none either.
    logs, names = checkpoint.logs, checkpoint.layout.root_names
    newest = max((files.newest for files in checkpoint.store_files.values()), default=0)
    have_logs = logs.last_offset is not None or logs.last_committed is not None
    if newest and not have_logs and names & {"metadata", "sources"}:
        message = (
            f"got no entry in offsets and commits, though there is state up to version {newest}: a "
            "query that starts here begins at batch 0"
        )
        yield Problem("log-entry-lost", message, checkpoint.storage.full_path(OFFSETS))
    if not version:
        return
    if checkpoint.selection == Selection():
        yield from _missing_operators(checkpoint)
    for operator in checkpoint.operators:
        yield from _partitions(checkpoint, operator, version)
        for partition in operator.layout.partitions:
            have = {store.store.store_name for store in partition.stores}
            have |= _hidden_names(checkpoint, partition.directory)
            expected = {*operator.layout.expected_stores, *operator.layout.store_names}
            for name in sorted(expected - have):
                yield Problem(
                    "missing-version",
                    f"store {name!r} is missing, expected it in every partition of the operator",
                    checkpoint.storage.full_path(partition.directory),
                )


def _open_repartitioning(checkpoint: Checkpoint) -> Iterator[Problem]:
    """Yield a problem if the newest batch is a repartitioning that was not committed."""
    # Spark 4.3 repartitions the state of RocksDB alone (OfflineStateRepartitionRunner).
    if not is_repartitioning(checkpoint):
        return
    newest = checkpoint.logs.last_offset or 0
    counts = [partition_count(checkpoint, batch + 1) for batch in (newest - 1, newest)]
    message = (
        f"batch {newest} repartitions the state from {counts[0]} to {counts[1]} partitions and is "
        f"not committed: a query that starts now fails with {UNFINISHED_ERROR}"
    )
    if checkpoint.provider.keeps_maps:
        message += "; Spark repartitions no HDFS-backed state, so that the entry was changed"
    path = checkpoint.storage.full_path(f"offsets/{newest}")
    yield Problem(UNFINISHED_REPARTITION, message, path, version=newest + 1)


def is_repartitioning(checkpoint: Checkpoint) -> bool:
    """Return whether the newest, uncommitted entry of the offset log repartitions the state."""
    logs = checkpoint.logs
    newest = logs.last_offset
    return newest is not None and newest in logs.repartitions and newest != logs.last_committed


def _missing_operators(checkpoint: Checkpoint) -> Iterator[Problem]:
    """Yield at most one problem: operators that are missing from the state.

    They are missing if a lower number lacks, or if the logs show that the query has more operators.
    """
    numbers = {operator.operator_id for operator in checkpoint.operators}
    numbers |= _hidden_numbers(checkpoint, STATE)
    state = checkpoint.storage.full_path(STATE)
    if numbers:
        absent = _absent(numbers, max(numbers))
        if absent:
            message = (
                f"{_fault_text('operator', absent, 'missing')}, "
                f"expected 0 to {max(numbers)}: Spark numbers them one by one"
            )
            yield Problem(MISSING_OPERATOR, message, state)
        elif (why := _sign_of_more_operators(checkpoint, max(numbers))) is not None:
            message = f"operators above {max(numbers)} are missing: {why}"
            yield Problem(MISSING_OPERATOR, message, state)
    elif checkpoint.layout.has_state:
        message = "got no operator in it, expected the state of at least one"
        yield Problem(MISSING_OPERATOR, message, state)
    elif (batch := next(batches_for_state_alone(checkpoint), None)) is not None:
        message = (
            f"it is missing, though the query has state: batch {batch} ran without new data, "
            "which Spark does for stateful operators alone"
        )
        yield Problem(MISSING_OPERATOR, message, state)


def _sign_of_more_operators(checkpoint: Checkpoint, highest: int) -> str | None:
    """Return a sign that the query has operators above number ``highest``; None without a sign."""
    newest = max(checkpoint.logs.unique_ids, default=None)
    if newest is not None and max(checkpoint.logs.unique_ids[newest], default=0) > highest:
        return f"commits/{newest} has their checkpoints"
    batch = next(batches_for_state_alone(checkpoint), None)
    if batch is not None and all(o.physical.asks is Asks.NEVER for o in checkpoint.operators):
        return f"batch {batch} ran without new data, which none of these operators asks for"
    return None


def _partitions(checkpoint: Checkpoint, operator: Operator, version: int) -> Iterator[Problem]:
    """Yield the problems of an operator's partitions compared with their recorded number.

    Nothing if a single partition is selected or the number is not known.
    """
    if checkpoint.selection.partition_id is not None:
        return
    log_count, metadata_count = partition_count(checkpoint, version), _by_metadata(operator)
    source = "spark.sql.shuffle.partitions in the offset log"
    if operator.single_partition:
        count, source = 1, "the operator needs all rows in one place"
    elif log_count:
        count = log_count
    else:
        count, source = metadata_count, "numPartitions in the operator's metadata"
    if not count or operator.shape.single is SinglePartition.UNKNOWN:
        return
    have = {partition.partition_id for partition in operator.layout.partitions}
    have |= _hidden_numbers(checkpoint, operator.layout.directory)
    left = {
        partition.partition_id
        for partition in operator.layout.partitions
        if not operator.single_partition and was_left(checkpoint, partition, version)
    }
    if operator.shape.first:  # all partitions of the join, under other numbers
        return
    location = checkpoint.storage.full_path(operator.layout.directory)
    highest = f"0 to {count - 1}" if count > 1 else "0 alone"
    for slug, numbers, fault in (
        ("missing-partition", _absent(have, count), "missing"),
        ("extra-partition", [(n, n) for n in sorted(have - left) if n >= count], "too many"),
    ):
        if numbers:
            text = _fault_text("partition", numbers, fault)
            yield Problem(slug, f"{text}, expected {highest} ({source})", location)
    # Metadata of format 1 keeps the number that the query began with, whatever came after.
    first_known = min(checkpoint.logs.confs, default=0)
    old = bool(first_known) and operator.metadata is not None and operator.metadata.format == 1
    is_plausible = metadata_count in partition_counts(checkpoint) or old
    if log_count and metadata_count and not is_plausible and not operator.single_partition:
        message = (
            f"got numPartitions {metadata_count} in the operator's metadata, the offset log says "
            f"{log_count} (spark.sql.shuffle.partitions)"
        )
        yield Problem("partition-counts", message, location)


def _by_metadata(operator: Operator) -> int:
    """Return the partition count in the operator metadata; 0 if absent, ambiguous or too high."""
    stores = operator.metadata.stores if operator.metadata else ()
    numbers = {store.num_partitions for store in stores}
    count = (numbers.pop() or 0) if len(numbers) == 1 else 0
    return count if count <= LIMITS.partitions else 0


def _hidden_names(checkpoint: Checkpoint, directory: str) -> set[str]:
    """Return names of unlistable entries in a folder, which must not count as missing."""
    folder_prefix = f"{checkpoint.storage.full_path(directory)}/"
    paths = (problem.path or "" for problem in checkpoint.problems if problem.slug in UNSEEN)
    return {path.removeprefix(folder_prefix) for path in paths if path.startswith(folder_prefix)}


def _hidden_numbers(checkpoint: Checkpoint, directory: str) -> set[int]:
    """Return the numbers among the names of unlistable entries in a folder."""
    return {int(name) for name in _hidden_names(checkpoint, directory) if name.isdecimal()}


def _absent(have: Collection[int], count: int) -> list[tuple[int, int]]:
    """Return the first and last number of each gap in ``have``, from 0 to ``count`` - 1."""
    return _holes([-1, *sorted(n for n in have if n < count), count])


def _holes(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and last number of each gap between sorted numbers."""
    return [(a + 1, b - 1) for a, b in pairwise(numbers) if b > a + 1]


def _is_single(runs: Sequence[tuple[int, int]]) -> bool:
    """True if the runs are one single number."""
    return len(runs) == 1 and runs[0][0] == runs[0][1]


def _fault_text(noun: str, runs: Sequence[tuple[int, int]], fault: str) -> str:
    """Return ``partitions 3-4 are missing``: a noun, its runs of numbers and the fault."""
    plural, verb = ("", "is") if _is_single(runs) else ("s", "are")
    return f"{noun}{plural} {_runs_text(runs)} {verb} {fault}"


def _runs_text(runs: Sequence[tuple[int, int]]) -> str:
    """Return ``0-3, 7``: runs, each given by its first and last number, as text."""
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def ranges_text(numbers: Sequence[int]) -> str:
    """Return ``0-3, 7``: sorted numbers, with runs drawn together."""
    runs: list[tuple[int, int]] = []
    for value in numbers:
        first = runs.pop()[0] if runs and value == runs[-1][1] + 1 else value
        runs.append((first, value))
    return _runs_text(runs)
