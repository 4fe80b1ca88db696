"""Keys that options name: whether a hash of which few digits were given names one key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from inspector.decode.row_hash import HASH, hash_digits, row_hash
from inspector.passes.key_filter import KeyFilter

_LISTED = 5


class HashedKeys:
    """What the rows that are read say of the hashes among the names of a key.

    Args:
        requested: what is looked for.
        notes: of the report; gets one for each hash that fits several keys. It grows while the rows
            are read, as a report's problems do.
    """

    def __init__(self, requested: KeyFilter, notes: list[str]) -> None:
        self._found: dict[str, dict[str, None]] = {text: {} for text in requested.hashes}
        self._notes = notes
        self._place: dict[str, int] = {}

    def watch(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass on batches that have a column ``key``, of rows that fit what is looked for."""
        for batch in batches:
            if self._found:
                self.see(batch.column("key").to_pylist())
            yield batch

    def see(self, keys: Sequence[bytes | None]) -> None:
        """Learn that some keys fit; None is a row without one."""
        for text, found in self._found.items():
            for key in keys:
                if key is None or len(found) > _LISTED:
                    continue
                if hash_digits(key).startswith(text[len(HASH) :].lower()):
                    found.setdefault(row_hash(key))
            if len(found) > 1:
                self._note(text, list(found))

    def _note(self, text: str, found: list[str]) -> None:
        more = " and others" if len(found) > _LISTED else ""
        note = (
            f"{text} is ambiguous: it is the beginning of the hashes of several keys, "
            f"{', '.join(found[:_LISTED])}{more}; give more digits"
        )
        place = self._place.setdefault(text, len(self._notes))
        self._notes[place:] = [note, *self._notes[place + 1 :]]
