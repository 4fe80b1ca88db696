"""Which state files are those of committed batches, where several attempts left some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from inspector.checkpoint.layout import Layout, StoreLayout
from inspector.checkpoint.logs import Logs
from inspector.checkpoint.storage import Storage
from inspector.decode.frames import inflate, sniff
from inspector.exceptions import InspectorError
from inspector.model import BatchId, FileKind, StoreFile, StoreId
from inspector.providers.provider import Provider


def settled(storage: Storage, layout: Layout, provider: Provider, logs: Logs) -> Layout:
    """The layout with every file as what it is to its provider.

    Args:
        storage: opened at the checkpoint's root.
        layout: files as all providers together see their names.
        provider: the one that wrote them.
        logs: with the unique ids that batches were committed by.
    """

    def lineage(file: StoreFile) -> Mapping[int, str]:
        """The versions that a changelog says it is based on; empty if it cannot be read."""
        # numpy: not for `info`, unless several attempts left files and no commit says which counts.
        from inspector.decode.changelog import read_changelog  # noqa: PLC0415

        chunks = storage.stream(storage.relative(file.path))
        try:
            head = next(chunks, b"")
            codec = sniff(head)
            if codec is None:
                return {}
            blocks = inflate((each for part in ([head], chunks) for each in part), codec)
            result, _ = read_changelog(blocks)
        except (InspectorError, OSError):
            return {}
        return {item.version: item.unique_id for item in result.lineage}

    def files(store: StoreLayout) -> tuple[StoreFile, ...]:
        result = provider.resolve_attempts(store.files, _commit_ids(logs, store.store), lineage)
        return tuple(_with_origin(file, logs) for file in result) if has_appended else result

    has_appended = any(clock.appended for clock in logs.clocks.values())
    return layout.map_files(files)


def _with_origin(file: StoreFile, logs: Logs) -> StoreFile:
    """A snapshot of an appended batch with whether it goes on from the version before it."""
    batch = BatchId((file.version or 0) - 1)
    clock = logs.clocks.get(batch)
    if file.kind is not FileKind.SNAPSHOT or clock is None or not clock.appended:
        return file
    return replace(file, continues=batch not in logs.repartitions)


def _commit_ids(logs: Logs, store: StoreId) -> dict[int, frozenset[str]]:
    """The unique ids by which a partition's stores committed each version."""
    result: dict[int, frozenset[str]] = {}
    for batch, operators in logs.unique_ids.items():
        partitions = operators.get(store.operator_id, ())
        if store.partition_id < len(partitions):
            result[batch + 1] = partitions[store.partition_id]
    return result
