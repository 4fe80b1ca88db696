"""Rows are decoded while they are read, and no further than asked for."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from inspector import api
from inspector.analyses.rows import rows_report
from inspector.analyses.shared.judged import Subject
from inspector.discovery.checkpoint import open_checkpoint
from inspector.model import Problem, StoreId
from inspector.schemas import ROWS, batch_of
from tests.cli.support import checkpoint_of, schema_of
from tests.encode import row

GROUPS = str(checkpoint_of("fmgws_event_ignore"))
PLACE: dict[str, Any] = {
    "operator_id": 0,
    "store_name": "default",
    "partition_id": 1,
    "version": 10,
}
VALUE = schema_of(("count", "long"), ("sum", "long"), ("max", "timestamp"))


def batch(*numbers: int) -> pa.RecordBatch:
    return batch_of(
        ROWS,
        [PLACE | {"kind": "row", "key": b"k", "value": row(VALUE, [n, n, 0])} for n in numbers],
    )


def problem(slug: str, path: str | None) -> pa.RecordBatch:
    return batch_of(ROWS, [PLACE | {"kind": "problem", "slug": slug, "message": "m", "path": path}])


def test_rows_are_told_with_their_place_and_sizes() -> None:
    checkpoint = open_checkpoint(str(checkpoint_of("agg_append")))
    report = rows_report(Subject(checkpoint, 10), [batch(7)], raw=True)
    (result,) = report.primary.rows
    assert result["key"] is None
    assert result["value"] == {"count": 7, "sum": 7, "max": "1970-01-01T00:00:00.000000Z"}
    assert (result["key_bytes"], result["value_bytes"], result["key_hex"]) == (1, 32, "6b")
    assert (result["partition_id"], result["version"], result["batch_id"]) == (1, 10, 9)


def test_no_batch_is_read_after_the_limit() -> None:
    used = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(5):
            used.append(number)
            yield batch(number, number)

    checkpoint = open_checkpoint(str(checkpoint_of("agg_append")))
    report = rows_report(Subject(checkpoint, 10), batches(), limit=3)
    assert [item["value"]["count"] for item in report.primary.rows] == [0, 0, 1]
    assert used == [0, 1]


def test_problems_are_kept_and_what_the_listing_told_is_not_told_again() -> None:
    checkpoint = open_checkpoint(str(checkpoint_of("agg_append")))
    listed = [Problem("missing-version", "m", "/ck", None, StoreId(0, "default", 1), 10)]
    batches = [problem("missing-version", None), problem("truncated", "/ck/1.delta"), batch(1)]
    report = rows_report(Subject(checkpoint, 10, listed), batches)
    assert len(list(report.primary.rows)) == 1
    # The key "k" is no row of the schema.
    slugs = [item.slug for item in report.problems]
    assert slugs == ["missing-version", "truncated", "bad-row"]
    assert report.problems[1].path == "/ck/1.delta"


def test_rows_of_the_keys_that_the_options_name() -> None:
    by_json = api.rows(
        GROUPS,
        api.Options(key='{"value": "lapsed-004"}'),
        raw=True,
    )
    (row,) = by_json.primary.rows
    assert row["key"] == {"value": "lapsed-004"}
    by_hex = api.rows(GROUPS, api.Options(key=row["key_hex"]), raw=True)
    assert list(by_hex.primary.rows) == [row]
    nobody = api.rows(GROUPS, api.Options(where=("value=nobody",)))
    assert list(nobody.primary.rows) == []
    assert "no matching row" in nobody.primary.empty
