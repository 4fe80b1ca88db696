"""``sizes --by field`` for checkpoints of Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compare_with_spark import truth

from inspector import api
from inspector.analyses.shared.judged import Judged
from inspector.analyses.sizes import fields_report
from inspector.decode.field_sizes import RowBytes
from inspector.discovery.checkpoint import open_checkpoint
from inspector.merge.collect import Facts
from inspector.model import StoreName
from inspector.operators.rule import RowPart
from tests.cli.support import copy_of
from tests.fixture_folder import NEWEST
from tests.reports import cell_values, rows_where, slugs


def fields_of(case: str) -> list[Any]:
    """Return the rows of ``sizes --by field``."""
    return list(api.sizes(str(NEWEST / case / "checkpoint"), by="field").primary.rows)


def bytes_of_side(rows: list[Any], side: str) -> int:
    """Return the bytes of all fields of the key or of the value, without nested fields twice."""
    return sum(cell_values(rows_where(rows, row=side, within=None), "bytes"))


@pytest.mark.parametrize(
    ("case", "key_bytes", "value_bytes"),
    [
        # Sums of the lengths of the rows that Spark recorded for the newest version.
        ("agg_update", 5600, 3200),
        ("wide_value", 208, 23_928),
        ("wide_key", 11_248, 368),
        ("join_left_outer", 2720, 4424),
    ],
)
def test_field_bytes_sum_to_the_bytes_of_spark_rows(
    case: str, key_bytes: int, value_bytes: int
) -> None:
    recorded = truth(NEWEST / case)
    newest = recorded[max(recorded)]
    assert len("".join(cell_values(newest, "kx"))) == 2 * key_bytes  # hexadecimal digits
    assert len("".join(cell_values(newest, "vx"))) == 2 * value_bytes
    rows = fields_of(case)
    assert bytes_of_side(rows, "key") == key_bytes
    assert bytes_of_side(rows, "value") == value_bytes
    summary = api.sizes(str(NEWEST / case / "checkpoint"), by="field").summary
    assert summary["row_bytes"] == key_bytes + value_bytes


NAMES = ("row", "field", "within", "rows", "word_bytes", "variable_bytes", "padding_bytes", "bytes")


def test_string_and_nested_field_bytes() -> None:
    """A nested row has its own null bits: 8 bytes for up to 64 fields."""
    assert cell_values(fields_of("fmgws_event_ignore"), *NAMES) == [
        ("key", "value", None, 128, 1024, 1074, 158, 2256),
        ("key", "(null bits)", None, 128, None, None, None, 1024),
        ("value", "groupState", None, 128, 1024, 6352, 0, 7376),
        ("value", "groupState.user", "groupState", 128, 1024, 1074, 158, 2256),
        ("value", "groupState.visits", "groupState", 128, 1024, 0, 0, 1024),
        ("value", "groupState.lastSeenMs", "groupState", 128, 1024, 0, 0, 1024),
        ("value", "groupState.timeouts", "groupState", 128, 1024, 0, 0, 1024),
        ("value", "timeoutTimestamp", None, 128, 1024, 0, 0, 1024),
        ("value", "(null bits)", None, 128, None, None, None, 1024),
    ]


def test_string_bytes_equal_the_names_that_spark_recorded() -> None:
    recorded = truth(NEWEST / "fmgws_event_ignore")
    keys = cell_values(recorded[max(recorded)], "k")
    assert len("".join(cell_values(map(dict, keys), "value")).encode()) == 1074


def test_fields_of_the_same_name_are_distinguished() -> None:
    values = rows_where(fields_of("wide_value"), row="value")
    assert cell_values(values, "field")[:6] == [
        *("first", "valueSet", "last", "valueSet#2", "first#2", "valueSet#3"),
    ]


@pytest.mark.parametrize(
    ("case", "empty", "expected"),
    [
        (
            "join_left_outer",
            "left-keyToNumValues",
            ["left-keyWithIndexToValue", "right-keyToNumValues", "right-keyWithIndexToValue"],
        ),
        (
            "rocksdb_join_left_outer_v4",
            "left-tsWithKey",
            ["left-keyWithTsToValues", "right-keyWithTsToValues", "right-tsWithKey"],
        ),
    ],
)
def test_stores_keep_their_order_without_empty_stores(
    case: str, empty: str, expected: list[str]
) -> None:
    checkpoint = open_checkpoint(str(NEWEST / case / "checkpoint"))
    schemas = checkpoint.operators[0].schemas
    facts = Facts()
    for store in (*reversed(expected), empty):
        fields = RowBytes.empty(schemas[store].key)
        facts.fields[StoreName(0, store), RowPart.KEY] = replace(fields, rows=int(store != empty))
    rows = fields_report(Judged(checkpoint, 10, facts=facts)).primary.rows
    assert list(dict.fromkeys(cell_values(rows, "store_name"))) == expected


def test_unrestorable_version_is_one_problem(tmp_path: Path) -> None:
    root = copy_of("agg_update", tmp_path)
    (root / "state/0/1/10.delta").unlink()
    path = str(root)
    alone = api.sizes(path, api.Options(partition_id=1), by="field")
    assert slugs(alone.problems).count("missing-version") == 1
    assert alone.summary["row_bytes"] == 0
    report = api.sizes(path, api.Options(partition_id=0), by="field")
    assert api.sizes(path, by="field").summary["row_bytes"] == report.summary["row_bytes"] > 0
