"""The same query with the same input on both providers: the same facts, findings and leftovers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.render.report import Report
from tests.attributes import attributes
from tests.cases import rocksdb_cases
from tests.fixture_folder import FIXTURES
from tests.profiles import sampled
from tests.reports import cell_values

OF_FILES = (
    *("state_file_bytes", "raw_bytes", "delta_bytes", "snapshot_bytes", "disk_bytes"),
    *("replay_deltas", "newest_file_ms", "path", "checkpoint"),
)
"""Columns that say what lies on disk, and where."""

OF_HEAPS = (
    *("heap_bytes", "heap_bytes_per_hour", "shared_rows", "shared_keys", "shared_key_bytes"),
    *("shared_value_bytes", "two_versions_bytes", "two_versions_unshared_bytes"),
)
"""Columns that say what executors hold as maps, which RocksDB's do not."""

LEFT_OUT = {*OF_FILES, *OF_HEAPS}
PAIRS = [
    (FIXTURES / rocksdb, FIXTURES / second)
    for rocksdb, second in (
        ("4.3.0/rocksdb_agg_update", "4.3.0/rocksdb_agg_update_hdfs"),
        ("4.3.0/rocksdb_dedup_event_time", "4.3.0/rocksdb_dedup_event_time_hdfs"),
        ("4.3.0/rocksdb_dedup_within_watermark", "4.3.0/rocksdb_dedup_within_watermark_hdfs"),
        ("4.3.0/rocksdb_fmgws_event_ignore", "4.3.0/rocksdb_fmgws_event_ignore_hdfs"),
        ("4.3.0/rocksdb_join_left_outer", "4.3.0/rocksdb_join_left_outer_hdfs"),
        ("4.3.0/rocksdb_session_window", "4.3.0/rocksdb_session_window_hdfs"),
        # A join of state format 3 and a join with four folders have equal stores.
        ("4.1.4/rocksdb_join_left_outer_v3", "4.1.4/rocksdb_join_left_outer"),
        ("4.3.0/rocksdb_join_left_outer_v3", "4.3.0/rocksdb_join_left_outer"),
    )
]
"""Fixtures of queries with equal input and clock."""


def tables(report: Report) -> dict[str, list[Any]]:
    """Return the rows of each table in a fixed order, without the columns that may differ."""
    result = {}
    for table in report.tables:
        arrow = report.to_arrow(table.name)
        kept = arrow.select(sorted({*arrow.column_names} - LEFT_OUT))
        result[table.name] = sorted(kept.to_pylist(), key=str)
    return result


def findings(report: Report) -> list[Any]:
    names = ("kind.id", "operator_id", "store_name", "rows", "bytes", "certainty.value")
    return sorted(attributes(report.findings, *names), key=str)


def test_every_provider_pair_is_compared() -> None:
    assert set(rocksdb_cases(name="rocksdb_*_hdfs")) <= set(dict(PAIRS).values())


@pytest.mark.parametrize("command", ["sizes", "sharing", "leftovers", "timeline", "top", "audit"])
@pytest.mark.parametrize(("rocksdb", "second"), sampled(PAIRS, 3, 0))
def test_provider_pair_reports_are_equal(rocksdb: Path, second: Path, command: str) -> None:
    ours = getattr(api, command)(str(rocksdb / "checkpoint"))
    theirs = getattr(api, command)(str(second / "checkpoint"))
    assert findings(ours) == findings(theirs)
    assert [*ours.problems, *theirs.problems] == []
    assert tables(ours) == tables(theirs)


@pytest.mark.parametrize(("rocksdb", "second"), PAIRS)
def test_provider_pair_rows_have_equal_bytes(rocksdb: Path, second: Path) -> None:
    names = ("store_name", "rows", "key_bytes", "value_bytes")
    sizes = cell_values(api.sizes(str(rocksdb / "checkpoint")).primary.rows, *names)
    assert cell_values(api.sizes(str(second / "checkpoint")).primary.rows, *names) == sizes
