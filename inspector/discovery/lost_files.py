"""Schemas and operator metadata that Spark wrote and that are gone, though nothing else shows it.

A store without a schema, or an operator without metadata, looks like the work of an older release,
which wrote none: then rules and leftovers are silently unknown. It is not, where another store or
operator of the query has one (a release writes them for all, and after an upgrade for all that lack
one), or where the entry of a batch has a conf that the older release does not record
(``OffsetSeqMetadata.relevantSQLConfs``): for the metadata that of batch 0, for schemas that of any
batch that is committed. What batch 0 wrote tells its release too: from 4.1 on a checksum of Spark's
own lies beside each state file (``ChecksumCheckpointFileManager``). An operator with a folder of
schemas, of format 3, had metadata. Each run writes the schemas
that are not there when it first loads partition 0, "regardless of configuration"
(``StateStore.getStateStoreProvider`` of 3.1 to 3.5,
``StateSchemaCompatibilityChecker.validateAndMaybeEvolveStateSchema`` later).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from inspector.checkpoint.layout import OperatorLayout
from inspector.checkpoint.logfile import VANISHED_SLUG
from inspector.checkpoint.logs import Logs
from inspector.checkpoint.metadata import LOST_METADATA
from inspector.checkpoint.state_schema import schema_folder, schema_path
from inspector.checkpoint.storage import Storage
from inspector.model import KINDS_OF_VERSION, BatchId, FileKind, Problem

LOST_SCHEMA = "missing-schema"  # slug of a problem: a schema which Spark wrote and which is gone
EXCHANGED = "exchanged-partitions"  # slug: files of one partition are in the folder of another
# a conf that offset entries record since Spark 3.1
SINCE_3_1 = "spark.sql.streaming.stateStore.compression.codec"
# a conf that offset entries record since Spark 4.0
SINCE_4_0 = "spark.sql.streaming.stateStore.encodingFormat"


def lost_files(
    storage: Storage,
    logs: Logs,
    operators: Iterable[OperatorLayout],
    schemas: Mapping[int, Collection[str]],  # stores of each operator that have one
    reported: Collection[str | None],  # paths that have a problem already
) -> Iterator[Problem]:
    """Yield a problem for each schema and metadata file that Spark wrote and that is gone.

    Operators without state files are left out, and so are paths below ``reported``.
    """
    layouts = [o for o in operators if any(s.of_kind(*KINDS_OF_VERSION) for s in o.stores)]
    began = logs.confs.get(BatchId(0), {})
    has_metadata = any(layout.metadata for layout in layouts)
    stores = [store for layout in layouts for store in layout.stores]
    sums = (file for store in stores for file in store.of_kind(FileKind.SPARK_CHECKSUM))
    began_with_sums = any(file.version == 1 for file in sums)  # of batch 0
    metadata = has_metadata or SINCE_4_0 in began or began_with_sums
    has_schemas = any(
        SINCE_3_1 in confs
        for batch, confs in logs.confs.items()
        if logs.last_committed is not None and batch <= logs.last_committed
    )
    any_schema = any(schemas.values()) or has_metadata or has_schemas
    for layout in layouts:
        folder = f"{layout.directory}/_metadata"
        path = storage.full_path(f"{folder}/metadata")
        # Spark writes a folder of schemas, of format 3, with metadata of format 2 alone.
        had_metadata = metadata or layout.has_state_schema
        if had_metadata and layout.metadata is None and not _is_named(reported, storage, folder):
            yield Problem(
                LOST_METADATA,
                "the operator's metadata is missing, though the release that ran the query writes "
                "it: the operator is identified by its schemas alone",
                path,
            )
        for store in layout.store_names if any_schema else ():
            infos = layout.metadata.stores if layout.metadata else ()
            has_schema_folder = any(
                item.store_name == store and item.schema_paths for item in infos
            )
            # A folder of schemas where they are of format 3.
            place_of = (
                schema_folder if layout.has_state_schema or has_schema_folder else schema_path
            )
            location = place_of(layout.operator_id, store)
            path = storage.full_path(location)
            is_there = store in schemas.get(layout.operator_id, ())
            if is_there or _is_named(reported, storage, location):
                continue
            listed = storage.stat(location)
            if listed is not None and listed.is_file:
                yield Problem(
                    VANISHED_SLUG,
                    "the file was listed, but had been removed when it was read; what depends on "
                    "it is missing from the report",
                    path,
                )
                continue
            partitions_with_schemas = [
                p.directory for p in layout.partitions if p.partition_id and p.has_schemas
            ]
            slug, reason = LOST_SCHEMA, "though the release that ran the query writes it"
            if partitions_with_schemas:
                slug = EXCHANGED
                reason = (
                    f"it lies in {partitions_with_schemas[0]}: the folders of two partitions were "
                    "exchanged"
                )
            message = (
                f"the state schema is missing, {reason}, and what depends on it is missing from "
                "the report for this store"
            )
            yield Problem(slug, message, path)


def _is_named(reported: Collection[str | None], storage: Storage, path: str) -> bool:
    """Return whether a reported path is this file or folder, or is inside this folder."""
    location = storage.full_path(path)
    return any(path == location or (path or "").startswith(f"{location}/") for path in reported)
