"""``files``: the inventory, from listings alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from inspector.analyses.shared.data_tables import driver_table
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Subject, file_bytes, values_of_fields
from inspector.analyses.shared.opening import MORE_LOOKS, Opened, doubts
from inspector.analyses.shared.options import AT_VERSION, PART, Options
from inspector.checkpoint.layout import StoreLayout
from inspector.checkpoint.logfile import VANISHED_SLUG, problem
from inspector.checkpoint.names import main_path
from inspector.checkpoint.patience import in_parallel
from inspector.discovery.checkpoint import Checkpoint
from inspector.exceptions import InspectorError
from inspector.light_dataclasses import replace
from inspector.model import FileKind, Problem
from inspector.providers.chain import StoreFiles, restorable_versions
from inspector.providers.content import SharedFiles, SnapshotFiles
from inspector.render import tabular as t
from inspector.render.plain import fields_of
from inspector.render.report import Report
from inspector.sums import group_by


class SnapshotRow(t.Row, table="snapshots", empty="no snapshots"):
    """A snapshot of RocksDB, which can share table files with others.

    Snapshots of HDFS-backed state: `inspector sql`, view `files`, kind `snapshot`.
    """

    operator_id: Annotated[t.OperatorId, t.Rank(11)]
    store_name: Annotated[t.StoreName, t.Rank(10)]
    partition_id: Annotated[t.PartitionId, t.Rank(1)]
    version: Annotated[t.Version | None, t.Rank(2)]
    tables: Annotated[t.Count, "Its table files, which a restart from it reads.", t.Rank(6)]
    table_bytes: Annotated[t.Bytes, "File bytes of them, as the snapshot says.", t.Rank(7)]
    missing_tables: Annotated[
        t.Count, "Those that are not there, or have another size than it says.", t.Rank(9)
    ]
    new_tables: Annotated[
        t.Count | None, "Table files that no older snapshot here has; null for the oldest."
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
        t.Bytes | None, "Decompressed bytes of all entries, each with 8 bytes that RocksDB adds."
    ]
    entries_per_row: Annotated[
        t.Ratio | None,
        "Entries divided by live rows (space amplification): 1 if no entry is obsolete.",
    ]


# table files that the snapshots of a folder share (RocksDB), by the folder's path below the root
Shared = Mapping[str, SharedFiles]
# footnote of the report if only Spark's executors can read the files of snapshots
NOT_HERE = (
    "What snapshots share is not shown: it stands in their files, which Spark's executors read and "
    "this process cannot."
)


def folder_contents(checkpoint: Checkpoint) -> tuple[Shared, tuple[Problem, ...]]:
    """Return the table files that snapshots of each folder share, and the problems of reading them.

    Keys of the mapping are the paths of the stores' folders below the root. Folders that could not
    be read, or whose snapshots share no files, are left out.
    """
    layouts, storage = checkpoint.layout.folders, checkpoint.storage
    content = checkpoint.provider.content
    answers = in_parallel(
        lambda folder: content.list_shared_files(storage, folder.files), layouts, storage.threads
    )
    result: dict[str, SharedFiles] = {}
    problems: list[Problem] = []
    for layout, answer in zip(layouts, answers, strict=True):
        if isinstance(answer, SharedFiles):
            result[layout.directory] = answer
            for file, error in answer.problems:
                if isinstance(error, InspectorError | OSError):
                    file_problem = problem(error, file.path)
                    problems.append(replace(file_problem, store=layout.store, version=file.version))
        elif isinstance(answer, InspectorError | OSError):
            problems.append(problem(answer, storage.full_path(layout.directory)))
    return result, tuple(problems)


def _shared_summary(shared: Shared) -> dict[str, int | None]:
    """Return the number and the bytes of table files that no snapshot names, by field of a summary.

    They are summed over all folders. Both are None if a snapshot could not be read. Returns an
    empty dictionary if ``shared`` is empty.
    """
    if not shared:
        return {}
    lists = [files.orphans for files in shared.values()]
    sizes = [file.size for orphans in lists for file in orphans or ()]
    amounts = (None, None) if None in lists else (len(sizes), sum(sizes))
    return dict(zip(("orphan_tables", "orphan_table_bytes"), amounts, strict=True))


def _row(layout: StoreLayout, snapshot: SnapshotFiles) -> SnapshotRow:
    """Return the table row of one snapshot in a store's folder.

    Columns about entries are None if a table file does not record them.
    """
    contents, rows = snapshot.contents, snapshot.rows
    entries = None if contents is None else contents.entries
    return SnapshotRow(
        **vars(layout.store),
        version=snapshot.file.version,
        **fields_of(snapshot, "tables", "table_bytes", "new_tables", "new_bytes"),
        missing_tables=snapshot.missing,
        live_rows=rows,
        entries=entries,
        **values_of_fields(contents, ("tombstones", "merge_operands"), is_known=bool(contents)),
        entry_bytes=None if contents is None else contents.raw_bytes,
        entries_per_row=entries / rows if entries is not None and rows else None,
    )


class ChainRow(t.Row, table="chains", empty="no stores"):
    """Deltas and snapshots of one store of one partition, from which its versions are restored."""

    operator_id: Annotated[t.OperatorId, t.Rank(7)]
    store_name: Annotated[t.StoreName, t.Rank(1)]
    partition_id: Annotated[t.PartitionId, t.Rank(2)]
    oldest_restorable: Annotated[
        t.Id | None, "The oldest version that the files can restore.", t.Rank(6)
    ]
    newest_restorable: Annotated[
        t.Id | None, "The newest version that the files can restore.", t.Rank(5)
    ]
    newest_snapshot: Annotated[
        t.Id | None,
        "The newest snapshot up to the version of `--batch`; null: none. `sql` has its time "
        "(view `files`).",
        t.Rank(4),
    ]
    replay_deltas: Annotated[t.ReplayDeltas | None, t.Rank(3)]
    deltas: Annotated[t.Count, "Number of its delta files."]
    snapshots: Annotated[t.Count, "Number of its snapshot files."]
    delta_bytes: Annotated[t.DeltaBytes, t.Rank(8)]
    snapshot_bytes: Annotated[t.SnapshotBytes, t.Rank(9)]
    newest_file_ms: Annotated[t.TimeMs | None, "When the newest of its files was changed."]


class OtherFilesRow(t.Row, table="other_files"):
    """Files of one kind in a store's folder that are neither delta nor snapshot."""

    operator_id: t.OperatorId
    store_name: Annotated[t.StoreName, t.Rank(4)]
    partition_id: Annotated[t.PartitionId, t.Rank(5)]
    kind: Annotated[
        t.Text,
        "`table` (rows that snapshots of RocksDB share), `table_log` (RocksDB's own log), "
        "`abandoned` (attempt not committed), `temporary` (not finished), `hadoop_checksum`, "
        "`spark_checksum` or `other`.",
        t.Rank(1),
    ]
    files: Annotated[t.Count, "Number of files.", t.Rank(2)]
    bytes: Annotated[t.Bytes, "File bytes of all of them.", t.Rank(3)]
    orphans: Annotated[
        t.Count | None, "Checksum files whose file is gone; table files that no snapshot names."
    ]


