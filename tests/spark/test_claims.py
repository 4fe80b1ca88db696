"""What sentences of findings say that Spark does, compared with a Spark.

Which sentence rests on which test is declared in ``tests/findings/test_claims.py``.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, count, product
from pathlib import Path
from typing import Any

import pytest
from fixtures.sparks import file_manager
from pyspark import sql

from inspector import api
from inspector.findings.integrity.ss109_partition_count import PartitionCount
from inspector.sparktypes.schema_json import parse_schema_json
from tests.checkpoint_files import paths_below, remove_paths
from tests.damage import read_state
from tests.encode import row, state_file
from tests.reports import cell_values, finding_ids, row_where, rows_where, slugs
from tests.rocks import as_spark_4_0
from tests.rocks_damage import DAMAGES, change_entry, restart_in
from tests.spark.support import spark_release
from tests.spark_support import WITH_SPARK, until

pytestmark = WITH_SPARK
since_4_0 = pytest.mark.skipif(
    spark_release() < (4, 0), reason="Spark 3.5 has no source statestore and other error classes"
)
since_4_3 = pytest.mark.skipif(spark_release() < (4, 3), reason="repartitioning came with 4.3")
USERS = [
    *("u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "u9"),
    *("u10", "u11", "u12", "u13", "u14", "u15", "u16", "u17", "u18", "u19"),
]
LINES = [{"user": user, "v": 0} for user in USERS]
KEY = parse_schema_json('{"type":"struct","fields":[{"name":"user","type":"string"}]}')
TOTAL = parse_schema_json('{"type":"struct","fields":[{"name":"sum(v)","type":"long"}]}')
STATE = Path("state", "0")
STREAMING = "spark.sql.streaming"


def write(folder: Path, number: int, lines: list[dict[str, Any]]) -> None:
    """One more file of a source: one more batch."""
    folder.mkdir(exist_ok=True)
    file = folder / f"{number}.json"
    file.write_text("\n".join(map(json.dumps, lines)))
    os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def source(spark: Any, folder: Path, schema: str) -> Any:
    """The files of a folder as a stream, one to a batch."""
    folder.mkdir(exist_ok=True)
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


def run(frame: Any, checkpoint: Path, mode: str) -> list[Any]:
    """What a query says of its batches, until it has read what is there."""
    writer = frame.writeStream.outputMode(mode).format("noop")
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return list(query.recentProgress)


def state_rows(spark: Any, checkpoint: Path, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of the state by Spark's own reader, as sorted tuples."""
    rows = spark.read.format("statestore").load(str(checkpoint)).select(*columns).collect()
    return sorted(map(tuple, rows))


def state_values(spark: Any, checkpoint: Path, column: str) -> list[Any]:
    """Return the sorted values of one column of the state by Spark's own reader."""
    return list(chain.from_iterable(state_rows(spark, checkpoint, column)))


def operator_numbers(progress: list[Any], name: str) -> list[int]:
    """Return a metric of the first stateful operator in each batch."""
    return [batch["stateOperators"][0][name] for batch in progress]


