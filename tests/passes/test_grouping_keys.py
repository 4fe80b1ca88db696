"""Grouping keys in the keys of transformWithState: where they are, and how a name finds them."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.row_hash import row_hash
from inspector.exceptions import CheckpointError, DecodeError
from inspector.operators.transform_with_state import Family, GroupingKey, grouping_key_of
from inspector.passes.grouping_keys import grouping_keys
from inspector.passes.key_filter import KeyFilter
from inspector.sparktypes import LONG, StringType, StructField, StructType
from tests import encode
from tests.cases import block


def struct(**fields: Any) -> StructType:
    return StructType(tuple(StructField(name, kind) for name, kind in fields.items()))


GROUP = struct(user=StringType(), day=LONG)
USER_KEY = struct(page=StringType())
ENTRY = struct(key=GROUP, userKey=USER_KEY)
KEYS = {
    Family.VALUE: GROUP,
    Family.LIST: struct(user=StringType(), day=LONG, index=LONG),
    Family.MAP: ENTRY,
    Family.TIMERS: struct(key=GROUP, expiryTimestampMs=LONG),
    Family.TIMERS_BY_TIME: struct(expiryTimestampMs=LONG, key=GROUP),
    Family.ROW_COUNTER: GROUP,
    Family.MIN_EXPIRY: GROUP,
    Family.ENTRY_COUNT: GROUP,
    Family.TTL_INDEX: struct(expirationMs=LONG, elementKey=GROUP),
}
"""The keys of each kind of store, grouped by a user and a day."""

groups = st.tuples(st.sampled_from(["", "a", "user"]), st.integers(-2, 2))


def key_of(family: Family, group: tuple[str, int]) -> Any:
    """A key of a store of some kind, as a value of its schema."""
    options = {
        Family.LIST: (*group, 0),
        Family.MAP: (group, ("p",)),
        Family.TIMERS: (group, 5),
        Family.TIMERS_BY_TIME: (5, group),
        Family.TTL_INDEX: (5, group),
    }
    return options.get(family, group)


def spans(rows: list[bytes]) -> tuple[bytes, Any, Any]:
    lengths = np.array(list(map(len, rows)), np.int64)
    return b"".join(rows), np.cumsum(lengths) - lengths, lengths


@pytest.mark.parametrize("family", KEYS, ids=lambda family: family.value)
@given(members=st.lists(groups, min_size=1, max_size=6), named=groups)
def test_a_name_finds_the_same_groups_in_every_kind_of_store(
    family: Family, members: list[tuple[str, int]], named: tuple[str, int]
) -> None:
    schema = KEYS[family]
    grouping = grouping_key_of(family, None, schema)
    assert grouping is not None
    rows = [encode.row(schema, key_of(family, group)) for group in members]
    group_row = encode.row(GROUP, named)
    data, offsets, lengths = grouping_keys(*spans(rows), schema, grouping)
    ranges = zip(offsets.tolist(), lengths.tolist(), strict=True)
    keys = [data[start : start + size] for start, size in ranges]
    assert keys == encode.rows(GROUP, members)
    user, day = named
    expected = [group == named for group in members]
    records = block(list(zip(rows, repeat(b""), strict=False)))
    for names in (
        (f"user={user}", f"day={day}"),
        (f'{{"user": "{user}", "day": {day}}}',),
        (f"hex:{group_row.hex()}",),
        (row_hash(group_row),),
    ):
        for whole_groups in (False, True):
            bound = KeyFilter(names).bind(schema, None, grouping, whole_groups=whole_groups)
            assert bound.mask(records).tolist() == expected
    bound = KeyFilter(where=(f"day={day}",)).bind(schema, None, grouping, whole_groups=True)
    assert bound.mask(records).tolist() == [member_day == day for _, member_day in members]


def test_the_index_of_a_map_has_the_grouping_key_in_its_element() -> None:
    schema = struct(expirationMs=LONG, elementKey=ENTRY)
    assert grouping_key_of(Family.TTL_INDEX, Family.MAP, schema) == GroupingKey((1, 0), 2)
    assert grouping_key_of(Family.TTL_INDEX, None, schema) == GroupingKey((1, 0), 2)
    # A query may be grouped by columns of these names.
    assert grouping_key_of(Family.TTL_INDEX, Family.VALUE, schema) == GroupingKey((1,), 2)


@pytest.mark.parametrize("names", [("userKey.page=p",), ('{"userKey": {"page": "p"}}',)])
def test_a_part_of_a_group_can_be_shown_and_is_no_group(names: tuple[str, ...]) -> None:
    schema = KEYS[Family.MAP]
    grouping = grouping_key_of(Family.MAP, None, schema)
    row = encode.row(schema, key_of(Family.MAP, ("a", 1)))
    assert KeyFilter(names).bind(schema, None, grouping).mask(block([(row, b"")])).tolist() == [
        True
    ]
    with pytest.raises(CheckpointError, match="keys have no field 'userKey"):
        KeyFilter(names).bind(schema, None, grouping, whole_groups=True)


def test_the_bytes_of_an_entry_are_no_group() -> None:
    schema = KEYS[Family.MAP]
    grouping = grouping_key_of(Family.MAP, None, schema)
    row = encode.row(schema, key_of(Family.MAP, ("a", 1)))
    names = KeyFilter((f"hex:{row.hex()}",))
    records = block([(row, b"")])
    assert names.bind(schema, None, grouping).mask(records).tolist() == [True]
    assert names.bind(schema, None, grouping, whole_groups=True).mask(records).tolist() == [False]


def test_a_store_without_a_grouping_key_has_no_groups() -> None:
    assert grouping_key_of(Family.UNUSED, None, GROUP) is None
    with pytest.raises(CheckpointError, match="no grouping key"):
        KeyFilter(("user=a",)).bind(GROUP, None, None, whole_groups=True)


@pytest.mark.parametrize("schema", [StructType(), struct(key=LONG), struct(expirationMs=LONG)])
@pytest.mark.parametrize("family", [Family.MAP, Family.TIMERS_BY_TIME, Family.TTL_INDEX])
def test_other_schema_has_no_grouping_key(family: Family, schema: StructType) -> None:
    assert grouping_key_of(family, None, schema) is None


@given(
    family=st.sampled_from(sorted(KEYS, key=lambda family: family.value)),
    rows=st.lists(st.binary(max_size=80), min_size=1, max_size=4),
)
def test_any_bytes_are_groups_or_a_decode_error(family: Family, rows: list[bytes]) -> None:
    schema = KEYS[family]
    grouping = grouping_key_of(family, None, schema)
    assert grouping is not None
    try:
        keys = grouping_keys(*spans(rows), schema, grouping)
    except DecodeError:
        pass
    else:
        assert len(keys.offsets) == len(rows)
    good = encode.row(schema, key_of(family, ("a", 1)))
    names = KeyFilter((f"hex:{encode.row(GROUP, ('a', 1)).hex()}",))
    records = block([*zip(rows, repeat(b""), strict=False), (good, b"")])
    mask = names.bind(schema, None, grouping).mask(records).tolist()
    # A key that does not fit hides no other.
    assert mask[-1]
