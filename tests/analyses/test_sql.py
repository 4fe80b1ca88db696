"""``inspector sql``: views of the state, the columns that a query reads, and relations."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import inspector
from inspector import api
from inspector.analyses.sql import Session
from inspector.analyses.sql.database import Database, conjuncts
from inspector.analyses.sql.views import Needs, View, flat_columns
from inspector.exceptions import CheckpointError, EngineError, InspectorError
from tests.attributes import attributes
from tests.cases import hdfs_cases, rocksdb_cases
from tests.checkpoint_files import overwrite_files
from tests.cli.support import checkpoint_of, copy_of

FEW = ("agg_append", "join_left_outer", "rocksdb_tws_event", "fmgws_event_ignore", "agg_global")
ALL = [case / "checkpoint" for case in (*hdfs_cases(), *rocksdb_cases())]


def _name(checkpoint: Path) -> str:
    """Return release and name of a fixture."""
    return "/".join(checkpoint.parts[-3:-1])


def as_duckdb(array: Any) -> Any:
    """Return an array in the type that DuckDB returns; a duration becomes an interval."""
    if not pa.types.is_duration(array.type):
        return array
    micros = array.view(pa.int64()).to_pylist()
    parts: Any = [None if us is None else (0, 0, us * 1000) for us in micros]
    return pa.array(parts, pa.month_day_nano_interval())


def flat(column: Any) -> list[Any]:
    """Return the fields of a struct column as lists."""
    array = column.combine_chunks()
    parts = array.flatten() if pa.types.is_struct(array.type) else []
    return [as_duckdb(part).to_pylist() for part in parts]


@pytest.mark.parametrize(
    "checkpoint",
    [
        *(pytest.param(checkpoint_of(name), id=name) for name in FEW),
        *(pytest.param(path, id=_name(path), marks=pytest.mark.full) for path in ALL[::5]),
    ],
)
def test_view_has_the_rows_of_an_export(checkpoint: Path) -> None:
    path = str(checkpoint)
    session = Session(path)
    for table in api.export("rows", path):
        operator, _, store = table.name.partition(".")
        words = re.findall(r"[^\W_]+", store.lower())
        name = "_".join([operator.replace("operator-", "op"), *words])
        expected = pa.Table.from_batches(table.batches, table.schema)
        relation = session.database.run(f"from {name}")
        assert relation is not None
        result = relation.to_arrow_table()
        fields = [*flat(expected.column("key")), *flat(expected.column("value"))]
        columns = [column.to_pylist() for column in result.columns[2 : 2 + len(fields)]]
        assert repr(columns) == repr(fields), "as texts, because NaN differs from itself"
        assert result.column("key_bytes").to_pylist() == expected.column("key_bytes").to_pylist()


def test_group_by_sums_row_bytes() -> None:
    path = str(checkpoint_of("fmgws_event_ignore"))
    query = "select value, sum(row_bytes) as bytes from op0_default group by 1 order by 2 desc, 1"
    relation = inspector.open_checkpoint(path).sql(query)
    rows = relation.fetchall()
    assert len(rows) == 128
    assert sum(row[1] for row in rows) == 6464 + 6240, "as inspector sizes --by partition has them"
    assert relation.fetchall() == rows, "a relation reads the state again"


@pytest.mark.parametrize(("side", "count"), [("left", 61), ("right", 15)])
def test_join_sides_have_short_view_names(side: str, count: int) -> None:
    path = str(checkpoint_of("join_left_outer"))
    assert api.sql(path, f"select count(*) from op0_{side}").fetchall() == [(count,)]
    long_name = f"op0_{side}_keywithindextovalue"
    assert api.sql(path, f"select count(*) from {long_name}").fetchall() == [(count,)]


@pytest.mark.parametrize(
    ("name", "count"),
    [("files", 30), ("findings", 1), ("leftovers", 80), ("offsets", 14), ("versions", 28)],
)
def test_checkpoint_tables_are_views(name: str, count: int) -> None:
    path = str(checkpoint_of("trouble_kept_timeouts"))
    assert api.sql(path, f"select count(*) from {name}").fetchall() == [(count,)]


def test_keys_of_leftovers_are_json_texts() -> None:
    query = "select typeof(key), key from leftovers order by key_hex limit 1"
    result = api.sql(str(checkpoint_of("fmgws_event_ignore")), query).fetchall()
    assert result == [("VARCHAR", '{"value": "back-000"}')]


def test_leftovers_join_with_findings() -> None:
    path = str(checkpoint_of("trouble_kept_timeouts"))
    query = "select count(*) from leftovers, findings where id = 'SS203'"
    assert api.sql(path, query).fetchall() == [(80,)]


def test_changes_of_a_store_are_a_view() -> None:
    path = str(checkpoint_of("fmgws_event_ignore"))
    query = "select event, count(*) from op0_default_changes group by 1 order by 1"
    assert api.sql(path, query).fetchall() == [("insert", 128), ("update", 179)]


def test_batch_and_partition_options() -> None:
    path = str(checkpoint_of("fmgws_event_ignore"))
    query = "select distinct batch_id, partition_id from op0_default"
    options = api.Options(batch=3, partition_id=1)
    assert api.sql(path, query, options).fetchall() == [(3, 1)]


def test_limit_bounds_the_rows() -> None:
    path = str(checkpoint_of("fmgws_event_ignore"))
    assert len(api.sql(path, "from op0_default", limit=7).fetchall()) == 7


def test_views_are_listed_without_a_query() -> None:
    names = {name for name, *_ in api.sql(str(checkpoint_of("agg_append"))).fetchall()}
    assert {"op0_default", "findings"} <= names


# --- what a query reads ----------------------------------------------------------------------


def recording(read: list[Needs]) -> View:
    columns: Any = [("a", pa.int64()), ("b", pa.string()), ("partition_id", pa.int32())]
    schema = pa.schema(columns)

    def rows(needs: Needs) -> Iterator[pa.RecordBatch]:
        read.append(needs)
        yield from ()

    return View("v", "A row.", schema, rows, (0, 1, 2, 3))


@pytest.mark.parametrize(
    ("query", "columns", "partitions"),
    [
        ("from v", frozenset({"a", "b", "partition_id"}), None),
        ("select sum(a) from v", frozenset({"a"}), None),
        ("select count(*) from v", frozenset(), None),
        ("select a from v where partition_id = 2", None, frozenset({2})),
        ("select a from v where partition_id in (1, 3)", None, frozenset({1, 3})),
        ("select a from v where partition_id between 1 and 2", None, frozenset({1, 2})),
        ("select a from v where partition_id = 2 and a > 5", None, frozenset({2})),
        ("select a from v where partition_id = 2 or a > 5", frozenset({"a", "partition_id"}), None),
        (
            "select a from v where partition_id = 1 and b = 'x AND partition_id = 2'",
            None,
            frozenset({1}),
        ),
        ("select a from v where partition_id > 7", None, frozenset()),
    ],
)
def test_query_reads_only_needed_columns_and_partitions(
    query: str, columns: frozenset[str] | None, partitions: frozenset[int] | None
) -> None:
    read: list[Needs] = []
    relation = Database([recording(read)]).run(query)
    assert relation is not None
    relation.fetchall()
    assert read
    assert set(attributes(read, "columns")) == {columns}
    assert set(attributes(read, "partitions")) == {partitions}


def test_two_scans_of_a_view_read_the_union_of_partitions() -> None:
    read: list[Needs] = []
    query = "select x.a, y.b from v x, v y where x.partition_id = 1 and y.partition_id = 3"
    relation = Database([recording(read)]).run(query)
    assert relation is not None
    relation.fetchall()
    assert set(attributes(read, "partitions")) == {frozenset({1, 3})}


def test_files_of_other_partitions_are_not_read(tmp_path: Path) -> None:
    path = copy_of("fmgws_event_ignore", tmp_path)
    overwrite_files(path, "state/0/0/*.delta", b"spoilt")
    query = "select count(*) from op0_default where partition_id = 1"
    assert api.sql(str(path), query).fetchall() == [(63,)]
    with pytest.raises(Exception, match="delta"):
        api.sql(str(path), "select count(*) from op0_default").fetchall()


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        ("a = 1", ["a = 1"]),
        ("((a = 1) AND (b = 2))", ["(a = 1)", "(b = 2)"]),
        ("(a = 1) OR (b = 2)", []),
        ("((a = 1) AND (b = 2)) OR (c = 3)", []),
        ("(a = 1) AND ((b = 2) OR (c = 3))", ["(a = 1)", "((b = 2) OR (c = 3))"]),
        ("(b = 'x AND a = 1')", []),
    ],
)
def test_conjuncts_of_a_condition(condition: str, parts: list[str]) -> None:
    assert [part.strip() for part in conjuncts(condition)] == parts


def test_conjuncts_of_a_condition_in_nested_parentheses() -> None:
    first, second = conjuncts("((a = 1) AND (b = 2))")
    assert (first.strip(), second.strip()) == ("(a = 1)", "(b = 2)")


def test_duplicate_column_names_get_prefixes() -> None:
    key = pa.struct([("user", pa.string()), ("row_bytes", pa.int64())])
    value = pa.struct([("User", pa.int64()), ("n", pa.int64())])
    sizes = [("key_bytes", pa.int64()), ("value_bytes", pa.int64())]
    columns: Any = [("partition_id", pa.int32()), *sizes, ("key", key), ("value", value)]
    typed = pa.schema(columns)
    assert attributes(flat_columns(typed), "name") == [
        *("partition_id", "user", "key_row_bytes", "value_User", "n"),
        *("key_bytes", "value_bytes", "row_bytes"),
    ]


def test_row_without_schema_is_binary() -> None:
    columns: Any = [("partition_id", pa.int32()), ("key", pa.binary()), ("value", pa.binary())]
    typed = pa.schema(columns)
    assert attributes(flat_columns(typed), "name", "kind") == [
        ("partition_id", pa.int32()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("row_bytes", pa.int64()),
    ]


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("choose 1", "syntax error"),
        ("from nothing", "nothing does not exist"),
        ("copy (select 1) to '{folder}/x.csv'", "file system operations are disabled"),
        ("from read_csv('{folder}/y.csv')", "file system operations are disabled"),
        ("attach '{folder}/z.db'", "file system operations are disabled"),
        ("install httpfs", "disabled"),
    ],
)
def test_invalid_or_unsafe_query_is_refused(query: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "y.csv").write_text("a\n1\n", "utf-8")
    with pytest.raises(CheckpointError, match="DuckDB refuses the query") as raised:
        api.sql(str(checkpoint_of("agg_append")), query.format(folder=tmp_path)).fetchall()
    assert words in str(raised.value)
    assert attributes(tmp_path.iterdir(), "name") == ["y.csv"]


def test_missing_duckdb_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(EngineError, match=r"pip install 'spark-state-inspector\[sql\]'"):
        api.sql(str(checkpoint_of("agg_append")), "select 1")


def test_relation_fails_on_an_unreadable_delta(tmp_path: Path) -> None:
    path = copy_of("fmgws_event_ignore", tmp_path)
    (path / "state" / "0" / "0" / "5.delta").write_bytes(b"spoilt")
    query = "select count(*) from op0_default"
    with pytest.raises(Exception, match=r"5\.delta"):
        api.sql(str(path), query).fetchall()
    assert api.sql(str(path), query, mode="dropmalformed").fetchall() == [(63,)]


def test_missing_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InspectorError):
        api.sql(str(tmp_path / "nothing"), "select 1")
