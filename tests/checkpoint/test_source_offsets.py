"""Offsets of sources, batch by batch."""

from __future__ import annotations

import pytest

from inspector.checkpoint.log_entries import (
    MOST_SOURCES,
    NAME_CHARS,
    OFFSET_CHARS,
    OffsetEntry,
    SourceOffset,
    like_json,
    source_offsets,
)


def test_source_offset_moved_or_not() -> None:
    before = OffsetEntry(sources={"0": "7", "1": '{"logOffset":3}', "2": None})
    now = OffsetEntry(sources={"0": "9", "1": '{"logOffset":3}', "2": None})
    first, second, third = source_offsets(now, before)
    assert (first.called, first.offset, first.moved) == ("source 0", "9", True)
    assert (second.called, second.offset, second.moved) == ("source 1", '{"logOffset":3}', False)
    assert (third.called, third.offset, third.moved) == ("source 2", None, False)


@pytest.mark.parametrize(
    ("offset", "before", "moved"),
    [
        ("9", None, None),
        ("9", OffsetEntry(), True),
        (None, OffsetEntry(), False),
    ],
)
def test_source_offset_moved_since_an_entry_without_sources(
    offset: str | None, before: OffsetEntry | None, moved: bool | None
) -> None:
    (source,) = source_offsets(OffsetEntry(sources={"0": offset}), before)
    assert source.moved is moved


def test_source_name_has_the_kafka_topic() -> None:
    assert SourceOffset("1", '{"orders":{"0":23,"1":42}}', None).called == (
        "source 1 (Kafka topic orders)"
    )
    assert SourceOffset("1", '{"reservoir":{"id":"x"}}', None).called == "source 1"


def test_long_offsets_are_cut_after_comparison() -> None:
    name, offset = "n" * 10 * NAME_CHARS, "9" * 10 * OFFSET_CHARS
    before = OffsetEntry(sources={name: f"{offset}1"})
    (source,) = source_offsets(OffsetEntry(sources={name: offset}), before)
    assert source.offset == "9" * OFFSET_CHARS
    assert len(source.name) == NAME_CHARS
    assert source.moved


def test_number_of_sources_is_limited() -> None:
    sources = dict.fromkeys(map(str, range(10 * MOST_SOURCES)), "9")
    assert len(source_offsets(OffsetEntry(sources=sources), None)) == MOST_SOURCES


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        ("4", True),
        ("-1", True),
        ('{"logOffset":3}', True),
        ("[1]", True),
        ('"a"', True),
        ("null", True),
        (" 7 ", True),
        ("", False),
        ("x", False),
        ("4x", False),
        ('{"logOffset":3', False),
        ("4 5", False),
        ('"a', False),
        ("}{", False),
    ],
)
def test_offset_that_looks_like_json(offset: str, expected: bool) -> None:
    assert like_json(offset) is expected


def test_long_offset_that_is_no_json() -> None:
    assert not like_json("{" + "} " * 1_000_000 + "x")


KAFKA = '{"orders":{"0":23,"1":42}}'
RATE = '{"offset":20,"timestamp":1000}'


@pytest.mark.parametrize(
    ("before", "after", "records"),
    [
        (KAFKA, '{"orders":{"0":25,"1":50}}', 10),
        (KAFKA, KAFKA, 0),
        (KAFKA, '{"orders":{"0":25,"1":41}}', None),  # a topic that was created again
        (KAFKA, '{"orders":{"0":25,"1":50,"2":9}}', None),  # the start of partition 2 is unknown
        (KAFKA, '{"orders":{"0":25,"1":"x"}}', None),
        (KAFKA, '{"orders":{"0":25,', None),
        (KAFKA, f'{{"orders":{{"0":25,"1":{"9" * 310}}}}}', None),  # more than a double holds
        (RATE, '{"offset":60,"timestamp":2000}', 40),
        ('{"logOffset":1}', '{"logOffset":2}', None),  # file sources record no count
        (None, KAFKA, None),
    ],
)
def test_records_between_offsets(before: str | None, after: str, records: int | None) -> None:
    (source,) = source_offsets(
        OffsetEntry(sources={"0": after}), OffsetEntry(sources={"0": before})
    )
    assert source.records == records
