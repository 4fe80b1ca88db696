"""RocksDB's MANIFEST: those of Spark, edits written by the tests, and every kind of damage."""

from __future__ import annotations

import struct
import zipfile
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.decode.manifest import (
    BLOCK,
    LiveTable,
    Manifest,
    Overlap,
    log_records,
    read_manifest,
)
from inspector.exceptions import DecodeError, NewerFormError, RecordError
from tests.attributes import attributes
from tests.decode.spans import flip
from tests.fixture_folder import FIXTURES
from tests.rocks import (
    comparator_edit,
    deletion_edit,
    fragment,
    manifest,
    numbers_edit,
    table_edit,
    varint,
)

ID = (0x1122334455667788, 0x99AABBCCDDEEFF00)


def manifests() -> list[bytes]:
    """Return every MANIFEST of one partition in the fixtures of Spark."""
    result = []
    for path in sorted(FIXTURES.glob("*/rocksdb_*/checkpoint/state/0/0/*.zip")):
        with zipfile.ZipFile(path) as archive:
            name = archive.read("CURRENT").decode().strip()
            result.append(archive.read(name))
    return result


MANIFESTS = manifests()
OF_SPARK = max(MANIFESTS, key=len)


def test_reads_every_manifest_of_the_fixtures() -> None:
    assert len(MANIFESTS) > 50
    for data in MANIFESTS:
        read = read_manifest(data)
        assert (read.lacks, read.overlap) == ((), None)
        assert None not in attributes(read.tables.values(), "unique_id")
        assert read.last_sequence >= read.largest_sequence


def test_added_and_not_deleted_tables_are_live() -> None:
    deleted = deletion_edit(0, 8)
    edits = [numbers_edit(), table_edit(8, 1_000, ID), table_edit(300, 70_000), deleted]
    assert read_manifest(manifest(edits)) == Manifest({300: LiveTable(70_000, None)}, 5, 2)
    assert read_manifest(manifest(edits[:2])) == Manifest({8: LiveTable(1_000, ID)}, 5, 2)


@pytest.mark.parametrize("size", [127, 128, 255, 256, 16_383, 16_384, 1 << 31, 1 << 40])
def test_reads_varints_of_any_length(size: int) -> None:
    tables = read_manifest(manifest([numbers_edit(), table_edit(128, size)])).tables
    assert tables == {128: LiveTable(size, None)}


@pytest.mark.parametrize(
    ("keys", "overlaps"),
    [
        ([(b"a", b"c"), (b"b", b"d")], True),
        ([(b"c", b"d"), (b"a", b"c")], True),
        ([(b"a", b"z"), (b"c", b"d")], True),
        ([(b"a", b"b"), (b"c", b"d")], False),
        ([(b"c", b"d"), (b"a", b"b")], False),
    ],
)
def test_key_ranges_of_tables_overlap_only_below_level_0(
    keys: list[tuple[bytes, bytes]], overlaps: bool
) -> None:
    def overlap(first: int, second: int) -> Overlap | None:
        """Return the overlap of two tables at some levels."""
        tables = [
            table_edit(8, 5, level=first, keys=keys[0]),
            table_edit(9, 5, level=second, keys=keys[1]),
        ]
        return read_manifest(manifest([numbers_edit(), *tables])).overlap

    result = overlap(6, 6)
    assert (result and (result.level, {*result.numbers})) == ((6, {8, 9}) if overlaps else None)
    assert overlap(0, 0) is None
    assert overlap(5, 6) is None


def test_versions_of_one_key_in_two_tables_do_not_overlap() -> None:
    """Internal keys are compared. A newer version of a key sorts before an older one."""
    newer, older = table_edit(8, 5, level=1), table_edit(9, 5, level=1)
    key = varint(9) + b"k"
    newer = newer.replace(key + bytes(8), key + struct.pack("<Q", 2 << 8 | 1))
    older = older.replace(key + bytes(8), key + struct.pack("<Q", 1 << 8 | 1))
    assert read_manifest(manifest([numbers_edit(), older, newer])).overlap is None


