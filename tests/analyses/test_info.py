"""``info`` says what the listing and the small files say."""

import shutil
from pathlib import Path
from typing import Any

from inspector import api
from inspector.render.report import Report
from tests.cli.support import checkpoint_of, copy_of
from tests.fixture_folder import FIXTURES, NEWEST


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


def test_metadata_that_is_not_there_is_no_proof_of_an_older_release(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    shutil.rmtree(path / "state/0/_metadata")
    (path / "offsets/0").unlink()
    newer, older = (
        {row["what"]: row["format"] for row in tables(api.info(str(item)))["formats"]}
        for item in (path, FIXTURES / "3.5.9/agg_append/checkpoint")
    )
    subject = "metadata of operator 0"
    assert newer[subject] == "none (the query began with Spark 3.5 or older, or it is lost)"
    assert older[subject] == "none (Spark 3.5 and older)"


def test_state_variables_are_listed_with_what_they_hold() -> None:
    report = api.info(str(NEWEST / "rocksdb_tws_processing" / "checkpoint"))
    table = next(item for item in report.tables if item.name == "variables")
    rows = {row["store_name"]: row for row in table.rows}
    assert {name: row["holds"] for name, row in rows.items() if row["ttl"] is not None} == {
        **dict.fromkeys(("total", "seen"), "value"),
        **dict.fromkeys(("amounts", "recent"), "list"),
        **dict.fromkeys(("pages", "visited"), "map"),
    }
    assert {name for name, row in rows.items() if row["ttl"]} == {"seen", "recent", "visited"}
    assert all(row["declared"] for row in rows.values() if row["ttl"] is not None)
    assert {row["time_mode"] for row in rows.values()} == {"ProcessingTime"}
    assert {row["output_mode"] for row in rows.values()} == {"Update"}
    assert rows["$ttl_visited"]["variable"] == "visited"
    assert rows["$procTimers_keyToTimestamp"]["holds"] == "timers"
    assert "default" not in rows
