"""``inspector preflight --before``: comparison of the batches of two rehearsals."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import api
from inspector.analyses.preflight import _names_of, _same_rows
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.rehearsals import (
    YEAR_MS,
    Distances,
    Snapshot,
    compared_versions,
    coverage_of,
    has_user_code,
    timeout_ms,
    timer_clock,
)
from inspector.discovery.rehearsal_record import REHEARSAL, record_text
from inspector.findings.restart_judgement import Preflight, SameRows, Side, Target
from inspector.model import TimeoutKind
from tests.attributes import attributes
from tests.cases import (
    GROUP_STATE,
    USER,
    Batch,
    put,
    user,
    write_group_state,
    write_schema,
    write_store,
)
from tests.cli.support import checkpoint_of, run
from tests.encode import Record
from tests.reports import row_where

NOW = 1_795_802_052_000  # the wall clock of the rehearsals
EVENT = NOW - 2 * YEAR_MS
LATER = EVENT + 100_000_000
A, B = user("a"), user("b")

Deltas = Mapping[int, Sequence[Record]]
FIRST = [put(A, EVENT + 15_000), put(B, EVENT + 16_000)]
AGAIN = [put(A, EVENT + 20_000, visits=2)]
FIRED = [(A, None), (B, None)]


def rehearsal(
    root: Path,
    deltas: Deltas,
    sources: Sequence[int] = (0, 1, 2, 2),
    watermarks: Sequence[int] = (0, EVENT, EVENT, LATER),
    start: int = NOW,
) -> str:
    """Write a rehearsal of a group state: two inputs, a time jump, and a batch without data."""
    batches = [
        Batch(watermark, start + 1000 * number, source)
        for number, (watermark, source) in enumerate(zip(watermarks, sources, strict=True))
    ]
    versions = range(1, len(batches) + 1)
    write_group_state(root, batches, {version: deltas.get(version, ()) for version in versions})
    return str(root)


FULL: Deltas = {1: FIRST, 2: AGAIN, 4: FIRED}


def verdict(old: str, new: str) -> tuple[str, dict[str, str]]:
    report = api.preflight(old, new, before=old)
    lines = {str(r["rule"]): str(r["new"]) for r in report.primary.rows if r["verdict"] != "ok"}
    return str(report.summary["verdict"]), lines


def test_equal_rehearsals_are_ok(tmp_path: Path) -> None:
    old, new = (rehearsal(tmp_path / name, FULL) for name in ("old", "new"))
    assert verdict(old, new) == ("ok", {})


def test_different_event_time_timer_is_silent(tmp_path: Path) -> None:
    old = rehearsal(tmp_path / "old", {1: FIRST, 2: AGAIN})
    new = rehearsal(tmp_path / "new", {1: FIRST, 2: [put(A, EVENT + 80_000, visits=2)]})
    assert verdict(old, new) == ("silent", {"SS497": "1 keys differ"})


def test_different_timer_is_found_after_it_has_fired(tmp_path: Path) -> None:
    old = rehearsal(tmp_path / "old", FULL)
    new = rehearsal(tmp_path / "new", {**FULL, 1: [FIRST[0], put(B, EVENT + 61_000)]})
    assert verdict(old, new) == ("silent", {"SS497": "1 keys differ"})


def test_different_value_is_found_after_its_key_was_removed(
    tmp_path: Path,
) -> None:
    old = rehearsal(tmp_path / "old", FULL)
    new = rehearsal(tmp_path / "new", {**FULL, 2: [put(A, EVENT + 20_000, visits=20)]})
    assert verdict(old, new) == ("silent", {"SS497": "1 keys differ"})


def test_processing_time_timers_are_compared_by_their_timeout(tmp_path: Path) -> None:
    old = processing_time_rehearsal(tmp_path / "old", 15_000)
    new = processing_time_rehearsal(tmp_path / "new", 15_000, NOW + 777)
    result, lines = verdict(old, new)
    assert (result, set(lines)) == ("unknown", {"SS458"})  # they are equal, and none has fired
    far = processing_time_rehearsal(tmp_path / "far", 60_000)
    assert set(verdict(old, far)[1]) == {"SS498"}
    unset = {1: [put(A, -1)], 2: [put(A, -1, 2)]}
    without = rehearsal(tmp_path / "without", unset, watermarks=(0, 0, 0, 0))
    assert verdict(old, without)[0] == "silent"


def test_different_timers_of_an_unknown_clock_are_unknown(tmp_path: Path) -> None:
    """The event time is that of the wall clock, so the timers may follow either clock."""
    marks = (0, NOW - 5000, NOW - 5000, NOW - 5000)
    old = rehearsal(tmp_path / "old", {1: [put(A, NOW + 15_000)]}, watermarks=marks)
    new = rehearsal(tmp_path / "new", {1: [put(A, NOW + 60_000)]}, watermarks=marks)
    report = api.preflight(old, new, before=old)
    assert report.summary["verdict"] == "unknown"
    line = row_where(report.primary.rows, rule="SS498")
    assert "event times that are years before today" in str(line["spark"])
    assert "SS498" not in verdict(old, old)[1]


def test_state_not_read_back_by_a_batch_is_unknown(tmp_path: Path) -> None:
    old = rehearsal(tmp_path / "old", {1: FIRST, 4: FIRED})
    new = rehearsal(tmp_path / "new", {1: FIRST, 4: FIRED})
    assert set(verdict(old, new)[1]) == {"SS457"}
    line = row_where(api.preflight(old, new, before=old).primary.rows, rule="SS457")
    assert (line["verdict"], line["operator_id"]) == ("unknown", 0)
    assert "at least two inputs that have the same keys" in str(line["what_to_do"])


def test_timers_that_never_fire_are_unknown(tmp_path: Path) -> None:
    old = rehearsal(tmp_path / "a", {1: FIRST, 2: AGAIN}, watermarks=(0,) * 4)
    assert verdict(old, old) == ("unknown", {"SS458": "None"})
    fired = rehearsal(tmp_path / "b", {1: FIRST, 2: AGAIN})
    assert verdict(fired, old) == ("unknown", {"SS498": "None"})


def test_timer_that_fires_and_keeps_the_key_is_ok(tmp_path: Path) -> None:
    old = rehearsal(tmp_path / "old", {1: FIRST, 2: AGAIN})
    assert verdict(old, old) == ("ok", {})


def test_function_without_timers_needs_no_time_jump(tmp_path: Path) -> None:
    deltas = {1: [put(A, -1)], 2: [put(A, -1, visits=2)]}
    old = rehearsal(tmp_path / "old", deltas, watermarks=(0,) * 4)
    assert verdict(old, old) == ("ok", {})


@pytest.mark.parametrize(
    ("case", "result"),
    [
        ("agg_append", "ok"),
        ("agg_complete", "ok"),  # rows that the watermark has passed show that none is evicted
        ("agg_update", "ok"),
        ("dedup_no_watermark", "ok"),
        ("fmgws_event_remove", "ok"),
        ("fmgws_no_timeout", "ok"),
        ("fmgws_processing_time", "ok"),
        ("pandas_event_ignore", "ok"),
        ("rocksdb_fmgws_event_ignore", "ok"),
    ],
)
def test_fixture_with_many_batches_covers_everything(case: str, result: str) -> None:
    old = str(checkpoint_of(case))
    assert verdict(old, old)[0] == result


@pytest.mark.parametrize("case", ["rocksdb_tws_event", "rocksdb_tws_pandas_event"])
def test_processor_with_timers_and_state_is_covered(case: str) -> None:
    old = str(checkpoint_of(case))
    assert not {"SS457", "SS458"} & verdict(old, old)[1].keys()


def test_versions_are_paired_by_source_offsets(tmp_path: Path) -> None:
    def opened(name: str, sources: Sequence[int]) -> Opened:
        return Opened.start(rehearsal(tmp_path / name, {}, sources, (0,) * len(sources)), None)

    plain = opened("plain", (0, 1, 2)).checkpoint
    idle = opened("idle", (0, 0, 1, 2, 2)).checkpoint
    fewer = opened("fewer", (0, 1)).checkpoint
    assert compared_versions(plain, plain) == [(1, 1), (2, 2), (3, 3)]
    assert compared_versions(plain, idle) == [(1, 1), (2, 3), (3, 4), (3, 5)]
    assert compared_versions(plain, fewer) == [(3, 2)]


def test_timer_clock_is_inferred_from_timeouts(tmp_path: Path) -> None:
    event = Opened.start(rehearsal(tmp_path / "event", FULL), None).checkpoint
    assert timer_clock(event, [EVENT + 1, NOW + 5]) is TimeoutKind.EVENT_TIME
    assert timer_clock(event, [NOW + 5]) is TimeoutKind.PROCESSING_TIME
    marks = (0, NOW, NOW, NOW)
    recent = Opened.start(rehearsal(tmp_path / "recent", FULL, watermarks=marks), None).checkpoint
    assert timer_clock(recent, [NOW + 5]) is None


def test_operators_with_user_code() -> None:
    def of(case: str) -> bool:
        (operator,) = Opened.start(str(checkpoint_of(case)), None).checkpoint.query
        return has_user_code(operator)

    assert of("fmgws_no_timeout")
    assert of("rocksdb_tws_pandas_event")
    assert not of("agg_update")
    assert not of("join_left_outer")


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.floats(),
        lambda of: st.lists(of) | st.dictionaries(st.sampled_from(["timeoutTimestamp", "k"]), of),
    )
)
def test_timeout_of_any_value(value: object) -> None:
    timer = timeout_ms(value)
    assert timer is None or timer > 0


def test_first_line_has_the_verdict_on_the_restart(tmp_path: Path) -> None:
    def first_lines(*args: str | Path) -> str:
        return " ".join(run("preflight", *args, "--wide").out.split("checkpoint  ")[0].split())

    old = checkpoint_of("agg_update")
    refused = first_lines(old, checkpoint_of("dedup_event_time"))
    assert "Spark will refuse to start: the new list of stateful operators (0 dedupe)" in refused
    assert "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA" in refused
    confs = ("--conf", "spark.sql.shuffle.partitions=400")
    unknown = first_lines(old, *confs, "--conf", "spark.executor.memory=8g")
    assert "is not known" in unknown
    assert "Spark will ignore spark.sql.shuffle.partitions=400 (it keeps 2)" in unknown
    assert "Spark will ignore spark.sql.shuffle.partitions=400" in first_lines(old, *confs)
    full = rehearsal(tmp_path / "old", {1: FIRST, 2: AGAIN})
    second = rehearsal(tmp_path / "new", {1: FIRST})
    silent = first_lines(full, second, "--before", full)
    assert "Spark will start, and its results will be wrong" in silent


def test_refused_key_schema_names_its_columns(tmp_path: Path) -> None:
    old = rehearsal(tmp_path / "old", FULL)
    new = Path(rehearsal(tmp_path / "new", FULL))
    write_schema(new / "state" / "0" / "0", GROUP_STATE, GROUP_STATE)
    out = " ".join(run("preflight", old, new, "--wide").out.split())
    expected = "the new key (groupState, timeoutTimestamp) does not match the state's (value)"
    assert expected in out
    assert "raises STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE" in out


def recorded_join(root: Path, left: int, right: int) -> Opened:
    """Open a join whose rehearsal recorded the time ranges of both sides in microseconds."""
    shutil.copytree(checkpoint_of("join_left_outer"), root)
    (root / REHEARSAL).write_text(record_text({0: {"left": left, "right": right}}))
    return Opened.start(str(root), None)


def test_column_names_of_a_ddl_schema() -> None:
    text = "window struct<start: timestamp, end: timestamp>, user string, n decimal(10,2)"
    assert _names_of(text) == "window, user, n"


def test_store_of_the_old_query_alone_is_not_compared(tmp_path: Path) -> None:
    old, new = (rehearsal(tmp_path / name, FULL) for name in ("old", "new"))
    extra = Path(old) / "state" / "0" / "0" / "removed"
    write_store(extra, {1: [put(A, -1)], 2: [], 3: [], 4: []})
    write_schema(extra, USER, GROUP_STATE)
    assert "SS497" not in verdict(old, new)[1]


def join_rows(**seconds: float) -> dict[str, tuple[object, object]]:
    """Return rows of the left side of the fixture's join with these event times in seconds."""
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    return {
        name: (
            {"field0": name, "index": 0},
            {
                "ad": name,
                "shownAt": (start + timedelta(seconds=second)).isoformat(),
                "site": "s",
                "matched": False,
            },
        )
        for name, second in seconds.items()
    }


