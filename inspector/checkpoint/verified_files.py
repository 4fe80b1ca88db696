"""Read logs, metadata and schemas, and compare them with the checksum files of Hadoop.

Spark writes ``.NAME.crc`` beside a file by Hadoop's ``ChecksumFileSystem`` if the checkpoint is on
a local disk; Spark 4.3 reads its logs without a comparison. One changed digit of a watermark or one
changed letter of a schema would change every result here, so a changed file is not used at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from inspector.checkpoint.names import hadoop_sums_name
from inspector.checkpoint.patience import SILENCE
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry, Tree
from inspector.decode.side_sums import HadoopSum
from inspector.exceptions import ChecksumError, DecodeError, InspectorError
from inspector.model import LIMITS


class VerifiedFiles(Storage):
    """A storage that compares small files with their ``.NAME.crc``, where there is one."""

    # A file whose first bytes are not a checksum file's is ignored, as by ChecksumFileSystem.

    def __init__(self, storage: Storage) -> None:
        self.vouched: dict[str, bool] = {}  # path of each file read -> whether it had a sum
        self.__dict__.update(storage.__dict__)
        self._owner = storage  # what belongs to it goes when it does
        self._listed: dict[str, tuple[Entry, ...]] = {}
        self._by_name: dict[str, dict[str, Entry]] = {}
        self._spare: dict[str, tuple[Entry, ...]] = {}
        self._tree: Tree | None = None
        self._has_asked = False

    def read(
        self, relative: str, limit: int = LIMITS.small_file_bytes, *, size: int | None = None
    ) -> bytes:
        """Return a file's bytes as ``Storage.read`` does, compared with its Hadoop checksum file.

        A checksum file that cannot be read or decoded is ignored. Raises ChecksumError with the
        offset of the first part whose bytes were changed.
        """
        if size is None:
            size = self._size_in_listing(relative)
        data = super().read(relative, limit, size=size)
        folder, slash, name = relative.rpartition("/")
        side = hadoop_sums_name(name)
        self._list_once(folder)
        self.vouched[relative] = False
        if side not in self._inside(folder):
            return data
        try:
            listed = self._size_in_listing(folder + slash + side)
            sums = HadoopSum(super().read(folder + slash + side, limit, size=listed))
        except (DecodeError, OSError):
            return data
        sums.update(data)
        mismatch = sums.finish()
        if mismatch is not None:
            raise ChecksumError(mismatch.message, self.full_path(relative), mismatch.offset)
        self.vouched[relative] = True
        return data

    def _list_once(self, folder: str) -> None:
        """List a folder for its checksum files unless that was done; failures are ignored."""
        if folder not in self._listed:
            with suppress(InspectorError, OSError):
                self._spare[folder] = self.list(folder)

    def _inside(self, folder: str) -> Mapping[str, Entry]:
        """Return the entries of a folder by name, as of its listing; empty if it was not listed."""
        if folder not in self._by_name:
            self._by_name[folder] = {entry.name: entry for entry in self._listed.get(folder, ())}
        return self._by_name[folder]

    def list(self, relative: str = "", *, missing_ok: bool = False) -> tuple[Entry, ...]:
        """List a folder; the listing is kept, so that reading the files needs no second one.

        FileNotFoundError: no such folder, unless ``missing_ok``. NotADirectoryError: it is a file.
        """
        # Conversely, a listing that was made to read a file is returned here, once. If one listing
        # has the whole tree, no other is made.
        if relative in self._spare:
            return self._spare.pop(relative)
        tree = self.tree()
        if tree is None:
            result = super().list(relative, missing_ok=missing_ok)
        elif relative in tree.folders:
            result = tree.folders[relative]
        elif tree.entry(relative) is not None:
            raise NotADirectoryError(f"{self.full_path(relative)}: it is a file, not a folder")
        elif missing_ok:
            result = ()
        else:
            raise FileNotFoundError(f"{self.full_path(relative)}: there is no such folder")
        self._listed[relative] = result
        self._by_name.pop(relative, None)
        return result

    def stat(self, relative: str = "") -> Entry | None:
        """Return the file or folder at a path; None if nothing is there."""
        tree = self.tree()
        return super().stat(relative) if tree is None else tree.entry(relative)

    def tree(self) -> Tree | None:
        """Return the whole tree as ``Storage.tree`` does; it is listed at most once."""
        if not self._has_asked:
            self._tree, self._has_asked = super().tree(), True
        return self._tree

    def _size_in_listing(self, relative: str) -> int | None:
        """Return the size in the listing of the whole tree; None if there is no such listing.

        FileNotFoundError, IsADirectoryError: the listing has no file there.
        """
        tree = self.tree()
        if tree is None:
            return None
        entry = tree.entry(relative)
        if entry is None:
            raise FileNotFoundError(f"{self.full_path(relative)}: no such file")
        if entry.is_dir:
            raise IsADirectoryError(f"{self.full_path(relative)}: it is a folder, not a file")
        return entry.size


class RememberedFiles(VerifiedFiles):
    """Verified small files whose bytes are kept as long as a listing shows them unchanged."""

    # A file is unchanged if size, time of change and etag are equal, if the storage has these.
    # Spark writes an entry of a log once and never again, unless the query is set back.

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage)
        self._kept: dict[str, tuple[Entry, bytes, bool]] = {}

    def look_again(self, tree: Tree | None = None) -> None:
        """Forget all listings, and the kept files that are gone. ``tree``: a new listing of all."""
        # An object that was silent has another chance. tree: a listing of all, made just now.
        SILENCE.clear()
        self._kept = {path: content for path, content in self._kept.items() if self._entry_of(path)}
        self._listed.clear()
        self._by_name.clear()
        self._spare.clear()
        self.vouched = {}  # whoever has the old one keeps it
        self._tree, self._has_asked = tree, tree is not None

    def read(
        self, relative: str, limit: int = LIMITS.small_file_bytes, *, size: int | None = None
    ) -> bytes:
        """Return a small file's bytes, kept ones if it is unchanged; a failure is not kept."""
        self._list_once(relative.rpartition("/")[0])
        entry = self._entry_of(relative)
        content = self._kept.get(relative)
        if content is not None and entry is not None and content[0] == entry:
            self.vouched[relative] = content[2]
            return content[1]
        if entry is not None and size is None:
            size = entry.size
        data = super().read(relative, limit, size=size)
        if entry is not None:
            self._kept[relative] = entry, data, self.vouched[relative]
        return data

    def _entry_of(self, relative: str) -> Entry | None:
        """Return the listed entry of a file; None if it is a folder or not listed."""
        folder, _, name = relative.rpartition("/")
        entry = self._inside(folder).get(name)
        return None if entry is None or entry.is_dir else entry
