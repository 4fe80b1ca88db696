"""Schema files that are written and read again."""

from __future__ import annotations

import contextlib
import json

from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.state_schema import parse_state_schema, schema_texts
from inspector.encode.schema_file import schema_file
from inspector.exceptions import DecodeError
from tests.fixture_folder import FIXTURES


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(max_size=5).map("\0".join))
def test_schema_file_round_trip(key: str, value: str) -> None:
    value = value.encode("utf-16", "replace").decode("utf-16", "replace")
    assert schema_texts(schema_file(key, value)) == (key, value)


def test_long_schema_is_written_in_chunks() -> None:
    text = json.dumps({"type": "struct", "fields": [], "comment": "é𝄞" * 50_000})
    assert schema_texts(schema_file(text, "{}")) == (text, "{}")


def test_schema_file_equals_that_of_spark() -> None:
    path = FIXTURES / "4.3.0/agg_update/checkpoint/state/0/0/_metadata/schema"
    data = path.read_bytes()
    assert schema_file(*schema_texts(data)) == data
    assert parse_state_schema(data).version == 2


@given(st.binary(max_size=60))
def test_any_bytes_are_schema_texts_or_a_decode_error(data: bytes) -> None:
    with contextlib.suppress(DecodeError):
        schema_texts(data)
