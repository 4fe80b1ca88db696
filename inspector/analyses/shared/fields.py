"""``sizes --by field``: where the UnsafeRow bytes of a version are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inspector.analyses.shared.common import STORE, count, identity, operator_names, size
from inspector.analyses.shared.declare import TableSpec
from inspector.analyses.shared.part import part_of
from inspector.analyses.shared.words import add_problems
from inspector.decode.field_sizes import FieldBytes, RowBytes, nested_fields
from inspector.discovery.checkpoint import Checkpoint
from inspector.merge.collect import Facts
from inspector.model import Problem, StoreName
from inspector.operators.rule import RowPart
from inspector.render.report import Column, Report, Unit
from inspector.sparktypes import (
    SLOT_BYTES,
    DataType,
    StructType,
    to_ddl,
    unique_names,
    widen_timeout,
)

_PARTS = ("null_bit_bytes", "word_bytes", "variable_bytes", "padding_bytes", "other_bytes")
FIELDS = TableSpec(
    "fields",
    "with `--by field`: what one field of the keys or values of one store takes",
    (
        *STORE,
        Column("row"),
        Column("field", doc="The field's name; of a field in a struct its path."),
        Column("within", doc="The field whose bytes are these too; null at the top level."),
        Column("type"),
        count("rows", "Rows; of a field in a struct, those in which the struct is not null."),
        count("nulls"),
        *map(size, _PARTS),
        size("bytes", "Bytes of the field over all rows: the sum of the parts."),
        Column("share", Unit.SHARE, doc="Its part of the store's row bytes."),
    ),
    empty="this version has no rows, or no store has a schema",
    wide=frozenset(("operator_name", "within")),
    important="field bytes share row store_name type operator_id rows nulls variable_bytes",
)
FOOTNOTE = (
    "Every field has a word of 8 bytes; strings, structs, arrays and the like have a variable part "
    "too, padded to whole words. The fields of a struct, such as groupState.pages, have lines of "
    "their own, and their bytes are counted in the line of the struct too; the bytes of all other "
    "lines add up to the row bytes. All exact."
)
MeasuredFields = dict[tuple[StoreName, RowPart], tuple[StructType, RowBytes]]
"""Store and ``key`` or ``value`` -> its schema and what its rows take."""


def fields_report(
    checkpoint: Checkpoint, version: int, facts: Facts, listed: Sequence[Problem]
) -> Report:
    """What each field of each store takes in a version, as the workers measured.

    Args:
        checkpoint: what was found.
        version: the judged state version.
        facts: of :func:`inspector.passes.run.run_fields`.
        listed: what is wrong by the listing alone.
    """
    problems = list(listed)
    add_problems(facts.problems, problems)
    measured = _measured(checkpoint, facts)
    table = FIELDS.table(f"bytes of version {version} by field", list(_rows(checkpoint, measured)))
    total = sum(_bytes(row_bytes) for _, row_bytes in measured.values())
    summary = identity(checkpoint, version) | {"row_bytes": total}
    return Report(
        "sizes",
        checkpoint.root,
        summary,
        (table,),
        problems=problems,
        footnotes=(FOOTNOTE,),
        part=part_of(checkpoint, version),
    )


def _measured(checkpoint: Checkpoint, facts: Facts) -> MeasuredFields:
    """By operator and store, in their order."""
    measured: MeasuredFields = {}
    for operator in checkpoint.operators:
        for store, schema in operator.schemas.items():
            place = StoreName(operator.operator_id, store)
            both = ((RowPart.KEY, schema.key), (RowPart.VALUE, widen_timeout(schema.value)))
            for side, of_side in both:
                if (place, side) in facts.fields:
                    measured[place, side] = (of_side, facts.fields[place, side])
    return measured


def _rows(checkpoint: Checkpoint, measured: MeasuredFields) -> Iterator[dict[str, Any]]:
    names = operator_names(checkpoint)
    totals: dict[StoreName, int] = {}
    for (place, _), (_, found) in measured.items():
        totals[place] = totals.get(place, 0) + _bytes(found)
    for (place, side), (schema, found) in measured.items():
        if not found.rows:
            continue
        common = {
            "operator_id": place[0],
            "operator_name": names.get(place[0]),
            "store_name": place[1],
            "row": side.value,
            "rows": found.rows,
        }
        for line in _lines(schema, found):
            yield common | line | {"share": _share(line["bytes"], totals[place])}
        overhead = found.null_bit_bytes + found.other_bytes
        yield common | {
            "field": "(null bits)" if not found.other_bytes else "(null bits, other)",
            "null_bit_bytes": found.null_bit_bytes,
            "other_bytes": found.other_bytes,
            "bytes": overhead,
            "share": _share(overhead, totals[place]),
        }


def _kind(data_type: DataType) -> str:
    text = to_ddl(data_type)
    return f"struct<{text}>" if isinstance(data_type, StructType) else text


def _lines(schema: StructType, found: RowBytes) -> Iterator[dict[str, Any]]:
    """A line of each field, followed by those of the fields that are in it."""
    nested: dict[int, list[dict[str, Any]]] = {}
    for below, one in zip(nested_fields(schema), found.nested, strict=True):
        # A struct that is null has no row, and so no words of its fields.
        rows = one.word_bytes // SLOT_BYTES
        line = _line(below.name, below.data_type, one) | {"within": below.within, "rows": rows}
        nested.setdefault(below.ordinal, []).append(line)
    names = unique_names(schema.fields)
    for i, (name, field, one) in enumerate(zip(names, schema.fields, found.fields, strict=True)):
        yield _line(name, field.data_type, one)
        yield from nested.get(i, ())


def _line(name: str, data_type: DataType, one: FieldBytes) -> dict[str, Any]:
    return {
        "field": name,
        "type": _kind(data_type),
        "nulls": one.nulls,
        "word_bytes": one.word_bytes,
        "variable_bytes": one.variable_bytes,
        "padding_bytes": one.padding_bytes,
        "bytes": one.bytes,
    }


def _bytes(found: RowBytes) -> int:
    return found.null_bit_bytes + found.other_bytes + sum(one.bytes for one in found.fields)


def _share(amount: int, total: int) -> float | None:
    return amount / total if total else None
