"""SS208: join rows and counters disagree."""

from __future__ import annotations

from dataclasses import replace

from inspector.checkpoint.state_schema import StateSchema
from inspector.facts.join_rows import JoinCheck
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss208_join_counters import JoinCounters
from inspector.sparktypes import LONG, TIMESTAMP, StructField, StructType
from tests.join_views import LEFT, RIGHT, Side, join_view

KEY = StructType((StructField("id", LONG),))
TIMED = StructType((StructField("ts", TIMESTAMP),))
MISSING = Side(removed=4, facts=(JoinCheck(missing_rows=2),))


def findings(left: Side, right: Side, key: StructType = KEY) -> list[Finding]:
    schemas = {store: StateSchema(3, key, StructType(())) for store in (LEFT, RIGHT)}
    return list(JoinCounters().findings(join_view(left, right, schemas=schemas)))


def test_different_counters_and_rows_are_reported() -> None:
    wrong = Side(facts=(JoinCheck(counters_without_rows=2, dangling_rows=1, rows=7),))
    (finding,) = findings(Side(facts=(JoinCheck(),)), wrong)
    assert (finding.kind.id, finding.store_name) == ("SS208", RIGHT)
    assert (finding.severity, finding.certainty.value) == (Severity.WARNING, "proven")
    assert finding.evidence == "2 keys with a counter and no row; 1 row that no counter counts"
    assert finding.cause.startswith("Rows of the right side of the join and the counters that ")


def test_missing_rows_read_by_next_batch_are_an_error() -> None:
    (finding,) = findings(MISSING, Side(removed=4))
    assert finding.severity is Severity.ERROR
    assert finding.cause == (
        "The next batch fails, as it reads all rows of the left side of the join and meets 2 null "
        "rows."
    )
    # The left side may never evict.
    (finding,) = findings(replace(MISSING, removed=0), Side(removed=4))
    assert finding.severity is Severity.WARNING
    # The join may be a semi join, which removes matched rows of the left side.
    (finding,) = findings(MISSING, Side())
    assert finding.severity is Severity.WARNING
    # The join may evict by its key.
    (finding,) = findings(MISSING, Side(removed=4), key=TIMED)
    assert finding.severity is Severity.WARNING


def test_equal_counters_and_rows_have_no_finding() -> None:
    assert findings(Side(facts=(JoinCheck(rows=7),)), Side()) == []
