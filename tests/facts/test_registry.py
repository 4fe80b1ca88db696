"""Every kind of fact: its declaration, addition, record batches and collection."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache, partial
from itertools import chain
from random import Random
from typing import Any, get_args, get_origin, get_type_hints
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.field_sizes import FieldBytes, RowBytes
from inspector.exceptions import UnknownFactError
from inspector.facts.ages import Ages
from inspector.facts.fact import FACT_TYPES, Fact, Observed, fact
from inspector.facts.join_rows import MatchedRows
from inspector.facts.leftover_facts import LeftoverAge
from inspector.facts.registry import (
    BATCH_BYTES,
    BATCH_ROWS,
    fact_batch,
    fact_batches,
    facts_in,
    facts_schema,
)
from inspector.facts.top_keys import TopBy, TopKey
from inspector.light_dataclasses import dataclass
from inspector.merge.collect import Facts, collect
from inspector.merge.combine import combine
from inspector.model import StoreId, StoreName
from inspector.schemas import STORE_COLUMNS
from tests.attributes import attributes
from tests.cases import Seen
from tests.profiles import costly, sampled

STORE = StoreId(1, "default", 2)
numbers = st.integers(0, 2**40)
counters = st.dictionaries(st.integers(0, 99), st.integers(1, 99), max_size=3).map(Counter)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    int: numbers,
    bool: st.booleans(),
    str: st.text(max_size=4),
    bytes: st.binary(max_size=4),
    Counter[int]: counters,
    # Rows of one schema have the same number of fields.
    RowBytes: st.builds(RowBytes, numbers, numbers, st.tuples(st.just(FieldBytes(1, 2))), numbers),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Return a strategy of values for the type of a fact's field."""
    return _values_of(hint)


@cache
def _values_of(hint: Any) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if type(None) in arguments:
        (kind,) = set(arguments) - {type(None)}
        return st.none() | values_of(kind)
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is frozenset:
        return st.frozensets(values_of(arguments[0]))
    if issubclass(hint, enum.Enum):
        return st.sampled_from(hint)
    hints = get_type_hints(hint)
    return st.builds(hint, **{f.name: values_of(hints[f.name]) for f in fields(hint)})


@st.composite
def mates(draw: st.DrawFn, kind: type[Fact]) -> list[Any]:
    """Return facts of a type with the same merge key. Their other fields have any values."""
    first: Any = draw(values_of(kind))
    drawn = draw(st.lists(values_of(kind), min_size=2, max_size=4))
    return [first, *(with_merge_key(first, item) for item in drawn)]


def with_merge_key(first: Any, second: Any) -> Any:
    """Return ``first`` with all fields of ``second`` that leave its merge key as it is."""
    result = first
    for field in fields(second):
        changed = replace(result, **{field.name: getattr(second, field.name)})
        result = changed if changed.merge_key(4) == first.merge_key(4) else result
    return result


EVERY = pytest.mark.parametrize("kind", FACT_TYPES.values(), ids=FACT_TYPES)
TO_ADD = [kind for kind in FACT_TYPES.values() if hasattr(kind, "__add__")]
ADDING = pytest.mark.parametrize("kind", TO_ADD, ids=lambda kind: kind.kind)


def zero_of(item: Any) -> Any:
    return replace(item, rows=0, row_bytes=0) if isinstance(item, LeftoverAge) else type(item)()


@ADDING
@costly
@given(data=st.data())
def test_facts_of_one_merge_key_add_commutatively(kind: type[Fact], data: st.DataObject) -> None:
    a, b, c, *_ = data.draw(mates(kind))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + zero_of(a) == zero_of(a) + a == a
    assert (a + b).merge_key(4) == a.merge_key(4) is not None


def test_fact_kinds_that_do_not_add() -> None:
    alone = {
        *("leftover", "leftover_count", "top", "largest_field", "sampled_key", "problem"),
        *("key_entries", "evicted_key", "misplaced_row", "unwritable_rows"),
        *("snapshot_differs", "rows_timed_in_range"),  # facts of key ranges
    }
    assert FACT_TYPES.keys() - set(attributes(TO_ADD, "kind")) == alone
    assert {FACT_TYPES[name].merge_key for name in alone} == {Fact.merge_key}


@EVERY
@costly
@given(data=st.data())
def test_facts_round_trip_through_record_batches(kind: type[Fact], data: st.DataObject) -> None:
    facts = data.draw(st.lists(values_of(kind), min_size=1, max_size=4))
    result = [Observed(StoreId(1, "s", n % 2), n, item) for n, item in enumerate(facts)]
    batch = fact_batch(result)
    batch.validate(full=True)
    assert batch.schema.equals(facts_schema())
    assert list(facts_in(batch)) == result


