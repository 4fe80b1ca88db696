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
    """One version of a checkpoint."""

    operator_id: int | None = None
    store_name: str | None = None
    numbers: Mapping[str, Any] = MappingProxyType({})

    @cached_property
    def operators(self) -> tuple[OperatorView, ...]:
        """The operators that were selected."""
        return tuple(OperatorView(self, operator) for operator in self.checkpoint.operators)

    @cached_property
    def stores(self) -> tuple[StoreView, ...]:
        """The stores of all operators."""
        return tuple(store for operator in self.operators for store in operator.stores)


class OperatorView:
    """One operator of the judged version."""

    store_name: str | None = None
    numbers: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, whole: CheckpointView, operator: Operator) -> None:
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
        """The stores of the operator, in the order of their rules."""
        return tuple(
            StoreView(self.whole, self.operator, store_name) for store_name in self.operator.rules
        )
