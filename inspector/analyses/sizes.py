"""``sizes``: rows and bytes of a version, by store, operator, partition or field."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

from inspector import sparktypes
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Judged, operator_names, store_ids, store_schemas
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import REPLAY, Option, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import selected_tasks
from inspector.analyses.shared.words import add_problems
from inspector.decode.field_sizes import FieldBytes, RowBytes, walk_nested_fields
from inspector.discovery.checkpoint import Checkpoint, state_file_bytes
from inspector.discovery.tasks import Request
from inspector.facts.size_distributions import SizeCounts
from inspector.facts.versions import VersionFacts
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.model import StoreName
from inspector.operators.rule import RowPart
from inspector.passes.worker import run_fields
from inspector.render import tabular as t
from inspector.render.plain import fields_of
from inspector.render.report import Report
from inspector.sparktypes.ddl import to_ddl
from inspector.sums import group_by, sum_by_key, sum_of

Place = tuple[int, str, int]  # operator id, store name, partition id; "" and -1 for all

# value of ``--by``, which says what a row of a table is about -> columns that the table then lacks
PLACES = {"operator": ("store_name", "partition_id"), "store": ("partition_id",), "partition": ()}

# end of the descriptions of columns with percentiles of key bytes
_OF_KEYS = "of the key bytes of a row, by nearest rank."
# end of the descriptions of columns with percentiles of value bytes
_OF_VALUES = "of the value bytes of a row, by nearest rank."


class SizeRow(t.StoreRow, table="sizes", empty="no store has rows of this version"):
    """The rows of one store, operator or partition as of `--batch`."""

    operator_name: Annotated[t.OperatorName | None, t.Rank(22)]
    partition_id: Annotated[t.PartitionId | None, t.Rank(15)]
    version: Annotated[t.Version, t.WIDE]
    batch_id: Annotated[t.BatchId, t.WIDE]
    rows: Annotated[t.Rows, t.Rank(16)]
    key_bytes: Annotated[t.Bytes, "Key bytes of all rows.", t.Rank(24)]
    value_bytes: Annotated[t.Bytes, "Value bytes of all rows.", t.Rank(23)]
    row_bytes: Annotated[t.RowBytes, t.Rank(17)]
    key_bytes_p50: Annotated[t.Bytes | None, f"Median {_OF_KEYS}", t.WIDE]
    key_bytes_p90: Annotated[t.Bytes | None, f"90th percentile {_OF_KEYS}", t.WIDE]
    key_bytes_p99: Annotated[t.Bytes | None, f"99th percentile {_OF_KEYS}", t.WIDE]
    key_bytes_max: t.KeyBytesMax | None
    value_bytes_p50: Annotated[t.Bytes | None, f"Median {_OF_VALUES}", t.WIDE]
    value_bytes_p90: Annotated[t.Bytes | None, f"90th percentile {_OF_VALUES}", t.WIDE]
    value_bytes_p99: Annotated[t.Bytes | None, f"99th percentile {_OF_VALUES}", t.WIDE]
    value_bytes_max: t.ValueBytesMax | None
    row_bytes_p50: Annotated[t.RowBytesP50 | None, t.Rank(25)]
    row_bytes_p90: t.RowBytesP90 | None
    row_bytes_p99: Annotated[t.RowBytesP99 | None, t.Rank(26)]
    row_bytes_max: Annotated[t.RowBytesMax | None, t.Rank(21)]


def size_columns(
    checkpoint: Checkpoint, group: Place, version: int, facts: VersionFacts
) -> dict[str, Any]:
    """Return the columns of :class:`SizeRow` by name for one operator, store or partition.

    They are its ids, the version, and the rows, bytes and percentiles of ``facts``.
    """
    columns: dict[str, Any] = {
        "operator_id": group[0],
        "operator_name": operator_names(checkpoint).get(group[0]),
        "store_name": group[1] or None,
        "partition_id": None if group[2] < 0 else group[2],
        "version": version,
        "batch_id": version - 1,
        **fields_of(facts, "rows", "key_bytes", "value_bytes", "row_bytes"),
    }
    for part in ("key", "value", "row"):
        sizes: SizeCounts = getattr(facts, f"{part}_sizes")
        for percent in (50, 90, 99):
            columns[f"{part}_bytes_p{percent}"] = sizes.quantile(percent / 100)
        columns[f"{part}_bytes_max"] = sizes.max
    return columns


def size_table(judged: Judged, by: str = "store") -> t.Table:
    """Return the table of rows and bytes of the judged version, with a row for each group.

    ``by`` says what a group is: ``operator``, ``store`` or ``partition``.
    """
    version, checkpoint = judged.version, judged.checkpoint
    groups = facts_by_place(judged.facts, by, version).items()
    rows = [
        SizeRow(**size_columns(checkpoint, g, version, facts_by_version[version]))
        for g, facts_by_version in groups
    ]
    columns = SizeRow.columns(without=PLACES[by])
    return SizeRow.table(f"sizes of version {version} by {by}", rows, columns=columns)


def facts_by_place(
    facts: Facts, by: str, only: int | None = None
) -> dict[Place, dict[int, VersionFacts]]:
    """Return the facts of versions, summed for each operator, store or partition, as ``by`` says.

    The first key is the operator, store or partition, in ascending order; the second the version.
    ``only`` selects one version; None selects all.
    """
    groups: dict[Place, dict[int, list[VersionFacts]]] = {}
    for (store, version), version_facts in facts.versions.items():
        if only in (None, version):
            name = "" if by == "operator" else store.store_name
            group = store.operator_id, name, store.partition_id if by == "partition" else -1
            groups.setdefault(group, {}).setdefault(version, []).append(version_facts)
    return {
        group: {version: sum_of(parts) for version, parts in versions.items()}
        for group, versions in sorted(groups.items())
    }


class FieldRow(
    t.StoreRow, table="fields", empty="this version has no rows, or no store has a schema"
):
    """With `--by field`: what one field of the keys or values of one store takes."""

    row: Annotated[t.Text, "`key` or `value`.", t.Rank(4)]
    field: Annotated[t.Text, "The field's name; of a field in a struct its path.", t.Rank(1)]
    within: Annotated[
        t.Text | None, "The struct whose bytes include these; null at the top level.", t.WIDE
    ] = None
    type: Annotated[t.Text | None, "The field's type as DDL.", t.Rank(11)] = None
    rows: Annotated[
        t.Count, "Rows; of a field in a struct, those in which the struct is not null.", t.Rank(21)
    ]
    nulls: Annotated[t.Count | None, "Rows in which the field is null.", t.Rank(22)] = None
    null_bit_bytes: Annotated[
        t.Bytes | None, "Bytes of the bits that say which fields are null."
    ] = None
    word_bytes: Annotated[t.Bytes | None, "Bytes of the fixed part: 8 for each field."] = None
    variable_bytes: Annotated[
        t.Bytes | None, "Bytes of the variable part: text, structs, arrays, maps.", t.Rank(23)
    ] = None
    padding_bytes: Annotated[
        t.Bytes | None, "Bytes that fill the variable part up to whole words."
    ] = None
    other_bytes: Annotated[t.Bytes | None, "Bytes that belong to no field."] = None
    bytes: Annotated[t.Bytes, "Bytes of the field over all rows: the sum of the parts.", t.Rank(2)]
    share: Annotated[t.Share | None, "Its part of the store's row bytes.", t.Rank(3)]


# footnote of the table by field: what the bytes of a line include
FOOTNOTE = (
    "Every field has a word of 8 bytes; strings, structs, arrays and the like have a variable part "
    "too, padded to whole words. The fields of a struct, such as groupState.pages, have lines of "
    "their own, and their bytes are counted in the line of the struct too; the bytes of all other "
    "lines add up to the row bytes. All exact."
)
# store, and its keys or its values -> their schema, and the measured bytes of their fields
MeasuredFields = dict[tuple[StoreName, RowPart], tuple[sparktypes.StructType, RowBytes]]


def fields_report(judged: Judged) -> Report:
    """Return the report on the bytes of each field of the keys and values of each store.

    The facts must be those of :func:`inspector.passes.worker.run_fields`. Stores without a schema
    or without rows are left out.
    """
    measured: MeasuredFields = {}
    for name, schema in store_schemas(judged.checkpoint).items():
        widened = sparktypes.widen_timeout(schema.value)
        for side, schema_type in ((RowPart.KEY, schema.key), (RowPart.VALUE, widened)):
            if (name, side) in judged.facts.fields:
                measured[name, side] = (schema_type, judged.facts.fields[name, side])
    rows = list(_rows(judged.checkpoint, measured))
    table = FieldRow.table(f"bytes of version {judged.version} by field", rows)
    total = sum(_bytes(row_bytes) for _, row_bytes in measured.values())
    return judged.report("sizes", (table,), {"row_bytes": total}, footnotes=(FOOTNOTE,))


def _rows(checkpoint: Checkpoint, measured: MeasuredFields) -> Iterator[FieldRow]:
    """Yield a row for each field of the keys and values of each store.

    After the fields of the keys, and after those of the values, comes a row for the bytes that
    belong to no field, such as null bits.
    """
    totals = sum_by_key(
        (name, _bytes(side_bytes)) for (name, _), (_, side_bytes) in measured.items()
    )
    for (store_name, side), (schema, row_bytes) in measured.items():
        if not row_bytes.rows:
            continue
        store, total = store_ids(checkpoint, store_name), totals[store_name]
        for name, data_type, line, path in _lines(schema, row_bytes):
            ddl = to_ddl(data_type)
            yield FieldRow(
                **store,
                row=side.value,
                field=name,
                within=path,
                type=f"struct<{ddl}>" if isinstance(data_type, sparktypes.StructType) else ddl,
                # A struct that is null has no row, and so no words of its fields.
                rows=row_bytes.rows if path is None else line.word_bytes // sparktypes.SLOT_BYTES,
                **vars(line),
                bytes=line.bytes,
                share=_share(line.bytes, total),
            )
        overhead = row_bytes.null_bit_bytes + row_bytes.other_bytes
        yield FieldRow(
            **store,
            row=side.value,
            field="(null bits)" if not row_bytes.other_bytes else "(null bits, other)",
            rows=row_bytes.rows,
            null_bit_bytes=row_bytes.null_bit_bytes,
            other_bytes=row_bytes.other_bytes,
            bytes=overhead,
            share=_share(overhead, total),
        )


def _lines(
    schema: sparktypes.StructType, row_bytes: RowBytes
) -> Iterator[tuple[str, sparktypes.DataType, FieldBytes, str | None]]:
    """Yield (name, type, bytes, parent) for each field, followed by the fields nested in it.

    ``row_bytes`` has the measured bytes of the fields of ``schema``. ``parent`` is the name of the
    struct that has the field; None at the top level.
    """
    pairs = zip(walk_nested_fields(schema), row_bytes.nested, strict=True)
    nested = group_by(pairs, lambda pair: pair[0].ordinal)
    names = sparktypes.unique_names(schema.fields)
    for i, (name, attribute) in enumerate(zip(names, row_bytes.fields, strict=True)):
        yield name, schema.fields[i].data_type, attribute, None
        for child, inner in nested.get(i, ()):
            yield child.name, child.data_type, inner, child.within


def _bytes(row_bytes: RowBytes) -> int:
    """Return the bytes of the measured rows: of all fields, null bits and other bytes."""
    overhead = row_bytes.null_bit_bytes + row_bytes.other_bytes
    return overhead + sum(field.bytes for field in row_bytes.fields)


def _share(amount: int, total: int) -> float | None:
    """Return ``amount`` divided by ``total``; None if the total is 0."""
    return amount / total if total else None


# footnote of the tables of sizes: what row bytes are, and how files and heap differ from them
SIZES_NOTE = (
    "Row bytes are the UnsafeRow bytes of the keys and values that Spark holds for this version, "
    "exact; P50, P90 and P99 are percentiles over the rows. The files are smaller: they are "
    "compressed, and a delta holds only what changed. The JVM needs more: objects, arrays and a "
    "map node for each row."
)
FIELD = "field"  # value of ``--by`` for the table by field
# facts (results of reading state files) that the command requests of its tasks: those of each
# version, and no others
FACTS = Request()


@analysis(uses=(REPLAY,), tables=(SizeRow, FieldRow), facts=FACTS, many=True)
def sizes(
    path: str | Opened,
    options: Options | None = None,
    *,
    by: Annotated[
        str, Option("What each row of the table stands for.", choices=(*PLACES, FIELD))
    ] = "store",
) -> Report:
    """Exact rows, key bytes and value bytes with their quantiles, or the bytes of each field.

    The bytes are those of UnsafeRows, counted by replaying the files: not of the compressed files
    (``files``), and not of the heap (``memory``). Key, value and row bytes have the quantiles p50
    (median), p90, p99 and max: nine of ten keys have at most ``key_bytes_p90`` bytes. A max far
    above p50 means few large rows: ``inspector top`` names them. Partitions that cannot be read are
    left out (exit code 4).
    """
    run = Run.start(path, options)
    if by == FIELD:
        field_facts = run.facts_of(lambda: selected_tasks(run), partial(run.map, run_fields))
        problems = list(run.listed)
        add_problems(field_facts.problems, problems)
        return fields_report(replace(run.judge(field_facts), problems=problems))
    judged = run.judge(run.facts(FACTS))
    total = judged.total
    summary = judged.coverage | {
        "state_file_bytes": state_file_bytes(judged.checkpoint),
        "rows": total.rows,
        "row_bytes": total.row_bytes,
    }
    return judged.report("sizes", (size_table(judged, by),), summary, footnotes=(SIZES_NOTE,))
