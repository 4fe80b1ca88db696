"""Limits on hostile files, each audited by a process with bounded memory."""

from __future__ import annotations

import json
import os
import resource
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.fixture_folder import NEWEST
from tests.reports import cell_values

MOST_BYTES = 1536 << 20
"""Address space of the process in bytes; the libraries take half of it."""

SECONDS = 600


def _zstd(raw: bytes, times: int) -> bytes:
    """Return a zstd frame of these bytes, repeated."""
    return pa.Codec("zstd").compress(raw, asbytes=True) * times


def _long_key(root: Path) -> None:
    """Write a delta of 65 KB with a key of 2 GB."""
    head = _zstd(struct.pack(">i", (2 << 30) - 8), 1)
    (root / "state/0/0/2.delta").write_bytes(head + _zstd(bytes(64 << 20), 32))


def _zeros(root: Path) -> None:
    """Write a delta of 164 KB with 5 GB of zeros, which are empty records."""
    (root / "state/0/0/2.delta").write_bytes(_zstd(bytes(64 << 20), 80))


def _partitions(root: Path) -> None:
    """Set 99,999,999 partitions in the offset log."""
    for path in (root / "offsets").glob("[0-9]*"):
        text = path.read_text("utf-8")
        path.write_text(text.replace('shuffle.partitions":"2"', 'shuffle.partitions":"99999999"'))


def _fields(root: Path) -> None:
    """Write a schema of 100,000 fields."""
    field = {"name": "f", "type": "long", "nullable": True, "metadata": {}}
    text = json.dumps({"type": "struct", "fields": [field] * 100_000}).encode()
    pieces = [text[at : at + 0x8000] for at in range(0, len(text), 0x8000)]
    chunks = b"".join(struct.pack(">H", len(piece)) + piece for piece in pieces)
    schema = struct.pack(">i", len(pieces)) + chunks
    (root / "state/0/0/_metadata/schema").write_bytes(b"\x00\x02v2" + schema + schema)


def _tiny_parts(root: Path) -> None:
    """Write a checksum file with a checksum for each byte, 16 million in all."""
    sums = b"crc\x00" + struct.pack(">i", 1) + bytes(60 << 20)
    (root / "state/0/0/.2.delta.crc").write_bytes(sums)


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "long key": (_long_key, "record_bytes"),
    "zeros": (_zeros, "ratio"),
    "partitions": (_partitions, "partitions"),
    "fields": (_fields, "fields"),
    "tiny parts": (_tiny_parts, "sum_part_bytes"),
}
_BRIEF = sorted({*HOSTILE} - {"zeros"})


def audited(root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))

    command = [sys.executable, "-m", "inspector", "audit", str(root), "-o", "json"]
    return subprocess.run(
        [*command, "--engine=local", "--workers=1", "--fail-on=never"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=bounded,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        check=False,
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    copy = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "agg_update" / "checkpoint", copy)
    for side in copy.rglob(".*.crc"):
        side.unlink()
    return copy


@pytest.mark.parametrize("name", [*_BRIEF, pytest.param("zeros", marks=pytest.mark.full)])
def test_exceeded_limit_is_a_problem_with_its_name(name: str, root: Path) -> None:
    damage, limit = HOSTILE[name]
    damage(root)
    done = audited(root)
    report = json.loads(done.stdout)
    messages = "\n".join(cell_values(report["problems"], "message"))
    assert f"the limit {limit} is " in messages, (messages, done.stderr)


def test_limits_variable_sets_a_limit(root: Path) -> None:
    done = audited(root, INSPECTOR_LIMITS="fields=1")
    assert "the limit fields is 1" in done.stdout
    wrong = audited(root, INSPECTOR_LIMITS="no_such=1")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error: INSPECTOR_LIMITS: got the limit 'no_such=1'")
