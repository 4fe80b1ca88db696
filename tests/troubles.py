"""Checkpoints of fixtures/troubles.tar.xz (scripts/make_troubles.py), each unpacked once."""

from __future__ import annotations

import atexit
import lzma
import tarfile
import tempfile
from functools import cache
from io import BytesIO
from pathlib import Path

ARCHIVE = Path(__file__).parent.parent / "fixtures" / "troubles.tar.xz"


@cache
def _folder() -> Path:
    """Return the folder of this process, which is removed when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="troubles")
    atexit.register(folder.cleanup)
    return Path(folder.name)


@cache
def _archive() -> tarfile.TarFile:
    """In memory, where each case is read without the others: a plain run needs few of them."""
    return tarfile.open(fileobj=BytesIO(lzma.decompress(ARCHIVE.read_bytes())))


@cache
def _members() -> dict[str, list[tarfile.TarInfo]]:
    members: dict[str, list[tarfile.TarInfo]] = {}
    for member in _archive():
        members.setdefault(member.name.removeprefix("./").partition("/")[0], []).append(member)
    return members


@cache
def troubled(name: str) -> Path:
    """A checkpoint, ``trouble_agg_fan_out``; to be read, as all tests have the same."""
    _archive().extractall(_folder(), _members()[name], filter="data")
    return _folder() / name / "checkpoint"