def test_last_sequence_number_wins() -> None:
    edits = [numbers_edit(), TABLE, varint(4) + varint(7), varint(4) + varint(1)]
    read = read_manifest(manifest(edits))
    assert (read.last_sequence, read.largest_sequence) == (1, 2)


def test_edit_deletes_tables_before_adding() -> None:
    moved = deletion_edit(0, 8) + table_edit(8, 1_000)
    assert 8 in read_manifest(manifest([numbers_edit(), table_edit(8, 1_000), moved])).tables


def test_zero_unique_id_is_none() -> None:
    read = read_manifest(manifest([numbers_edit(), table_edit(8, 1, (0, 0))]))
    assert read.tables[8].unique_id is None


FAMILY = varint(200) + varint(1)
NEW_FAMILY = FAMILY + varint(201) + varint(1) + b"x"


def test_dropped_column_family_has_no_live_tables() -> None:
    edits = [numbers_edit(), NEW_FAMILY, FAMILY + table_edit(9, 5), table_edit(8, 5)]
    assert {*read_manifest(manifest([*edits, FAMILY + varint(202)])).tables} == {8}
    with pytest.raises(RecordError, match="Column families not opened: x"):
        read_manifest(manifest(edits))


TABLE = table_edit(8, 5)


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([deletion_edit(0, 9)], "Cannot delete table file #9 from level 0 since it is not in the"),
        ([deletion_edit(3, 8)], "Cannot delete table file #8 from level 3 since it is on level 0"),
        ([TABLE], "Cannot add table file #8 to level 0 since it is already in the LSM tree on le"),
        ([deletion_edit(0, 8)] * 2, "since it is not in the LSM tree"),
        ([comparator_edit(b"other")], "leveldb.BytewiseComparator: does not match existing comp"),
        ([FAMILY + table_edit(9, 5)], "MANIFEST record referencing unknown column family"),
        ([NEW_FAMILY, NEW_FAMILY], "MANIFEST adding the same column family twice: x"),
        ([table_edit(9, 5, level=7)], "db has more levels than options.num_"),
        ([varint(200) + varint(0) + varint(202)], "the default column family is dropped"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_contradictory_edits_are_refused(edits: list[bytes], message: str) -> None:
    """RocksDB 8.3.2 and 9.8.4 refused each of these manifests."""
    with pytest.raises(RecordError, match=message):
        read_manifest(manifest([numbers_edit(), TABLE, *edits]))


def test_consistent_repeated_edits_are_read() -> None:
    edits = [TABLE, deletion_edit(0, 8) + TABLE, comparator_edit(b"leveldb.BytewiseComparator")]
    assert [*read_manifest(manifest([numbers_edit(), *edits])).tables] == [8]


@pytest.mark.parametrize("form", [7, 100, 102])
def test_older_new_table_forms_are_read(form: int) -> None:
    key = varint(9) + b"k" + bytes(8)
    path = varint(0) if form == 102 else b""
    sequences = b"" if form == 7 else b"\1\2"
    edit = varint(form) + varint(0) + varint(8) + path + varint(77) + key + key + sequences
    read = read_manifest(manifest([numbers_edit(), edit]))
    assert read.tables == {8: LiveTable(77, None)}
    assert read.largest_sequence == (0 if form == 7 else 2)


def test_log_records_across_blocks_are_joined() -> None:
    edits = [numbers_edit(), *(table_edit(number, number) for number in range(1, 3_000))]
    log = manifest(edits)
    assert len(log) > 2 * BLOCK
    assert [record for _, record in log_records(log)] == edits
    large = varint(8193) + varint(3 * BLOCK) + bytes(3 * BLOCK)
    assert [*read_manifest(manifest([large, *edits])).tables] == [*range(1, 3_000)]


def test_recyclable_fragments_of_another_log_are_refused() -> None:
    edits = numbers_edit(), table_edit(8, 5)
    log = b"".join(fragment(edit, 5, bytes(4)) for edit in edits)
    assert [*read_manifest(log).tables] == [8]
    with pytest.raises(NewerFormError):
        read_manifest(log + fragment(edits[1], 5, b"\1\0\0\0"))


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(varint(300) + varint(1), id="group of edits"),
        pytest.param(varint(400) + b"abc", id="blob file"),
        pytest.param(varint(4095), id="later tag"),
        pytest.param(varint(8195) + b"abc", id="tag without a length"),
        pytest.param(table_edit(8, 5)[:-1] + varint(80) + varint(1) + b"x\1", id="later field"),
        pytest.param(table_edit(8, 5)[:-1] + varint(12) + varint(8) + bytes(8) + b"\1", id="id"),
    ],
)
def test_unknown_tags_raise_newer_form_error(edit: bytes) -> None:
    with pytest.raises(NewerFormError):
        read_manifest(manifest([numbers_edit(), edit]))


