"""Tables that Spark writes itself, by the command line and the active session."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inspector import api
from inspector.analyses.shared.run import Run
from inspector.cli.export_files import FORMATS
from inspector.engines.arrow_encoding import encode, encode_type
from inspector.engines.choose import EngineOptions
from inspector.exceptions import EngineError
from inspector.render.as_arrow import arrow_table
from tests.checkpoint_files import contents_below
from tests.cli.support import Outcome, checkpoint_of, copy_of, run
from tests.reports import cell_values
from tests.spark.support import as_arrow, told
from tests.spark_support import WITH_SPARK

pytestmark = [*WITH_SPARK, pytest.mark.usefixtures("spark")]

LEAK = checkpoint_of("fmgws_event_ignore")


def test_the_command_line_knows_what_can_be_written() -> None:
    from inspector.spark.writing import WRITERS

    assert tuple(WRITERS) == FORMATS


def on_spark(*args: str | Path) -> Outcome:
    return run(*args, "--engine", "spark")


def parquet(folder: Path, schema: pa.Schema) -> list[str]:
    """The rows of a folder as Spark reads them, as text and sorted."""
    from pyspark.sql import SparkSession

    assert (folder / "_SUCCESS").exists()
    session: Any = SparkSession.getActiveSession()
    return as_arrow(session.read.parquet(str(folder)), schema)


def locally(
    path: Path, subject: Any = "rows", **options: Any
) -> Iterator[tuple[str, pa.Schema, list[str]]]:
    """Name, schema and rows of each table by the engine in this process, as Spark carries them."""
    for table in api.export(subject, str(path), **options):
        yield table.name, table.schema, as_encoded(table.batches, table.schema)


def as_encoded(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> list[str]:
    target = pa.schema([(item.name, encode_type(item.type)) for item in schema])
    return told([encode(batch, target) for batch in batches], target)


@pytest.mark.parametrize("subject", ["rows", "changes"])
def test_export_writes_folder_per_store(tmp_path: Path, subject: str) -> None:
    path = checkpoint_of("join_left_outer")
    done = on_spark("export", subject, path, "-O", tmp_path / "out")
    assert (done.code, done.out) == (0, "")
    for name, schema, rows in locally(path, subject):
        assert parquet(tmp_path / "out" / name, schema) == rows
        assert f"/out/{name}: {len(rows)} {subject}, written by Spark\n" in done.err


def test_export_of_one_store_is_folder_itself(tmp_path: Path) -> None:
    out = tmp_path / "rows"
    assert on_spark("export", "rows", checkpoint_of("wide_value"), "-O", out, "--raw").code == 0
    ((_, schema, rows),) = locally(checkpoint_of("wide_value"), raw=True)
    assert parquet(out, schema) == rows


def test_export_overwrites_with_force_only(tmp_path: Path) -> None:
    out = tmp_path / "rows"
    assert on_spark("export", "rows", LEAK, "-O", out).code == 0
    ((_, schema, rows),) = locally(LEAK)
    again = on_spark("export", "rows", LEAK, "-O", out)
    assert (again.code, again.err) == (2, f"error: {out} exists; --force overwrites it\n")
    assert on_spark("export", "rows", LEAK, "-O", out, "--force", "-q").err == ""
    assert parquet(out, schema) == rows


def test_export_reports_and_omits_unreadable_partitions(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    done = on_spark("export", "changes", path, "-O", tmp_path / "out")
    assert done.code == 4
    assert f"problem: {path}/state/0/1/5.delta: byte 0: " in done.err
    assert "Traceback" not in done.err
    ((_, schema, rows),) = locally(path, "changes")
    assert parquet(tmp_path / "out", schema) == rows


def local_rows() -> list[dict[str, Any]]:
    """Return the exported rows of the only store of the fixture, by the engine in this process."""
    (table,) = api.export("rows", str(LEAK))
    return list(pa.Table.from_batches(table.batches, table.schema).to_pylist())


def test_json_lines(tmp_path: Path) -> None:
    assert on_spark("export", "rows", LEAK, "-O", tmp_path / "o", "--format", "ndjson").code == 0
    lines = b"".join(contents_below(tmp_path / "o", "*.json").values()).splitlines()
    local = local_rows()
    for row in local:
        if row["expires_at"] is not None:
            row["expires_at"] = row["expires_at"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert sorted(map(repr, map(json.loads, lines))) == sorted(map(repr, local))


def test_csv_has_nested_values_as_json(tmp_path: Path) -> None:
    assert on_spark("export", "rows", LEAK, "-O", tmp_path / "o", "--format", "csv").code == 0
    rows = []
    for file in (tmp_path / "o").glob("*.csv"):
        rows += list(csv.DictReader(file.read_text().splitlines()))
    keys = map(json.loads, cell_values(rows, "key"))
    local_keys = cell_values(local_rows(), "key")
    assert sorted(cell_values(keys, "value")) == sorted(cell_values(local_keys, "value"))
    assert set(cell_values(rows, "partition_id")) == {"0", "1"}


def test_spark_writes_no_arrow(tmp_path: Path) -> None:
    done = on_spark("export", "rows", LEAK, "-O", tmp_path / "rows.arrow")
    assert done.code == 2
    assert "Spark writes no arrow" in done.err


def test_export_writes_nothing_into_checkpoint(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    before = sorted(path.rglob("*"))
    for out in (path / "out", f"file:{path}/out"):
        assert on_spark("export", "rows", path, "-O", out).code == 2
        assert on_spark("leftovers", path, "-o", "parquet", "-O", out).code == 2
    assert sorted(path.rglob("*")) == before


# --- leftovers -------------------------------------------------------------------------------


def test_export_of_all_leftover_keys(tmp_path: Path) -> None:
    done = on_spark("leftovers", LEAK, "-o", "parquet", "-O", tmp_path / "o", "--fail-on", "error")
    assert (done.code, done.err) == (1, f"{tmp_path}/o: 68 keys, written by Spark\n")
    table = arrow_table(api.leftovers(str(LEAK)), structs=False)
    rows = as_encoded(table.to_batches(), table.schema)
    assert parquet(tmp_path / "o", table.schema) == rows


def test_leftovers_need_output_folder_without_limit() -> None:
    done = on_spark("leftovers", LEAK, "-o", "ndjson")
    assert done.code == 2
    assert "name a folder with -O, or list some with --limit N" in done.err
    assert len(on_spark("leftovers", LEAK, "-o", "ndjson", "--limit", "3").ndjson) == 3


def test_export_of_leftovers_reports_problems(tmp_path: Path) -> None:
    path = copy_of("fmgws_event_ignore", tmp_path)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    done = on_spark("leftovers", path, "-o", "csv", "-O", tmp_path / "o")
    assert done.code == 4
    assert f"problem: {path}/state/0/1/5.delta: byte 0: " in done.err


def test_a_place_that_cannot_be_written_is_an_error_in_one_line(spark: Any, tmp_path: Path) -> None:
    from inspector.spark.writing import write_stores

    (tmp_path / "file").write_text("")
    options = api.Options(engine=EngineOptions("spark", session=spark))
    with pytest.raises(EngineError, match=r"^Spark: .*file") as error:
        write_stores(
            Run.start(str(LEAK), options), "rows", f"{tmp_path}/file/x", "parquet", force=False
        )
    assert "\n" not in str(error.value)
