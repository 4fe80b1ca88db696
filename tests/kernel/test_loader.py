"""Functions of both kernels, and the choice between the kernels."""

from __future__ import annotations

import importlib
import struct
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from inspector.exceptions import EngineError
from inspector.kernel import _kernel_py
from inspector.kernel import record_layout as layout
from inspector.kernel.loader import ENVIRONMENT, load, slow_kernel_text
from inspector.kernel.record_layout import (
    BAD_KEY_LENGTH,
    BAD_KIND,
    END,
    FULL,
    KIND_MERGE,
    KIND_PUT,
    KIND_REMOVAL,
    MORE,
    OVER_LIMIT,
    SPAN,
)
from tests import encode
from tests.kernel.support import Kernel, assert_refused, int64s, needs_c, spans_of
from tests.profiles import crossed

LIMIT = (1 << 31) - 1


# --- scan ------------------------------------------------------------------------------------


def scan(
    kernel: Kernel, data: bytes, *, start: int = 0, room: int = 8, limit: int = LIMIT
) -> tuple[int, int, list[list[int]]]:
    spans = np.zeros((SPAN, room), np.int64)
    status, count, stop = kernel.scan(data, start, spans, limit)
    return status, stop, spans[:, :count].T.tolist()


PUT = encode.record(b"key", b"value678")
REMOVAL = encode.record(b"gone", None)


def test_scan_finds_puts_and_removals(kernel: Kernel) -> None:
    data = PUT + REMOVAL + encode.END
    result = [[4, 3, 11, 8], [len(PUT) + 4, 4, len(PUT) + 12, -1]]
    assert scan(kernel, data) == (END, len(data), result)


def test_scan_starts_at_the_given_offset(kernel: Kernel) -> None:
    assert scan(kernel, b"xx" + PUT + encode.END, start=2) == (
        END,
        len(PUT) + 6,
        [[6, 3, 13, 8]],
    )


def test_scan_leaves_what_follows_the_end_mark(kernel: Kernel) -> None:
    assert scan(kernel, encode.END + PUT) == (END, 4, [])


def test_scan_reads_an_empty_key(kernel: Kernel) -> None:
    assert scan(kernel, encode.record(b"", b"")) == (MORE, 8, [[4, 0, 8, 0]])


@pytest.mark.parametrize("cut", range(len(PUT)))
def test_scan_stops_before_a_cut_record(kernel: Kernel, cut: int) -> None:
    status, stop, result = scan(kernel, PUT + PUT[:cut])
    assert (status, stop, len(result)) == (MORE, len(PUT), 1)


def test_scan_stops_when_there_is_no_room(kernel: Kernel) -> None:
    assert scan(kernel, PUT * 3, room=2)[:2] == (FULL, 2 * len(PUT))
    assert scan(kernel, encode.END, room=0)[:2] == (FULL, 0)


@pytest.mark.parametrize("length", [-2, -(1 << 31)])
def test_scan_reports_an_impossible_key_length(kernel: Kernel, length: int) -> None:
    data = PUT + struct.pack(">i", length)
    assert scan(kernel, data)[:2] == (BAD_KEY_LENGTH, len(PUT))


@pytest.mark.parametrize("length", [-1, -2, -(1 << 31)])
def test_negative_value_length_is_a_removal(kernel: Kernel, length: int) -> None:
    data = struct.pack(">i", 1) + b"k" + struct.pack(">i", length)
    assert scan(kernel, data) == (MORE, 9, [[4, 1, 9, -1]])


def test_scan_reports_lengths_above_the_limit_before_the_bytes_are_there(kernel: Kernel) -> None:
    key = struct.pack(">i", 9)
    assert scan(kernel, key, limit=8)[:2] == (OVER_LIMIT, 0)
    value = encode.record(b"12345678", b"")[:-4] + key
    assert scan(kernel, value, limit=8)[:2] == (OVER_LIMIT, 12)
    assert scan(kernel, struct.pack(">i", LIMIT))[:2] == (MORE, 0)


