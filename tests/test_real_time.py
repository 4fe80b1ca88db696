"""Checkpoints of queries in real-time mode (4.3), whose batches run for seconds.

``golden/real_time.tar.xz`` (scripts/make_real_time.py) has an aggregation of windows, a
deduplication, and a transformWithState with timers and one with TTL. Their timers and values expire
by the clock of the executor, while a batch runs, and not by the batch's own time.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from inspector import api
from inspector.findings.verdict import Level
from tests.reports import cell_values, row_where
from tests.rocks import assert_rows_are_those_of_spark

CASES = ("aggregation", "deduplication", "timers", "ttl")
TTL_MS = {"visits": 3000, "list": 1000}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = tmp_path_factory.mktemp("real_time")
    with tarfile.open(Path(__file__).parent / "golden" / "real_time.tar.xz") as archive:
        archive.extractall(there, filter="data")
    return there


@pytest.mark.parametrize("name", CASES)
def test_real_time_rows_equal_rows_of_spark(folder: Path, name: str) -> None:
    assert_rows_are_those_of_spark(folder / name)


@pytest.mark.parametrize("name", CASES)
def test_real_time_expiry_within_batch_is_no_leftover(folder: Path, name: str) -> None:
    path = str(folder / name / "checkpoint")
    audit, verify = api.audit(path), api.verify(path)
    assert not audit.problems
    assert not verify.problems
    assert max(audit.level, verify.level, key=lambda level: level.rank).rank <= Level.INFO.rank
    assert audit.summary["leftovers"] == 0


def test_real_time_values_expire_between_batch_times(folder: Path) -> None:
    path = str(folder / "ttl" / "checkpoint")
    batches = set(cell_values(api.timeline(path).primary.rows, "batch_timestamp_ms"))
    for store, ttl in TTL_MS.items():
        rows = api.rows(path, api.Options(store_name=store)).primary.rows
        puts = {row["value"]["ttlExpirationMs"] - ttl for row in rows}
        assert len(puts) > 1
        assert puts.isdisjoint(batches)


def test_real_time_simulated_ttl_misses_short_lived_values(folder: Path) -> None:
    report = api.simulate(str(folder / "ttl" / "checkpoint"), ttl="2s")
    for store in TTL_MS:
        row = row_where(report.primary.rows, store_name=store)
        assert row["certainty"] == "inferred"
        assert "within a batch of real-time mode" in row["why"]


def test_real_time_simulated_watermark_is_exact(folder: Path) -> None:
    (row,) = api.simulate(
        str(folder / "aggregation" / "checkpoint"), watermark_delay="2s"
    ).primary.rows
    assert (row["certainty"], row["rows_then"]) == ("exact", row["rows"])
