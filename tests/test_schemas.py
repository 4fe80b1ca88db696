"""The batches that cross the pipeline: by name, complete, of types that Spark accepts."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from inspector.schemas import (
    CHANGES,
    DIFF,
    ROWS,
    TASKS,
    batch_of,
    int64_array,
    record_batch,
    repeat_value,
    spans_of,
)
from tests.fixture_folder import NEWEST

EVERY = {"TASKS": TASKS, "CHANGES": CHANGES, "DIFF": DIFF, "ROWS": ROWS}


@pytest.mark.parametrize("schema", EVERY.values(), ids=EVERY)
def test_schema_types_convert_to_spark_and_back(schema: pa.Schema) -> None:
    accepted = {pa.int32(), pa.int64(), pa.binary(), pa.string(), pa.bool_()}
    for column in schema:
        plain = column.type.value_type if pa.types.is_list(column.type) else column.type
        assert plain in accepted, column
    assert len(set(schema.names)) == len(schema)


def test_columns_are_matched_by_name_with_null_default() -> None:
    batch = record_batch(ROWS, {"value": [b"v", None], "kind": ["row", "row"]}, 2)
    assert batch.schema.equals(ROWS)
    assert batch.column("kind").to_pylist() == ["row", "row"]
    assert batch.column("value").to_pylist() == [b"v", None]
    assert batch.column("key").to_pylist() == [None, None]
    assert batch.column("offset").null_count == 2


def test_rows_may_lack_different_columns() -> None:
    batch = batch_of(TASKS, [{"task_id": 1}, {"spec": "{}"}])
    assert batch.to_pylist() == [{"task_id": 1, "spec": None}, {"task_id": None, "spec": "{}"}]
    assert batch_of(TASKS, []).num_rows == 0


def test_array_is_cast_to_column_type() -> None:
    batch = record_batch(TASKS, {"task_id": pa.array([3], pa.int8())}, 1)
    assert batch.column("task_id").type == pa.int64()
    assert batch.to_pylist() == [{"task_id": 3, "spec": None}]


@pytest.mark.parametrize(
    "build",
    [
        lambda row: batch_of(ROWS, [row]),
        lambda row: record_batch(ROWS, {name: [value] for name, value in row.items()}, 1),
    ],
)
def test_misspelt_column_is_refused(build) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(KeyError, match="keey"):
        build({"keey": b"k"})


@pytest.mark.parametrize("value", ["one", 1 << 70, b"1"])
def test_value_of_wrong_type_is_refused(value: object) -> None:
    with pytest.raises((pa.ArrowException, OverflowError)):
        batch_of(TASKS, [{"task_id": value}])
    for name, second in (("store_name", 7), ("store_name", ["a"]), ("key", 7), ("key", [1])):
        with pytest.raises(pa.ArrowException):
            batch_of(ROWS, [{name: second}])


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int32(), [1, None, -(1 << 31)]),
        (pa.int64(), [None, (1 << 63) - 1]),
        (pa.bool_(), [True, None, False] * 5),
        (pa.string(), ["", None, "ключ", "x" * 100]),
        (pa.binary(), [b"", None, bytearray(b"\xff"), b"ab"]),
        (pa.list_(pa.int64()), [[1, 2], None, [], (3, None)]),
    ],
)
def test_lists_convert_as_arrow_does(kind: pa.DataType, values: list[Any]) -> None:
    for item in (values, values[:1], []):
        schema = pa.schema([pa.field("a", kind)])
        result = record_batch(schema, {"a": item}, len(item)).column("a")
        result.validate(full=True)
        assert result.equals(pa.array(item, kind))


def test_numbers_with_nulls_become_int64_array() -> None:
    numbers, valid = np.array([3, 4, -1], np.int8), np.array([True, False, True])
    assert int64_array(numbers, valid).equals(pa.array([3, None, -1], pa.int64()))
    assert int64_array(np.arange(6)[::2]).equals(pa.array([0, 2, 4], pa.int64()))
    assert int64_array(np.empty(0, np.int64)).equals(pa.array([], pa.int64()))


@pytest.mark.parametrize(
    ("value", "kind"), [(7, pa.int64()), ("é", pa.string()), (b"", pa.binary())]
)
def test_scalar_is_repeated_in_every_row(value: Any, kind: Any) -> None:
    assert repeat_value(value, 2).equals(pa.array([value, value], kind))
    assert repeat_value(value, 0).equals(pa.array([], kind))


AGGREGATION = NEWEST / "agg_append" / "checkpoint"


def test_pandas_is_not_loaded() -> None:
    """Some 50 MB and a quarter of a second, where it is installed."""
    program = (
        "import sys; from inspector.schemas import *; "
        "batch_of(DIFF, [{'kind': 'row', 'key': b'k', 'rows': 1}]); "
        "from inspector.facts.registry import *; from inspector.facts.fact import *; "
        "from inspector.facts.ages import Ages; from inspector.model import StoreId; "
        "one = Observed(StoreId(0, 'default', 0), 1, Ages()); "
        "assert [*facts_in(fact_batch([one]))] == [one]; "
        "from inspector import api; import inspector.analyses.shared.run as run; run.MANY = 0; "
        f"assert [*api.sizes({str(AGGREGATION)!r}).primary.rows]; "
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)


@pytest.mark.parametrize("command", [("rows",), ("audit", "-o", "html")], ids=["rows", "page"])
def test_pandas_is_not_loaded_by_commands_that_show_rows(command: tuple[str, ...]) -> None:
    words = ["inspector", *command, str(AGGREGATION)]
    program = (
        f"import atexit, sys; sys.argv = {words!r}; "
        "atexit.register(lambda: print('pandas' in sys.modules, file=sys.stderr)); "
        "from inspector.cli.main import run; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stderr.endswith("False\n")
    assert done.stdout


def test_spans_of_sliced_binary_column() -> None:
    values = [b"", b"abc", b"d", b"ef"]
    complete = pa.array(values, pa.binary())
    for column, expected in (
        (complete, values),
        (complete.slice(1, 2), values[1:3]),
        (complete[:0], []),
    ):
        data, offsets, lengths = spans_of(column)
        result = [bytes(data)[a : a + n] for a, n in zip(offsets, lengths, strict=True)]
        assert result == expected
