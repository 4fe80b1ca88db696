"""What a restart from a batch needs of a checkpoint besides its state; and how a copy was made.

A restart reads the newest entry of both logs and the one before it
(``MicroBatchExecution.populateStartOffsets``), the logs of the sources, and what Spark wrote of the
operators and their schemas. An appended batch is the last entries once more, with the next number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from inspector.checkpoint.logfile import json_object, split_log
from inspector.checkpoint.logs import COMMITS, MAX_FORMAT, OFFSETS
from inspector.checkpoint.metadata import QUERY_METADATA
from inspector.checkpoint.names import number
from inspector.checkpoint.state_schema import schema_path
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.checkpoint.urls import is_local, join_path, translate
from inspector.codec import Message
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.placement import lacks_operator
from inspector.discovery.source_logs import SOURCES, source_log_gaps
from inspector.exceptions import CheckpointError, InspectorError, SourceNotWholeError
from inspector.light_dataclasses import dataclass, field
from inspector.model import DEFAULT_STORE
from inspector.providers.common_names import hadoop_sums_name

RECORD = "_inspector.json"  # where a copy says how it was made; Spark reads no file of this name


@dataclass(frozen=True)
class SmallFile:
    """A file without state: path below the root, the source's size, and content if it differs."""

    path: str
    size: int = 0
    content: bytes | None = None

    def chunks(self, storage: Storage) -> Iterable[bytes]:
        """What is written."""
        if self.content is not None:
            return [self.content]
        return storage.stream(self.path, size=self.size)


@dataclass(frozen=True)
class CopyRecord(Message):
    """How a copy was made."""

    source: str  # the checkpoint that it was made of, without secrets
    query_id: str | None  # of its query
    batch: int  # that was copied
    appended_batch: int | None  # that was added to it; None if none was
    made_ms: int  # when, epoch milliseconds
    made_by: str  # the version of this package
    evicted: tuple[str, ...] = ()  # rows of each operator, store, reason and way, in words


def read_record(checkpoint: Checkpoint) -> CopyRecord | None:
    """How a copy says that it was made; None of a checkpoint that does not say it."""
    if RECORD not in checkpoint.layout.root_names:
        return None
    try:
        return CopyRecord.from_json(checkpoint.storage.read(RECORD).decode("utf-8"))
    except (OSError, InspectorError, ValueError, TypeError, KeyError, AttributeError):
        return None


def small_files(
    checkpoint: Checkpoint,
    batch: int,
    new_root: str,
    *,
    unique_ids: Mapping[str, str] | None = None,
) -> tuple[list[SmallFile], list[SmallFile]]:
    """The logs, metadata and schemas that a restart after a batch of the whole checkpoint reads.

    The second list is written last: until then nothing takes the copy for a whole one. If a batch
    is appended, ``unique_ids`` are the ids of its state by those of the batch before it (checkpoint
    format 2). CheckpointError: a lost entry, or one that cannot be copied.
    """
    storage = checkpoint.storage
    root = _Folder.of(storage, "")
    offsets, commits = _Folder.of(storage, OFFSETS), _Folder.of(storage, COMMITS)
    first = [*offsets.files(str(batch - 1)), *commits.files(str(batch - 1))]
    first += [*offsets.files(str(batch), required=True)]
    newest = [*commits.files(str(batch), required=True)]
    if unique_ids is not None:
        first += newest
        entry, commit = offsets.entries[str(batch)], commits.entries[str(batch)]
        first += offsets.rewrite(entry.name, storage.read(entry.path), str(batch + 1))
        content = with_unique_ids(storage.read(commit.path), unique_ids)
        newest = [*commits.rewrite(commit.name, content, str(batch + 1))]
    first += _tree(storage, SOURCES)
    for operator in checkpoint.layout.operators:
        if lacks_operator(checkpoint, operator.operator_id, batch + 1):
            continue
        first += _of_operator(storage, operator.directory, batch, new_root)
        for store in {DEFAULT_STORE, *operator.expected_stores}:
            path = schema_path(operator.operator_id, store)
            folder = _Folder.of(storage, path.rpartition("/")[0])
            first += folder.files(path.rpartition("/")[2])
    return first, [*root.files(QUERY_METADATA), *newest]


def check_file_logs(checkpoint: Checkpoint, batch: int) -> None:
    """Refuse, by SourceNotWholeError, sources of files of whose log an entry is gone."""
    for lost in source_log_gaps(checkpoint, batch):
        raise SourceNotWholeError(
            f"{lost} is missing, which names files that the source has read: the query would not "
            "start, or read them again. Restore it from a backup first",
            checkpoint.root,
        )


