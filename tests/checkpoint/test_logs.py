"""The offset log and commit log together: clocks, confs, commits and problems."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.confs import HDFS_PROVIDER
from inspector.checkpoint.logs import ConfValue, Logs, read_logs
from inspector.checkpoint.storage import Storage
from inspector.model import BatchClock, BatchId
from tests import cases
from tests.attributes import attributes
from tests.cases import Batch

CODEC = "spark.sql.streaming.stateStore.compression.codec"


def offsets(batch: int, *sources: str, watermark: int = 0, conf: object = None) -> bytes:
    header = {"batchWatermarkMs": watermark, "batchTimestampMs": 1000 + batch, "conf": conf or {}}
    return "\n".join(["v1", json.dumps(header), *sources]).encode()


def commit(watermark: int = 0) -> bytes:
    return b'v1\n{"nextBatchWatermarkMs":%d}' % watermark


METADATA = b'{"id":"22963bf4-bb40-4fc3-855e-7fd5ef06d3d7"}'


def logs_of(root: Path, files: dict[str, bytes], maximum: int = 100) -> Logs:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return read_logs(Storage.open(str(root)), maximum)


def test_clocks_have_time_watermark_commit_and_new_data(tmp_path: Path) -> None:
    logs = logs_of(
        tmp_path,
        {
            "metadata": b'{"id":"22963bf4-bb40-4fc3-855e-7fd5ef06d3d7"}',
            "offsets/0": offsets(0, "0", "-"),
            "offsets/1": offsets(1, "1", "-", watermark=500),
            "offsets/2": offsets(2, "1", "-", watermark=700),
            "offsets/3": offsets(3, "1", "0", watermark=700),
            "commits/0": commit(500),
            "commits/1": commit(700),
            "commits/2": b"v1\n{}",
        },
    )
    assert list(logs.clocks.values()) == [
        BatchClock(BatchId(0), 1000, 0, True, True, 500),
        BatchClock(BatchId(1), 1001, 500, True, True, 700),
        BatchClock(BatchId(2), 1002, 700, True, False, None),
        BatchClock(BatchId(3), 1003, 700, False, True, None),
    ]
    assert (logs.last_committed, logs.last_offset) == (2, 3)
    assert logs.has_commits_dir
    assert logs.query_id == "22963bf4-bb40-4fc3-855e-7fd5ef06d3d7"
    assert logs.problems == ()


def test_new_data_is_unknown_after_a_purge_or_gap(tmp_path: Path) -> None:
    files = {
        "offsets/8": offsets(8, "8"),
        "offsets/9": offsets(9, "9"),
        "offsets/10": offsets(10, "10"),
        "offsets/12": offsets(12, "12"),
    }
    logs = logs_of(tmp_path, files)
    assert list(logs.clocks) == [8, 9, 10, 12]
    assert attributes(logs.clocks.values(), "has_new_data") == [None, True, True, None]
    assert (logs.last_committed, logs.has_commits_dir) == (None, False)


def test_first_batch_without_offsets_has_no_new_data(tmp_path: Path) -> None:
    logs = logs_of(tmp_path, {"offsets/0": offsets(0, "-", "-")})
    assert logs.clocks[BatchId(0)].has_new_data is False


def test_changed_offset_format_is_no_new_data(tmp_path: Path) -> None:
    logs = logs_of(
        tmp_path, {"offsets/0": offsets(0, '{"a":1}', "-"), "offsets/1": b'v2\n{}\n0:{"a":1}\n1:-'}
    )
    assert logs.clocks[BatchId(1)].has_new_data is False


def test_commit_without_offsets_counts(tmp_path: Path) -> None:
    logs = logs_of(tmp_path, {"offsets/5": offsets(5, "0", watermark=9), "commits/4": commit(9)})
    assert logs.clocks[BatchId(4)] == BatchClock(BatchId(4), committed=True, next_watermark_ms=9)
    assert logs.last_committed == 4


def test_log_names_that_are_no_batch_are_ignored(tmp_path: Path) -> None:
    names = ("x", "3.compact", ".3.crc", "03", "-3", ".3.uuid.tmp", "9" * 30)
    files = {f"{log}/{name}": b"junk" for log in ("offsets", "commits") for name in names}
    (tmp_path / "commits" / "7").mkdir(parents=True)
    logs = logs_of(tmp_path, {**files, "offsets/1": offsets(1)})
    assert list(logs.clocks) == [1]
    assert (logs.last_committed, logs.last_offset) == (None, 1)
    assert logs.has_commits_dir
    (problem,) = logs.problems
    assert (problem.slug, problem.path) == ("not-a-file", str(tmp_path / "commits/7"))


def test_a_bad_entry_is_a_problem_and_the_rest_is_read(tmp_path: Path) -> None:
    logs = logs_of(
        tmp_path,
        {
            "metadata": b"junk",
            "offsets/0": offsets(0, "0"),
            "offsets/1": b"v3\n{}",
            "offsets/2": offsets(2, "1", watermark=5),
            "commits/0": b"",
            "commits/1": commit(5),
        },
    )
    assert list(logs.clocks) == [0, 1, 2]
    assert logs.clocks[BatchId(0)].committed
    assert logs.clocks[BatchId(1)] == BatchClock(BatchId(1), committed=True, next_watermark_ms=5)
    assert logs.clocks[BatchId(2)].has_new_data is None
    assert list(logs.confs) == [0, 2]
    assert logs.query_id is None
    result = [(problem.slug, problem.path, problem.message[:12]) for problem in logs.problems]
    assert result == [
        ("undecodable", f"{tmp_path}/metadata", "got no JSON "),
        ("undecodable", f"{tmp_path}/commits/0", "got an empty"),
        ("undecodable", f"{tmp_path}/offsets/1", "got format v"),
    ]


def test_entry_purged_during_reading_is_no_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"offsets/0": offsets(0), "offsets/1": offsets(1), "metadata": METADATA}
    logs_of(tmp_path, {**files, "commits/0": b"v1\n{}", "commits/1": b"v1\n{}"})
    storage = Storage.open(str(tmp_path))
    listing = storage.list

    def purge(relative: str = "", *, missing_ok: bool = False) -> object:
        logs = listing(relative, missing_ok=missing_ok)
        (tmp_path / relative / "0").unlink(missing_ok=True)
        return logs

    monkeypatch.setattr(storage, "list", purge)
    logs = read_logs(storage)
    assert logs.problems == ()
    assert list(logs.confs) == [1]


def test_denied_log_entry_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs_of(tmp_path, {"offsets/0": offsets(0), "offsets/1": offsets(1)})
    storage = Storage.open(str(tmp_path))
    reading = storage.read_many

    def denied(*args: Any) -> dict[str, Any]:
        logs = reading(*args)
        logs["offsets/0"] = PermissionError(f"{tmp_path}/offsets/0: Permission denied")
        return logs

    monkeypatch.setattr(storage, "read_many", denied)
    logs = read_logs(storage)
    (problem,) = logs.problems
    assert (problem.slug, problem.message) == ("denied", "Permission denied")
    assert list(logs.confs) == [1]
    assert logs.last_offset == 1


def test_only_the_newest_entries_are_read_above_the_limit(tmp_path: Path) -> None:
    files = {"metadata": METADATA} | {f"offsets/{n}": offsets(n) for n in range(150)}
    files |= {f"commits/{n}": b"v1\n{}" for n in range(150)}
    logs = logs_of(tmp_path, files, maximum=70)
    assert list(logs.clocks) == list(range(80, 150))
    commits, plans = logs.problems
    assert (commits.slug, commits.path) == ("over-limit", f"{tmp_path}/commits")
    assert (plans.slug, plans.path) == ("over-limit", f"{tmp_path}/offsets")
    assert "got 150 entries, only the newest 70 are read" in commits.message


def test_control_batches_of_the_offset_log(tmp_path: Path) -> None:
    control = b'v2\n{"controlBatchInfo":{"operationType":"REPARTITION"}}\n0:1'
    logs = logs_of(tmp_path, {"offsets/3": offsets(3), "offsets/4": control})
    assert logs.control_batches == {4: "REPARTITION"}


def test_logs_of_an_empty_checkpoint(tmp_path: Path) -> None:
    assert logs_of(tmp_path, {}) == Logs()


@pytest.mark.parametrize(
    ("batch", "key", "expected"),
    [
        (5, CODEC, ConfValue("zstd", "recorded", BatchId(5))),
        (5, "streaming.stateStore.compression.codec", ConfValue("zstd", "recorded", BatchId(5))),
        (2, CODEC, ConfValue("zstd", "nearest", BatchId(5))),
        (7, CODEC, ConfValue("zstd", "nearest", BatchId(5))),
        (8, CODEC, ConfValue("lz4", "default", BatchId(9))),
        (9, "shuffle.partitions", ConfValue("4", "recorded", BatchId(9))),
        (5, "shuffle.partitions", ConfValue(None, "default", BatchId(5))),
    ],
)
def test_conf_is_recorded_nearest_or_default(batch: int, key: str, expected: ConfValue) -> None:
    confs = {BatchId(5): {CODEC: "zstd"}, BatchId(9): {"spark.sql.shuffle.partitions": "4"}}
    assert Logs(confs=confs).conf_for(batch, key) == expected


def test_conf_without_entries_is_the_default() -> None:
    assert Logs().conf_for(3, CODEC) == ("lz4", "default", None)
    assert Logs().provider_class is None


def test_provider_class_of_the_newest_entry(tmp_path: Path) -> None:
    key = "spark.sql.streaming.stateStore.providerClass"
    files = {
        "offsets/0": offsets(0, conf={key: "old"}),
        "offsets/1": offsets(1, conf={key: HDFS_PROVIDER}),
        "offsets/2": offsets(2),
    }
    assert logs_of(tmp_path, files).provider_class == HDFS_PROVIDER


@given(st.binary(), st.binary(), st.binary())
def test_any_bytes_give_logs(
    tmp_path_factory: pytest.TempPathFactory, query: bytes, offset: bytes, done: bytes
) -> None:
    files = {"metadata": query, "offsets/0": b"v1\n" + offset, "commits/0": b"v1\n" + done}
    logs = logs_of(tmp_path_factory.mktemp("ck"), {**files, "offsets/1": offset, "commits/1": done})
    assert list(logs.clocks) == [0, 1]
    assert all(attributes(logs.clocks.values(), "committed"))


@pytest.mark.parametrize(("log", "committed"), [("offsets", 3), ("commits", 2)])
def test_unlistable_log_is_a_problem_and_the_other_is_read(
    tmp_path: Path, log: str, committed: int
) -> None:
    """Without the commit log, batch 2 is committed because batch 3 is planned."""
    batches = [Batch(0, 0, 0), Batch(0, 1, 1), Batch(0, 2, 2), Batch(0, 3, 3)]
    cases.write_logs(tmp_path, batches)
    shutil.rmtree(tmp_path / log)
    (tmp_path / log).write_text("no folder")
    logs = read_logs(Storage.open(str(tmp_path)))
    (problem,) = logs.problems
    assert (problem.slug, problem.path) == ("storage", str(tmp_path / log))
    assert logs.last_committed == committed
    assert attributes(logs.clocks.values(), "committed")[:3] == [True] * 3


def test_query_metadata_that_is_a_folder(tmp_path: Path) -> None:
    root = cases.write_logs(tmp_path, [Batch(0, 1, 1)])
    (root / "metadata").unlink(missing_ok=True)
    (root / "metadata").mkdir()
    logs = read_logs(Storage.open(str(root)))
    assert (logs.query_id, logs.last_committed) == (None, 0)
    (problem,) = logs.problems
    assert problem.path == str(root / "metadata")


def test_commit_with_an_impossible_batch_id_is_a_problem(tmp_path: Path) -> None:
    root = cases.write_logs(tmp_path, [Batch(0, 1, 1)])
    (root / f"commits/{2**63 - 1}").write_text("v1\n{}")
    logs = read_logs(Storage.open(str(root)))
    assert logs.last_committed == 0
    (problem,) = logs.problems
    assert problem.path == str(root / f"commits/{2**63 - 1}")


def test_missing_query_metadata_is_a_problem_after_a_commit(tmp_path: Path) -> None:
    files = {"offsets/0": offsets(0), "commits/0": b"v1\n{}"}
    (problem,) = logs_of(tmp_path / "lost", files).problems
    assert (problem.slug, problem.path) == ("missing-metadata", f"{tmp_path}/lost/metadata")
    assert logs_of(tmp_path / "sound", files | {"metadata": METADATA}).problems == ()
    assert logs_of(tmp_path / "begun", {"offsets/0": offsets(0)}).problems == ()
