"""Views of the whole checkpoint and of its operators, for rules about the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from inspector.checkpoint.layout import StoreLayout
from inspector.discovery.checkpoint import Operator
from inspector.findings.views.judged_version import JudgedVersion
from inspector.findings.views.store_view import StoreView
from inspector.providers.chain import StoreFiles


class CheckpointView(JudgedVersion):
    """View of one version of a checkpoint, with its operators and stores."""

    operator_id: int | None = None  # None, as the view is of the whole checkpoint
    store_name: str | None = None  # None, as the view is of the whole checkpoint
    # values that all templates may name: none, as the evidence of rules has all of them
    numbers: Mapping[str, Any] = MappingProxyType({})

    @cached_property
    def operators(self) -> tuple[OperatorView, ...]:
        """Views of the operators that the user selected, by default all."""
        return tuple(OperatorView(self, operator) for operator in self.checkpoint.operators)

    @cached_property
    def stores(self) -> tuple[StoreView, ...]:
        """Views of the stores of all operators that the user selected."""
        return tuple(store for operator in self.operators for store in operator.stores)


class OperatorView:
    """View of one operator at the judged version."""

    store_name: str | None = None  # None, as the view is of the whole operator
    # values that all templates may name: none, as the evidence of rules has all of them
    numbers: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, whole: CheckpointView, operator: Operator) -> None:
        """Make the view of ``operator`` within the view of its checkpoint, ``whole``."""
        self.whole = whole
        self.operator = operator

    @property
    def operator_id(self) -> int:
        """Number of the operator; 0 is the operator nearest to the sink."""
        return self.operator.operator_id

    @cached_property
    def folders(self) -> Sequence[tuple[StoreLayout, StoreFiles]]:
        """(layout, files) of the folder of each store in each partition.

        The layout has the path and all files; the files are those of versions.
        """
        files = self.whole.checkpoint.store_files
        return [(layout, files[layout.directory]) for layout in self.operator.layout.folders]

    @cached_property
    def stores(self) -> tuple[StoreView, ...]:
        """Views of the operator's stores, in the order of their rules."""
        return tuple(
            StoreView(self.whole, self.operator, store_name) for store_name in self.operator.rules
        )
