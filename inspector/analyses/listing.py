"""``info`` and ``files``: what listings and small files tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inspector.analyses.common import (
    OPERATOR_ID,
    PARTITION_ID,
    STORE,
    STORE_NAME,
    count,
    file_bytes,
    identity,
    size,
)
from inspector.analyses.schema_text import schema_text
from inspector.checkpoint.layout import StoreLayout
from inspector.decode.frames import codec_of
from inspector.discovery.checkpoint import CONF, Checkpoint, Operator, state_file_bytes
from inspector.discovery.formats import SeenBytes, needs_rocksdb
from inspector.discovery.user_schemas import GIVEN
from inspector.exceptions import DecodeError
from inspector.findings.durations import duration_text
from inspector.model import FileKind, Problem, StoreFile
from inspector.operators.rule import Clock, StoreRule
from inspector.providers.chain import StoreFiles, restorable_versions
from inspector.providers.common_names import main_path
from inspector.render.report import Column, Report, Table, Unit

_CONFS = (
    "stateStore.providerClass",
    "stateStore.compression.codec",
    "aggregation.stateFormatVersion",
    "flatMapGroupsWithState.stateFormatVersion",
    "join.stateFormatVersion",
    "stateStore.rowChecksum.enabled",
    "multipleWatermarkPolicy",
)


def info(
    checkpoint: Checkpoint, version: int, problems: Sequence[Problem], seen: SeenBytes
) -> Report:
    """Identity, operators, stores, schemas, rules, formats and the confs that matter."""
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
            Column("schema_from"),
            Column("prefix_columns", Unit.COUNT),
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
    formats = Table(
        "formats",
        "formats",
        (Column("what"), Column("format"), Column("from")),
        list(_format_rows(checkpoint, seen)),
    )
    return Report(
        "info",
        checkpoint.root,
        summary,
        (stores, formats, confs),
        problems=problems,
        notes=list(_notes(checkpoint)),
    )


def _format_rows(checkpoint: Checkpoint, seen: SeenBytes) -> Iterator[dict[str, Any]]:
    logs = checkpoint.logs
    for what, number, batch in (
        ("offset log", seen.offset_log_format, logs.last_offset),
        ("commit log", seen.commit_log_format, logs.last_committed),
    ):
        entry = None if batch is None else f"entry {batch}"
        yield {"what": what, "format": None if number is None else f"v{number}", "from": entry}
    yield {
        "what": "codec of state files",
        "format": _codec_text(checkpoint, seen),
        "from": seen.codec_file,
    }
    for operator in checkpoint.operators:
        metadata = operator.metadata
        where = f"{operator.layout.directory}/_metadata"
        yield {
            "what": f"metadata of operator {operator.operator_id}",
            "format": f"v{metadata.format}" if metadata else "none (Spark 3.5 and older)",
            "from": where if metadata else None,
        }


def _codec_text(checkpoint: Checkpoint, seen: SeenBytes) -> str | None:
    """The codec of the bytes; and that of the offset log, where it is another."""
    recorded = checkpoint.conf(seen.codec_version, "stateStore.compression.codec") or seen.codec
    if seen.codec is None or recorded is None:
        return seen.codec
    try:
        same = codec_of(recorded) == seen.codec
    except DecodeError:
        same = False
    return seen.codec if same else f"{seen.codec}, though the offset log records {recorded}"


def _notes(checkpoint: Checkpoint) -> Iterator[str]:
    """What Spark refused, and queries that ended before they had any state."""
    if checkpoint.logs.last_offset is not None and not checkpoint.newest_version:
        yield "no batch was committed, so there is no state to judge"
    for operator in checkpoint.operators:
        refused = needs_rocksdb(checkpoint, operator)
        if refused is not None:
            yield f"operator {operator.operator_id}: {refused}"
        if not any(store.files for store in operator.layout.stores):
            yield f"operator {operator.operator_id} ({operator.name}) has no state files"


def _schema_from(version: int | None) -> str:
    if version is None:
        return "none"
    return "given" if version == GIVEN else f"file v{version}"


def _store_rows(operator: Operator) -> Iterator[dict[str, Any]]:
    for name in operator.layout.store_names:
        schema = operator.schemas.get(name)
        yield {
            "operator_id": operator.operator_id,
            "operator_name": operator.name,
            "store_name": name,
            "name_from": operator.name_from,
            "partitions": len(operator.layout.partitions),
            "schema_from": _schema_from(None if schema is None else schema.version),
            "prefix_columns": _prefix_columns(operator, name),
            "expires": expiry_text(operator.rules[name]),
            "key_schema": None if schema is None else schema_text(schema.key),
            "value_schema": None if schema is None else schema_text(schema.value),
        }


def _prefix_columns(operator: Operator, store: str) -> int | None:
    """Leading key columns by which Spark scans, as its metadata has it."""
    stores = operator.metadata.stores if operator.metadata else ()
    return next((info.num_cols_prefix_key for info in stores if info.store_name == store), None)


def expiry_text(rule: StoreRule) -> str:
    """A store's rule in one line."""
    if rule.expiry is not None:
        sign = "<=" if rule.expiry.inclusive else "<"
        behind = f" - {duration_text(rule.expiry.delay_ms)}" if rule.expiry.delay_ms else ""
        return f"{rule.expiry.name} {sign} {_CLOCKS[rule.expiry.clock]}{behind}"
    return f"never: {rule.never}" if rule.never else f"unknown: {rule.unknown}"


_CLOCKS = {
    Clock.WATERMARK: "watermark",
    Clock.PROCESSING_TIME: "processing time",
    Clock.TIMEOUT: "watermark or processing time",
}


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
        [
            _chain_row(layout, checkpoint.store_files[layout.directory], version)
            for layout in layouts
        ],
        empty="no stores",
    )
    others = Table(
        "other_files",
        "other files in the stores' folders",
        (
            OPERATOR_ID,
            STORE_NAME,
            PARTITION_ID,
            Column("kind"),
            count("files"),
            size("bytes"),
            count("orphans"),
        ),
        [row for layout in layouts for row in _other_rows(layout)],
    )
    return Report("files", checkpoint.root, summary, (chains, others), problems=problems)


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


def _other_rows(layout: StoreLayout) -> Iterator[dict[str, Any]]:
    there = {file.path for file in layout.files}
    others: dict[FileKind, list[StoreFile]] = {}
    for file in layout.files:
        if file.kind not in (FileKind.DELTA, FileKind.SNAPSHOT):
            others.setdefault(file.kind, []).append(file)
    for kind, files in others.items():
        sums = kind in (FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM)
        yield _store(layout) | {
            "kind": kind.value,
            "files": len(files),
            "bytes": sum(file.size for file in files),
            # Checksum files of files that are gone: Spark's cleanup and crashes leave them.
            "orphans": sum(main_path(file) not in there for file in files) if sums else None,
        }


def _store(layout: StoreLayout) -> dict[str, Any]:
    return {
        "operator_id": layout.store.operator_id,
        "store_name": layout.store.store_name,
        "partition_id": layout.store.partition_id,
    }
