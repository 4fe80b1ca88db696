"""Gates: limits of metrics."""

from __future__ import annotations

import pytest

from inspector.findings.metrics import Passed, apply_gates, parse_gates


def test_exceeded_gates_are_listed_first() -> None:
    gates = parse_gates({"state.rows": 10, "state.bytes": "1KiB", "heap.bytes": "1KiB"})
    judged = apply_gates(gates, {"state.rows": 10, "state.bytes": 1025, "heap.bytes": None})
    assert [(gate.metric.name, gate.passed) for gate in judged] == [
        ("state.bytes", Passed.EXCEEDED),
        ("state.rows", Passed.PASSED),
        ("heap.bytes", Passed.UNKNOWN),
    ]
    assert [gate.sentence for gate in judged] == [
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
