"""``info`` and ``files``: what listings and small files tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inspector.checkpoint.layout import StoreLayout
from inspector.model import FileKind, Problem
from inspector.operators.rule import Clock
from inspector.pipeline.discovery import CONF, Checkpoint, Operator
from inspector.report.build.common import (
    OPERATOR_ID,
    PARTITION_ID,
    STORE,
    STORE_NAME,
    count,
    file_bytes,
    identity,
    size,
    state_file_bytes,
)
from inspector.report.model import Column, Report, Table, Unit
from inspector.sparktypes import to_ddl
from inspector.state.chain import StoreFiles, restorable_versions

_CONFS = (
    "stateStore.providerClass",
    "stateStore.compression.codec",
    "aggregation.stateFormatVersion",
    "flatMapGroupsWithState.stateFormatVersion",
    "join.stateFormatVersion",
    "stateStore.rowChecksum.enabled",
    "multipleWatermarkPolicy",
)


def info(checkpoint: Checkpoint, version: int, problems: Sequence[Problem]) -> Report:
    """Identity, operators, stores, schemas, rules and the confs that matter."""
    logs = checkpoint.logs
    batches = list(logs.clocks)
    summary = identity(checkpoint, version) | {
        "batches_in_log": f"{batches[0]} to {batches[-1]}" if batches else None,
        "last_committed_batch": logs.last_committed,
        "state_file_bytes": state_file_bytes(checkpoint),
    }
    stores = Table(
        "stores",
        "stores",
        (
            *STORE,
            Column("name_from"),
            count("partitions"),
            Column("expires"),
            Column("key_schema"),
            Column("value_schema"),
        ),
        [row for operator in checkpoint.operators for row in _store_rows(operator)],
        empty="the query keeps no state",
    )
    confs = Table(
        "confs",
        "confs of the judged batch",
        (Column("conf"), Column("value"), Column("origin")),
        list(_conf_rows(checkpoint, version)),
    )
    return Report("info", checkpoint.root, summary, (stores, confs), problems=problems)


def _store_rows(operator: Operator) -> Iterator[dict[str, Any]]:
    for name in operator.layout.store_names:
        schema = operator.schemas.get(name)
        yield {
            "operator_id": operator.operator_id,
            "operator_name": operator.name,
            "store_name": name,
            "name_from": operator.name_from,
            "partitions": len(operator.layout.partitions),
            "expires": expiry_text(operator, name),
            "key_schema": None if schema is None else to_ddl(schema.key),
            "value_schema": None if schema is None else to_ddl(schema.value),
        }


def expiry_text(operator: Operator, store: str) -> str:
    """A store's rule in one line."""
    rule = operator.rules[store]
    if rule.expiry is not None:
        sign = "<=" if rule.expiry.inclusive else "<"
        return f"{rule.expiry.name} {sign} {_CLOCKS[rule.expiry.clock]}"
    return f"never: {rule.never}" if rule.never else f"unknown: {rule.unknown}"


_CLOCKS = {Clock.WATERMARK: "watermark", Clock.TIMEOUT: "watermark or processing time"}


def _conf_rows(checkpoint: Checkpoint, version: int) -> Iterator[dict[str, Any]]:
    for key in (*(CONF + name for name in _CONFS), "shuffle.partitions"):
        value, origin, batch = checkpoint.logs.conf_for(version - 1, key)
        if origin == "nearest":
            origin = f"recorded by batch {batch}"
        yield {"conf": f"spark.sql.{key}", "value": value, "origin": origin}


def files(checkpoint: Checkpoint, version: int, problems: Sequence[Problem]) -> Report:
    """One row per store and partition; then whatever is neither delta nor snapshot."""
    by_kind = file_bytes(checkpoint)
    layouts = [layout for operator in checkpoint.operators for layout in operator.layout.stores]
    summary = identity(checkpoint, version) | {
        f"{kind.value}_bytes": by_kind[kind] for kind in FileKind if kind in by_kind
    }
    summary["files"] = sum(len(layout.files) for layout in layouts)
    chains = Table(
        "chains",
        f"chains: how each store restores version {version}",
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
        [_chain_row(layout, version) for layout in layouts],
        empty="no stores",
    )
    others = Table(
        "other_files",
        "other files in the stores' folders",
        (OPERATOR_ID, STORE_NAME, PARTITION_ID, Column("kind"), count("files"), size("bytes")),
        [row for layout in layouts for row in _other_rows(layout)],
    )
    return Report("files", checkpoint.root, summary, (chains, others), problems=problems)


def _chain_row(layout: StoreLayout, version: int) -> dict[str, Any]:
    state = StoreFiles.of(layout.files)
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


def _other_rows(layout: StoreLayout) -> Iterator[dict[str, Any]]:
    others: dict[FileKind, list[int]] = {}
    for file in layout.files:
        if file.kind not in (FileKind.DELTA, FileKind.SNAPSHOT):
            others.setdefault(file.kind, []).append(file.size)
    for kind, sizes in others.items():
        row = {"kind": kind.value, "files": len(sizes), "bytes": sum(sizes)}
        yield _store(layout) | row


def _store(layout: StoreLayout) -> dict[str, Any]:
    return {
        "operator_id": layout.store.operator_id,
        "store_name": layout.store.store_name,
        "partition_id": layout.store.partition_id,
    }
