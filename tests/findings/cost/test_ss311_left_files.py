"""SS311: temporary files that were left."""

from __future__ import annotations

from typing import Any

from inspector.findings.cost.ss311_left_files import LeftFiles
from inspector.findings.rule import parse_thresholds
from inspector.model import FileKind, StoreFile, Version
from tests.store_views import operator_view

DELTA = StoreFile("0/0/3.delta", FileKind.DELTA, Version(3), 500)


def findings(left: int, folders: int = 1, **thresholds: float) -> list[Any]:
    """Return the findings about folders of which the first has temporary files."""
    temporary = [
        StoreFile(f"0/0/.3.delta.{n}.tmp", FileKind.TEMPORARY, None, 100) for n in range(left)
    ]
    view = operator_view([DELTA, *temporary], *[[DELTA]] * (folders - 1))
    return list(LeftFiles(parse_thresholds(thresholds)).findings(view))


def test_temporary_files_of_killed_attempts_are_reported() -> None:
    (finding,) = findings(10)
    assert (finding.kind.id, finding.operator_id) == ("SS311", 0)
    assert finding.cause == (
        "Attempts that were killed left 10 temporary files (1000 B) beside the state; Spark "
        "removes none."
    )
    assert finding.evidence == "10 temporary files (1000 B) in the folders of 1 store"


def test_one_temporary_file_per_store_of_running_query_has_no_finding() -> None:
    assert findings(9) == []
    assert findings(0) == []
    assert findings(20, folders=20) == []
    assert findings(21, folders=20)
    assert findings(20, left_files=21) == []
