"""SS303: oversized value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from inspector.facts.size_distributions import SizeCounts
from inspector.facts.top_keys import TopBy, TopKey
from inspector.facts.versions import VersionFacts
from inspector.findings.cost.ss303_oversized_value import OversizedValue
from inspector.findings.rule import parse_thresholds
from inspector.operators.rule import StoreRule
from inspector.sparktypes.ddl import parse_ddl
from tests.attributes import attributes
from tests.encode import row
from tests.store_views import store_view

LARGEST = TopKey(TopBy.VALUE_BYTES, 12_800, b"u29", 8, 12_800, 1)


def findings(*sizes: Mapping[int, int], **thresholds: str) -> list[Any]:
    """Return the findings about a store whose partitions have values of these sizes."""
    partitions = [
        VersionFacts(rows=sum(counts.values()), value_sizes=SizeCounts(Counter(counts)))
        for counts in sizes
    ]
    view = store_view(StoreRule(), LARGEST, partitions=partitions, key_words=lambda *_: "user=u29")
    return list(OversizedValue(parse_thresholds(thresholds)).findings(view))


def test_values_far_larger_than_others_are_counted() -> None:
    (finding,) = findings({64: 200}, {64: 200, 64 * 200: 1, 64 * 100: 1})
    assert (finding.kind.id, finding.rows, finding.bytes) == ("SS303", 2, 64 * 300)
    assert finding.evidence == (
        "the largest value has 12,800 bytes, 200 times the median of 64 bytes; it is in "
        "partition 1; 2 values of 402 are as far from the median"
    )
    assert finding.cause.startswith("The state has 2 values far larger than the others")
    assert finding.hides == ("SS313",)


def test_key_of_value_with_most_bytes_is_named() -> None:
    (finding,) = findings({640: 19, 64 * 200: 1})
    assert finding.rows == 1
    assert finding.cause.startswith("One key holds 51 % of the bytes (user=u29): its value has ")
    assert finding.hides == ("SS308", "SS313")


@pytest.mark.parametrize(
    ("sizes", "is_hot"),
    [
        ({320: 100, 64 * 200: 1}, True),  # 29 % of the bytes
        ({640: 100, 64 * 200: 1}, False),  # 17 % of the bytes
        ({1600: 13, 64 * 200: 1}, False),  # 8 times the median
        ({64: 200, 6400: 1}, False),  # 33 % of the bytes, and 100 times the median
        ({640: 2, 6400: 1}, True),  # 3 rows, 83 % of the bytes
        ({640: 4, 6400: 1}, False),  # 71 %
        ({640: 1, 64_000: 1}, False),  # 2 rows
    ],
)
def test_key_with_most_bytes_or_outlier_is_hot(sizes: dict[int, int], *, is_hot: bool) -> None:
    causes = "\n".join(attributes(findings(sizes), "cause"))
    assert bool(re.search("^One key holds ", causes, re.M)) is is_hot


@pytest.mark.parametrize("sizes", [{}, {64: 100}, {64: 100, 4088: 1}])
def test_usual_values_have_no_finding(sizes: dict[int, int]) -> None:
    assert findings(sizes) == []


def test_thresholds_set_value_sizes() -> None:
    sizes = {64: 100, 64 * 200: 1}
    assert findings(sizes)
    assert findings(sizes, value_bytes="13000") == []
    assert findings(sizes, value_ratio="201.0", hot_share="90%", outlier_share="90%") == []


KEY = parse_ddl("user string, window struct<start: timestamp, end: timestamp>")


def findings_over_windows(windows: int, size: int, users: int = 20) -> list[Any]:
    """Return the findings about users with a small value in a window, one of them with large ones.

    The user ``u`` has values of the given size in a number of windows.
    """
    large = [row(KEY, ["u", (n, n + 1)]) for n in range(windows)]
    sizes = Counter({64: users, size: windows})
    newest = VersionFacts(
        rows=users + windows,
        key_bytes=56 * (users + windows),
        value_bytes=64 * users + size * windows,
        value_sizes=SizeCounts(sizes),
    )
    tops = [TopKey(TopBy.VALUE_BYTES, size, key, 56, size, 1) for key in large]
    tops.append(TopKey(TopBy.VALUE_BYTES, 64, row(KEY, ["v", (0, 1)]), 56, 64, 1))
    words = {row(parse_ddl("user string"), ["u"]): "user=u"}
    view = store_view(
        StoreRule(),
        *tops,
        partitions=[newest],
        key=KEY,
        key_words=lambda _store, key, _schema=None: words.get(key, "another key"),
    )
    return list(OversizedValue().findings(view))


def test_key_with_most_bytes_across_windows_is_named() -> None:
    (finding,) = findings_over_windows(4, 8_192)
    assert (finding.kind.id, finding.rows, finding.bytes) == ("SS303", 4, 32_768)
    assert finding.cause == (
        "One key holds at least 93 % of the bytes in 4 windows (user=u): its values have 8.0 KiB "
        "on average, the median is 64 B."
    )
    assert finding.hides == ("SS308", "SS313")


def test_usual_values_across_windows_have_no_finding() -> None:
    assert findings_over_windows(4, 4_096, users=4_000) == []
    assert findings_over_windows(4, 1_024) == []