def scan_kinds(
    kernel: Kernel, data: bytes, *, start: int = 0, room: int = 8, limit: int = LIMIT
) -> tuple[int, int, list[list[int]], list[int]]:
    spans, kinds = np.zeros((SPAN, room), np.int64), np.zeros(room, np.uint8)
    status, count, stop = kernel.scan(data, start, spans, limit, kinds)
    return status, stop, spans[:, :count].T.tolist(), kinds[:count].tolist()


def test_scan_finds_records_by_kind(kernel: Kernel) -> None:
    data = b"\x01" + PUT + b"\x10" + REMOVAL + b"\x11" + PUT + b"\x00rest"
    put, removal = len(PUT) + 1, len(REMOVAL) + 1
    last = put + removal
    spans = [[5, 3, 12, 8], [put + 5, 4, put + 13, -1], [last + 5, 3, last + 12, 8]]
    kinds = [KIND_PUT, KIND_REMOVAL, KIND_MERGE]
    assert scan_kinds(kernel, data) == (END, 2 * put + removal + 1, spans, kinds)
    assert scan_kinds(kernel, data, room=1) == (FULL, put, spans[:1], kinds[:1])


@pytest.mark.parametrize("cut", range(1, len(PUT) + 1))
def test_scan_with_kinds_stops_before_a_cut_record(kernel: Kernel, cut: int) -> None:
    first = b"\x01" + PUT
    status, stop, result, kinds = scan_kinds(kernel, first + (b"\x11" + PUT)[:cut])
    assert (status, stop, len(result), kinds) == (MORE, len(first), 1, [KIND_PUT])


@pytest.mark.parametrize(
    "record", [b"\x02" + PUT, b"\xff" + PUT, b"\x01" + REMOVAL, b"\x11" + REMOVAL, b"\x10" + PUT]
)
def test_scan_reports_an_unknown_kind(kernel: Kernel, record: bytes) -> None:
    data = b"\x01" + PUT + record
    assert scan_kinds(kernel, data)[:2] == (BAD_KIND, len(PUT) + 1)


def test_scan_with_kinds_reports_impossible_lengths(kernel: Kernel) -> None:
    assert scan_kinds(kernel, b"\x01" + struct.pack(">i", -1))[:2] == (BAD_KEY_LENGTH, 1)
    assert scan_kinds(kernel, b"\x01" + struct.pack(">i", -2))[:2] == (BAD_KEY_LENGTH, 1)
    assert scan_kinds(kernel, b"\x01" + struct.pack(">i", 9), limit=8)[:2] == (OVER_LIMIT, 1)
    value = b"\x01" + struct.pack(">i", 1) + b"k" + struct.pack(">i", 9)
    assert scan_kinds(kernel, value, limit=8)[:2] == (OVER_LIMIT, 6)


def test_scan_needs_room_for_the_kinds(kernel: Kernel) -> None:
    with pytest.raises(ValueError, match="arrays differ in length"):
        kernel.scan(b"", 0, np.zeros((SPAN, 2), np.int64), LIMIT, np.zeros(1, np.uint8))


