"""Checkpoints with troubles from fixtures/troubles.tar.xz, their healthy twins, and damaged files.

The first two lines of an audit on a terminal of 80 columns name the cause.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector import api
from inspector.findings.finding import Severity
from inspector.findings.verdict import Level
from tests.byte_damage import without_sums
from tests.checkpoint_files import remove_paths
from tests.cli.support import copy_of, run
from tests.profiles import sampled
from tests.troubles import troubled

CAUSES: dict[str, str] = {
    "agg_no_watermark": r"no group is ever removed",
    "agg_key_without_time": r"No grouping column carries a watermark",
    "agg_unique_key": r"every batch brings only new values of 'id': 160 of 160 puts",
    "agg_fan_out": r"Each event is written to 288 windows, which are 1 d long and begin every 5",
    "agg_hot_list": r"One key holds \d\d % of the bytes .*: its value .* median \(collect_list",
    "agg_one_fat_value": r"values grow with the updates, from .* to .* \(collect_list",
    "agg_fat_lists": r"values grow with the updates, from .* to .* \(collect_list",
    "agg_late_year": r"160 rows cannot expire for 365 d .*: event times in the future",
    "agg_complete_users": r"no group is ever removed",
    "agg_many_partitions": r"391 of 432 state files are empty: 42 of 48 partitions hold nothing",
    "dedup_no_watermark": r"None of the columns of dropDuplicates carries a watermark",
    "dedup_key_without_time": r"None of the columns of dropDuplicates carries a watermark",
    "dedup_null_time": r"The event time of 160 rows is null \(ts\), so no watermark removes them",
    "dedup_half_null": r"The event time of 80 rows is null \(ts\), so no watermark removes them; 4",
    "dedup_late_years": r"160 rows cannot expire for 5.5 years .*: event times in the future",
    "join_no_watermark": r"No column of either side .* carries a watermark, so no row is ever",
    "join_left_watermark": r"No column of the right side .* no row of either side is ever removed",
    "join_no_range": r"This join never drops rows; some are .* has no time bound",
    "join_long_range": r"left side of the join never drops rows; .*The time range may be long",
    "join_hot_key": r"One key has 92 % of the rows of the join's left side",
    "join_idle_side": r"The watermark stands still, .*source 1.* since batch 2",
    "union_idle_source": r"The watermark stands still, .*source 1.* since batch 2",
    "session_long_gap": r"160 sessions cannot expire for 400 d .*gap that is too long",
    "group_no_timeout": r"The query has no timeout, so a key goes only when the function removes",
    "group_far_timeout": r"160 timeouts cannot expire for 56,\d+ years \(until \+58.*\): a wrong",
    "group_years_timeout": r"160 timeouts cannot expire for 5.5 years \(until 2032.*\): a wrong",
    "group_unset_timeout": r"The function never set a timeout; .* new values of 'user': 160 of 160",
    "group_ignored_timeout": r"\d+ keys leaked: .*did nothing about it",
    "group_rearmed": r"\d+ keys were kept: .*, and the function set a new one",
    "group_same_value": r"do not change the value",
    "group_fat_value": r"One key holds \d\d % of the bytes",
    "tws_list": r"The list state 'pages' only grows and has no TTL: 20 keys have 64",
    "tws_map": r"map state 'pages'",
    "tws_value_without_ttl": r"The variable 'pages' has no TTL and the query no timers",
    "tws_far_ttl": r"160 values cannot expire for 10 years \(until 20\d\d.*the TTL of 'pages'",
    "tws_timers_gather": r"Timers only gather: 160 timers for 20 keys",
    "rocksdb_zips": r"no group is ever removed .*; each batch uploads ~",
    "rocksdb_agg_no_watermark": r"no group is ever removed",
    "rocksdb_join_no_range": r"This join never drops rows; some are .* has no time bound",
    "died_in_batch": r"Batch 6 was planned at .* and has written nothing for ",
    "maintenance_off": r"A restart has to replay up to 10\d deltas .*no snapshot was made",
    "rocksdb_dedup_no_watermark": r"None of the columns of dropDuplicates carries a watermark",
    "group_text": r"values grow with the updates, from .* to 2.9 KiB",
    "group_half_timeouts": r"The function set no timeout for 80 keys in ",
    "dedup_uuid": r"None of the columns of dropDuplicates carries a watermark",
    "join_year_range": r"This join never drops rows; some are .* has no time bound",
    "join_month_range": r"left side of the join never drops rows; .*The time range may be long",
    "join_null_key": r"One key has 83 % of the rows of the join's left side \(key column 1 is null",
    "join_silent_right": r"watermark stands still, .* source 1 has brought no data since batch 0",
    "union_silent_source": r"watermark stands still, .* source 1 has brought no data since batch 0",
    "agg_collect_set": r"values grow with the updates, from 368 B to 2.6 KiB",
    "agg_percentile": r"values grow with the updates, from 584 B to 4.4 KiB",
    "agg_truncated_time": r"No grouping column carries a watermark, so no group is ever removed",
    "agg_other_time": r"No grouping column carries a watermark, so no group is ever removed",
    "agg_ms_as_seconds": r"The watermark is \+58\d+-.*: milliseconds were taken for",
    "agg_month_delay": r"No row can expire for 30 d .*because the delay of withWatermark is 30 d",
    "session_day": r"No session can expire for 23 h .*the gap of session_window is 1 d",
    "dedup_week": r"No row can expire for 14 d .*because the delay of withWatermark is 7 d",
    "group_month_timeout": r"No timeout can expire for 30 d .*because the timeout is 30 d: until",
    "join_clock_skew": r"watermark is 6 h .*behind the newest event times, .* the right side of",
    "union_clock_skew": r"watermark is 6 h .*behind the newest event times, .* one source is late",
    "agg_device_ahead": r"Event times in the future .* moved the watermark 12 h ahead",
    "agg_time_zone": r"or of another time zone moved the watermark 7 h .*ahead of the batch clock",
    "agg_old_data": r"3 batches brought new data, but no newer event time, so nothing can",
    "chain_dedup_without_time": r"None of the columns of dropDuplicates carries a watermark",
    "join_two_hot_keys": r"One key has 50 % of the rows of the join's left side",
    "agg_second_key": r"only new values of 'user' or grouping expression 2: 160 of",
    "died_in_first_batch": r"Batch 0 was planned at .* and has written nothing for ",
    "agg_explode": r"Each input record is written to ~30 rows of the state: look at explode,",
    "dedup_static_join": r"Each input record is written to ~30 rows of the state: look at .*join",
    "join_wide_payload": r"The column 'raw' holds ~97 % of the bytes, ~2.9 KiB in each of",
    "agg_wide_key": r"The column 'raw' of the key holds ~98 % of the bytes, ~2.9 KiB in each of",
    "agg_latest_payload": r"\(max_by or min_by\) holds ~98 % of the bytes, ~2.9 KiB in each of",
    "agg_sketch": r"The column 'MS' \(approx_count_distinct\) holds more than 99 % of the bytes",
    "join_constant_key": r"One key has 100 % of the rows of the join's left side",
    "agg_epoch_default": r"There is no watermark .* by window.end \(the newest is 1970-01-01T00:01",
    "agg_null_user": r"One key holds at least 70 % of the bytes in 7 windows \(user is null\)",
    "tws_timer_kept": r"Timers of 120 keys came due and are gone, and .* kept 1[26]0 of",
    "tws_list_timer_kept": r"Timers of 120 keys came due and are gone, and .* kept 1[26]0 of",
    "tws_map_timer_kept": r"Timers of 160 keys came due and are gone, and .* kept 1[26]0 of",
    "join_two_delays": r"No row can expire for 6 d .*the longest delay of withWatermark is 7 d",
    "limit_reached": r"Most likely the limit is reached, .*no row was counted \(since batch 1",
    "join_max_policy": r"By multipleWatermarkPolicy=max .* rows like 20 of the 40 rows o",
    "agg_cube": r"of 161 rows is null \(window.end\), so no watermark removes them",
    "agg_time_key_week": r"No row can expire for 6 d 23 h .*because the delay of withWatermark",
    "group_timer_once": r"A call for new data took the timeout of 140 keys away, as it set no new",
    "chain_by_day": r"No value of 'user' came again before its window ended: 120 of 120",
    "tws_far_timer": r"160 timers cannot expire for 56,\d+ years .*: a wrong unit\?",
    "join_open_end": r"left side of the join never drops rows; .*The time range may be long",
    "session_endless": r"values grow with the updates, from 6.0 KiB to 47.1 KiB .*\(collect_list",
    "agg_now_as_key": r"every batch brings only new values of the key: 160 of 160 puts",
    "tws_short_ttl": r"The TTL of 'pages' ends before the next batch sees a value: it is \d",
    "group_idle_source": r"The watermark stands still, .*source 1.* since batch 2",
    "agg_cube_without_window": r"No grouping column carries a watermark, so no group is",
    "agg_three_keys": r"One key holds 8\d % of the bytes .*: its value .* times the median",
    "agg_fat_new_keys": r"no group is ever removed; the column .* \(max_by or min_by\) holds",
    "dedup_fat_key": r"no key is ever removed; the column 'raw' of the key holds .* of the bytes",
    "agg_fan_out_no_watermark": r"no group is ever removed; each event is written to 288 windows",
    "many_versions": r"The files of 126 versions are kept",
    "died_with_timers": r"batch 7 not finished \(a restart runs it again\): Timers only gather:",
    "join_other_case": r"No row of the join has ever found a match: the keys of its two sides are",
    "join_wrong_way": r"No row of the join has ever found a match: .* the time range excludes",
    "agg_spelling": r"Of the newest 40 keys 20 differ from another only in the case or the blanks",
    "dedup_event_uuid": r"Of the newest 200 keys 40 differ from another only in 'raw': if an",
    "session_heartbeat": r"No session has closed while the watermark moved by 19 min: new events",
    "agg_summer_time": r"Event times in the future or of another time zone moved the watermark 4\d",
    "group_short_timeout": r"Keys come back: 180 of 240 .* as the timeout is shorter than the",
    "dedup_sent_again": r"Keys come back: 140 of 380 .* as the delay of withWatermark is shorter",
    "agg_processing_watermark": r"The watermark is the batch clock less 1 min in each of 8 batches",
    "agg_unique_id": r"No value of '\w+' came again before its window ended: 1\d\d of",
    "agg_waits_for_next": r"watermark of the next batch removes at least \d+ of \d+ rows, and no",
    "group_event_key": r"No value of 'user' came again before its timeout fired: 160 of 160",
    "agg_url_key": r"No value of grouping expression 2 came again before its window ended",
    "join_late_left": r"behind the newest event times.*: the left side of the join is late",
    "tws_ttl_return": r"Keys come back: 180 of 240 .* as the TTL of '\w+' is shorter than the",
    "join_country": r"few keys for its rows: 4\d\d rows .* 2 join keys, and each new one meets ~2",
    "session_robot": r"1 of \d+ sessions is kept open by new events, the longest for 18 min",
    "session_month": r"No session can expire for 30 d .*because the gap of session_window is 30 d",
    "group_put_off": r"No timeout has fired while its clock moved by 1\d min: each call for new",
    "dedup_no_delay": r"The delay of withWatermark ends before the next batch sees a row: no key",
    "join_null_time": r"event time of 80 rows is null \(ts\), so no watermark removes them; 40 of",
    "dedup_read_time": r"Of the newest 230 keys 70 differ from another only in 'ingested': if",
    "agg_seconds_as_ms": r"The watermark is 1970-01-21.*: seconds were taken for milliseconds",
    "group_first_call": r"A call for new data took the timeout of 165 keys away, as it set no new",
    "group_thousandfold": r"No timeout can expire for 21 d .*because the timeout is 21 d: until",
    "group_null_time": r"no watermark after 8 batches with data, so none of 160 timeouts in event",
    "group_few_removed": r"The query has no timeout, so a key goes only when the function",
    "session_two_gaps": r"80 of 125 sessions end after 30 d .*: the gap or timeout differs",
    "session_pings": r"No session has closed while the watermark moved by 11 min: new events",
    "dedup_request_id": r"no key is ever removed \('id' differs in each key\)",
    "tws_mixed_ttl": r"The variable 'history' has no TTL: it gained \d+ rows in \d versions",
    "agg_ms_as_micros": r"The watermark is 1970-01-21.*, or milliseconds for microseconds, so",
    "join_orders": r"as the watermark has passed none: without a time range in the join condition",
    "union_far_event": r"Warning: An event lies 5.2 years in the future \(batch 4\) and moved",
    "agg_backlog": r"Batch 0 wrote 1,200 rows, 150 times as many .*: most likely a backlog",
    "agg_some_ahead": r"Warning: Event times in the future or of another time zone moved",
    "session_hot_key": r"One key has 92 % of the sessions \(.*\): \d+ of \d+",
    "session_robots": r"8 of 68 sessions are kept open by new events, the longest for 18 min",
    "died_in_a_task": r"batch 6 not finished \(partition 1 wrote nothing; a restart runs it ag",
    "union_max_policy": r"Warning: By multipleWatermarkPolicy=max .* rows like 20 of the 40 rows o",
    "dedup_new_time": r"Of the newest 350 keys 110 differ from another only in 'ts', the event tim",
    "dedup_tried_thrice": r"Of the newest 330 keys 210 differ from another only in 'ts', the eve",
    "agg_latest_first": r"most likely because source 0 gives its newest files first \(latestFirst",
    "agg_respelled": r"the blanks of 'user' \(the older spelling has no put since batch",
    "agg_users_come": r"Warning: No grouping column carries a watermark, so no group is ever remov",
    "session_day_merged": r"No session can expire for 23 h .*the gap of session_window is 1 d",
}
"""Trouble -> pattern of the first two lines on 80 columns."""

TWINS = (
    *("agg_no_watermark", "agg_unique_key", "agg_fan_out", "agg_hot_list"),
    *("agg_one_fat_value", "agg_fat_lists", "agg_many_partitions", "dedup_no_watermark"),
    *("dedup_key_without_time", "join_no_watermark", "join_hot_key", "join_idle_side"),
    *("union_idle_source", "session_long_gap", "group_no_timeout", "group_far_timeout"),
    *("group_years_timeout", "group_same_value", "group_fat_value", "tws_map"),
    *("tws_value_without_ttl", "tws_far_ttl", "tws_timers_gather", "rocksdb_zips"),
    *(
        "chain_dedup_without_time",
        "group_text",
        "dedup_uuid",
        "join_null_key",
        "agg_window_no_watermark",
    ),
    *("agg_explode", "dedup_static_join", "join_wide_payload", "agg_sketch"),
    *(
        "group_timer_once",
        "join_two_delays",
        "limit_reached",
        "join_max_policy",
        "agg_time_key_week",
    ),
    *("dedup_half_null", "agg_null_user", "tws_list_timer_kept", "tws_map_timer_kept"),
    *("tws_short_ttl", "group_idle_source", "agg_three_keys"),
    *("agg_spelling", "dedup_event_uuid", "session_heartbeat"),
    *("group_short_timeout", "dedup_sent_again", "agg_unique_id", "agg_waits_for_next"),
    *("group_event_key", "agg_url_key", "group_first_call", "group_thousandfold"),
    *("group_null_time", "group_few_removed", "session_two_gaps", "tws_mixed_ttl"),
    *("agg_some_ahead", "union_max_policy", "session_hot_key"),
    *("dedup_new_time", "agg_users_come"),
    *("rocksdb_agg_no_watermark", "rocksdb_dedup_no_watermark", "rocksdb_join_no_range"),
)
"""Troubles that have a healthy twin of the same name."""


def two_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the first two lines of an audit on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    return " ".join(run("audit", path).out.splitlines()[:2])


@pytest.mark.parametrize("name", sampled(tuple(CAUSES), 6, 1))
def test_first_two_lines_on_80_columns_name_the_cause(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert re.search(CAUSES[name], two_lines(troubled(f"trouble_{name}"), monkeypatch))


@pytest.mark.parametrize("name", sampled(TWINS, 6, 2))
def test_healthy_twin_has_no_warning(name: str) -> None:
    report = api.audit(str(troubled(f"healthy_{name}")))
    assert report.verdict is not None
    assert report.verdict.level in (Level.OK, Level.INFO)
    assert not report.problems
    assert all(finding.severity is Severity.INFO for finding in report.findings)


@pytest.mark.parametrize(("kind", "batches", "days"), [("healthy", 9, 1), ("trouble", 8, 2)])
def test_no_data_batch_removes_expired_rows(kind: str, batches: int, days: int) -> None:
    root = troubled(f"{kind}_agg_waits_for_next")
    assert len([*(root / "commits").glob("[0-9]*")]) == batches
    report = api.audit(str(root))
    assert report.verdict is not None
    assert report.verdict.size is not None
    assert report.verdict.size.rows == 20 * days


# --- damaged files --------------------------------------------------------------------------


def _newest(root: Path, pattern: str) -> Path:
    return max(root.glob(pattern), key=lambda path: int(re.findall(r"\d+", path.name)[0]))


def _lose_all(*names: str) -> Callable[[Path], None]:
    """Return a damage that deletes folders."""

    def lose(root: Path) -> None:
        remove_paths(root, *names)

    return lose


def _lose_newest(*patterns: str) -> Callable[[Path], None]:
    """Return a damage that deletes the three newest files of each pattern."""

    def lose(root: Path) -> None:
        for pattern in [*patterns] * 3:
            _newest(root, pattern).unlink()

    return lose


def _lose(pattern: str) -> Callable[[Path], None]:
    return lambda root: _newest(root, pattern).unlink()


def _halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _cut(pattern: str) -> Callable[[Path], None]:
    return lambda root: _halve(_newest(root, pattern))


def _exchange(first: str, second: str) -> Callable[[Path], None]:
    def exchange(root: Path) -> None:
        (root / first).rename(root / "other")
        (root / second).rename(root / first)
        (root / "other").rename(root / second)

    return exchange


HDFS, ZIPS, LOGS = "trouble_huge_value", "rocksdb_agg_update_zips_one", "rocksdb_session_window"
DAMAGES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "lost_delta": (HDFS, _lose("state/0/1/*.delta"), r"batch 14\): partition 1 lacks 14.delta"),
    "cut_delta": (HDFS, _cut("state/0/1/*.delta"), r"partition 1 needs 14.delta, which cannot be"),
    "lost_partition": (
        HDFS,
        lambda root: shutil.rmtree(root / "state/0/1"),
        r"partition 1 lacks 1.delta",
    ),
    "lost_operator": (
        HDFS,
        lambda root: shutil.rmtree(root / "state/0"),
        r"the checkpoint lacks the operators in state",
    ),
    "cut_offset": (HDFS, _cut("offsets/*"), r"Spark needs offsets/13, which cannot be read"),
    "lost_offset": (
        HDFS,
        lambda root: (root / "offsets/12").unlink(),
        r"Cannot restart \(batch 14\): the checkpoint lacks offsets/12",
    ),
    "lost_commits": (
        HDFS,
        lambda root: shutil.rmtree(root / "commits"),
        r"At commits: got no entries",
    ),
    "lost_commit": (
        HDFS,
        _lose("commits/*"),
        r"batch 13 not finished \(a restart.* One key",
    ),
    "cut_commit": (HDFS, _cut("commits/*"), r"Spark needs commits/13, which cannot be read"),
    "cut_snapshot": (HDFS, _cut("state/0/1/*.snapshot"), r"12.snapshot: .* without it, and no "),
    "lost_zip": (ZIPS, _lose("state/0/0/*.zip"), r"partition 0 lacks 8.zip"),
    "cut_zip": (
        ZIPS,
        _cut("state/0/0/*.zip"),
        r"partition 0 needs 8.zip, which cannot be read \(CANNOT_LOAD_STATE_STORE",
    ),
    "lost_table": (ZIPS, _lose("state/0/0/SSTs/*.sst"), r"0 lacks SSTs/0000\d\d-.*\.sst of 8.zip"),
    "lost_old_table": (
        ZIPS,
        lambda root: min(root.glob("state/0/0/SSTs/*.sst")).unlink(),
        r"^Warning: At state/0/0/SSTs/0000\d\d-[^ ]*.sst: got no table file, expected one of",
    ),
    "lost_join_store": (
        "join_left_outer",
        lambda root: shutil.rmtree(root / "state/0/0/left-keyToNumValues"),
        r"partition 0 lacks 1.delta of left-keyToNumValues \(CANNOT_READ_DELTA",
    ),
    "lost_changelog": (LOGS, _lose("state/0/0/*.changelog"), r"partition 0 lacks \d+.changelog"),
    "cut_changelog": (LOGS, _cut("state/0/0/*.changelog"), r"changelog, which cannot be read"),
    "cut_metadata": (
        HDFS,
        lambda root: _halve(root / "metadata"),
        r"Spark needs metadata, which cannot be read",
    ),
    "lost_newest_offset": (
        HDFS,
        _lose("offsets/*"),
        r"batch 12.*the checkpoint lacks offsets/13",
    ),
    "lost_metadata": (
        HDFS,
        lambda root: (root / "metadata").unlink(),
        r"the checkpoint lacks metadata",
    ),
    "lost_offsets": (
        HDFS,
        lambda root: shutil.rmtree(root / "offsets"),
        r"Cannot restart \(batch 0\): the checkpoint lacks the entries.*At offsets: got no",
    ),
    "lost_logs": (
        HDFS,
        _lose_all("offsets", "commits"),
        r"got no entry in offsets and commits, though there is state up to",
    ),
    "lost_state": (
        HDFS,
        lambda root: shutil.rmtree(root / "state"),
        r"Healthy if the query keeps no state: .* no folder state.*else no, as it needs",
    ),
    "lost_state_schema": (
        "rocksdb_tws_processing",
        lambda root: shutil.rmtree(root / "state/0/_stateSchema"),
        r"the checkpoint lacks state/0/_stateSchema/default",
    ),
    "lost_upper_operator": (
        "agg_two_levels",
        lambda root: shutil.rmtree(root / "state/0"),
        r"the checkpoint lacks the operators in state",
    ),
    "exchanged_partitions": (
        HDFS,
        _exchange("state/0/0", "state/0/1"),
        r"it lies in state/0/1: the folders of two partitions were exchanged",
    ),
    "exchanged_others": (
        "trouble_skew",
        _exchange("state/0/1", "state/0/2"),
        r"Error: Partitions 1, 2 have 3 of \d+ keys that belong to another partition, where Spark",
    ),
    "stray_delta": (
        HDFS,
        lambda root: shutil.copy(root / "state/0/0/14.delta", root / "state/0/0/99.delta"),
        r"Warning: At state/0/0/99.delta: got version 99, and the newest batch, 13, makes",
    ),
    "older_logs": (
        HDFS,
        _lose_newest("offsets/[0-9]*", "commits/[0-9]*"),
        r"version 14, and the newest batch, 10, makes version 11: the logs are older",
    ),
    "died_with_a_leak": (
        "trouble_dedup_without_time",
        _lose("commits/*"),
        r"batch 13 not finished \(a restart runs it again\): None of the columns",
    ),
    "cut_schema": (
        HDFS,
        lambda root: _halve(root / "state/0/0/_metadata/schema"),
        r"needs state/0/0/_metadata/schema, which",
    ),
}
"""Damage -> the fixture, the change of its copy, and a pattern of the first two lines."""


@pytest.mark.parametrize("name", sampled(tuple(DAMAGES), 6, 3))
def test_first_two_lines_name_the_damage(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, damage, words = DAMAGES[name]
    root = copy_of(case, tmp_path)
    without_sums(root)
    damage(root)
    assert re.search(words, two_lines(root, monkeypatch))
