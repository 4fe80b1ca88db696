"""SS215: state variable that the processor no longer declares."""

from __future__ import annotations

from dataclasses import replace

from inspector.checkpoint.metadata import OperatorMetadata
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss215_undeclared_variable import UndeclaredVariable
from inspector.operators.rule import StoreRule
from tests.attributes import attributes
from tests.store_views import batch_clocks, checkpoint_view, findings_of_stores, processor_metadata

FACTS = VersionFacts(rows=4, key_bytes=100, value_bytes=60)
LAYOUT = ("visits", "$ttl_visits", "$rowCounter_visits")


def findings(
    *declared: str, metadata: OperatorMetadata | None = None, **rows: int
) -> dict[str | None, Finding]:
    """Return the findings by store, for stores with so many rows."""
    view = checkpoint_view(
        dict.fromkeys(LAYOUT, StoreRule()),
        [(name, 0, replace(FACTS, rows=rows.get(name.strip("$"), 0))) for name in LAYOUT],
        operator_name="transformWithStateExec",
        metadata=metadata or processor_metadata(*declared),
        clocks=batch_clocks(0),
    )
    result = findings_of_stores(UndeclaredVariable(), view)
    return dict(zip(attributes(result, "store_name"), result, strict=True))


def test_undeclared_variable_is_reported() -> None:
    result = findings("other", visits=4, rowCounter_visits=4)
    assert list(result) == ["visits"]
    finding = result["visits"]
    assert (finding.kind.id, finding.severity) == ("SS215", Severity.WARNING)
    assert (finding.rows, finding.bytes, finding.certainty.value) == (4, 160, "proven")
    assert "handle.deleteIfExists('visits')" in finding.next_step


def test_index_of_deleted_variable_is_information() -> None:
    finding = findings("other", ttl_visits=4)["$ttl_visits"]
    assert (finding.severity, finding.rows) == (Severity.INFO, 4)
    assert finding.cause == (
        "The state variable 'visits' was deleted, and Spark left its index behind."
    )


def test_declared_or_unknown_variable_has_no_finding() -> None:
    assert findings("visits", visits=4, ttl_visits=4) == {}
    assert findings("visits", ttl_visits=4) == {}
    assert findings("other") == {}
    unknown = OperatorMetadata("transformWithStateExec")
    assert findings(metadata=unknown, visits=4, ttl_visits=4) == {}
