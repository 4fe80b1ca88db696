"""Operators of a name that no release of Spark gives them.

Either a later release has new operators, or the metadata was changed. Both ways nothing is known of
how its rows should go, and that nothing was found there is no good news.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inspector.checkpoint.layout import OperatorLayout
from inspector.checkpoint.storage import Storage
from inspector.model import Problem
from inspector.operators.physical import PHYSICAL

UNKNOWN_OPERATOR = "unknown-operator"
"""Slug of a problem that is an operator without rules."""


def unknown_operators(storage: Storage, operators: Iterable[OperatorLayout]) -> Iterator[Problem]:
    """The operators whose metadata gives a name that is not known.

    Args:
        storage: opened at the checkpoint's root.
        operators: all of the query.
    """
    for layout in operators:
        if layout.metadata is not None and layout.metadata.operator_name not in PHYSICAL:
            yield Problem(
                UNKNOWN_OPERATOR,
                f"got operator {layout.metadata.operator_name[:80]!r}, which no release up to 4.3 "
                "has: its rows are counted, but not judged; a later release needs a later "
                "inspector, and metadata that was changed a backup",
                storage.full_path(f"{layout.directory}/_metadata"),
            )
