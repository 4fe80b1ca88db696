"""How RocksDB's checkpoints are recognised: ``7[_<uuid>].zip|changelog``, ``SSTs/``, ``logs/``."""

from __future__ import annotations

import re

from inspector.model import FileKind, Version
from inspector.providers.common_names import leading_version
from inspector.providers.provider import Listing, Unsupported

_CLASS = "RocksDB"
_FOLDERS = frozenset({"SSTs", "logs"})
_STATE = re.compile(r"([0-9]+)(?:_[0-9A-Za-z-]+)?\.(?:zip|changelog)")


class RocksDb(Unsupported):
    """Refused by the recorded provider class or by its files."""

    name = "rocksdb"

    @property
    def reason(self) -> str:
        """What was got and expected."""
        return (
            "got state of RocksDBStateStoreProvider, expected HDFSBackedStateStoreProvider; "
            "read it with spark.read.format('statestore') of Spark 4.0 or later"
        )

    def classify(self, name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
        """Its state files and its two folders, all of a kind that is not read."""
        if is_dir:
            return (FileKind.UNSUPPORTED if name in _FOLDERS else FileKind.OTHER), None
        if _STATE.fullmatch(name) is None:
            return FileKind.OTHER, None
        return FileKind.UNSUPPORTED, leading_version(name)

    def detect(self, listing: Listing) -> bool:
        """By the recorded class, or by any file of its own."""
        if listing.provider_class is not None and _CLASS in listing.provider_class:
            return True
        unread = (file.path for file in listing.files if file.kind is FileKind.UNSUPPORTED)
        names = (path.rsplit("/", 1)[-1] for path in unread)
        return any(name in _FOLDERS or _STATE.fullmatch(name) for name in names)
