"""Positions in the offsets of sources, by the connector that wrote them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint import source_kinds as k
from inspector.checkpoint.source_kinds import (
    Kind,
    Position,
    PositionReader,
    Sought,
    is_before,
    parse_initial,
    parse_position,
    reads,
)

TABLE = "b0e7b8f4-0000-0000-0000-000000000000"
DELTA = {"sourceVersion": 1, "reservoirId": TABLE, "isStartingVersion": False}
SHARD, STREAM = "shardId-000000000000", {"streamName": "orders", "batchId": "4"}
SEQUENCE = "49590338271490256608559692538361571095921575989136588898"

# The JSON that the code of each connector writes, and what it says.
OFFSETS: list[tuple[Any, Kind, str]] = [
    (12, k.NUMBER, "12"),
    ({"logOffset": 4}, k.FILES, "log entry 4"),
    ({"offset": 40, "timestamp": 5000}, k.RATE_MICRO_BATCH, "40"),
    ({"orders": {"0": 23, "1": 42}}, k.KAFKA, "orders:0@23, orders:1@42"),
    ({"a": {"0": 1}, "b": {"0": 2, "1": 3, "2": 4}}, k.KAFKA, "4 partitions, 10 in all"),
    ({**DELTA, "reservoirVersion": 7, "index": -1}, k.DELTA, "version 7"),
    ({**DELTA, "reservoirVersion": 7, "index": -100}, k.DELTA, "version 7"),
    ({**DELTA, "reservoirVersion": 7, "index": 2}, k.DELTA, "version 7, file 2"),
    (
        {**DELTA, "reservoirVersion": 7, "index": 2, "isStartingVersion": True},
        k.DELTA,
        "version 7, file 2 of the initial snapshot",
    ),
    (
        {"version": 1, "snapshot_id": 811, "position": 3, "scan_all_files": False},
        k.ICEBERG,
        "snapshot 811, file 3",
    ),
    ({"snapshotId": 5, "index": 1, "scanSnapshot": False}, k.PAIMON, "snapshot 5, split 1"),
    ({"snapshotId": 5, "index": -1, "scanSnapshot": True}, k.PAIMON, "snapshot 5"),
    (
        {
            "metadata": STREAM,
            SHARD: {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": SEQUENCE},
        },
        k.KINESIS,
        f"{SHARD}@{SEQUENCE}",
    ),
    (
        {
            "metadata": STREAM,
            SHARD: {
                "iteratorType": "TRIM_HORIZON",
                "iteratorPosition": "",
                "subSequenceNumber": "-1",
                "isLast": "true",
            },
        },
        k.KINESIS,
        f"{SHARD}@TRIM_HORIZON",
    ),
    # MessageIdData of ledger 8 and entry 300, partition -1 as Pulsar's client writes it.
    ({"persistent://public/default/orders": [8, 8, 16, -84, 2, 24, 1]}, k.PULSAR, "8:300"),
    (
        {"seqNum": 9, "sourceVersion": 1, "lastBackfillStartTimeMs": 1657033622925},
        k.AUTO_LOADER,
        "file 9",
    ),
    ({"own": "format"}, k.UNKNOWN, '{"own": "format"}'),
    ({}, k.UNKNOWN, "{}"),
    ([1], k.UNKNOWN, "[1]"),
]


@pytest.mark.parametrize(("value", "kind", "summary"), OFFSETS)
def test_offset_of_each_connector(value: Any, kind: Kind, summary: str) -> None:
    position = parse_position(json.dumps(value))
    assert position.kind is kind
    assert position.summary.endswith(summary)
    assert position.summary == summary or kind is k.PULSAR


def test_event_hubs_are_known_by_their_provider() -> None:
    offset = '{"hub":{"0":5}}'
    assert parse_position(offset, "EventHubsSourceProvider").kind is k.EVENT_HUBS
    assert parse_position(offset).kind is k.KAFKA


@pytest.mark.parametrize(
    "offset",
    [
        '{"logOffset":"4"}',
        '{"logOffset":4,"more":1,"another":2}',
        '{"offset":1,"timestamp":null}',
        '{"reservoirVersion":1.5,"index":0}',
        '{"orders":{"0":true}}',
        '{"orders":{"zero":1}}',
        '{"orders":{"0":99999999999999999999}}',
        '{"orders":{}}',
        '{"topic":[]}',
        '{"topic":[1,"a"]}',
        "99999999999999999999999",
        "[" * 100_000,
        "9" * 10_000,
        "not JSON",
        "",
    ],
)
def test_foreign_json_is_of_unknown_kind(offset: str) -> None:
    position = parse_position(offset)
    assert position.kind is k.UNKNOWN
    assert position.parts == []
    assert offset.startswith(position.summary)


@pytest.mark.parametrize(
    ("before", "after", "read"),
    [
        ('{"a":{"0":1,"1":5}}', '{"a":{"0":4,"1":5}}', 3),
        ('{"a":{"0":4}}', '{"a":{"0":1}}', None),
        ('{"a":{"0":4}}', '{"a":{"0":4,"1":9}}', None),
        ('{"a":{"0":4}}', '{"a":{"0":4}}', 0),
        ('{"offset":5,"timestamp":0}', '{"offset":15,"timestamp":1}', 10),
        ('{"seqNum":3,"sourceVersion":1}', '{"seqNum":9,"sourceVersion":1}', 6),
        ("3", "9", None),
        ('{"a":{"0":4}}', "9", None),
    ],
)
def test_records_between_two_positions(before: str, after: str, read: int | None) -> None:
    assert parse_position(after).read_since(parse_position(before)) == read


def _topic(offsets: Sequence[int], name: str = "orders-1") -> str:
    partitions = dict(enumerate(offsets))  # JSON has the numbers as texts
    return json.dumps({name: partitions}, separators=(",", ":"))


def _same(fast: Position, slow: Position) -> None:
    assert (fast.kind, fast.raw, fast.parts) == (slow.kind, slow.raw, slow.parts)
    assert [fast.part(part.name) for part in slow.parts] == slow.parts
    assert fast.part("another:1") is None


def test_long_lines_are_read_as_numbers() -> None:
    reader = PositionReader()
    old, new = reader.read(_topic(range(1000, 1200))), reader.read(_topic(range(1000, 1400, 2)))
    assert old.numbers is not None
    assert new.shape == old.shape
    assert new.read_since(old) == sum(range(200))
    assert new.summary == "200 partitions, 239,800 in all"
    _same(new, parse_position(new.raw))


@pytest.mark.parametrize(
    "other",
    [
        _topic([5] * 201),
        _topic([5] * 200, "orders-2"),
        _topic([5] * 200).replace('"199"', '"200"'),
        _topic([5] * 200).replace(":5,", ":-2,", 1),
        _topic([5] * 200).replace(":5,", ":5.5,", 1),
        _topic([5] * 200).replace(":5,", f":{10**30},", 1),
        _topic([5] * 200).replace("orders", 'ord\\"ers'),
        " " * 600,
        "{" * 600,
    ],
)
def test_long_line_of_another_shape(other: str) -> None:
    reader = PositionReader()
    first = reader.read(_topic([5] * 200))
    position = reader.read(other)
    _same(position, parse_position(other))
    assert position.read_since(first) in (None, 0)


@given(st.lists(st.lists(st.integers(0, 10**19), min_size=60, max_size=70), max_size=4))
def test_position_reader_equals_json(rows: list[list[int]]) -> None:
    reader, previous = PositionReader(), None
    for offsets in rows:
        fast, slow = reader.read(_topic(offsets)), parse_position(_topic(offsets))
        _same(fast, slow)
        if previous is not None:
            assert fast.read_since(previous[0]) == slow.read_since(previous[1])
        previous = fast, slow


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("logOffset", "offset", "timestamp", "reservoirVersion", "index", "metadata"),
                    *("streamName", "snapshot_id", "version", "position", "snapshotId", "seqNum"),
                    *("scanSnapshot", "sourceVersion", "0", "1", "orders", SHARD),
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.one_of(st.text(), _JSON.map(json.dumps)))
def test_any_text_gives_a_position(offset: str) -> None:
    position = PositionReader().read(offset)
    assert position.raw == offset
    assert len(position.summary) < 1000
    for part in position.parts:
        assert part.order is None or set(map(type, part.order)) <= {int}
    assert position.read_since(position) in (0, None)


@given(st.binary())
def test_any_bytes_give_an_initial_offset_or_none(data: bytes) -> None:
    initial = parse_initial(data)
    assert initial is None or parse_position(initial).kind is k.KAFKA


def test_initial_offset_of_kafka() -> None:
    assert parse_initial(b'\0v1\n{"orders":{"0":7}}') == '{"orders":{"0":7}}'
    assert parse_initial(b'v1\n{"orders":{"0":7}}') == '{"orders":{"0":7}}'
    assert parse_initial(b'\0v2\n{"orders":{"0":7}}') is None


@pytest.mark.parametrize(
    ("kind", "start", "end", "sought", "expected"),
    [
        (k.KAFKA, (5,), (9,), (5,), True),
        (k.KAFKA, (5,), (9,), (9,), False),
        (k.KINESIS, (5,), (9,), (5,), False),
        (k.KINESIS, (5,), (9,), (9,), True),
        (k.DELTA, (3, -1), (5, -1), (3,), True),
        (k.DELTA, (3, -1), (5, -1), (5,), False),
        (k.DELTA, (5, 2), (6, -1), (5,), True),
        (k.DELTA, (4, -1), (5, 0), (5,), True),
        (k.PAIMON, (4, 1), (5, 0), (5,), True),
        (k.KAFKA, None, (9,), (0,), True),
    ],
)
def test_batch_that_reads_a_position(
    kind: Kind,
    start: tuple[int, ...] | None,
    end: tuple[int, ...],
    sought: tuple[int, ...],
    expected: bool,
) -> None:
    assert reads(kind, start, end, sought) is expected
    if len(end) == len(sought):
        has_begun = start is None or is_before(kind, start, sought)
        assert expected == (has_begun and not is_before(kind, end, sought))


@pytest.mark.parametrize(
    ("text", "place", "order"),
    [
        ("orders:3@1200", "orders:3", (1200,)),
        ("12", "", (12,)),
        ("@12", "", (12,)),
        ("persistent://a/b@8:300", "persistent://a/b", (8, 300)),
        ("part-0.parquet", "", None),
        ("a@b", "a", None),
        ("1:2:3", "", None),
        ("", "", None),
    ],
)
def test_sought_position(text: str, place: str, order: tuple[int, ...] | None) -> None:
    assert (Sought(text).place, Sought(text).order) == (place, order)
