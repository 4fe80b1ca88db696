"""Where the sources stood, batch by batch."""

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
    result = source_offsets(now, before)
    assert [(element.called, element.offset, element.moved) for element in result] == [
        ("source 0", "9", True),
        ("source 1", '{"logOffset":3}', False),
        ("source 2", None, False),
    ]
    assert [item.moved for item in source_offsets(now, None)] == [None] * 3
    assert [source_offset.moved for source_offset in source_offsets(now, OffsetEntry())] == [
        True,
        True,
        False,
    ]


def test_source_name_has_the_kafka_topic() -> None:
    assert SourceOffset("1", '{"orders":{"0":23,"1":42}}', None).called == (
        "source 1 (Kafka topic orders)"
    )
    assert SourceOffset("1", '{"reservoir":{"id":"x"}}', None).called == "source 1"


def test_long_offsets_are_cut_after_comparison() -> None:
    long = "9" * 10 * OFFSET_CHARS
    several_values = {f"{n:0100}": f"{long}{n}" for n in range(10 * MOST_SOURCES)}
    before = OffsetEntry(sources={name: f"{offset}1" for name, offset in several_values.items()})
    result = source_offsets(OffsetEntry(sources=several_values), before)
    assert len(result) == MOST_SOURCES
    assert {len(entry.offset or "") for entry in result} == {OFFSET_CHARS}
    assert {len(element.name) for element in result} == {NAME_CHARS}
    assert all(item.moved for item in result)


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        *((text, True) for text in ("4", "-1", '{"logOffset":3}', "[1]", '"a"', "null", " 7 ")),
        *((text, False) for text in ("", "x", "4x", '{"logOffset":3', "4 5", '"a', "}{")),
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
        (KAFKA, '{"orders":{"0":25,"1":41}}', None),  # a topic that was made anew
        (KAFKA, '{"orders":{"0":25,"1":50,"2":9}}', None),  # where partition 2 begins is not there
        (KAFKA, '{"orders":{"0":25,"1":"x"}}', None),
        (KAFKA, '{"orders":{"0":25,', None),
        (KAFKA, f'{{"orders":{{"0":25,"1":{"9" * 310}}}}}', None),  # more than a double holds
        (RATE, '{"offset":60,"timestamp":2000}', 40),
        ('{"logOffset":1}', '{"logOffset":2}', None),  # of files no count is recorded
        (None, KAFKA, None),
    ],
)
def test_records_between_offsets(before: str | None, after: str, records: int | None) -> None:
    entries = [OffsetEntry(sources={"0": offset}) for offset in (after, before)]
    (source,) = source_offsets(*entries)
    assert source.records == records
