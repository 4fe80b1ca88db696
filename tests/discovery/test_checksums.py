"""Files without any checksum."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.checksums import count_unsummed_files, sums_itself
from tests.byte_damage import with_sums
from tests.fixture_folder import NEWEST


@pytest.mark.parametrize(
    ("case", "without"),
    [("agg_append", 0), ("codec_zstd", 11), ("codec_snappy", 11), ("codec_lzf", 11)],
)
def test_only_lz4_files_have_their_own_checksums(case: str, without: int) -> None:
    checkpoint = open_checkpoint(str(NEWEST / case / "checkpoint"))
    files, unsummed = count_unsummed_files(checkpoint, checkpoint.newest_version)
    assert unsummed == without
    assert files > 0
    assert sums_itself(checkpoint, 1) is not bool(without)


def test_row_checksums_count_as_checksums() -> None:
    checkpoint = open_checkpoint(str(NEWEST / "agg_row_checksum" / "checkpoint"))
    assert count_unsummed_files(checkpoint, checkpoint.newest_version)[1] == 0


def test_checksum_files_count_as_checksums(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "codec_zstd" / "checkpoint", root)
    with_sums(root)
    checkpoint = open_checkpoint(str(root))
    assert count_unsummed_files(checkpoint, checkpoint.newest_version)[1] == 0
    assert (checkpoint.small_files > 0, checkpoint.unsummed_small_files) == (True, 0)
    (root / "state/0/0/.1.delta.crc").unlink()
    (root / "offsets/.0.crc").unlink()
    checkpoint = open_checkpoint(str(root))
    assert count_unsummed_files(checkpoint, checkpoint.newest_version)[1] == 1
    assert checkpoint.unsummed_small_files == 1
    assert count_unsummed_files(checkpoint, 0)[0] == 0
