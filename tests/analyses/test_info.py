"""``info`` says what the listing and the small files say."""

from pathlib import Path
from typing import Any

from inspector import api
from inspector.render.report import Report
from tests.cli.support import checkpoint_of, copy_of


def tables(report: Report) -> dict[str, list[Any]]:
    return {table.name: list(table.rows) for table in report.tables}


def test_confs_say_where_they_come_from() -> None:
    path = str(checkpoint_of("dedup_no_watermark"))
    confs = {row["conf"]: row for row in tables(api.info(path))["confs"]}
    shuffle = confs["spark.sql.shuffle.partitions"]
    assert (shuffle["value"], shuffle["origin"]) == ("5", "recorded")


def test_a_store_without_schema_has_none(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/_metadata/schema").unlink()
    (row,) = tables(api.info(str(path)))["stores"]
    assert row["key_schema"] is row["value_schema"] is None
    assert row["expires"].startswith("unknown: ")
    assert row["operator_name"] == "stateStoreSave"
