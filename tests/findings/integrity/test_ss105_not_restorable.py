"""SS105: newest committed version not restorable in every partition."""

from __future__ import annotations

from inspector.findings.integrity.ss105_not_restorable import NotRestorable
from tests.store_views import checkpoint_view, problem

PROBLEM = problem("missing-version", "/c/0/0")


def test_newest_version_not_restorable_is_reported() -> None:
    view = checkpoint_view({}, problems=[PROBLEM])
    vars(view.checkpoint)["newest_version"] = view.version
    (finding,) = NotRestorable().findings(view)
    assert (finding.kind.id, finding.severity.word) == ("SS105", "error")
    assert finding.cause.endswith(", so the query cannot restart from this checkpoint.")
    assert finding.evidence == "/c/0/0: got 1"
    assert NotRestorable.go_back.startswith("go back to batch ")


def test_older_version_not_restorable_has_no_finding() -> None:
    view = checkpoint_view({}, problems=[PROBLEM])
    vars(view.checkpoint)["newest_version"] = view.version + 1
    assert list(NotRestorable().findings(view)) == []
