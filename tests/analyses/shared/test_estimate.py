"""Estimates of requests, bytes and cost of audits."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import inspector.api as api
from inspector.analyses.shared.estimate import estimate_audits
from inspector.exceptions import CheckpointError, NotACheckpointError
from tests.cli.support import run
from tests.fixture_folder import NEWEST
from tests.object_store import serve
from tests.reports import cell_values

CASE = str(NEWEST / "agg_update" / "checkpoint")


def test_estimate_of_one_checkpoint() -> None:
    report = api.audit(CASE, estimate=True, price={"get": "0.4"})
    (row,) = report.primary.rows
    assert (row["checkpoint"], row["gets"], row["files"]) == (CASE, 86, 86)
    assert report.summary["get_requests"] == 86
    assert row["dollars"] == report.summary["dollars"] == "0.034400"
    assert not report.judged
    assert "estimated from listings" in report.notes[0]


def test_estimate_without_price_has_no_cost() -> None:
    report = api.audit(CASE, estimate=True)
    assert report.summary["dollars"] is None
    assert cell_values(report.primary.rows, "dollars") == [None]
    assert report.notes[1] == "Without --price no cost is estimated."


def test_estimate_reads_no_state_file(tmp_path: Path) -> None:
    copy = tmp_path / "checkpoint"
    shutil.copytree(CASE, copy)
    for file in copy.rglob("*.delta"):
        file.write_bytes(b"\x00" * file.stat().st_size)
    (row,) = api.audit(str(copy), estimate=True).primary.rows
    assert row["files"] == 86


def test_estimate_of_many_checkpoints_sums_rows(tmp_path: Path) -> None:
    paths = [CASE, str(NEWEST / "join_left_outer" / "checkpoint"), str(tmp_path)]
    report = estimate_audits(paths, api.Options(), {})
    assert report.summary["checkpoints"] == 3
    assert report.summary["files"] == 192
    assert cell_values(report.primary.rows, "checkpoint", "files") == [
        (paths[0], 86),
        (paths[1], 106),
    ]
    (problem,) = report.problems
    assert problem.path == str(tmp_path)
    assert not report.complete


def test_estimate_lists_each_folder_once(tmp_path: Path) -> None:
    shutil.copytree(CASE, tmp_path / "all" / "a")
    shutil.copytree(CASE, tmp_path / "all" / "b")
    requests = serve(tmp_path)
    summary = estimate_audits(["objects://all"], api.Options(), {}, recursive=True).summary
    # The search lists the common folder and each root; then all below each root is one listing.
    assert dict(requests.kinds) == {"LIST": 1 + 2 * 2}
    requests.kinds.clear()
    assert len(list(api.audit_many("objects://all", recursive=True))) == 2
    assert requests.kinds["LIST"] == 1 + summary["list_requests"] == 1 + 2 * 2
    assert requests.kinds["GET"] == summary["get_requests"]


def test_estimate_without_checkpoint_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotACheckpointError):
        estimate_audits([str(tmp_path)], api.Options(), {})


def test_invalid_price_is_an_error() -> None:
    with pytest.raises(CheckpointError, match="got the price put=1"):
        api.audit(CASE, estimate=True, price={"put": "1"})


def test_estimate_command_writes_one_document() -> None:
    done = run("audit", "--estimate", "-r", str(NEWEST), "--operator", "0", "-o", "json")
    json = done.json
    assert done.code == 0
    assert json["summary"]["checkpoints"] == len(json["rows"]) > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--price", "get=1"), "--price is for --estimate"),
        (("--estimate", "--price", "get=x"), "got the price get=x"),
        (("--estimate", "--max", "rows=1"), "--estimate judges nothing"),
        (("--estimate", "--html", "x.html"), "got --html"),
    ],
)
def test_options_that_conflict_with_estimate_are_refused(
    options: tuple[str, ...], message: str
) -> None:
    done = run("audit", CASE, *options)
    assert done.code == 2
    assert message in done.err