class Summed:
    """A checkpoint of sums by user, three batches old; two files of its source are still unread."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        write(folder / "in", 0, LINES)
        write(folder / "in", 1, LINES)
        write(folder / "in", 2, LINES)
        self.resume(folder / "ck")
        write(folder / "in", 3, LINES)
        write(folder / "in", 4, [{"user": USERS[0], "v": 0}])

    def resume(self, checkpoint: Path) -> list[Any]:
        """Run the query on what is unread; what it says of its batches."""
        rows = source(self.spark, self.folder / "in", "user STRING, v LONG")
        name, quick = file_manager(spark_release())
        # What is spoilt is read by the default one: not all that do so check Hadoop's sums.
        with settings(self.spark, {name: quick.replace("FileSystem", "FileContext")}):
            return run(rows.groupBy("user").sum("v"), checkpoint, "update")

    def copy(self, folder: Path) -> Path:
        """A checkpoint of the same content, to be spoilt."""
        return Path(shutil.copytree(self.folder / "ck", folder / "ck"))

    def rows(self, checkpoint: Path) -> list[Any]:
        """Return partition and user of each row."""
        return state_rows(self.spark, checkpoint, "partition_id", "key.user")

    def users(self, checkpoint: Path) -> list[Any]:
        """Return the user of each row."""
        return state_values(self.spark, checkpoint, "key.user")


@pytest.fixture(scope="module")
def summed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Summed:
    return Summed(spark, tmp_path_factory.mktemp("summed"))


@pytest.fixture(scope="module")
def summed_on_rocksdb(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Summed:
    with settings(spark, ON_ROCKSDB):
        return Summed(spark, tmp_path_factory.mktemp("summed_on_rocksdb"))


@contextmanager
def settings(spark: Any, confs: dict[str, str]) -> Iterator[None]:
    """Confs of the session, for a while."""
    before = {name: spark.conf.get(name, None) for name in confs}
    try:
        for name, setting in confs.items():
            spark.conf.set(name, setting)
        yield
    finally:
        for name, setting in before.items():
            spark.conf.unset(name) if setting is None else spark.conf.set(name, setting)


ON_ROCKSDB = {
    f"{STREAMING}.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}


def put_in_place(file: Path, data: bytes) -> None:
    """A file without the checksum that Hadoop wrote beside it."""
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    file.write_bytes(data)


@since_4_0
def test_missing_delta_stops_query(summed: Summed, tmp_path: Path) -> None:
    checkpoint = summed.copy(tmp_path)
    (checkpoint / STATE / "0" / "3.delta").unlink()
    with pytest.raises(Exception, match="CANNOT_READ_DELTA_FILE_NOT_EXISTS"):
        summed.resume(checkpoint)


@since_4_0
def test_a_snapshot_is_loaded_whatever_the_deltas_say(summed: Summed, tmp_path: Path) -> None:
    checkpoint = summed.copy(tmp_path)
    only = row(KEY, ["somebody else"]), row(TOTAL, [7])
    put_in_place(checkpoint / STATE / "0" / "3.snapshot", state_file([only]))
    first, second, *_ = summed.rows(checkpoint)
    assert first == (0, "somebody else")
    assert second[0] == 1


@since_4_0
def test_a_snapshot_of_an_attempt_that_failed_is_what_a_restart_loads(
    spark: Any, tmp_path: Path
) -> None:
    """The batch ran again in another output mode, which removes nothing: what it kept is lost."""
    changelogs = f"{STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled"
    write(tmp_path / "in", 0, [{"ts": "2024-01-01T00:00:00Z"}, {"ts": "2024-01-01T01:00:00Z"}])
    write(tmp_path / "in", 1, [{"ts": "2024-01-01T02:00:00Z"}])
    rows = source(spark, tmp_path / "in", "ts TIMESTAMP").withWatermark("ts", "0 seconds")
    counted = rows.groupBy(functions().window("ts", "10 seconds")).count()
    out = dict[int, int]()

    def run_as(mode: str, changelog: str, failing: int = -1) -> None:
        def act(frame: Any, batch: int) -> None:
            out[batch] = len(frame.collect())
            if batch == failing:
                raise ValueError("the sink is full")

        confs = {changelogs: changelog, f"{STREAMING}.noDataMicroBatches.enabled": "false"}
        with settings(spark, {**ON_ROCKSDB, **confs}):
            writer = counted.writeStream.outputMode(mode).foreachBatch(act)
            writer = writer.option("checkpointLocation", str(tmp_path / "ck"))
            writer.trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(Exception, match="the sink is full"):
        run_as("update", "false", failing=1)
    run_as("complete", "true")
    assert out[1] == 3
    result = set(finding_ids(api.audit(str(tmp_path / "ck"))))
    write(tmp_path / "in", 2, [{"ts": "2024-01-01T03:00:00Z"}])
    run_as("complete", "true")
    assert out[2] == 3, "without the window that the first attempt had removed"
    assert "SS104" in result


@since_4_0
def test_removals_of_absent_keys_are_loaded_as_they_are(summed: Summed, tmp_path: Path) -> None:
    checkpoint = summed.copy(tmp_path)
    before = summed.rows(checkpoint)
    records = [(row(KEY, ["nobody"]), None), (row(KEY, ["too late"]), row(TOTAL, [1]))]
    put_in_place(checkpoint / STATE / "0" / "3.delta", state_file(records))
    assert sorted(summed.rows(checkpoint)) == sorted([*before, (0, "too late")])
    summed.resume(checkpoint)


@since_4_0
def test_key_in_wrong_partition_gets_second_state(summed: Summed, tmp_path: Path) -> None:
    checkpoint = summed.copy(tmp_path)
    first, second, aside = checkpoint / STATE / "0", checkpoint / STATE / "1", tmp_path / "aside"
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
    (second / "_metadata").rename(first / "_metadata")
    summed.resume(checkpoint)
    assert len(summed.rows(checkpoint)) == 2 * len(USERS)


@since_4_3
def test_a_log_entry_that_was_changed_is_read_all_the_same(summed: Summed, tmp_path: Path) -> None:
    checkpoint = summed.copy(tmp_path)
    entry = checkpoint / "offsets" / "2"
    assert (entry.parent / ".2.crc").exists()
    valid, invalid = b'rocksdb.mergeOperatorVersion":"2"', b'rocksdb.mergeOperatorVersion":"3"'
    entry.write_bytes(entry.read_bytes().replace(valid, invalid))
    with pytest.raises(Exception, match="INVALID_CONF_VALUE"):
        summed.resume(checkpoint)


@since_4_0
@pytest.mark.parametrize(("end", "tail"), [(-1, b""), (-21, b""), (None, b"x" * 9)])
def test_bytes_after_delta_end_mark_are_ignored(
    summed: Summed, tmp_path: Path, end: int | None, tail: bytes
) -> None:
    """Neither is a file of state held against Hadoop's checksum file, which it fits no longer."""
    checkpoint = summed.copy(tmp_path)
    delta = checkpoint / STATE / "0" / "3.delta"
    assert delta.with_name(".3.delta.crc").exists()
    delta.write_bytes(delta.read_bytes()[:end] + tail)
    report = api.verify(str(checkpoint))
    assert set(slugs(report.problems)) == {"bad-tail", "file-checksum"}
    assert restart_in(report).possible
    assert cell_values(summed.resume(checkpoint), "batchId") == [3, 4]


