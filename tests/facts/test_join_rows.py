"""A join's counters compared with its rows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from inspector.facts.join_rows import JoinCheck, compare_index, compare_side
from inspector.operators.join import COUNT
from inspector.operators.rule import Clock, ExpiryField, RowPart
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from inspector.state.replay import StateMap
from tests import cases, encode
from tests.cases import Step, replay
from tests.encode import Record

NUMBER = parse_ddl("value bigint")
VALUE = parse_ddl("ts timestamp")
TIME = ExpiryField(Clock.WATERMARK, RowPart.VALUE, (0,), 1000, True, "ts")


def side(
    key: str, counts: Sequence[tuple[tuple[object, ...], int]], rows: Sequence[tuple[object, ...]]
) -> JoinCheck:
    """Compare counters by key with rows of the key's fields, the index and the event time."""
    schema = parse_ddl(key)
    with_index = StructType((*schema.fields, *parse_ddl("index bigint").fields))
    counters: list[Record] = [
        (encode.row(schema, fields), encode.row(NUMBER, (n,))) for fields, n in counts
    ]
    values: list[Record] = [
        (encode.row(with_index, row[:-1]), encode.row(VALUE, (row[-1],))) for row in rows
    ]
    counted, _, _ = replay([Step(counters)], cases.tracked(COUNT, schema, NUMBER))
    result, _, _ = replay([Step(values)], cases.tracked(TIME, with_index, VALUE))
    return compare_side(counted, result, with_index)


def test_join_counters_match_keys_of_any_length_and_null() -> None:
    counts = [(("a", 1), 1), (("a longer one", 2), 2), ((None, None), 1), (("", 3), 1)]
    rows = [("a", 1, 0, 0), (None, None, 0, 0), ("", 3, 0, 0)]
    rows += [("a longer one", 2, 0, 0), ("a longer one", 2, 1, 0)]
    assert side("s string, n int", counts, rows) == JoinCheck(rows=5)


def test_join_rows_missing_from_or_absent_in_counters() -> None:
    counts = [(("a",), 3), (("b",), 1), (("c",), 2)]
    rows = [("a", 0, 0), ("a", 2, 0), ("b", 0, 0), ("b", 1, 0), ("d", 0, 0)]
    result = side("s string", counts, rows)
    assert result == JoinCheck(missing_rows=3, counters_without_rows=1, dangling_rows=2, rows=5)


@pytest.mark.parametrize("count", [62, 63, 64, 65])
def test_index_field_may_need_one_more_null_bit_word(count: int) -> None:
    schema = ", ".join(["n bigint", "s string"] * 33)
    names = ", ".join(schema.split(", ")[:count])
    key = (7, "text") * 33
    rows = [(*key[:count], 0, 0), (*key[:count], 1, 0)]
    assert side(names, [(key[:count], 2)], rows) == JoinCheck(rows=2)


def test_rows_of_another_schema_are_dangling() -> None:
    counters, _, _ = replay([Step([])], cases.tracked(COUNT, parse_ddl("a long"), NUMBER))
    wide = parse_ddl("a long, b long, c long, index long")
    assert compare_side(counters, counters, wide) == JoinCheck()
    short, _, _ = replay([Step([(bytes(8), bytes(8)), (bytes(3), bytes(8))])])
    assert compare_side(counters, short, wide) == JoinCheck(dangling_rows=2, rows=2)
    assert compare_side(counters, short, StructType(())) == JoinCheck(dangling_rows=2, rows=2)


def test_time_index_has_an_entry_for_each_row() -> None:
    def state(*keys: bytes) -> StateMap:
        result, *_ = replay([Step(list(dict.fromkeys(keys, b"v" * 8).items()))])
        return result

    rows = state(b"a", b"b", b"c")
    assert compare_index(state(b"a", b"b", b"c"), rows) == JoinCheck(rows=3)
    disagree = compare_index(state(b"a", b"x", b"y"), rows)
    assert disagree == JoinCheck(missing_rows=2, dangling_rows=2, rows=3)
