"""Schema files of formats 1 to 3, with modified UTF-8."""

import json
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.state_schema import (
    StateSchema,
    _parse_modified_utf8,
    parse_state_schema,
    read_state_schema,
)
from inspector.checkpoint.storage import Storage
from inspector.exceptions import DecodeError, TruncatedError
from inspector.sparktypes.key_encoders import KeyEncoding
from tests.attributes import attributes
from tests.decode.spans import pieces

KEY = '{"type":"struct","fields":[{"name":"user","type":"string","nullable":true,"metadata":{}}]}'
VALUE = (
    '{"type":"struct","fields":['
    '{"name":"count","type":"long","nullable":false,"metadata":{}},'
    '{"name":"count","type":"long","nullable":true,"metadata":{}}]}'
)
NO_PREFIX = '{"keyStateEncoderType":"NoPrefixKeyStateEncoderSpec"}'
NO_USER_KEY = "{    }"


def java(text: str) -> bytes:
    """Return the modified UTF-8 that ``DataOutputStream.writeUTF`` writes."""
    units = text.encode("utf-16-be", "surrogatepass")
    result = b""
    for (unit,) in struct.iter_unpack(">H", units):
        if 0 < unit < 0x80:
            result += bytes([unit])
        elif unit < 0x800:
            result += bytes([0xC0 | unit >> 6, 0x80 | unit & 0x3F])
        else:
            result += bytes([0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F])
    return result


def utf(text: str) -> bytes:
    raw = java(text)
    return struct.pack(">H", len(raw)) + raw


def read_chunks(text: str, size: int = 65535) -> bytes:
    units = text.encode("utf-16-be", "surrogatepass")
    parts = pieces(units, 2 * size)
    chunks = [utf(part.decode("utf-16-be", "surrogatepass")) for part in parts]
    return struct.pack(">i", len(chunks)) + b"".join(chunks)


def v1(key: str = KEY, value: str = VALUE) -> bytes:
    return utf("v1") + utf(key) + utf(value)


def v2(key: str = KEY, value: str = VALUE, size: int = 65535) -> bytes:
    return utf("v2") + read_chunks(key, size) + read_chunks(value, size)


def family(name: str, value: str = VALUE, user_key: str = NO_USER_KEY) -> bytes:
    ids = struct.pack(">h", 0), struct.pack(">h", 1)
    return b"".join(
        [
            *(utf(name), ids[0], read_chunks(KEY), ids[1], read_chunks(value)),
            *(read_chunks(NO_PREFIX), read_chunks(user_key)),
        ]
    )


def v3(*families: bytes) -> bytes:
    return utf("v3") + struct.pack(">i", len(families)) + b"".join(families)


def names(schema: StateSchema) -> tuple[list[str], list[str]]:
    return attributes(schema.key.fields, "name"), attributes(schema.value.fields, "name")


def named(name: str) -> str:
    return json.dumps(
        {
            "type": "struct",
            "fields": [{"name": name, "type": "long", "nullable": True, "metadata": {}}],
        },
        ensure_ascii=False,
    )


@pytest.mark.parametrize(
    ("data", "version"), [(v1(), 1), (v2(), 2), (v2(size=1), 2), (v3(family("default")), 3)]
)
def test_schema_of_every_format(data: bytes, version: int) -> None:
    state_schema = parse_state_schema(data)
    assert state_schema.version == version
    assert names(state_schema) == (["user"], ["count", "count"])


AGG_GLOBAL = (  # Spark 4.3.0, an aggregation without grouping columns
    b'\0\2v2\0\0\0\1\0\x1d{"type":"struct","fields":[]}\0\0\0\1\0\x94'
    b'{"type":"struct","fields":[{"name":"count","type":"long","nullable":true,"metadata":{}},'
    b'{"name":"sum","type":"long","nullable":true,"metadata":{}}]}'
)
DEDUP = (  # Spark 3.5.9, dropDuplicatesWithinWatermark by user
    b'\0\2v2\0\0\0\1\0Z{"type":"struct","fields":'
    b'[{"name":"user","type":"string","nullable":true,"metadata":{}}]}\0\0\0\1\0d'
    b'{"type":"struct","fields":'
    b'[{"name":"expiresAtMicros","type":"long","nullable":false,"metadata":{}}]}'
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [(AGG_GLOBAL, ([], ["count", "sum"])), (DEDUP, (["user"], ["expiresAtMicros"]))],
)
def test_schema_file_of_spark(data: bytes, expected: tuple[list[str], list[str]]) -> None:
    assert names(parse_state_schema(data)) == expected


