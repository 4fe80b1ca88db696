"""``limit`` on a stream: ``globalLimit``. One row, the rows let through so far; never removed.

Key ``{key: void}``, value ``{value: long}``, in partition 0 (``StreamingGlobalLimitExec``).
"""

from __future__ import annotations

from inspector.operators.rule import OperatorShape, StoreRule

NAMES = ("globalLimit",)
SOURCE = "StreamingGlobalLimitExec"
REWRITES = "a limit has one row, which costs nothing; nothing has to be done"
"""``StreamingGlobalLimitExec`` puts how many rows it let through."""


def rule(shape: OperatorShape, store: str) -> StoreRule:  # noqa: ARG001 - one form for all
    """A limit's one row stays as long as the query."""
    return StoreRule(unknown="a limit has one row, which stays for ever", needs_none=True)