@dataclass(frozen=True)
class _Folder:
    """What a folder holds, by name."""

    path: str
    entries: Mapping[str, Entry] = field(default_factory=dict)

    @classmethod
    def of(cls, storage: Storage, path: str) -> _Folder:
        listed = storage.list(path, missing_ok=True)
        return cls(storage.full_path(path), {entry.name: entry for entry in listed})

    def files(self, name: str, *, required: bool = False) -> Iterator[SmallFile]:
        """A file of the folder, with Hadoop's sums of it; nothing if it is not there."""
        if required and name not in self.entries:
            raise CheckpointError(f"{name} is not there, without which nothing restarts", self.path)
        for item in (name, hadoop_sums_name(name)) if name in self.entries else ():
            if item in self.entries:
                yield _plain(self.entries[item], self.path)

    def rewrite(self, name: str, content: bytes, renamed: str = "") -> Iterator[SmallFile]:
        """A file of the folder with another content, or as another name; with sums if it has."""
        path = self.entries[name].path.rpartition("/")[0]
        new = renamed or name
        yield SmallFile(f"{path}/{new}", content=content)
        if hadoop_sums_name(name) in self.entries:
            # Reports only read how a copy was made.
            from inspector.encode.side_sums import hadoop_sums_of  # noqa: PLC0415

            sums = hadoop_sums_of(content)
            yield SmallFile(f"{path}/{hadoop_sums_name(new)}", content=sums)


def _plain(entry: Entry, folder: str) -> SmallFile:
    if not entry.is_file:
        raise CheckpointError(f"{entry.name} is not a file and cannot be copied", folder)
    return SmallFile(entry.path, entry.size)


def with_unique_ids(commit: bytes, unique_ids: Mapping[str, str]) -> bytes:
    """The commit log's entry with other ids of state checkpoints; CheckpointError: no such id."""
    if not unique_ids:
        return commit
    _, lines = split_log(commit, MAX_FORMAT)
    fields = json_object(lines[0])
    left = set(unique_ids)

    def replace_ids(value: object) -> object:
        if isinstance(value, list):
            return [replace_ids(item) for item in value]
        if isinstance(value, str) and value in unique_ids:
            left.discard(value)
            return unique_ids[value]
        return value

    ids = fields.get("stateUniqueIds")
    if isinstance(ids, dict):
        fields["stateUniqueIds"] = {name: replace_ids(value) for name, value in ids.items()}
    if left:
        raise CheckpointError(
            f"the commit log does not name {sorted(left)[0]}, the id of a state file of its batch: "
            "copy an earlier batch (--batch)"
        )
    head = commit.split(b"\n", 1)[0]
    return head + b"\n" + json.dumps(fields, separators=(",", ":")).encode()


def _tree(storage: Storage, folder: str) -> Iterator[SmallFile]:
    for entry in storage.list(folder, missing_ok=True):
        if entry.is_dir:
            yield from _tree(storage, entry.path)
        else:
            yield _plain(entry, storage.full_path(folder))


def _of_operator(
    storage: Storage, directory: str, batch: int, new_root: str
) -> Iterator[SmallFile]:
    """Metadata and schemas of an operator, those of later batches left out."""
    metadata = _Folder.of(storage, f"{directory}/_metadata")
    yield from metadata.files("metadata")
    newer = _Folder.of(storage, f"{directory}/_metadata/v2")
    for name, entry in newer.entries.items():
        written_by = number(name)
        if written_by is not None and written_by <= batch:
            yield from newer.rewrite(name, with_schema_paths(storage.read(entry.path), new_root))
    for file in _tree(storage, f"{directory}/_stateSchema"):
        written_by = number(file.path.rpartition("/")[2].lstrip(".").partition("_")[0])
        if written_by is None or written_by <= batch:
            yield file


def with_schema_paths(metadata: bytes, new_root: str) -> bytes:
    """Operator metadata whose paths of schemas lead to another root."""
    # Spark writes them in full (OperatorStateMetadataV2), so that a checkpoint that was moved
    # cannot be read until they are rewritten. A scheme that means the same storage stays.
    head, _, text = metadata.partition(b"\n")
    fields = json_object(text.decode("utf-8"))
    stores = fields.get("stateStoreInfo")
    for store in stores if isinstance(stores, list) else ():
        paths = store.get("stateSchemaFilePaths") if isinstance(store, dict) else None
        if isinstance(paths, list):
            store["stateSchemaFilePaths"] = [_move(str(path), new_root) for path in paths]
    return head + b"\n" + json.dumps(fields, separators=(",", ":")).encode()


def _move(path: str, new_root: str) -> str:
    root, state, tail = path.rpartition("/state/")
    if is_local(new_root):
        return f"file:{translate(new_root).target.rstrip('/')}{state}{tail}"
    scheme, colon, remainder = new_root.partition(":")
    old = root.partition(":")[0]
    is_same_scheme = translate(root).protocol == translate(new_root).protocol
    return join_path(
        f"{old if is_same_scheme else scheme}{colon}{remainder}".rstrip("/"),
        f"{state}{tail}".lstrip("/"),
    )
