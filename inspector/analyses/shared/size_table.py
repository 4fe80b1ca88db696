"""Rows and bytes of versions, by store, operator or partition."""

from __future__ import annotations

from typing import Annotated, Any

from inspector.analyses.shared.common import operator_names
from inspector.analyses.shared.judged import Judged
from inspector.discovery.checkpoint import Checkpoint
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.render import tabular as t
from inspector.sums import sum_of

Place = tuple[int, str, int]
"""Operator id, store name, partition id; "" and -1 for all."""

PLACES = {"operator": ("store_name", "partition_id"), "store": ("partition_id",), "partition": ()}
"""What a line stands for -> the columns that it does not have."""


class SizeRow(t.StoreRow, table="sizes", empty="no store has rows of this version"):
    """The rows of one store, operator or partition at the judged version."""

    operator_name: Annotated[t.OperatorName | None, t.Rank(22)]
    partition_id: Annotated[t.PartitionId | None, t.Rank(15)]
    version: Annotated[t.Version, t.WIDE]
    batch_id: Annotated[t.BatchId, t.WIDE]
    rows: Annotated[t.Rows, t.Rank(16)]
    key_bytes: Annotated[t.Bytes, "Key bytes of all rows together.", t.Rank(24)]
    value_bytes: Annotated[t.Bytes, "Value bytes of all rows together.", t.Rank(23)]
    row_bytes: Annotated[t.RowBytes, t.Rank(17)]
    key_bytes_p50: Annotated[
        t.Bytes | None, "Median of the key bytes of a row, by nearest rank.", t.WIDE
    ]
    key_bytes_p90: Annotated[
        t.Bytes | None, "90th percentile of the key bytes of a row, by nearest rank.", t.WIDE
    ]
    key_bytes_p99: Annotated[
        t.Bytes | None, "99th percentile of the key bytes of a row, by nearest rank.", t.WIDE
    ]
    key_bytes_max: t.KeyBytesMax | None
    value_bytes_p50: Annotated[
        t.Bytes | None, "Median of the value bytes of a row, by nearest rank.", t.WIDE
    ]
    value_bytes_p90: Annotated[
        t.Bytes | None, "90th percentile of the value bytes of a row, by nearest rank.", t.WIDE
    ]
    value_bytes_p99: Annotated[
        t.Bytes | None, "99th percentile of the value bytes of a row, by nearest rank.", t.WIDE
    ]
    value_bytes_max: t.ValueBytesMax | None
    row_bytes_p50: Annotated[t.RowBytesP50 | None, t.Rank(25)]
    row_bytes_p90: t.RowBytesP90 | None
    row_bytes_p99: Annotated[t.RowBytesP99 | None, t.Rank(26)]
    row_bytes_max: Annotated[t.RowBytesMax | None, t.Rank(21)]


def size_columns(
    checkpoint: Checkpoint, group: Place, version: int, facts: VersionFacts
) -> dict[str, Any]:
    """What names a line, and its sizes: the columns of :class:`SizeRow`."""
    sizes = {"key": facts.key_sizes, "value": facts.value_sizes, "row": facts.row_sizes}
    quantiles = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))
    return {
        "operator_id": group[0],
        "operator_name": operator_names(checkpoint).get(group[0]),
        "store_name": group[1] or None,
        "partition_id": None if group[2] < 0 else group[2],
        "version": version,
        "batch_id": version - 1,
        "rows": facts.rows,
        **{f"{part}_bytes": getattr(facts, f"{part}_bytes") for part in sizes},
        **{
            f"{part}_bytes_{name}": of_part.quantile(share)
            for part, of_part in sizes.items()
            for name, share in quantiles
        },
        **{f"{part}_bytes_max": of_part.max for part, of_part in sizes.items()},
    }


def size_table(judged: Judged, by: str = "store") -> t.Table:
    """Rows and bytes of a version by ``operator``, ``store`` or ``partition``."""
    version = judged.version
    return SizeRow.table(
        f"sizes of version {version} by {by}",
        [
            SizeRow(**size_columns(judged.checkpoint, group, version, versions[version]))
            for group, versions in facts_by_place(judged.facts, by).items()
            if version in versions
        ],
        columns=SizeRow.columns(without=PLACES[by]),
    )


def facts_by_place(facts: Facts, by: str) -> dict[Place, dict[int, VersionFacts]]:
    """Facts summed by place: place -> version -> facts, sorted by place."""
    groups: dict[Place, dict[int, list[VersionFacts]]] = {}
    for (store, version), version_facts in facts.versions.items():
        name = "" if by == "operator" else store.store_name
        group = store.operator_id, name, store.partition_id if by == "partition" else -1
        groups.setdefault(group, {}).setdefault(version, []).append(version_facts)
    return {
        group: {version: sum_of(parts) for version, parts in versions.items()}
        for group, versions in sorted(groups.items())
    }
