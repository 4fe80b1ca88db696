"""Findings about what state costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from inspector.facts.size_distributions import SizeCounts
from inspector.facts.versions import VersionFacts
from inspector.findings.efficiency import (
    FileCosts,
    HotKey,
    StoreCosts,
    WideColumn,
    judge_costs,
    judge_files,
    judge_format,
    judge_heap,
)
from inspector.findings.finding import Finding
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.findings.views.store_keys import Windows

FILES = FileCosts(0, 1, 0, 0, 0, 0, 0)
COSTS = StoreCosts(3, "symmetricHashJoin", "left-keyWithIndexToValue", {}, {})


def judged(
    partitions: Mapping[int, VersionFacts] | None = None,
    versions: Mapping[int, VersionFacts] | None = None,
    thresholds: Thresholds = DEFAULTS,
    name: str = COSTS.operator_name,
) -> list[Finding]:
    costs = replace(COSTS, operator_name=name, partitions=partitions or {}, versions=versions or {})
    return list(judge_costs(costs, thresholds))


def test_only_the_first_format_of_an_aggregation_repeats_its_keys() -> None:
    (found,) = judge_format(2, "1")
    assert (found.kind.id, found.operator_id) == ("SS301", 2)
    assert list(judge_format(2, "2")) == []
    assert list(judge_format(2, None)) == []


# --- skew ------------------------------------------------------------------------------------


def rows(*counts: int) -> dict[int, VersionFacts]:
    return {place: VersionFacts(rows=n, key_bytes=8 * n) for place, n in enumerate(counts)}


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ((10, 10, 4000, 12), True),
        ((0, 0, 4000, 0), True),
        ((1000, 1000, 2999, 1000), False),
        ((10, 10, 99, 12), False),
        ((10, 100), True),
        ((34, 100), False),
        ((4000,), False),
        ((), False),
    ],
)
def test_one_partition_that_has_far_more_rows_is_skewed(
    counts: tuple[int, ...], found: bool
) -> None:
    result = judged(rows(*counts))
    assert [one.kind.id for one in result] == ["SS302"] * found
    assert list(judge_costs(replace(COSTS, partitions=rows(*counts), single=True), DEFAULTS)) == []


def test_the_skewed_partition_is_named_with_its_share() -> None:
    (found,) = judged(rows(100, 9800, 100, 0))
    assert (found.rows, found.bytes) == (9800, 8 * 9800)
    assert found.evidence == (
        "partition 1 has 9,800 rows (98 % of all); half of the 4 partitions have at most 100 rows "
        "each"
    )
    assert found.cause == "The state is skewed: partition 1 of 4 holds 98 % of its rows."
    assert judged(rows(100, 9800, 100, 0), thresholds=Thresholds(skew_ratio=100.0)) == []
    assert judged(rows(100, 9800, 100, 0), thresholds=Thresholds(skew_rows=9801)) == []


# --- values ----------------------------------------------------------------------------------


def values(*sizes: Mapping[int, int]) -> dict[int, VersionFacts]:
    return {
        place: VersionFacts(rows=sum(one.values()), value_sizes=SizeCounts(Counter(one)))
        for place, one in enumerate(sizes)
    }


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


# --- bursts --------------------------------------------------------------------------------


def puts(*counts: int) -> dict[int, VersionFacts]:
    return {version: VersionFacts(puts=n) for version, n in enumerate(counts, 1)}


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ((3000, 20, 20, 20, 20, 20), True),
        ((20, 10, 20, 3000, 20, 0, 30), True),
        ((3000, 20, 20, 20, 20), False),
        ((3000, 0, 20, 20, 20, 20), False),
        ((999, 20, 20, 20, 20, 20), False),
        ((3000, 101, 101, 101, 101, 101), False),
    ],
)
def test_a_batch_that_is_far_larger_than_others(counts: tuple[int, ...], *, found: bool) -> None:
    costs = replace(COSTS, versions=puts(*counts))
    result = list(judge_costs(costs, Thresholds()))
    assert [finding.kind.id for finding in result] == ["SS314"] * found
    batch = counts.index(3000) if found else 0
    words = f"Batch {batch} wrote 3,000 rows, 150 times as many as a batch usually does: "
    assert all(finding.cause.startswith(words) for finding in result)
    counters = replace(costs, store_name="left-keyToNumValues")
    assert not list(judge_costs(counters, Thresholds()))


def test_a_version_of_a_snapshot_is_no_burst() -> None:
    versions = puts(3000, 20, 20, 20, 20, 20)
    versions[1] = replace(versions[1], rebased=1)
    assert judged(versions=versions) == []


# --- rewrites --------------------------------------------------------------------------------


@pytest.mark.parametrize(("same", "found"), [(0, False), (4, False), (5, True), (10, True)])
def test_rewrites_are_reported_from_half_of_the_updates_on(same: int, found: bool) -> None:
    versions = {
        3: VersionFacts(updates=4, puts=9),
        4: VersionFacts(updates=6, puts=9, same_value_puts=same, same_value_put_bytes=16 * same),
    }
    result = judged(versions=versions)
    assert [one.kind.id for one in result] == ["SS304"] * found
    if found:
        assert (result[0].rows, result[0].bytes) == (same, 16 * same)
        assert f"{same} of 10 updates" in result[0].evidence
        assert "in versions 3 to 4" in result[0].evidence


def test_only_the_user_of_a_group_state_is_advised_to_change_a_function() -> None:
    versions = {3: VersionFacts(updates=4, same_value_puts=4)}
    (group,) = judged(versions=versions, name="flatMapGroupsWithState")
    assert "update()" in group.next_step
    for name in ("stateStoreSave", "dedupe", "symmetricHashJoin", "globalLimit", "unknown"):
        (found,) = judged(versions=versions, name=name)
        assert "update()" not in found.next_step
        assert found.next_step


def test_of_an_index_that_spark_keeps_no_rewrites_are_reported() -> None:
    rewritten = StoreCosts(0, "x", "pages", {}, {3: VersionFacts(updates=4, same_value_puts=4)})
    assert [one.kind.id for one in judge_costs(rewritten, Thresholds())] == ["SS304"]
    index = replace(rewritten, store_name="$rowCounter_pages")
    assert list(judge_costs(index, Thresholds())) == []


def test_a_store_without_updates_rewrites_nothing() -> None:
    assert judged(versions={1: VersionFacts(puts=5, inserts=5)}) == []
    assert judged() == []


# --- empty deltas ----------------------------------------------------------------------------


def deltas(*empty: int, stores: int = 40) -> dict[int, VersionFacts]:
    return {
        v: VersionFacts(stores=stores, empty_deltas=one) for v, one in enumerate(empty, start=1)
    }


def test_a_column_family_that_nothing_changes_writes_no_file() -> None:
    idle = replace(COSTS, versions=deltas(40, 40, 40))
    assert list(judge_costs(idle, DEFAULTS))
    assert list(judge_costs(replace(idle, shares_files=True), DEFAULTS)) == []


def test_empty_deltas_are_reported_from_a_share_and_a_number_on() -> None:
    (found,) = judged(versions=deltas(30, 40, 30))
    assert found.kind.id == "SS305"
    assert found.evidence == (
        "100 of 120 deltas change nothing, in versions 1 to 3; in 1 of 3 versions no partition "
        "changed"
    )
    assert judged(versions=deltas(30, 39, 30)) == []
    assert judged(versions=deltas(30, 40, 30, stores=70)) == []
    assert judged(versions=deltas(30, 40, 30), thresholds=Thresholds(empty_share=0.9)) == []
    assert judged(versions=deltas(1), thresholds=Thresholds(empty_deltas=1, empty_share=0.01))
    assert judged(versions=deltas(0), thresholds=Thresholds(empty_deltas=0)) == []


def test_batches_that_change_nothing_are_distinguished_from_partitions_that_do_not() -> None:
    (batches,) = judged(versions=deltas(40, 40, 40))
    assert batches.cause.startswith("Most batches change nothing")
    (partitions,) = judged(versions=deltas(39, 39, 39))
    assert "partitions have nothing to write" in partitions.cause


def test_a_version_from_a_snapshot_has_no_known_delta() -> None:
    versions = {1: VersionFacts(stores=200, rebased=200), **deltas(0, 100, stores=100)}
    assert [one.kind.id for one in judged(versions=versions)] == ["SS305"]


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