@since_4_0
def test_a_batch_without_a_commit_runs_again(summed: Summed, tmp_path: Path) -> None:
    checkpoint = summed.copy(tmp_path)
    remove_paths(checkpoint, "commits/2", "commits/.2.crc")
    assert cell_values(summed.resume(checkpoint), "batchId")[:2] == [2, 3]


@since_4_0
def test_foreign_folders_are_never_opened_and_every_partition_writes_in_every_batch(
    summed: Summed, tmp_path: Path
) -> None:
    checkpoint = summed.copy(tmp_path)
    partition = checkpoint / STATE / "0"
    backup = partition / "backup"
    backup.mkdir()
    (backup / "3.delta").write_bytes(b"nothing that Spark could read")
    (partition / "3.delta.copy").write_bytes(b"nothing either")
    summed.resume(checkpoint)
    assert summed.users(checkpoint) == sorted(USERS)
    # The last batch had a row of one user.
    assert (checkpoint / STATE / "0/5.delta").exists()
    assert (checkpoint / STATE / "1/5.delta").exists()
    rows = api.sharing(str(checkpoint)).primary.rows
    assert sum(cell_values(rows_where(rows, version=2), "same_value_puts")) == len(USERS)
    assert sum(cell_values(rows_where(rows, version=3), "same_value_puts")) == len(USERS)


@since_4_3
def test_a_repartitioning_changes_the_partitions_and_has_to_finish(
    summed: Summed, tmp_path: Path
) -> None:
    """Of a checkpoint on RocksDB; the other provider is refused."""
    manager = summed.spark._streamingCheckpointManager
    with pytest.raises(Exception, match="UNSUPPORTED_PROVIDER"):
        manager.repartition(str(summed.copy(tmp_path / "hdfs")), 3)
    with settings(summed.spark, ON_ROCKSDB):
        change_partitions(Summed(summed.spark, tmp_path), manager, tmp_path)


def change_partitions(summed: Summed, manager: Any, folder: Path) -> None:
    """Repartition two checkpoints; one of them is taken for unfinished."""
    checkpoint = summed.folder / "ck"
    manager.repartition(str(checkpoint), 3)
    assert set(state_values(summed.spark, checkpoint, "partition_id")) == {0, 1, 2}
    unfinished = Path(shutil.copytree(checkpoint, folder / "unfinished"))
    summed.resume(checkpoint)
    assert summed.users(checkpoint) == sorted(USERS)

    remove_paths(unfinished, "commits/3", "commits/.3.crc")
    with pytest.raises(Exception, match="STREAMING_UNFINISHED_REPARTITION_DETECTED"):
        summed.resume(unfinished)
    with pytest.raises(Exception, match=r"(?i)repartition"):
        manager.repartition(str(unfinished), 5)
    manager.repartition(str(unfinished), 3)
    summed.resume(unfinished)
    assert summed.users(unfinished) == sorted(USERS)


def forget(checkpoint: Path, conf: str) -> None:
    """Make a log that does not tell a conf, as those of releases which did not have it."""
    for entry in (checkpoint / "offsets").glob("[0-9]*"):
        version, result, *sources = entry.read_text().split("\n")
        metadata = json.loads(result)
        del metadata["conf"][conf]
        put_in_place(entry, "\n".join((version, json.dumps(metadata), *sources)).encode())


@since_4_0
def test_a_checkpoint_keeps_the_format_that_it_began_with(spark: Any, tmp_path: Path) -> None:
    """Also one of Spark 2.3, whose log does not tell the format."""
    conf = f"{STREAMING}.aggregation.stateFormatVersion"

    def value_schema_after(batch: int, version: str) -> str:
        with settings(spark, {conf: version}):
            write(tmp_path / "in", batch, [{"user": "a"}])
            rows = source(spark, tmp_path / "in", "user STRING")
            run(rows.groupBy("user").count(), tmp_path / "ck", "update")
        (store,) = api.info(str(tmp_path / "ck")).primary.rows
        return str(store["value_schema"])

    assert "user" in value_schema_after(0, "1")
    assert "user" in value_schema_after(1, "2")
    forget(tmp_path / "ck", conf)
    assert "user" in value_schema_after(2, "2")


