"""Codecs, log formats and RocksDB, from the first bytes of a few files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from inspector.checkpoint.metadata import OperatorMetadata
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.formats import codec_in_use, needs_rocksdb
from tests import cases
from tests.cases import Batch, small_checkpoint


def test_codec_of_the_newest_file(tmp_path: Path) -> None:
    cases.write_logs(tmp_path, [Batch(), Batch()])
    cases.write_store(tmp_path / "state/0/0", {1: []}, codec="lz4")
    cases.write_store(tmp_path / "state/0/0", {2: []}, codec="zstd")
    checkpoint = open_checkpoint(str(tmp_path))
    assert checkpoint.logs.formats == {"offsets": 1, "commits": 1}
    codec, newest = codec_in_use(checkpoint)
    assert newest is not None
    assert (codec, newest.path, newest.version) == ("zstd", str(tmp_path / "state/0/0/2.delta"), 2)


def test_unknown_codec_and_log_formats(tmp_path: Path) -> None:
    cases.write_logs(tmp_path, [Batch(committed=False)])
    assert codec_in_use(open_checkpoint(str(tmp_path))) == (None, None)
    cases.write_store(tmp_path / "state/0/0", {})
    (tmp_path / "state/0/0/1.delta").write_bytes(b"")
    (tmp_path / "offsets/0").write_bytes(b"nonsense")
    checkpoint = open_checkpoint(str(tmp_path))
    assert checkpoint.logs.formats == {}
    codec, newest = codec_in_use(checkpoint)
    assert newest is not None
    assert (codec, newest.version) == (None, 1)


def test_operators_that_need_rocksdb(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    join, dedupe = checkpoint.operators
    assert needs_rocksdb(checkpoint, join) is None
    assert needs_rocksdb(checkpoint, dedupe) is None
    transform = replace(dedupe, name="transformWithStateExec")
    assert "transformWithStateExec needs RocksDB" in str(needs_rocksdb(checkpoint, transform))
    metadata = OperatorMetadata(join.name, properties={"useVirtualColumnFamilies": True})
    assert "format 3 or 4" in str(needs_rocksdb(checkpoint, replace(join, metadata=metadata)))


def test_join_without_stores_that_needs_rocksdb(tmp_path: Path) -> None:
    conf = {"streaming.join.stateFormatVersion": "3"}
    cases.write_logs(tmp_path, [Batch(committed=False)], conf)
    cases.write_operator(tmp_path, 0, "symmetricHashJoin", "default")
    (tmp_path / "state/0/0").mkdir(parents=True)
    checkpoint = open_checkpoint(str(tmp_path))
    assert "format 3 or 4" in str(needs_rocksdb(checkpoint, checkpoint.operators[0]))
