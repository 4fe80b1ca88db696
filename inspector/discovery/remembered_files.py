"""Logs, metadata and schemas of a checkpoint that is looked at again and again: read once each."""

from __future__ import annotations

from contextlib import suppress

from inspector.checkpoint.entries import Entry
from inspector.checkpoint.patience import SILENCE
from inspector.checkpoint.storage import Storage
from inspector.discovery.verified_files import VerifiedFiles
from inspector.exceptions import InspectorError
from inspector.model import LIMITS


class RememberedFiles(VerifiedFiles):
    """Verified small files whose bytes are kept as long as a listing shows them unchanged.

    Unchanged is a file of the same size and time of change; where a storage has no times, the
    size alone. Spark writes an entry of a log once and never again, unless the query is set back.

    Args:
        storage: where they lie.
    """

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage)
        self._listed: dict[str, Entry] = {}
        self._kept: dict[str, tuple[Entry, bytes, bool]] = {}

    def look_again(self) -> None:
        """Begin another look: folders are listed anew, and what has gone is forgotten.

        An object that was silent has another chance.
        """
        SILENCE.clear()
        self._kept = {path: kept for path, kept in self._kept.items() if path in self._listed}
        self._listed.clear()
        self._names.clear()
        self._spare.clear()
        self.vouched = {}  # whoever has the old one keeps it
        self._tree, self._has_asked = None, False

    def read(
        self, relative: str, limit: int = LIMITS.small_file_bytes, *, size: int | None = None
    ) -> bytes:
        """A whole small file, from memory if it is the same as before.

        Raises:
            ChecksumError, LimitError, OSError: as of :class:`VerifiedFiles`; such a file is read
                again the next time.
        """
        entry = self._entry(relative)
        kept = self._kept.get(relative)
        if kept is not None and kept[0] == entry:
            self.vouched[relative] = kept[2]
            return kept[1]
        if entry is not None and size is None:
            size = entry.size
        data = super().read(relative, limit, size=size)
        if entry is not None:
            self._kept[relative] = entry, data, self.vouched[relative]
        return data

    def list(self, relative: str = "", *, missing_ok: bool = False) -> tuple[Entry, ...]:
        """What a folder holds; kept until the next look."""
        found = super().list(relative, missing_ok=missing_ok)
        self._listed.update((entry.path, entry) for entry in found if not entry.is_dir)
        return found

    def _entry(self, relative: str) -> Entry | None:
        folder = relative.rpartition("/")[0]
        if folder not in self._names:
            with suppress(InspectorError, OSError):
                self._spare[folder] = self.list(folder)
        return self._listed.get(relative)
