"""Numbers as people write and read them."""

from __future__ import annotations

import pytest

from inspector.findings.quantities import bytes_of, counted, number_of, sentence


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("0.5", 0.5),
        ("50%", 0.5),
        ("2.5 %", 0.025),
        ("8GiB", 8 << 30),
        ("1.5 M", 3 << 19),
    ],
)
def test_numbers_are_read(text: str, number: float) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize("text", ["", "x", "-1", "1e9", "nan", "GiB", "5 lots"])
def test_what_is_no_number_is_none(text: str) -> None:
    assert number_of(text) is None
    assert bytes_of(text) is None


def test_one_is_not_many() -> None:
    assert counted(1, "row") == "1 row"
    assert counted(1200, "row") == "1,200 rows"
    assert counted(0, "batch", "batches") == "0 batches"


def test_a_note_becomes_a_sentence() -> None:
    assert sentence("call state.remove() ") == "Call state.remove()."
    assert sentence("is it so?") == "Is it so?"
    assert sentence("s3://bucket/a is gone") == "s3://bucket/a is gone."
    assert sentence("state.remove() is not called") == "state.remove() is not called."