class FileRow(t.PartitionRow, table="files"):
    """A file in a store's folder."""

    version: t.Version | None
    batch_id: t.BatchId | None
    kind: t.Text
    path: t.Text
    bytes: t.Bytes
    modified_ms: t.TimeMs | None


def file_rows(run: Opened) -> Iterator[FileRow]:
    """Yield a table row for each file in the folders of the selected stores, of every kind."""
    for operator in run.checkpoint.operators:
        for layout in operator.layout.folders:
            for file in layout.files:
                yield FileRow(
                    **vars(layout.store),
                    operator_name=operator.name,
                    version=file.version,
                    batch_id=None if file.version is None else file.version - 1,
                    kind=file.kind.value,
                    path=file.path,
                    bytes=file.size,
                    modified_ms=file.modified_ms,
                )


# table of data, for programs on Spark and for SQL, with every file in the stores' folders
FILES = driver_table(
    FileRow,
    "Each file in the stores' folders: kind, version, bytes, time.",
    file_rows,
)


@analysis(
    uses=(PART, AT_VERSION),
    tables=(ChainRow, SnapshotRow, OtherFilesRow),
    data_tables=(FILES,),
    many=True,
)
def files(path: str | Opened, options: Options | None = None) -> Report:
    """Inventory of files: chains of deltas and snapshots, deltas to replay, other files of stores.

    It reads names and sizes; of RocksDB also the contents of each snapshot's zip and the properties
    of its table files (SST), which snapshots share. ``verify`` reads all. A missing delta is in
    ``problems``: the versions from it up to the next snapshot cannot be restored. ``inspector sql
    PATH 'select * from files'`` lists each file. Many deltas to replay slow a restart; ``copy
    --compact`` (HDFS-backed) makes them one snapshot.
    """
    run = Opened.start(path, options)
    if not run.checkpoint.provider.shares_files:
        return files_report(run.subject(), {})
    if run.engine.reader is not None:
        return replace(files_report(run.subject(), {}), footnotes=(NOT_HERE,))
    shared, problems = folder_contents(run.checkpoint)
    for _ in range(MORE_LOOKS if run.reopen else 0):
        if not doubts(problems):
            break
        run.look_again()
        shared, problems = folder_contents(run.checkpoint)
    else:
        vanished = [problem for problem in problems if problem.slug == VANISHED_SLUG]
        if vanished:
            problems = (*(p for p in problems if p not in vanished), run.outpaced_problem())
    return files_report(run.subject(problems), shared)