@since_4_0
def test_a_query_older_than_spark_3_3_may_lie_by_fewer_columns(spark: Any, tmp_path: Path) -> None:
    """Its log does not tell that the distribution is strict."""
    conf = f"{STREAMING}.statefulOperator.useStrictDistribution"
    lines = [{"a": a, "b": b} for a, b in product(range(8), repeat=2)]
    counted = source(spark, tmp_path / "in", "a INT, b INT").repartition("a").groupBy("a", "b")
    write(tmp_path / "in", 0, lines)
    with settings(spark, {conf: "false"}):
        run(counted.count(), tmp_path / "ck", "update")
    forget(tmp_path / "ck", conf)
    write(tmp_path / "in", 1, lines)
    with settings(spark, {conf: "true"}):
        run(counted.count(), tmp_path / "ck", "update")
    places = set(state_rows(spark, tmp_path / "ck", "key.a", "partition_id"))
    keys, partitions = zip(*sorted(places), strict=True)
    assert keys == (0, 1, 2, 3, 4, 5, 6, 7), "no key is in two partitions"
    assert set(partitions) == {0, 1}
    assert set(state_values(spark, tmp_path / "ck", "value.count")) == {2}
    assert "SS107" not in set(finding_ids(api.audit(str(tmp_path / "ck"))))


@since_4_0
def test_the_newest_snapshot_and_every_delta_after_it_are_read(
    summed: Summed, tmp_path: Path
) -> None:
    checkpoint = summed.copy(tmp_path)
    partition = checkpoint / STATE / "0"
    (location, user), *_ = summed.rows(checkpoint)
    assert location == 0
    put_in_place(partition / "2.snapshot", state_file([(row(KEY, [user]), row(TOTAL, [7]))]))
    remove_paths(partition, "1.delta", "2.delta")
    assert (0, user) in summed.rows(checkpoint)
    (partition / "3.delta").unlink()
    with pytest.raises(Exception, match="CANNOT_READ_DELTA_FILE_NOT_EXISTS"):
        summed.rows(checkpoint)


def unload(spark: Any) -> None:
    """Stop the maintenance of this JVM, and unload all its stores: a query begins both anew."""
    name = "org.apache.spark.sql.execution.streaming.state.StateStore$"
    spark._jvm.java.lang.Class.forName(name).getField("MODULE$").get(None).stop()


@contextmanager
def maintenance(spark: Any, confs: dict[str, str]) -> Iterator[None]:
    """Maintenance ten times a second, which makes snapshots of every third version."""
    often = {
        f"{STREAMING}.stateStore.maintenanceInterval": "100ms",
        f"{STREAMING}.stateStore.minDeltasForSnapshot": "2",
    }
    unload(spark)
    with settings(spark, {"spark.sql.shuffle.partitions": "4", **often, **confs}):
        yield
    unload(spark)


def go_on(spark: Any, folder: Path, until_it: Callable[[], bool], batches: int) -> None:
    """Run the query for some batches, and as long as it takes Spark to do what is waited for.

    That is looked for before each batch but the first ones, while the query waits for data.
    """
    rows = source(spark, folder / "in", "user STRING")
    writer = rows.groupBy("user").count().writeStream.outputMode("update").format("noop")
    query = writer.option("checkpointLocation", str(folder / "ck")).start()
    try:
        for batch in count():
            if batch >= batches and until_it():
                break
            assert batch < 2000  # Spark does it in a thread of its own, later on a busy machine
            files = len(list((folder / "in").glob("*")))
            write(folder / "in", files, LINES)
            query.processAllAvailable()
    finally:
        query.stop()


@since_4_0
def test_maintenance_makes_snapshots_and_removes_what_is_not_retained(
    spark: Any, tmp_path: Path
) -> None:
    """But for what an attempt left that was killed."""
    partition = tmp_path / "ck" / STATE / "0"
    of_attempt = partition / ".2.delta.0b3c1d6e-0000-4000-8000-000000000000.TID7.tmp"
    retained = f"{STREAMING}.minBatchesToRetain"
    assert spark.conf.get(retained) == "100"
    with maintenance(spark, {}):
        go_on(spark, tmp_path, lambda: True, 1)
        of_attempt.write_bytes(b"a part of a delta")
        go_on(spark, tmp_path, lambda: bool(list(partition.glob("[0-9]*.snapshot"))), 5)
        assert (partition / "1.delta").exists()
        with settings(spark, {retained: "2"}):
            go_on(spark, tmp_path, lambda: not (partition / "1.delta").exists(), 5)
    assert of_attempt.exists()


