"""``HDFSBackedStateStoreProvider``, the default of Spark 2.1 to 4.3: deltas and snapshots.

Its files are ``7.delta`` and ``7.snapshot``. Spark's listing
(``HDFSBackedStateStoreProvider.fetchFiles``) takes only names of two parts, a long and, in any
case, ``delta`` or ``snapshot``. Here a name with leading zeros is none of them: Spark opens a
version by its plain number, so it would list such a file and never read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from inspector.checkpoint.names import MAX_BATCH, classify_side_file, number
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.chain import FileNames
from inspector.providers.provider import Provider

# names of the provider's files
SPELLED = FileNames(
    delta="{}.delta",
    snapshot="{}.snapshot",
    absent="CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
)

_STATE = re.compile(r"([0-9]+)\.(delta|snapshot)", re.IGNORECASE)  # name of a delta or snapshot


@lru_cache(maxsize=1 << 14)  # all partitions have the same names
def _classify(name: str) -> tuple[FileKind, Version | None]:
    """Return the kind and version of a file by its name."""
    match = _STATE.fullmatch(name)
    version = None if match is None else number(match[1], MAX_BATCH)
    if match is None or version is None:
        return classify_side_file(name)
    return FileKind(match[2].lower()), Version(version)


class HdfsProvider(Provider):
    """Spark's default provider, which takes every checkpoint that no other provider claims."""

    spark_class = "HDFSBackedStateStoreProvider"
    names = SPELLED
    rank = 100
    reads_each_file_whole = True

    def classify(self, name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
        """Return the kind and version of a file by its name; every folder is OTHER."""
        return (FileKind.OTHER, None) if is_dir else _classify(name)

    def detect(self, provider_class: str | None, files: Iterable[StoreFile]) -> bool:
        """Return True: it takes what no other provider claims, also a query without state."""
        return True

    def snapshot_name(self, version: int) -> str:
        """Return the name of a version's snapshot, which has all rows itself."""
        return SPELLED.snapshot.format(version)


PROVIDER = HdfsProvider()
