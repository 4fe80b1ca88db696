"""URLs of pages and the positions that they name."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.serve.positions import (
    NoSuchPageError,
    Position,
    Search,
    number_of,
    store_of_segment,
    store_segment,
)
from inspector.serve.sources import Part


@given(st.text(st.characters(), min_size=1))
def test_any_store_name_is_one_url_segment(name: str) -> None:
    segment = store_segment(name)
    assert store_of_segment(segment) == name
    assert not set(segment) & set("/.%?#\\\"'<>& \0")


@given(st.text())
def test_any_url_segment_is_name_or_not_found(text: str) -> None:
    try:
        name = store_of_segment(text)
    except NoSuchPageError:
        return
    assert store_of_segment(store_segment(name)) == name


@given(st.text())
def test_any_url_number_is_small_or_not_found(text: str) -> None:
    with suppress(NoSuchPageError):
        assert 0 <= number_of(text, "batch") < 10**18


@pytest.mark.parametrize("text", ["..", "a/b", "~", "~g0", "~ff", "", "a.b"])
def test_segments_that_name_no_store(text: str) -> None:
    with pytest.raises(NoSuchPageError):
        store_of_segment(text)


def test_links_keep_batch_and_shown_values() -> None:
    position = Position(3, Part(batch=7), is_clear=True)
    below = position.at_part(operator_id=1, store_name="a b", partition_id=2)
    assert below.url == "/3/operators/1/stores/a~20b/partitions/2?batch=7&values=shown"


def test_hidden_search_is_not_in_the_url() -> None:
    position = Position(0, lists_rows=True, search=Search("user=a", "", name="0123"))
    assert position.url == "/0/rows?search=0123"
    clear = Position(0, lists_rows=True, is_clear=True, search=Search("user=a"))
    assert clear.url == "/0/rows?values=shown&key=user%3Da"