def open_range(*versions: Mapping[str, tuple[object, object]]) -> Distances | None:
    """Return what rows by version, from version 4 on, leave open of the range of that join."""
    checkpoint = Opened.start(str(checkpoint_of("join_left_outer")), None).checkpoint
    store = (0, "left-keyWithIndexToValue")
    snapshots = {number: {store: rows} for number, rows in enumerate(versions, 4)}
    return coverage_of(checkpoint, snapshots, {}).open_ranges.get(0)


def test_join_time_range_bounded_to_a_millisecond_is_exact() -> None:
    # Watermarks of the fixture in versions 5 and 6: second 27.6 and second 37.6.
    first = join_rows(a=10, b=10.001)
    assert open_range(first, first, join_rows(b=10.001)) is None
    assert open_range(first, first, {}) == (17_600, 27_599)


def test_join_time_range_bounded_to_a_second_is_open() -> None:
    first = join_rows(a=10, b=11)
    assert open_range(first, first, join_rows(b=11)) == (26_600, 27_600)


def test_join_time_range_is_open_if_all_rows_expire_at_once() -> None:
    assert open_range(join_rows(a=1), {}) == (None, 26_600)


def test_join_time_range_without_expired_rows() -> None:
    assert open_range(join_rows(a=1), join_rows(a=1)) == (26_600, None)
    old = join_rows(a=-86_400)
    assert open_range(old, old) is None


