"""``limit`` on a stream: ``globalLimit``. Its only row counts the rows let through; never removed.

Key ``{key: void}``, value ``{value: long}``, in partition 0 (``StreamingGlobalLimitExec``).
"""

from __future__ import annotations

from inspector.operators.rule import OperatorShape, StoreRule

NAMES = ("globalLimit",)  # names of the operator in Spark's metadata
SOURCE = "StreamingGlobalLimitExec"  # Spark class that the rule is from
REWRITES = "a limit has one row, which costs nothing; nothing has to be done"
"""Advice on puts that change nothing: ``StreamingGlobalLimitExec`` puts its counter in each batch.
"""


def rule(shape: OperatorShape, store: str) -> StoreRule:  # noqa: ARG001 - one form for all
    """Return the rule of a limit's store: its only row stays for ever, which needs no rule."""
    return StoreRule(unknown="a limit has one row, which stays for ever", needs_none=True)