def test_ignorable_tags_are_skipped() -> None:
    edits = [numbers_edit(), varint(16383) + varint(3) + b"abc", table_edit(8, 5)]
    assert [*read_manifest(manifest(edits)).tables] == [8]


# --- damage, as Spark 4.3.0 takes it


def test_truncated_manifest_is_read_to_its_last_whole_record() -> None:
    edits = [numbers_edit(), table_edit(8, 5), table_edit(9, 5)]
    log = manifest(edits)
    for end in range(len(manifest(edits[:2])), len(log)):
        assert [*read_manifest(log[:end]).tables] == [8]


@pytest.mark.parametrize("tail", [bytes(100), b"\1" * 40, fragment(b"abc", 2)])
def test_incomplete_records_after_a_manifest_are_ignored(tail: bytes) -> None:
    log = manifest([numbers_edit(), table_edit(8, 5), table_edit(9, 5)])
    assert [*read_manifest(log + tail).tables] == [8, 9]


def test_manifest_without_file_numbers_names_them() -> None:
    names = "log_file_number", "next_file_number", "last_sequence"
    assert read_manifest(b"").lacks == names
    assert read_manifest(bytes(500)).lacks == names
    assert read_manifest(manifest([table_edit(8, 5)])).lacks == names
    assert read_manifest(manifest([b"\2\4", b"\3\7"])).lacks == ("last_sequence",)


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (fragment(b"abc", 3), "byte 0: missing start"),
        (fragment(b"abc", 2) + fragment(b"abc"), "byte 0: partial record without end"),
        (manifest([b"\2"]), "byte 0: an edit ends within a number"),
        (manifest([b"\1\5ab"]), "byte 0: 5 bytes where 2 are left"),
        (struct.pack("<IHB", 1, BLOCK - 3, 1) + bytes(BLOCK), "byte 0: bad record length"),
    ],
)
def test_corrupt_manifests_raise_record_error(log: bytes, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        read_manifest(log)


@given(position=st.integers(0, len(OF_SPARK) - 1), mask=st.integers(1, 255))
def test_flipped_byte_raises_or_shortens_the_log(position: int, mask: int) -> None:
    records: list[tuple[int, bytes]] = []
    with suppress(DecodeError):
        records.extend(log_records(flip(OF_SPARK, position, mask)))
    assert set(records) <= set(log_records(OF_SPARK))


@given(st.binary(max_size=300) | st.lists(st.binary(max_size=40), max_size=6).map(manifest))
@example(OF_SPARK[:-1])
def test_any_bytes_give_a_manifest_or_decode_error(data: bytes) -> None:
    with suppress(DecodeError):
        read_manifest(data)


@given(st.data())
def test_any_prefix_of_a_manifest_is_read(data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(OF_SPARK)))
    complete, part = read_manifest(OF_SPARK), read_manifest(OF_SPARK[:end])
    assert isinstance(part, Manifest)
    assert part == complete or end < len(OF_SPARK)
