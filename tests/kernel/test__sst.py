"""LZ4 blocks and entries of tables, by both kernels."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.kernel.loader import load
from inspector.kernel.record_layout import (
    BAD_BLOCK,
    BAD_ENTRY,
    BAD_ORDER,
    ENTRY,
    FULL,
    MORE,
    OVER_LIMIT,
)
from tests.cases import KERNELS
from tests.decode.sst.tables import VALUE, block_of, internal_key, varint
from tests.kernel.support import Kernel, assert_refused, int64s, needs_c, spans_of

LIMIT = 1 << 20


# --- LZ4 -------------------------------------------------------------------------------------


def unpack(kernel: Kernel, blocks: list[bytes], sizes: list[int]) -> tuple[int, list[bytes]]:
    """Return the number of unpacked blocks and their bytes."""
    out = bytearray(sum(sizes) + 3)
    places, room = spans_of([bytes(size) for size in sizes])[1:]
    done = kernel.lz4_blocks(*spans_of(blocks), out, places, room)
    assert out[-3:] == bytes(3)
    ends = places + room
    return done, [bytes(out[a:b]) for a, b in zip(places[:done], ends[:done], strict=True)]


def lz4(raw: bytes) -> bytes:
    return pa.Codec("lz4_raw").compress(raw, asbytes=True)


RAW = [b"", b"a", b"abc" * 100, bytes(1000), bytes(range(256)) * 3, b"ab" * 9 + b"x" * 300]
TEXTS = st.lists(st.sampled_from([b"a", b"bc", b"row of state", bytes(40)]), max_size=60)


def test_lz4_blocks_of_pyarrow_are_unpacked(kernel: Kernel) -> None:
    assert unpack(kernel, list(map(lz4, RAW)), [0, 1, 300, 1000, 768, 318]) == (6, RAW)


@pytest.mark.parametrize("name", KERNELS)
@given(raw=st.lists(TEXTS.map(b"".join) | st.binary(max_size=300), max_size=4))
def test_lz4_unpack_inverts_compress(name: str, raw: list[bytes]) -> None:
    result = unpack(load(name), list(map(lz4, raw)), list(map(len, raw)))
    assert result == (len(raw), raw)


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\x10",  # a literal that is not there
        b"\xf0",  # a length without its end
        b"\xf0\xff\xff",
        b"\x10a\x01",  # a distance cut short
        b"\x10a\x00\x00\x00",  # no distance
        b"\x10a\x02\x00\x00",  # from before the start
        b"\x1fa\x01\x00",  # a length of a match that is not there
        b"\x10a\x01\x00",  # no last literals
    ],
)
def test_corrupt_lz4_block_ends_unpacking(kernel: Kernel, block: bytes) -> None:
    good = lz4(b"good")
    assert unpack(kernel, [good, block, good], [4, 50, 4]) == (1, [b"good"])


@pytest.mark.parametrize("size", [0, 299, 301])
def test_wrong_unpacked_size_is_refused(kernel: Kernel, size: int) -> None:
    assert unpack(kernel, [lz4(b"abc" * 100)], [size])[0] == 0


def test_lz4_blocks_refuses_positions_outside_of_the_buffer(kernel: Kernel) -> None:
    block = lz4(b"abcd")
    complete = int64s(0), int64s(len(block))
    out, big = bytearray(4), int64s(1 << 62)
    assert_refused(
        lambda: kernel.lz4_blocks(block, *complete, out, int64s(-1), int64s(4)),
        lambda: kernel.lz4_blocks(block, *complete, out, int64s(0), int64s(-1)),
        lambda: kernel.lz4_blocks(block, *complete, out, int64s(1), int64s(4)),
        lambda: kernel.lz4_blocks(block, *complete, out, big, big),
        lambda: kernel.lz4_blocks(block, int64s(1), complete[1], out, int64s(0), int64s(4)),
        match="outside",
    )
    assert_refused(
        lambda: kernel.lz4_blocks(block, *complete, out, int64s(0, 0), int64s(4)), match="length"
    )
    assert_refused(lambda: kernel.lz4_blocks(block, *complete, bytes(4), int64s(0), int64s(4)))


@needs_c
@given(st.binary(max_size=60), st.integers(0, 80))
def test_kernels_unpack_any_bytes_alike(block: bytes, size: int) -> None:
    assert unpack(load("c"), [block], [size]) == unpack(load("python"), [block], [size])


@needs_c
@given(TEXTS.map(b"".join), st.data())
def test_kernels_unpack_damaged_blocks_alike(raw: bytes, data: st.DataObject) -> None:
    block = bytearray(lz4(raw))
    block[data.draw(st.integers(0, len(block) - 1))] = data.draw(st.integers(0, 255))
    sizes = [len(raw) + data.draw(st.integers(0, 3))]
    assert unpack(load("c"), [bytes(block)], sizes) == unpack(load("python"), [bytes(block)], sizes)


# --- entries ---------------------------------------------------------------------------------


def find(  # noqa: PLR0913 - what the kernel takes
    kernel: Kernel,
    blocks: list[bytes],
    *,
    state: tuple[int, int] = (0, 0),
    previous: bytes = b"",
    bytes_room: int = 4000,
    room: int = 50,
    limit: int = LIMIT,
) -> Any:
    """Return the status, the plain flag, the position, the bytes and the spans of the entries."""
    out, columns = bytearray(bytes_room), np.zeros(ENTRY * room, np.int64)
    location = int64s(*state, 0)
    status, count, used, plain = kernel.table_entries(
        *spans_of(blocks), location, previous, out, columns, limit
    )
    rows = columns.reshape(ENTRY, room)[:, :count].T.tolist()
    return status, bool(plain), location.tolist(), bytes(out[:used]), rows


def keys_and_values(result: Any) -> list[tuple[bytes, int, int, bytes]]:
    """Return the user key, sequence number, type and value of each entry."""
    _, _, _, out, rows = result
    return [
        (out[key : key + key_size], tag >> 8, tag & 255, out[value : value + size])
        for key, key_size, value, size, tag in rows
    ]


def data_block(*entries: tuple[bytes, int, int, bytes], shared: bool = True) -> bytes:
    pairs = [(internal_key(key, seq, kind), value) for key, seq, kind, value in entries]
    return block_of(pairs, shared=shared)


ONE, TWO, THREE = (b"key1", 5, VALUE, b"one"), (b"key2", 4, 0, b""), (b"key2", 3, VALUE, b"three")


def test_entries_of_blocks(kernel: Kernel) -> None:
    result = find(kernel, [data_block(ONE, TWO), data_block(THREE)])
    assert keys_and_values(result) == [ONE, TWO, THREE]
    assert result[:3] == (MORE, False, [2, 0, 0])
    key = internal_key(*ONE[:3])
    assert result[3].startswith(key + b"one")
    assert result[4][0] == [0, 4, 12, 3, 5 << 8 | VALUE]


def test_plain_flag_needs_values_of_different_keys(kernel: Kernel) -> None:
    second = (b"key2", 9, VALUE, b"")
    assert find(kernel, [data_block(ONE, second)])[1]
    assert not find(kernel, [data_block(ONE, TWO)])[1]
    assert not find(kernel, [data_block((b"key1", 6, VALUE, b""), ONE)])[1]
    assert not find(kernel, [data_block(THREE)], previous=internal_key(b"key2", 4, VALUE))[1]
    assert find(kernel, [data_block(THREE)], previous=internal_key(b"key1", 4, VALUE))[1]
    assert find(kernel, [])[:2] == (MORE, True)


@pytest.mark.parametrize("shared", [True, False])
def test_keys_that_are_prefixes_of_each_other(kernel: Kernel, shared: bool) -> None:
    entries = [(b"", 2, VALUE, b""), (b"\0", 1, VALUE, b""), (b"\0\0", 3, VALUE, b"x")]
    assert keys_and_values(find(kernel, [data_block(*entries, shared=shared)])) == entries


def test_entries_resume_after_a_full_buffer(kernel: Kernel) -> None:
    blocks = [data_block(ONE, TWO), data_block(THREE)]
    status, _, location, out, rows = find(kernel, blocks, room=1)
    assert (status, len(rows), location[2]) == (FULL, 1, 0)
    remainder = find(kernel, blocks, state=(location[0], location[1]), previous=out[:12])
    assert keys_and_values(remainder) == [TWO, THREE]
    status, _, location, out, rows = find(kernel, blocks, bytes_room=26)
    assert (status, len(rows), location[2]) == (FULL, 1, 12)
    assert find(kernel, blocks, bytes_room=0)[2] == [0, 0, 15]
    assert find(kernel, blocks, room=0)[0] == FULL


HASHED = struct.pack("<II", 0, 1 << 31 | 1)


def test_hash_index_after_the_restarts_is_skipped(kernel: Kernel) -> None:
    plain = data_block(ONE, TWO)
    hashed = plain[:-4] + b"\xff" * 7 + struct.pack("<H", 7) + HASHED[4:]
    assert keys_and_values(find(kernel, [hashed])) == [ONE, TWO]
    large = (b"key1", 5, VALUE, bytes(1 << 16))
    result = find(kernel, [data_block(large)], bytes_room=70000)
    assert keys_and_values(result) == [large]
    assert find(kernel, [data_block(large)[:-4] + HASHED[4:]], bytes_room=70000)[0] == BAD_BLOCK


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\0\0\0",
        struct.pack("<I", 1),
        struct.pack("<II", 0, 2),
        struct.pack("<I", 1 << 30),
        struct.pack("<I", 1 << 31),
        struct.pack("<HI", 9, 1 << 31),
        struct.pack("<HI", 0, 1 << 31 | 1),
    ],
)
def test_block_too_short_for_its_restarts(kernel: Kernel, block: bytes) -> None:
    assert find(kernel, [data_block(ONE), block])[:3] == (BAD_BLOCK, True, [1, 0, 0])


KEY = internal_key(b"key1", 4, VALUE)


@pytest.mark.parametrize(
    "entry",
    [
        b"\x80",  # no integer
        b"\xff\xff\xff\xff\x7f",  # of more than 32 bits
        b"\x80\x80\x80\x80\x80\x00",
        b"\0\x08",
        varint(0) + varint(12) + varint(1) + KEY,  # a value that is not there
        varint(0) + varint(13) + varint(0) + KEY,
        varint(0) + varint(7) + varint(0) + KEY[:7],  # shorter than an internal key
        varint(1) + varint(12) + varint(0) + KEY,  # shares with a key of another block
        varint(0) + varint(12) + varint(0) + KEY[:11] + b"\x80",  # a sequence number of 56 bits
    ],
)
def test_entry_with_impossible_lengths_is_refused(kernel: Kernel, entry: bytes) -> None:
    block = entry + struct.pack("<II", 0, 1)
    assert find(kernel, [data_block(ONE), block])[0] == BAD_ENTRY
    location = find(kernel, [data_block(ONE), block])[2]
    assert location == [1, 0, 0]


@pytest.mark.parametrize(
    "second", [ONE, (b"key1", 6, VALUE, b""), (b"key0", 9, VALUE, b""), (b"", 9, VALUE, b"")]
)
def test_entries_must_ascend(kernel: Kernel, second: tuple[bytes, int, int, bytes]) -> None:
    assert find(kernel, [data_block(ONE, second)])[0] == BAD_ORDER
    assert find(kernel, [data_block(ONE), data_block(second)])[0] == BAD_ORDER


def test_key_or_value_above_the_limit_is_refused(kernel: Kernel) -> None:
    assert find(kernel, [data_block(ONE)], limit=4)[0] == MORE
    assert find(kernel, [data_block(ONE)], limit=3)[0] == OVER_LIMIT
    assert find(kernel, [data_block((b"k", 1, VALUE, b"four"))], limit=3)[0] == OVER_LIMIT


def test_table_entries_refuses_wrong_arguments(kernel: Kernel) -> None:
    assert_refused(
        lambda: find(kernel, [data_block(ONE)], state=(-1, 0)),
        lambda: find(kernel, [data_block(ONE)], state=(0, -1)),
        lambda: find(kernel, [data_block(ONE)], previous=b"1234567"),
        match="outside",
    )
    assert find(kernel, [data_block(ONE)], state=(0, 1 << 62))[0] == BAD_BLOCK
    assert find(kernel, [data_block(ONE)], state=(9, 0))[0] == MORE
    with pytest.raises(ValueError, match="length"):
        kernel.table_entries(
            b"", int64s(), int64s(), int64s(0, 0), b"", bytearray(1), int64s(), LIMIT
        )


ENTRIES = st.lists(
    st.tuples(
        st.sampled_from([b"", b"a", b"ab", b"abc", b"b" * 30]),
        st.integers(0, 300),
        st.sampled_from([0, 1, 1, 1, 2, 7, 15]),
        st.binary(max_size=5),
    ),
    max_size=6,
)


@needs_c
@given(st.lists(ENTRIES, max_size=3), st.data())
def test_kernels_find_entries_alike(
    entries: list[list[tuple[bytes, int, int, bytes]]], data: st.DataObject
) -> None:
    blocks = [bytearray(data_block(*entry)) for entry in entries]
    for block in blocks:
        if data.draw(st.booleans()):
            block[data.draw(st.integers(0, len(block) - 1))] = data.draw(st.integers(0, 255))
    arguments: dict[str, Any] = {
        "state": (data.draw(st.integers(0, 2)), data.draw(st.sampled_from([0, 0, 0, 1, 14]))),
        "previous": data.draw(st.sampled_from([b"", KEY, internal_key(b"a", 1, 1)])),
        "bytes_room": data.draw(st.sampled_from([0, 20, 60, 4000])),
        "room": data.draw(st.sampled_from([0, 2, 50])),
        "limit": data.draw(st.sampled_from([3, LIMIT])),
    }
    given_blocks = [bytes(block) for block in blocks]
    result = find(load("c"), given_blocks, **arguments)
    assert result == find(load("python"), given_blocks, **arguments)


@needs_c
@given(st.binary(max_size=80))
def test_kernels_find_entries_of_any_bytes_alike(block: bytes) -> None:
    assert find(load("c"), [block]) == find(load("python"), [block])
    complete = block + struct.pack("<II", 0, 1)
    assert find(load("c"), [complete]) == find(load("python"), [complete])
