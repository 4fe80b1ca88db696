"""Version lines and JSON of log files."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.logfile import (
    json_object,
    long_field,
    object_field,
    printable,
    problem,
    split_log,
    text_field,
    text_of,
)
from inspector.exceptions import DecodeError, TruncatedError
from inspector.model import Problem


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"v1", (1, [])),
        (b"v1\n{}", (1, ["{}"])),
        (b"v2\r\n{}\r\n-", (2, ["{}", "-"])),
        (b" v1 \n", (1, [""])),
    ],
)
def test_log_file_is_a_version_and_lines(data: bytes, expected: tuple[int, list[str]]) -> None:
    assert split_log(data, 2) == expected


@pytest.mark.parametrize(
    ("data", "message", "offset"),
    [
        (b"", "got an empty file, expected a version line", 0),
        (b"{}", "got '{}', expected a version line", 0),
        (b"v3\n{}", "got format v3, expected v1 to v2", 0),
        (b"v0", "got format v0", 0),
        (b"v99999999999", "got 'v99999999999', expected a version line", 0),
        (b"v1\n\xff", "got byte 0xff, expected UTF-8", 3),
    ],
)
def test_invalid_log_file_is_refused(data: bytes, message: str, offset: int) -> None:
    with pytest.raises(DecodeError, match=message) as caught:
        split_log(data, 2)
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    "text",
    ["", "[]", "1", '"x"', "null", "{", '{"a":NaN}', '{"a":-Infinity}', "[" * 100_000, "9" * 5000],
)
def test_invalid_json_object_is_refused(text: str) -> None:
    with pytest.raises(DecodeError, match="expected a JSON object"):
        json_object(text)


def test_json_field_types() -> None:
    fields = json_object('{"long":-9223372036854775807,"text":"x","object":{"a":1},"none":null}')
    assert long_field(fields, "long") == -9223372036854775807
    assert long_field(fields, "absent") is None
    assert long_field(fields, "none") is None
    assert text_field(fields, "text") == "x"
    assert object_field(fields, "object") == {"a": 1}
    assert object_field(fields, "absent") == {}


@pytest.mark.parametrize("value", [True, "1", 1.5, 1 << 63, [], {}])
def test_long_field_is_a_64_bit_integer(value: object) -> None:
    with pytest.raises(DecodeError, match="as field, expected a 64-bit integer"):
        long_field({"field": value}, "field")


def test_other_json_field_types_are_refused() -> None:
    with pytest.raises(DecodeError, match="got '1' as field, expected a string"):
        text_field({"field": 1}, "field")
    with pytest.raises(DecodeError, match="got 'None' as field, expected a string"):
        text_field({}, "field")
    with pytest.raises(DecodeError, match="expected a JSON object"):
        object_field({"field": None}, "field")


def test_printable_replaces_lone_surrogates() -> None:
    (value,) = json_object(r'{"a":"x\ud800y\ud83d\ude00"}').values()
    assert printable(str(value)) == "x?y😀"


def test_problem_of_an_error_has_its_path() -> None:
    assert problem(TruncatedError("short", offset=3), "/ck/a") == Problem(
        "truncated", "short", "/ck/a", 3
    )
    assert problem(TruncatedError("short").at("/ck/b"), "/ck/a").path == "/ck/b"
    denied = problem(PermissionError("/ck/a: Permission denied"), "/ck/a")
    assert denied == Problem("denied", "Permission denied", "/ck/a")


@given(st.binary())
def test_any_bytes_are_a_log_file_or_a_decode_error(data: bytes) -> None:
    with suppress(DecodeError):
        text_of(data)
    with suppress(DecodeError):
        split_log(data, 3)
    with suppress(DecodeError):
        assert split_log(b"v1\n" + data, 3)[0] == 1


@given(st.text() | st.recursive(st.none() | st.integers(), st.lists).map(json.dumps))
def test_any_text_is_a_json_object_or_a_decode_error(text: str) -> None:
    with suppress(DecodeError):
        assert isinstance(json_object(text), dict)
