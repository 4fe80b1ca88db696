"""Numbers as people read them."""

import pytest

from inspector.render.units import (
    bytes_rate_text,
    bytes_text,
    count_text,
    counted,
    duration_text,
    percent_text,
    plural_of,
    rate_text,
    share_text,
)


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
        (11_600, "11 s"),
        (1600, "1 s 600 ms"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (90_000, "1 min 30 s"),
        (600_000, "10 min"),
        (3_600_000, "1 h"),
        (2 * 86_400_000 + 4 * 3_600_000, "2 d 4 h"),
        (628 * 86_400_000 + 1, "628 d"),
        (20_000 * 86_400_000, "20,000 d"),
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
def test_shares_round_neither_to_nothing_nor_to_all(share: float, expected: str) -> None:
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
    assert count_text(count) == expected


def test_numbers_have_the_right_plural() -> None:
    assert counted(1, "version") == "1 version"
    assert counted(2, "version") == "2 versions"
    assert counted(1204, "entry") == "1,204 entries"
    assert counted(2, "index", "indices") == "2 indices"
    assert plural_of("has") == "have"


def test_a_share_in_a_column_is_rounded_to_neither_none_nor_all() -> None:
    assert [percent_text(x) for x in (0, 1e-9, 0.0825, 0.99999, 1)] == [
        "0 %",
        "0.1 %",
        "8.2 %",
        "99.9 %",
        "100 %",
    ]