@contextmanager
def logged(spark: Any, file: Path) -> Iterator[Callable[[str], int]]:
    """How many lines of the log of this JVM say something of a store, as maintenance does."""
    classes = "org.apache.spark.sql.execution.streaming"
    file.with_suffix(".properties").write_text(
        f"appender.file.type = File\nappender.file.name = file\nappender.file.fileName = {file}\n"
        "appender.file.layout.type = PatternLayout\nappender.file.layout.pattern = %p %m%n\n"
        "rootLogger.level = off\nrootLogger.appenderRef.file.ref = file\n"
        f"logger.state.name = {classes}\nlogger.state.level = debug\n"
    )
    log4j = spark._jvm.org.apache.logging.log4j
    before = log4j.LogManager.getContext(False).getConfigLocation()
    settings_file = spark._jvm.java.io.File(str(file.with_suffix(".properties")))
    log4j.core.config.Configurator.reconfigure(settings_file.toURI())
    try:
        yield lambda text: file.read_text().count(text)
    finally:
        log4j.core.config.Configurator.reconfigure(before)


def versions(partition: Path, kind: str) -> set[int]:
    """The versions that a partition has files of."""
    return {int(file.stem) for file in partition.glob(f"[0-9]*.{kind}")}


@since_4_0
def test_failed_maintenance_is_logged_and_query_continues(spark: Any, tmp_path: Path) -> None:
    """Of the partition that lacks a delta alone: it gets no snapshot, and keeps every version."""
    gap, sound = tmp_path / "ck" / STATE / "0", tmp_path / "ck" / STATE / "1"
    gone = set[int]()

    def remove_delta() -> bool:
        newest = max(versions(gap, "delta"), default=0)
        if not gone and newest - 1 in versions(gap, "snapshot"):
            (gap / f"{newest}.delta").unlink()
            gone.add(newest)
        return bool(gone)

    def is_cleaned() -> bool:
        return min(versions(sound, "delta")) > max(gone) + 3

    with (
        maintenance(spark, {f"{STREAMING}.minBatchesToRetain": "2"}),
        logged(spark, tmp_path / "log") as lines,
    ):
        go_on(spark, tmp_path, lambda: remove_delta() and is_cleaned(), 0)
        assert lines("WARN Error doing snapshots")
        assert lines("WARN Error cleaning up files")
    newest = max(versions(sound, "delta"))
    result = versions(gap, "delta")
    assert {*range(min(result), newest + 1)} - result == gone
    assert max(versions(gap, "snapshot")) < max(gone) < max(versions(sound, "snapshot"))


@since_4_0
def test_a_snapshot_is_made_of_a_version_in_memory_alone(spark: Any, tmp_path: Path) -> None:
    partition = tmp_path / "ck" / STATE / "0"
    with logged(spark, tmp_path / "log") as lines:
        passed = "DEBUG fetchFiles() took"

        def is_maintained() -> bool:
            before = lines(passed)
            until(lambda: lines(passed) > before + 20 or None, "maintenance")
            return True

        with maintenance(spark, {f"{STREAMING}.maxBatchesToRetainInMemory": "0"}):
            go_on(spark, tmp_path, is_maintained, 5)
            assert not versions(partition, "snapshot")
        with maintenance(spark, {}):
            go_on(spark, tmp_path, lambda: bool(versions(partition, "snapshot")), 1)


@since_4_0
def test_a_stray_version_is_not_read_and_ends_the_cleanup_of_its_partition(
    spark: Any, tmp_path: Path
) -> None:
    stray, sound = tmp_path / "ck" / STATE / "0", tmp_path / "ck" / STATE / "1"
    with maintenance(spark, {f"{STREAMING}.minBatchesToRetain": "2"}):
        go_on(spark, tmp_path, lambda: True, 1)
        shutil.copy(stray / "1.delta", stray / "9999.delta")
        go_on(spark, tmp_path, lambda: min(versions(sound, "delta")) > 5, 1)
    newest = max(versions(sound, "delta"))
    assert versions(stray, "delta") == {*range(1, newest + 1), 9999}
    counts = state_rows(spark, tmp_path / "ck", "key.user", "value.count")
    assert counts == list(product(sorted(USERS), [newest]))


@since_4_0
@pytest.mark.parametrize("changelogs", ["false", "true"])
def test_a_stray_version_of_rocksdb_is_not_read(
    spark: Any, tmp_path: Path, changelogs: str
) -> None:
    conf = f"{STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled"
    with settings(spark, {**ON_ROCKSDB, conf: changelogs}):
        query = Summed(spark, tmp_path)
        for file in (tmp_path / "ck" / STATE / "0").glob("3.*"):
            shutil.copy(file, file.with_stem("99"))
        query.resume(tmp_path / "ck")
    assert state_values(spark, tmp_path / "ck", "key.user") == sorted(USERS)
    assert set(state_values(spark, tmp_path / "ck", "partition_id")) == {0, 1}