def test_column_families_of_a_schema() -> None:
    data = v3(family("c", user_key=KEY), family("default", named("value")))
    state_schema = parse_state_schema(data)
    assert attributes(state_schema.column_families, "name") == [
        "c",
        "default",
    ]
    first, second = state_schema.column_families
    assert (first.key_schema_id, first.value_schema_id) == (0, 1)
    assert first.key_encoder == {"keyStateEncoderType": "NoPrefixKeyStateEncoderSpec"}
    assert first.encoder.kind is KeyEncoding.ROW
    assert first.user_key == first.key
    assert second.user_key is None
    assert state_schema.value == second.value
    assert parse_state_schema(v3(family("c"))).value == first.value


@pytest.mark.parametrize("name", ["ключ", "a\0b", "😀", "a😀\0é"])
@pytest.mark.parametrize("size", [65535, 7, 1])
def test_field_names_in_modified_utf_8_chunks(name: str, size: int) -> None:
    state_schema = parse_state_schema(v2(key=named(name), size=size))
    assert names(state_schema)[0] == [name]


@pytest.mark.parametrize("name", ["\ud83d", "\ude00x", "\ude00\ud83d"])
def test_lone_surrogate_in_a_field_name_is_replaced(name: str) -> None:
    state_schema = parse_state_schema(v2(key=named(name)))
    (result,) = names(state_schema)[0]
    assert "\ufffd" in result
    assert result.encode()


@given(st.text(st.characters(codec="utf-8")))
def test_modified_utf_8_round_trip(text: str) -> None:
    units = _parse_modified_utf8(java(text), 0)
    assert units.encode("utf-16-be", "surrogatepass") == text.encode("utf-16-be")


@pytest.mark.parametrize(
    ("raw", "at"),
    [
        (b"a\xff", 1),
        (b"ab\xf0\x9f\x98\x80", 2),
        (b"\x80", 0),
        (b"a\xc0\x80\xc0\x80b\xe2\x82", 6),
        (b"\xc1\x81", 0),
        (b"\xc0", 0),
    ],
)
def test_invalid_modified_utf_8_has_its_offset(raw: bytes, at: int) -> None:
    data = utf("v1") + struct.pack(">H", len(raw)) + raw + utf(VALUE)
    with pytest.raises(DecodeError, match="expected modified UTF-8") as caught:
        parse_state_schema(data)
    assert caught.value.offset == 6 + at


@pytest.mark.parametrize("data", [v1(), v2(), v2(size=50), v3(family("a"), family("default"))])
def test_truncated_schema_has_its_offset(data: bytes) -> None:
    for size in range(len(data)):
        with pytest.raises(TruncatedError) as caught:
            parse_state_schema(data[:size])
        assert caught.value.offset is not None
        assert caught.value.offset <= size


@pytest.mark.parametrize("data", [v1(), v2(), v3(family("default"))])
def test_schema_with_trailing_bytes_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="got 1 more bytes, expected the end") as caught:
        parse_state_schema(data + b"\0")
    assert caught.value.offset == len(data)


@pytest.mark.parametrize(
    ("data", "error", "message", "offset"),
    [
        (utf("v4"), DecodeError, "got format v4, expected v1 to v3", 0),
        (utf("v0"), DecodeError, "got format v0", 0),
        (utf("x\ud800"), DecodeError, "expected a format such as 'v2'", 0),
        (utf("v2") + b"\xff\xff\xff\xff", DecodeError, "got a count of -1", 4),
        (utf("v2") + b"\x7f\xff\xff\xff" + bytes(9), TruncatedError, "expected 2147483647", 8),
        (utf("v3") + b"\x7f\xff\xff\xff" + bytes(99), TruncatedError, "at least 22", 8),
        (v3(), DecodeError, "got no column family", 4),
    ],
)
def test_forged_sizes_and_formats_are_refused(
    data: bytes, error: type[DecodeError], message: str, offset: int
) -> None:
    with pytest.raises(error, match=message) as caught:
        parse_state_schema(data)
    assert caught.value.offset == offset


@pytest.mark.parametrize("text", ["", "x", "[]", '{"type":"array"}', "[" * 60_000])
def test_schema_that_is_no_struct_is_refused(text: str) -> None:
    with pytest.raises(DecodeError):
        parse_state_schema(v2(value=text))


@given(st.binary(), st.integers(0, 400), st.integers(0, 400))
def test_any_bytes_are_a_schema_or_a_decode_error(junk: bytes, start: int, stop: int) -> None:
    complete = v3(family("a"), family("default"))
    for data in (
        junk,
        utf("v1") + junk,
        utf("v2") + junk,
        utf("v3") + junk,
        complete[:start] + junk + complete[stop:],
    ):
        with suppress(DecodeError):
            assert 1 <= parse_state_schema(data).version <= 3


