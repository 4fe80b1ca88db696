"""Time ranges of joins that a rehearsal records from Spark's plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.storage import Storage
from inspector.discovery.rehearsal_record import (
    REHEARSAL,
    join_evictions,
    read_joins,
    record_text,
)

HOUR_US = 3_600_001_000  # a row is evicted one millisecond beyond the range
# Of Spark 4.3.0, with the watermark 1704063606000.
JOIN = (
    "+- StreamingSymmetricHashJoin [k#0], [k2#15], LeftOuter, condition = [ both = ((ts2#18 >= "
    "ts#6 + INTERVAL '-01' HOUR) AND (ts2#18 <= ts#6 + INTERVAL '01' HOUR)) ], state info [ "
    "checkpoint = file:/cp/state, runId = bc5855c7, opId = {number}, ver = 2, numPartitions = 2] "
    "stateStoreCkptIds = None, 1704063603000, 1704063606000, state cleanup [ {cleanup} ], 2, Append"
)
LEFT = "left value predicate: (ts#6-T3600000ms <= 1704060005999000)"
RIGHT = "right key predicate: (ts2#18-T3600000ms <= 1704060005999000)"


@pytest.mark.parametrize(
    ("cleanup", "expected"),
    [
        (f"{LEFT}, {RIGHT}", {"left": HOUR_US, "right": HOUR_US}),
        (LEFT, {"left": HOUR_US}),
        (RIGHT.replace("1704060005999000", "-1"), {"right": 1_704_063_606_000_001}),
        ("", {}),
    ],
)
def test_distances_of_a_join(cleanup: str, expected: dict[str, int]) -> None:
    assert join_evictions(JOIN.format(number=0, cleanup=cleanup)) == {0: expected}


def test_joins_by_operator_and_of_another_form() -> None:
    lines = [JOIN.format(number=number, cleanup=LEFT) for number in (1, 2)]
    strange = JOIN.format(number=3, cleanup="left value predicate: isnull(ts#6)")
    assert join_evictions("\n".join([*lines, strange])) == {
        number: {"left": HOUR_US} for number in (1, 2)
    }


def test_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    joins = {0: {"left": HOUR_US}, 12: {}}
    (tmp_path / REHEARSAL).write_text(record_text(joins))
    assert read_joins(Storage(str(tmp_path))) == joins
    assert read_joins(Storage(str(tmp_path / "absent"))) == {}


@given(
    st.binary(max_size=80)
    | st.sampled_from([b"[]", b'{"join_evictions_us": [1]}', b'{"join_evictions_us": {"x": 1}}'])
)
def test_any_record_is_read(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    root = tmp_path_factory.mktemp("record")
    (root / REHEARSAL).write_bytes(content)
    assert read_joins(Storage(str(root))) == {}


@given(st.text(max_size=200))
def test_any_plan_is_read(text: str) -> None:
    assert isinstance(join_evictions(text), dict)
