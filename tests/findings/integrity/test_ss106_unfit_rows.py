"""SS106: rows do not fit their schema."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspector import api
from inspector.facts.size_distributions import SizeCounts
from inspector.facts.versions import VersionFacts
from inspector.findings.integrity.ss106_unfit_rows import UnfitRows
from inspector.operators.rule import StoreRule
from inspector.sparktypes.ddl import parse_ddl
from tests import encode
from tests.fixture_folder import NEWEST
from tests.reports import findings_with_id
from tests.store_views import problem, problem_findings, store_view


def findings(sizes: Mapping[int, int], ddl: str = "a bigint") -> list[Any]:
    """Return the findings about a store whose values have these sizes."""
    facts = VersionFacts(value_sizes=SizeCounts(Counter(sizes)))
    store = store_view(StoreRule(), history=[facts], value=parse_ddl(ddl))
    view: Any = store.whole
    return list(UnfitRows().findings(view))


def test_rows_wider_than_schema_are_an_error() -> None:
    (finding,) = findings({16: 70, 24: 72})
    assert (finding.kind.id, finding.severity.word, finding.rows) == ("SS106", "error", 72)
    assert (finding.operator_id, finding.store_name) == (0, "default")
    assert finding.evidence == "72 of 142 values have 24 bytes where their schema makes 16"
    assert finding.cause.startswith(f"{finding.evidence}: perhaps they are of another schema")


def test_rows_that_fit_their_schema_have_no_finding() -> None:
    assert findings({16: 142}) == []
    assert findings({8: 3, 16: 142}) == []
    assert findings({24: 1}, "a string") == []
    assert problem_findings(UnfitRows, problem("bad-frame")) == []


def test_bad_row_problem_is_reported() -> None:
    (finding,) = problem_findings(UnfitRows, problem("bad-row"))
    assert finding.cause == "Rows in the state do not fit the schema of their store."


def test_audit_compares_row_width_with_schema(tmp_path: Path) -> None:
    """Rows of a changed query that ran with ``stateSchemaCheck`` off, so that Spark accepted it."""
    root = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "agg_global/checkpoint", root)
    assert findings_with_id(api.audit(str(root)), "SS106") == []
    newest = max(root.glob("state/0/*/*.delta"), key=lambda path: int(path.stem))
    wider = encode.row(parse_ddl("a bigint, b bigint, c bigint"), (1, 2, 3))
    newest.write_bytes(encode.state_file([(b"", wider)]))
    (finding,) = findings_with_id(api.audit(str(root)), "SS106")
    assert finding.cause.startswith("1 of 1 value has 32 bytes where their schema makes 24")
