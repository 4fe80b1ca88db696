"""Records of a whole file: across blocks, limits, and the end mark."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.frames import inflate
from inspector.decode.records import RecordBlock, SmallDeltas, read_records, read_small_deltas
from inspector.exceptions import (
    DecodeError,
    FrameError,
    LimitError,
    RecordError,
    TailError,
    TruncatedError,
)
from inspector.kernel.loader import load
from inspector.model import LIMITS, Limits
from tests import encode
from tests.attributes import attributes
from tests.decode.spans import flip, parts_of, pieces
from tests.encode import Record

ENTRIES: list[Record] = [(b"key-0001", b"v" * 16), (b"gone", None), (b"", b""), (b"k", b"w" * 8)]
RAW = encode.records(ENTRIES)


def entries(actual: Iterable[RecordBlock]) -> list[Record]:
    """Return the keys and values of consecutive blocks."""
    result: list[Record] = []
    for block in actual:
        assert block.first_record == len(result)
        assert block.count > 0
        keys = parts_of(block.buffer, block.key_offset, block.key_length)
        parts = parts_of(block.buffer, block.value_offset, block.value_length)
        sizes = block.value_length.tolist()
        values = [None if n < 0 else part for part, n in zip(parts, sizes, strict=True)]
        assert block.puts_only == (None not in values)
        result += zip(keys, values, strict=True)
    return result


def read(raw: bytes, **limits: int) -> list[Record]:
    return entries(read_records([raw], snapshot=False, limits=Limits(**limits)))


def test_reads_puts_and_removals() -> None:
    assert read(RAW) == ENTRIES


def test_version_without_changes_has_no_blocks() -> None:
    assert list(read_records([encode.END], snapshot=False)) == []


@pytest.mark.parametrize("size", [1, 3, 5, 8, 1000])
@pytest.mark.parametrize("block_bytes", [1, 16, 4096])
def test_records_are_read_from_blocks_of_any_size(size: int, block_bytes: int) -> None:
    limits = Limits(block_bytes=block_bytes)
    assert entries(read_records(pieces(RAW, size), snapshot=False, limits=limits)) == ENTRIES


def test_block_offsets_refer_to_the_raw_file() -> None:
    limits = Limits(block_bytes=16)
    blocks = list(read_records(pieces(RAW, 8), snapshot=False, limits=limits))
    assert attributes(blocks, "raw_offset") == [0, 32, 44, 52]
    assert [RAW.index(block.buffer) for block in blocks] == [0, 32, 44, 52]
    assert attributes(blocks, "key_offset") == [[4], [4], [4], [4]]


def test_claimed_length_allocates_no_memory() -> None:
    claimed = struct.pack(">i", LIMITS.record_bytes)
    with pytest.raises(TruncatedError, match="no end mark"):
        read(claimed + b"x" * 100)


def test_record_longer_than_a_block_is_read_whole() -> None:
    long = [(b"k" * 50_000, b"v" * 80_000)]
    raw = encode.records(long)
    limits = Limits(block_bytes=1000)
    assert entries(read_records(pieces(raw, 100), snapshot=False, limits=limits)) == long


def test_more_records_than_fit_one_block() -> None:
    several_values: list[Record] = [(b"%d" % i, None) for i in range(70_000)]
    blocks = list(read_records([encode.records(several_values)], snapshot=False))
    assert len(blocks) == 2
    assert entries(blocks) == several_values


@pytest.mark.parametrize("extra", [b"\x00", encode.END, RAW])
@pytest.mark.parametrize("cut", [len(RAW), 1 << 20])
def test_bytes_after_the_end_mark_raise_tail_error(extra: bytes, cut: int) -> None:
    with pytest.raises(TailError, match="after the end mark") as caught:
        list(read_records(pieces(RAW + extra, cut), snapshot=False))
    assert caught.value.offset == len(RAW)


def test_empty_blocks_after_the_end_mark_are_ignored() -> None:
    assert entries(read_records([RAW, b"", b""], snapshot=False)) == ENTRIES


def test_block_error_after_the_end_mark_is_a_tail_error() -> None:
    def blocks(*parts: bytes) -> Iterator[bytes]:
        yield from parts
        raise FrameError("a broken block", offset=7)

    result: list[RecordBlock] = []
    with pytest.raises(TailError, match=r"a broken block, behind the end mark") as caught:
        result.extend(read_records(blocks(RAW[:9], RAW[9:]), snapshot=False))
    assert entries(result) == ENTRIES
    assert caught.value.offset == 7
    with pytest.raises(FrameError, match=r"a broken block$"):
        list(read_records(blocks(RAW[:-2]), snapshot=False))


def test_every_prefix_of_records_raises_truncated_error() -> None:
    for size in range(len(RAW)):
        with pytest.raises(TruncatedError, match="raw") as caught:
            read(RAW[:size])
        assert caught.value.offset == size
    with pytest.raises(TruncatedError):
        list(read_records([], snapshot=False))


def test_removal_in_a_snapshot_is_refused() -> None:
    puts = [ENTRIES[0], *ENTRIES[2:]]
    assert entries(read_records([encode.records(puts)], snapshot=True)) == puts
    with pytest.raises(RecordError, match="snapshot with a removal") as caught:
        list(read_records([RAW], snapshot=True))
    assert caught.value.offset == RAW.index(b"gone")


def test_records_before_an_error_are_returned() -> None:
    raw = RAW[:-4] + struct.pack(">i", -7)
    records = read_records([raw], snapshot=False)
    assert entries([next(records)]) == ENTRIES
    with pytest.raises(RecordError, match=r"impossible key length \(raw offset\)") as caught:
        next(records)
    assert caught.value.offset == len(RAW) - 4


def test_record_bytes_limit_has_an_offset() -> None:
    with pytest.raises(LimitError, match="the limit record_bytes is 15") as caught:
        read(RAW, record_bytes=15)
    assert caught.value.offset == 4 + len(b"key-0001")
    assert read(RAW, record_bytes=16) == ENTRIES


@pytest.mark.parametrize(("size", "remaining"), [(12, 8), (15, 8), (16, 16), (4, 0), (0, 0)])
def test_values_are_truncated_to_whole_words(size: int, remaining: int) -> None:
    """Before Spark 2.3 a value could have 4 extra bytes."""
    raw = encode.records([(b"k" * 5, b"v" * size), (b"k", None)])
    assert read(raw) == [(b"k" * 5, b"v" * remaining), (b"k", None)]


# --- row checksums ---------------------------------------------------------------------------


def test_row_checksums_are_removed_from_values() -> None:
    raw = encode.records(ENTRIES, row_checksum=True)
    blocks = list(read_records([raw], snapshot=False, row_checksum=True))
    assert entries(blocks) == ENTRIES
    assert attributes(blocks, "checksum_mismatches") == [()]


def test_wrong_row_checksums_are_reported() -> None:
    raw = bytearray(encode.records(ENTRIES, row_checksum=True))
    raw[raw.index(b"gone")] ^= 1
    raw[raw.index(b"w" * 8)] ^= 1
    (block,) = read_records([bytes(raw)], snapshot=False, row_checksum=True)
    assert block.checksum_mismatches == (1, 3)


@pytest.mark.parametrize("entry", [(b"key", b"123"), (b"123", None), (b"", None), (b"key", b"")])
def test_record_too_short_for_a_row_checksum(entry: Record) -> None:
    raw = encode.records([entry])
    with pytest.raises(RecordError, match="no room for a row checksum") as caught:
        list(read_records([raw], snapshot=False, row_checksum=True))
    assert caught.value.offset == 4


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_first_fault_of_a_file_is_reported(block_bytes: int) -> None:
    """Blocks of any size report the same fault. Atheris found that a later removal was reported."""
    raw = encode.records([(b"no room", b""), *[(b"key %d" % i, b"12345678") for i in range(9)]])
    raw = raw[:-4] + encode.records([(b"removed", None)])
    limits = Limits(block_bytes=block_bytes)
    with pytest.raises(RecordError, match="no room for a row checksum") as caught:
        list(read_records(pieces(raw, 5), snapshot=True, row_checksum=True, limits=limits))
    assert caught.value.offset == 4


def test_row_checksum_of_spark_4_3_0_matches() -> None:
    """The first removal of a delta that Spark 4.3.0 wrote for flatMapGroupsWithState."""
    raw = bytes.fromhex(
        "0000001c374615fd00000000000000000800000010000000757365722d303336ffffffffffffffff"
    )
    (block,) = read_records([raw], snapshot=False, row_checksum=True)
    assert block.checksum_mismatches == ()
    assert block.key_length.tolist() == [24]


# --- properties ------------------------------------------------------------------------------

keys = st.binary(max_size=10)
values = st.none() | st.binary(max_size=4).map(lambda value: value * 8)
lists = st.lists(st.tuples(keys, values), max_size=10)


@given(lists, st.booleans(), st.integers(1, 40), st.integers(1, 40))
def test_reading_inverts_writing(
    written: list[Record], checksum: bool, size: int, block_bytes: int
) -> None:
    raw = encode.records(written, row_checksum=checksum)
    limits = Limits(block_bytes=block_bytes)
    blocks = read_records(pieces(raw, size), snapshot=False, row_checksum=checksum, limits=limits)
    records = list(blocks)
    assert entries(records) == written
    assert attributes(records, "checksum_mismatches") == [()] * len(records)


@given(st.binary(max_size=80), st.booleans(), st.booleans())
def test_any_bytes_give_records_or_decode_error(raw: bytes, snapshot: bool, checksum: bool) -> None:
    try:
        for block in read_records([raw], snapshot=snapshot, row_checksum=checksum):
            assert (block.value_length % 8)[block.value_length >= 0].sum() == 0
            assert (block.value_offset + block.value_length).max() <= len(raw)
    except DecodeError as error:
        assert 0 <= (error.offset or 0) <= len(raw)  # noqa: PT017 - either is fine


def read_together(contents: Sequence[bytes], limits: Limits = LIMITS) -> SmallDeltas | None:
    """Read small deltas by the C kernel, also if the other tests use the Python kernel."""
    with mock.patch("inspector.decode.records.kernel", return_value=load("c")):
        return read_small_deltas(contents, limits)


def by_file(small: SmallDeltas) -> list[list[Record]]:
    """Return the keys and values of each file."""
    records = entries([small.block]) if small.block.count else []
    return [records[a:b] for a, b in pairwise([0, *small.ends.tolist()])]


damages = st.sampled_from([*["none"] * 6, "cut", "longer", "flipped", "empty", "odd", "stored"])


@given(st.lists(st.tuples(lists, damages), max_size=6), st.integers(0, 1 << 16))
def test_small_deltas_are_read_up_to_the_first_damaged_file(
    files: list[tuple[list[Record], str]], chance: int
) -> None:
    contents = [damaged(written, damage, chance) for written, damage in files]
    small = read_together(contents)
    together = [] if small is None else by_file(small)
    alone: list[list[Record]] = []
    with suppress(DecodeError):
        alone.extend(
            entries(read_records(inflate([content], "lz4"), snapshot=False)) for content in contents
        )
    assert together == alone[: len(together)]
    right = next((i for i, (_, damage) in enumerate(files) if damage != "none"), len(files))
    assert len(together) >= right
    raw = [sum(map(len, inflate([item], "lz4"))) for item in contents[: len(together)]]
    assert ([] if small is None else small.raw_ends.tolist()) == list(accumulate(raw))


def damaged(written: list[Record], damage: str, chance: int) -> bytes:
    """Return a delta, or a file with one kind of damage."""
    content = encode.lz4(encode.records(written))
    location = chance % len(content)
    return {
        "none": content,
        "cut": content[:location],
        "longer": content * 2,
        "flipped": flip(content, location, 1 + chance % 255),
        "empty": b"",
        "odd": encode.lz4(encode.records([*written, (b"key", b"v" * 12)])),
        "stored": encode.lz4(encode.records(written), 64),
    }[damage]


@pytest.mark.parametrize(
    "limits", [Limits(record_bytes=15), Limits(frame_bytes=20), Limits(block_bytes=len(RAW) - 1)]
)
def test_small_deltas_above_a_limit_are_not_read(limits: Limits) -> None:
    content = encode.lz4(RAW)
    assert read_together([content, content], limits) is None
    small = read_together([content, content], Limits(block_bytes=len(RAW)))
    assert small is not None
    assert by_file(small) == [ENTRIES]


def test_small_deltas_stop_at_the_record_capacity() -> None:
    content = encode.lz4(encode.records([(b"", b"")] * 5000))
    small = read_together([content, content])
    assert small is not None
    assert small.ends.tolist() == [5000]


SPANS, ENDS = np.empty((4, 8), np.int64), np.empty((2, 1), np.int64)


@pytest.mark.parametrize(
    ("files", "spans", "ends"),
    [
        ([b""], SPANS, ENDS),
        (("",), SPANS, ENDS),
        ((b"",), SPANS.astype(np.int32), ENDS),
        ((b"",), SPANS, ENDS[:1, :0]),
    ],
)
def test_small_deltas_refuses_wrong_arguments(files: Any, spans: Any, ends: Any) -> None:
    read = load("c").small_deltas  # type: ignore[attr-defined]
    assert read((b"",), SPANS, ENDS, 1, 1, 1) == (b"", 0)
    with pytest.raises((TypeError, ValueError)):
        read(files, spans, ends, 1, 1, 1)
