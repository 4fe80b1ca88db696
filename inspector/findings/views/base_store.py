"""Base of the view of a store: facts of the store, summed over its partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from inspector.discovery.checkpoint import Operator
from inspector.facts.fact import FactT
from inspector.facts.versions import VersionFacts
from inspector.findings.views.judged_version import JudgedVersion
from inspector.findings.views.query_clock import QueryClock
from inspector.model import StoreName
from inspector.operators.rule import Clock, RowKind, StoreRule
from inspector.operators.session_window import NAMES as SESSION
from inspector.sparktypes import StructField


class StoreFacts:
    """View of one store of an operator at the judged version, all partitions together."""

    def __init__(self, whole: JudgedVersion, operator: Operator, store_name: str) -> None:
        """Make the view of the store ``store_name``, within the view of the checkpoint."""
        self.whole = whole
        self.operator = operator
        self.store_name = store_name
        self.facts, self.version = whole.facts, whole.version
        self.checkpoint = whole.checkpoint

    @property
    def operator_id(self) -> int:
        """Number of the operator that the store belongs to."""
        return self.operator.operator_id

    @property
    def operator_name(self) -> str:
        """Name of the operator, as Spark's metadata has it."""
        return self.operator.name

    @property
    def name(self) -> StoreName:
        """Identity of the store: the operator's number and the store's name."""
        return StoreName(self.operator_id, self.store_name)

    @property
    def clock(self) -> QueryClock:
        """Batch clocks and watermarks of the query."""
        return self.whole.clock

    @property
    def rule(self) -> StoreRule:
        """Expiry rule of the store's rows."""
        return self.operator.rules[self.store_name]

    @cached_property
    def versions(self) -> Mapping[int, VersionFacts]:
        """Version -> facts of the store; only versions whose facts are known, the oldest first."""
        return self.facts.by_store().get(self.name, {})

    @property
    def newest(self) -> VersionFacts:
        """Facts of the judged version; all numbers are 0 if the version could not be read."""
        return self.versions.get(self.version, VersionFacts())

    @property
    def rows(self) -> int:
        """Number of live rows of the judged version."""
        return self.newest.rows

    @property
    def noun(self) -> str:
        """Noun for a row in messages: value, timer, timeout, session or row."""
        if self.rule.row_kind is RowKind.TTL_VALUE:
            return "value"
        if self.rule.row_kind is not RowKind.ROW:
            return "timer"
        if self.rule.expiry is not None and self.rule.expiry.clock is Clock.TIMEOUT:
            return "timeout"
        return "session" if self.operator_name in SESSION else "row"

    @property
    def key_fields(self) -> Sequence[StructField]:
        """Columns of the store's key; empty if its schema is unknown."""
        schema = self.operator.schemas.get(self.store_name)
        return () if schema is None else schema.key.fields

    @property
    def has_shared_files(self) -> bool:
        """True if files have changes of several stores: the operator has more stores than folders.

        That is so for column families of RocksDB.
        """
        layout = self.operator.layout
        return len(layout.stores) > len(layout.folders)

    def sum(self, kind: type[FactT]) -> FactT | None:
        """Return the store's fact of the type ``kind``, summed over partitions; None if absent."""
        return self.facts.sums(kind).get(self.name)

    def words_of_key(self, key: bytes) -> str:
        """Return words for a key of the store, given as UnsafeRow bytes, as redaction allows."""
        return self.whole.context.key_words(self.name, key)
