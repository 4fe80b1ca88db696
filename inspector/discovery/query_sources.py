"""Sources of a query, from the newest entry of the offset log and the logs of sources.

Offset log v2 alone records the class of a source (``SourceMetadataInfo``, Spark 4.2 on). In v1 it
shows in the form of the offset (``FileStreamSourceOffset``, ``KafkaSourceOffset``, ``LongOffset``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise

from inspector.checkpoint.log_entries import SourceOffset, parse_offsets
from inspector.checkpoint.logfile import json_object, long_field, split_log
from inspector.checkpoint.logs import OFFSETS
from inspector.checkpoint.names import number
from inspector.checkpoint.storage import Storage
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.source_logs import source_folders
from inspector.exceptions import InspectorError
from inspector.light_dataclasses import dataclass
from inspector.model import BatchId

FILES, KAFKA = "files", "Kafka topics"  # kind of a Kafka source
NO_OFFSET = "no offset yet"  # kind of a source whose line is empty
STAND_IN = "rehearsed-"  # begin of folders that :func:`inspector.spark.rehearse` reads for sources

_SHOWN = 80  # longest text of ids, topics or fields that is shown, in characters
# bytes that are read of an entry for the times of its files; a compact one may be larger
_LOG_BYTES = 1 << 20
_ENTRIES = 4  # newest entries of a source's log by which its order is judged
_COMPACT = ".compact"  # suffix of the compact entries of a source's log


@dataclass(frozen=True)
class QuerySource:
    """One line of an offset entry: a source of a query, or in offset log v1 one use of it."""

    name: str  # position among the lines, from 0, or the name in offset log v2
    kind: str  # class as Spark recorded it, or what the form of its offset shows
    place: str | None  # Kafka topics, or the folder of the newest files; None if not seen
    offset: str | None  # newest offset, as Spark wrote it; None if it has none
    log: str | None = None  # folder of its log below ``sources``; None if unknown, or not of files
    # True if the batch read up to another offset than the batch before; None if it has no
    # predecessor
    moved: bool | None = None

    @property
    def short_location(self) -> str:
        """Last part of the folder or topics; "" if the files do not show it."""
        return (self.place or "").rpartition("/")[2]

    @property
    def stands_in(self) -> bool:
        """True if this is the stand-in by which a rehearsal replaces the query's source."""
        return self.short_location.startswith(STAND_IN)

    @property
    def rows(self) -> str:
        """Digest of the rows that a rehearsal gave to its stand-in for the source."""
        return self.short_location.rpartition("-")[2]

    def __str__(self) -> str:
        """Return ``files of /data/in``: the kind, and the folder or topics if known."""
        return f"{self.kind} of {self.place}" if self.place else self.kind


def query_sources(checkpoint: Checkpoint, batch: int) -> tuple[QuerySource, ...]:
    """Return the sources of a batch, in the order of its lines in the offset log.

    Raises InspectorError or OSError if they cannot be read.
    """
    storage = checkpoint.storage
    entry = parse_offsets(storage.read(f"{OFFSETS}/{batch}"))
    folders = source_folders(checkpoint, batch).folders
    moved = {s.name: s.moved for s in checkpoint.logs.sources.get(BatchId(batch), ())}
    sources = []
    for name, offset in entry.sources.items():
        kind, location = _form(offset)
        log = folders.get(name) if kind == FILES else None
        if kind == FILES:
            location = _newest_folder(storage, folders.get(name, name))
        kind = entry.providers.get(name, kind)
        sources.append(QuerySource(name, kind, location, offset, log, moved.get(name)))
    return tuple(sources)


def _form(offset: str | None) -> tuple[str, str | None]:
    """Return the kind of source that an offset's form shows, and its table or topics if any."""
    if offset is None:
        return NO_OFFSET, None
    try:
        value = json.loads(offset)
    except ValueError:
        return "offsets that are not JSON", None
    if not isinstance(value, dict):
        return f"offsets that are a {'number' if isinstance(value, int) else 'JSON value'}", None
    if value.keys() == {"logOffset"}:
        return FILES, None
    if "reservoirVersion" in value:
        return "Delta table", str(value.get("reservoirId"))[:_SHOWN]
    # The partitions of each topic, with the offset of each.
    if value and all(
        isinstance(part, dict)
        and part
        and all(name.isdecimal() and isinstance(position, int) for name, position in part.items())
        for part in value.values()
    ):
        return KAFKA, ", ".join(sorted(value))[:_SHOWN]
    return f"offsets with the fields {', '.join(sorted(value))[:_SHOWN]}", None


def times_of_entry(storage: Storage, source: str, entry: int) -> list[int]:
    """Return the modification times (epoch ms) of the files in one source log entry.

    Returns an empty list if the entry cannot be read.
    """
    for name in (str(entry), f"{entry}{_COMPACT}"):
        with suppress(InspectorError, OSError):
            _, lines = split_log(storage.read(f"sources/{source}/{name}", _LOG_BYTES), 1)
            files = [json_object(line) for line in lines if line]
            entry_files = [file for file in files if file.get("batchId") == entry]
            return [long_field(file, "timestamp") or 0 for file in entry_files]
    return []


def newest_first(storage: Storage, sources: Iterable[SourceOffset]) -> Iterator[str]:
    """Yield file sources that seem to read the newest files first (``latestFirst``).

    Judged by the file times in the last ``_ENTRIES`` log entries: each entry's files are older than
    those before.
    """
    for source in sources:
        last = source.log_entry
        if last is not None and last >= _ENTRIES:
            entries = range(last - _ENTRIES + 1, last + 1)
            times = [times_of_entry(storage, source.name, entry) for entry in entries]
            if all(times) and all(max(newer) < min(older) for older, newer in pairwise(times)):
                yield source.called


def _newest_folder(storage: Storage, name: str) -> str | None:
    """Return the folder of the first file in a source log's newest entry; None if unknown.

    ``name`` is the folder of the log below ``sources``.
    """
    entries = {
        batch: entry
        for entry in storage.list(f"sources/{name}", missing_ok=True)
        if (batch := number(entry.name.removesuffix(_COMPACT))) is not None and entry.is_file
    }
    if not entries:
        return None
    newest = entries[max(entries)]
    try:
        _, lines = split_log(storage.read(newest.path, size=newest.size), 1)
        path = json_object(lines[0]).get("path") if lines else None
    except (InspectorError, OSError):
        return None
    return path.rpartition("/")[0] if isinstance(path, str) else None
