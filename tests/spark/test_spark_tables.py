"""A history of audits that Spark writes and reads, in formats that every Spark has.

Iceberg takes the same way: a table of a catalog. Delta takes that of a path.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inspector import api
from inspector.engines.choose import EngineOptions
from inspector.exceptions import CheckpointError, EngineError
from inspector.model import Subset
from inspector.render import audit_history
from inspector.render.audit_history import HistoryTable, Proofs, Record, row_of_failure, rows_of
from tests.cli.support import checkpoint_of
from tests.spark_support import WITH_SPARK

pytestmark = WITH_SPARK

LEAK = str(checkpoint_of("fmgws_event_ignore"))
THEN = datetime(2026, 3, 1, 23, 59, 59, 123456, timezone.utc)


def rows(when: datetime) -> list[audit_history.Row]:
    return [*rows_of(api.audit(LEAK), when), row_of_failure("/gone", "got nothing", "audit", when)]


def in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([("audited", "ascending"), ("checkpoint", "ascending")])


@pytest.fixture
def engine(spark: Any) -> EngineOptions:
    return EngineOptions(session=spark)


@pytest.mark.parametrize("location", ["orc", "default.audits_of_a_test"])
def test_spark_table_equals_local_table(
    location: str, tmp_path: Path, spark: Any, engine: EngineOptions
) -> None:
    named = "." in location
    where = location if named else str(tmp_path / location)
    history = HistoryTable(where, {}, "orc", engine)
    assert history.read() is None
    for day in range(2):
        history.append(rows(THEN + timedelta(days=day)))
        HistoryTable(str(tmp_path / "plain"), {}).append(rows(THEN + timedelta(days=day)))
    plain, read = HistoryTable(str(tmp_path / "plain"), {}).read(), history.read()
    assert plain is not None
    assert read is not None
    assert in_order(read).equals(in_order(plain).cast(read.schema))
    frame = spark.read.table(where) if named else spark.read.orc(where)
    assert {str(row["day"]) for row in frame.collect()} == {"2026-03-01", "2026-03-02"}
    options = api.Options(engine=engine)
    report = api.trend(where, options, history_format="orc").to_dict()
    expected = api.trend(str(tmp_path / "plain")).to_dict()
    assert report["summary"]["audits"] == 2
    assert (report["rows"], report["tables"]) == (expected["rows"], expected["tables"])
    if named:
        spark.sql(f"DROP TABLE {where}")
    else:
        by_spark = api.trend(str(tmp_path / "plain"), options).to_dict()
        assert by_spark["tables"] == expected["tables"]


def test_proofs_are_remembered_there_too(tmp_path: Path, engine: EngineOptions) -> None:
    history = HistoryTable(str(tmp_path / "proofs"), {}, "orc", engine)
    record = Record(history, "verify", is_newest=True)
    record.add(api.verify(LEAK, subset="1/2"))
    record.write()
    assert Proofs.in_history(history).next(LEAK, 2) == Subset(2, 2)


@pytest.mark.parametrize(
    ("form", "package"),
    [
        ("delta", "add io.delta:delta-spark_2.1"),
        ("iceberg", "add org.apache.iceberg:iceberg-spark-runtime-"),
        ("nobodys", "add its package"),
    ],
)
def test_a_format_that_spark_has_not_is_named_with_its_package_before_the_work(
    form: str, package: str, tmp_path: Path, engine: EngineOptions
) -> None:
    with pytest.raises(EngineError, match=f"no data source {form}: {package}"):
        HistoryTable(str(tmp_path / "h"), {}, form, engine)
    assert not list(tmp_path.iterdir())


def test_unwritable_spark_table_is_error(tmp_path: Path, engine: EngineOptions) -> None:
    (tmp_path / "file").write_text("x")
    history = HistoryTable(str(tmp_path / "file" / "h"), {}, "orc", engine)
    with pytest.raises(EngineError, match="Spark, on the table"):
        history.append(rows(THEN))


def test_the_files_of_a_delta_table_are_not_read_as_they_are(tmp_path: Path) -> None:
    HistoryTable(str(tmp_path), {}).append(rows(THEN))
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(CheckpointError, match="--history-format delta --engine spark"):
        api.trend(str(tmp_path))
