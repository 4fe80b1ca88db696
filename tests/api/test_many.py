"""Audits of many checkpoints by the API."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.exceptions import CheckpointError, NotACheckpointError
from tests.fixture_folder import NEWEST


def test_audit_many_returns_a_report_or_an_error(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    leak, second = NEWEST / "fmgws_event_ignore" / "checkpoint", tmp_path / "other"
    result = {audit.path: audit for audit in api.audit_many([leak, str(second)])}
    assert set(result) == {str(leak), str(second)}
    report = result[str(leak)].result
    assert report is not None
    assert [finding.kind.id for finding in report.findings] == ["SS203", "SS201"]
    assert isinstance(result[str(second)].error, NotACheckpointError)


@pytest.mark.parametrize(
    ("path", "recursive"),
    [(NEWEST / "agg_*d" / "checkpoint", False), (NEWEST / "agg_append", True)],
)
def test_audit_many_searches_patterns_and_folders(path: Path, recursive: bool) -> None:
    audits = list(api.audit_many(path, api.Options(batch=4), recursive=recursive))
    assert [item.path for item in audits] == [str(NEWEST / "agg_append" / "checkpoint")]
    assert audits[0].result is not None
    assert audits[0].result.summary["batch_id"] == 4


@pytest.mark.parametrize("folder", ["second", "second/state/kept", "linked/kept"])
def test_cache_inside_a_checkpoint_is_refused(folder: str, tmp_path: Path) -> None:
    roots = [tmp_path / "first", tmp_path / "second"]
    for root in roots:
        shutil.copytree(NEWEST / "agg_append" / "checkpoint", root)
    (tmp_path / "linked").symlink_to(roots[1] / "state")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CheckpointError, match="the folder of the cache lies in the checkpoint"):
        next(api.audit_many(roots, api.Options(cache=str(tmp_path / folder)), at_once=1))
    assert sorted(tmp_path.rglob("*")) == before
    outside = api.Options(cache=str(tmp_path / "kept"))
    assert all(audit.result is not None for audit in api.audit_many(roots, outside))


def test_audit_many_takes_the_keywords_of_audit() -> None:
    path = NEWEST / "agg_append" / "checkpoint"
    (audit,) = api.audit_many(path, maximum={"state.rows": "1"})
    assert audit.result is not None
    assert [gate.passed.value for gate in audit.result.gates] == ["exceeded"]
    with pytest.raises(TypeError, match="limit"):
        api.audit_many(path, limit=3)
    with pytest.raises(TypeError, match="'key'"):
        api.audit_many(path, api.Options(key="user=a"))


def test_audit_many_filters_by_level_and_finding() -> None:
    paths = [NEWEST / name / "checkpoint" for name in ("agg_append", "fmgws_event_ignore")]
    for item in ({"level": "error"}, {"finding": "ss203"}, {"finding": ["SS203", "SS101"]}):
        (leak,) = api.audit_many(
            [*paths, "/nowhere/at/all"] if "finding" in item else paths, **item
        )
        assert leak.path == str(paths[1])
    graver = {audit.path for audit in api.audit_many([*paths, "/x"], level="error")}
    assert graver == {str(paths[1]), "/x"}
    with pytest.raises(ValueError, match="SS999"):
        api.audit_many(paths, finding="SS999")
