"""Memory of RocksDB outside of the heap, by its confs."""

from __future__ import annotations

from typing import Any

import pytest

from inspector import api
from inspector.analyses.memory import PREFIX, RocksDbMemory
from inspector.exceptions import CheckpointError
from tests.cli.support import checkpoint_of, run
from tests.reports import cell_values, rows_of_table

MB = 1 << 20
SESSIONS = str(checkpoint_of("rocksdb_session_window"))


def memory_by_part(**options: Any) -> dict[str, tuple[int | None, int | None]]:
    """Return the largest number of bytes, and the number of stores, of each part of the memory."""
    table = api.memory(SESSIONS, **options).tables[1]
    return {row["kept"]: (row["most_bytes"], row["stores"]) for row in table.rows}


def test_default_rocksdb_memory_per_store() -> None:
    assert memory_by_part() == {
        "block cache": (2 * 8 * MB, 2),
        "write buffers": (2 * 2 * 64 * MB, 2),
        "indexes and filters": (None, 2),
    }


def test_rocksdb_confs_set_memory_limits() -> None:
    confs = {"writeBufferSizeMB": "16", f"{PREFIX}maxWriteBufferNumber": "4"}
    result = memory_by_part(rocksdb_confs={**confs, "BLOCKCACHESIZEMB": "1"})
    assert result["block cache"] == (2 * MB, 2)
    assert result["write buffers"] == (2 * 4 * 16 * MB, 2)


@pytest.mark.parametrize(("executors", "all_of_them"), [(None, 1), (3, 3)])
def test_bounded_rocksdb_memory_per_executor(executors: int | None, all_of_them: int) -> None:
    confs = {"boundedMemoryUsage": "true", "maxMemoryUsageMB": "100", "writeBufferCacheRatio": ".3"}
    assert memory_by_part(rocksdb_confs=confs, executors=executors) == {
        "all of RocksDB": (100 * all_of_them * MB, None),
        "write buffers": (30 * all_of_them * MB, None),
    }


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        (
            {"blockSizeKB": "4"},
            "unknown memory setting 'blockSizeKB', expected one of blockC",
        ),
        ({"blockCacheSizeMB": "0"}, "got '0' for blockCacheSizeMB, expected a positive number"),
        ({"blockCacheSizeMB": "x"}, "got 'x' for blockCacheSizeMB, expected a positive number"),
        ({"boundedMemoryUsage": "1"}, "got '1' for boundedMemoryUsage, expected true or false"),
        ({"writeBufferCacheRatio": "2"}, "expected a number from 0 to 1"),
        ({"writeBufferCacheRatio": "nan"}, "expected a number from 0 to 1"),
    ],
)
def test_invalid_rocksdb_conf_is_refused(conf: dict[str, str], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        RocksDbMemory.of(conf)
    ((name, value),) = conf.items()
    outcome = run("memory", SESSIONS, "--rocksdb-conf", f"{name}={value}")
    assert (outcome.code, message in outcome.err) == (2, True)


def test_rocksdb_memory_sentence() -> None:
    plain = RocksDbMemory()
    assert "136.0 MiB outside the heap, unless" in plain.sentence(1)
    assert "for each of 4 stores, 544.0 MiB in all," in plain.sentence(4)
    bounded = RocksDbMemory(boundedMemoryUsage=True)
    assert bounded.sentence(4) == "outside of the heap 500.0 MiB on each executor"


@pytest.mark.parametrize(
    ("confs", "words"),
    [
        ({}, "these are Spark's defaults, and --rocksdb-conf gives others."),
        ({"blockCacheSizeMB": "1"}, "these are those of --rocksdb-conf, and Spark's defaults."),
    ],
)
def test_footnote_on_the_origin_of_rocksdb_confs(confs: dict[str, str], words: str) -> None:
    assert words in api.memory(SESSIONS, rocksdb_confs=confs).footnotes[0]


def test_what_if_of_heap_state_uses_rocksdb_confs() -> None:
    report = api.memory(str(checkpoint_of("agg_append")), rocksdb_confs={"writeBufferSizeMB": "1"})
    changes = dict(cell_values(rows_of_table(report, "what_ifs"), "change", "how"))
    assert "up to 10.0 MiB for each of 2 stores" in changes["RocksDB state store"]
