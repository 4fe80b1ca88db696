"""Baselines: files of earlier reports, and invalid files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.render import gating as module
from inspector.render.gating import read_baseline
from inspector.render.report_data import SCHEMA_VERSION


def report(checkpoint: str, query_id: str | None = None, batch: int = 1) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "command": "audit",
        "checkpoint": checkpoint,
        "summary": {"query_id": query_id, "batch_id": batch},
        "complete": True,
        "metrics": {},
        "findings": [],
    }


def written(folder: Path, document: Any) -> str:
    file = folder / "old.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(file)


def fleet(*reports: dict[str, Any]) -> dict[str, Any]:
    head = {"schema_version": SCHEMA_VERSION, "command": "audit"}
    return head | {"fleet": [], "reports": list(reports)}


def test_baseline_matches_by_query_id_then_by_path(tmp_path: Path) -> None:
    failed = {"checkpoint": "/d", "error": {}}
    baseline = read_baseline(
        written(tmp_path, fleet(report("/a", "q1", 5), report("/b/", None, 6), failed))
    )
    first, second = baseline
    assert (first.checkpoint, first.batch_id) == ("/a", 5)
    assert (second.checkpoint, second.batch_id) == ("/b/", 6)
    assert baseline.earlier("/moved", "q1") == first
    assert baseline.earlier("/b", "q9") == second
    assert baseline.earlier("/b", None) == second
    assert baseline.earlier("/c", "q2") is None
    assert baseline.earlier("/d", None) is None


def test_baseline_distinguishes_copies_of_a_query_by_path(tmp_path: Path) -> None:
    baseline = read_baseline(written(tmp_path, fleet(report("/a", "q", 1), report("/b", "q", 2))))
    earlier = baseline.earlier("/b", "q")
    assert earlier is not None
    assert earlier.batch_id == 2


def test_single_report_is_a_baseline(tmp_path: Path) -> None:
    (earlier,) = read_baseline(written(tmp_path, report("/a")))
    assert earlier.checkpoint == "/a"


def test_changed_baseline_file_is_read_again(tmp_path: Path) -> None:
    (first,) = read_baseline(written(tmp_path, report("/a")))
    (second,) = read_baseline(written(tmp_path, report("/another")))
    assert (first.checkpoint, second.checkpoint) == ("/a", "/another")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("", "not JSON"),
        ("[" * 200_000, "not JSON"),
        ("\xff\x00", "not JSON"),
        ([], "expected a report of inspector audit -o json"),
        ({"schema_version": 1, "command": "audit"}, "got schema_version 1, expected"),
        ({**report("/a"), "schema_version": "x" * 1000}, "got schema_version xxx"),
        ({**report("/a"), "command": "info"}, "a report of 'info'"),
        ({**report("/a"), "metrics": None}, "expected the report of an audit"),
        ({**fleet(), "reports": {}}, "not a list"),
        ({**fleet(), "reports": [3]}, "expected the report"),
    ],
)
def test_invalid_baseline_is_refused(tmp_path: Path, document: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_baseline(written(tmp_path, document))
    assert str(tmp_path / "old.json") in str(caught.value)
    assert len(str(caught.value)) < 400


def test_too_large_baseline_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_BYTES", 10)
    with pytest.raises(ValueError, match="more than 10 bytes"):
        read_baseline(written(tmp_path, report("/a")))


@pytest.mark.parametrize("location", ["missing.json", "."])
def test_unreadable_baseline_is_an_error(tmp_path: Path, location: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        read_baseline(str(tmp_path / location))