@pytest.mark.full
def test_recorded_join_time_ranges_are_compared_exactly(tmp_path: Path) -> None:
    before = recorded_join(tmp_path / "before", 60_001_000, 60_001_000)
    equal = _same_rows(before, recorded_join(tmp_path / "equal", 60_001_000, 60_001_000))
    assert sum(equal.values.values()) == 0
    assert not equal.open_ranges
    longer = _same_rows(before, recorded_join(tmp_path / "longer", 60_001_000, 60_002_000))
    assert sum(longer.values.values()) == 1
    unrecorded = _same_rows(before, Opened.start(str(checkpoint_of("join_left_outer")), None))
    assert sum(unrecorded.values.values()) == 0
    assert unrecorded.open_ranges


def test_ttl_is_compared_relative_to_the_batch_clock() -> None:
    checkpoint = Opened.start(str(checkpoint_of("rocksdb_tws_pandas_processing")), None).checkpoint
    start = 1_704_067_200_000

    def ttls(hours: int) -> Mapping[tuple[int, str], frozenset[int]]:
        rows: dict[str, tuple[Any, Any]] = {
            name: (
                {"key": name},
                {"value": 1, "ttlExpirationMs": start + 10_000 * batch + hours * 3_600_000},
            )
            for batch, name in enumerate("ab")
        }
        list_row: tuple[Any, Any] = (
            {"key": "a"},
            [{"value": 1, "ttlExpirationMs": start + hours * 3_600_000}],
        )
        lists = {(0, "recent"): {"a": list_row}}
        snapshots: dict[int, Snapshot] = {
            1: {(0, "seen"): {"a": rows["a"]}, **lists},
            2: {(0, "seen"): rows, **lists},
        }
        return coverage_of(checkpoint, snapshots, {}).ttls

    assert ttls(1) == {
        (0, "seen"): frozenset({3_600_000}),
        (0, "recent"): frozenset({3_600_000}),
    }
    assert ttls(2) != ttls(1)