@pytest.mark.parametrize("start", [-1, 5, 1 << 62])
def test_scan_refuses_a_start_outside(kernel: Kernel, start: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        scan(kernel, b"1234", start=start)


def test_scan_refuses_arrays_of_another_kind(kernel: Kernel) -> None:
    read_only = np.zeros(8, np.int64)
    read_only.flags.writeable = False
    wrong: Any = np.zeros(8, np.int32), np.zeros(8, np.float64)
    assert_refused(
        lambda: kernel.scan(b"", 0, wrong[0], LIMIT),
        lambda: kernel.scan(b"", 0, wrong[1], LIMIT),
        lambda: kernel.scan(b"", 0, np.zeros((8, 8), np.int64)[:, :4], LIMIT),
        lambda: kernel.scan(b"", 0, read_only, LIMIT),
    )


# --- hash64 and gather -----------------------------------------------------------------------


def hashes(kernel: Kernel, parts: list[bytes], skip: int = -1) -> list[int]:
    data, offsets, lengths = spans_of(parts)
    out = np.zeros(len(parts), np.uint64)
    kernel.hash64(data, offsets, lengths, skip, out)
    return out.tolist()


def test_hash_is_xxh64(kernel: Kernel) -> None:
    parts = [bytes(range(size)) for size in range(100)]
    assert hashes(kernel, parts) == list(map(xxhash.xxh64_intdigest, parts))
    assert hashes(kernel, [b""]) == [0xEF46DB3751D8E999]  # from the specification of xxHash


def test_hash64_ignores_skipped_bytes(kernel: Kernel) -> None:
    first, second = hashes(kernel, [b"ab" + b"1" * 8 + b"cd", b"ab" + b"2" * 8 + b"cd"], skip=2)
    assert first == second
    assert first == xxhash.xxh64_intdigest(b"cd", xxhash.xxh64_intdigest(b"ab"))
    assert first != hashes(kernel, [b"ab" + b"1" * 8 + b"ce"], skip=2)[0]


@pytest.mark.parametrize("skip", [3, 100, (1 << 63) - 1, -5])
def test_hash64_of_spans_without_the_skipped_bytes(kernel: Kernel, skip: int) -> None:
    part = b"0123456789"
    assert hashes(kernel, [part], skip) == [xxhash.xxh64_intdigest(part)]
    assert hashes(kernel, [part], 2) != [xxhash.xxh64_intdigest(part)]


def test_gather_concatenates_spans(kernel: Kernel) -> None:
    assert kernel.gather(b"abcdef", int64s(4, 0, 6), int64s(2, 3, 0)) == b"efabc"
    assert kernel.gather(b"", int64s(), int64s()) == b""
    assert kernel.gather(memoryview(b"xabc")[1:], int64s(1), int64s(2)) == b"bc"


OUTSIDE = [(-1, 1), (0, -1), (0, 5), (5, 0), (4, 1), (1 << 62, 1 << 62), (1, (1 << 63) - 1)]


@pytest.mark.parametrize(("offset", "length"), OUTSIDE)
def test_spans_outside_of_the_buffer_are_refused(kernel: Kernel, offset: int, length: int) -> None:
    offsets, lengths = int64s(0, offset), int64s(4, length)
    interner = kernel.Interner()
    with pytest.raises(ValueError, match="outside"):
        kernel.gather(b"1234", offsets, lengths)
    with pytest.raises(ValueError, match="outside"):
        kernel.hash64(b"1234", offsets, lengths, -1, np.zeros(2, np.uint64))
    with pytest.raises(ValueError, match="outside"):
        interner.intern(b"1234", offsets, lengths, np.zeros(2, np.int64))
    assert len(interner) == 0


def test_arrays_of_different_length_are_refused(kernel: Kernel) -> None:
    item, two = int64s(0), int64s(0, 0)
    assert_refused(
        lambda: kernel.gather(b"", item, two),
        lambda: kernel.hash64(b"", item, item, -1, np.zeros(2, np.uint64)),
        lambda: kernel.Interner().intern(b"", item, item, two),
        lambda: kernel.Interner().gather(item, item),
        match="differ in length",
    )


# --- Interner --------------------------------------------------------------------------------


def intern(interner: Any, parts: list[bytes]) -> list[int]:
    data, offsets, lengths = spans_of(parts)
    out = np.full(len(parts), -9, np.int64)
    interner.intern(data, offsets, lengths, out)
    return out.tolist()


def numbered_keys(count: int) -> list[bytes]:
    """Return the numbers below ``count`` as decimal text."""
    return [b"%d" % number for number in range(count)]


def find(interner: Any, *keys: bytes) -> list[int]:
    """Return the number of each key, or -1 for an unknown key."""
    return list(map(interner.find, keys))


def test_interner_numbers_keys_by_first_appearance(kernel: Kernel) -> None:
    interner = kernel.Interner()
    assert intern(interner, [b"b", b"a", b"b", b"", b"a"]) == [0, 1, 0, 2, 1]
    assert intern(interner, [b"", b"c", b"b"]) == [2, 3, 0]
    assert len(interner) == 4
    assert find(interner, b"b", b"a", b"", b"c", b"bb") == [0, 1, 2, 3, -1]


def test_empty_interner_has_no_keys(kernel: Kernel) -> None:
    interner = kernel.Interner()
    assert (len(interner), interner.find(b"")) == (0, -1)
    assert interner.gather(int64s(), np.full(1, 7, np.int64)) == b""


def test_interner_returns_keys_by_number(kernel: Kernel) -> None:
    keys = [b"x" * i for i in range(40)]
    interner = kernel.Interner()
    intern(interner, keys)
    offsets = np.zeros(4, np.int64)
    assert interner.gather(int64s(3, 0, 2), offsets) == b"xxxxx"
    assert offsets.tolist() == [0, 3, 3, 5]


def test_hashed_interner_keeps_no_key_bytes(kernel: Kernel) -> None:
    """Keys of any length have numbers, but their bytes cannot be read."""
    keys = [bytes([i % 251]) * i for i in range(1500)]
    interner = kernel.Interner(hashed=True)
    assert intern(interner, keys) == list(range(1500))
    assert intern(interner, keys[::-1]) == list(range(1500))[::-1]
    assert find(interner, *keys) == list(range(1500))
    assert find(interner, b"another") == [-1]
    with pytest.raises(ValueError, match="not kept"):
        interner.gather(int64s(0), np.zeros(2, np.int64))


@needs_c
def test_hashed_interner_memory_is_independent_of_key_length() -> None:
    interner = load("c").Interner(hashed=True)
    intern(interner, [b"%d" % i * 20 for i in range(60_000)])
    assert interner.nbytes < 60_000 * (4 + 36)


@pytest.mark.parametrize("number", [-1, 2, 1 << 40, -(1 << 63)])
def test_interner_refuses_unknown_numbers(kernel: Kernel, number: int) -> None:
    interner = kernel.Interner()
    intern(interner, [b"a", b"b"])
    with pytest.raises(ValueError, match="never given"):
        interner.gather(int64s(0, number), np.zeros(3, np.int64))


def test_interner_with_many_and_long_keys(kernel: Kernel) -> None:
    """The keys exceed the first table and the first chunk. Two keys are longer than a chunk."""
    keys = numbered_keys(40_000)
    keys[100:100] = [b"L" * (3 << 20), b"M" * 300_000]
    interner = kernel.Interner()
    assert intern(interner, keys) == list(range(len(keys)))
    assert intern(interner, keys[::-1]) == list(range(len(keys)))[::-1]
    assert interner.nbytes > 3 << 20
    offsets = np.zeros(len(keys) + 1, np.int64)
    everything = interner.gather(np.arange(len(keys)), offsets)
    assert everything == b"".join(keys)


ALIKE, KEY_SIZES, OTHERS = (
    (1, 2, 1023, 1024, 1025, 5000),
    (1, 16, 64, 65),
    (b"", b"odd", b"L" * 300_000),
)


@pytest.mark.parametrize(("alike", "size", "second"), crossed(ALIKE, KEY_SIZES, OTHERS))
def test_interner_with_keys_of_one_size_then_others(
    kernel: Kernel, alike: int, size: int, second: bytes
) -> None:
    first = list(
        dict.fromkeys(i.to_bytes(8, "little").ljust(size, b"k")[:size] for i in range(alike))
    )
    keys = list(dict.fromkeys([*first, second, *numbered_keys(1500), b"x" * 16]))
    numbers = list(range(len(keys)))
    interner = kernel.Interner()
    assert intern(interner, first) == numbers[: len(first)]
    assert intern(interner, first[::-1]) == numbers[: len(first)][::-1]
    assert intern(interner, keys) == numbers
    assert intern(interner, keys[::-1]) == numbers[::-1]
    assert intern(interner, first) == numbers[: len(first)]
    assert find(interner, *keys) == numbers
    offsets = np.zeros(len(keys) + 1, np.int64)
    assert interner.gather(np.arange(len(keys)), offsets) == b"".join(keys)


@needs_c
def test_interner_memory_of_keys_of_one_size() -> None:
    """A doubled buffer takes twice the bytes of the keys. The index takes at most 22 per key."""
    keys = [i.to_bytes(24, "big") for i in range(100_000)]
    interner = load("c").Interner()
    intern(interner, keys)
    alike = interner.nbytes
    assert alike < 100_000 * (2 * 24 + 22)
    intern(interner, [b"another"])
    assert interner.nbytes > alike


def test_interner_refuses_a_second_thread(kernel: Kernel) -> None:
    """If two threads intern at once, numbers stay dense or the second thread gets an error."""
    interner = kernel.Interner()
    parts = numbered_keys(30_000)
    refused: list[BaseException] = []

    def work(parts: list[bytes]) -> None:
        try:
            assert intern(interner, parts) == list(range(len(parts)))
        except RuntimeError as error:
            refused.append(error)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [parts] * 4))
    assert len(interner) in (0, len(parts))
    assert set(map(str, refused)) <= {"another thread is using this interner"}


