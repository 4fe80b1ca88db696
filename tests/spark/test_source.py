"""The data source against the same tables made in this process, and against Spark's own source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inspector import analyses
from inspector.analyses.shared.data_tables import plan_table
from inspector.analyses.shared.declare import TableOptions, TablePlan
from inspector.analyses.shared.options import Options
from inspector.engines.arrow_encoding import encode_schema
from inspector.exceptions import CheckpointError, InspectorError
from inspector.model import ProblemMode, TimeoutKind
from tests.attributes import attributes
from tests.cases import hdfs_cases
from tests.cli.support import checkpoint_of, copy_of
from tests.spark.support import (
    CHOSEN,
    TYPED,
    as_arrow,
    damaged,
    here,
    spark_release,
    tables_of,
    told,
)
from tests.spark_support import WITH_SPARK

pytestmark = [
    *WITH_SPARK,
    pytest.mark.skipif(spark_release() < (4, 0), reason="3.5 has no data sources in Python"),
]
since_4_1 = pytest.mark.skipif(spark_release() < (4, 1), reason="4.0 hands over no filters")

STRICT = TableOptions(mode=ProblemMode.FAILFAST)
AGG = checkpoint_of("agg_append")
MODED = (*TYPED, "versions", "leftovers")


def reader_of(path: Path | None, **options: str) -> Any:
    """The source's reader, as it arrives on a worker."""
    from pyspark.sql.datasource import CaseInsensitiveDict

    from inspector.spark.source import InspectorDataSource

    arguments = {} if path is None else {"path": str(path)}
    source = InspectorDataSource(CaseInsensitiveDict(arguments | options))
    return source.reader(source.schema())


def read(reader: Any, schema: pa.Schema) -> list[str]:
    """Everything that a reader reads, as workers do it."""
    from pyspark import cloudpickle

    pickler: Any = cloudpickle
    reader, parts = pickler.loads(pickler.dumps((reader, reader.partitions())))
    target = encode_schema(schema)
    batches = [batch for part in parts for batch in reader.read(part)]
    return told((batch.cast(target) for batch in batches), target)


# --- the reader by itself --------------------------------------------------------------------


def options_of(name: str, table: TablePlan) -> dict[str, str]:
    options = table.run.options
    result = {"table": name} | ({"mode": "permissive"} if name in MODED else {})
    if name in TYPED:
        result |= {"operatorId": str(options.operator_id), "storeName": str(options.store_name)}
    return result


def test_every_table_of_many_fixtures(tmp_path: Path) -> None:
    fixtures = [path / "checkpoint" for path in hdfs_cases("4.3.0")][::3]
    assert len(fixtures) > 20
    rows = 0
    for path in (*fixtures, *damaged(tmp_path)):
        for name, table in tables_of(path):
            if name in ("findings", "problems") and path in fixtures:
                continue  # judged anew by each reader
            expected = here(table)
            reader = reader_of(path, **options_of(name, table))
            assert read(reader, table.schema) == expected, (path, name)
            rows += len(expected)
    assert rows > 3_000


def test_the_heaviest_partitions_come_first() -> None:
    reader = reader_of(checkpoint_of("fmgws_event_ignore"), table="changes")
    table = plan_table(str(checkpoint_of("fmgws_event_ignore")), "changes", None, STRICT)
    heaviest = sorted(table.work, key=lambda entry: -entry.weight)
    assert attributes(reader.partitions(), "spec") == attributes(heaviest, "spec")
    assert len(set(attributes(heaviest, "weight"))) > 1


def test_partitions_do_not_show_what_they_hold() -> None:
    (first, *_) = reader_of(AGG).partitions()
    assert repr(first) == "_Part(0)"
    assert str(AGG) in first.spec


def test_a_table_without_tasks_is_read_as_empty() -> None:
    from pyspark.sql.datasource import InputPartition

    reader = reader_of(AGG, table="problems")
    assert reader.partitions() == []
    assert list(reader.read(InputPartition(None))) == []


