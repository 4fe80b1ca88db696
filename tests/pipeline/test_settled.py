"""Which readings of leftovers hold, when all partitions have told; and that text keeps them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.pipeline.settled import Settled

PLACE: dict[str, Any] = {"operator_id": 0, "store_name": "default"}
EVENT = Settled({(0, "default"): frozenset({"event"})}, frozenset(), {})
ARMED = Settled(EVENT.readings, frozenset({((0, "default"), "event")}), {})
BY_KEY = Settled({}, frozenset(), {0: (1, 0)})


def row(kind: str | None, *, before: bool = False, **more: Any) -> dict[str, Any]:
    return {**PLACE, "slug": None, "timeout_kind": kind, "before_window": before} | more


@pytest.mark.parametrize(
    ("settled", "fact", "kept"),
    [
        (EVENT, row("event"), True),
        (EVENT, row("processing"), False),
        (EVENT, row("event", before=True), False),
        (ARMED, row("event", before=True), True),
        (ARMED, row("processing", before=True), False),
        (EVENT, row("event", operator_id=1), False),
        (EVENT, row("event", store_name="other"), False),
        (Settled({}, frozenset(), {}), row(None), True),
        (Settled({}, frozenset(), {}), row("event"), False),
        (
            Settled({(0, "default"): frozenset({"event", "processing"})}, frozenset(), {}),
            row("event"),
            False,
        ),
        (Settled({(0, "default"): frozenset()}, frozenset(), {}), row("event"), False),
        (BY_KEY, row(None, slug="key_time:1.0"), True),
        (BY_KEY, row(None, slug="key_time:1.1"), False),
        (BY_KEY, row(None, slug="key_time:1.0", operator_id=1), False),
    ],
)
def test_a_fact_is_kept_if_its_reading_is_the_only_one(
    settled: Settled, fact: dict[str, Any], kept: bool
) -> None:
    assert settled.keeps(fact) is kept


names = st.tuples(st.integers(0, 9), st.text(max_size=4))
kinds = st.sampled_from(["event", "processing"])
anything = st.builds(
    Settled,
    st.dictionaries(names, st.frozensets(kinds)),
    st.frozensets(st.tuples(names, kinds)),
    st.dictionaries(st.integers(0, 9), st.lists(st.integers(0, 5)).map(tuple)),
)


@given(anything)
def test_text_keeps_it_and_says_the_same_twice(settled: Settled) -> None:
    text = settled.to_json()
    again = Settled.from_json(text)
    assert again == settled
    assert again.to_json() == text
