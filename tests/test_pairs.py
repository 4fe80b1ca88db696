"""The same query with the same input on both providers: the same facts, findings and leftovers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.render.report import Report
from tests.cases import rocksdb_cases
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
BY_NAME = {(case.parent.name, case.name): case for case in rocksdb_cases()}


def pairs() -> list[tuple[Path, Path]]:
    """Each RocksDB case whose input and clock an HDFS-backed one has too."""
    return [
        (BY_NAME[release, name.removesuffix("_hdfs")], case)
        for (release, name), case in BY_NAME.items()
        if name.endswith("_hdfs") and (release, name.removesuffix("_hdfs")) in BY_NAME
    ]


def joins() -> list[tuple[Path, Path]]:
    """A join of state format 3 and one with four folders have the same stores."""
    return [
        (case, BY_NAME[release, name.removesuffix("_v3")])
        for (release, name), case in BY_NAME.items()
        if name.endswith("_v3") and (release, name.removesuffix("_v3")) in BY_NAME
    ]


def tables(report: Report) -> dict[str, list[Any]]:
    result = {}
    for table in report.tables:
        rows = [{k: v for k, v in row.items() if k not in LEFT_OUT} for row in table.rows]
        result[table.name] = sorted(
            rows, key=lambda row: sorted((k, str(v)) for k, v in row.items())
        )
    return result


def findings(report: Report) -> list[Any]:
    return sorted(
        (f.kind.id, f.operator_id, f.store_name or "", f.rows or 0, f.bytes or 0, f.certainty.value)
        for f in report.findings
    )


PAIRS = [*pairs(), *joins()]


@pytest.mark.parametrize("command", ["sizes", "sharing", "leftovers", "timeline", "top", "audit"])
@pytest.mark.parametrize(("rocksdb", "second"), sampled(PAIRS, 3, 0))
def test_provider_pair_reports_are_equal(rocksdb: Path, second: Path, command: str) -> None:
    ours, theirs = (getattr(api, command)(str(case / "checkpoint")) for case in (rocksdb, second))
    assert findings(ours) == findings(theirs)
    assert [*ours.problems, *theirs.problems] == []
    assert tables(ours) == tables(theirs)


@pytest.mark.parametrize(("rocksdb", "second"), PAIRS)
def test_provider_pair_rows_have_equal_bytes(rocksdb: Path, second: Path) -> None:
    names = ("store_name", "rows", "key_bytes", "value_bytes")
    sizes = cell_values(api.sizes(str(rocksdb / "checkpoint")).primary.rows, *names)
    assert cell_values(api.sizes(str(second / "checkpoint")).primary.rows, *names) == sizes


def test_provider_pairs_are_found() -> None:
    assert len(PAIRS) > 0
