"""The public API as its users write it: mypy checks this file, and pytest runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import inspector
from inspector import InspectorError, api
from inspector.api import Finding, Options, Problem, Redact, Report, Severity, Table, TimeoutKind
from tests.fixture_folder import NEWEST

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LEAK = str(NEWEST / "fmgws_event_ignore" / "checkpoint")


def leaks(path: str, options: Options | None = None) -> list[tuple[str, int | None]]:
    """Findings of an audit that matter, with the rows that they concern."""
    report: Report = api.audit(path, options)
    grave: list[Finding] = [f for f in report.findings if f.severity >= Severity.WARNING]
    return [(finding.kind.id, finding.rows) for finding in grave]


def test_findings_are_read() -> None:
    assert ("SS203", 68) in leaks(LEAK)
    assert leaks(LEAK, Options(partition_id=0, timeout_kind=TimeoutKind.EVENT_TIME))


def test_tables_are_arrow_and_pandas() -> None:
    report = api.leftovers(LEAK, Options(redact=Redact.HASH), limit=10)
    keys: pa.Table = api.arrow_table(report)
    assert keys.num_rows == 10
    frame = api.arrow_table(report, "classes").to_pandas()
    assert int(frame["keys"].sum()) == 68
    with pytest.raises(KeyError):
        api.arrow_table(report, "nothing")


def test_a_report_is_written_as_json() -> None:
    report = api.sizes(LEAK, by="partition")
    table: Table = report.primary
    document = json.loads("".join(api.render(report, "json")))
    assert [column["name"] for column in document["columns"][table.name]] == [
        c.name for c in table.columns
    ]
    assert document["complete"] is report.complete is True


def test_problems_and_errors(tmp_path: Path) -> None:
    problems: list[Problem] = list(api.verify(LEAK).problems)
    assert problems == []
    with pytest.raises(api.NotACheckpointError) as caught:
        api.info(str(tmp_path))
    error: InspectorError = caught.value
    assert error.path == str(tmp_path)


def test_rows_of_each_store_keep_their_types() -> None:
    (table,) = api.export("rows", LEAK, mode="failfast")
    store: api.StoreTable = table
    rows = pa.Table.from_batches(store.batches, store.schema)
    assert rows.num_rows == api.sizes(LEAK).summary["rows"]
    assert pa.types.is_struct(rows.schema.field("key").type)


def test_open_checkpoint_serves_several_analyses() -> None:
    run = api.Opened.start(LEAK, Options(engine=api.EngineOptions("local")))
    assert api.sizes(run).summary["version"] == api.top(run, limit=1).summary["version"] == 13


def on_spark(spark: SparkSession, path: str) -> DataFrame:
    """Tables in a session; only type checkers come here."""
    import inspector.spark as on

    report: Report = on.audit(spark, path)
    rows = on.rows(spark, path, Options(operator_id=0), raw=True, mode="permissive")
    on.changes(spark, path, from_batch=3, mode="dropmalformed").unionByName(rows)
    on.versions(spark, path).join(on.files(spark, path), "partition_id")
    assert report.complete
    return on.leftovers(spark, path, on.Options(batch=4)).groupBy("class").count()


def test_public_names_are_listed() -> None:
    assert set(inspector.__all__) == set(dir(inspector))
    assert {"Report", "Options", "Redact", "Finding", "Unit"} <= set(dir(api))
    assert callable(on_spark)
    assert callable(misspelt)


def opened(path: Path) -> pa.Table:
    """An open checkpoint: its methods and their keywords have types."""
    checkpoint = inspector.open_checkpoint(path, batch=4, redact="hash")
    report: Report = checkpoint.leftovers(limit=3, key="value=once-000", where=["value>a"])
    tables: list[api.StoreTable] = checkpoint.export("rows", raw=True)
    assert len(tables) == 1
    result: str = report._repr_html_()
    assert json.dumps(report.to_dict())
    assert result.startswith("<div")
    return report.to_arrow("leftovers")


def test_an_open_checkpoint_is_typed() -> None:
    assert opened(Path(LEAK)).num_rows <= 3


def misspelt(checkpoint: api.OpenCheckpoint) -> None:
    """What type checkers refuse; only they come here."""
    checkpoint.adit()  # type: ignore[attr-defined]
    checkpoint.top(limits=3)  # type: ignore[call-arg]
    checkpoint.top(limit="3")  # type: ignore[arg-type]
    inspector.open_checkpoint("/c", bach=3)  # type: ignore[call-arg]
