"""Errors of the data source: as PySpark's workers report them, without a Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector.api import Options
from inspector.exceptions import CheckpointError
from tests.cli.support import checkpoint_of, copy_of
from tests.spark.support import spark_release
from tests.spark_support import WITH_SPARK

AGG = checkpoint_of("agg_append")

pytestmark = pytest.mark.skipif(spark_release() < (4, 0), reason="3.5 has no data sources")


def with_spark(function: Any) -> Any:
    """Marks of a test on a real Spark."""
    for mark in WITH_SPARK:
        function = mark(function)
    return function


WORKER = """
import io, sys
from pyspark.util import handle_worker_exception
from inspector.spark import InspectorDataSource
def read(reader, schema):
    for part in reader.partitions():
        list(reader.read(part))
try:
    source = InspectorDataSource({options!r})
    schema = source.schema()
    read(source.reader(schema), schema)
except BaseException as error:
    out = io.BytesIO()
    handle_worker_exception(error, out)
    print(out.getvalue()[8:].decode())
"""


def reported(options: dict[str, str], *, worker: bool = True) -> str:
    """What a worker sends to Spark when the source fails."""
    location = {"PYTHON_WORKER_FACTORY_PORT": "1"} if worker else {}
    done = subprocess.run(
        [sys.executable, "-c", WORKER.format(options=options)],
        env={**os.environ, **location},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"path": str(AGG), "tablee": "rows"}, "got option 'tablee', expected table, joinSide"),
        ({"path": str(AGG), "where": "usr=a"}, "no field 'usr'; did you mean key.user?"),
        ({"path": "/nowhere"}, "/nowhere: got nothing at this path"),
    ],
)
def test_a_mistake_is_one_line(options: dict[str, str], sentence: str) -> None:
    text = reported(options)
    assert "\n" not in text.removeprefix("Traceback (most recent call last):\n")  # as 4.0 has it
    assert "File " not in text
    assert sentence in text
    assert "inspector.exceptions." in text


def test_a_file_that_cannot_be_read_is_one_line_too(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    for delta in path.glob("state/0/1/*.delta"):
        delta.write_bytes(b"junk")
    text = reported({"path": str(path)})
    assert "File " not in text
    assert "1.delta: " in text


def test_elsewhere_the_stack_stays() -> None:
    assert "Traceback" in reported({"path": "/nowhere"}, worker=False)


def test_unexpected_exception_keeps_stack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHON_WORKER_FACTORY_PORT", "1")
    monkeypatch.delenv("SPARK_HIDE_TRACEBACK", raising=False)
    from inspector.spark.source import in_one_sentence

    with pytest.raises(ZeroDivisionError), in_one_sentence():
        _ = 1 / 0
    assert "SPARK_HIDE_TRACEBACK" not in os.environ
    assert not hasattr(sys, "tracebacklimit")
    monkeypatch.delenv("PYTHON_WORKER_FACTORY_PORT")
    error = CheckpointError("once")
    error.__cause__ = OSError("underneath")
    with pytest.raises(CheckpointError, match="once"), in_one_sentence():
        raise error
    assert error.__cause__ is None


@with_spark
def test_spark_shows_the_sentence_and_no_stack(spark: Any, tmp_path: Path) -> None:
    from inspector.spark import InspectorDataSource

    spark.dataSource.register(InspectorDataSource)
    source = spark.read.format("inspector")
    with pytest.raises(Exception, match="got option 'tablee', expected table") as caught:
        source.option("tablee", "rows").load(str(AGG))
    assert_no_stack(str(caught.value))
    path = copy_of("agg_append", tmp_path)
    for delta in path.glob("state/0/1/*.delta"):
        delta.write_bytes(b"junk")
    with pytest.raises(Exception, match=r"1\.delta: ") as caught:
        spark.read.format("inspector").load(str(path)).collect()
    assert_no_stack(str(caught.value).partition("JVM stacktrace")[0])


def assert_no_stack(text: str) -> None:
    """Nothing of Python's frames is in an error of Spark."""
    assert 'File "' not in text
    assert "pyspark/" not in text


@with_spark
def test_leftovers_have_structs_and_row_bytes_in_spark(spark: Any) -> None:
    from inspector import spark as on_spark

    path = str(checkpoint_of("fmgws_event_ignore"))
    frame = on_spark.leftovers(spark, path, Options(key="value=once-000"))
    (row,) = frame.select("key.value", "row_bytes", "key_bytes", "value_bytes").collect()
    assert row.value == "once-000"
    assert row.row_bytes == row.key_bytes + row.value_bytes == 96
