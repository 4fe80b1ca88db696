"""Gates: limits of metrics."""

from __future__ import annotations

import pytest

from inspector.findings.metrics import Passed, apply_gates, parse_gates
from tests.attributes import attributes


def test_exceeded_gates_are_listed_first() -> None:
    gates = parse_gates({"state.rows": 10, "state.bytes": "1KiB", "heap.bytes": "1KiB"})
    judged = apply_gates(gates, {"state.rows": 10, "state.bytes": 1025, "heap.bytes": None})
    assert attributes(judged, "metric.name", "passed") == [
        ("state.bytes", Passed.EXCEEDED),
        ("state.rows", Passed.PASSED),
        ("heap.bytes", Passed.UNKNOWN),
    ]
    assert attributes(judged, "sentence") == [
        "state.bytes is 1,025, above the limit of 1,024",
        "state.rows is 10, within the limit of 10",
        "heap.bytes is unknown, at most 1.0 KiB is allowed",
    ]


@pytest.mark.parametrize(
    ("name", "limit"), [("", 3), ("state.rowz", 3), ("state.rows", "many"), ("state.rows", -1)]
)
def test_invalid_gate_is_refused(name: str, limit: str | float) -> None:
    with pytest.raises(ValueError, match=r"expected|no metric"):
        parse_gates({name: limit})
