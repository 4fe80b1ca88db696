"""Changelogs of RocksDB: the puts, merges and removals of a version, before rows are taken from it.

Version 1 is framed as a delta. Other versions begin with their name, such as ``v2``. In 2 and 4
each record begins with its kind; in 3 and 4 the lineage follows the name. Both are texts with 2
bytes of length. The lineage is a JSON array of ``{"version": 3, "checkpointUniqueId": "<uuid>"}``:
the versions before this one, back to a snapshot (``StateStoreChangelogWriter``, 3.5 to 4.3;
versions 2 to 4 since 4.0). A file of version 1 begins with the length of its first key, which may
look like that of a text; only ``v`` with digits is a version (SPARK-51922, SPARK-52553).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from inspector.decode.records import Scanned, scan_blocks
from inspector.exceptions import DecodeError, TruncatedError
from inspector.light_dataclasses import dataclass
from inspector.model import LIMITS, Limits

NEWEST_VERSION = 4  # newest version of the format that is known

WITH_KINDS = (2, 4)  # versions in which each record begins with its kind
WITH_LINEAGE = (3, 4)  # versions that have a lineage

_LENGTH_BYTES = 2  # bytes of the length of a text
_KEY_LENGTH_BYTES = 4  # bytes of the length of a key
_VERSION = re.compile(rb"v([0-9]{1,5})")  # text of a version
_LONGEST_VERSION = 6  # most characters of such a text
_VERSIONS = range(1 << 62)  # state versions that a lineage may have


@dataclass(frozen=True)
class LineageItem:
    """One version in the lineage of a changelog, with the unique id of its checkpoint."""

    version: int  # state version
    unique_id: str  # unique id of its checkpoint


@dataclass(frozen=True)
class ChangelogHead:
    """Head of a changelog."""

    version: int = 1  # version of its format, 1 to 4
    # versions that it is based on, oldest first as Spark writes them; empty in formats 1 and 2
    lineage: tuple[LineageItem, ...] = ()
    size: int = 0  # raw bytes before the first record


def read_changelog(
    blocks: Iterable[bytes], limits: Limits = LIMITS
) -> tuple[ChangelogHead, Iterator[Scanned]]:
    """Return the head of a decompressed changelog, and its records as they arrive.

    ``blocks`` may be cut anywhere. DecodeError: version or lineage is invalid, and errors of
    ``records.scan_blocks``.
    """
    stream = _Beginning(blocks)
    head = _head(stream)
    kinds = head.version in WITH_KINDS
    return head, scan_blocks(stream.remainder(head.size), limits, raw_offset=head.size, kinds=kinds)


def raw_records(blocks: Iterable[bytes], limits: Limits = LIMITS) -> Iterator[bytes]:
    """Yield the bytes of the records of a decompressed changelog, without head and end mark.

    Another changelog of the same format version can have them. Raises as :func:`read_changelog`.
    """
    head, records = read_changelog(blocks, limits)
    key_offset = _KEY_LENGTH_BYTES + (head.version in WITH_KINDS)
    for scanned in records:
        if scanned.spans.shape[1]:
            first, last = scanned.spans[:, 0], scanned.spans[:, -1]
            end = int(last[2] + max(last[3], 0))
            yield bytes(scanned.buffer[int(first[0]) - key_offset : end])


class _Beginning:
    """Beginning of a stream of blocks, which can be read before the rest."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._stream = iter(blocks)
        self._read = b""

    def first(self, size: int) -> bytes:
        """Return the first ``size`` bytes of the stream, or fewer if there are no more."""
        while len(self._read) < size:
            block = next(self._stream, None)
            if block is None:
                break
            self._read += block
        return self._read[:size]

    def remainder(self, start: int) -> Iterator[bytes]:
        """Return the stream from position ``start`` on, in blocks."""
        return chain([self._read[start:]] if len(self._read) > start else [], self._stream)


def _head(stream: _Beginning) -> ChangelogHead:
    """Return the head of a changelog."""
    version, size = _version(stream)
    if not 1 <= version <= NEWEST_VERSION:
        message = f"got changelog version v{version}, expected v1 to v{NEWEST_VERSION}"
        raise DecodeError(message, offset=0)
    if version not in WITH_LINEAGE:
        return ChangelogHead(version, (), size)
    prefix = stream.first(size + _LENGTH_BYTES)[size:]
    if len(prefix) < _LENGTH_BYTES:
        raise TruncatedError("no lineage (raw offset)", offset=size + len(prefix))
    length = int.from_bytes(prefix, "big")
    end = size + _LENGTH_BYTES + length
    text = stream.first(end)[size + _LENGTH_BYTES :]
    if len(text) < length:
        message = f"got {len(text)} bytes of a lineage, expected {length} (raw offset)"
        raise TruncatedError(message, offset=size)
    return ChangelogHead(version, tuple(_lineage(text, size)), end)


def _version(stream: _Beginning) -> tuple[int, int]:
    """Return the version of the format, and the bytes of its text; none for version 1."""
    length = int.from_bytes(stream.first(_LENGTH_BYTES), "big")
    if length > _LONGEST_VERSION:
        return 1, 0
    match = _VERSION.fullmatch(stream.first(_LENGTH_BYTES + length)[_LENGTH_BYTES:])
    if match is None or len(match[0]) < length:
        return 1, 0
    version = int(match[1])
    # Spark takes the text "v1" for a file of version 1, and reads that from its first byte.
    return (1, 0) if version == 1 else (version, _LENGTH_BYTES + length)


def _lineage(text: bytes, offset: int) -> Iterator[LineageItem]:
    """Yield the items of a lineage. DecodeError: it is no lineage; ``offset`` is for the error."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list):
        raise DecodeError("got no lineage, expected a JSON array (raw offset)", offset=offset)
    for item in items:
        fields = item if isinstance(item, dict) else {}
        version, unique_id = fields.get("version"), fields.get("checkpointUniqueId")
        if type(version) is not int or version not in _VERSIONS or not isinstance(unique_id, str):
            got, names = f"got {str(item)[:80]!r} in the lineage", "version and checkpointUniqueId"
            raise DecodeError(f"{got}, expected {names} (raw offset)", offset=offset)
        yield LineageItem(version, unique_id)
