"""Looking for keys: against a plain comparison of the values that were encoded."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.row_hash import row_hash
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.tasks import StoreTask, Task
from inspector.exceptions import CheckpointError
from inspector.model import Redact
from inspector.passes.key_filter import (
    BoundFilter,
    KeyFilter,
    check_filter,
    filter_of,
    select_records,
)
from inspector.render.values import RowWords
from inspector.sparktypes import (
    BOOLEAN,
    DOUBLE,
    LONG,
    TIMESTAMP,
    ArrayType,
    StringType,
    StructField,
    StructType,
)
from tests import encode
from tests.cases import block
from tests.fixture_folder import NEWEST

WINDOW = StructType((StructField("start", TIMESTAMP), StructField("end", TIMESTAMP)))
SCHEMA = StructType(
    (
        StructField("window", WINDOW),
        StructField("user", StringType()),
        StructField("count", LONG),
        StructField("count", DOUBLE),
        StructField("a.b", BOOLEAN),
        StructField("tags", ArrayType(LONG)),
    )
)
NAMES = ("window", "user", "count", "count#2", "a.b", "tags")

few = st.integers(0, 2)
keys = st.tuples(
    st.none() | st.tuples(st.none() | few.map(lambda n: n * 1000), st.none() | few),
    st.none() | st.sampled_from(["", "a", "null"]),
    st.none() | few,
    st.none() | st.sampled_from([0.5, math.nan, math.inf]),
    st.none() | st.booleans(),
    st.none() | st.lists(st.none() | few, max_size=2),
)


def shown(index: int, value: Any) -> Any:
    """A value as our JSON has it."""
    if value is None:
        return None
    if index == 0:
        return {"start": _time(value[0]), "end": _time(value[1])}
    if index == 3:
        return {"nan": "NaN", "inf": "Infinity"}.get(str(value), value)
    return value


def _time(micros: int | None) -> str | None:
    return None if micros is None else f"1970-01-01T00:00:00.{micros:06}Z"


def mask(expected: KeyFilter, rows: Sequence[Any]) -> list[bool]:
    entries = list(zip(encode.rows(SCHEMA, rows), repeat(b""), strict=False))
    result: list[bool] = expected.bind(SCHEMA).mask(block(entries)).tolist()
    return result


def same(expected: Any, value: Any) -> bool:
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(value, float) and math.isnan(value)
    if isinstance(expected, tuple):
        return value is not None and expected == value
    return bool(expected == value)


@given(st.lists(keys, max_size=8), keys, st.sets(st.integers(0, 5)))
def test_a_json_object_finds_the_keys_with_these_fields(
    rows: list[Any], wanted: Any, asked: set[int]
) -> None:
    text = json.dumps({NAMES[i]: shown(i, wanted[i]) for i in asked})
    expected = [all(same(wanted[i], row[i]) for i in asked) for row in rows]
    assert mask(KeyFilter((text,)), rows) == expected


@given(st.lists(keys, max_size=8), keys, st.integers(0, 5))
def test_name_and_value_find_the_same(rows: list[Any], wanted: Any, index: int) -> None:
    value = shown(index, wanted[index])
    text = value if isinstance(value, str) else json.dumps(value)
    if wanted[index] == "null":
        return  # the text null is null; the string is given as JSON
    expected = [same(wanted[index], row[index]) for row in rows]
    assert mask(KeyFilter(where=(f"{NAMES[index]}={text}",)), rows) == expected


@given(st.lists(keys, min_size=1, max_size=8), st.data())
def test_hex_finds_the_key_of_exactly_these_bytes(rows: list[Any], data: st.DataObject) -> None:
    encoded = encode.rows(SCHEMA, rows)
    key = data.draw(st.sampled_from(encoded))
    expected = [row == key for row in encoded]
    assert mask(KeyFilter((key.hex(),)), rows) == expected
    assert mask(KeyFilter((f"0x{key.hex().upper()}",)), rows) == expected
    assert mask(KeyFilter((f"hex:{key.hex()}",)), rows) == expected


@given(st.lists(keys, min_size=1, max_size=8), st.data())
def test_a_hash_finds_the_keys_that_reports_name_by_it(
    rows: list[Any], data: st.DataObject
) -> None:
    encoded = encode.rows(SCHEMA, rows)
    (shown_hash,) = RowWords(SCHEMA, Redact.HASH).words([data.draw(st.sampled_from(encoded))])
    digits = data.draw(st.integers(len("sha256:") + 1, len(shown_hash)))
    text = shown_hash[:digits]
    expected = [row_hash(row).startswith(text) for row in encoded]
    assert any(expected)
    assert mask(KeyFilter((text,)), rows) == expected
    assert mask(KeyFilter((f" {text.upper().replace('SHA', 'sha')} ",)), rows) == expected


def test_key_filter_requires_all_fields() -> None:
    rows: list[Any] = [((0, 1), "a", 1, 1.0, True, []), ((0, 1), "b", 1, 1.0, True, [])]
    of_a, of_b = encode.row(SCHEMA, rows[0]).hex(), encode.row(SCHEMA, rows[1]).hex()
    assert mask(KeyFilter(("user=a", "count=1")), rows) == [True, False]
    assert mask(KeyFilter(("user=a", f"hex:{of_a}")), rows) == [True, False]
    assert mask(KeyFilter(("user=a", "user=b")), rows) == [False, False]
    assert mask(KeyFilter((of_a, of_b)), rows) == [False, False]


VALUE = StructType((StructField("count", LONG), StructField("n", LONG)))


def test_conditions_on_values_leave_removals_and_other_keys_out() -> None:
    key = StructType((StructField("user", StringType()),))
    a, b = encode.row(key, ("a",)), encode.row(key, ("b",))
    puts = [(a, encode.row(VALUE, (5, 0))), (b, encode.row(VALUE, (15, 0)))]
    records = block([*puts, (b, None)])
    bound = KeyFilter(("user=b",), ("value.count>10",)).bind(key, VALUE)
    assert bound.mask(records).tolist() == [False, True, True]
    assert bound.mask_values(records).tolist() == [False, True, False]
    assert bound.live(records, np.array([0, 1])).tolist() == [1]
    assert bound.live(records, np.array([0])).tolist() == []
    everything = KeyFilter().bind(key, VALUE)
    assert everything.mask_values(records).tolist() == [True, True, True]


def test_a_dot_leads_into_a_struct_and_may_be_part_of_a_name() -> None:
    rows: list[Any] = [((0, 7), "a", 1, 1.0, True, []), ((0, None), "a", 1, 1.0, False, None)]
    rows.append((None, "a", 1, 1.0, None, []))
    end = "1970-01-01T00:00:00.000007Z"
    assert mask(KeyFilter(where=(f"window.end={end}",)), rows) == [True, False, False]
    assert mask(KeyFilter(where=("window.end=null",)), rows) == [False, True, True]
    assert mask(KeyFilter(where=("window=null",)), rows) == [False, False, True]
    assert mask(KeyFilter(where=("a.b=true",)), rows) == [True, False, False]
    assert mask(KeyFilter(('{"window": {"end": null}}',), ("count=1",)), rows) == [
        False,
        True,
        False,
    ]


def test_a_key_without_fields_is_looked_for_too() -> None:
    empty = block([(b"", b""), (b"12345678", b"")])
    assert KeyFilter(("",)).bind(None).mask(empty).tolist() == [True, False]
    assert KeyFilter(("{}",)).bind(StructType()).mask(block([(b"", b"")])).tolist() == [True]


def test_a_row_that_does_not_fit_has_no_fields() -> None:
    entries = [(b"short123", b""), (encode.row(SCHEMA, (None,) * 6), b"")]
    expected = KeyFilter(('{"user": null}',)).bind(SCHEMA)
    assert expected.mask(block(entries)).tolist() == [False, True]


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (KeyFilter(("user-1",)), "hex"),
        (KeyFilter(("{'user': 1}",)), "not JSON"),
        (KeyFilter(('["a"]',)), "expected a JSON object"),
        (
            KeyFilter(('{"usr": 1}',)),
            "no field 'usr'; did you mean user? The fields are window.start",
        ),
        (KeyFilter(('{"window": {"stop": null}}',)), "no field 'window.stop'"),
        (KeyFilter(('{"count": "many"}',)), "count: got 'many', expected a whole number"),
        (KeyFilter(('{"window": 1}',)), "expected a JSON object"),
        (KeyFilter(("sha256:",)), "1 to 64 hex digits"),
        (KeyFilter(("sha256:xyz",)), "1 to 64 hex digits"),
        (KeyFilter(("hex:xyz",)), "hash of a redacted key"),
        (KeyFilter(("count>1",)), "hash of a redacted key"),
        (KeyFilter(("count>=1",)), "a key is named by NAME=VALUE"),
        (KeyFilter(where=("user",)), "NAME=VALUE"),
        (KeyFilter(where=("=1",)), "NAME=VALUE"),
        (KeyFilter(where=("user.name=1",)), "no field 'user.name'"),
        (KeyFilter(where=("count#3=1",)), "no field 'count#3'"),
        (KeyFilter(where=("tags=x",)), "tags: got 'x'"),
        (KeyFilter(where=("window.end=999999-01-01",)), "window.end: got '999999-01-01'"),
    ],
)
def test_key_filter_refuses_unsearchable_fields(expected: KeyFilter, words: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        expected.bind(SCHEMA)
    assert words in str(caught.value)


@pytest.mark.parametrize("value", ["u29", "0123456789abcdef0123456789abcdef", "a b", ""])
def test_the_value_alone_names_a_key_of_one_column(value: str) -> None:
    schema = StructType((StructField("user", StringType()),))
    key, other = encode.row(schema, (value,)), encode.row(schema, ("other",))
    records = block([(key, b""), (other, b"")])
    assert KeyFilter((value,)).bind(schema).mask(records).tolist() == [True, False]
    assert KeyFilter((key.hex(),)).bind(schema).mask(records).tolist() == [True, False]
    assert KeyFilter((f"0x{key.hex()}",)).bind(schema).mask(records).tolist() == [True, False]
    assert KeyFilter((f"hex:{key.hex()}",)).bind(schema).mask(records).tolist() == [True, False]


def test_without_a_schema_only_hex_will_do() -> None:
    with pytest.raises(CheckpointError, match="--key-schema"):
        KeyFilter(('{"user": "a"}',)).bind(None)
    assert KeyFilter(("00",)).bind(None) == BoundFilter((b"\x00",))


def test_a_store_without_the_field_has_no_such_key() -> None:
    struct_type = StructType((StructField("x", LONG),))
    entries = block([(encode.row(struct_type, (1,)), b"")])
    field = {"name": "x", "type": "long", "nullable": True, "metadata": {}}
    store = StoreTask("default", (), json.dumps({"type": "struct", "fields": [field]}))
    bound = filter_of(Task("", "", {}, 0, 0, 1, (store,), key=('{"user": "a"}',)), store)
    assert bound is not None
    assert bound.mask(entries).tolist() == [False]


def test_key_filter_needs_field_in_one_store() -> None:
    join = open_checkpoint(str(NEWEST / "join_left_outer" / "checkpoint"))
    check_filter(join, KeyFilter(where=("index=0",)))
    with pytest.raises(CheckpointError, match="no field 'nobody'"):
        check_filter(join, KeyFilter(where=("nobody=0",)))


def test_unknown_field_of_many_stores_lists_four_of_them() -> None:
    processor = open_checkpoint(str(NEWEST / "rocksdb_tws_rows_event" / "checkpoint"))
    with pytest.raises(CheckpointError, match="no field 'nobody'") as error:
        check_filter(processor, KeyFilter(where=("nobody=0",)))
    assert error.value.message.count("no field 'nobody'") == 4
    assert error.value.message.endswith("; and 2 more")


def test_chosen_records_keep_their_place_in_the_file() -> None:
    a: encode.Record = (encode.row(SCHEMA, (None, "a", None, None, None, None)), b"")
    b: encode.Record = (encode.row(SCHEMA, (None, "b", None, None, None, None)), b"")
    entries = [a, b, a, b]
    expected = KeyFilter(where=("user=b",)).bind(SCHEMA)
    ((select_record, ordinals),) = select_records(
        [block(entries, 10), block(entries[:1], 14)], expected
    )
    assert ordinals.tolist() == [11, 13]
    assert select_record.count == 2
    ((every, ordinals),) = select_records([block(entries, 10)], None)
    assert every.count == 4
    assert np.array_equal(ordinals, [10, 11, 12, 13])