# --- both alike ------------------------------------------------------------------------------

framed = st.lists(st.tuples(st.binary(max_size=12), st.none() | st.binary(max_size=20))).map(
    encode.records
)


@needs_c
@given(st.binary(max_size=60) | framed, st.integers(0, 60), st.integers(0, 5), st.integers(0, 40))
def test_kernels_scan_alike(data: bytes, start: int, room: int, limit: int) -> None:
    start = min(start, len(data))
    expected = scan(load("python"), data, start=start, room=room, limit=limit)
    assert scan(load("c"), data, start=start, room=room, limit=limit) == expected


of_kinds = st.lists(st.tuples(st.sampled_from(b"\x00\x01\x10\x11"), st.binary(max_size=3))).map(
    lambda entries: b"".join(
        bytes([kind]) + encode.record(data, None if kind == KIND_REMOVAL else data)
        for kind, data in entries
    )
)


@needs_c
@given(st.binary(max_size=60) | of_kinds, st.integers(0, 60), st.integers(0, 5), st.integers(0, 40))
def test_kernels_scan_kinds_alike(data: bytes, start: int, room: int, limit: int) -> None:
    start = min(start, len(data))
    expected = scan_kinds(load("python"), data, start=start, room=room, limit=limit)
    assert scan_kinds(load("c"), data, start=start, room=room, limit=limit) == expected


