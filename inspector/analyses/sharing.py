"""``sharing``: changes of each version, and rows shared with the version before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.fact_tables import FactTableTask, RowsOfFacts, fact_table
from inspector.analyses.shared.judged import Judged, store_ids, values_of_fields
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import REPLAY, Option, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.state_growth import whole_stores
from inspector.analyses.sizes import PLACES, SizeRow, facts_by_place, size_columns
from inspector.discovery.tasks import Request
from inspector.facts.ages import RewriteRuns
from inspector.facts.fact import Observed
from inspector.facts.versions import COUNTS, VersionFacts
from inspector.light_dataclasses import replace
from inspector.providers.registry import provider_by_name
from inspector.render import tabular as t
from inspector.render.plain import fields_of
from inspector.render.report import Report

# footnote of the report if executors keep the rows in maps on the heap: what versions share
SHARING_NOTE = (
    "A row that a version did not touch shares its key and value objects with the version before; "
    "a row that was put again shares its key object alone. Two versions together count each shared "
    "object once, as Spark holds them; without sharing they would take what the next column says. "
    "All numbers are exact."
)
# footnote of the report if executors keep the rows in RocksDB, where versions share no objects
ON_DISK_NOTE = (
    "Executors keep the rows of this state in RocksDB on local disk: no objects are shared between "
    "versions, so what objects would take is left out. All numbers are exact."
)
# Columns of :class:`VersionRow` and :data:`VERSIONS_DATA` about objects that versions share. They
# are null unless executors keep the rows of each version as a map of objects on the heap.
_OF_OBJECTS = (
    *("shared_rows", "shared_keys", "shared_key_bytes", "shared_value_bytes"),
    *("two_versions_bytes", "two_versions_unshared_bytes"),
)


class VersionRow(SizeRow, table="versions", empty="no version can be restored"):
    """One store, operator or partition at one version."""

    operator_id: Annotated[t.OperatorId, t.Rank(24)]
    operator_name: Annotated[t.OperatorName | None, t.WIDE]
    partition_id: t.PartitionId | None
    version: Annotated[t.Version, t.Rank(11)]
    key_bytes: Annotated[t.Bytes, "Key bytes of all rows.", t.WIDE]
    value_bytes: Annotated[t.Bytes, "Value bytes of all rows.", t.WIDE]
    row_bytes: Annotated[t.RowBytes, t.Rank(21)]
    key_bytes_max: Annotated[t.KeyBytesMax | None, t.WIDE]
    value_bytes_max: Annotated[t.ValueBytesMax | None, t.WIDE]
    row_bytes_p50: Annotated[t.RowBytesP50 | None, t.WIDE]
    row_bytes_p90: Annotated[t.RowBytesP90 | None, t.WIDE]
    row_bytes_p99: Annotated[t.RowBytesP99 | None, t.WIDE]
    row_bytes_max: Annotated[t.RowBytesMax | None, t.WIDE]
    new_rows: Annotated[
        t.Count | None, "Rows whose key the version before did not have.", t.Rank(17)
    ]
    changed_rows: Annotated[
        t.Count | None, "Rows whose value is another than in the version before.", t.Rank(18)
    ]
    same_value_rows: Annotated[
        t.Count | None,
        "Rows that were put again, once or more, with the value they had.",
        t.Title("rows with the same value"),
        t.Rank(20),
    ]
    removed_rows: Annotated[t.Count | None, "Rows of the version before that are gone.", t.Rank(19)]
    shared_rows: Annotated[
        t.Count | None,
        "Rows whose key and value object are those of the version before; null for RocksDB, as all "
        "columns up to `two_versions_unshared_bytes`.",
        t.Rank(22),
    ]
    shared_keys: Annotated[
        t.Count | None, "Rows whose key object is that of the version before.", t.WIDE
    ]
    shared_key_bytes: Annotated[t.Bytes | None, "Bytes of the shared key objects.", t.WIDE]
    shared_value_bytes: Annotated[t.Bytes | None, "Bytes of the shared value objects.", t.WIDE]
    two_versions_bytes: Annotated[
        t.Bytes | None,
        "Row bytes of the version and the one before, shared objects once.",
        t.Title("two versions together"),
        t.Rank(23),
    ]
    two_versions_unshared_bytes: Annotated[
        t.Bytes | None,
        "`two_versions_bytes` if nothing were shared.",
        t.Title("two versions without sharing"),
    ]
    puts: Annotated[t.Puts | None, t.Rank(25)]
    inserts: Annotated[t.Inserts | None, t.WIDE]
    updates: Annotated[t.Updates | None, t.WIDE]
    same_value_puts: Annotated[t.SameValuePuts | None, t.Title("puts of the same value")]
    same_value_put_bytes: Annotated[
        t.Bytes | None, "Key and value bytes of `same_value_puts`.", t.Title("bytes of these puts")
    ]
    removals: t.Removals | None
    absent_removals: Annotated[
        t.Count | None, "Records that removed a key that was not there.", t.WIDE
    ]
    stores_read: Annotated[t.Count, "Stores of partitions that can restore the version."]
    stores: Annotated[t.Count, "Stores of partitions, in all."]
    changes_read: Annotated[
        t.Count, "Stores of partitions whose change since the version before is known."
    ]
    history: Annotated[
        t.Text,
        "What can be read: all (`complete`), no change (`from snapshot`), the changes of "
        "some partitions (`some changes`), or the rows of some alone (`some partitions`).",
        t.Rank(26),
    ]


class RewriteRow(
    t.StoreRow, table="rewrites", empty="none: the newest version put no key that is still there"
):
    """Keys of one store that were put, with any value, in each of the N newest versions.

    `same_value_puts` of `versions` counts puts without a change. `sql` names their keys: view
    `op0_default_changes`, event `same_value`.
    """

    operator_name: t.OperatorName | None
    newest_versions: Annotated[t.Count, "N: 1, 2, 3, 5, 10, 20, 50 or 100.", t.Rank(11)]
    keys: Annotated[t.Keys, t.Rank(12)]
    share_of_rows: Annotated[
        t.Share | None, "Their share of the live rows of the store.", t.Rank(13)
    ]


# names of the fields of :class:`VersionFacts` that are columns: all plain numbers, except those of
# stores
_COUNTED = tuple(name for name in COUNTS if name not in ("stores", "rebased", "empty_deltas"))
# Names of all columns with numbers of a version: plain fields of :class:`VersionFacts`, and two
# of its properties. These are the bytes of the version and the previous one, with each shared
# object counted once, and as if nothing were shared.
_MEASURED = (*_COUNTED, "two_versions_bytes", "two_versions_unshared_bytes")
# columns with numbers of a version that are known even if it was loaded from a snapshot alone
_NOT_OF_CHANGES = ("rows", "key_bytes", "value_bytes", "raw_bytes", "delta_bytes", "snapshot_bytes")
# columns with numbers of a version that are null if it was loaded from a snapshot alone, because
# the version before is not known
_OF_CHANGES = tuple(name for name in _MEASURED if name not in _NOT_OF_CHANGES)
# columns of the command that are null if the version before is not known
_CHANGES = tuple(name for name in _OF_CHANGES if name != "previous_row_bytes")
# columns of the table of data ``versions``
VERSION_COLUMNS = (
    *t.PartitionRow.columns(),
    *(t.Column(name, t.Unit.ID) for name in ("version", "batch_id")),
    *(t.Column(name, t.Unit.TIME_MS) for name in ("batch_timestamp_ms", "watermark_ms")),
    t.Column("from_snapshot", t.Unit.FLAG),
    *(t.Column(n, t.Unit.BYTES if n.endswith("bytes") else t.Unit.COUNT) for n in _MEASURED),
)


def version_rows(request: FactTableTask) -> RowsOfFacts:
    """Return a function that makes a row of each version, as a dictionary, from a task's facts.

    ``request`` has the task, which reads one partition. Columns are None if they are not known, or
    if they are about shared objects and the executors keep no rows as objects.
    """
    clocks = {clock.batch_id + 1: clock for clock in request.task.clocks}

    def row(observation: Observed[VersionFacts]) -> dict[str, Any]:
        """Return the row of one version of one store of a partition, by column."""
        store, facts, clock = observation.store, observation.fact, clocks.get(observation.version)
        return {
            **vars(store),
            "operator_name": request.operator_name,
            "version": observation.version,
            "batch_id": observation.version - 1,
            "batch_timestamp_ms": clock and clock.timestamp_ms,
            "watermark_ms": (clock and clock.watermark_ms) or None,
            "from_snapshot": bool(facts.rebased),
            **fields_of(facts, *_MEASURED),
            **(dict.fromkeys(_OF_CHANGES) if facts.rebased else {}),
            **no_objects,
        }

    has_maps = provider_by_name(request.task.provider).keeps_maps
    no_objects = dict.fromkeys(() if has_maps else _OF_OBJECTS)
    return lambda facts: [row(observation) for observation in facts.of(VersionFacts)]


# table of data, for programs on Spark and for SQL, with the sizes and changes of each version
VERSIONS_DATA = fact_table(
    *("sharing", "versions"),
    "Sizes, changes and sharing of each version, one row for each store and partition.",
    *(VERSION_COLUMNS, version_rows),
    request=Request(),
)

# facts (results of reading state files) that the command requests of its tasks: those of each
# version, and the number of live rows by how many versions in a row put them
FACTS = Request(rewrites=True)


@analysis(
    uses=(REPLAY,),
    tables=(VersionRow, RewriteRow),
    facts=FACTS,
    data_tables=(VERSIONS_DATA,),
    many=True,
)
def sharing(
    path: str | Opened,
    options: Options | None = None,
    *,
    by: Annotated[
        str, Option("What each row of the table stands for.", choices=tuple(PLACES))
    ] = "store",
) -> Report:
    """Each version: new, changed, same-value and removed rows, and the rows that versions share.

    All versions that the files can restore are shown, up to --batch; no option sets the first.
    Counts are exact; column ``history`` says if they are of some partitions only. An executor keeps
    two versions (HDFS-backed state), and shared objects once: key and value of an untouched row,
    the key of a row put again.
    """
    run = Run.start(path, options)
    facts = run.facts(replace(FACTS, partitions=by == "partition"))
    return sharing_report(run.judge(facts), by)


def sharing_report(judged: Judged, by: str) -> Report:
    """Return the report with one row for each version of each group, oldest version first.

    ``by`` says what a group is: ``operator``, ``store`` or ``partition``. A second table counts the
    keys of each store that all of the newest versions put.
    """
    rows, columns = list(_version_rows(judged, by)), VersionRow.columns(without=PLACES[by])
    title = "changes of each version, and rows shared with the version before"
    table = VersionRow.table(title, rows, columns=columns)
    note = SHARING_NOTE if judged.checkpoint.provider.keeps_maps else ON_DISK_NOTE
    return judged.report("sharing", (table, _rewrites(judged)), footnotes=(note,))


# numbers N for which the table of rewrites counts the keys that each of the newest N versions put
REWRITTEN = (1, 2, 3, 5, 10, 20, 50, 100)


def _rewrites(judged: Judged) -> t.Table:
    """Return the table of the number of keys that each of the newest N versions put.

    It has a row for each store and each N of :data:`REWRITTEN`; rows without keys are left out.
    """
    rows = []
    merged = judged.facts.by_store(judged.version)
    for name, runs in sorted(judged.facts.sums(RewriteRuns).items()):
        live = merged[name][judged.version].rows
        for n in REWRITTEN:
            keys = sum(count for length, count in runs.lengths.counts.items() if length >= n)
            if keys:
                ids, share = store_ids(judged.checkpoint, name), keys / live if live else None
                rows.append(RewriteRow(**ids, newest_versions=n, keys=keys, share_of_rows=share))
    return RewriteRow.table("keys written in every one of the newest versions", rows)


def _version_rows(judged: Judged, by: str) -> Iterator[VersionRow]:
    """Yield a row for each version of each operator, store or partition, as ``by`` says.

    Columns about changes are None if some of its stores were loaded from a snapshot alone.
    """
    checkpoint = judged.checkpoint
    unknown = dict.fromkeys(() if checkpoint.provider.keeps_maps else _OF_OBJECTS)
    for group, versions in facts_by_place(judged.facts, by).items():
        counts = whole_stores(checkpoint, versions)
        for version, version_facts in sorted(versions.items()):
            # A sum over some of the partitions would look like all of it.
            changes = values_of_fields(version_facts, _CHANGES, is_known=not version_facts.rebased)
            yield VersionRow(
                **size_columns(checkpoint, group, version, version_facts),
                **(changes | unknown),
                stores_read=version_facts.stores,
                stores=counts[version],
                changes_read=version_facts.stores - version_facts.rebased,
                history=_history(version_facts, counts[version]),
            )


def _history(facts: VersionFacts, stores: int) -> str:
    """Return in words which part of a version is known.

    ``stores`` is the number of stores of partitions that a complete version has. The results are
    ``complete``, ``some partitions``, ``from snapshot`` (no changes are known) and ``some changes``
    (those of some stores are).
    """
    if facts.stores < stores:
        return "some partitions"
    if not facts.rebased:
        return "complete"
    if facts.rebased == facts.stores:
        return "from snapshot"
    return "some changes"
