"""Order of key columns of ``dropDuplicates``, compared with schemas that Spark recorded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.findings.key_order import set_order

# (call, key schema of Spark 3.5.9 with Scala 2.12, key schema of Spark 4.0.5 with Scala 2.13)
SEEN = [
    ("k g n m i d", "n m i g k d", "n m i g k d"),
    ("user id name day item", "name id day user item", "name id item day user"),
    ("source value day user level", "source value day user level", "source level value day user"),
]


@pytest.mark.parametrize(("call", "scala_2_12", "scala_2_13"), SEEN)
def test_set_order_equals_recorded_key_schema_of_spark(
    call: str, scala_2_12: str, scala_2_13: str
) -> None:
    assert set_order(call.split(), scala_2_13=False) == scala_2_12.split()
    assert set_order(call.split(), scala_2_13=True) == scala_2_13.split()


def test_set_order_of_four_names_is_call_order() -> None:
    names = ["d", "c", "b", "a", "b"]
    assert set_order(names, scala_2_13=False) == names[:4]
    assert set_order(names, scala_2_13=True) == names[:4]


@given(st.lists(st.text(max_size=4), max_size=40), st.booleans())
def test_set_order_has_no_duplicates(names: list[str], late: bool) -> None:
    ordered = set_order(names, scala_2_13=late)
    assert sorted(ordered) == sorted(set(names))


def test_set_order_of_names_with_equal_hashes() -> None:
    names = ["AaAa", "BBBB", "AaBB", "BBAa", "x"]  # the first four have one hash in Java
    assert sorted(set_order(names, scala_2_13=True)) == sorted(names)
    assert sorted(set_order(names, scala_2_13=False)) == sorted(names)
