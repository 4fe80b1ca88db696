"""Keys by the partition that they had among more: the same hash that Spark placed them by."""

from __future__ import annotations

import pytest

from inspector.analyses.shared.run import Run
from inspector.discovery.placement import partition_count
from inspector.discovery.tasks import Request
from inspector.facts.misplaced import TIMES, Rehashed
from inspector.facts.versions import VersionFacts
from tests.cases import FIXTURES, hdfs_cases
from tests.profiles import sampled

REHASHED = Request(rehashed=True, partitions=True)
CASES = [path.name for path in hdfs_cases("4.3.0")]
UNKNOWN = ("agg_global", "wide_key")
"""One partition has all keys; a key that holds an array has a hash that is not computed here."""


@pytest.mark.parametrize("case", sampled(CASES, 5, 2))
def test_among_as_many_partitions_as_there_are_every_row_is_where_spark_put_it(case: str) -> None:
    run = Run.start(str(FIXTURES / case / "checkpoint"), None)
    facts = run.facts(REHASHED)
    found = facts.merged(Rehashed)
    assert bool(found) != (case in UNKNOWN)
    for name, by_key in found.items():
        (rehashed,) = by_key.values()
        assert isinstance(rehashed, Rehashed)
        assert rehashed.unknown_rows == 0
        there: dict[int, VersionFacts] = {
            store.partition_id: one
            for (store, version), one in facts.versions.items()
            if store.name == name and version == run.version and one.rows
        }
        now = rehashed.among(partition_count(run.checkpoint, run.version))
        assert now.rows == {partition: one.rows for partition, one in there.items()}
        assert now.bytes == {partition: one.row_bytes for partition, one in there.items()}


def test_a_partition_sends_its_keys_to_no_more_than_so_many() -> None:
    run = Run.start(str(FIXTURES / "agg_update" / "checkpoint"), None)
    for one in run.facts(REHASHED).of(Rehashed):
        assert 1 < len(one.fact.rows) <= TIMES
        assert {partition % 2 for partition in one.fact.rows} == {one.store.partition_id}


def test_without_a_request_nothing_is_hashed() -> None:
    facts = Run.start(str(FIXTURES / "agg_update" / "checkpoint"), None).facts()
    assert facts.of(Rehashed) == []