def test_open_join_time_range_is_unknown() -> None:
    run_of = Opened.start(str(checkpoint_of("join_left_outer")), None)
    side = Side(run_of.checkpoint, ())
    stores = {(0, "left-keyWithIndexToValue"): 3}
    states = SameRows(side, stores, stores, stores, (), open_ranges={0: "Every row was evicted."})
    of_join = Preflight(side, side, Target("4.3"), (), states)
    assert "rehearsal-range" not in attributes(of_join.lines(), "rule.about")  # they differ
    fromkeys = dict.fromkeys(stores, 0)
    equal = replace(states, keys=fromkeys, values=fromkeys)
    (line,) = [
        line
        for line in Preflight(side, side, Target("4.3"), (), equal).lines()
        if line.rule.about == "rehearsal-range"
    ]
    assert (line.rule.id, line.operator_id) == ("SS459", 0)
    assert line.detail == "Every row was evicted."
    assert "1 ms" in line.rule.to_do


def processing_time_rehearsal(root: Path, delay: int, start: int = NOW) -> str:
    """Write a rehearsal whose two inputs set a processing-time timer after a delay."""
    deltas = {1: [put(A, start + delay)], 2: [put(A, start + 1000 + delay, visits=2)]}
    return rehearsal(root, deltas, watermarks=(0, 0, 0, 0), start=start)
