"""A line of ``preflight``: one thing that a restart depends on, and the rule about it."""

from __future__ import annotations

from inspector.findings.restart_rules import RestartRule
from inspector.light_dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One thing that a restart depends on."""

    item: str  # what was compared
    rule: RestartRule  # what Spark does about it
    # old, new: of both sides, as text; None if a side has none
    old: str | None = None
    new: str | None = None
    detail: str = ""  # what the rule does not say, a sentence; "" for nothing
    # operator_id, store_name: whose it is; None if it is the query's
    operator_id: int | None = None
    store_name: str | None = None
