"""Rows that a copy writes anew, read back by what reads Spark's files."""

from __future__ import annotations

import io
import zipfile
from itertools import chain, repeat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.arrays import concatenate
from inspector.decode.encoded_rows import KeyDecoder, Spans
from inspector.decode.records import RecordBlock
from inspector.encode.empty_snapshot import empty_snapshot
from inspector.encode.records import record
from inspector.encode.stored_rows import StoredRows
from inspector.exceptions import DecodeError
from inspector.passes.reshape import frame_puts
from inspector.providers.rocksdb.snapshot import parse_snapshot
from inspector.sparktypes import LONG
from inspector.sparktypes.key_encoders import KeyEncoder, KeyEncoding
from tests import encode
from tests.rocks import TEXT, struct_of

TIMED = struct_of(TEXT, LONG)


@pytest.mark.parametrize("kind", [KeyEncoding.TIMESTAMP_FIRST, KeyEncoding.TIMESTAMP_LAST])
@given(rows=st.lists(st.tuples(st.text(max_size=20), st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_keys_with_a_time_are_read_back(kind: KeyEncoding, rows: list[tuple[str, int]]) -> None:
    encoder = KeyEncoder(kind)
    keys = [encode.row(TIMED, row) for row in rows]
    stored = [key for key, _ in StoredRows(encoder, TIMED).records(zip(keys, repeat(b"")))]
    buffer, offsets, lengths = concatenate(stored)
    read = KeyDecoder(TIMED, encoder).rows(buffer, Spans(offsets, lengths))
    spans = zip(read.offsets.tolist(), read.lengths.tolist(), strict=True)
    assert [read.data[start : start + size] for start, size in spans] == keys
    if kind is KeyEncoding.TIMESTAMP_FIRST:
        times = sorted(range(len(rows)), key=lambda n: (rows[n][1], stored[n]))
        assert times == sorted(range(len(rows)), key=lambda n: stored[n])


def test_keys_without_a_time_are_refused() -> None:
    stored = StoredRows(KeyEncoder(KeyEncoding.TIMESTAMP_FIRST), TIMED)
    with pytest.raises(DecodeError):
        list(stored.records([(encode.row(TIMED, ("a", None)), b"")]))


def test_keys_ordered_by_a_null_are_refused() -> None:
    encoder = KeyEncoder(KeyEncoding.RANGE, ordinals=(1,))
    stored = StoredRows(encoder, TIMED)
    assert len(list(stored.records([(encode.row(TIMED, ("a", -5)), b"")]))) == 1
    with pytest.raises(DecodeError, match="a null among the columns that order them"):
        list(stored.records([(encode.row(TIMED, ("a", None)), b"")]))


@given(rows=st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=40))))
def test_puts_of_a_block_are_framed_as_single_records(rows: list[tuple[bytes, bytes]]) -> None:
    buffer, starts, lengths = concatenate([b"x", *chain.from_iterable(rows)])
    keys = np.ascontiguousarray(starts[1::2]), np.ascontiguousarray(lengths[1::2])
    puts = np.ascontiguousarray(starts[2::2]), np.ascontiguousarray(lengths[2::2])
    block = RecordBlock(buffer, 0, 0, *keys, *puts)
    assert frame_puts(block) == b"".join(record(key, value) for key, value in rows)


METADATA = (
    b'v1\n{"sstFiles":[{"localFileName":"000008.sst","dfsSstFileName":"000008-a.sst",'
    b'"sizeBytes":9}],"numKeys":12,"numInternalKeys":8,"columnFamilyMapping":{"a":2,"$b":3},'
    b'"columnFamilyTypeMap":{"a":false,"$b":true},"maxColumnFamilyId":3}'
)


def test_empty_snapshot_has_families_and_no_rows() -> None:
    content = empty_snapshot(METADATA)
    assert content == empty_snapshot(METADATA)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        snapshot = parse_snapshot(archive.read("metadata"))
        assert archive.read("CURRENT") == b"MANIFEST-000001\n"
        assert "MANIFEST-000001" in archive.namelist()
    assert snapshot.tables == ()
    assert (snapshot.keys, snapshot.internal_keys) == (0, 0)
    assert snapshot.families == {"a": 2, "$b": 3}


@given(st.binary(max_size=60) | st.sampled_from([b"v1\n[]", b"v1\n{}", b'v1\n{"sstFiles":0}']))
def test_metadata_of_any_bytes_gives_a_snapshot_or_a_typed_error(data: bytes) -> None:
    try:
        content = empty_snapshot(data)
    except DecodeError:
        return
    assert zipfile.is_zipfile(io.BytesIO(content))
