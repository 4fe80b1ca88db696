"""Committed and abandoned attempts in a checkpoint of format 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.discovery.checkpoint import open_checkpoint
from inspector.model import FileKind
from tests import encode
from tests.cases import Batch, write_logs
from tests.rocks import PUT, changelog, encoded

CLASS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def checkpoint(root: Path, logged: int) -> Path:
    """Write three versions with two attempts each; the log names attempt b of the last ones."""
    write_logs(root, [Batch()] * 3, {"streaming.stateStore.providerClass": CLASS})
    store = root / "state/0/0"
    store.mkdir(parents=True)
    for version in (1, 2, 3):
        for attempt in "ab":
            before = [
                {"version": v, "checkpointUniqueId": attempt} for v in range(version - 1, 0, -1)
            ]
            entry = (PUT, encoded(attempt.encode()), encoded(b"x"))
            raw = changelog([entry], 3, json.dumps(before))
            (store / f"{version}_{attempt}.changelog").write_bytes(encode.compress(raw, "lz4"))
        if version > 3 - logged:
            commit = {"nextBatchWatermarkMs": 0, "stateUniqueIds": {"0": [["b"]]}}
            (root / f"commits/{version - 1}").write_text(f"v2\n{json.dumps(commit)}")
    return root


def kinds(root: Path) -> dict[str, FileKind]:
    (operator,) = open_checkpoint(str(root)).operators
    (store,) = operator.layout.stores
    return {file.path.rsplit("/", 1)[-1]: file.kind for file in store.files}


@pytest.mark.parametrize("logged", [3, 1])  # all versions, or the newest one with its lineage
def test_committed_attempts_of_checkpoint_format_2(tmp_path: Path, logged: int) -> None:
    assert kinds(checkpoint(tmp_path, logged)) == {
        "1_a.changelog": FileKind.ABANDONED,
        "1_b.changelog": FileKind.DELTA,
        "2_a.changelog": FileKind.ABANDONED,
        "2_b.changelog": FileKind.DELTA,
        "3_a.changelog": FileKind.ABANDONED,
        "3_b.changelog": FileKind.DELTA,
    }


def test_unreadable_lineage_keeps_the_last_attempt(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, 1)
    (root / "state/0/0/3_b.changelog").write_bytes(b"no changelog")
    result = kinds(root)
    of_version_2 = {result["2_a.changelog"], result["2_b.changelog"]}
    assert of_version_2 == {FileKind.DELTA, FileKind.ABANDONED}
