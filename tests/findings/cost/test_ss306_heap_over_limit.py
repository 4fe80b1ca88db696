"""SS306: heap over limit."""

from __future__ import annotations

from typing import Any

from inspector.findings.cost.ss306_heap_over_limit import HeapOverLimit
from inspector.findings.rule import parse_thresholds
from tests.store_views import checkpoint_view


def findings(estimate: int | None, **thresholds: str) -> list[Any]:
    """Return the findings about state that takes an estimated heap."""
    view = checkpoint_view({}, heap_bytes=estimate)
    return list(HeapOverLimit(parse_thresholds(thresholds)).findings(view))


def test_heap_above_the_limit_is_a_warning() -> None:
    (finding,) = findings(3 << 29, heap_bytes="1GiB")
    assert (finding.kind.id, finding.severity.word) == ("SS306", "warning")
    assert finding.certainty.value == "inferred"
    assert finding.cause == (
        "The state takes an estimated 1.5 GiB of heap, more than the limit of 1.0 GiB."
    )
    assert finding.evidence.endswith("in all executors together; the limit is 1.0 GiB")


def test_heap_within_limit_or_without_limit_has_no_finding() -> None:
    assert findings(1 << 40) == []
    assert findings(1 << 30, heap_bytes="1GiB") == []
    assert findings(None, heap_bytes="1GiB") == []