@needs_c
@given(st.lists(st.binary(max_size=90), max_size=20), st.integers(-1, 80))
def test_kernels_hash_gather_and_intern_alike(parts: list[bytes], skip: int) -> None:
    python, c = load("python"), load("c")
    assert hashes(c, parts, skip) == hashes(python, parts, skip)
    assert c.gather(*spans_of(parts)) == python.gather(*spans_of(parts))
    ours, theirs = c.Interner(), python.Interner()
    assert intern(ours, parts) == intern(theirs, parts)
    assert find(ours, *parts) == find(theirs, *parts)


# --- choice ----------------------------------------------------------------------------------


def test_unknown_kernel_is_refused() -> None:
    with pytest.raises(EngineError, match="'rust', expected 'c' or 'python'"):
        load("rust")


def test_missing_c_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def absent(name: str) -> ModuleType:
        if name.endswith("_kernel_c"):
            raise ImportError(f"no {name}")
        return real(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(EngineError, match=r"not built: no inspector\.kernel\._kernel_c"):
        load("c")
    assert cast("Any", load("")) is _kernel_py


@needs_c
@pytest.mark.parametrize("name", ["MORE", "FULL", "END", "BAD_KEY_LENGTH", "OVER_LIMIT", "SPAN"])
def test_kernel_constants_agree(name: str) -> None:
    assert getattr(load("c"), name) == getattr(layout, name)


def test_slow_kernel_text_names_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert "was not built when this package was installed" in slow_kernel_text()
    monkeypatch.setenv(ENVIRONMENT, "python")
    assert slow_kernel_text().endswith("INSPECTOR_KERNEL=python asks for it")
