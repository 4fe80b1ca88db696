"""``files``: the inventory, from listings alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from inspector.analyses.shared.common import (
    BATCH_ID,
    OPERATOR_ID,
    PARTITION_ID,
    STORE,
    STORE_NAME,
    VERSION,
    count,
    file_bytes,
    identity,
    size,
)
from inspector.analyses.shared.declare import TableSpec, analysis
from inspector.analyses.shared.driver_tables import driver_table
from inspector.analyses.shared.options import AT_VERSION, PART, Options
from inspector.analyses.shared.part import part_of
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.shared_tables import (
    NOT_HERE,
    SNAPSHOTS,
    Shared,
    shared_by_folder,
    shared_summary,
    snapshot_rows,
)
from inspector.checkpoint.layout import StoreLayout
from inspector.discovery.checkpoint import Checkpoint
from inspector.engines.engine import reader_of
from inspector.model import FileKind, Problem, StoreFile
from inspector.providers.chain import StoreFiles, restorable_versions
from inspector.providers.common_names import main_path
from inspector.providers.shared_files import SharedFiles
from inspector.render.report import Column, Report, Unit

CHAINS = TableSpec(
    "chains",
    "how one store of one partition restores the judged version",
    (
        OPERATOR_ID,
        STORE_NAME,
        PARTITION_ID,
        Column("oldest_restorable", Unit.ID),
        Column("newest_restorable", Unit.ID),
        Column("newest_snapshot", Unit.ID),
        count("replay_deltas"),
        count("deltas"),
        count("snapshots"),
        size("delta_bytes"),
        size("snapshot_bytes"),
        Column("newest_file_ms", Unit.TIME_MS),
    ),
    empty="no stores",
    important=(
        "store_name partition_id replay_deltas newest_snapshot newest_restorable "
        "oldest_restorable operator_id delta_bytes snapshot_bytes deltas snapshots"
    ),
)
OTHER_FILES = TableSpec(
    "other_files",
    "files of one kind in a store's folder that are neither delta nor snapshot",
    (
        OPERATOR_ID,
        STORE_NAME,
        PARTITION_ID,
        Column("kind"),
        count("files"),
        size("bytes", "File bytes of all of them."),
        count("orphans"),
    ),
    important="kind files bytes store_name partition_id operator_id",
)
FILE_COLUMNS = (
    *STORE,
    PARTITION_ID,
    VERSION,
    BATCH_ID,
    Column("kind"),
    Column("path"),
    size("bytes"),
    Column("modified_ms", Unit.TIME_MS),
)


def file_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Every file in the folders of the selected stores."""
    for operator in run.checkpoint.operators:
        for layout in operator.layout.folders:
            for file in layout.files:
                yield {
                    "operator_id": operator.operator_id,
                    "operator_name": operator.name,
                    "store_name": layout.store.store_name,
                    "partition_id": layout.store.partition_id,
                    "version": file.version,
                    "batch_id": None if file.version is None else file.version - 1,
                    "kind": file.kind.value,
                    "path": file.path,
                    "bytes": file.size,
                    "modified_ms": file.modified_ms,
                }


FILES = driver_table(
    "files",
    "The files in the stores' folders, from listings alone.",
    FILE_COLUMNS,
    file_rows,
)


@analysis(
    uses=(PART, AT_VERSION),
    tables=(CHAINS, SNAPSHOTS, OTHER_FILES),
    data_tables=(FILES,),
    many=True,
)
def files(path: str | Run, options: Options | None = None) -> Report:
    """Inventory: chains of deltas and snapshots, replay depth, what else lies there."""
    run = Run.start(path, options)
    if not run.checkpoint.provider.shares_files:
        return files_report(run.checkpoint, run.version, run.listed, {})
    if reader_of(run.engine) is not None:
        listed = files_report(run.checkpoint, run.version, run.listed, {})
        return replace(listed, footnotes=(NOT_HERE,))
    shared, problems = shared_by_folder(run.checkpoint)
    return files_report(run.checkpoint, run.version, (*run.listed, *problems), shared)


def files_report(
    checkpoint: Checkpoint, version: int, problems: Sequence[Problem], shared: Shared
) -> Report:
    """One row per store and partition; then what snapshots share, and whatever else lies there."""
    by_kind = file_bytes(checkpoint)
    layouts = [layout for operator in checkpoint.operators for layout in operator.layout.folders]
    summary = identity(checkpoint, version) | {
        f"{kind.value}_bytes": by_kind[kind] for kind in FileKind if kind in by_kind
    }
    summary["files"] = sum(len(layout.files) for layout in layouts)
    summary |= shared_summary(shared)
    chains = CHAINS.table(
        f"chains: how each store restores version {version}",
        [
            _chain_row(layout, checkpoint.store_files[layout.directory], version)
            for layout in layouts
        ],
    )
    snapshots = SNAPSHOTS.table(
        "snapshots and the table files that they share", list(snapshot_rows(layouts, shared))
    )
    others = OTHER_FILES.table(
        "other files in the stores' folders",
        [row for layout in layouts for row in _other_rows(layout, shared)],
    )
    return Report(
        "files",
        checkpoint.root,
        summary,
        (chains, snapshots, others) if shared else (chains, others),
        problems=problems,
        part=part_of(checkpoint, version),
    )


def _chain_row(layout: StoreLayout, state: StoreFiles, version: int) -> dict[str, Any]:
    restorable = restorable_versions(state)
    snapshot = max((v for v in state.snapshots if v <= version), default=None)
    can = version in restorable
    modified = [file.modified_ms for file in layout.files if file.modified_ms is not None]
    return _store(layout) | {
        "oldest_restorable": restorable[0] if restorable else None,
        "newest_restorable": restorable[-1] if restorable else None,
        "newest_snapshot": snapshot,
        "replay_deltas": version - (snapshot or 0) if can else None,
        "deltas": len(state.deltas),
        "snapshots": len(state.snapshots),
        "delta_bytes": sum(file.size for file in state.deltas.values()),
        "snapshot_bytes": sum(file.size for file in state.snapshots.values()),
        "newest_file_ms": max(modified, default=None),
    }


def _other_rows(layout: StoreLayout, shared: Shared) -> Iterator[dict[str, Any]]:
    there = {file.path for file in layout.files}
    others: dict[FileKind, list[StoreFile]] = {}
    for file in layout.files:
        if file.kind not in (FileKind.DELTA, FileKind.SNAPSHOT):
            others.setdefault(file.kind, []).append(file)
    for kind, files in others.items():
        yield _store(layout) | {
            "kind": kind.value,
            "files": len(files),
            "bytes": sum(file.size for file in files),
            "orphans": _orphans(kind, files, there, shared.get(layout.directory)),
        }


def _orphans(
    kind: FileKind, files: list[StoreFile], there: set[str], shared: SharedFiles | None
) -> int | None:
    """How many belong to a file that is not there; None of a kind that belongs to none."""
    if kind in (FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM):
        # Checksum files of files that are gone: Spark's cleanup and crashes leave them.
        return sum(main_path(file) not in there for file in files)
    if kind is FileKind.TABLE and shared is not None and shared.orphans is not None:
        return len(shared.orphans)
    return None


def _store(layout: StoreLayout) -> dict[str, Any]:
    return {
        "operator_id": layout.store.operator_id,
        "store_name": layout.store.store_name,
        "partition_id": layout.store.partition_id,
    }
