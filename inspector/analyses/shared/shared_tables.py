"""Table files that snapshots share, as ``files`` shows them (RocksDB)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inspector.analyses.shared.common import (
    OPERATOR_ID,
    PARTITION_ID,
    STORE_NAME,
    VERSION,
    count,
    size,
)
from inspector.analyses.shared.declare import TableSpec
from inspector.checkpoint.layout import StoreLayout
from inspector.checkpoint.logfile import problem
from inspector.checkpoint.parallel import in_parallel
from inspector.discovery.checkpoint import Checkpoint
from inspector.exceptions import InspectorError
from inspector.model import Problem
from inspector.providers.shared_files import SharedFiles, SnapshotFiles
from inspector.render.report import Column, Unit

SNAPSHOTS = TableSpec(
    "snapshots",
    "a snapshot that shares table files with others (RocksDB)",
    (
        OPERATOR_ID,
        STORE_NAME,
        PARTITION_ID,
        VERSION,
        count("tables", "Table files that it consists of: what a restart from it reads."),
        size("table_bytes", "File bytes of them, as the snapshot says."),
        count("missing_tables", "Those that are not there, or have another size than it says."),
        count(
            "new_tables", "Those that no older snapshot has which is there; null for the oldest."
        ),
        size("new_bytes", "File bytes of these and of the snapshot: what its version uploaded."),
        count("live_rows", "Its rows as Spark counted them; null if it did not."),
        count("entries", "Entries in its table files: puts, tombstones and merge operands."),
        count("tombstones", "Entries that only delete, until a compaction drops them."),
        count("merge_operands", "Entries that are still to be added to an older value."),
        size("entry_bytes", "Bytes of all entries decompressed, with RocksDB's 8 for each."),
        Column(
            "entries_per_row",
            Unit.RATIO,
            doc="Entries divided by live rows, which is space amplification by entries: 1 where "
            "nothing lies there but what lives.",
        ),
    ),
    empty="no snapshots",
    important=(
        "partition_id version live_rows entries tombstones tables table_bytes new_bytes "
        "missing_tables store_name operator_id merge_operands"
    ),
)

Shared = Mapping[str, SharedFiles]
"""What snapshots share, by the folder that they lie in."""


NOT_HERE = (
    "What snapshots share is not shown: it stands in their files, which Spark's executors read and "
    "this process cannot."
)


def shared_by_folder(checkpoint: Checkpoint) -> tuple[Shared, tuple[Problem, ...]]:
    """What the snapshots of the selected stores share, and what cannot be read of it."""
    layouts = [layout for operator in checkpoint.operators for layout in operator.layout.folders]
    provider, storage = checkpoint.provider, checkpoint.storage
    answers = in_parallel(lambda each: provider.shared_files(storage, each.files), layouts)
    found: dict[str, SharedFiles] = {}
    problems: list[Problem] = []
    for layout, answer in zip(layouts, answers, strict=True):
        if isinstance(answer, SharedFiles):
            found[layout.directory] = answer
            problems += _problems(layout, answer)
        elif isinstance(answer, InspectorError | OSError):
            problems.append(problem(answer, storage.full_path(layout.directory)))
    return found, tuple(problems)


def snapshot_rows(layouts: Iterable[StoreLayout], shared: Shared) -> Iterator[dict[str, Any]]:
    """The rows of :data:`SNAPSHOTS`."""
    for layout in layouts:
        if layout.directory in shared:
            yield from (_row(layout, each) for each in shared[layout.directory].snapshots)


def shared_summary(shared: Shared) -> dict[str, Any]:
    """Table files that no snapshot names; their number is null where one cannot be read."""
    if not shared:
        return {}
    lists = [each.orphans for each in shared.values()]
    known = [orphans for orphans in lists if orphans is not None]
    whole = len(known) == len(lists)
    return {
        "orphan_tables": sum(map(len, known)) if whole else None,
        "orphan_table_bytes": sum(f.size for each in known for f in each) if whole else None,
    }


def _problems(layout: StoreLayout, shared: SharedFiles) -> Iterator[Problem]:
    for file, error in shared.problems:
        if isinstance(error, InspectorError | OSError):
            told = problem(error, file.path)
            version = file.version
            yield Problem(told.slug, told.message, told.path, told.offset, layout.store, version)


def _row(layout: StoreLayout, snapshot: SnapshotFiles) -> dict[str, Any]:
    contents, rows = snapshot.contents, snapshot.rows
    entries = None if contents is None else contents.entries
    return {
        "operator_id": layout.store.operator_id,
        "store_name": layout.store.store_name,
        "partition_id": layout.store.partition_id,
        "version": snapshot.file.version,
        "tables": snapshot.tables,
        "table_bytes": snapshot.table_bytes,
        "missing_tables": snapshot.missing,
        "new_tables": snapshot.new_tables,
        "new_bytes": snapshot.new_bytes,
        "live_rows": rows,
        "entries": entries,
        "tombstones": None if contents is None else contents.tombstones,
        "merge_operands": None if contents is None else contents.merge_operands,
        "entry_bytes": None if contents is None else contents.raw_bytes,
        "entries_per_row": entries / rows if entries is not None and rows else None,
    }
