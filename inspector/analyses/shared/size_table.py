"""Rows and bytes of versions, by store, operator or partition."""

from __future__ import annotations

from typing import Any

from inspector.analyses.shared.common import (
    BATCH_ID,
    PARTITION_ID,
    STORE,
    VERSION,
    count,
    operator_names,
    size,
)
from inspector.analyses.shared.declare import TableSpec
from inspector.discovery.checkpoint import Checkpoint
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import StoreId
from inspector.render.report import Table
from inspector.sums import sum_of

QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))
_SIZED = ("key", "value", "row")
SIZE_COLUMNS = (
    count("rows"),
    size("key_bytes", "Key bytes of all rows together."),
    size("value_bytes", "Value bytes of all rows together."),
    size("row_bytes"),
    *(size(f"{what}_bytes_{q}") for what in _SIZED for q in ("p50", "p90", "p99", "max")),
)
_WIDE_SIZES = frozenset(
    f"{what}_bytes_{q}" for what in ("key", "value") for q in ("p50", "p90", "p99")
)

Place = tuple[int, str, int]
"""Operator id, store name, partition id; "" and -1 for all."""

PLACES = {"operator": STORE[:2], "store": STORE, "partition": (*STORE, PARTITION_ID)}
"""What a line stands for -> the columns that name it."""

SIZES = TableSpec(
    "sizes",
    "the rows of one store, operator or partition at the judged version",
    (*STORE, PARTITION_ID, VERSION, BATCH_ID, *SIZE_COLUMNS),
    empty="no store has rows of this version",
    wide=_WIDE_SIZES | {"version", "batch_id"},
    important=(
        "store_name partition_id rows row_bytes operator_id row_bytes_max operator_name "
        "value_bytes key_bytes row_bytes_p50 row_bytes_p99"
    ),
)


def size_row(facts: VersionFacts) -> dict[str, Any]:
    """The columns of a size table."""
    row: dict[str, Any] = {
        "rows": facts.rows,
        "key_bytes": facts.key_bytes,
        "value_bytes": facts.value_bytes,
        "row_bytes": facts.row_bytes,
    }
    for what in _SIZED:
        sizes = getattr(facts, f"{what}_sizes")
        row |= {f"{what}_bytes_{name}": sizes.quantile(share) for name, share in QUANTILES}
        row[f"{what}_bytes_max"] = sizes.max
    return row


def size_table(checkpoint: Checkpoint, version: int, facts: Facts, by: str = "store") -> Table:
    """Rows and bytes of a version by ``operator``, ``store`` or ``partition``."""
    return SIZES.table(
        f"sizes of version {version} by {by}",
        [
            place_columns(checkpoint, place, version) | size_row(versions[version])
            for place, versions in grouped(facts, by).items()
            if version in versions
        ],
        columns=(*PLACES[by], VERSION, BATCH_ID, *SIZE_COLUMNS),
    )


def grouped(facts: Facts, by: str) -> dict[Place, dict[int, VersionFacts]]:
    """Facts summed by place: place -> version -> facts, sorted by place."""
    groups: dict[Place, dict[int, list[VersionFacts]]] = {}
    for (store, version), one in facts.versions.items():
        groups.setdefault(_place(store, by), {}).setdefault(version, []).append(one)
    return {
        place: {version: sum_of(found) for version, found in versions.items()}
        for place, versions in sorted(groups.items())
    }


def place_columns(checkpoint: Checkpoint, place: Place, version: int) -> dict[str, Any]:
    """What names a line: its place, version and batch."""
    return {
        "operator_id": place[0],
        "operator_name": operator_names(checkpoint).get(place[0]),
        "store_name": place[1] or None,
        "partition_id": None if place[2] < 0 else place[2],
        "version": version,
        "batch_id": version - 1,
    }


def _place(store: StoreId, by: str) -> Place:
    name = "" if by == "operator" else store.store_name
    return store.operator_id, name, store.partition_id if by == "partition" else -1
