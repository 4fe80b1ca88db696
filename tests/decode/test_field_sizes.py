"""Bytes of rows by field."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.field_sizes import FieldBytes, RowBytes, measure_rows, walk_nested_fields
from inspector.sparktypes.ddl import parse_ddl
from tests import encode
from tests.attributes import attributes
from tests.decode.spans import spans_of

SCHEMA = parse_ddl("n bigint, u string, d decimal(38,2), s struct<a: int, b: string>, i interval")


def measured(*rows: bytes) -> RowBytes:
    """Measure rows of the schema."""
    return measure_rows(SCHEMA, *spans_of(rows))


def total(result: RowBytes) -> int:
    """Return the sum of all measured bytes."""
    of_fields: int = sum(attributes(result.fields, "bytes"))
    return result.null_bit_bytes + result.other_bytes + of_fields


def test_fixed_and_variable_bytes_of_each_field() -> None:
    row = encode.row(SCHEMA, (7, "hello", Decimal("1.50"), (1, "x"), (1, 2, 3)))
    result = measured(row)
    assert (result.rows, result.null_bit_bytes, result.other_bytes) == (1, 8, 0)
    assert result.fields == (
        FieldBytes(0, 8, 0, 0),
        FieldBytes(0, 8, 5, 3),
        FieldBytes(0, 8, 2, 14),  # 150: its top bit needs a second byte
        FieldBytes(0, 8, 8 + 16 + 8, 0),
        FieldBytes(0, 8, 16, 0),
    )
    assert total(result) == len(row)


def test_null_fields_count_reserved_bytes() -> None:
    row = encode.row(SCHEMA, (None, None, None, None, None))
    result = measured(row)
    assert result.fields == (
        FieldBytes(1, 8, 0, 0),
        FieldBytes(1, 8, 0, 0),
        FieldBytes(1, 8, 0, 16),  # decimal
        FieldBytes(1, 8, 0, 0),
        FieldBytes(1, 8, 0, 16),  # interval
    )
    assert total(result) == len(row)


def test_null_of_the_ninth_field_is_counted() -> None:
    schema = parse_ddl(", ".join(f"f{number} int" for number in range(9)))
    rows = [encode.row(schema, (*range(8), last)) for last in (None, 1, 1)]
    assert measure_rows(schema, *spans_of(rows)).fields == (
        *[FieldBytes(0, 24, 0, 0)] * 8,
        FieldBytes(1, 24, 0, 0),
    )


def test_bytes_of_a_too_short_row_are_other_bytes() -> None:
    result = measured(b"\0" * 16, encode.row(SCHEMA, (1, "", None, None, None)))
    assert result.rows == 2
    assert result.other_bytes >= 16
    assert result.null_bit_bytes == 8


def test_row_bytes_add() -> None:
    item = encode.row(SCHEMA, (1, "abc", None, (2, "y"), None))
    two = encode.row(SCHEMA, (None, "", Decimal(5), None, (1, 1, 1)))
    assert measured(item, two) == measured(item) + measured(two)
    nothing, empty = RowBytes(), RowBytes.empty(SCHEMA)
    assert measured(item) + nothing == nothing + measured(item) == measured(item)
    assert measured(item) + empty == empty + measured(item) == measured(item)


@given(st.lists(st.binary(max_size=20).map(lambda data: data * 8), max_size=4))
def test_bytes_of_any_rows_sum_to_their_size(rows: list[bytes]) -> None:
    assert total(measured(*rows)) == sum(map(len, rows))


DEEP = parse_ddl("a int, s struct<b: struct<c: string, d: int>, e: string>, z struct<y: int>")


def deep(*rows: bytes) -> dict[str, FieldBytes]:
    result = measure_rows(DEEP, *spans_of(rows))
    return dict(zip(["s.b", "s.b.c", "s.b.d", "s.e", "z.y"], result.nested, strict=True))


def test_bytes_of_nested_struct_fields() -> None:
    rows = [
        encode.row(DEEP, (1, (("hello", 2), "x"), (3,))),
        encode.row(DEEP, (1, ((None, 2), "yy"), None)),
        encode.row(DEEP, (1, None, (4,))),
    ]
    assert deep(*rows) == {
        "s.b": FieldBytes(0, 16, 2 * (8 + 16) + 8, 0),
        "s.b.c": FieldBytes(1, 16, 5, 3),
        "s.b.d": FieldBytes(0, 16),
        "s.e": FieldBytes(0, 16, 3, 13),
        "z.y": FieldBytes(0, 16),
    }
    assert attributes(walk_nested_fields(DEEP), "name", "within", "ordinal") == [
        ("s.b", "s", 1),
        ("s.b.c", "s.b", 1),
        ("s.b.d", "s.b", 1),
        ("s.e", "s", 1),
        ("z.y", "z", 2),
    ]


@given(st.binary(max_size=200), st.integers(0, 200))
def test_any_bytes_give_nested_field_sizes(junk: bytes, cut: int) -> None:
    row = encode.row(DEEP, (1, (("hello", 2), "x"), (3,)))
    result = deep(row[:cut] + junk, junk)
    assert len(result) == 5
    assert min(attributes(result.values(), "bytes")) >= 0


def test_nested_field_bytes_add() -> None:
    row = encode.row(DEEP, (1, (("hello", 2), "x"), (3,)))
    item = measure_rows(DEEP, *spans_of([row]))
    assert (item + item).nested == tuple(deep(row, row).values())
    assert RowBytes.empty(DEEP) + item == item == RowBytes() + item
