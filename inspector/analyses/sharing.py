"""``sharing``: what each version changed, and what it shares with the one before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from inspector.analyses.shared.common import (
    BATCH_ID,
    PARTITION_ID,
    STORE,
    VERSION,
    count,
    identity,
    operator_names,
    size,
)
from inspector.analyses.shared.declare import FactRequest, TableSpec, View, analysis
from inspector.analyses.shared.fact_tables import FactTableTask, RowsOfFacts, fact_table
from inspector.analyses.shared.options import AT_VERSION, PART, SCHEMAS, WORK, Options
from inspector.analyses.shared.part import part_of
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.size_table import (
    PLACES,
    SIZE_COLUMNS,
    grouped,
    place_columns,
    size_row,
)
from inspector.discovery.checkpoint import Checkpoint
from inspector.facts.fact import Observed
from inspector.facts.rewrites import RewriteRuns
from inspector.facts.versions import COUNTS, VersionFacts
from inspector.merge.collect import Facts
from inspector.model import Problem
from inspector.providers.registry import provider_named
from inspector.render.report import Column, Report, Table, Unit

SHARING_NOTE = (
    "A row that a version did not touch shares its key and value objects with the version before; "
    "a row that was put again shares its key object alone. Two versions together count each shared "
    "object once, as Spark holds them; without sharing they would take what the next column says. "
    "All numbers are exact."
)
ON_DISK_NOTE = (
    "Executors keep the rows of this state in RocksDB on local disk: no objects are shared between "
    "versions, so what objects would take is left out. All numbers are exact."
)
_TITLES = {
    "same_value_rows": "rows with the same value",
    "two_versions_bytes": "two versions together",
    "two_versions_unshared_bytes": "two versions without sharing",
    "same_value_puts": "puts of the same value",
    "same_value_put_bytes": "bytes of these puts",
}
"""Heads of columns for people, where the name does not say it."""

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
_OF_OBJECTS = (
    *("shared_rows", "shared_keys", "shared_key_bytes", "shared_value_bytes"),
    *("two_versions_bytes", "two_versions_unshared_bytes"),
)
"""What executors share that keep versions as maps of objects; others share nothing of it."""

_WIDE_CHANGES = (
    frozenset(("operator_name", "shared_keys", "inserts", "updates"))
    | {"absent_removals", "shared_key_bytes", "shared_value_bytes", "batch_id"}
    | {column.name for column in SIZE_COLUMNS if column.name not in ("rows", "row_bytes")}
)
_COLUMNS = (
    VERSION,
    BATCH_ID,
    *SIZE_COLUMNS,
    *(
        Column(name, Unit.BYTES if name.endswith("bytes") else Unit.COUNT, title=_TITLES.get(name))
        for name in _CHANGES
    ),
    count("stores_read", "Stores of partitions that can restore the version."),
    count("stores", "Stores of partitions, in all."),
    count("changes_read", "Those of them whose change since the version before is known."),
    Column("history"),
)
VERSIONS = TableSpec(
    "versions",
    "one store, operator or partition at one version",
    (*STORE, PARTITION_ID, *_COLUMNS),
    empty="no version can be restored",
    wide=_WIDE_CHANGES,
    important=(
        "store_name version rows new_rows changed_rows removed_rows same_value_rows "
        "row_bytes shared_rows two_versions_bytes operator_id puts history"
    ),
)
REWRITES = TableSpec(
    "rewrites",
    "keys of one store that were put in every one of so many newest versions",
    (*STORE, count("newest_versions"), count("keys"), Column("share_of_rows", Unit.SHARE)),
    empty="none: the newest version put no key that is still there",
    important="store_name newest_versions keys share_of_rows operator_id",
)

_COUNTED = tuple(name for name in COUNTS if name not in ("stores", "rebased", "empty_deltas"))
_SUMS = ("two_versions_bytes", "two_versions_unshared_bytes")
_OF_CHANGES = tuple(
    name
    for name in (*_COUNTED, *_SUMS)
    if name not in ("rows", "key_bytes", "value_bytes", "raw_bytes")
    and name not in ("delta_bytes", "snapshot_bytes")
)
"""What is known of a version only together with the one before."""

VERSION_COLUMNS = (
    *STORE,
    PARTITION_ID,
    VERSION,
    BATCH_ID,
    Column("batch_timestamp_ms", Unit.TIME_MS),
    Column("watermark_ms", Unit.TIME_MS),
    Column("from_snapshot", Unit.FLAG),
    *(size(name) if name.endswith("bytes") else count(name) for name in (*_COUNTED, *_SUMS)),
)


def version_rows(request: FactTableTask) -> RowsOfFacts:
    """Sizes and changes of each version, as the facts of a task have them."""
    clocks = {clock.batch_id + 1: clock for clock in request.task.clocks}

    def row(one: Observed[VersionFacts]) -> dict[str, Any]:
        store, facts, clock = one.store, one.fact, clocks.get(one.version)
        known = {name: getattr(facts, name) for name in (*_COUNTED, *_SUMS)}
        return {
            "operator_id": store.operator_id,
            "operator_name": request.operator_name,
            "store_name": store.store_name,
            "partition_id": store.partition_id,
            "version": one.version,
            "batch_id": one.version - 1,
            "batch_timestamp_ms": clock and clock.timestamp_ms,
            "watermark_ms": (clock and clock.watermark_ms) or None,
            "from_snapshot": bool(facts.rebased),
            **known,
            **(dict.fromkeys(_OF_CHANGES) if facts.rebased else {}),
            **no_objects,
        }

    no_objects = dict.fromkeys(
        () if provider_named(request.task.provider).keeps_maps else _OF_OBJECTS
    )
    return lambda facts: [row(one) for one in facts.of(VersionFacts)]


VERSIONS_DATA = fact_table(
    "sharing",
    "versions",
    "Sizes, changes and sharing of each version, one row for each store and partition.",
    VERSION_COLUMNS,
    version_rows,
    request=FactRequest(),
)

FACTS = FactRequest(observed=(RewriteRuns.kind,))


@analysis(
    uses=(WORK, SCHEMAS, PART, AT_VERSION),
    tables=(VERSIONS, REWRITES),
    facts=FACTS,
    data_tables=(VERSIONS_DATA,),
    many=True,
)
def sharing(
    path: str | Run,
    options: Options | None = None,
    *,
    by: Annotated[str, View("What a line stands for.", choices=tuple(PLACES))] = "store",
) -> Report:
    """Per version: new, changed, same-value and removed rows, and what is shared."""
    run = Run.start(path, options)
    facts = run.facts(replace(FACTS, partitions=by == "partition"))
    return sharing_report(run.checkpoint, run.version, facts, run.problems(facts), by)


def sharing_report(
    checkpoint: Checkpoint, version: int, facts: Facts, problems: Sequence[Problem], by: str
) -> Report:
    """One row per version and store (or operator, or partition), oldest first."""
    table = VERSIONS.table(
        "what each version changed, and what it shares with the one before",
        list(_version_rows(checkpoint, facts, by)),
        columns=(*PLACES[by], *_COLUMNS),
    )
    summary = identity(checkpoint, version)
    return Report(
        "sharing",
        checkpoint.root,
        summary,
        (table, _rewrites(checkpoint, facts, version)),
        problems=problems,
        footnotes=(SHARING_NOTE if checkpoint.provider.keeps_maps else ON_DISK_NOTE,),
        part=part_of(checkpoint, version),
    )


REWRITTEN = (1, 2, 3, 5, 10, 20, 50, 100)
"""So many newest versions; a line for each says how many keys were put in all of them."""


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
                        "share_of_rows": keys / live if live else None,
                    }
                )
    return REWRITES.table("keys that were put in every one of the newest versions", rows)


def _version_rows(checkpoint: Checkpoint, facts: Facts, by: str) -> Iterator[dict[str, Any]]:
    no_objects = dict.fromkeys(() if checkpoint.provider.keeps_maps else _OF_OBJECTS)
    for place, versions in grouped(facts, by).items():
        stores = max(one.stores for one in versions.values())
        for version, one in sorted(versions.items()):
            known = not one.rebased  # a sum over some of the partitions would look like all of it
            yield (
                place_columns(checkpoint, place, version)
                | size_row(one)
                | {
                    **{name: getattr(one, name) if known else None for name in _CHANGES},
                    **no_objects,
                    "stores_read": one.stores,
                    "stores": stores,
                    "changes_read": one.stores - one.rebased,
                    "history": _history(one, stores),
                }
            )


def _history(facts: VersionFacts, stores: int) -> str:
    if facts.stores < stores:
        return "some partitions"
    if not facts.rebased:
        return "complete"
    if facts.rebased == facts.stores:
        return "from snapshot"
    return "some changes"
