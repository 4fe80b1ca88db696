"""Writing the state files of one folder of a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from inspector.checkpoint.destination import Destination
from inspector.checkpoint.names import hadoop_sums_name, spark_sums_name
from inspector.checkpoint.storage import Storage
from inspector.encode.side_sums import SideSums, hadoop_sums_of
from inspector.facts.copied import WrittenFiles
from inspector.model import StoreFile


class FolderWriter:
    """Writes files into one folder, with checksum files, and counts the files and their bytes."""

    def __init__(
        self,
        url: str,
        options: Mapping[str, str],
        directory: str,
        *,
        hadoop_sums: bool,
        spark_sums: bool,
    ) -> None:
        """Prepare a folder, by its path below the root ``url``.

        With an empty URL nothing is written: files are only counted. ``hadoop_sums`` and
        ``spark_sums`` are the kinds of checksum files that :meth:`write_with_sums` adds.
        """
        self._destination = Destination(url, options) if url else None
        self._directory = directory
        self._hadoop_sums, self._spark_sums = hadoop_sums, spark_sums
        self._files = self._bytes = 0

    @property
    def written(self) -> WrittenFiles:
        """Number and bytes of the files so far, checksum files included."""
        return WrittenFiles(self._files, self._bytes)

    def copy(self, source: Storage, file: StoreFile, name: str) -> None:
        """Write the content of a file of another checkpoint. Raises OSError.

        ``name`` is the new path in the folder. Checksum files are copied by calls of their own.
        """
        self._files += 1
        self._bytes += file.size
        if self._destination is not None:
            chunks = source.stream(source.relative(file.path), size=file.size)
            self._destination.write(f"{self._directory}/{name}", chunks)

    def write_with_sums(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a new file and its checksum files, and the checksum files of these.

        Raises OSError, and what ``chunks`` raises.
        """
        sums = SideSums()

        def passing() -> Iterator[bytes]:
            """Yield the chunks unchanged."""
            for chunk in chunks:
                sums.update(chunk)
                yield chunk

        self._write(name, passing())
        if self._hadoop_sums:
            self._write(hadoop_sums_name(name), [sums.hadoop()])
        if self._spark_sums:
            content, sums_name = sums.spark(), spark_sums_name(name)
            self._write(sums_name, [content])
            if self._hadoop_sums:
                self._write(hadoop_sums_name(sums_name), [hadoop_sums_of(content)])

    def _write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file, or only count its bytes."""
        if self._destination is None:
            self._bytes += sum(map(len, chunks))
        else:
            self._bytes += self._destination.write(f"{self._directory}/{name}", chunks)
        self._files += 1
