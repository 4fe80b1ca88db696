"""Facts: values that workers observe, that may add up, and that travel in Arrow.

A fact is a frozen dataclass declared with :func:`fact`; its fields are its columns. The store and
version that it is about are in the :class:`Observed` that carries it. So one type of value serves
one partition, all partitions of a store, and the zero of a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from inspector.arrays import Int64s
from inspector.light_dataclasses import dataclass
from inspector.model import StoreId, StoreName
from inspector.schemas import STORE_COLUMNS
from inspector.sums import Sums, sum_of

ALL_PARTITIONS = -1  # partition id of facts that are sums over partitions
FACT_TYPES: dict[str, type[Fact]] = {}
"""Every declared fact by its kind; :mod:`inspector.facts.registry` imports all modules with facts.
"""
# column names that no kind of fact may have
_TAKEN = ("kind", *(name for name, _ in STORE_COLUMNS))


class Fact:
    """Base of all facts. Facts with a merge key have ``+`` and, made without arguments, a zero."""

    kind: ClassVar[str]  # name of the fact, and of its column in the batches that cross the engines
    # True if facts about the judged version are reported for each partition, so that they are not
    # merged before they reach the driver
    by_partition: ClassVar[bool] = False

    def merge_key(self, _version: int) -> Hashable | None:
        """Return a value that is equal for facts of a store that add up; None if they never do."""
        return None

    @property
    def held_bytes(self) -> int:
        """Bytes of the key that the fact holds, 0 without one; batches are cut by their sum."""
        return len(getattr(self, "key", b""))


class StoreSum(Sums, Fact):
    """Base of facts about a store, all of which add up field by field."""

    def merge_key(self, _version: int) -> str:
        """Return one constant: all facts about a store add up."""
        return ""


class VersionSum(Sums, Fact):
    """Base of facts about a version of a store, which add up field by field."""

    def merge_key(self, version: int) -> int:
        """Return the version: facts of one version add up."""
        return version


FactT = TypeVar("FactT", bound=Fact)
VersionSumT = TypeVar("VersionSumT", bound=VersionSum)


def fact(kind: str) -> Callable[[type[FactT]], type[FactT]]:
    """Return a decorator that registers a frozen dataclass as the fact of this kind.

    ValueError: another fact has this kind, or it is the name of a column that the rows of all facts
    have (``kind`` and the columns of the store).
    """

    def declare(cls: type[FactT]) -> type[FactT]:
        """Register the class by its kind, and return it."""
        if kind in FACT_TYPES or kind in _TAKEN:
            raise ValueError(f"the kind {kind!r} of {cls.__name__} is taken")
        cls.kind = kind
        FACT_TYPES[kind] = cls
        return cls

    return declare


@dataclass(frozen=True)
class Observed(Generic[FactT]):
    """A fact and where it was observed."""

    store: StoreId  # the store; its partition is ALL_PARTITIONS for facts summed over partitions
    # version that the fact is about; for facts about a whole history, the judged version
    version: int
    fact: FactT

    @property
    def merge_key(self) -> tuple[str, StoreName, Hashable] | None:
        """Kind, store name and the fact's merge key; None if the fact never adds up."""
        key = self.fact.merge_key(self.version)
        return None if key is None else (self.fact.kind, self.store.name, key)


@dataclass(frozen=True)
class FactColumns:
    """Facts of one type about several versions of a store, as columns."""

    type: type[Fact]  # type of the facts
    store: StoreId
    versions: Int64s  # version of each fact
    # values by field name: an array, one number for all, or for counts by size the pair that
    # :meth:`inspector.facts.size_distributions.LiveSizes.follow` returns
    columns: Mapping[str, Any]


def add_up(alike: Sequence[Observed[FactT]]) -> Observed[FactT]:
    """Return one observation with the sum of facts that have the same merge key.

    Its partition is ALL_PARTITIONS and its version the newest. One alone is returned unchanged.
    """
    first = alike[0].store
    if len(alike) == 1:
        return alike[0]
    store = StoreId(first.operator_id, first.store_name, ALL_PARTITIONS)
    fact = sum_of([observation.fact for observation in alike])
    return Observed(store, max(observation.version for observation in alike), fact)
