"""How much processor time this machine takes for a file and for a byte, measured on rows made up.

The state of no checkpoint is read for it. Rows of real keys compress otherwise and are larger or
smaller, so that what follows from it is an estimate.
"""

from __future__ import annotations

import struct
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from inspector.discovery.tasks import Request, StoreTask, Task
from inspector.light_dataclasses import dataclass
from inspector.model import FileKind, StoreFile, Version
from inspector.passes.worker import run_tasks
from inspector.schemas import task_batch
from inspector.sparktypes import parse_ddl, to_json

_FILES = 128
_RECORDS = 100_000
_SEED = 7
_SCHEMA = "a BIGINT, b BIGINT, c BIGINT"
_CODEC: Final = "zstd"


@dataclass(frozen=True)
class Pace:
    """Processor seconds that an audit takes, by one core.

    Attributes:
        file: for a small file, whatever it holds. byte: for each byte on storage.
    """

    file: float
    byte: float

    def seconds(self, files: int, size: int) -> float:
        """For so many files of so many bytes together."""
        return files * self.file + size * self.byte


@lru_cache(maxsize=1)
def measure() -> Pace:
    """The pace of this process with the kernel that it uses; takes a fifth of a second, once."""
    random = np.random.default_rng(_SEED)
    with tempfile.TemporaryDirectory(prefix="inspector-") as folder:
        small = [_write(Path(folder), v, 1, random) for v in range(1, _FILES + 1)]
        large = _write(Path(folder), _FILES + 1, _RECORDS, random)
        single = [_write(Path(folder), _FILES + 2, 1, random)]
        _seconds(folder, single)  # so that whatever is imported first is not counted
        base = _seconds(folder, single)
        per_file = max(0.0, _seconds(folder, small) - base) / (len(small) - 1)
        per_byte = max(0.0, _seconds(folder, [large]) - base) / large.size
    return Pace(per_file, per_byte)


def _write(folder: Path, version: int, records: int, random: np.random.Generator) -> StoreFile:
    """A delta of rows of three numbers: keys at random, values that grow."""
    row = 8 + 8 * 3
    bytes_of = f"V{row}"
    names = [("k", ">i4"), ("key", bytes_of), ("v", ">i4"), ("value", bytes_of)]
    record = np.zeros(records, names)
    record["k"] = record["v"] = row
    cells = np.zeros((records, 2, 4), "<i8")
    cells[:, 0, 1] = random.integers(0, 1 << 40, records)
    cells[:, 1, 1] = np.arange(records)
    cells[:, 1, 2] = 1_700_000_000_000_000
    packed = cells.reshape(records, -1).view(bytes_of).reshape(records, 2)
    record["key"], record["value"] = packed[:, 0], packed[:, 1]
    content = record.tobytes() + struct.pack(">i", -1)
    path = folder / f"version-{version}"
    path.write_bytes(pa.Codec(_CODEC).compress(content, asbytes=True))
    return StoreFile(str(path), FileKind.DELTA, Version(version), path.stat().st_size)


def _task(folder: str, files: list[StoreFile]) -> Task:
    numbered = tuple(
        StoreFile(file.path, file.kind, Version(i), file.size) for i, file in enumerate(files, 1)
    )
    schema = to_json(parse_ddl(_SCHEMA))
    store = StoreTask("default", numbered, key_schema=schema, value_schema=schema)
    codecs = dict.fromkeys(range(1, len(files) + 1), _CODEC)
    return Task(
        folder, folder, {}, 0, 0, len(files), (store,), codecs=codecs, request=Request(fit=True)
    )


def _seconds(folder: str, files: list[StoreFile]) -> float:
    task = _task(folder, files)
    start = time.thread_time()
    for batch in run_tasks([task_batch(task.to_json(), 0)]):
        del batch
    return time.thread_time() - start
