"""Checkpoints of fixtures/troubles.tar.xz (scripts/make_troubles.py), unpacked once."""

from __future__ import annotations

import tarfile
import tempfile
from functools import cache
from pathlib import Path

ARCHIVE = Path(__file__).parent.parent / "fixtures" / "troubles.tar.xz"


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="troubles")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder.name, filter="data")
    return folder


def troubled(name: str) -> Path:
    """A checkpoint, ``trouble_agg_fan_out``; to be read, as all tests have the same."""
    return Path(_folder().name) / name / "checkpoint"
