"""Numbers as people write and read them."""

from __future__ import annotations

import pytest

from inspector.quantities import (
    bytes_of,
    bytes_rate_text,
    bytes_text,
    count_text,
    duration_text,
    long_duration_text,
    number_of,
    percent_text,
    plural_of,
    rate_text,
    sentence,
    share_text,
    short_count_text,
)


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
def test_parse_quantities(text: str, number: float) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize("text", ["", "x", "-1", "1e9", "nan", "GiB", "5 lots"])
def test_parse_of_non_quantity_is_none(text: str) -> None:
    assert number_of(text) is None
    assert bytes_of(text) is None


def test_singular_and_plural() -> None:
    assert count_text(1, "row") == "1 row"
    assert count_text(1200, "row") == "1,200 rows"
    assert count_text(0, "batch", "batches") == "0 batches"


def test_note_gets_capital_and_full_stop() -> None:
    assert sentence("call state.remove() ") == "Call state.remove()."
    assert sentence("is it so?") == "Is it so?"
    assert sentence("s3://bucket/a is gone") == "s3://bucket/a is gone."
    assert sentence("state.remove() is not called") == "state.remove() is not called."


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (2**20 - 1, "1.0 MiB"),
        (5 * 2**30, "5.0 GiB"),
        (3 * 2**60, "3,072.0 PiB"),
        (-2048, "-2.0 KiB"),
    ],
)
def test_sizes(count: int, expected: str) -> None:
    assert bytes_text(count) == expected


@pytest.mark.parametrize(
    ("millis", "expected"),
    [
        (0, "0 s"),
        (999, "999 ms"),
        (1000, "1 s"),
        (11_600, "12 s"),
        (1600, "1 s 600 ms"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (90_000, "1 min 30 s"),
        (600_000, "10 min"),
        (3_600_000, "1 h"),
        (2 * 86_400_000 + 4 * 3_600_000, "2 d 4 h"),
        (628 * 86_400_000 + 1, "628 d"),
        (731 * 86_400_000, "2.0 years"),
        (-1_999 * 86_400_000, "-5.5 years"),
        (3_649 * 86_400_000, "10 years"),
        (20_000 * 86_400_000, "55 years"),
        (-90_000, "-1 min 30 s"),
    ],
)
def test_durations(millis: int, expected: str) -> None:
    assert duration_text(millis) == expected


def test_rates() -> None:
    assert bytes_rate_text(30.6 * 2**30) == "30.6 GiB/h"
    assert [rate_text(x) for x in (0, 0.25, 9.5, 2430.4, -3)] == [
        "0/h",
        "0.2/h",
        "9.5/h",
        "2,430/h",
        "-3/h",
    ]


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0, "0 %"),
        (0.0001, "less than 1 %"),
        (0.534, "53 %"),
        (0.9999, "more than 99 %"),
        (1, "100 %"),
    ],
)
def test_share_text_never_rounds_to_0_or_100_percent(share: float, expected: str) -> None:
    assert share_text(share, "~").removeprefix("~") == expected
    assert share_text(share) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (12_345, "12,345"),
        (999_999, "999,999"),
        (1_234_567, "1.2 M"),
        (-1_234_567, "-1.2 M"),
        (2_500_000_000, "2.5 bn"),
        (3_000_000_000_000, "3,000.0 bn"),
    ],
)
def test_counts(count: float, expected: str) -> None:
    assert short_count_text(count) == expected


def test_count_text_plurals() -> None:
    assert short_count_text(1, "version") == "1 version"
    assert short_count_text(2, "version") == "2 versions"
    assert short_count_text(1204, "entry") == "1,204 entries"
    assert short_count_text(2, "index", "indices") == "2 indices"
    assert plural_of("has") == "have"


def test_column_share_never_rounds_to_0_or_100_percent() -> None:
    assert [percent_text(x) for x in (0, 1e-9, 0.0825, 0.99999, 1)] == [
        "0 %",
        "0.1 %",
        "8.2 %",
        "99.9 %",
        "100 %",
    ]


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "0 s"),
        (350, "350 ms"),
        (61_000, "1 min 1 s"),
        (-300, "-300 ms"),
        (93_784_005, "1 d 2 h"),
    ],
)
def test_long_durations(millis: int, text: str) -> None:
    assert long_duration_text(millis) == text
