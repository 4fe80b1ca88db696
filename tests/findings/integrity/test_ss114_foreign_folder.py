"""SS114: folder that is no state store."""

from __future__ import annotations

from inspector.checkpoint.layout import FOREIGN, FOREIGN_FILE
from inspector.findings.integrity.ss114_foreign_folder import ForeignFolder
from tests.attributes import attributes
from tests.store_views import problem, problem_findings


def test_foreign_folders_and_files_are_separate_findings() -> None:
    of_file = problem(FOREIGN, "/c/copy of 1.delta", f"{FOREIGN_FILE} whose name")
    result = problem_findings(ForeignFolder, problem(FOREIGN, "/c/backup"), of_file)
    assert attributes(result, "kind.id") == ["SS114", "SS114"]
    assert [finding.cause.partition(" in the state")[0] for finding in result] == [
        "A folder",
        "A file",
    ]


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(ForeignFolder, problem("bad-frame")) == []
