"""Each kind of damage changes something, and the same from the same seed."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.discovery.checkpoint import open_checkpoint
from tests import byte_damage
from tests.checkpoint_files import contents_below
from tests.fixture_folder import FIXTURES
from tests.injection import _contents
from tests.reports import slugs

CASE = FIXTURES / "4.3.0/codec_zstd/checkpoint"


@pytest.mark.parametrize("act", byte_damage.KINDS)
def test_byte_damage_changes_file(
    act: Callable[[Path, random.Random], None], tmp_path: Path
) -> None:
    contents = []
    for name in ("one", "other"):
        root = tmp_path / name
        shutil.copytree(CASE, root)
        byte_damage.with_sums(root)
        before = contents_below(root)
        act(root, random.Random(5))
        contents.append(_contents(root))
        assert _contents(root) != before
    assert contents[0] == contents[1]


def test_checksum_files_are_renewed_as_by_hadoop(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(CASE, root)
    byte_damage.with_sums(root)
    assert open_checkpoint(str(root)).problems == ()
    entry = root / "offsets/0"
    entry.write_bytes(entry.read_bytes().replace(b'"batchWatermarkMs":0', b'"batchWatermarkMs":00'))
    entry.write_bytes(entry.read_bytes() + b"\n")
    assert slugs(open_checkpoint(str(root)).problems)[:1] == ["bad-checksum"]
    byte_damage.renew_sums([entry])
    assert "bad-checksum" not in slugs(open_checkpoint(str(root)).problems)
    byte_damage.without_sums(root)
    assert not list(root.rglob("*.crc"))
