"""What Spark 2.1 and 2.2 wrote and no Spark that runs today can write, end to end.

No commit log, no operator metadata, no state schema, values that are 4 bytes too long
(``RowBasedKeyValueBatch`` before 2.3), temporary files with visible names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from inspector.sparktypes.ddl import parse_ddl
from tests import encode
from tests.cases import write_store
from tests.cli.support import run
from tests.reports import cell_values

KEY, VALUE = parse_ddl("user string"), parse_ddl("user string, count bigint")
GIVEN = ("--key-schema", "user string", "--value-schema", "user string, count bigint")


def put(user: str, count: int) -> tuple[bytes, bytes]:
    """A record of aggregation state format 1, whose value has four bytes too many."""
    return encode.row(KEY, (user,)), encode.row(VALUE, (user, count)) + b"\0\0\0\0"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Three batches, two partitions; partition 1 has gone one version further."""
    root = tmp_path / "checkpoint"
    (root / "offsets").mkdir(parents=True)
    (root / "metadata").write_text('{"id":"21000000-bb40-4fc3-855e-7fd5ef06d3d7"}')
    for batch in range(4):
        header = f'{{"batchWatermarkMs":0,"batchTimestampMs":{1000 * (batch + 1)}}}'
        (root / "offsets" / str(batch)).write_text(f"v1\n{header}\n{batch}")
    write_store(
        root / "state/0/0",
        {
            1: [put("u0", 1), put("once1", 1)],
            2: [put("u0", 2), put("once2", 1)],
            3: [put("u0", 3), put("once3", 1)],
        },
    )
    write_store(
        root / "state/0/1",
        {
            1: [put("u1", 1), put("once1", 1)],
            2: [put("u1", 2), put("once2", 1)],
            3: [put("u1", 3), put("once3", 1)],
            4: [put("u1", 4), put("once4", 1)],
        },
    )
    (root / "state" / "0" / "0" / "temp-5577006791947779410").write_bytes(b"half a file")
    return root


def test_old_layout_newest_version_is_restorable_everywhere(checkpoint: Path) -> None:
    summary = run("info", checkpoint, "-o", "json").json["summary"]
    assert (summary["version"], summary["last_committed_batch"]) == (3, None)


def test_old_layout_sizes_without_schema(checkpoint: Path) -> None:
    (row,) = run("sizes", checkpoint, "-o", "json").rows
    assert (row["rows"], row["value_bytes"]) == (8, 8 * 32)


def test_old_layout_rows_use_given_schema(checkpoint: Path) -> None:
    bare = run("rows", checkpoint, "--raw", "-o", "ndjson")
    assert bare.code == 0
    assert set(cell_values(bare.ndjson, "value")) == {None}
    assert {len(value) for value in cell_values(bare.ndjson, "value_hex")} == {64}
    outcome = run("rows", checkpoint, *GIVEN, "-o", "ndjson")
    counts = {row["key"]["user"]: row["value"]["count"] for row in outcome.ndjson}
    assert counts == {"u0": 3, "u1": 3, "once1": 1, "once2": 1, "once3": 1}


def test_old_layout_audit_is_complete(checkpoint: Path) -> None:
    outcome = run("audit", checkpoint, *GIVEN, "-o", "json")
    assert outcome.json["complete"]
    assert set(cell_values(outcome.rows, "id")) == {"SS201", "SS301"}
    siblings = run("files", checkpoint, "-o", "json").json["tables"]["other_files"]
    assert cell_values(siblings, "kind", "files") == [("temporary", 1)]
