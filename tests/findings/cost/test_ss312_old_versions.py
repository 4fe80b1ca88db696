"""SS312: many old versions."""

from __future__ import annotations

from typing import Any

from inspector.findings.cost.ss312_old_versions import OldVersions
from inspector.findings.rule import parse_thresholds
from inspector.model import FileKind, StoreFile, Version
from tests.store_views import operator_view


def findings(versions: int, logged: int = 0, **thresholds: float) -> list[Any]:
    """Return the findings about a store with deltas, and an offset log with entries."""
    files = [
        StoreFile(f"{n}.delta", FileKind.DELTA, Version(n), 100) for n in range(1, versions + 1)
    ]
    view = operator_view(files, sources=dict.fromkeys(range(logged), ()))
    return list(OldVersions(parse_thresholds(thresholds)).findings(view))


def test_files_of_many_versions_are_reported() -> None:
    (finding,) = findings(250)
    assert (finding.kind.id, finding.operator_id) == ("SS312", 0)
    assert finding.cause == (
        "The files of 250 versions are kept: 60 % of the 24.4 KiB are of versions more than 100 "
        "batches old."
    )
    assert finding.evidence.startswith("250 versions in a store; 14.6 KiB of 24.4 KiB are of ")


def test_retained_versions_of_healthy_query_have_no_finding() -> None:
    assert findings(199) == []
    assert findings(0) == []
    assert findings(130, logged=119) == []
    assert findings(130, logged=120)
    assert findings(250, kept_versions=251) == []
