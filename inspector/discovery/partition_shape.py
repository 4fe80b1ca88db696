"""The partitions that an operator has, if the checkpoint has neither metadata nor schema of it.

Spark up to 3.0 writes no schemas of state. Two kinds of operators then have other partitions than
``spark.sql.shuffle.partitions`` says:

* An aggregation without keys, and a global limit, need all rows in partition 0. Keys of the first
  have 0 bytes, which no other operator writes. The key of a limit is one null
  (``StreamingGlobalLimitExec``), as is the key of a group whose key is null.
* A stream-stream join of Spark 2.4.0 to 2.4.4 behind other branches of a union numbers its
  partitions from the first task of its branch on (SPARK-29438): folders 3 and 4 in place of 0 and
  1. Spark 2.4.5 and later look for them from 0 on.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from contextlib import suppress

from inspector.checkpoint.confs import JOIN_FORMAT
from inspector.checkpoint.layout import OperatorLayout
from inspector.checkpoint.storage import Storage
from inspector.exceptions import InspectorError
from inspector.light_dataclasses import dataclass
from inspector.model import DEFAULT_STORE, KINDS_OF_VERSION, FileKind, StoreFile
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.providers.provider import Provider

SHIFT_ENDS = "2.4.5"  # the first release that numbers partitions of joins from 0 on
_NULL_KEY = b"\1" + bytes(15)  # UnsafeRow of one null field
_LONG_ROW = 16  # bytes of an UnsafeRow of one fixed-width field
_MOST_FILES = 16  # state files that are opened for a first row
# bytes of a state file at most that is opened for its first put, which shows if an operator has a
# single partition; a larger file is not opened
_MOST_BYTES = 1 << 20


class SinglePartition(enum.Enum):
    """Judgement by the rows whether an operator needs all of them in partition 0."""

    NO = "no"
    YES = "yes"
    LIKELY = "likely"  # the only key is one null, as of a global limit
    UNKNOWN = "unknown"  # it has partition 0 alone and no row


@dataclass(frozen=True)
class PartitionShape:
    """The partitions of one operator, as its files show them."""

    single: SinglePartition = SinglePartition.NO  # judgement whether all rows are in partition 0
    first: int = 0  # number of its first partition

    @property
    def is_single(self) -> bool:
        """True if all rows of the operator are in partition 0, for sure or most likely."""
        return self.single in (SinglePartition.YES, SinglePartition.LIKELY)


def partition_shape(
    storage: Storage,
    provider: Provider,
    layout: OperatorLayout,
    count: int,  # partitions by the offset log; 0 if it does not say
    conf: Mapping[str, str],  # that the newest entry of the offset log records
) -> PartitionShape:
    """Return the partitions of an operator that has neither metadata nor schemas.

    The default shape, with no single partition and first partition 0, if nothing else is shown.
    """
    numbers = sorted(partition.partition_id for partition in layout.partitions)
    if not count or not numbers:
        return PartitionShape()
    if numbers == [0] and count > 1 and layout.store_names == (DEFAULT_STORE,):
        return PartitionShape(_single_partition(storage, provider, layout))
    is_run = numbers == [*range(numbers[0], numbers[0] + count)]
    is_join = not {*COUNT_STORES, *VALUE_STORES}.isdisjoint(layout.store_names)
    if numbers[0] and is_run and is_join and JOIN_FORMAT not in conf:
        return PartitionShape(first=numbers[0])
    return PartitionShape()


def _single_partition(
    storage: Storage, provider: Provider, layout: OperatorLayout
) -> SinglePartition:
    """Judge from a row of partition 0, the only partition, whether all rows must be there."""
    files = [file for store in layout.folders for file in store.of_kind(*KINDS_OF_VERSION)]
    # Deltas before snapshots, which are larger; the newest first.
    files.sort(key=lambda file: (file.kind is FileKind.DELTA, file.version or 0), reverse=True)
    keys = (_first_row(storage, provider, file) for file in files[:_MOST_FILES])
    row = next((row for row in keys if row is not None), None)
    if row is None:
        return SinglePartition.UNKNOWN
    key, value_bytes = row
    if not key:
        return SinglePartition.YES
    is_limit = key == _NULL_KEY and value_bytes == _LONG_ROW
    return SinglePartition.LIKELY if is_limit else SinglePartition.NO


def _first_row(storage: Storage, provider: Provider, file: StoreFile) -> tuple[bytes, int] | None:
    """Return the key of the first put in a state file, and the size of its value in bytes.

    None if it has no put, is larger than 1 MiB or cannot be read.
    """
    if file.size > _MOST_BYTES:
        return None
    with suppress(InspectorError, OSError):
        return provider.content.first_put(storage, file)
    return None
