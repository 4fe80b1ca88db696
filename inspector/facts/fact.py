"""Facts: values that workers observe, that may add up, and that travel in Arrow.

A frozen dataclass declared with :func:`fact`, whose fields are its columns. Which store and version
it is about is part of the :class:`Observed` that carries it, so that the same value serves one
partition, all partitions of a store, and the zero of a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from inspector.arrays import Int64s
from inspector.light_dataclasses import dataclass
from inspector.model import StoreId, StoreName
from inspector.schemas import STORE_COLUMNS
from inspector.sums import Sums, sum_of

ALL_PARTITIONS = -1  # the partition of facts that are sums over partitions
FACT_TYPES: dict[str, type[Fact]] = {}
"""Every declared fact by its kind; :mod:`inspector.facts.registry` imports all that there are."""
_TAKEN = ("kind", *(name for name, _ in STORE_COLUMNS))


class Fact:
    """The base of all facts. Those with a merge key have ``+`` and, without arguments, a zero."""

    kind: ClassVar[str]  # name of the fact, and of its column in the batches that cross the engines
    # those of the judged version are reported partition by partition, so that they are not merged
    # before they reach the driver
    by_partition: ClassVar[bool] = False

    def merge_key(self, _version: int) -> Hashable | None:
        """Return a value that is equal for facts of a store that add up; None: they never do."""
        return None

    @property
    def held_bytes(self) -> int:
        """Bytes of state that the fact holds itself, its key: batches are cut by them."""
        return len(getattr(self, "key", b""))


class StoreSum(Sums, Fact):
    """Facts on a store, all of which add field by field."""

    def merge_key(self, _version: int) -> str:
        """All of a store add."""
        return ""


class VersionSum(Sums, Fact):
    """Facts on a version of a store, which add field by field."""

    def merge_key(self, version: int) -> int:
        """Return the version: facts of one version add up."""
        return version


FactT = TypeVar("FactT", bound=Fact)
VersionSumT = TypeVar("VersionSumT", bound=VersionSum)


def fact(kind: str) -> Callable[[type[FactT]], type[FactT]]:
    """Declare a frozen dataclass as a fact (ValueError: its kind or a column's name is taken)."""

    def declare(cls: type[FactT]) -> type[FactT]:
        if kind in FACT_TYPES or kind in _TAKEN:
            raise ValueError(f"the kind {kind!r} of {cls.__name__} is taken")
        cls.kind = kind
        FACT_TYPES[kind] = cls
        return cls

    return declare


@dataclass(frozen=True)
class Observed(Generic[FactT]):
    """A fact and where it was observed."""

    store: StoreId  # the store; of facts merged over partitions, its partition is ALL_PARTITIONS
    version: int  # the version it is about; of facts on a whole history the judged one
    fact: FactT

    @property
    def merge_key(self) -> tuple[str, StoreName, Hashable] | None:
        """Value that is equal for observations whose facts add up; None if this one never does."""
        key = self.fact.merge_key(self.version)
        return None if key is None else (self.fact.kind, self.store.name, key)


@dataclass(frozen=True)
class FactColumns:
    """Facts of one type on several versions of a store, as columns."""

    type: type[Fact]
    store: StoreId
    versions: Int64s
    # by the names of their fields: an array, a number for all, or, of counts by size, what
    # :meth:`inspector.facts.size_distributions.LiveSizes.follow` gives
    columns: Mapping[str, Any]


def add_up(alike: Sequence[Observed[FactT]]) -> Observed[FactT]:
    """All of some observations that have the same merge key; one alone is as it is."""
    first = alike[0].store
    if len(alike) == 1:
        return alike[0]
    store = StoreId(first.operator_id, first.store_name, ALL_PARTITIONS)
    fact = sum_of([observation.fact for observation in alike])
    return Observed(store, max(observation.version for observation in alike), fact)
