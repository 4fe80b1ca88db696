"""Findings about what state costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.facts.versions import VersionFacts
from inspector.findings.efficiency import (
    FileCosts,
    HotKey,
    StoreCosts,
    WideColumn,
    judge_costs,
    judge_files,
    judge_heap,
)
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.findings.views.store_keys import Windows

FILES = FileCosts(0, 1, 0, 0, 0, 0, 0)
COSTS = StoreCosts(3, "symmetricHashJoin", "left-keyWithIndexToValue", {}, {})


# --- values ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "found"), [(60, True), (49, False)])
def test_a_key_with_most_rows_of_a_join_is_named(rows: int, *, found: bool) -> None:
    hot = HotKey("ad=0", rows, 100, "row")
    result = list(judge_costs(replace(COSTS, store_name="left-rows", hot=hot), Thresholds()))
    assert [one.kind.id for one in result] == ["SS307"] * found
    assert all("of the join's left side (ad=0): 60 of 100" in one.cause for one in result)
    sessions = replace(
        COSTS, store_name="default", hot=replace(hot, key="user=u29", noun="session")
    )
    words = "One key has 60 % of the sessions (user=u29): 60 of 100."
    result = list(judge_costs(sessions, Thresholds()))
    assert [one.cause for one in result] == [words] * found
    assert all("give session_window a longer gap" in one.next_step for one in result)


@pytest.mark.parametrize(
    ("rows", "of", "opposite", "found"),
    [(20, 40, 20.0, True), (30, 40, 20.0, True), (19, 38, 20.0, False), (20, 40, 19.9, False)],
)
def test_a_join_of_few_keys_meets_many_rows(
    rows: int, of: int, opposite: float, *, found: bool
) -> None:
    hot = HotKey("country=DE", rows, of, "row", None, 2, opposite)
    result = list(judge_costs(replace(COSTS, store_name="left-rows", hot=hot), Thresholds()))
    assert [one.kind.id for one in result] == ["SS307"] * found
    words = "40 rows of the join's left side have 2 join keys, and each new one meets ~20 rows"
    assert all(words in one.cause for one in result)
    single = replace(COSTS, store_name="left-rows", hot=replace(hot, rows=of, keys=1))
    assert not list(judge_costs(single, Thresholds()))


@pytest.mark.parametrize(("bytes_", "found"), [(90_000, True), (5_000, False), (900, False)])
def test_values_that_grow_are_reported_where_they_make_the_growth(
    bytes_: int, *, found: bool
) -> None:
    sizes = {n: 6_000 + n * bytes_ // 8 for n in range(1, 9)}
    versions = {n: VersionFacts(stores=1, rows=10, value_bytes=sizes[n]) for n in sizes}
    result = list(judge_costs(replace(COSTS, versions=versions), Thresholds()))
    assert [one.kind.id for one in result] == ["SS308"] * found


@pytest.mark.parametrize(("full", "found"), [(4, False), (9, True)])
def test_values_that_were_full_half_way_do_not_grow(full: int, *, found: bool) -> None:
    """As a list of the newest entries."""
    versions = {
        n: VersionFacts(stores=1, rows=10, value_bytes=6_000 + 9_000 * min(n, full))
        for n in range(1, 9)
    }
    result = list(judge_costs(replace(COSTS, versions=versions), Thresholds()))
    assert [one.kind.id for one in result] == ["SS308"] * found


@pytest.mark.parametrize(("slide", "found"), [(5, True), (60, True), (61, False)])
def test_an_event_in_many_windows(slide: int, *, found: bool) -> None:
    windows = Windows(1440 * 60_000, frozenset(n * slide * 60_000 for n in (3, 7, 12)))
    result = list(judge_costs(replace(COSTS, windows=windows), Thresholds()))
    assert [one.kind.id for one in result] == ["SS309"] * found


@pytest.mark.parametrize(("written", "records", "found"), [(400, 40, True), (399, 40, False)])
def test_a_record_in_many_rows(written: int, records: int, *, found: bool) -> None:
    costs = replace(COSTS, written=written, records=records)
    result = list(judge_costs(costs, Thresholds()))
    assert [one.kind.id for one in result] == ["SS309"] * found
    assert all("~10 rows of the state" in one.cause for one in result)
    # Windows explain as many rows as overlap.
    windows = Windows(120_000, frozenset({60_000, 120_000}))
    assert not list(judge_costs(replace(costs, windows=windows), Thresholds()))


@pytest.mark.parametrize(
    ("key", "end"),
    [
        ("user is null, day=1", "; the largest where user is null."),
        ("sha256:da50afec73da22a3", "rows."),
        ("user=who is null", "rows."),
    ],
)
def test_a_null_in_the_key_of_the_largest_value_is_named(key: str, end: str) -> None:
    costs = replace(COSTS, column=WideColumn("raw", 9000, 0.5), largest=key)
    (found,) = judge_costs(costs, Thresholds())
    assert found.cause.endswith(end)


@pytest.mark.parametrize(
    ("bytes_", "share", "found"), [(1024, 0.5, True), (1023, 0.9, False), (9000, 0.49, False)]
)
def test_a_column_with_most_of_the_bytes(bytes_: int, share: float, *, found: bool) -> None:
    column = WideColumn("raw", bytes_, share)
    result = list(judge_costs(replace(COSTS, column=column), Thresholds()))
    assert [one.kind.id for one in result] == ["SS313"] * found
    assert all("'raw' holds ~50 %" in one.cause for one in result)
    of_function = replace(COSTS, column=WideColumn("", bytes_ * 4, share))
    result = list(judge_costs(of_function, Thresholds()))
    assert [one.kind.id for one in result] == ["SS313"] * found
    assert all(one.cause.startswith("The values hold ") for one in result)


@pytest.mark.parametrize(
    ("zips", "uploaded", "found"), [(5, 20_000, True), (4, 20_000, False), (5, 8_000, False)]
)
def test_uploads_of_whole_files(zips: int, uploaded: int, *, found: bool) -> None:
    versions = [VersionFacts(stores=1, rows=10, value_bytes=800)] * 8
    costs = replace(FILES, zips=zips, uploaded=uploaded, changes=versions)
    assert [one.kind.id for one in judge_files(costs, Thresholds())] == ["SS310"] * found


def test_a_row_that_is_put_over_is_written_with_its_key() -> None:
    over = VersionFacts(1, 0, 10, 9000, 1000, 10, updates=10, shared_key_bytes=9000)
    costs = replace(FILES, zips=8, uploaded=20_001, changes=[over])
    assert list(judge_files(costs, Thresholds(zip_ratio=2.1))) == []
    (uploads,) = judge_files(costs, Thresholds(zip_ratio=2.0))
    assert uploads.evidence.endswith("and 10 puts in 1 version wrote ~9.8 KiB each")


@pytest.mark.parametrize(("logged", "found"), [(120, True), (119, False)])
def test_old_versions_are_many_where_the_log_is_as_long(logged: int, *, found: bool) -> None:
    costs = replace(FILES, versions=130, bytes=1000, old_bytes=300, logged=logged)
    assert [one.kind.id for one in judge_files(costs, Thresholds())] == ["SS312"] * found


# --- heap ------------------------------------------------------------------------------------


def test_heap_is_judged_only_by_a_limit() -> None:
    assert list(judge_heap(1 << 40, DEFAULTS)) == []
    limit = Thresholds(heap_bytes=1 << 30)
    assert list(judge_heap(None, limit)) == []
    assert list(judge_heap(1 << 30, limit)) == []
    (found,) = judge_heap(3 << 29, limit)
    assert (found.kind.id, found.certainty.value) == ("SS306", "inferred")
    assert "an estimated 1.5 GiB of heap" in found.evidence
    assert "the limit is 1.0 GiB" in found.evidence
