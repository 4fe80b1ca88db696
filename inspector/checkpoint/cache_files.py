"""Cache of small files that runs keep for later runs, in a folder that may be lost at any time.

Each file begins with a keyed hash of its content, whose secret is in the folder. A file that was
cut off, overwritten, or written without the secret counts as missing. Names are keyed hashes too. A
file is replaced as a whole, so that runs may write at the same time.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b

from inspector.checkpoint.destination import Destination
from inspector.checkpoint.storage import Storage
from inspector.exceptions import LimitError

SECRET = "secret"  # name of the file that holds the secret
MOST_BYTES = 1 << 30  # bytes of all files; above them the oldest files are removed
MOST_FILE_BYTES = 16 << 20  # bytes of one file, compressed or not; a longer one is not kept
TRIM_EVERY = 500  # files that are written between two checks of MOST_BYTES

_BYTES = 32  # bytes of the secret, and of a keyed hash
# names of kept files, and of unfinished ones
_NAME = re.compile(r"[0-9a-f]{64}\.kept(\.[0-9a-f]{32}\.tmp)?")


class CacheFiles:
    """Cached files of a folder on any storage; the first write makes the folder."""

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        self._storage, self._target = Storage.open(url, options), Destination(url, options)
        self._secret: bytes | None = None
        self._lock = threading.Lock()
        self._writes = 0

    def read(self, name: str) -> bytes | None:
        """Return the content that is cached under a name; None if there is no valid content.

        Raises OSError if the storage does not answer.
        """
        secret = self.secret()
        content = None if secret is None else self._read(_file_of(secret, name))
        if secret is None or content is None:
            return None
        mac, packed = content[:_BYTES], content[_BYTES:]
        if not hmac.compare_digest(mac, _mac(secret, name, packed)):
            return None
        return zlib.decompressobj().decompress(packed, MOST_FILE_BYTES)

    def present(self) -> Callable[[str], bool]:
        """Return a function that tells if a name is cached, by one listing made now.

        Raises OSError if the storage does not answer.
        """
        files = {entry.name for entry in self._storage.list(missing_ok=True)}
        secret = self.secret()
        return lambda name: secret is not None and _file_of(secret, name) in files

    def write(self, name: str, content: bytes) -> None:
        """Cache a content under a name, in place of an older one; it is ignored if it is too long.

        Raises OSError if the storage does not answer.
        """
        packed = zlib.compress(content)
        if max(len(content), _BYTES + len(packed)) > MOST_FILE_BYTES:
            return
        secret = self.secret(new=True)
        if secret is None:
            return
        self._target.write(_file_of(secret, name), [_mac(secret, name, packed), packed])
        if self._writes % TRIM_EVERY == 0:
            self._trim()
        self._writes += 1

    def remove(self, name: str) -> None:
        """Remove the content that is cached under a name, if any.

        Raises OSError if the storage does not answer.
        """
        secret = self.secret()
        if secret is not None:
            self._target.remove(_file_of(secret, name))

    def secret(self, *, new: bool = False) -> bytes | None:
        """Return the secret of the folder; None if it has none. With ``new`` a missing one is made.

        Raises OSError if the storage does not answer.
        """
        # If two runs make one at the same time on an object store, one run loses its files.
        with self._lock:
            secret = self._secret or self._read(SECRET)
            if new and (secret is None or len(secret) != _BYTES):
                self._target.remove(SECRET)
                self._target.write(SECRET, [secrets.token_bytes(_BYTES)], secret=True)
                secret = self._read(SECRET)
            self._secret = secret if secret is not None and len(secret) == _BYTES else None
            return self._secret

    def _read(self, file: str) -> bytes | None:
        """Return the bytes of a file; None if it is missing or too large."""
        # With a size that it does not have, a file is requested without asking for its size first.
        with suppress(FileNotFoundError, LimitError):
            return self._storage.read(file, MOST_FILE_BYTES, size=MOST_FILE_BYTES)
        return None

    def _trim(self) -> None:
        """Remove the oldest files until all have at most MOST_BYTES."""
        files = [entry for entry in self._storage.list() if _NAME.fullmatch(entry.name)]
        files.sort(key=lambda entry: (entry.modified_ms or 0, entry.name))
        size = sum(entry.size for entry in files)
        for entry in files:
            if size <= MOST_BYTES:
                return
            self._target.remove(entry.path)
            size -= entry.size


@lru_cache(maxsize=8)
def cache_files(url: str, options: tuple[tuple[str, str], ...]) -> CacheFiles:
    """Return the cache of a folder; all runs of the process share one object."""
    return CacheFiles(url, dict(options))


def _file_of(secret: bytes, name: str) -> str:
    """Return the file name of a cached name, which only the secret can relate to it."""
    return f"{_mac(secret, 'name', name.encode()).hex()}.kept"


def _mac(secret: bytes, name: str, content: bytes) -> bytes:
    """Return a keyed hash of a content under a name."""
    own = blake2b(name.encode(), key=secret, digest_size=_BYTES)
    return blake2b(content, key=own.digest(), digest_size=_BYTES).digest()
