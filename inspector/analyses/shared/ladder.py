"""The ladder of sizes that the command ``memory`` prints; where no heap holds state, all of it."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.analyses.shared.common import coverage, file_bytes, identity, size
from inspector.analyses.shared.declare import TableSpec
from inspector.analyses.shared.part import part_of
from inspector.discovery.checkpoint import Checkpoint
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import FileKind, Problem
from inspector.render.report import Column, Report, Table
from inspector.render.units import bytes_text

ROCKSDB_CACHE_BYTES = 8 << 20
"""``stateStore.rocksdb.blockCacheSizeMB`` by default."""

ROCKSDB_BUFFERS, ROCKSDB_BUFFER_BYTES = 2, 64 << 20
"""Write buffers of each store: ``maxWriteBufferNumber`` and ``writeBufferSizeMB`` are -1, which
leaves RocksDB's own defaults."""

LADDER = TableSpec(
    "ladder",
    "the size of the state, counted in one way",
    (
        Column("rung"),
        size("bytes", "How many bytes that is."),
        Column("counted"),
        Column("meaning"),
    ),
    important="rung bytes counted meaning",
)


def off_heap_report(
    checkpoint: Checkpoint, version: int, facts: Facts, problems: Sequence[Problem]
) -> Report:
    """The sizes of state that no executor keeps on its heap: from files to rows, all exact."""
    stores = len({layout.directory for o in checkpoint.operators for layout in o.layout.folders})
    rungs = exact_rungs(checkpoint, facts, _newest(facts, version))
    return Report(
        "memory",
        checkpoint.root,
        identity(checkpoint, version) | coverage(checkpoint, version, facts),
        [ladder_table(rungs)],
        problems=problems,
        footnotes=(
            "The rows of this state lie on the executors' local disks, in RocksDB, and not on "
            f"their heaps: there is no heap to estimate. {_sentence(rocksdb_keeps(stores))}",
        ),
        part=part_of(checkpoint, version),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _newest(facts: Facts, version: int) -> VersionFacts:
    found = (one for (_, of_version), one in facts.versions.items() if of_version == version)
    return sum(found, VersionFacts())


def exact_rungs(
    checkpoint: Checkpoint, facts: Facts, newest: VersionFacts
) -> tuple[tuple[str, int, bool, str], ...]:
    """The sizes that are counted, from files to rows."""
    of_files = file_bytes(checkpoint)
    raw = sum(one.raw_bytes for one in facts.versions.values())
    found = (
        ("delta files", of_files.get(FileKind.DELTA, 0), True, "compressed; what each batch wrote"),
        ("snapshot files", of_files.get(FileKind.SNAPSHOT, 0), True, "compressed; whole versions"),
        (
            "table files",
            of_files.get(FileKind.TABLE, 0),
            True,
            "compressed; the rows of the snapshots, which share them",
        ),
        ("raw bytes", raw, True, "the files that were replayed, decompressed: keys once per put"),
        ("keys", newest.key_bytes, True, "UnsafeRow bytes of the judged version"),
        ("values", newest.value_bytes, True, "UnsafeRow bytes of the judged version"),
        ("rows", newest.row_bytes, True, "keys and values: what the UI's sizes should start from"),
    )
    return tuple(rung for rung in found if rung[1] or rung[0] != "table files")


def ladder_table(rungs: Sequence[tuple[str, int, bool, str]]) -> Table:
    """The table of these rungs: name, bytes, whether they are counted, what they mean."""
    return LADDER.table(
        "size ladder",
        [
            {
                "rung": rung,
                "bytes": amount,
                "counted": "exact" if exact else "estimate",
                "meaning": meaning,
            }
            for rung, amount, exact, meaning in rungs
        ],
    )


def rocksdb_keeps(stores: int) -> str:
    """What RocksDB keeps, by the defaults of ``RocksDBConf`` and of RocksDB itself."""
    each = ROCKSDB_CACHE_BYTES + ROCKSDB_BUFFERS * ROCKSDB_BUFFER_BYTES
    of_all = f" for each of {stores:,} stores, {bytes_text(each * stores)} in all,"
    return (
        f"outside of the heap caches take up to {bytes_text(each)}"
        f"{of_all if stores > 1 else ''} unless rocksdb.boundedMemoryUsage limits them"
    )
