"""What an audit adds up and lists."""

import json
import re

from inspector import api
from inspector.analyses.audit import AUDIT_KEYS
from tests.cli.support import checkpoint_of


def test_an_audit_adds_up_what_its_tables_tell() -> None:
    report = api.audit(str(checkpoint_of("join_left_outer")))
    tables = {table.name: list(table.rows) for table in report.tables}
    sizes = tables["sizes"]
    assert report.summary["rows"] == sum(row["rows"] for row in sizes) > 0
    assert report.summary["row_bytes"] == sum(row["row_bytes"] for row in sizes) > 0
    changes = tables["changes"]
    assert {(row["from_version"], row["to_version"]) for row in changes} == {(1, 10)}
    for row in changes:
        assert row["puts"] == row["inserts"] + row["updates"]


def test_the_changes_end_with_the_rows_that_live() -> None:
    report = api.audit(str(checkpoint_of("agg_update")))
    (changes,) = next(list(t.rows) for t in report.tables if t.name == "changes")
    assert changes["inserts"] - changes["removals"] == report.summary["rows"]


def test_an_audit_lists_a_few_leftovers_and_counts_all() -> None:
    report = api.audit(str(checkpoint_of("agg_complete")))
    tables = {table.name: list(table.rows) for table in report.tables}
    assert len(tables["leftovers"]) == AUDIT_KEYS
    assert report.summary["leftovers"] == sum(row["keys"] for row in tables["classes"]) == 201


def test_rows_in_rocksdb_take_no_heap() -> None:
    in_rocksdb, on_heap = (
        api.audit(str(checkpoint_of(case))).summary
        for case in ("rocksdb_agg_update", "rocksdb_agg_update_hdfs")
    )
    assert on_heap.keys() - in_rocksdb.keys() == {"heap_estimate_bytes"}
    assert in_rocksdb["row_bytes"] == on_heap["row_bytes"]


def test_what_spark_keeps_for_itself_is_counted_apart() -> None:
    case = checkpoint_of("rocksdb_tws_processing")
    counts = json.loads((case.parent / "truth_counts.json").read_text("utf-8"))
    newest = [count for count in counts if count["ver"] == 8 and count["cf"] is not None]
    helpers = [item["rows"] for item in newest if re.match(r"\$(?!.*_keyTo)", item["cf"])]
    summary = api.audit(str(case)).summary
    assert summary["helper_rows"] == sum(helpers) == 40
    assert 0 < summary["helper_row_bytes"] < summary["row_bytes"]
    assert "helper_rows" not in api.audit(str(checkpoint_of("rocksdb_agg_update"))).summary