@pytest.mark.parametrize("kind", sampled(TO_ADD, 4), ids=lambda kind: kind.kind)
@costly
@given(data=st.data(), seed=st.integers(0, 99))
def test_merged_facts_are_equal_for_any_split_and_order(
    kind: type[Fact], data: st.DataObject, seed: int
) -> None:
    groups = data.draw(st.lists(mates(kind), min_size=1, max_size=2))
    result: list[Seen] = [
        Observed(StoreId(1, "s", n), 4, item) for group in groups for n, item in enumerate(group)
    ]
    complete = Facts(result).merged(kind)
    random = Random(seed)
    random.shuffle(result)
    cut = random.randrange(len(result) + 1)
    merge = partial(combine, 6)  # facts of version 6 and of the previous version stay separate
    first, second = list(merge(fact_batches(result[:cut]))), list(merge(fact_batches(result[cut:])))
    assert collect(second + first).merged(kind) == complete
    again = list(merge(first + second))
    assert collect(again).merged(kind) == complete
    assert sum(attributes(again, "num_rows")) == len(complete[StoreName(1, "s")])


def test_facts_schema_uses_types_that_spark_supports() -> None:
    schema = facts_schema()
    assert schema.names == ["kind", *dict(STORE_COLUMNS), *sorted(FACT_TYPES)]
    leaf_types = set(chain(*map(leaves, schema.types)))
    assert leaf_types <= {pa.int32(), pa.int64(), pa.binary(), pa.string(), pa.bool_()}


def leaves(kind: Any) -> list[pa.DataType]:
    """Return the types within lists and structs."""
    if pa.types.is_nested(kind):
        return list(chain(*(leaves(kind.field(at).type) for at in range(kind.num_fields))))
    return [kind]


def test_fact_batches_are_limited_in_rows_and_bytes() -> None:
    small = Observed(STORE, 4, MatchedRows(1))
    assert batch_rows([small] * (BATCH_ROWS + 1)) == [BATCH_ROWS, 1]
    key = bytes(BATCH_BYTES // 2)
    large = Observed(STORE, 4, TopKey(TopBy.PUTS, 1, key, len(key), 0, 1))
    assert batch_rows([large] * 3) == [2, 1]
    assert batch_rows([]) == []


def batch_rows(facts: list[Observed[Any]]) -> list[int]:
    """Return the number of rows of each batch of facts."""
    return attributes(fact_batches(facts), "num_rows")


def test_facts_of_several_kinds_share_a_batch() -> None:
    item, two = Observed(STORE, 4, MatchedRows(1)), Observed(STORE, 3, Ages(Counter({3: 1})))
    mixed: Any = pa.Table.from_batches([*fact_batches([item, two])]).combine_chunks().to_batches()
    (batch,) = mixed
    assert list(facts_in(batch)) == [item, two]


def test_unknown_fact_kind_is_refused() -> None:
    batch = fact_batch([Observed(STORE, 4, MatchedRows(1))])
    renamed = batch.set_column(0, "kind", pa.array(["of_tomorrow"]))
    with pytest.raises(UnknownFactError, match="got a fact of kind 'of_tomorrow', expected one"):
        collect([renamed])


# --- a fact is one file ----------------------------------------------------------------------


@pytest.fixture
def declared() -> Iterator[None]:
    """Remove the kinds of facts that a test declares."""
    with mock.patch.dict(FACT_TYPES):
        yield


@pytest.mark.usefixtures("declared")
def test_new_fact_kind_needs_only_its_declaration() -> None:
    @fact("toy")
    @dataclass(frozen=True)
    class Toy(Fact):
        """Number of times that a worker played with a toy."""

        word: str
        times: int = 0

        def __add__(self, second: Toy) -> Toy:
            return replace(self, times=self.times + second.times)

        def merge_key(self, _version: int) -> str:
            return self.word

    result = [
        Observed(StoreId(0, "s", 0), 4, Toy("ball", 1)),
        Observed(StoreId(0, "s", 1), 4, Toy("ball", 2)),
        Observed(StoreId(0, "s", 0), 4, Toy("kite", 9)),
    ]
    assert Toy.kind in facts_schema().names
    assert collect(fact_batches(result)).of(Toy) == result
    facts = collect(combine(4, fact_batches(result)))
    toys = {"ball": Toy("ball", 3), "kite": Toy("kite", 9)}
    assert facts.merged(Toy) == {StoreName(0, "s"): toys}
