"""SS223: keys that differ in one column alone."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from inspector.facts.top_keys import SampledKey
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss223_nearly_equal_keys import (
    NearlyEqualKeys,
    come_and_go,
    in_pairs,
    last_of_older,
)
from inspector.operators.rule import StoreRule
from inspector.sparktypes import TIMESTAMP, StringType, StructField, StructType
from tests import encode
from tests.store_views import store_view

TEXT = StringType()
MARKED = StructField("ts", TIMESTAMP, metadata={"spark.watermarkDelayMs": 0})
USER = StructType((StructField("user", TEXT), StructField("country", TEXT)))
EVENT = StructType((StructField("user", TEXT), StructField("id", TEXT), MARKED))
READ = StructType((StructField("user", TEXT), MARKED, StructField("read", TIMESTAMP)))


def findings(
    schema: StructType, *rows: tuple[Any, ...], versions: Any = (), operator: str = "dedupe"
) -> list[Finding]:
    put = versions or [1] * len(rows)
    sample = [SampledKey(encode.row(schema, row), n, put[n]) for n, row in enumerate(rows)]
    view = store_view(StoreRule(), *sample, key=schema, operator_name=operator)
    return list(NearlyEqualKeys().findings(view))


USERS = [(f"u{number}", "de") for number in range(101)]
SPELLED = [(f" U{number}", "de") for number in range(20)]
"""Users of :data:`USERS`, spelled with a blank and in upper case."""


def test_keys_that_differ_in_case_or_blanks_are_reported() -> None:
    (finding,) = findings(USER, *USERS[:95], *SPELLED[:5], operator="stateStoreSave")
    assert (finding.kind.id, finding.severity) == ("SS223", Severity.INFO)
    assert finding.cause == (
        "Of the newest 100 keys 5 differ from another only in the case or the blanks of 'user': "
        "one thing has several keys."
    )
    assert findings(USER, *USERS[:96], *SPELLED[:4]) == []
    assert findings(USER, *USERS[:96], *SPELLED[:5]) == []
    assert findings(USER, *USERS[:100]) == []


def test_spelling_that_is_no_longer_put_is_named() -> None:
    versions = [7] * 20 + [9] * 20
    keys = (*USERS[:20], *SPELLED)
    (finding,) = findings(USER, *keys, versions=versions, operator="stateStoreSave")
    assert "'user' (the older spelling has no put since batch 6): one thing" in finding.cause


def test_new_id_for_each_delivery_of_event_is_reported() -> None:
    rows = [(f"u{n % 40}", f"id{n}", n % 40) for n in range(50)]
    (finding,) = findings(EVENT, *rows)
    assert finding.cause == (
        "Of the newest 50 keys 10 differ from another only in 'id': if an event gets a new value "
        "each time that it is sent or read, duplicates are not seen."
    )
    assert findings(EVENT, *rows, operator="stateStoreSave") == []
    assert findings(EVENT, *rows[:40]) == []


def test_read_time_in_key_is_reported() -> None:
    rows = [(f"u{n % 40}", n % 40, n // 2) for n in range(50)]
    (finding,) = findings(READ, *rows)
    assert "10 differ from another only in 'read': if an event gets a new value" in finding.cause


def test_event_time_of_resent_event_is_reported() -> None:
    schema = StructType((StructField("user", TEXT), MARKED))
    rows = [(f"u{n % 70}", n) for n in range(100)]
    (finding,) = findings(schema, *rows)
    assert "30 differ from another only in 'ts', the event time: if an event" in finding.cause
    assert findings(schema, *((f"u{n % 50}", n) for n in range(100))) == []  # a begin and an end


@pytest.mark.parametrize(
    ("times", "is_pairs"),
    [
        ([2] * 30 + [1] * 40, True),
        ([2] * 10 + [1] * 80, False),  # hardly any came again
        ([2] * 50, False),  # a begin and an end
        ([3] * 5 + [2] * 20 + [1] * 45, False),  # drawn from a set
    ],
)
def test_in_pairs_recognises_values_sent_twice(times: list[int], *, is_pairs: bool) -> None:
    """``times`` has the number of occurrences of each value, 100 in total."""
    values = np.repeat(np.arange(len(times)), times).tolist()
    assert len(values) == 100
    assert in_pairs(values) is is_pairs


@pytest.mark.parametrize(
    ("counts", "within", "are_tries"),
    [
        ([3] * 30 + [2] * 12 + [1] * 9, 200, True),
        ([3] * 30 + [2] * 12 + [1] * 9, 1000, False),  # users, who come all the time
        ([2] * 50 + [1] * 5, 50, False),  # a begin and an end
        ([20] * 40, 200, False),  # sessions
        ([3] * 10 + [1] * 80, 50, False),  # few
    ],
)
def test_come_and_go_recognises_few_retries_within_short_time(
    counts: list[int], within: int, *, are_tries: bool
) -> None:
    draw = Random(7)
    values, times = [], []
    for number, count in enumerate(counts):
        start = draw.uniform(0, 1000 - within)
        values += [number] * count
        times += [int(draw.uniform(start, start + within)) for _ in range(count)]
    assert come_and_go(values, [*times[:-2], 0, 1000]) is are_tries
    # A single time far from all others does not change the result.
    assert come_and_go([*values, -1], [*times, 10**9]) is come_and_go(values, times)


@pytest.mark.parametrize(
    ("versions", "last"),
    [
        ([(7, 9), (10, 3)] * 10, 7),
        ([(7, 9), (10, 3)] * 9, 0),  # few
        ([(7, 9), (10, 8)] * 10, 7 + 1),
        ([(7, 9), (10, 9)] * 10, 0),  # the older one is put as late as the newer one of others
        ([(1, 2, 3)] * 20, 0),
    ],
)
def test_last_version_of_older_spelling(versions: list[tuple[int, ...]], last: int) -> None:
    assert last_of_older(versions) == last
