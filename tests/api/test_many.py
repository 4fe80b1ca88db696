"""Audits of many checkpoints by the API."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.exceptions import CheckpointError, NotACheckpointError
from tests.attributes import attributes
from tests.fixture_folder import NEWEST
from tests.reports import finding_ids


def test_audit_many_returns_a_report_or_an_error(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    leak, second = NEWEST / "fmgws_event_ignore" / "checkpoint", tmp_path / "other"
    result = {audit.path: audit for audit in api.audit_many([leak, str(second)])}
    assert set(result) == {str(leak), str(second)}
    report = result[str(leak)].result
    assert report is not None
    assert finding_ids(report) == ["SS203", "SS201"]
    assert isinstance(result[str(second)].error, NotACheckpointError)


@pytest.mark.parametrize(
    ("path", "recursive"),
    [(NEWEST / "agg_*d" / "checkpoint", False), (NEWEST / "agg_append", True)],
)
def test_audit_many_searches_patterns_and_folders(path: Path, recursive: bool) -> None:
    (audit,) = api.audit_many(path, api.Options(batch=4), recursive=recursive)
    assert audit.path == str(NEWEST / "agg_append" / "checkpoint")
    assert audit.result is not None
    assert audit.result.summary["batch_id"] == 4


@pytest.mark.parametrize("folder", ["second", "second/state/kept", "linked/kept"])
def test_cache_inside_a_checkpoint_is_refused(folder: str, tmp_path: Path) -> None:
    roots = [tmp_path / "first", tmp_path / "second"]
    shutil.copytree(NEWEST / "agg_append" / "checkpoint", roots[0])
    shutil.copytree(NEWEST / "agg_append" / "checkpoint", roots[1])
    (tmp_path / "linked").symlink_to(roots[1] / "state")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CheckpointError, match="the folder of the cache lies in the checkpoint"):
        next(api.audit_many(roots, api.Options(cache=str(tmp_path / folder)), at_once=1))
    assert sorted(tmp_path.rglob("*")) == before
    outside = api.audit_many(roots, api.Options(cache=str(tmp_path / "kept")))
    assert attributes(outside, "error") == [None, None]


def test_audit_many_takes_the_keywords_of_audit() -> None:
    path = NEWEST / "agg_append" / "checkpoint"
    (audit,) = api.audit_many(path, maximum={"state.rows": "1"})
    assert audit.result is not None
    (gate,) = audit.result.gates
    assert gate.passed.value == "exceeded"
    with pytest.raises(TypeError, match="limit"):
        api.audit_many(path, limit=3)
    with pytest.raises(TypeError, match="'key'"):
        api.audit_many(path, api.Options(key="user=a"))


HEALTHY, LEAK = NEWEST / "agg_append" / "checkpoint", NEWEST / "fmgws_event_ignore" / "checkpoint"


@pytest.mark.parametrize("finding", ["ss203", ["SS203", "SS101"]])
def test_audit_many_filters_by_finding(finding: str | list[str]) -> None:
    (leak,) = api.audit_many([HEALTHY, LEAK, "/nowhere/at/all"], finding=finding)
    assert leak.path == str(LEAK)
    with pytest.raises(ValueError, match="SS999"):
        api.audit_many([HEALTHY, LEAK], finding="SS999")


def test_audit_many_filters_by_level() -> None:
    severe = api.audit_many([HEALTHY, LEAK, "/nowhere"], level="error")
    assert set(attributes(severe, "path")) == {str(LEAK), "/nowhere"}
