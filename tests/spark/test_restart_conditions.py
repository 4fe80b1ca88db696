"""What a restart depends on besides the state files, compared with restarts of a Spark."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.discovery.restart import Restart
from inspector.discovery.restart_conditions import ASYNC_PROGRESS, SINK_EVOLUTION
from tests.spark.support import spark_release
from tests.spark.test_claims import STREAMING, settings, source, write
from tests.spark_support import WITH_SPARK

pytestmark = [
    *WITH_SPARK,
    pytest.mark.skipif(spark_release() < (4, 3), reason="sink evolution came with 4.2"),
]
SHUFFLE = "spark.sql.shuffle.partitions"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def error_of(frame: Any, checkpoint: Path, mode: str = "update", sink: str = "") -> str:
    """Run a query over what is there and not yet read; the error that it ended with, or no text."""
    writer = frame.writeStream.outputMode(mode).format("noop").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(checkpoint))
    if sink:  # PySpark has no name for sinks yet
        writer._jwrite = writer._jwrite.name(sink)
    try:
        query = writer.start()
        query.awaitTermination()
    except Exception as failure:  # noqa: BLE001 - Spark's and py4j's own
        return str(failure)
    return ""


def restart(root: Path) -> Restart:
    verdict = api.audit(str(root)).verdict
    assert verdict is not None
    assert verdict.restart is not None
    return verdict.restart


def counts(spark: Any, folder: Path) -> Any:
    return source(spark, folder, "k STRING, n LONG").groupBy("k").count()


def copy(root: Path, name: str) -> Path:
    return Path(shutil.copytree(root, root.with_name(name)))


def test_a_commit_log_with_sinks_needs_sink_evolution(spark: Any, tmp_path: Path) -> None:
    for batch in range(2):
        write(tmp_path / "in", batch, [{"k": "a", "n": batch}])
    with settings(spark, {SINK_EVOLUTION: "true"}):
        assert error_of(counts(spark, tmp_path / "in"), tmp_path / "ck", sink="out") == ""
    assert [*map(str, restart(tmp_path / "ck").conditions)] == [f"{SINK_EVOLUTION}=true"]
    write(tmp_path / "in", 2, [{"k": "a", "n": 2}])
    off = copy(tmp_path / "ck", "off")
    for _ in range(2):
        error = error_of(counts(spark, tmp_path / "in"), off)
        assert "VERSION_3 commit log requires a non-empty sinkMetadataMap" in error
    assert (off / "offsets/2").exists()
    assert not (off / "commits/2").exists()
    with settings(spark, {SINK_EVOLUTION: "true"}):
        assert error_of(counts(spark, tmp_path / "in"), tmp_path / "ck", sink="out") == ""


def edit(files: Any, pattern: str, text: str) -> None:
    for file in files:
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        file.write_text(re.sub(pattern, text, file.read_text("utf-8")), "utf-8")


def test_partition_count_is_recovered_from_metadata(spark: Any, tmp_path: Path) -> None:
    for batch in range(2):
        write(tmp_path / "in", batch, [{"k": f"k{n}", "n": batch} for n in range(20)])
    with settings(spark, {f"{STREAMING}.offsetLog.formatVersion": "2", SHUFFLE: "3"}):
        assert error_of(counts(spark, tmp_path / "in"), tmp_path / "ck") == ""
    edit((tmp_path / "ck/offsets").glob("[0-9]*"), f',?"{re.escape(SHUFFLE)}":"3"', "")
    write(tmp_path / "in", 2, [{"k": "k1", "n": 2}])
    lost, second = copy(tmp_path / "ck", "lost"), copy(tmp_path / "ck", "other")
    shutil.rmtree(lost / "state/0/_metadata")
    edit([second / "state/0/_metadata/metadata"], '"numPartitions":3', '"numPartitions":5')
    expected = [restart(root).possible for root in (tmp_path / "ck", lost, second)]
    assert expected == [True, False, False]
    with settings(spark, {SHUFFLE: "5"}):
        errors = [
            error_of(counts(spark, tmp_path / "in"), root)
            for root in (tmp_path / "ck", lost, second)
        ]
    assert errors[0] == ""
    assert "Failed to recover the state-store partition count" in errors[1]
    assert "CANNOT_READ_DELTA_FILE_NOT_EXISTS" in errors[2]
    assert restart(tmp_path / "ck").batch == 3


@pytest.mark.parametrize("version", ["3", "4"])
def test_a_join_restarts_where_it_was_moved(spark: Any, tmp_path: Path, version: str) -> None:
    sides = []
    for side in ("left", "right"):
        write(tmp_path / side, 0, [{side: 1, f"{side}At": "2024-01-01T00:00:00Z"}])
        stream = source(spark, tmp_path / side, f"{side} INT, {side}At TIMESTAMP")
        sides.append(stream.withWatermark(f"{side}At", "1 second"))
    joined = sides[0].join(sides[1], sides[0].left == sides[1].right)
    confs = {
        f"{STREAMING}.stateStore.providerClass": ROCKSDB,
        f"{STREAMING}.join.stateFormatVersion": version,
    }
    with settings(spark, confs):
        assert error_of(joined, tmp_path / "ck", "append") == ""
        moved = (tmp_path / "ck").rename(tmp_path / "moved")
        assert restart(moved).is_plain
        write(tmp_path / "left", 1, [{"left": 1, "leftAt": "2024-01-01T00:00:01Z"}])
        assert error_of(joined, moved, "append") == ""


def test_asynchronous_progress_needs_its_option(spark: Any, tmp_path: Path) -> None:
    def run(checkpoint: Path, seconds: float, *, is_on: bool) -> str:
        rows = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
        writer = rows.writeStream.format("noop").trigger(processingTime="50 milliseconds")
        writer = writer.option("checkpointLocation", str(checkpoint))
        if is_on:
            writer = writer.option(ASYNC_PROGRESS, "true")
        query = writer.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and query.isActive:
            time.sleep(0.1)
        failure = query.exception()
        query.stop()
        return "" if failure is None else str(failure)

    root = tmp_path / "ck"
    for _ in range(5):  # until the entry before the newest is not there
        assert run(root, 4, is_on=True) == ""
        newest = max(int(entry.name) for entry in (root / "offsets").glob("[0-9]*"))
        if newest > 0 and not (root / "offsets" / str(newest - 1)).exists():
            break
    else:
        pytest.skip("each batch had an entry")
    result = restart(root)
    assert [*map(str, result.conditions)] == [f"{ASYNC_PROGRESS}=true"]
    assert not api.audit(str(root)).problems
    off = copy(root, "off")
    # "batch N does not exist", or "previous batch N not found" if the newest has no commit
    assert f"atch {newest - 1} " in run(off, 10, is_on=False)
    assert run(root, 4, is_on=True) == ""
