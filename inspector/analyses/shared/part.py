"""How much of a checkpoint was read, where that is not all of it."""

from __future__ import annotations

from collections.abc import Iterable

from inspector.checkpoint.layout import StoreLayout
from inspector.checkpoint.roots import Selection
from inspector.discovery.checkpoint import Checkpoint
from inspector.model import KINDS_OF_STATE
from inspector.render.report import Part


def part_of(checkpoint: Checkpoint, version: int) -> Part | None:
    """The selected part, held against the whole; None if all is selected.

    Args:
        checkpoint: of which a part may be selected, by its path or by options.
        version: the judged state version.
    """
    selection = checkpoint.selection
    if selection == Selection():
        return None
    read = [store for operator in checkpoint.operators for store in operator.layout.stores]
    there = [store for operator in checkpoint.query for store in operator.layout.stores]
    return Part(
        operator_id=selection.operator_id,
        store_name=selection.store_name,
        partition_id=selection.partition_id,
        version=version if selection.version is not None else None,
        stores=len({store.store.name for store in read}),
        of_stores=len({store.store.name for store in there}),
        partitions=_partitions(read),
        of_partitions=_partitions(there),
        file_bytes=_bytes(read),
        of_file_bytes=_bytes(there),
    )


def _partitions(stores: Iterable[StoreLayout]) -> int:
    """Partitions of operators: those of two operators are two, though they have one number."""
    return len({(store.store.operator_id, store.store.partition_id) for store in stores})


def _bytes(stores: Iterable[StoreLayout]) -> int:
    folders = {store.directory: store for store in stores}
    return sum(file.size for store in folders.values() for file in store.of_kind(*KINDS_OF_STATE))
