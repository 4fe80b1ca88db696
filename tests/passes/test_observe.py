"""The one pass over a store: facts, leftovers, and what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inspector.discovery.tasks import StoreTask
from inspector.model import NO_TIMEOUT
from inspector.passes.observe import schemas, tracking
from inspector.sparktypes import LONG, parse_ddl, to_json
from tests import cases, encode
from tests.cases import Batch, group_state, told, user
from tests.encode import Record

Rows = list[dict[str, Any]]


def of_kind(rows: Rows, kind: str) -> Rows:
    return [row for row in rows if row["kind"] == kind]


def group_states(
    root: Path,
    batches: Sequence[Batch],
    *partitions: dict[int, list[Record]],
    name: str | None = "flatMapGroupsWithState",
) -> Path:
    """A query with group state, one store by version for each partition."""
    cases.write_logs(root, batches, {"shuffle.partitions": str(len(partitions))})
    if name is not None:
        cases.write_operator(root, 0, name, "default")
    for number, deltas in enumerate(partitions):
        cases.write_store(root / "state/0" / str(number), deltas)
    cases.write_schema(root / "state/0/0", cases.USER, cases.GROUP_STATE)
    return root


A, B = user("a"), user("b")


def test_a_leftover_says_who_since_when_and_by_how_much(tmp_path: Path) -> None:
    batches = [Batch(0, 1000, 1), Batch(500, 2000, 2), Batch(900, 3000, 2), Batch(950, 4000, 3)]
    deltas: dict[int, list[Record]] = {
        1: [(A, group_state(1, 600)), (B, group_state(1, 9000))],
        2: [(A, group_state(2, 700))],
        3: [(A, group_state(2, NO_TIMEOUT))],
        4: [],
    }
    rows = told(group_states(tmp_path, batches, deltas))
    # Set at or before the time of their batches; the last fired when the watermark was past it.
    against = [(row["version"], row["timeout_kind"]) for row in of_kind(rows, "timers")]
    assert against == [(1, "processing"), (2, "processing")]
    # By the other clock, that of the third batch, it is one as well: it fired in a quiet batch.
    totals = {row["timeout_kind"]: row for row in of_kind(rows, "leftovers")}
    by_clock = {row["timeout_kind"]: row for row in of_kind(rows, "leftover")}
    assert set(totals) == set(by_clock) == {"event", "processing"}
    total, one = totals["event"], by_clock["event"]
    common = {
        "leftover_class": "kept_without_timeout",
        "certainty": "proven",
        "timeout_kind": "event",
        "expired_version": 3,
        "key_bytes": len(A),
        "value_bytes": len(group_state(1, 0)),
        "version": 4,
    }
    assert {name: total[name] for name in common} == common
    assert total["rows"] == 1
    assert {name: one[name] for name in common} == common
    assert (one["key"], one["clock_ms"], one["threshold_ms"]) == (A, 700, 900)
    assert (one["last_put_version"], one["puts"], one["fired"]) == (3, 3, 1)


def test_the_version_that_is_judged_decides_which_files_are_read(tmp_path: Path) -> None:
    root = cases.small_checkpoint(tmp_path)
    (root / "state/1/0/3.delta").write_bytes(b"broken")
    rows = told(root, 2)
    assert of_kind(rows, "problem") == []
    assert {row["version"] for row in of_kind(rows, "version")} == {1, 2}
    assert of_kind(told(root, 3), "problem") != []


def test_a_snapshot_that_differs_is_a_problem_and_the_deltas_count(tmp_path: Path) -> None:
    root = cases.small_checkpoint(tmp_path)
    good = of_kind(told(root), "version")
    cases.write_store(root / "state/1/1", {}, {3: [(cases.micros(None), b"\1" * 16)]})
    rows = told(root)
    (problem,) = of_kind(rows, "problem")
    assert problem["slug"] == "snapshot-differs"
    assert (problem["path"], problem["version"]) == (str(root / "state/1/1/3.snapshot"), 3)
    assert "2 keys are missing, 0 are too many and 1 have another value" in problem["message"]
    assert [row["row_sizes"] for row in of_kind(rows, "version")] == [r["row_sizes"] for r in good]


def test_file_bytes_are_those_on_storage_and_raw_bytes_those_of_the_file_replayed(
    tmp_path: Path,
) -> None:
    root = cases.small_checkpoint(tmp_path)
    rows = [r for r in told(root) if cases.place(r) == (1, "default", 1)]
    facts = {row["version"]: row for row in of_kind(rows, "version")}
    folder = root / "state/1/1"
    for version in (1, 2, 3, 4):
        assert facts[version]["delta_bytes"] == (folder / f"{version}.delta").stat().st_size
    assert facts[3]["snapshot_bytes"] == (folder / "3.snapshot").stat().st_size
    assert facts[3]["raw_bytes"] == len(encode.END)
    assert facts[2]["raw_bytes"] == 9 * (4 + 16 + 4) + len(encode.END)


def test_rows_that_do_not_fit_are_named_up_to_a_few_and_counted(tmp_path: Path) -> None:
    bad: list[Record] = [(user(name), b"\0" * 16) for name in "bcdef"]
    deltas: dict[int, list[Record]] = {1: [(A, group_state(1, 5)), *bad, (b"\0" * 4, None)]}
    root = group_states(tmp_path, [Batch(0, 1, 1)], deltas)
    assert of_kind(told(root), "problem") == []
    rows = told(root, fit=True)
    problems = of_kind(rows, "problem")
    assert {row["slug"] for row in problems} == {"bad-row"}
    assert {row["path"] for row in problems} == {str(root / "state/0/0/1.delta")}
    assert [row["message"].split(":")[0] for row in problems] == [
        "key of record 6 at raw byte " + str(4 + _size(deltas[1][:6])),
        "value of record 1 at raw byte " + str(_size(deltas[1][:1]) + 8 + len(A)),
        "value of record 2 at raw byte " + str(_size(deltas[1][:2]) + 8 + len(A)),
        "6 rows of the file do not fit their schema",
    ]
    assert counted_facts(rows) == counted_facts(told(root))


def _size(records: Sequence[Record]) -> int:
    return len(encode.records(records)) - len(encode.END)


def counted_facts(rows: Rows) -> list[str]:
    return sorted(repr(row) for row in rows if row["kind"] != "problem")


@pytest.mark.parametrize(
    ("name", "against"),
    [
        # In Scala no timer that has run out stands, so it follows the other clock.
        ("flatMapGroupsWithState", [(2, "processing")]),
        ("applyInPandasWithState", []),
        (None, []),
    ],
)
def test_a_timer_that_stands_speaks_against_its_clock_in_scala_alone(
    tmp_path: Path, name: str | None, against: list[tuple[int, str]]
) -> None:
    deltas: dict[int, list[Record]] = {1: [(A, group_state(1, 1500))], 2: []}
    root = group_states(tmp_path, [Batch(1, 1000, 1), Batch(2, 2000, 2)], deltas, name=name)
    rows = of_kind(told(root), "timers")
    assert [(row["version"], row["timeout_kind"]) for row in rows] == against


def test_without_a_schema_sizes_are_told_and_no_leftovers(tmp_path: Path) -> None:
    batches = [Batch(0, 1000, 1), Batch(900, 2000, 1)]
    deltas: dict[int, list[Record]] = {1: [(A, group_state(1, 600))], 2: []}
    root = group_states(tmp_path, batches, deltas)
    (root / "state/0/0/_metadata/schema").unlink()
    rows = told(root, fit=True)
    assert [row["kind"] for row in rows] == ["version", "version", "window", "age"]


def store(key: str, value: str, **more: Any) -> StoreTask:
    return StoreTask("default", (), to_json(parse_ddl(key)), to_json(parse_ddl(value)), **more)


def test_the_timer_of_state_format_1_is_read_as_the_long_that_it_is() -> None:
    _, value = schemas(store("value string", "visits long, timeoutTimestamp int"))
    assert value is not None
    assert value.fields[-1].data_type == LONG
    assert schemas(StoreTask("default", ())) == (None, None)


def test_only_what_a_rule_needs_is_tracked() -> None:
    group = store("value string", "groupState struct<a: int>, timeoutTimestamp long")
    assert (tracking(group).clock, tracking(group).clock_slot) == (None, -1)
    by_key = cases.tracked(cases.KEY_TIME, cases.EVENT_TIME, cases.EXPIRES_AT)
    assert by_key.clock is not None
    assert (by_key.clock_slot, by_key.descends) == (-1, None)
    timer = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    assert timer.clock_slot == 16
    assert timer.descends is not None


@pytest.mark.parametrize(
    ("timer", "expected"),
    [
        # Set before the time of its batch: no timer of processing time. In Scala it stands, too.
        (500, [(1, "processing"), (2, "processing")]),
        # That no watermark has come yet proves nothing: an idle source holds it back.
        (9000, []),
        (NO_TIMEOUT, []),
    ],
)
def test_before_the_first_watermark_a_timer_tells_by_the_time_that_it_was_set_after(
    tmp_path: Path, timer: int, expected: list[tuple[int, str]]
) -> None:
    deltas: dict[int, list[Record]] = {1: [(A, group_state(1, timer))], 2: []}
    rows = told(group_states(tmp_path, [Batch(0, 1000, 1), Batch(0, 2000, 2)], deltas))
    against = [(row["version"], row["timeout_kind"]) for row in of_kind(rows, "timers")]
    assert against == expected
    assert of_kind(rows, "leftovers") == []