@since_4_0
def test_snapshots_of_format_2_by_spark_4_0_are_read_by_spark_4_0_alone(
    spark: Any, tmp_path: Path
) -> None:
    with settings(spark, {**ON_ROCKSDB, f"{STREAMING}.stateStore.checkpointFormatVersion": "2"}):
        query = Summed(spark, tmp_path)
        (newest,) = (tmp_path / "ck" / STATE / "0").glob("3_*.zip")
        with zipfile.ZipFile(newest) as archive:
            first = archive.read("metadata").partition(b"\n")[0]
        if spark_release() == (4, 0):
            assert first == b"v2"
            query.resume(tmp_path / "ck")
        else:
            assert first == b"v1"
            copy = query.copy(tmp_path / "by 4.0")
            as_spark_4_0(copy)
            with pytest.raises(Exception, match="CANNOT_LOAD_STATE_STORE"):
                query.resume(copy)
            assert query.resume(tmp_path / "ck")


def _texts(error: BaseException | None) -> str:
    """The messages and stack traces of an error of Spark and of its causes."""
    result = ""
    while error is not None:
        result += f"{error}\n{getattr(error, '_stackTrace', '')}\n"
        error = getattr(error, "_cause", None)
    return result


@since_4_0
@pytest.mark.parametrize("name", [name for name, case in DAMAGES.items() if not case.crashes])
def test_rocksdb_opens_no_snapshot_that_its_own_files_contradict(
    spark: Any, summed_on_rocksdb: Summed, tmp_path: Path, name: str
) -> None:
    damage, query = DAMAGES[name], summed_on_rocksdb
    with settings(spark, ON_ROCKSDB):
        damaged = query.copy(tmp_path)
        change_entry(damaged / STATE / "0", damage.prefix, damage.change)
        restarts = restart_in(api.verify(str(damaged)))
        if not damage.words:
            is_short = len(query.rows(damaged)) < len(USERS)
            batches = cell_values(query.resume(damaged), "stateOperators")
            # A row that a scan shows and that no call finds is counted twice from now on.
            counts = [operators[0]["numRowsTotal"] for operators in batches if operators]
            assert (is_short or max(counts) > len(USERS)) is damage.loses
            assert restarts.possible
            return
        with pytest.raises(Exception, match="CANNOT_LOAD_STATE_STORE") as failed:
            query.resume(damaged)
        assert damage.words in _texts(failed.value)
        assert damage.words in restarts.sentence


@since_4_0
def test_rocksdb_uploads_and_restarts_from_zips(spark: Any, tmp_path: Path) -> None:
    partition = tmp_path / "ck" / STATE / "0"
    changelogs = f"{STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled"

    with maintenance(spark, {**ON_ROCKSDB, changelogs: "false"}):
        tables = list[int]()
        for _ in range(3):
            go_on(spark, tmp_path, lambda: True, 1)
            tables.append(len(list((partition / "SSTs").glob("*.sst"))))
    assert versions(partition, "zip") == {1, 2, 3}
    assert not versions(partition, "changelog")
    assert tables == sorted(set(tables))
    with maintenance(spark, {**ON_ROCKSDB, changelogs: "true"}):
        go_on(spark, tmp_path, lambda: len(versions(partition, "zip")) > 3, 4)
    newest = max(versions(partition, "changelog"))
    assert versions(partition, "changelog") == set(range(4, newest + 1))
    assert len(versions(partition, "zip")) < newest
    assert set(state_values(spark, tmp_path / "ck", "value.count")) == {newest}


