"""Null rows of a join: whether the next batch reads them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.findings.finding import Severity
from tests import encode
from tests.damage import read_state
from tests.fixture_folder import NEWEST
from tests.reports import findings_with_id

SKIP = "spark.sql.streaming.stateStore.skipNullsForStreamStreamJoins.enabled"


def with_null_row(tmp_path: Path, case: str, delta: str, record: int) -> Path:
    """Return a copy of a join checkpoint without one record of a delta, the only put of its key."""
    root = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / case / "checkpoint", root)
    path = root / "state/0/0" / delta
    records, codec = read_state(path)
    del records[record]
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.write_bytes(encode.state_file(records, codec))
    return root


@pytest.mark.parametrize(
    ("side", "delta", "record"),
    [
        ("left", "left-keyWithIndexToValue/5.delta", 10),
        ("right", "right-keyWithIndexToValue/9.delta", 2),
    ],
)
def test_null_row_on_evicting_join_side_stops_next_batch(
    tmp_path: Path, side: str, delta: str, record: int
) -> None:
    root = with_null_row(tmp_path, "join_left_outer", delta, record)
    audit = api.audit(str(root))
    assert audit.verdict is not None
    assert audit.verdict.restart is not None
    assert audit.verdict.restart.possible is False
    assert f"null row of {side}-keyWithIndexToValue, unless {SKIP} is true" in (
        audit.verdict.restart.sentence
    )
    (finding,) = findings_with_id(audit, "SS208")
    assert finding.severity is Severity.ERROR
    assert f"reads all rows of the {side} side of the join" in finding.cause
    assert SKIP in finding.next_step
    assert findings_with_id(audit, "SS120") == []
    (refusal,) = findings_with_id(api.verify(str(root)), "SS120")
    assert refusal.severity is Severity.ERROR
    assert SKIP in refusal.next_step


@pytest.mark.parametrize(
    ("case", "delta", "record"),
    [
        ("join_one_sided", "left-keyWithIndexToValue/5.delta", 3),
        ("join_time_key", "left-keyWithIndexToValue/4.delta", 0),
        ("join_no_watermark", "left-keyWithIndexToValue/5.delta", 3),
    ],
)
def test_restart_is_undecided_if_join_side_may_not_evict(
    tmp_path: Path, case: str, delta: str, record: int
) -> None:
    audit = api.audit(str(with_null_row(tmp_path, case, delta, record)))
    assert audit.verdict is not None
    assert audit.verdict.restart is not None
    assert audit.verdict.restart.possible is None
    assert "with a time range in the join condition the first batch fails" in (
        audit.verdict.restart.sentence
    )
    (finding,) = findings_with_id(audit, "SS208")
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize("case", ["join_left_outer", "join_one_sided", "join_time_key"])
def test_join_without_null_rows_restarts(case: str) -> None:
    audit = api.audit(str(NEWEST / case / "checkpoint"))
    assert audit.verdict is not None
    assert audit.verdict.restart is not None
    assert audit.verdict.restart.is_plain