# --- options ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "questions", "typed"),
    [
        ({}, Options(), {}),
        ({"batchId": "4"}, Options(batch=4), {}),
        ({"BATCHID": "4"}, Options(batch=4), {}),
        ({"operatorId": "0", "storeName": "default"}, Options(), {}),
        ({"snapshotPartitionId": "1"}, Options(partition_id=1), {}),
        ({"raw": "true"}, Options(), {"raw": True}),
        ({"raw": "False"}, Options(), {}),
        ({"mode": "PERMISSIVE"}, Options(), {"mode": ProblemMode.PERMISSIVE}),
        ({"table": "changes", "changeStartBatchId": "3"}, Options(), {"from_batch": 3}),
        ({"table": "changes", "changeEndBatchId": "3"}, Options(batch=3), {}),
        ({"table": "leftovers", "batchId": "3"}, Options(batch=3), {}),
        ({"pushdown": "true"}, Options(), {}),
        ({"storage.auto_mkdir": "false"}, Options(storage_options={"auto_mkdir": "false"}), {}),
    ],
)
def test_options(options: dict[str, str], questions: Options, typed: dict[str, Any]) -> None:
    name = options.get("table", "rows")
    table = plan_table(
        str(AGG), name, questions, TableOptions(**{"mode": ProblemMode.FAILFAST} | typed)
    )
    reader = reader_of(AGG, **options)
    assert sorted(attributes(reader.partitions(), "spec")) == sorted(attributes(table.work, "spec"))
    assert read(reader, table.schema) == here(table)


@pytest.mark.parametrize(
    ("case", "rows"),
    [
        ("join_left_outer", "keyWithIndexToValue"),
        ("rocksdb_join_left_outer_v4", "keyWithTsToValues"),
    ],
)
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_side_of_a_join(side: str, case: str, rows: str) -> None:
    path = checkpoint_of(case)
    table = plan_table(str(path), "rows", Options(store_name=f"{side}-{rows}"), STRICT)
    assert read(reader_of(path, joinSide=side), table.schema) == here(table) != []