@since_4_0
def test_removal_is_written_for_present_key_only(spark: Any, tmp_path: Path) -> None:
    import pandas as pd
    from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

    def act(key: Any, _frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        state.remove() if state.exists or key[0] == "absent" else state.update((1,))
        yield pd.DataFrame({"user": [key[0]]})

    write(tmp_path / "in", 0, [{"user": "absent"}, {"user": "present"}])
    write(tmp_path / "in", 1, [{"user": "absent"}, {"user": "present"}])
    rows = source(spark, tmp_path / "in", "user STRING").groupBy("user")
    run(
        rows.applyInPandasWithState(
            act, "user STRING", "n LONG", "update", GroupStateTimeout.NoTimeout
        ),
        tmp_path / "ck",
        "update",
    )
    changes = cell_values(api.changes(str(tmp_path / "ck")).primary.rows, "version", "event")
    assert changes == [(1, "insert"), (2, "removal")]


@since_4_0
def test_rows_of_a_join_behind_their_counter_are_neither_joined_nor_removed(
    spark: Any, tmp_path: Path
) -> None:
    """And a key with many rows has all of them in one partition, each of which is joined."""
    left, right = side_stream(spark, tmp_path, "left"), side_stream(spark, tmp_path, "right")
    time = "2024-01-01T00:00:00Z"
    first, second = {"left": 0, "leftAt": time}, {"left": 1, "leftAt": time}
    write(tmp_path / "left", 0, [*[first] * 5, *[second] * 5])
    write(tmp_path / "right", 0, [])
    joined = left.join(right, (left.left == right.right) & (left.leftAt == right.rightAt))
    run(joined, tmp_path / "ck", "append")

    damaged = Path(shutil.copytree(tmp_path / "ck", tmp_path / "damaged"))
    for folder in paths_below(damaged / STATE, "*/left-keyToNumValues"):
        newest = max(versions(folder, "delta"))
        put_in_place(folder / f"{newest}.snapshot", state_file([]))
    write(tmp_path / "right", 1, [{"right": 0, "rightAt": time}])
    write_sides(tmp_path, 2, 7, "2024-01-02T00:00:00Z")
    assert outcome(joined, tmp_path / "ck") == (5 + 1, 11)
    assert outcome(joined, damaged) == (1, 1)

    reader = spark.read.format("statestore").option("storeName", "left-keyWithIndexToValue")
    assert reader.load(str(tmp_path / "ck")).count() == 1
    assert reader.load(str(damaged)).count() == 11


def side_stream(spark: Any, folder: Path, side: str) -> Any:
    """Return the stream of one side of a join, with a watermark."""
    stream = source(spark, folder / side, f"{side} INT, {side}At TIMESTAMP")
    return stream.withWatermark(f"{side}At", "1 second")


def write_sides(folder: Path, number: int, key: int, time: str, rows: int = 1) -> None:
    """Write a file of rows with this key and event time to both sides of a join."""
    write(folder / "left", number, [{"left": key, "leftAt": time}] * rows)
    write(folder / "right", number, [{"right": key, "rightAt": time}] * rows)


@since_4_3
@pytest.mark.parametrize(
    ("condition", "has_range"),
    [
        ("left = right AND leftAt BETWEEN rightAt - INTERVAL 1 DAY AND rightAt", True),
        ("left = right", False),
    ],
)
def test_a_null_row_of_a_join_stops_the_batch_that_reads_it(
    spark: Any, tmp_path: Path, condition: str, has_range: bool
) -> None:
    """Every batch does so with a time range, and else one with data for its key."""
    write_sides(tmp_path, 0, 1, "2024-01-01T00:00:00Z", 2)
    write_sides(tmp_path, 1, 1, "2024-01-01T00:00:01Z", 2)
    left, right = side_stream(spark, tmp_path, "left"), side_stream(spark, tmp_path, "right")
    joined = left.join(right, sql.functions.expr(condition))
    run(joined, tmp_path / "ck", "append")
    for delta in (tmp_path / "ck" / STATE).glob("*/left-keyWithIndexToValue/1.delta"):
        records, codec = read_state(delta)
        # A row that met a partner is put twice.
        result = [record for record in records if record[0] != records[0][0]]
        put_in_place(delta, state_file(result, codec))

    def error(key: int, skip: str) -> str:
        write_sides(tmp_path, 9, key, "2024-01-01T00:00:02Z")
        checkpoint = shutil.copytree(tmp_path / "ck", tmp_path / f"{key}-{skip}")
        conf = f"{STREAMING}.stateStore.skipNullsForStreamStreamJoins.enabled"
        with settings(spark, {conf: skip}):
            try:
                run(joined, checkpoint, "append")
            except Exception as failure:  # noqa: BLE001 - Spark's and py4j's own
                return str(failure)
        return ""

    assert "STREAM_STREAM_JOIN_INCONSISTENT_STATE.NULL_VALUE" in error(1, "false")
    assert error(1, "true") == ""
    assert ("NULL_VALUE" in error(7, "false")) is has_range


def outcome(joined: Any, checkpoint: Path) -> tuple[int, int]:
    """How many rows a join puts out, and removes from its state."""
    out = list[Any]()
    writer = joined.writeStream.outputMode("append").foreachBatch(
        lambda frame, _batch: out.extend(frame.collect())
    )
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return len(out), sum(operator_numbers(query.recentProgress, "numRowsRemoved"))


@since_4_0
@pytest.mark.parametrize(("mode", "left", "late"), [("update", 1, 1), ("complete", 5, 0)])
def test_watermark_is_monotonic_and_removes_passed_rows(
    spark: Any, tmp_path: Path, mode: str, left: int, late: int
) -> None:
    """But for complete mode, which keeps every window.

    A row is late by the watermark of the batch before, so that one comes too early to be dropped.
    """
    days = ("2024-01-01", "2024-01-02", "2030-01-01", "2024-01-03", "2024-01-04")
    for batch, day in enumerate(days):
        write(tmp_path / "in", batch, [{"ts": f"{day}T00:00:00Z"}])
    rows = source(spark, tmp_path / "in", "ts TIMESTAMP").withWatermark("ts", "0 seconds")
    counted = rows.groupBy(functions().window("ts", "10 seconds")).count()
    progress = run(counted, tmp_path / "ck", mode)
    marks = [batch["eventTime"]["watermark"] for batch in progress]
    assert marks == sorted(marks)
    assert marks[-1].startswith("2030-01-01")
    assert sum(operator_numbers(progress, "numRowsDroppedByWatermark")) == late
    assert spark.read.format("statestore").load(str(tmp_path / "ck")).count() == left


def functions() -> Any:
    """Spark's functions of columns; without PySpark this module is still collected."""
    from pyspark.sql import functions

    return functions


@since_4_0
def test_the_timeout_of_a_key_fires_once_or_as_long_as_python_leaves_its_timer(
    spark: Any, tmp_path: Path
) -> None:
    """A key that is left without a timer is not called again, but for new data."""
    import pandas as pd
    from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

    log = tmp_path / "timed-out"

    def act(key: Any, _frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        if state.hasTimedOut:
            with log.open("a") as lines:
                lines.write(f"{key[0]}\n")
            if key[0] == "kept":
                state.update((1,))
        else:
            state.update((0,))
            if key[0] != "later":
                state.setTimeoutTimestamp(1_704_067_210_000)
        yield pd.DataFrame({"user": [key[0]]})

    users = ("kept", "ignored", "later", "later", "later", "later", "later")
    days = ("01", "01", "02", "03", "04", "05", "06")
    for batch, (user, day) in enumerate(zip(users, days, strict=True)):
        write(tmp_path / "in", batch, [{"user": user, "ts": f"2024-01-{day}T00:00:00Z"}])
    rows = source(spark, tmp_path / "in", "user STRING, ts TIMESTAMP").withWatermark(
        "ts", "0 seconds"
    )
    states = rows.groupBy("user").applyInPandasWithState(
        act, "user STRING", "n LONG", "update", GroupStateTimeout.EventTimeTimeout
    )
    run(states, tmp_path / "ck", "update")
    calls = log.read_text().split()
    assert calls.count("kept") == 1
    assert calls.count("ignored") >= 3
    assert "later" not in calls


@since_4_0
def test_a_missing_partition_fails_a_query_and_is_left_out_by_the_reader(
    spark: Any, tmp_path: Path
) -> None:
    assert "the next batch of the query fails" in PartitionCount.kind.to_do
    assert "leaves out missing partitions behind the last one" in PartitionCount.kind.to_do
    write(tmp_path / "in", 0, LINES)
    counted = source(spark, tmp_path / "in", "user STRING").groupBy("user").count()
    run(counted, tmp_path / "ck", "update")

    def users(checkpoint: Path) -> int:
        return int(spark.read.format("statestore").load(str(checkpoint)).count())

    assert users(tmp_path / "ck") == 20
    shutil.rmtree(tmp_path / "ck/state/0/1")
    assert 0 < users(tmp_path / "ck") < 20
    write(tmp_path / "in", 1, LINES)
    with pytest.raises(Exception, match="CANNOT_READ_DELTA_FILE_NOT_EXISTS"):
        run(counted, tmp_path / "ck", "update")


@since_4_0
def test_a_join_whose_condition_uses_no_event_time_has_none_in_its_state(
    spark: Any, tmp_path: Path
) -> None:
    """Both sides have a watermark, which moves, and no row goes."""
    write_sides(tmp_path, 0, 3, "2024-01-01T00:00:00Z", 5)
    write_sides(tmp_path, 1, 3, "2024-01-01T01:00:00Z", 5)
    write_sides(tmp_path, 2, 3, "2024-01-01T02:00:00Z", 5)
    left, right = side_stream(spark, tmp_path, "left"), side_stream(spark, tmp_path, "right")
    joined = left.join(right, left.left == right.right).select("left")
    progress = run(joined, tmp_path / "ck", "append")
    assert progress[-1]["eventTime"]["watermark"] > "2024-01-01T00"
    assert not any(operator_numbers(progress, "numRowsRemoved"))

    rows = api.info(str(tmp_path / "ck")).primary.rows
    for name in ("left-keyWithIndexToValue", "right-keyWithIndexToValue"):
        store = row_where(rows, store_name=name)
        assert "in the state carries a watermark" in store["expires"], store
        assert "watermarkDelayMs" not in str(store["value_schema"])


@since_4_0
@pytest.mark.parametrize(("interval", "remaining"), [("20 DAYS", 1), ("1 MONTH", 3)])
def test_rows_of_a_join_are_removed_by_a_range_of_days_and_not_of_months(
    spark: Any, tmp_path: Path, interval: str, remaining: int
) -> None:
    write_sides(tmp_path, 0, 1, "2024-01-01T00:00:00Z")
    write_sides(tmp_path, 1, 1, "2024-05-01T00:00:00Z")
    write_sides(tmp_path, 2, 1, "2024-09-01T00:00:00Z")
    range_ = f"rightAt >= leftAt AND rightAt <= leftAt + INTERVAL {interval}"
    left, right = side_stream(spark, tmp_path, "left"), side_stream(spark, tmp_path, "right")
    joined = left.join(right, functions().expr(f"left = right AND {range_}"))
    run(joined, tmp_path / "ck", "append")
    reader = spark.read.format("statestore").option("storeName", "left-keyWithIndexToValue")
    assert reader.load(str(tmp_path / "ck")).count() == remaining
