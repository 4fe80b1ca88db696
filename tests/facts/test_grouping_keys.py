"""Grouping keys have one id in all stores of an operator."""

from __future__ import annotations

from itertools import product, repeat

import numpy as np
import pytest

from inspector.facts.variable_entries import NOBODY, GroupingKeys, KeyPlace
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from tests import cases, encode
from tests.cases import Step, replay
from tests.encode import Record

KEY = parse_ddl("user string, n int")
IN_MAP = parse_ddl("key struct<user: string, n: int>, userKey struct<value: string>")
IN_LIST = StructType((*KEY.fields, *parse_ddl("index bigint").fields))
USERS = [("a", 1), ("a longer name than a word", 2), (None, None), ("", 3)]


def owners(
    keys: GroupingKeys, location: KeyPlace, schema: StructType, rows: list[bytes]
) -> list[int]:
    records: list[Record] = list(zip(rows, repeat(b""), strict=False))
    state, _, _ = replay([Step(records)])
    result: list[int] = keys.owners(state, location, schema).tolist()
    return result


@pytest.mark.parametrize("kernel", cases.KERNELS)
def test_grouping_key_has_one_id_in_values_maps_and_lists(kernel: str) -> None:
    with cases.kernel_of(kernel):
        keys = GroupingKeys()
        complete = encode.rows(KEY, USERS)
        assert owners(keys, KeyPlace.WHOLE, KEY, complete) == [0, 1, 2, 3]
        in_map = encode.rows(IN_MAP, product(USERS, [("p",)]))
        in_map += encode.rows(IN_MAP, product(USERS, [(None,)]))
        assert owners(keys, KeyPlace.FIRST, IN_MAP, in_map) == [0, 1, 2, 3, 0, 1, 2, 3]
        in_list = [encode.row(IN_LIST, (*user, 0)) for user in USERS]
        in_list += [encode.row(IN_LIST, (*user, 1)) for user in USERS]
        assert owners(keys, KeyPlace.INDEXED, IN_LIST, in_list) == [0, 1, 2, 3, 0, 1, 2, 3]
        assert len(keys) == 4
        assert keys.keys(np.array([2, 0])) == [complete[2], complete[0]]
        second = encode.row(IN_MAP, (("new", 1), ("p",)))
        assert owners(keys, KeyPlace.FIRST, IN_MAP, [second]) == [4]


def test_rows_of_another_schema_have_no_grouping_key() -> None:
    keys = GroupingKeys()
    null = encode.row(IN_MAP, (None, ("p",)))
    good = encode.row(IN_MAP, (("a", 1), ("p",)))
    outside = bytearray(good)
    outside[8:16] = (1 << 40 | 24).to_bytes(8, "little")
    rows = [b"", b"short", bytes(16), null, bytes(outside), good, good[:-8] + bytes(4)]
    result = owners(keys, KeyPlace.FIRST, IN_MAP, rows)
    assert result == [NOBODY, NOBODY, NOBODY, NOBODY, NOBODY, 0, NOBODY]
    assert owners(keys, KeyPlace.INDEXED, IN_LIST, [b"abc", bytes(16)]) == [NOBODY, NOBODY]
    assert owners(keys, KeyPlace.FIRST, parse_ddl(""), [bytes(8)]) == [NOBODY]


def test_grouping_keys_of_keys_looked_up_but_never_put() -> None:
    """The map has the names of such keys, but not their sizes."""
    state, _, _ = replay([Step([(encode.row(IN_LIST, (*USERS[0], 0)), b"")])])
    siblings = [encode.row(IN_LIST, (*USERS[0], 1)), encode.row(IN_LIST, (*USERS[1], 1))]
    state.holds(cases.block([(siblings[0], b""), (siblings[1], b""), (b"short", b"")]))
    assert GroupingKeys().owners(state, KeyPlace.INDEXED, IN_LIST).tolist() == [0, 0, 1, NOBODY]
