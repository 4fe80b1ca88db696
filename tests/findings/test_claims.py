"""Each sentence of a rule that makes a claim about Spark names the test that proves it.

A test of ``tests/spark`` runs a Spark; those of fixtures compare with what a Spark recorded when
it wrote them. None rests on Spark's source alone.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from inspector import docs
from inspector.findings.finding import Kind
from inspector.findings.rule import all_kinds, rules
from tests.attributes import attributes

HOME = Path(__file__).resolve().parents[1]
SPARK = "spark/test_claims.py"
RECORDED = "test_rocksdb_fixtures.py::test_recorded_rows_equal_calls_of_processor"
EXPIRED = "test_rocksdb_fixtures.py::test_leftovers_by_log_are_expired_values_and_timers"
SIDE_FILES = "providers/test_side_checks.py::test_file_with_matching_checksum_has_no_problem"
LOADS_AS_IT_IS = f"{SPARK}::test_removals_of_absent_keys_are_loaded_as_they_are"
HAND_COPY = "test_copies.py::test_hand_made_copy_reads_schemas_of_original"
REPARTITIONED = f"{SPARK}::test_a_repartitioning_changes_the_partitions_and_has_to_finish"
REFUSED = "spark/test_restarts.py::test_spark_behaves_as_recorded"
LOST = f"{SPARK}::test_missing_delta_stops_query"
MOVED = f"{SPARK}::test_key_in_wrong_partition_gets_second_state"
FOREIGN = (
    f"{SPARK}::test_foreign_folders_are_never_opened_and_every_partition_writes_in_every_batch"
)
CHANGED = f"{SPARK}::test_a_log_entry_that_was_changed_is_read_all_the_same"
EVICTS = f"{SPARK}::test_watermark_is_monotonic_and_removes_passed_rows"
TIMED_OUT = f"{SPARK}::test_the_timeout_of_a_key_fires_once_or_as_long_as_python_leaves_its_timer"
PARTITIONS = f"{SPARK}::test_a_missing_partition_fails_a_query_and_is_left_out_by_the_reader"
READ = f"{SPARK}::test_the_newest_snapshot_and_every_delta_after_it_are_read"
MAINTAINS = f"{SPARK}::test_maintenance_makes_snapshots_and_removes_what_is_not_retained"
UPLOADS = f"{SPARK}::test_rocksdb_uploads_and_restarts_from_zips"
JOINS = f"{SPARK}::test_rows_of_a_join_behind_their_counter_are_neither_joined_nor_removed"
AGAIN = f"{SPARK}::test_a_batch_without_a_commit_runs_again"
JOIN_NULLS = f"{SPARK}::test_a_null_row_of_a_join_stops_the_batch_that_reads_it"
OLD_LOG = f"{SPARK}::test_a_query_older_than_spark_3_3_may_lie_by_fewer_columns"
CLEANS = "test_slow_reader.py::test_running_query_is_not_reported_as_damage"
FAILS = f"{SPARK}::test_failed_maintenance_is_logged_and_query_continues"
STRAY = f"{SPARK}::test_a_stray_version_is_not_read_and_ends_the_cleanup_of_its_partition"
CONTRADICTED = f"{SPARK}::test_rocksdb_opens_no_snapshot_that_its_own_files_contradict"
NO_DATA = "analyses/test_troubles.py::test_no_data_batch_removes_expired_rows"
ANOTHER_JOB = "spark/test_sources.py::test_restart_with_an_entry_of_another_job"
WRITTEN_AGAIN = (
    "spark/test_sources.py::test_new_files_in_a_source_entry_that_is_written_again_are_never_read"
)
NO_CLAIM = "-"
"""Stands in place of a test if a sentence names Spark but makes no claim about its behaviour."""

CLAIMS: dict[str, dict[str, str]] = {
    "SS101": {
        "No version from that delta on can be loaded": LOST,
    },
    "SS102": {
        "Spark does not read so far, and no row is lost": (
            f"{SPARK}::test_bytes_after_delta_end_mark_are_ignored"
        )
    },
    "SS103": {
        "A restart has to replay up to": READ,
        "read the newest snapshot and then every delta after it": READ,
        "Spark's maintenance has made no snapshot": MAINTAINS,
        "If maintenance fails, the query goes on": FAILS,
        "maintenance errors in the executors' logs": FAILS,
    },
    "SS104": {
        "Spark loads the snapshot": f"{SPARK}::test_a_snapshot_is_loaded_whatever_the_deltas_say",
        "a batch that had failed ran again with another output mode": (
            f"{SPARK}::test_a_snapshot_of_an_attempt_that_failed_is_what_a_restart_loads"
        ),
    },
    "SS105": {
        "The query cannot restart from this checkpoint": LOST,
        "restart from the newest version": LOST,
        "the query cannot restart": LOST,
    },
    "SS107": {
        "Spark never looks for the key where it is": MOVED,
        "a second one grows in the right place": MOVED,
        "queries that began before Spark 3.3": OLD_LOG,
        "where Spark does not look": MOVED,
        "where Spark looks for them": MOVED,
    },
    "SS108": {"Spark's cleanup removed files": CLEANS},
    "SS109": {
        "from Spark 4.0 on": PARTITIONS,
        "the next batch of the query fails": PARTITIONS,
        "leaves out missing partitions behind the last one": PARTITIONS,
    },
    "SS110": {"the `NAME.crc` of Spark 4.1": SIDE_FILES},
    "SS111": {
        "a restart plans the next batch from them": (
            f"{SPARK}::test_a_batch_without_a_commit_runs_again"
        ),
        "a restart does without the entry": (
            "discovery/test_restart.py::test_two_lost_commits_run_one_batch_again"
        ),
    },
    "SS112": {
        "Spark 4.3 reads its logs without checking that": CHANGED,
        "changed after Spark wrote it": CHANGED,
    },
    "SS113": {
        "Spark writes a removal only for a key that it holds": (
            f"{SPARK}::test_removal_is_written_for_present_key_only"
        ),
        "Spark loads them as they are": LOADS_AS_IT_IS,
    },
    "SS114": {
        "Spark never opens such a folder": FOREIGN,
        "with a name that Spark never gives": FOREIGN,
        "Spark ignores it": FOREIGN,
    },
    "SS118": {
        "no release of Spark writes": "test_workloads.py::test_workloads_have_no_wrong_judgements",
        "Spark loads them as they are": LOADS_AS_IT_IS,
    },
    "SS119": {
        "Spark's repartitioning of the checkpoint was interrupted": REPARTITIONED,
        "Spark 4.3 refuses to start the query": REPARTITIONED,
        "Spark does not repartition HDFS-backed state": REPARTITIONED,
    },
    "SS129": {"Spark reads the state schemas of operator": HAND_COPY},
    "SS120": {
        "Spark refuses the checkpoint": REFUSED,
        "Spark does not start the query": REFUSED,
        "or later does not start the query": REFUSED,
        "Spark refuses the restart, or lists the input folder": WRITTEN_AGAIN,
        "which Spark may write again": WRITTEN_AGAIN,
        "Spark 4.0 wrote are read by Spark 4.0 alone": (
            f"{SPARK}::test_snapshots_of_format_2_by_spark_4_0_are_read_by_spark_4_0_alone"
        ),
    },
    "SS121": {
        "A restart does not read it": STRAY,
        "maintenance takes it for the newest version": STRAY,
    },
    "SS124": {
        "a change that Spark refuses, or a source or a sink that does not answer": REFUSED,
        "A restart runs the batch again": AGAIN,
    },
    "SS126": {"The finding is a warning if a restart does not load the snapshot": CONTRADICTED},
    "SS127": {
        "This happens if another job was started": ANOTHER_JOB,
        "Spark stops with `Wrong basePath`": ANOTHER_JOB,
    },
    "SS202": {"which keeps every group": EVICTS},
    "SS203": {
        "it fires in every later batch": TIMED_OUT,
        "so that it fires again in every batch": TIMED_OUT,
    },
    "SS205": {
        "Spark takes no months and years": (
            f"{SPARK}::test_rows_of_a_join_are_removed_by_a_range_of_days_and_not_of_months"
        )
    },
    "SS208": {
        "Spark fails when it reads a row that is not there": JOIN_NULLS,
        "It is an error if the next batch fails": JOIN_NULLS,
        "The next batch fails, as it reads all rows": JOIN_NULLS,
        "skipNullsForStreamStreamJoins.enabled to true": JOIN_NULLS,
        "rows behind their counter are never joined and never removed": JOINS,
    },
    "SS210": {
        "Spark removes those in the same batch": EVICTS,
        "the next batch will show if Spark fires": EXPIRED,
    },
    "SS211": {
        "The watermark never goes back": EVICTS,
        "it never goes back": EVICTS,
    },
    "SS212": {
        "Spark has not removed": RECORDED,
        "Spark removes such values at the end of every batch": RECORDED,
        "the first batch of a run that declares it again removes them": RECORDED,
    },
    "SS213": {
        "Spark fires every such timer after the new data": EXPIRED,
        "Spark has neither fired nor deleted": EXPIRED,
        # What a user's own classes do; Spark's are named for the difference.
        "whether the query ever ran with classes other than Spark's": NO_CLAIM,
    },
    "SS214": {
        "Spark will fire": RECORDED,
    },
    "SS215": {
        "nothing removes them, not even a TTL": RECORDED,
        "Spark left its index behind": RECORDED,
        "the indexes that Spark kept for it stay behind": RECORDED,
    },
    "SS218": {
        "with what Spark expects": TIMED_OUT,
        "setTimeoutTimestamp and timers take milliseconds": TIMED_OUT,
    },
    "SS221": {"ends before the next batch sees": NO_CLAIM},
    "SS301": {
        "Spark keeps the format with which a checkpoint began": (
            f"{SPARK}::test_a_checkpoint_keeps_the_format_that_it_began_with"
        ),
        "format 1 is that of Spark 2.3": (
            f"{SPARK}::test_a_checkpoint_keeps_the_format_that_it_began_with"
        ),
    },
    "SS304": {"Each of them is written to the delta": FOREIGN},
    "SS305": {
        "Every partition writes a delta in every batch": FOREIGN,
    },
    "SS307": {"each row of the other side of a join with that key is joined with all": JOINS},
    "SS308": {},
    "SS217": {"every batch brings only new values": NO_CLAIM},
    "SS311": {
        "Spark removes none of them": MAINTAINS,
        "Spark removes none.": MAINTAINS,
    },
    "SS312": {
        "kept than Spark's default of 100": MAINTAINS,
        "which is read at each start": MAINTAINS,
        "maintenance errors in the executors' logs": FAILS,
    },
    "SS310": {
        "Every batch flushes RocksDB": UPLOADS,
        "With changelogs a batch uploads only its changes": UPLOADS,
        "and restart the query": UPLOADS,
        "it goes on from the zips that are there": UPLOADS,
    },
    "SS226": {
        "Spark runs a batch without new data for them": NO_DATA,
        "no batch without new data has ever run": NO_DATA,
    },
}
"""By finding, a part of each sentence that says what Spark does, and what shows it."""

SAYS = re.compile(
    r"\bSpark\b|\brestart\b|\bnext batch\b|\b(?:every|the same|every later) batch\b"
    r"|\bnever (?:goes|called|joined)\b|\bis fixed when\b|\bnothing removes\b|\bmaintenance\b"
    r"|\buntil it fires\b|\bwritten to the delta\b"
)
"""Words of a sentence that makes a claim about Spark."""


RULES = dict(zip(attributes(rules(), "id"), rules(), strict=True))


def texts_of(kind: Kind) -> tuple[str, ...]:
    """Return the meaning of a finding, its next step and its causes."""
    means = docs.entry(kind.id).paragraphs[""]
    return means, kind.to_do, kind.cause, *attributes(RULES[kind.id].cases().values(), "cause")


def sentences(kind: Kind) -> list[str]:
    """Return the sentences of a finding, split also at colons and semicolons."""
    return re.split(r"(?<=[.;:])\s+|\0", "\0".join(texts_of(kind)))


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the names of the tests of a file."""
    return frozenset(re.findall(r"^def (test_\w+)", (HOME / file).read_text("utf-8"), re.M))


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.id)
def test_every_claim_about_spark_has_a_test(kind: Kind) -> None:
    claims = CLAIMS.get(kind.id, {})
    shown = re.compile("|".join(map(re.escape, claims)) or "(?!)")
    unshown = [item for item in sentences(kind) if SAYS.search(item) and not shown.search(item)]
    assert not unshown, f"{kind.id}: say in CLAIMS which test shows: {unshown}"
    texts = " ".join(texts_of(kind))
    assert [part for part in claims if part not in texts] == [], "no longer said"


def test_claims_are_about_declared_findings() -> None:
    assert CLAIMS.keys() <= set(attributes(all_kinds(), "id"))


SHOWN_BY = set(chain.from_iterable(claims.values() for claims in CLAIMS.values())) - {NO_CLAIM}


@pytest.mark.parametrize("test", sorted(SHOWN_BY))
def test_test_named_by_claim_exists(test: str) -> None:
    file, name = test.split("::")
    assert name in names_in(file)