def test_the_clock_of_timers() -> None:
    path = checkpoint_of("fmgws_timer_only")

    def specs_by(kind: TimeoutKind) -> list[str]:
        table = plan_table(str(path), "leftovers", Options(timeout_kind=kind), STRICT)
        result = sorted(attributes(table.work, "spec"))
        reader = reader_of(path, table="leftovers", timeoutKind=kind.value)
        assert sorted(attributes(reader.partitions(), "spec")) == result
        return result

    assert specs_by(TimeoutKind.EVENT_TIME) != specs_by(TimeoutKind.PROCESSING_TIME)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "state"}, "got table 'state', expected one of findings, changes,"),
        ({"batch": "3"}, "got option 'batch', expected table, .*, batchId, .* or storage.NAME"),
        ({"batchId": "-1"}, "option batchId is '-1', expected a number from 0 on"),
        ({"batchId": "x"}, "option batchId is 'x', expected a number"),
        ({"operatorId": "1.5"}, "option operatorId is '1.5', expected a number"),
        ({"snapshotPartitionId": ""}, "option snapshotPartitionId is '', expected a number"),
        ({"batchId": "99"}, "99"),
        ({"operatorId": "7"}, "no such operator, store or partition"),
        ({"storeName": "x"}, "no such operator, store or partition"),
        ({"joinSide": "up"}, "joinSide is left or right"),
        ({"joinSide": "left", "storeName": "default"}, "goes without storeName"),
        ({"raw": "yes"}, "option raw is 'yes', expected true or false"),
        ({"pushdown": "1"}, "option pushdown is '1', expected true or false"),
        ({"mode": "lax"}, "option mode is 'lax', expected failfast, permissive, dropmalformed"),
        (
            {"table": "leftovers", "timeoutKind": "x"},
            "option timeoutKind is 'x', expected event, processing",
        ),
        ({"changeStartBatchId": "1"}, "changeStartBatchId is of table changes, got table 'rows'"),
        ({"table": "versions", "raw": "true"}, "raw is of table changes or rows, got"),
        ({"table": "files", "mode": "permissive"}, "option mode is of table changes or leftovers"),
        ({"timeoutKind": "event"}, "timeoutKind is of table findings or leftovers"),
        (
            {"table": "changes", "batchId": "1", "changeEndBatchId": "2"},
            "which mean the same: give one",
        ),
    ],
)
def test_unsupported_data_source_options_are_errors(options: dict[str, str], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        reader_of(AGG, **options)


def test_without_a_path() -> None:
    with pytest.raises(CheckpointError, match=r"no path is given, expected load\(path\)"):
        reader_of(None)


# --- filters ---------------------------------------------------------------------------------


@since_4_1
def test_filters_on_the_partition_leave_out_the_others() -> None:
    from pyspark.sql import datasource as pushed

    location = ("partition_id",)
    narrowing: list[tuple[Any, set[int]]] = [
        (pushed.EqualTo(location, 1), {1}),
        (pushed.EqualNullSafe(location, 0), {0}),
        (pushed.In(location, (1, 5)), {1}),
        (pushed.EqualTo(location, 7), set()),
        (pushed.EqualTo(("version",), 1), {0, 1}),
        (pushed.GreaterThan(location, 0), {0, 1}),
        (pushed.Not(pushed.EqualTo(location, 1)), {0, 1}),
    ]
    for item, expected in narrowing:
        reader = reader_of(AGG, table="changes", pushdown="true")
        assert len(reader.partitions()) == 2
        # Spark goes on to apply them: rows of problems may be of any partition.
        assert list(reader.pushFilters([item])) == [item]
        assert {number_of(part) for part in reader.partitions()} == expected
    reader = reader_of(AGG, table="changes", pushdown="true")
    reader.pushFilters([pushed.EqualTo(location, 1), pushed.In(location, (0,))])
    assert reader.partitions() == []


def number_of(part: Any) -> int:
    return int(json.loads(part.spec)["task"]["partition_id"])


@since_4_1
@pytest.mark.parametrize("table", ["rows", "versions"])
def test_filters_keep_listing_problems(tmp_path: Path, table: str) -> None:
    from pyspark.sql.datasource import EqualTo

    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").unlink()
    reader = reader_of(path, table=table, mode="permissive", pushdown="true")
    all_of_it = read(reader, schema_for(path, table))
    reader.pushFilters([EqualTo(("partition_id",), 1)])
    result = of_partition_1(all_of_it)
    assert "missing-delta" in "\n".join(result)
    assert of_partition_1(read(reader, schema_for(path, table))) == result


def of_partition_1(rows: list[str]) -> list[str]:
    """Return the rows, which are texts, of partition 1."""
    return [row for row in rows if "'partition_id': 1," in row]


def schema_for(path: Path, table: str) -> pa.Schema:
    return plan_table(str(path), table, None, TableOptions(mode=ProblemMode.PERMISSIVE)).schema


def test_filters_are_pushed_only_with_option() -> None:
    # Where the conf is off, Spark refuses a source that has it.
    assert "pushFilters" not in vars(type(reader_of(AGG)))
    assert "pushFilters" in vars(type(reader_of(AGG, pushdown="true")))


# --- in Spark --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def registered(spark: Any) -> Any:
    from inspector.spark.source import InspectorDataSource

    spark.dataSource.register(InspectorDataSource)
    # What Spark 4.2 needs for its own source, and starts for a streaming query only.
    assert spark.streams.active == []
    return spark


def load(spark: Any, path: Path, **options: str) -> Any:
    return spark.read.format("inspector").options(**options).load(str(path))


@pytest.mark.parametrize("table", TYPED)
@pytest.mark.parametrize("case", CHOSEN)
def test_rows_and_changes_of_every_operator(registered: Any, case: str, table: str) -> None:
    path, store = checkpoint_of(case), CHOSEN[case]
    here_of = plan_table(str(path), table, Options(store_name=store), STRICT)
    frame = load(registered, path, table=table, storeName=store)
    assert frame.columns == here_of.schema.names
    expected = here(here_of)
    assert as_arrow(frame, here_of.schema) == expected != []


@pytest.mark.parametrize("table", sorted({*analyses.data_tables()} - {*TYPED}))
def test_other_tables_of_data_source(registered: Any, table: str, tmp_path: Path) -> None:
    path = copy_of("fmgws_event_ignore", tmp_path)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    here_of = plan_table(str(path), table, None, TableOptions(mode=ProblemMode.PERMISSIVE))
    mode = {"mode": "permissive"} if table in MODED else {}
    frame = load(registered, path, table=table, **mode)
    expected = here(here_of)
    assert as_arrow(frame, here_of.schema) == expected != []


def test_rows_are_the_default_and_sql_may_ask_for_them(registered: Any) -> None:
    frame = registered.read.format("inspector").load(str(AGG))
    frame.createOrReplaceTempView("state_rows")
    query = "SELECT partition_id, count(*), sum(value.count) FROM state_rows GROUP BY 1 ORDER BY 1"
    assert list(map(tuple, registered.sql(query).collect())) == [(0, 56, 63), (1, 44, 47)]


def test_an_empty_table(registered: Any) -> None:
    frame = load(registered, AGG, table="problems")
    assert frame.collect() == []
    assert "message" in frame.columns


def test_errors_are_seen_as_they_are_worded(registered: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="option batchId is 'x', expected a number from 0 on"):
        load(registered, AGG, batchId="x")
    with pytest.raises(Exception, match=r"no path is given, expected load\(path\)"):
        registered.read.format("inspector").load()
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    frame = load(registered, path)
    with pytest.raises(Exception, match=r"state/0/1/5\.delta: byte 0: .*'permissive'"):
        frame.collect()


@since_4_1
def test_pushdown_in_spark(registered: Any) -> None:
    name = "spark.sql.python.filterPushdown.enabled"
    before = registered.conf.get(name)
    registered.conf.set(name, "true")
    try:
        frame = load(registered, AGG, table="changes", pushdown="true").where("partition_id = 1")
        assert frame.rdd.getNumPartitions() == 1
        of_1 = plan_table(str(AGG), "changes", Options(partition_id=1), STRICT)
        assert as_arrow(frame, of_1.schema) == here(of_1)
    finally:
        registered.conf.set(name, before)
    plain = load(registered, AGG, table="changes").where("partition_id = 1")
    assert plain.rdd.getNumPartitions() == 2


# --- Spark's own source ----------------------------------------------------------------------

SAME = [
    ("agg_append", {"batchId": "7"}),
    ("fmgws_event_ignore", {"batchId": "8", "operatorId": "0"}),
    ("join_left_outer", {"storeName": "left-keyToNumValues"}),
    ("session_window", {}),
]


@pytest.mark.parametrize(("case", "options"), SAME)
def test_rows_are_those_of_spark_s_source_statestore(
    registered: Any, case: str, options: dict[str, str]
) -> None:
    path = checkpoint_of(case)
    ours = load(registered, path, **options).select("partition_id", "key", "value")
    reader = registered.read.format("statestore").options(**options)
    spark_s = reader.load(str(path)).select("partition_id", "key", "value")
    assert sorted(map(repr, ours.collect())) == sorted(map(repr, spark_s.collect())) != []


@pytest.mark.parametrize(("case", "last"), [("agg_append", 8), ("session_window", 8)])
def test_changes_are_those_of_spark_s_change_feed_and_more(
    registered: Any, case: str, last: int
) -> None:
    questions, path = (
        {"changeStartBatchId": "1", "changeEndBatchId": str(last)},
        checkpoint_of(case),
    )
    reader = (
        registered.read.format("statestore").option("readChangeFeed", "true").options(**questions)
    )
    columns = ("batch_id", "change_type", "partition_id", "key", "value")
    spark_s = sorted(map(repr, reader.load(str(path)).select(*columns).collect()))
    ours = load(registered, path, table="changes", raw="true", **questions).cache()
    kind = "if(value IS NULL, 'delete', 'update') AS change_type"
    same = ours.selectExpr("batch_id", kind, "partition_id", "key", "value")
    assert sorted(map(repr, same.collect())) == spark_s != []
    # What Spark's feed does not tell: the value that was there, and whether it is the same.
    updates, same_values = ours.where("event = 'update'"), ours.where("event = 'same_value'")
    changed = updates.where("old_value IS NOT NULL AND old_value_row != value_row")
    assert changed.where("NOT same_value").count() == updates.count() > 0
    unchanged = same_values.where("old_value IS NOT NULL AND old_value_row = value_row")
    assert unchanged.where("same_value").count() == same_values.count()
    assert (same_values.count() > 0) is (case == "session_window")


def test_problems_of_the_listing_are_refused(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").unlink()
    with pytest.raises(InspectorError, match="'permissive' tells it in a column"):
        reader_of(path)
    assert reader_of(path, mode="dropmalformed").partitions()
