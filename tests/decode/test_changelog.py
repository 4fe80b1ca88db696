"""Changelogs of all four versions, and files that resemble another version."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.changelog import ChangelogHead, LineageItem, read_changelog
from inspector.exceptions import DecodeError, TruncatedError
from tests import encode
from tests.decode.spans import pieces
from tests.rocks import LINEAGE, MERGE, PUT, REMOVAL, UUID, Entry, changelog, utf

ENTRIES: list[Entry] = [
    *[(PUT, b"key", b"value"), (REMOVAL, b"gone", None), (PUT, b"", b"")],
    (MERGE, b"list", b"more"),
]
Found = list[tuple[int | None, bytes, bytes | None]]
PLAIN: Found = [(None, b"key", b"value"), (None, b"gone", None), (None, b"", b"")]
"""Entries of the versions without merges and without kinds."""

LINEAGE_END = len(utf("v4") + utf(LINEAGE))


def read(data: bytes, cut: int = 7) -> tuple[ChangelogHead, Found]:
    """Return the head and the entries of a file that is read in pieces."""
    head, blocks = read_changelog(iter(pieces(data, cut)))
    result: Found = []
    for block in blocks:
        kinds = [None] * block.spans.shape[1] if block.kinds is None else block.kinds.tolist()
        for kind, (key, key_size, at, size) in zip(kinds, block.spans.T.tolist(), strict=True):
            value = None if size < 0 else block.buffer[at : at + size]
            result.append((kind, block.buffer[key : key + key_size], value))
    return head, result


@pytest.mark.parametrize("cut", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("version", "head", "expected"),
    [
        (1, ChangelogHead(), PLAIN),
        (2, ChangelogHead(2, (), 4), ENTRIES),
        (3, ChangelogHead(3, (LineageItem(1, UUID),), LINEAGE_END), PLAIN),
        (4, ChangelogHead(4, (LineageItem(1, UUID),), LINEAGE_END), ENTRIES),
    ],
)
def test_reads_changelog_versions_1_to_4(
    version: int, head: ChangelogHead, expected: Found, cut: int
) -> None:
    entries = ENTRIES[: len(expected)]
    assert read(changelog(entries, version), cut) == (head, expected)


def test_changelog_bytes_of_spark_4_3_0() -> None:
    # The first bytes of a join of format 3, and of an aggregation in checkpoint format 2.
    join = bytes.fromhex("0002763201000000040300006b00000001ff00")
    assert read(join) == (ChangelogHead(2, (), 4), [(PUT, b"\3\0\0k", b"\xff")])
    assert read(utf("v3") + utf(LINEAGE) + encode.END)[0].lineage == (LineageItem(1, UUID),)


@pytest.mark.parametrize(
    "key",
    # Lengths whose first two bytes are those of a text (SPARK-51922), and whose four bytes are the
    # texts "v)" (SPARK-52553) and "v1".
    [b"x" * 0x10000, b"v)" + b"x" * (0x27629 - 2), b"x" * 0x27631],
    ids=["text", "v)", "v1"],
)
def test_long_first_key_is_not_taken_for_a_version(key: bytes) -> None:
    head, result = read(changelog([(PUT, key, b"v")]), 1 << 20)
    assert head == ChangelogHead()
    assert result == [(None, key, b"v")]


@pytest.mark.parametrize("text", ["v5", "v0", "v99999"])
def test_unknown_changelog_version_is_refused(text: str) -> None:
    with pytest.raises(DecodeError, match="expected v1 to v4"):
        read(utf(text))


@pytest.mark.parametrize(
    "lineage",
    ["", "{}", "[1]", '[{"version":1}]', '[{"version":-1,"checkpointUniqueId":"x"}]', "["],
)
def test_malformed_lineage_is_refused(lineage: str) -> None:
    with pytest.raises(DecodeError, match="lineage"):
        read(changelog([], 4, lineage))


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_cut_changelog_raises_truncated_error(version: int) -> None:
    data = changelog(ENTRIES[:3], version)
    for size in range(len(data)):
        with pytest.raises(TruncatedError) as result:
            read(data[:size])
        assert result.value.offset is not None
        assert result.value.offset <= size


def test_unknown_entry_kind_has_its_offset() -> None:
    with pytest.raises(DecodeError, match="kind") as result:
        read(utf("v2") + b"\2" + struct.pack(">i", 1))
    assert result.value.offset == 4
    with pytest.raises(DecodeError, match="removal of a range") as result:
        read(utf("v2") + b"\x20" + struct.pack(">i", 1) + b"a" + struct.pack(">i", 1) + b"b")
    assert result.value.offset == 4


@given(st.binary(max_size=80) | st.binary(max_size=60).map(lambda remainder: utf("v4") + remainder))
def test_any_bytes_give_entries_or_decode_error(data: bytes) -> None:
    with suppress(DecodeError):
        read(data)
