"""``offsets``: positions by batch and source, the batch of a position, and starting offsets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import api
from inspector.exceptions import CheckpointError
from tests.attributes import attributes
from tests.cli.support import OUTPUTS, checkpoint_of, copy_of, run
from tests.profiles import costly
from tests.reports import cell_values

TIME_MS = 1_700_000_000_000
STATEFUL = checkpoint_of("trouble_idle_source")


def query(
    root: Path, entries: Mapping[int, Sequence[str]], *, committed: int | None = None
) -> Path:
    """Write a checkpoint of a query without state, with these lines of sources by batch.

    ``committed`` is the last batch with a commit; all batches have one by default.
    """
    (root / "offsets").mkdir(parents=True)
    (root / "commits").mkdir()
    (root / "metadata").write_text('{"id":"6b9eae53-51a4-46f7-8a4b-f0d2b1a6d6d4"}', "utf-8")
    for batch, lines in entries.items():
        head = {"batchWatermarkMs": 0, "batchTimestampMs": TIME_MS + 1000 * batch}
        head["conf"] = {"spark.sql.shuffle.partitions": "2"}  # type: ignore[assignment]
        text = "\n".join(["v1", json.dumps(head), *lines])
        (root / "offsets" / str(batch)).write_text(text, "utf-8")
        if committed is None or batch <= committed:
            (root / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}', "utf-8")
    return root


def topic(*offsets: int) -> str:
    return json.dumps({"orders": {str(n): offset for n, offset in enumerate(offsets)}})


def delta(version: int, index: int = -1, *, starting: bool = False) -> str:
    fields = {"sourceVersion": 1, "reservoirId": "t", "reservoirVersion": version, "index": index}
    return json.dumps({**fields, "isStartingVersion": starting})


@pytest.fixture
def kafka(tmp_path: Path) -> Path:
    """Batches 0 to 3 of a topic with two partitions; batch 3 is not committed."""
    lines = {n: [topic(10 * n + 10, 5 * n + 5)] for n in range(4)}
    root = query(tmp_path / "kafka", lines, committed=2)
    (root / "sources" / "0").mkdir(parents=True)
    (root / "sources" / "0" / "0").write_bytes(b"\0v1\n" + topic(4, 5).encode())
    return root


def rows_of(root: Path, **options: Any) -> list[Mapping[str, Any]]:
    return list(api.offsets(str(root), **options).primary.rows)


def test_offsets_have_a_row_for_each_batch_and_source(kafka: Path) -> None:
    rows = rows_of(kafka)
    assert cell_values(rows, *BATCHES) == [
        (3, "orders:0@30, orders:1@15", "orders:0@40, orders:1@20", 15, False),
        (2, "orders:0@20, orders:1@10", "orders:0@30, orders:1@15", 15, True),
        (1, "orders:0@10, orders:1@5", "orders:0@20, orders:1@10", 15, True),
        # Kafka's initial offsets are in sources/0/0.
        (0, "orders:0@4, orders:1@5", "orders:0@10, orders:1@5", 6, True),
    ]
    assert rows[0]["batch_timestamp_ms"] == TIME_MS + 3000


def test_offsets_by_partition(kafka: Path) -> None:
    rows = rows_of(kafka, by="partition", batch=2)
    assert cell_values(rows, "partition", "start", "end", "records") == [
        ("orders:0", "20", "30", 10),
        ("orders:1", "10", "15", 5),
    ]


def test_batch_option_shows_the_whole_offset(kafka: Path) -> None:
    (row,) = rows_of(kafka, batch=1)
    assert json.loads(row["offset"]) == {"orders": {"0": 20, "1": 10}}


@pytest.mark.parametrize("at", ["2023-11-14T22:13:22.500Z", str(TIME_MS + 2999)])
def test_at_option_finds_the_newest_batch(kafka: Path, at: str) -> None:
    assert cell_values(rows_of(kafka, moment=at), "batch_id") == [2]


ANSWER = ("answer", "batch_id", "older_batch", "newer_batch")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"moment": "2023-11-14T22:13:19Z"}, "no batch in offsets was planned at"),
        ({"moment": "yesterday"}, "got 'yesterday' as time"),
        ({"batch": 9}, "no entry of batch 9; there are batches 0 to 3"),
        ({"source": "7"}, "there is no source '7'; there are: 0"),
        ({"batch": 1, "moment": "1"}, "--batch and --at"),
        ({"find": "1", "by": "partition"}, "--find looks through all batches"),
        ({"form": "starting-offsets", "by": "partition"}, "--as prints one option"),
    ],
)
def test_invalid_offsets_options_are_errors(
    kafka: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(CheckpointError, match=message):
        api.offsets(str(kafka), **options)


@pytest.mark.parametrize(
    ("offset", "answer"),
    [
        ("orders:0@10", ("read", 1, None, None)),
        ("orders:0@29", ("read", 2, None, None)),
        ("orders:0@30", ("planned", 3, None, None)),
        ("orders:0@40", ("later", None, 3, None)),
        ("orders:0@1", ("earlier", None, None, 0)),
    ],
)
def test_batch_that_read_a_kafka_offset(
    kafka: Path, offset: str, answer: tuple[object, ...]
) -> None:
    report = api.offsets(str(kafka), find=offset)
    assert cell_values(report.primary.rows, *ANSWER) == [answer]
    assert offset in report.notes[0]


def test_offset_of_an_unknown_partition_is_not_found(kafka: Path) -> None:
    assert rows_of(kafka, find="orders:7@1") == []


def test_position_between_two_batches(tmp_path: Path) -> None:
    root = query(tmp_path / "gap", {number: [topic(10 * number)] for number in range(1, 7)})
    (root / "offsets" / "3").unlink()
    (root / "offsets" / "4").unlink()
    assert cell_values(rows_of(root, find="orders:0@35"), *ANSWER) == [("between", None, 2, 5)]


def test_table_version_that_two_batches_read(tmp_path: Path) -> None:
    lines = {0: [delta(2003)], 1: [delta(2005, 1)], 2: [delta(2006)], 3: [delta(2006)]}
    root = query(tmp_path / "delta", lines)
    assert cell_values(rows_of(root, find="2005"), "batch_id") == [2, 1]
    assert cell_values(rows_of(root, find="2004"), "batch_id") == [1]
    versions = rows_of(root, by="partition", batch=1)
    assert cell_values(versions, "partition") == ["version 2003", "version 2004", "version 2005"]


def test_iceberg_snapshot_is_found_by_its_id(tmp_path: Path) -> None:
    old = '{"version": 1, "snapshot_id": 900, "position": 2, "scan_all_files": false}'
    new = '{"version": 1, "snapshot_id": 17, "position": 2, "scan_all_files": false}'
    root = query(tmp_path / "iceberg", {0: [old], 1: [new], 2: [new]})
    assert cell_values(rows_of(root, find="17"), "batch_id") == [2, 1]
    assert cell_values(rows_of(root, find="18"), "answer") == ["absent"]


def file_line(name: str, batch: int) -> str:
    """Return the line of a file source's log for a file that a batch read."""
    return json.dumps({"path": f"file:///in/{name}", "timestamp": 5 + batch, "batchId": batch})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Batches of a source of files whose log is compacted; batch 2 reads nothing new."""
    offsets = {
        0: ['{"logOffset": 0}'],
        1: ['{"logOffset": 2}'],
        2: ['{"logOffset": 2}'],
        3: ['{"logOffset": 3}'],
    }
    root = query(tmp_path / "files", offsets)
    folder = root / "sources" / "0"
    folder.mkdir(parents=True)
    a, b = file_line("a.json", 0), file_line("b.json", 1)
    c, d = file_line("c.json", 1), file_line("d.json", 2)
    (folder / "2.compact").write_text(f"v1\n{a}\n{b}\n{c}\n{d}", "utf-8")
    (folder / "1").write_text(f"v1\n{b}", "utf-8")  # the compact entry has it, too
    (folder / "3").write_text(f"v1\n{file_line('e.json', 3)}", "utf-8")
    return root


def test_files_of_a_compacted_log(files: Path) -> None:
    assert cell_values(rows_of(files), "batch_id", "files") == [(3, 1), (2, 0), (1, 3), (0, 1)]
    rows = rows_of(files, by="partition")
    assert cell_values(rows, "batch_id", "partition", "file_modified_ms") == [
        (0, "file:///in/a.json", 5),
        (1, "file:///in/b.json", 6),
        (1, "file:///in/c.json", 6),
        (1, "file:///in/d.json", 7),
        (3, "file:///in/e.json", 8),
    ]


def test_limit_keeps_the_newest_files(files: Path) -> None:
    rows = rows_of(files, by="partition", limit=2)
    assert cell_values(rows, "partition") == ["file:///in/e.json", "file:///in/d.json"]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("c.json", ("read", 1, None, None)),
        ("file:///in/e.json", ("read", 3, None, None)),
        ("x.json", ("absent", None, None, None)),
    ],
)
def test_batch_that_read_a_file(files: Path, name: str, answer: tuple[object, ...]) -> None:
    assert cell_values(rows_of(files, find=name), *ANSWER) == [answer]


def test_lost_compact_entry_makes_the_number_of_files_unknown(files: Path) -> None:
    (files / "sources" / "0" / "2.compact").unlink()
    assert cell_values(rows_of(files), "files") == [1, 0, None, None]


def test_source_without_an_offset_begins_later(tmp_path: Path) -> None:
    entry = '{"logOffset": 1}'
    root = query(tmp_path / "later", {0: ["7", "-"], 1: ["8", entry], 2: ["9", entry]})
    folder = root / "sources" / "1"
    folder.mkdir(parents=True)
    (folder / "0").write_text(f"v1\n{file_line('0', 0)}", "utf-8")
    (folder / "1").write_text(f"v1\n{file_line('1', 1)}", "utf-8")
    assert cell_values(rows_of(root, source="1"), "kind", "end", "files") == [
        ("files", "log entry 1", 0),
        ("files", "log entry 1", 2),
        ("unknown", None, None),
    ]
    assert len(rows_of(root, by="partition", source="1")) == 3
    assert cell_values(rows_of(root, form="starting-offsets", batch=0), "source") == ["0"]


def test_sparse_logs_of_asynchronous_progress(tmp_path: Path) -> None:
    """Asynchronous progress tracking leaves out entries of both logs."""
    root = query(tmp_path / "sparse", {2: [topic(20)], 5: [topic(50)], 9: [topic(90)]})
    assert cell_values(rows_of(root), "batch_id", "records") == [(9, 40), (5, 30), (2, None)]


def test_damaged_source_log_is_a_problem(files: Path) -> None:
    (files / "sources" / "0" / "3").write_text('v1\n{"path":7}', "utf-8")
    report = api.offsets(str(files))
    assert cell_values(report.primary.rows, "files") == [None, 0, 3, 1]
    (problem,) = report.problems
    assert problem.path == str(files / "sources" / "0" / "3")
    assert run("offsets", files).code == 4


def start(root: Path, **options: Any) -> dict[str, Any]:
    """Return the first option that a new query needs to start at the offsets."""
    return dict(rows_of(root, form="starting-offsets", **options)[0])


def test_starting_offsets_of_kafka(kafka: Path) -> None:
    report = api.offsets(str(kafka), form="starting-offsets")
    option, hubs = report.primary.rows
    assert (option["option"], option["last_batch"]) == ("startingOffsets", 2)
    assert json.loads(option["value"]) == {"orders": {"0": 30, "1": 15}}
    assert option["delivery"] == "at least once"
    assert hubs["option"] == "eventhubs.startingPositions"
    positions = json.loads(hubs["value"])
    assert positions['{"ehName": "orders", "partitionId": 1}']["seqNo"] == 15
    assert "Batch 3 is planned and not committed" in report.notes[0]
    assert "--batch 3" in report.notes[0]


@pytest.mark.parametrize("options", [(), ("--as", "starting-offsets")])
def test_damaged_state_is_no_problem_of_offsets(options: tuple[str, ...], tmp_path: Path) -> None:
    root = copy_of("agg_update", tmp_path)
    (root / "state/0/0/3.delta").unlink()
    done = run("offsets", root, *options, "-o", "json")
    assert (done.code, done.json["problems"]) == (0, [])


def test_starting_offsets_of_a_file_source_list_the_files(files: Path) -> None:
    report = api.offsets(str(files), form="starting-offsets", batch=1)
    (option,) = report.primary.rows
    assert (option["option"], option["delivery"]) == (None, "at least once")
    assert option["newest_file_ms"] == 7
    assert cell_values(report.tables[1].rows, "path") == [
        "file:///in/a.json",
        "file:///in/b.json",
        "file:///in/c.json",
        "file:///in/d.json",
    ]
    report = api.offsets(str(files), form="starting-offsets", limit=2)
    assert len(list(report.tables[1].rows)) == 2
    assert "Only 2 of 5 files that were read are shown" in " ".join(report.notes)


def test_starting_offsets_of_a_stateful_query_warn_of_lost_state() -> None:
    notes = " ".join(api.offsets(str(STATEFUL), form="starting-offsets").notes)
    assert re.search(r"state.* is lost", notes)


@pytest.mark.parametrize(
    ("line", "option", "value", "delivery"),
    [
        (delta(7), "startingVersion", "7", "exactly once"),
        (delta(7, 2), "startingVersion", "7", "at least once"),
        (delta(7, 2, starting=True), None, None, "at least once"),
        ('{"offset":40,"timestamp":5000}', "startTimestamp", "5000", "exactly once"),
        (
            '{"snapshotId":5,"index":1,"scanSnapshot":false}',
            "scan.snapshot-id",
            "5",
            "at least once",
        ),
        ('{"version":1,"snapshot_id":811,"position":3}', None, "811", "unknown"),
        (
            '{"version":1,"snapshot_id":811,"position":3,"snapshot_timestamp_ms":99}',
            "stream-from-timestamp",
            "99",
            "at least once",
        ),
        ('{"t":[8,8,16,9]}', "startingOffsets", '{"t":[8,8,16,9]}', "unknown"),
        ('{"seqNum":9,"sourceVersion":1}', None, "file 9", "unknown"),
        ('{"own":1}', None, '{"own":1}', "unknown"),
        ("7", None, "7", "unknown"),
    ],
)
def test_starting_offsets_of_other_sources(
    tmp_path: Path, line: str, option: str | None, value: str | None, delivery: str | None
) -> None:
    row = start(query(tmp_path / "one", {0: [line]}))
    assert (row["option"], row["value"]) == (option, value)
    assert delivery in (None, row["delivery"])


def test_starting_snapshot_of_paimon_is_read_again_after_its_first_split(tmp_path: Path) -> None:
    line = '{"snapshotId":5,"index":%d,"scanSnapshot":false}'
    begun = start(query(tmp_path / "begun", {0: [line % 0]}))
    assert begun["delivery"] == "at least once"
    assert begun["note"].startswith("Splits 0 to 0 of snapshot 5 are read again.")
    unread = start(query(tmp_path / "unread", {0: [line % -1]}))
    assert (unread["delivery"], unread["note"]) == ("exactly once", "Set scan.mode=from-snapshot.")


@pytest.mark.parametrize(
    ("fields", "option"),
    [
        ({}, "startingPosition"),
        ({"subSequenceNumber": "-1", "isLast": "true"}, "kinesis.startingposition"),
    ],
)
def test_starting_position_of_kinesis(tmp_path: Path, fields: dict[str, str], option: str) -> None:
    shard = {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": "4959", **fields}
    line = json.dumps({"metadata": {"streamName": "s", "batchId": "0"}, "shardId-0": shard})
    row = start(query(tmp_path / "kinesis", {0: [line]}))
    assert (row["option"], row["value"], row["delivery"]) == (option, line, "exactly once")


def test_source_and_limit_narrow_the_rows(tmp_path: Path) -> None:
    root = query(tmp_path / "two", {0: [topic(0), delta(0)], 1: [topic(1), delta(1)]})
    assert cell_values(rows_of(root, source="1"), "kind") == ["delta", "delta"]
    assert len(rows_of(root, limit=3)) == 3


@pytest.mark.parametrize("output", OUTPUTS)
def test_offsets_in_every_format(output: str, kafka: Path) -> None:
    assert run("offsets", kafka, "-o", output).code == 0


def test_offsets_as_arrow(kafka: Path) -> None:
    table = api.offsets(str(kafka)).to_arrow()
    assert table.column("records").to_pylist() == [15, 15, 15, 6]


def test_unreadable_offset_log_entry_is_a_problem(kafka: Path) -> None:
    (kafka / "offsets" / "2").write_bytes(b"v1\n{")
    report = api.offsets(str(kafka))
    starts = [(3, None), (1, "orders:0@10, orders:1@5"), (0, "orders:0@4, orders:1@5")]
    assert cell_values(report.primary.rows, "batch_id", "start") == starts
    assert str(kafka / "offsets" / "2") in attributes(report.problems, "path")


@costly
@given(
    st.lists(
        st.sampled_from([topic(3), delta(2), "-", "7", "{", '{"logOffset":3}', '{"a":' * 50, "\0"]),
        max_size=3,
    ),
    st.sampled_from(["", "0", "orders:0@1", "a.json", "@", "1:1"]),
)
def test_any_offset_lines_give_rows_or_problems(lines: list[str], sought: str) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        root = query(Path(folder) / "any", {0: lines, 1: lines[::-1], 2: lines})
        for options in ({}, {"by": "partition"}, {"find": sought}, {"form": "starting-offsets"}):
            list(api.offsets(str(root), **options).primary.rows)  # type: ignore[arg-type]


def test_initial_offsets_of_event_hubs(tmp_path: Path) -> None:
    """Offset log v2 names the provider; the source writes its first numbers as Kafka's does."""
    root = query(tmp_path / "hub", {0: [topic(9)]})
    head = {
        "batchWatermarkMs": 0,
        "batchTimestampMs": TIME_MS,
        "conf": {},
        "sourceMetadataInfo": {"0": {"providerName": "org.apache.EventHubsSourceProvider"}},
    }
    text = "\n".join(["v2", json.dumps(head), f"0:{topic(9)}"])
    (root / "offsets" / "0").write_text(text, "utf-8")
    (root / "sources" / "0").mkdir(parents=True)
    (root / "sources" / "0" / "0").write_bytes(b"\0v1\n" + topic(4).encode())
    (row,) = rows_of(root)
    assert (row["kind"], row["records"]) == ("event-hubs", 5)
    assert start(root)["option"] == "eventhubs.startingPositions"


BATCHES = ("batch_id", "start", "end", "records", "committed")
