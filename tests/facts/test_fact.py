"""What a fact is, and when two observations add."""

from __future__ import annotations

import pytest

from inspector.facts.fact import ALL_PARTITIONS, FACT_TYPES, Fact, Observed, add_up, fact
from inspector.facts.join_rows import MatchedRows
from inspector.facts.top_keys import TopBy, TopKey
from inspector.facts.versions import VersionFacts
from inspector.light_dataclasses import dataclass
from inspector.model import StoreId, StoreName
from tests.attributes import attributes

LEFT, RIGHT = StoreId(1, "s", 3), StoreId(1, "s", 4)


def test_facts_of_partitions_add_to_one_of_the_store() -> None:
    item, two = Observed(LEFT, 7, MatchedRows(1, 2)), Observed(RIGHT, 9, MatchedRows(10, 20))
    total = add_up([item, two])
    assert total == add_up([two, item])
    assert add_up([item]) is item
    assert total == Observed(StoreId(1, "s", ALL_PARTITIONS), 9, MatchedRows(11, 22))
    assert item.merge_key == two.merge_key == total.merge_key == ("matched", StoreName(1, "s"), "")


def test_merge_key_separates_versions_stores_and_operators() -> None:
    rows = Observed(LEFT, 7, VersionFacts())
    assert rows.merge_key == Observed(RIGHT, 7, VersionFacts(rows=5)).merge_key
    siblings = (
        Observed(LEFT, 8, VersionFacts()),
        Observed(StoreId(1, "t", 3), 7, VersionFacts()),
        Observed(StoreId(2, "s", 3), 7, VersionFacts()),
    )
    assert len({rows.merge_key, *attributes(siblings, "merge_key")}) == 4
    assert Observed(LEFT, 7, TopKey(TopBy.PUTS, 1, b"k", 1, 0, 1)).merge_key is None


@pytest.mark.parametrize("kind", ["matched", "kind", "version"])
def test_duplicate_and_reserved_fact_kinds_are_refused(kind: str) -> None:
    before = dict(FACT_TYPES)
    with pytest.raises(ValueError, match=f"'{kind}' of Again is taken"):

        @fact(kind)
        @dataclass(frozen=True)
        class Again(Fact):
            number: int = 0

    assert before == FACT_TYPES
