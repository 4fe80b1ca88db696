"""The whole checkpoint and its operators, as rules about the query read them."""

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
    numbers: Mapping[str, Any] = MappingProxyType({})  # empty; the evidence of rules has all values

    @cached_property
    def operators(self) -> tuple[OperatorView, ...]:
        """Views of the selected operators."""
        return tuple(OperatorView(self, operator) for operator in self.checkpoint.operators)

    @cached_property
    def stores(self) -> tuple[StoreView, ...]:
        """Views of the stores of all selected operators."""
        return tuple(store for operator in self.operators for store in operator.stores)


class OperatorView:
    """View of one operator at the judged version."""

    store_name: str | None = None  # None, as the view is of the whole operator
    numbers: Mapping[str, Any] = MappingProxyType({})  # empty; the evidence of rules has all values

    def __init__(self, whole: CheckpointView, operator: Operator) -> None:
        """Make the view of an operator in the view of its checkpoint."""
        self.whole = whole
        self.operator = operator

    @property
    def operator_id(self) -> int:
        """The operator; 0 is the one nearest to the sink."""
        return self.operator.operator_id

    @cached_property
    def folders(self) -> Sequence[tuple[StoreLayout, StoreFiles]]:
        """The folders of the stores in each partition, with the files of their versions."""
        files = self.whole.checkpoint.store_files
        return [(layout, files[layout.directory]) for layout in self.operator.layout.folders]

    @cached_property
    def stores(self) -> tuple[StoreView, ...]:
        """Views of the operator's stores, in the order of their rules."""
        return tuple(
            StoreView(self.whole, self.operator, store_name) for store_name in self.operator.rules
        )
