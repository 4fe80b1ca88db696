"""What sentences of findings say that Spark does, held against a Spark."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.findings.catalogue import PARTITION_COUNT
from inspector.operators import join
from tests.spark.support import spark_release
from tests.spark_support import WITH_SPARK

pytestmark = WITH_SPARK
since_4_0 = pytest.mark.skipif(
    spark_release() < (4, 0), reason="Spark 3.5 has no source statestore and other error classes"
)
PARTITIONS = 2


def write(folder: Path, number: int, lines: list[dict[str, Any]]) -> None:
    """One more file of a source: one more batch."""
    folder.mkdir(exist_ok=True)
    file = folder / f"{number}.json"
    file.write_text("\n".join(map(json.dumps, lines)))
    os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def source(spark: Any, folder: Path, schema: str) -> Any:
    """The files of a folder as a stream, one to a batch."""
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


def run(frame: Any, checkpoint: Path, mode: str) -> list[Any]:
    """What a query says of its batches, until it has read what is there."""
    writer = frame.writeStream.outputMode(mode).format("noop")
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return list(query.recentProgress)


@since_4_0
def test_a_missing_partition_fails_a_query_and_is_left_out_by_the_reader(
    spark: Any, tmp_path: Path
) -> None:
    assert "the next batch of the query fails" in PARTITION_COUNT.to_do
    assert "leaves out missing partitions behind the last one" in PARTITION_COUNT.to_do
    write(tmp_path / "in", 0, [{"user": f"u{n}"} for n in range(20)])
    counted = source(spark, tmp_path / "in", "user STRING").groupBy("user").count()
    run(counted, tmp_path / "ck", "update")

    def users(checkpoint: Path) -> int:
        return int(spark.read.format("statestore").load(str(checkpoint)).count())

    assert users(tmp_path / "ck") == 20
    for missing in range(PARTITIONS):
        damaged = tmp_path / f"without-{missing}"
        shutil.copytree(tmp_path / "ck", damaged)
        shutil.rmtree(damaged / "state" / "0" / str(missing))
        if missing == PARTITIONS - 1:
            assert 0 < users(damaged) < 20
    write(tmp_path / "in", 1, [{"user": f"u{n}"} for n in range(20)])
    with pytest.raises(Exception, match="CANNOT_READ_DELTA_FILE_NOT_EXISTS"):
        run(counted, tmp_path / f"without-{PARTITIONS - 1}", "update")


@since_4_0
def test_a_join_whose_condition_uses_no_event_time_has_none_in_its_state(
    spark: Any, tmp_path: Path
) -> None:
    """Both sides have a watermark, which moves, and no row goes."""
    sides = []
    for side in ("left", "right"):
        for batch in range(3):
            rows = [{side: n, f"{side}At": f"2024-01-01T0{batch}:00:00Z"} for n in range(5)]
            write(tmp_path / side, batch, rows)
        stream = source(spark, tmp_path / side, f"{side} INT, {side}At TIMESTAMP")
        sides.append(stream.withWatermark(f"{side}At", "1 second"))
    joined = sides[0].join(sides[1], sides[0].left == sides[1].right).select("left")
    progress = run(joined, tmp_path / "ck", "append")
    removed = [one["stateOperators"][0]["numRowsRemoved"] for one in progress]
    assert progress[-1]["eventTime"]["watermark"] > "2024-01-01T00"
    assert not any(removed)

    stores = [
        row
        for row in api.info(str(tmp_path / "ck")).primary.rows
        if row["store_name"] in join.VALUE_STORES
    ]
    assert len(stores) == 2
    for store in stores:
        assert "in the state carries a watermark" in store["expires"], store
        assert "watermarkDelayMs" not in str(store["value_schema"])