def storage_of(root: Path, files: dict[str, bytes]) -> Storage:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return Storage.open(str(root))


@pytest.mark.parametrize(
    ("store", "folder"), [("default", "state/2/0"), ("left-x", "state/2/0/left-x")]
)
def test_schema_is_read_from_partition_0(tmp_path: Path, store: str, folder: str) -> None:
    storage = storage_of(tmp_path, {f"{folder}/_metadata/schema": v2()})
    result, problems = read_state_schema(storage, 2, store)
    assert result == parse_state_schema(v2())
    assert problems == ()


def test_schema_is_none_before_spark_3_1(tmp_path: Path) -> None:
    storage = storage_of(tmp_path, {"state/0/0/1.delta": b"", "state/0/1/_metadata/schema": v2()})
    assert read_state_schema(storage, 0) == (None, ())


def test_bad_schema_is_a_problem_with_its_path(tmp_path: Path) -> None:
    storage = storage_of(tmp_path, {"state/0/0/_metadata/schema": v2()[:-1]})
    result, (problem,) = read_state_schema(storage, 0)
    assert result is None
    assert (problem.slug, problem.path) == ("truncated", f"{tmp_path}/state/0/0/_metadata/schema")
    assert problem.offset is not None


def test_a_schema_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    storage = storage_of(tmp_path, {"state/0/0/_metadata/schema/x": b""})
    result, (problem,) = read_state_schema(storage, 0)
    assert result is None
    assert problem.slug == "storage"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([], "10_b"),
        (["file:/in/ck/state/0/_stateSchema/default/2_a"], "2_a"),
        (["hdfs://x/2_a", "hdfs://x/10_b"], "10_b 2_a"),
        (["hdfs://x/2_a", "hdfs://x/11_gone"], "2_a"),
        (["hdfs://x/11_gone"], "10_b"),
    ],
)
def test_schema_of_format_3_is_the_named_or_newest_file(
    tmp_path: Path, paths: list[str], expected: str
) -> None:
    folder = "state/0/_stateSchema/default"
    files = {
        f"{folder}/0_x": v3(family("0_x")),
        f"{folder}/2_a": v3(family("2_a")),
        f"{folder}/10_b": v3(family("10_b")),
        f"{folder}/.10_b.crc": b"",
        f"{folder}/odd": b"",
    }
    storage = storage_of(tmp_path, files)
    result, problems = read_state_schema(storage, 0, schema_paths=paths)
    assert result is not None
    assert attributes(result.column_families, "name") == expected.split()
    assert problems == ()


def test_older_schemas_of_format_3_are_kept(tmp_path: Path) -> None:
    folder, second = "state/0/_stateSchema/default", VALUE.replace('"name":"', '"name":"new_')
    newer = family("kept", second).replace(
        struct.pack(">h", 1) + read_chunks(second), _second(second)
    )
    files = {
        f"{folder}/0_x": v3(family("gone"), family("kept")),
        f"{folder}/3_y": v3(newer),
        f"{folder}/5_z": v3(newer),
    }
    paths = ["a/0_x", "a/3_y", "a/5_z"]
    result, problems = read_state_schema(storage_of(tmp_path, files), 0, schema_paths=paths)
    assert result is not None
    remaining, gone = result.column_families
    assert (remaining.name, gone.name, problems) == ("kept", "gone", ())
    assert (remaining.value_schema_id, set(remaining.older_values)) == (2, {1})
    assert remaining.older_values[1] == gone.value != remaining.value
    # A bad older schema is a problem. Without a good newest schema there is none.
    storage = storage_of(tmp_path / "b", {**files, f"{folder}/0_x": b"junk"})
    result, (problem,) = read_state_schema(storage, 0, schema_paths=paths)
    assert problem.path is not None
    assert problem.path.endswith("0_x")
    assert attributes(result.column_families, "name") == ["kept"]  # type: ignore[union-attr]
    storage = storage_of(tmp_path / "c", {**files, f"{folder}/5_z": b"junk"})
    assert read_state_schema(storage, 0, schema_paths=paths)[0] is None


def _second(value: str) -> bytes:
    """Return the schema of a value with schema id 2."""
    return struct.pack(">h", 2) + read_chunks(value)


def test_bad_schema_of_format_3_is_a_problem(tmp_path: Path) -> None:
    storage = storage_of(tmp_path, {"state/0/_stateSchema/default/0_x": b"junk"})
    result, (problem,) = read_state_schema(storage, 0)
    assert result is None
    assert problem.path == f"{tmp_path}/state/0/_stateSchema/default/0_x"
