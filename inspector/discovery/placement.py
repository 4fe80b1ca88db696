"""By which fields of its key Spark chooses the partition of a row, where that can be said.

``StatefulOperatorPartitioning`` requires the hash of exactly the grouping columns or join keys if
``statefulOperator.useStrictDistribution`` is true: it is for queries that began with Spark 3.3 or
later, and the offset log records it. Before, rows that came partitioned by some of these columns
stayed where they were, so that nothing can be said. Nor can it of an operator that is not known, of
one that runs in a single partition, and where the schema is not the checkpoint's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.checkpoint.confs import SHUFFLE_PARTITIONS
from inspector.checkpoint.layout import PartitionLayout
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.user_schemas import GIVEN
from inspector.model import LIMITS, Problem, above_limit
from inspector.operators.join import columns_beside
from inspector.operators.physical import PHYSICAL
from inspector.operators.session_window import NAMES as SESSION
from inspector.operators.transform_with_state import GroupingKey, grouping_fields

# conf, after ``spark.sql.streaming.``: Spark places rows by exactly the grouping key
STRICT = "statefulOperator.useStrictDistribution"
_DIGITS = 9  # longest partition count that is read; a longer one counts as not recorded


def partition_count(checkpoint: Checkpoint, version: int) -> int:
    """Return the partition count of a version from the offset log; 0 if it is not recorded."""
    # Nor does a number above the limit partitions, which impossible_partitions reports.
    count = _count_in_log(checkpoint, version)
    return count if count <= LIMITS.partitions else 0


def impossible_partitions(checkpoint: Checkpoint, version: int) -> Iterator[Problem]:
    """Yield a problem if the recorded partition count is above the limit."""
    count = _count_in_log(checkpoint, version)
    if count > LIMITS.partitions:
        error = above_limit("partitions", f"got {count:,} as {SHUFFLE_PARTITIONS}")
        path = checkpoint.storage.full_path(f"offsets/{version - 1}")
        yield Problem(error.slug, error.message, path, version=version)


def _count_in_log(checkpoint: Checkpoint, version: int) -> int:
    """Return the partition count that the offset log has for a version; 0 if none."""
    return _number(checkpoint.logs.conf_for(version - 1, SHUFFLE_PARTITIONS).value)


def _number(conf: str | None) -> int:
    """Return a recorded count as a number; 0 if it is absent, no number or too long."""
    return int(conf) if conf and conf.isdecimal() and len(conf) <= _DIGITS else 0


def partition_counts(checkpoint: Checkpoint) -> set[int]:
    """Return every partition count that the entries of the offset log record.

    0 is among them if an entry records none.
    """
    confs = checkpoint.logs.confs.values()
    return {_number(conf.get(SHUFFLE_PARTITIONS)) for conf in confs}


def has_partition(
    checkpoint: Checkpoint, operator_id: int, partition_id: int, version: int
) -> bool:
    """Return whether a version has a partition; True if the log has no partition count."""
    # A repartitioning leaves the folders of partitions that there are no more, with the files of
    # older versions (OfflineStateRepartitionRunner of 4.3 removes nothing).
    count = partition_count(checkpoint, version)
    return not count or partition_id < count + checkpoint.first_partition(operator_id)


def lacks_operator(checkpoint: Checkpoint, operator_id: int, version: int) -> bool:
    """Return whether the query had dropped an operator before it made a version."""
    return checkpoint.last_versions.get(operator_id, version) < version


def was_left(checkpoint: Checkpoint, partition: PartitionLayout, version: int) -> bool:
    """Return whether a partition folder is left from a removed operator or an older count.

    ``version`` is the version that is judged.
    """
    # The newest file of such a folder is of a version that has the partition: of one before a
    # repartitioning, or not finished. Where the newest entry of a stopped query was changed, it is
    # of the version that this entry's batch had made. Of what is older nothing is known.
    if any(lacks_operator(checkpoint, s.store.operator_id, version) for s in partition.stores):
        return True
    operator_id = next((s.store.operator_id for s in partition.stores), -1)
    if has_partition(checkpoint, operator_id, partition.partition_id, version):
        return False
    newest = max((f.version or 0 for store in partition.stores for f in store.files), default=0)
    batches = checkpoint.logs.confs
    unknown = bool(batches) and newest <= min(batches)
    number = partition.partition_id
    had = any(has_partition(checkpoint, operator_id, number, v) for v in (newest, newest - 1))
    return bool(newest) and (unknown or had)


def count_hashed(checkpoint: Checkpoint, operator: Operator, store: str, version: int) -> int:
    """Return how many leading fields of a store's key Spark hashes to choose the partition.

    0 if that is not known, or if all rows are in one partition.
    """
    schema = operator.schemas.get(store)
    if schema is None or schema.version == GIVEN or operator.single_partition:
        return 0
    if not is_strict(checkpoint, version) or operator.name not in PHYSICAL:
        return 0
    family = operator.family(store)
    if family is not None:
        return grouping_fields(family, schema.key)
    # The last field is a session's start, or a row's index among those of its join key.
    extra_columns = int(operator.name in SESSION) or columns_beside(store)
    return len(schema.key.fields) - extra_columns


def is_strict(checkpoint: Checkpoint, version: int) -> bool:
    """Return True if the log records that Spark places rows by exactly the grouping key."""
    strict = checkpoint.logs.conf_for(version - 1, f"streaming.{STRICT}")
    return strict.origin == "recorded" and strict.value == "true"


def partition_key(operator: Operator, store: str) -> GroupingKey | None:
    """Return the part of a store's keys by whose hash Spark chooses the partition.

    Unlike :func:`count_hashed` it also knows timers and indexes, whose keys begin with a time.
    Returns None if it is not known. The caller checks :func:`is_strict` and the operator.
    """
    schema = operator.schemas.get(store)
    if schema is None or schema.version == GIVEN or operator.name not in PHYSICAL:
        return None
    if operator.family(store) is not None:
        return operator.grouping_key(store)
    extra_columns = int(operator.name in SESSION) or columns_beside(store)
    return GroupingKey((), len(schema.key.fields) - extra_columns)
