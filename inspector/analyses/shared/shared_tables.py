"""Table files that snapshots share, as ``files`` shows them (RocksDB)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from inspector.checkpoint.layout import StoreLayout
from inspector.checkpoint.logfile import problem
from inspector.checkpoint.parallel import in_parallel
from inspector.discovery.checkpoint import Checkpoint
from inspector.exceptions import InspectorError
from inspector.model import Problem
from inspector.providers.shared_files import SharedFiles, SnapshotFiles
from inspector.render import tabular as t


@dataclass(frozen=True, kw_only=True)
class SnapshotRow(t.Row, table="snapshots", empty="no snapshots"):
    """A snapshot that shares table files with others (RocksDB)."""

    operator_id: Annotated[t.OperatorId, t.Rank(11)]
    store_name: Annotated[t.StoreName, t.Rank(10)]
    partition_id: Annotated[t.PartitionId, t.Rank(1)]
    version: Annotated[t.Version | None, t.Rank(2)]
    tables: Annotated[
        t.Count, "Table files that it consists of: what a restart from it reads.", t.Rank(6)
    ]
    table_bytes: Annotated[t.Bytes, "File bytes of them, as the snapshot says.", t.Rank(7)]
    missing_tables: Annotated[
        t.Count, "Those that are not there, or have another size than it says.", t.Rank(9)
    ]
    new_tables: Annotated[
        t.Count | None, "Those that no older snapshot has which is there; null for the oldest."
    ]
    new_bytes: Annotated[
        t.Bytes | None,
        "File bytes of these and of the snapshot: what its version uploaded.",
        t.Rank(8),
    ]
    live_rows: Annotated[
        t.Count | None, "Its rows as Spark counted them; null if it did not.", t.Rank(3)
    ]
    entries: Annotated[
        t.Count | None,
        "Entries in its table files: puts, tombstones and merge operands.",
        t.Rank(4),
    ]
    tombstones: Annotated[
        t.Count | None, "Entries that only delete, until a compaction drops them.", t.Rank(5)
    ]
    merge_operands: Annotated[
        t.Count | None, "Entries that are still to be added to an older value.", t.Rank(12)
    ]
    entry_bytes: Annotated[
        t.Bytes | None, "Bytes of all entries decompressed, with RocksDB's 8 for each."
    ]
    entries_per_row: Annotated[
        t.Ratio | None,
        "Entries divided by live rows, which is space amplification by entries: 1 where "
        "nothing lies there but what lives.",
    ]


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


def snapshot_rows(layouts: Iterable[StoreLayout], shared: Shared) -> Iterator[SnapshotRow]:
    """The rows of ``snapshots``."""
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


def _row(layout: StoreLayout, snapshot: SnapshotFiles) -> SnapshotRow:
    contents, rows = snapshot.contents, snapshot.rows
    entries = None if contents is None else contents.entries
    return SnapshotRow(
        **vars(layout.store),
        version=snapshot.file.version,
        tables=snapshot.tables,
        table_bytes=snapshot.table_bytes,
        missing_tables=snapshot.missing,
        new_tables=snapshot.new_tables,
        new_bytes=snapshot.new_bytes,
        live_rows=rows,
        entries=entries,
        tombstones=None if contents is None else contents.tombstones,
        merge_operands=None if contents is None else contents.merge_operands,
        entry_bytes=None if contents is None else contents.raw_bytes,
        entries_per_row=entries / rows if entries is not None and rows else None,
    )
