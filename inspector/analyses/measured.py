"""``sizes`` and ``sharing``: the facts of versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inspector.analyses.common import (
    BATCH_ID,
    PARTITION_ID,
    STORE,
    VERSION,
    count,
    coverage,
    identity,
    operator_names,
    size,
)
from inspector.discovery.checkpoint import Checkpoint, state_file_bytes
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import Problem, StoreId
from inspector.render.report import Column, Report, Table

QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))
_SIZED = ("key", "value", "row")
_SIZE_COLUMNS = (
    count("rows"),
    size("key_bytes"),
    size("value_bytes"),
    size("row_bytes"),
    *(size(f"{what}_bytes_{q}") for what in _SIZED for q in ("p50", "p90", "p99", "max")),
)
_WIDE_SIZES = frozenset(
    f"{what}_bytes_{q}" for what in ("key", "value") for q in ("p50", "p90", "p99")
)
SIZES_NOTE = (
    "row_bytes are the UnsafeRow bytes of keys and values that Spark holds for this version, "
    "exact; quantiles are over rows, nearest rank. The files are smaller: they are compressed, "
    "and a delta holds only what changed. The JVM needs more: objects, arrays and a map node a row."
)
SHARING_NOTE = (
    "A shared row keeps the key and value object of the version before; a row that was put again "
    "shares its key object alone. two_versions_bytes counts each shared object once, as Spark "
    "holds them; two_versions_unshared_bytes is what they would be without. All numbers are exact."
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
    return Table(
        "sizes",
        f"sizes of version {version} by {by}",
        (*_PLACES[by], VERSION, BATCH_ID, *_SIZE_COLUMNS),
        [
            _place_columns(checkpoint, place, version) | size_row(versions[version])
            for place, versions in _grouped(facts, by).items()
            if version in versions
        ],
        empty="no store has rows of this version",
        wide=_WIDE_SIZES | {"version", "batch_id"},
    )


_Place = tuple[int, str, int]
"""Operator id, store name, partition id; "" and -1 for all."""

_PLACES = {"operator": STORE[:2], "store": STORE, "partition": (*STORE, PARTITION_ID)}


def _grouped(facts: Facts, by: str) -> dict[_Place, dict[int, VersionFacts]]:
    """Facts summed by place: place -> version -> facts, sorted by place."""
    groups: dict[_Place, dict[int, VersionFacts]] = {}
    for (store, version), one in facts.versions.items():
        versions = groups.setdefault(_place(store, by), {})
        versions[version] = versions.get(version, VersionFacts()) + one
    return dict(sorted(groups.items()))


def _place_columns(checkpoint: Checkpoint, place: _Place, version: int) -> dict[str, Any]:
    return {
        "operator_id": place[0],
        "operator_name": operator_names(checkpoint).get(place[0]),
        "store_name": place[1] or None,
        "partition_id": None if place[2] < 0 else place[2],
        "version": version,
        "batch_id": version - 1,
    }


def _place(store: StoreId, by: str) -> _Place:
    name = "" if by == "operator" else store.store_name
    return store.operator_id, name, store.partition_id if by == "partition" else -1


def sizes(
    checkpoint: Checkpoint, version: int, facts: Facts, problems: Sequence[Problem], by: str
) -> Report:
    """Rows and bytes of a version."""
    of_version = [one for (_, v), one in facts.versions.items() if v == version]
    total = sum(of_version, VersionFacts())
    summary = (
        identity(checkpoint, version)
        | coverage(checkpoint, version, facts)
        | {
            "state_file_bytes": state_file_bytes(checkpoint),
            "rows": total.rows,
            "row_bytes": total.row_bytes,
        }
    )
    table = size_table(checkpoint, version, facts, by)
    return Report(
        "sizes", checkpoint.root, summary, (table,), problems=problems, footnotes=(SIZES_NOTE,)
    )


_CHANGES = (
    "new_rows",
    "changed_rows",
    "same_value_rows",
    "removed_rows",
    "shared_rows",
    "shared_keys",
    "shared_key_bytes",
    "shared_value_bytes",
    "two_versions_bytes",
    "two_versions_unshared_bytes",
    "puts",
    "inserts",
    "updates",
    "same_value_puts",
    "same_value_put_bytes",
    "removals",
    "absent_removals",
)
_WIDE_CHANGES = (
    frozenset(("operator_name", "shared_keys", "inserts", "updates"))
    | {"absent_removals", "shared_key_bytes", "shared_value_bytes", "batch_id"}
    | {column.name for column in _SIZE_COLUMNS if column.name not in ("rows", "row_bytes")}
)


def sharing(
    checkpoint: Checkpoint, version: int, facts: Facts, problems: Sequence[Problem], by: str
) -> Report:
    """One row per version and store (or operator, or partition), oldest first."""
    table = Table(
        "versions",
        "what each version changed, and what it shares with the one before",
        (
            *_PLACES[by],
            VERSION,
            BATCH_ID,
            *_SIZE_COLUMNS,
            *(size(name) if name.endswith("bytes") else count(name) for name in _CHANGES),
            Column("history"),
        ),
        list(_version_rows(checkpoint, facts, by)),
        empty="no version can be restored",
        wide=_WIDE_CHANGES,
    )
    summary = identity(checkpoint, version)
    return Report(
        "sharing",
        checkpoint.root,
        summary,
        (table, _rewrites(checkpoint, facts, version)),
        problems=problems,
        footnotes=(SHARING_NOTE,),
    )


REWRITTEN = (1, 2, 3, 5, 10, 20, 50, 100)
"""Numbers of newest versions for which is told how many keys were put in every one of them."""


def _rewrites(checkpoint: Checkpoint, facts: Facts, version: int) -> Table:
    names = operator_names(checkpoint)
    merged = facts.by_store(version)
    rows = []
    for name, runs in sorted(facts.rewrites.items()):
        operator_id, store = name
        live = merged[name][version].rows
        for n in REWRITTEN:
            keys = sum(count for length, count in runs.counts.items() if length >= n)
            if keys:
                rows.append(
                    {
                        "operator_id": operator_id,
                        "operator_name": names.get(operator_id),
                        "store_name": store,
                        "newest_versions": n,
                        "keys": keys,
                        "share_of_rows": f"{keys / live:.1%}" if live else None,
                    }
                )
    return Table(
        "rewrites",
        "keys that were put in every one of the newest versions",
        (*STORE, count("newest_versions"), count("keys"), Column("share_of_rows")),
        rows,
        empty="none: the newest version put no key that is still there",
    )


def _version_rows(checkpoint: Checkpoint, facts: Facts, by: str) -> Iterator[dict[str, Any]]:
    for place, versions in _grouped(facts, by).items():
        stores = max(one.stores for one in versions.values())
        for version, one in sorted(versions.items()):
            known = one.rebased < one.stores
            yield (
                _place_columns(checkpoint, place, version)
                | size_row(one)
                | {
                    **{name: getattr(one, name) if known else None for name in _CHANGES},
                    "history": _history(one, stores),
                }
            )


def _history(facts: VersionFacts, stores: int) -> str:
    if facts.stores < stores:
        return f"rows of {facts.stores} of {stores} partitions alone"
    if not facts.rebased:
        return "complete"
    if facts.rebased == facts.stores:
        return "from snapshot"
    return f"{facts.stores - facts.rebased} of {facts.stores} partitions"
