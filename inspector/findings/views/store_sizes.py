"""Sizes of a store's rows at the judged version, by partition."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from inspector.facts.top_keys import TopBy, TopKey
from inspector.facts.versions import VersionFacts
from inspector.findings.views.base_store import StoreFacts
from inspector.merge.collect import Facts
from inspector.model import StoreName
from inspector.operators.aggregation import NAMES as AGGREGATIONS
from inspector.operators.session_window import NAMES as SESSION


class StoreSizes:
    """View of the rows and bytes of one store at the judged version."""

    def __init__(self, store: StoreFacts) -> None:
        """Make the view of the sizes of ``store``."""
        self._store = store

    @cached_property
    def partitions(self) -> Mapping[int, VersionFacts]:
        """Number of a partition -> facts of the judged version in it."""
        store = self._store
        return {
            part.partition_id: facts
            for (part, version), facts in store.facts.versions.items()
            if version == store.version and part.name == store.name
        }

    @cached_property
    def total(self) -> VersionFacts:
        """Facts of the judged version, summed over all partitions."""
        return sum(self.partitions.values(), VersionFacts())

    def partition_of_value(self, size: int) -> int | None:
        """Return the first partition whose largest value has ``size`` bytes; None if none has."""
        partitions = self.partitions.items()
        return next((n for n, facts in partitions if facts.value_sizes.max == size), None)

    @cached_property
    def largest_key(self) -> str:
        """Words for the key with the largest value, as redaction allows; "" if it is unknown."""
        largest = first_key(self._store.facts, self._store.name, TopBy.VALUE_BYTES)
        return "" if largest is None else self._store.words_of_key(largest.key)

    @cached_property
    def buffers(self) -> str:
        """Clause that lists aggregates with a buffer without a bound; "" if the store has none.

        The clause is always "collect_list, collect_set, percentile or another buffer of all
        rows". The schema shows that there is such a buffer, but not of which function. Only
        aggregations and session windows have such buffers.
        """
        # ``TypedImperativeAggregate`` names its serialized buffer so (2.4 to 4.3).
        schema = self._store.operator.schemas.get(self._store.store_name)
        columns = () if schema is None else schema.value.fields
        has_buffer = any(column.name.startswith("buf") for column in columns)
        if not has_buffer or self._store.operator_name not in (*AGGREGATIONS, *SESSION):
            return ""
        return "collect_list, collect_set, percentile or another buffer of all rows"


def first_key(facts: Facts, name: StoreName, by: TopBy) -> TopKey | None:
    """Return the first key of the ranking ``by`` of a store; None if no key is known."""
    ranked = (key for key in facts.of_store(TopKey, name) if key.by is by)
    return min(ranked, key=lambda key: (-key.amount, key.key), default=None)
