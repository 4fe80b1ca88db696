"""Against a real Spark: its types, its own reader, and files that we wrote."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from compare_with_spark import Pairs, equal

from inspector import api
from inspector.discovery.checkpoint import open_checkpoint
from inspector.facts.registry import facts_schema
from inspector.schemas import TASKS
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, copy_of, replace_state
from tests.encode import Record, row
from tests.listings import newest_batch
from tests.reports import cell_values
from tests.spark.support import spark_release
from tests.spark_support import WITH_SPARK

pytestmark = WITH_SPARK
since_4_0 = pytest.mark.skipif(
    spark_release() < (4, 0), reason="Spark 3.5 has no source statestore to compare with"
)

TIME_FORMAT = (
    "map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\", 'ignoreNullFields', 'false')"
)
USERS = 40


def test_spark_knows_the_types_of_every_column(spark: Any) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    assert spark.version
    assert _fields(to_arrow_schema(from_arrow_schema(TASKS))) == _fields(TASKS)
    facts = facts_schema()
    assert _fields(to_arrow_schema(from_arrow_schema(facts))) == _fields(facts)


def _fields(schema: pa.Schema) -> str:
    return str(attributes(schema, "name", "type")).replace("element", "item")


# --- Spark's own reader ----------------------------------------------------------------------


def by_spark(spark: Any, path: Path, batch: int) -> list[tuple[int, Any, Any]]:
    """Partition, key and value of each row, by Spark's source ``statestore``."""
    frame = spark.read.format("statestore").option("batchId", batch).load(str(path))
    rows = frame.selectExpr(
        "partition_id", f"to_json(key, {TIME_FORMAT})", f"to_json(value, {TIME_FORMAT})"
    ).collect()
    return [(p, _json(key), _json(value)) for p, key, value in rows]


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=Pairs)


def by_inspector(path: Path, batch: int) -> list[tuple[int, Any, Any]]:
    report = api.rows(str(path), api.Options(batch=batch))
    rows = cell_values(report.primary.rows, "partition_id", "key", "value")
    assert report.complete
    return rows


def assert_same(spark_rows: list[tuple[int, Any, Any]], ours: list[tuple[int, Any, Any]]) -> None:
    """Both have the same rows; Spark's JSON may repeat a name, ours has ``name#2``."""
    assert len(spark_rows) == len(ours) > 0
    left = sorted(spark_rows, key=_row_order)
    for first, second in zip(left, sorted(ours, key=_row_order), strict=True):
        assert first[0] == second[0]
        assert equal(first[1], second[1]), (first, second)
        assert equal(first[2], second[2]), (first, second)


def _row_order(result: tuple[int, Any, Any]) -> str:
    key = result[1] if isinstance(result[1], Pairs) else list(result[1].items())
    return repr((result[0], [_flat(value) for _, value in key]))


def _flat(value: Any) -> Any:
    if isinstance(value, Pairs):
        return [_flat(element) for _, element in value]
    return [_flat(item) for item in value.values()] if isinstance(value, dict) else value


@pytest.fixture(scope="module")
def live(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a query that ran a moment ago: four batches of counts and means."""
    folder = tmp_path_factory.mktemp("live")
    source = folder / "source"
    source.mkdir()
    for batch in range(4):
        lines = [
            json.dumps(
                {
                    "at": f"2024-01-01T00:00:{10 * batch + n % 10:02}.5Z",
                    "user": f"user-{n * (batch + 1) % USERS}" if n else None,
                    "price": f"{n * 1000003}.25",
                }
            )
            for n in range(60)
        ]
        file = source / f"{batch}.json"
        file.write_text("\n".join(lines))
        os.utime(file, (1_700_000_000 + batch, 1_700_000_000 + batch))
    query = (
        spark.readStream.schema("at TIMESTAMP, user STRING, price DECIMAL(20,2)")
        .option("maxFilesPerTrigger", 1)
        .json(str(source))
        .withWatermark("at", "5 seconds")
        .groupBy("user", "at")
        .agg({"*": "count", "price": "avg"})
        .writeStream.outputMode("update")
        .format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert query.exception() is None
    return folder / "checkpoint"


@since_4_0
@pytest.mark.parametrize("back", [0, 2])
def test_rows_of_new_query_equal_rows_of_spark(spark: Any, live: Path, back: int) -> None:
    newest = newest_batch(live, "commits")
    assert newest >= 3
    ours = by_inspector(live, newest - back)
    assert_same(by_spark(spark, live, newest - back), ours)
    assert "count#2" in ours[0][2], "count(*) and avg() both keep a field named count"


def test_checkpoint_of_spark_has_no_problems(live: Path) -> None:
    report = api.verify(str(live))
    assert (list(report.problems), list(report.findings)) == ([], [])


@since_4_0
@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy", "zstd"])
def test_spark_reads_the_files_of_the_test_encoder(spark: Any, codec: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    for file in (path / "offsets").iterdir():
        text = file.read_text().replace('compression.codec":"lz4"', f'compression.codec":"{codec}"')
        file.write_text(text)
    (schema,) = open_checkpoint(str(path)).operators[0].schemas.values()

    def entry(number: int, total: int | None) -> Record:
        start = 1_704_067_200_000_000 + number
        key = row(schema.key, [(start, start + 20_000_000), f"user-{number:04}" * (number % 7)])
        return key, None if total is None else row(schema.value, [total, -total, start])

    deltas: dict[tuple[int, int], list[Record]] = {
        (0, 1): [entry(n, n) for n in range(3000)],
        (0, 5): [entry(n, -n) for n in range(0, 3000, 3)],
        (0, 9): [entry(n, None) for n in range(0, 3000, 2)],
        (1, 1): [entry(4, 2**62)],
        (1, 10): [entry(4, None), entry(5, 5)],
    }
    replace_state(path, None, deltas, codec)
    for batch, expected in ((9, 1501), (4, 3001)):
        ours = by_inspector(path, batch)
        assert len(ours) == expected
        assert_same(by_spark(spark, path, batch), ours)


@since_4_0
def test_installed_spark_reads_fixture_alike(spark: Any) -> None:
    path = checkpoint_of("fmgws_event_ignore")
    assert_same(by_spark(spark, path, 12), by_inspector(path, 12))


@since_4_0
def test_fact_counts_equal_rows_of_spark(spark: Any, live: Path) -> None:
    rows = by_spark(spark, live, 2)
    sizes = api.sizes(str(live), api.Options(batch=2), by="partition").primary.rows
    assert dict(cell_values(sizes, "partition_id", "rows")) == Counter(p for p, *_ in rows)