def files_report(subject: Subject, shared: Shared) -> Report:
    """Return the report on the chain of files of each store, snapshots, and other files.

    Only listings are used, and ``shared``. The table of snapshots is left out if ``shared`` is
    empty.
    """
    checkpoint, version = subject.checkpoint, subject.version
    sizes_by_kind = file_bytes(checkpoint)
    layouts = checkpoint.layout.folders
    sizes = {
        f"{kind.value}_bytes": sizes_by_kind[kind] for kind in FileKind if kind in sizes_by_kind
    }
    summary = sizes | {"files": sum(len(item.files) for item in layouts)} | _shared_summary(shared)
    rows = [_chain_row(item, checkpoint.store_files[item.directory], version) for item in layouts]
    chains = ChainRow.table(f"chains: how each store restores version {version}", rows)
    snapshot_rows = [
        _row(layout, snapshot)
        for layout in layouts
        if layout.directory in shared
        for snapshot in shared[layout.directory].snapshots
    ]
    title = "snapshots and the table files that they share"
    snapshots = SnapshotRow.table(title, snapshot_rows)
    other_rows = [row for layout in layouts for row in _rows_of_other_files(layout, shared)]
    other_files = OtherFilesRow.table("other files in the folders of the stores", other_rows)
    tables = (chains, snapshots, other_files) if shared else (chains, other_files)
    return subject.report("files", tables, summary)


def _chain_row(layout: StoreLayout, state: StoreFiles, version: int) -> ChainRow:
    """Return the row on the deltas and snapshots of one store, and on how it restores ``version``.

    ``state`` are the deltas and snapshots of all versions in the folder ``layout``. The number of
    deltas to replay is None if they cannot restore ``version``.
    """
    restorable = restorable_versions(state)
    snapshot = max((v for v in state.snapshots if v <= version), default=None)
    modified = [file.modified_ms for file in layout.files if file.modified_ms is not None]
    return ChainRow(
        **vars(layout.store),
        oldest_restorable=restorable[0] if restorable else None,
        newest_restorable=restorable[-1] if restorable else None,
        newest_snapshot=snapshot,
        replay_deltas=version - (snapshot or 0) if version in restorable else None,
        deltas=len(state.deltas),
        snapshots=len(state.snapshots),
        delta_bytes=sum(file.size for file in state.deltas.values()),
        snapshot_bytes=sum(file.size for file in state.snapshots.values()),
        newest_file_ms=max(modified, default=None),
    )


def _rows_of_other_files(layout: StoreLayout, shared: Shared) -> Iterator[OtherFilesRow]:
    """Yield a row for each kind of file in a folder that is neither delta nor snapshot.

    Its orphans are checksum files without their file, or table files that no snapshot names. They
    are None for other kinds, and if a snapshot could not be read.
    """
    present, shares = {file.path for file in layout.files}, shared.get(layout.directory)
    besides = (f for f in layout.files if f.kind not in (FileKind.DELTA, FileKind.SNAPSHOT))
    for kind, files in group_by(besides, lambda file: file.kind).items():
        orphans = None
        if kind in (FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM):
            # Checksum files of files that are gone: Spark's cleanup and crashes leave them.
            orphans = sum(main_path(file) not in present for file in files)
        elif kind is FileKind.TABLE and shares is not None and shares.orphans is not None:
            orphans = len(shares.orphans)
        yield OtherFilesRow(
            **vars(layout.store),
            kind=kind.value,
            files=len(files),
            bytes=sum(file.size for file in files),
            orphans=orphans,
        )
