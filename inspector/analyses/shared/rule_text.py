"""The rule by which a store's rows should go, in one line."""

from __future__ import annotations

from inspector.findings.durations import duration_text
from inspector.operators.rule import Clock, StoreRule


def expiry_text(rule: StoreRule) -> str:
    """A store's rule in one line."""
    if rule.expiry is not None:
        sign = "<=" if rule.expiry.inclusive else "<"
        behind = f" - {duration_text(rule.expiry.delay_ms)}" if rule.expiry.delay_ms else ""
        return f"{rule.expiry.name} {sign} {_CLOCKS[rule.expiry.clock]}{behind}"
    return f"never: {rule.never}" if rule.never else f"unknown: {rule.unknown}"


_CLOCKS = {
    Clock.WATERMARK: "watermark",
    Clock.PROCESSING_TIME: "processing time",
    Clock.TIMEOUT: "watermark or processing time",
}
