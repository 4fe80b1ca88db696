"""Writing a new checkpoint; the only module that writes to a storage.

On a local disk everything is written into a hidden folder next to the target, which is renamed when
all files are written and checked. Other storages cannot rename. There state is written first, then
logs, and the query's metadata and the newest commit last, so that no restart uses an incomplete
copy.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from inspector.checkpoint.drivers import connect
from inspector.checkpoint.patience import translate_error
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.urls import absolute, is_local, join_path, lies_in, translate
from inspector.exceptions import CheckpointError, InspectorError

# local folders that do not have their final name yet; the caller that ends the process removes them
UNFINISHED: set[str] = set()

# end of the name of a file that is not written to its end
_OF_PARTIAL = re.compile(r"\.[0-9a-f]{32}\.tmp$")


class Destination:
    """A folder to write into, by its URL and its driver's options, which may hold credentials."""

    def __init__(self, url: str, options: Mapping[str, str] | None = None) -> None:
        self.url, self.options = absolute(url), dict(options or {})
        self._fs, self._base = connect(self.url, self.options)

    def write(self, relative: str, chunks: Iterable[bytes], *, secret: bool = False) -> int:
        """Write a file as a whole or not at all, and return its size in bytes.

        An existing file is replaced. On a local disk a ``secret`` file is readable by its owner
        alone, and does not replace an existing one. Raises OSError.
        """
        # A secret is for its owner alone on a local disk, and one that is there stays.
        path = join_path(self._base, relative)
        size = 0
        try:
            if is_local(self.url):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                partial = f"{path}.{uuid.uuid4().hex}.tmp"
                try:
                    mode = 0o600 if secret else 0o666
                    with open(partial, "wb", opener=lambda p, f: os.open(p, f, mode)) as file:
                        for chunk in chunks:
                            size += file.write(chunk)
                    _appear(partial, path, anew=secret)
                finally:
                    with suppress(FileNotFoundError):
                        os.remove(partial)
            else:
                with self._fs.open(path, "wb") as file:
                    for chunk in chunks:
                        size += len(chunk)
                        file.write(chunk)
        except (InspectorError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - drivers raise whatever their makers liked
            raise translate_error(error, join_path(self.url, relative), self.options) from None
        return size

    def remove(self, relative: str) -> None:
        """Remove a file; return if it does not exist. Raises OSError."""
        path = join_path(self._base, relative)
        try:
            with suppress(FileNotFoundError):
                os.remove(path) if is_local(self.url) else self._fs.rm_file(path)
        except Exception as error:  # noqa: BLE001 - as above
            raise translate_error(error, join_path(self.url, relative), self.options) from None


def _appear(partial: str, path: str, *, anew: bool) -> None:
    """Rename a finished file to its name.

    With ``anew`` a file that has the name already is kept, where the file system has links.
    """
    if anew:
        try:
            os.link(partial, path)
        except FileExistsError:
            return
        except OSError:
            pass  # of a file system without links
        else:
            return
    os.replace(partial, path)


@contextmanager
def new_folder(url: str, options: Mapping[str, str], source: Storage) -> Iterator[Destination]:
    """Yield a destination for a new checkpoint.

    On a local disk it is a hidden folder, renamed to the target when the block ends without an
    error and removed otherwise. Raises errors as :func:`check_new`.
    """
    check_new(url, options, source)
    if not is_local(url):
        yield Destination(url, options)
        return
    target = translate(url).target
    parent, name = os.path.split(target.rstrip("/"))
    folder = os.path.join(parent, f".{name}.{uuid.uuid4().hex[:8]}.inspector-copy")
    UNFINISHED.add(folder)
    os.makedirs(folder)
    try:
        yield Destination(folder, options)
        _remove_partial_files(folder)
        with suppress(FileNotFoundError):
            os.rmdir(target)  # an empty folder may stand there; one that was filled since may not
        os.rename(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        UNFINISHED.discard(folder)


def _remove_partial_files(folder: str) -> None:
    """Remove the files that processes were writing when they were killed. Raises OSError."""
    # Executors write too, and a task that is lost with its executor runs again.
    for parent, _, names in os.walk(folder):
        for name in names:
            if _OF_PARTIAL.search(name):
                with suppress(FileNotFoundError):
                    os.remove(os.path.join(parent, name))


def check_new(url: str, options: Mapping[str, str], source: Storage) -> None:
    """Raise CheckpointError if a URL is not a free place: missing, or an empty folder.

    It may not be in the checkpoint ``source``, and no symbolic link. OSError: no answer.
    """
    if lies_in(url, source.url):
        raise CheckpointError(f"{url} lies in the checkpoint that is copied; name another place")
    if is_local(url) and os.path.islink(translate(url).target.rstrip("/")):
        raise CheckpointError(
            f"{url} is a symbolic link, expected nothing or an empty folder: name the folder that "
            "the link leads to"
        )
    location = Storage.open(url, options)
    entry = location.stat()
    if entry is not None and not entry.is_dir:
        raise CheckpointError(f"{location.root} is a file, expected nothing or an empty folder")
    entries = location.list(missing_ok=True)
    if entries:
        remainder = f" and {len(entries) - 1} more" if entries[1:] else ""
        raise CheckpointError(
            f"{location.root} holds {entries[0].name}{remainder}, expected nothing or an empty "
            "folder: name a new place"
        )
