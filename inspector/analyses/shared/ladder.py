"""The ladder of sizes that the command ``memory`` prints; where no heap holds state, all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from inspector.analyses.shared.common import file_bytes
from inspector.analyses.shared.heap import MemoryOptions
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.off_heap import RocksDbMemory
from inspector.facts.versions import VersionFacts
from inspector.model import FileKind
from inspector.render import tabular as t
from inspector.render.report import Report, Table


@dataclass(frozen=True, kw_only=True)
class RungRow(t.Row, table="ladder"):
    """The size of the state, counted in one way."""

    rung: Annotated[t.Text, "What is counted: the rungs go from files to the heap.", t.Rank(1)]
    bytes: Annotated[t.Bytes, "How many bytes that is."]
    counted: Annotated[t.Text, "`exact` or `estimate`."]
    meaning: t.Meaning


def off_heap_report(judged: Judged, options: MemoryOptions) -> Report:
    """The sizes of state that no executor keeps on its heap, and what is kept outside of it.

    The former, from files to rows, are all exact; the latter are limits by conf.
    """
    operators = judged.checkpoint.operators
    stores = len({layout.directory for o in operators for layout in o.layout.folders})
    rungs = exact_rungs(judged, judged.total)
    return judged.report(
        "memory",
        [ladder_table(rungs), options.rocksdb.table(stores, options.executors)],
        judged.coverage,
        footnotes=(
            "The rows of this state lie on the executors' local disks, in RocksDB, and not on "
            "their heaps: there is no heap to estimate. The checkpoint does not record the confs "
            f"of RocksDB: {_confs(options)}.",
            *_without_use(options),
        ),
    )


def _confs(options: MemoryOptions) -> str:
    if options.rocksdb == RocksDbMemory():
        return "these are Spark's defaults, and --rocksdb-conf gives others"
    return "these are those of --rocksdb-conf, and Spark's defaults"


def _without_use(options: MemoryOptions) -> Iterator[str]:
    """What is said of options that are about heaps."""
    plain = MemoryOptions()
    about_heaps = ("retain", "cores", "heap_bytes", "state_percent", "jdk", "spark")
    given = [name for name in about_heaps if getattr(options, name) != getattr(plain, name)]
    if given:
        flags = " and ".join(f"--{name.removesuffix('_bytes').replace('_', '-')}" for name in given)
        verb = "is" if len(given) == 1 else "are"
        yield f"{flags} {verb} about maps on the heap, and changed nothing here."


def exact_rungs(judged: Judged, newest: VersionFacts) -> tuple[tuple[str, int, bool, str], ...]:
    """The sizes that are counted, from files to rows."""
    of_files = file_bytes(judged.checkpoint)
    raw = sum(one.raw_bytes for one in judged.facts.versions.values())
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
    return RungRow.table(
        "size ladder",
        [
            RungRow(
                rung=rung, bytes=amount, counted="exact" if exact else "estimate", meaning=meaning
            )
            for rung, amount, exact, meaning in rungs
        ],
    )
