"""Tables of RocksDB: entries, properties, refused tables, and any bytes."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.sst.entries import EntryBlock
from inspector.decode.sst.footer import Varints
from inspector.decode.sst.live import live_entries
from inspector.decode.sst.properties import TableProperties
from inspector.decode.sst.table import RangeDeletion, Table
from inspector.exceptions import DecodeError, LimitError, RecordError, TruncatedError
from inspector.model import Limits
from tests.attributes import attributes
from tests.decode.spans import assert_prefixes_refused, damaged
from tests.decode.sst.tables import (
    MERGE,
    VALUE,
    BytesSource,
    case,
    case_names,
    entries_of,
    live,
    opened,
    rows_of,
    table_of,
    varint,
    within,
)

UNREAD = "blocks_with_dictionary"
FEW = (
    *("format_2_kCRC32c", "format_3_kxxHash", "format_4_kxxHash64", "format_5_kXXH3"),
    *("format_6_kXXH3", "format_6_kNoChecksum", "compression_zstd_6", "compression_snappy_5"),
    *("index_partitioned_delta_6", "index_first_key_4", "blocks_hash_index", "ranges", "merges"),
    *("deep", "levels", "only_a_range", "one_entry", "merges_compacted", "long_keys"),
)
"""Cases of a plain run. A full run has the others too."""


def _marked(name: str) -> object:
    return name if name in FEW else pytest.param(name, marks=pytest.mark.full)


TINY = Limits(block_bytes=64)

CASES = [_marked(name) for name in case_names() if name != UNREAD]


@pytest.mark.parametrize("name", CASES)
def test_live_rows_match_the_iterator_of_rocksdb(name: str) -> None:
    assert rows_of(live_entries(opened(name))) == case(name).live


@pytest.mark.parametrize("name", CASES)
def test_live_rows_of_a_key_range_are_complete(name: str) -> None:
    expected = case(name).live
    keys = sorted(dict(expected))
    quarters = [keys[(len(keys) - 1) * n // 4] for n in range(5)] if keys else []
    ranges: list[tuple[bytes, bytes | None]] = [(start, None) for start in quarters[:3]]
    for start, end in [*ranges, *zip(quarters[1:3], quarters[3:], strict=False)]:
        rows = rows_of(live_entries(opened(name, TINY), TINY, start=start, end=end))
        assert within(rows, start, end) == within(expected, start, end)


@pytest.mark.parametrize("name", ["index_delta_6", "index_partitioned_delta_6", "levels"])
def test_key_range_reads_few_other_entries(name: str) -> None:
    keys = list(dict(case(name).live))
    start, end = keys[len(keys) // 2], keys[len(keys) * 6 // 10]

    def count(*of: bytes) -> int:
        """Return the number of entries that are read."""
        blocks = chain(*(table.entries(TINY.block_bytes, *of) for table in opened(name)))
        return sum(attributes(blocks, "count"))

    assert len(keys) // 10 <= count(start, end) < count() // 5


NAMES = {
    "data_bytes": "rocksdb.data.size",
    "data_blocks": "rocksdb.num.data.blocks",
    "index_bytes": "rocksdb.index.size",
    "filter_bytes": "rocksdb.filter.size",
    "compression": "rocksdb.compression",
    "column_family": "rocksdb.column.family.name",
    "column_family_id": "rocksdb.column.family.id",
    "creation_time": "rocksdb.creation.time",
    "file_creation_time": "rocksdb.file.creation.time",
    "db_id": "rocksdb.creating.db.identity",
    "db_session_id": "rocksdb.creating.session.identity",
    "file_number": "rocksdb.original.file.number",
}
"""Name of a property in the library of RocksDB -> its name in the file."""


def property_text(properties: TableProperties, key: str) -> str:
    if key not in NAMES:
        return str(getattr(properties, key))
    stored = properties.stored.get(NAMES[key], b"\0")
    is_text = key in ("compression", "column_family", "db_id", "db_session_id")
    return stored.decode() if is_text else str(Varints(stored, 0).next(key))


@pytest.mark.parametrize("name", CASES)
def test_table_properties_match_rocksdb(name: str) -> None:
    for table in opened(name):
        result = case(name).properties[table.path or ""]
        assert {key: property_text(table.properties, key) for key in result} == result
        entries = entries_of(table)
        properties = table.properties
        ranges = table.range_deletions()
        starts, ends = attributes(ranges, "start"), attributes(ranges, "end")
        assert len(entries) + len(ranges) == properties.entries
        assert len(ranges) == properties.range_deletions
        kinds = Counter(kind for _, _, kind, _ in entries)
        assert kinds[MERGE] == properties.merge_operands
        deletions = kinds.total() - kinds[VALUE] - kinds[MERGE]
        assert deletions + len(ranges) == properties.deletions
        keys = sum(len(key) + 8 for key, _, _, _ in entries)
        assert keys + sum(map(len, starts)) + 8 * len(ranges) == properties.raw_key_bytes
        values = sum(len(value) for _, _, _, value in entries)
        assert values + sum(map(len, ends)) == properties.raw_value_bytes


def test_properties_have_session_and_user_collector_values() -> None:
    (table,) = opened("one_entry")
    properties = table.properties
    assert len(properties.stored["rocksdb.creating.session.identity"]) == 20
    assert properties.stored["rocksdb.creating.db.identity"].count(b"-") == 4
    assert properties.stored["rocksdb.original.file.number"] == b"\x09"
    assert properties.stored["rocksdb.key.largest.seqno"] == b"\x01"
    data = table_of([(b"k", 1, VALUE, b"v")], extra={b"mine": b"\x00\xff"})
    assert Table(BytesSource(data)).properties.stored["mine"] == b"\x00\xff"


def tags(blocks: Iterable[EntryBlock]) -> list[int]:
    """Return sequence number and type of every entry."""
    return list(chain(*attributes(blocks, "tag")))


@pytest.mark.parametrize("name", ["levels", "mixed_compacted", "large_values", "deep"])
def test_entries_are_equal_for_small_blocks(name: str) -> None:
    small = [tags(table.entries(300)) for table in opened(name)]
    assert small == [tags(table.entries()) for table in opened(name)]


def test_first_key_of_a_table() -> None:
    (one_entry,), (only_a_range,) = opened("one_entry"), opened("only_a_range")
    assert one_entry.first_key() == b"key-00000"
    assert only_a_range.first_key() is None


def test_range_deletions_of_a_table() -> None:
    (table,) = opened("only_a_range")
    assert table.range_deletions() == (RangeDeletion(b"key-00000", b"key-00020", 1),)
    assert opened("one_entry")[0].range_deletions() == ()


def test_compression_dictionary_is_refused() -> None:
    (table,) = opened(UNREAD)
    assert table.properties.entries
    with pytest.raises(DecodeError, match=r"^0.*\.sst: byte \d+: .*dictionary"):
        list(table.entries())


@pytest.mark.parametrize(
    ("property_name", "value", "message"),
    [
        (b"rocksdb.comparator", b"mine", "ordered by 'mine'"),
        (b"rocksdb.external_sst_file.version", b"\x02\0\0\0", "made to be ingested"),
        (b"rocksdb.num.entries", varint(7), "1 entries, the table's properties tell 7"),
    ],
)
def test_tables_with_unsupported_properties_are_refused(
    property_name: bytes, value: bytes, message: str
) -> None:
    table = Table(
        BytesSource(table_of([(b"k", 1, VALUE, b"v")], extra={property_name: value})), "the/path"
    )
    with pytest.raises(DecodeError, match=message) as caught:
        list(table.entries())
    assert caught.value.path == "the/path"
    assert caught.value.offset is not None


def test_unknown_index_type_is_refused() -> None:
    options = {b"rocksdb.block.based.table.index.type": struct.pack("<I", 9)}
    with pytest.raises(DecodeError, match="an index of type 9"):
        Table(BytesSource(table_of([(b"k", 1, VALUE, b"v")], extra=options)))


@pytest.mark.parametrize("kind", [3, 17, 22, 255])
def test_unsupported_entry_type_is_refused(kind: int) -> None:
    table = Table(BytesSource(table_of([(b"k", 1, kind, b"v")])))
    with pytest.raises(DecodeError, match=f"an entry of type {kind} "):
        list(table.entries())


@pytest.mark.parametrize(("key", "sequence"), [(b"a", 2), (b"b", 1), (b"b", 9)])
def test_keys_that_do_not_ascend_are_refused(key: bytes, sequence: int) -> None:
    data = table_of([(b"b", 1, VALUE, b""), (key, sequence, VALUE, b"")], per_block=1)
    with pytest.raises(RecordError, match="not above the one before"):
        live([data])


def test_record_frame_and_ratio_limits() -> None:
    data = table_of([(b"k", 1, VALUE, b"v" * 5000)])
    assert live([data], Limits(record_bytes=5000))
    with pytest.raises(LimitError, match="record_bytes"):
        live([data], Limits(record_bytes=4999))
    with pytest.raises(LimitError, match="frame_bytes"):
        live([data], Limits(frame_bytes=5000))
    repeated = case("large_values").tables["000009.sst"]
    with pytest.raises(LimitError, match="ratio"):
        live([repeated], Limits(ratio=10, ratio_from_bytes=100))


def test_limits_of_properties_and_range_deletions(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {b"mine": bytes(1 << 20)}
    with pytest.raises(LimitError, match=r"properties of 1,0.* bytes, at most 1,048,576 are read"):
        Table(BytesSource(table_of([(b"k", 1, VALUE, b"v")], extra=options)))
    monkeypatch.setattr("inspector.decode.sst.table._MOST_RANGES", 2)
    ranges = [(b"0", b"9", 1), (b"1", b"9", 1), (b"2", b"9", 1)]
    assert live([table_of([], ranges[:2])]) == []
    with pytest.raises(LimitError, match="more than 2 deletions of ranges"):
        live([table_of([], ranges)])


def test_every_prefix_of_a_table_is_refused() -> None:
    data = case("one_block").tables["000009.sst"]
    assert_prefixes_refused(lambda file: live([file]), data, DecodeError)
    with pytest.raises(TruncatedError):
        live([b""])


SMALL = ("one_block", "format_6_kXXH3", "index_partitioned_5", "merges", "ranges", "one_entry")


@given(st.data())
def test_changed_byte_raises_or_changes_no_row(data: st.DataObject) -> None:
    chosen = case(data.draw(st.sampled_from(SMALL)))
    tables = dict(chosen.tables)
    name = data.draw(st.sampled_from(sorted(tables)))
    tables[name] = damaged(tables[name], data)
    with suppress(DecodeError):
        assert live(tables.values()) == chosen.live


@given(st.data())
def test_damage_without_checksums_gives_rows_or_decode_error(data: st.DataObject) -> None:
    """The table has no checksums, so no changed byte is refused at once."""
    file = damaged(case("format_5_kNoChecksum").tables["000009.sst"], data, 4)
    with suppress(DecodeError):
        live([file], Limits(frame_bytes=1 << 20, record_bytes=1 << 20))


@given(st.binary(max_size=200), st.sampled_from([2, 5, 6, 7]))
def test_any_bytes_before_the_magic_number_are_refused(data: bytes, version: int) -> None:
    with pytest.raises(DecodeError):
        live([data + struct.pack("<IQ", version, 0x88E241B785F4CFF7)])
    with pytest.raises(DecodeError):
        live([data])
