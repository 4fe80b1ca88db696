"""Files of a checkpoint besides its state that a restart from a batch needs.

A restart reads the newest entry of both logs and the one before it
(``MicroBatchExecution.populateStartOffsets``), the logs of the sources, and what Spark wrote of the
operators and their schemas.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from inspector.checkpoint.logfile import json_object, split_log
from inspector.checkpoint.logs import COMMITS, MAX_FORMAT, OFFSETS
from inspector.checkpoint.metadata import QUERY_METADATA
from inspector.checkpoint.names import hadoop_sums_name, name_without_sums, number
from inspector.checkpoint.state_schema import schema_path
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.checkpoint.urls import is_local, join_path, translate
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.placement import lacks_operator
from inspector.discovery.source_logs import SOURCES, source_log_gaps
from inspector.exceptions import CheckpointError, SourceNotWholeError
from inspector.light_dataclasses import dataclass, field
from inspector.model import DEFAULT_STORE, BatchId

_WITH_IDS = 2  # version of the commit log that has ids of state files, and nothing else in addition


@dataclass(frozen=True)
class SmallFile:
    """A file without state, to be written into a copy."""

    path: str  # path below the root
    size: int = 0  # bytes of the source's file
    content: bytes | None = None  # bytes to write; None to copy the source's file

    def chunks(self, storage: Storage) -> Iterable[bytes]:
        """Yield the bytes to write to the copy."""
        if self.content is not None:
            return [self.content]
        return storage.stream(self.path, size=self.size)


@dataclass(frozen=True)
class NewIds:
    """New unique ids of the state files that a copy changes (checkpoint format 2)."""

    # old ids of the copied version -> their new ids
    newest: Mapping[str, str] = field(default_factory=dict)
    # ids of the copied version that the version before has in the copy, in the same positions
    previous: Collection[str] = ()


@dataclass(frozen=True)
class NewForm:
    """Form of the state of a copy, if it is not that of the source."""

    # confs that both entries of the offset log get; an entry must have those of ``required``
    confs: Mapping[str, str]
    required: Collection[str] = ()
    old: int = 0  # number of partitions of the source; 0 if the number does not change
    new: int = 0  # number of partitions of the copy; 0 if the number does not change
    # checkpoint format 2: by operator, for each partition the ids of its stores; empty without ids
    ids: Mapping[int, Sequence[Sequence[str]]] = field(default_factory=dict)
    # the same of the version before, which the copy has as an empty snapshot
    previous_ids: Mapping[int, Sequence[Sequence[str]]] = field(default_factory=dict)
    # new content of schema files, by path below the root
    schemas: Mapping[str, bytes] = field(default_factory=dict)
    has_no_ids: bool = False  # the state files have no ids, whatever those of the source have


def small_files(
    checkpoint: Checkpoint,
    batch: int,
    new_root: str,
    *,
    ids: NewIds | None = None,
    planned: int | None = None,
    form: NewForm | None = None,
) -> tuple[list[SmallFile], list[SmallFile]]:
    """Return the logs, metadata and schemas that a restart after a committed batch reads.

    There are two lists. The second one is written last: until then no program takes the copy for a
    complete one. With ``planned`` the entry of that later batch is copied too, so that the batch
    runs again. With ``form`` the logs and the operator metadata are those of another form of the
    state. Raises CheckpointError if an entry is lost or cannot be copied.
    """
    storage, ids = checkpoint.storage, ids or NewIds()
    root = _Folder.of(storage, "")
    if form is not None:
        return _files_of_form(checkpoint, batch, new_root, form)
    offsets, commits = _Folder.of(storage, OFFSETS), _Folder.of(storage, COMMITS)
    first = [*offsets.files(offsets.entry_before(batch)), *offsets.files(str(batch), required=True)]
    newest_batch = batch if planned is None else planned
    plan = [] if planned is None else list(offsets.files(str(planned), required=True))
    newest = [*commits.files(str(batch), required=True)]
    previous = commits.entry_before(batch)
    if ids.newest:
        commit = storage.read(commits.entries[str(batch)].path)
        newest = [*commits.rewrite(str(batch), with_unique_ids(commit, ids.newest))]
        if ids.previous and previous == str(batch - 1):
            old = storage.read(commits.entries[previous].path)
            first += commits.rewrite(previous, with_ids_of(old, commit, ids.previous))
        else:
            first += commits.files(previous)
    else:
        first += commits.files(previous)
    first += _source_files(checkpoint, newest_batch)
    first += _of_operators(checkpoint, batch, newest_batch, new_root)
    return first, [*plan, *root.files(QUERY_METADATA), *newest]


def _files_of_form(
    checkpoint: Checkpoint, batch: int, new_root: str, form: NewForm
) -> tuple[list[SmallFile], list[SmallFile]]:
    """Return the files of :func:`small_files` for a copy whose state has another form.

    Both entries of the offset log get the new confs, because the copy has no older state.
    """
    storage, newest_name = checkpoint.storage, str(batch)
    offsets, commits = _Folder.of(storage, OFFSETS), _Folder.of(storage, COMMITS)

    def changed(folder: _Folder, name: str, change: Callable[[bytes], bytes]) -> list[SmallFile]:
        """Return the files of an entry with changed content; empty without a name."""
        result: list[SmallFile] = []
        for file in folder.files(name, required=True) if name else ():
            if file.path.rpartition("/")[2] == name:
                result += folder.rewrite(name, change(storage.read(file.path)))
        return result

    first: list[SmallFile] = []
    for name in dict.fromkeys([offsets.entry_before(batch), newest_name]):
        first += changed(offsets, name, lambda entry: with_confs(entry, form.confs, form.required))
    if (previous := commits.entry_before(batch)) != newest_name:
        first += changed(
            commits, previous, lambda entry: _with_ids_of_form(entry, form, form.previous_ids)
        )
    newest = changed(commits, newest_name, lambda entry: _with_ids_of_form(entry, form, form.ids))
    first += _source_files(checkpoint, batch)
    first += _of_operators(checkpoint, batch, batch, new_root, form)
    return first, [*_Folder.of(storage, "").files(QUERY_METADATA), *newest]


def _of_operators(
    checkpoint: Checkpoint,
    batch: int,
    newest_batch: int,
    new_root: str,
    form: NewForm | None = None,
) -> Iterator[SmallFile]:
    """Yield the metadata and schema files of all operators that the batch has."""
    storage = checkpoint.storage
    for operator in checkpoint.layout.operators:
        if lacks_operator(checkpoint, operator.operator_id, batch + 1):
            continue
        yield from _of_operator(storage, operator.directory, newest_batch, new_root, form)
        for store in {DEFAULT_STORE, *operator.expected_stores}:
            path = schema_path(operator.operator_id, store)
            folder = _Folder.of(storage, path.rpartition("/")[0])
            if form is not None and path in form.schemas:
                yield from folder.rewrite(path.rpartition("/")[2], form.schemas[path])
            else:
                yield from folder.files(path.rpartition("/")[2])


def _source_files(checkpoint: Checkpoint, batch: int) -> Iterator[SmallFile]:
    """Yield the files of the logs of sources, up to a batch.

    An entry of a file source's log after the offset of the batch names files that the copy has not
    read. It may be of another query, whose folder Spark would not accept ("Wrong basePath").
    """
    sources = checkpoint.logs.sources.get(BatchId(batch), ())
    newest = {source.name: source.log_entry for source in sources}
    files = [(file, *_log_entry(file.path)) for file in _tree(checkpoint.storage, SOURCES)]
    if {folder for _, folder, _ in files} != newest.keys():
        # A source that a plan has twice has one log and several offsets, so that it is not known
        # which log an offset is about.
        highest = max((entry for entry in newest.values() if entry is not None), default=None)
        newest = {folder: highest for _, folder, _ in files}
    for file, folder, entry in files:
        last = newest[folder]
        if last is None or entry is None or entry <= last:
            yield file


def _log_entry(path: str) -> tuple[str, int | None]:
    """Return the folder of a source that a file is in, and the number of its log's entry if any."""
    folder, _, name = path.partition("/")[2].partition("/")
    return folder, number(name_without_sums(name).removesuffix(".compact"))


def check_file_logs(checkpoint: Checkpoint, batch: int) -> None:
    """Raise SourceNotWholeError if the log of a file source lacks an entry that it needs.

    ``batch`` is the last batch that the copy has.
    """
    for lost in source_log_gaps(checkpoint, batch):
        raise SourceNotWholeError(
            f"{lost} is missing, which names files that the source has read: the query would not "
            "start, or read them again. Restore it from a backup first",
            checkpoint.root,
        )


@dataclass(frozen=True)
class _Folder:
    """Entries of one folder, by name."""

    path: str  # full path
    entries: Mapping[str, Entry] = field(default_factory=dict)  # files and folders in it, by name

    @classmethod
    def of(cls, storage: Storage, path: str) -> _Folder:
        """List a folder of the storage; a folder that does not exist has no entries."""
        listed = storage.list(path, missing_ok=True)
        return cls(storage.full_path(path), {entry.name: entry for entry in listed})

    def entry_before(self, batch: int) -> str:
        """Return the name of the newest entry of a log before a batch; "" if there is none.

        With asynchronous progress tracking batches have gaps, so that it may be of a much older
        batch.
        """
        older = [n for name in self.entries if (n := number(name)) is not None and n < batch]
        return str(max(older)) if older else ""

    def files(self, name: str, *, required: bool = False) -> Iterator[SmallFile]:
        """Yield a file of the folder and its Hadoop checksum file; nothing if it is absent.

        Raises CheckpointError if the file is ``required`` and absent.
        """
        if required and name not in self.entries:
            raise CheckpointError(f"{name} is not there, without which nothing restarts", self.path)
        for item in (name, hadoop_sums_name(name)) if name in self.entries else ():
            if item in self.entries:
                yield _plain(self.entries[item], self.path)

    def rewrite(self, name: str, content: bytes) -> Iterator[SmallFile]:
        """Yield a file with other content, and a new checksum file if it had one."""
        path = self.entries[name].path.rpartition("/")[0]
        yield SmallFile(f"{path}/{name}", content=content)
        if hadoop_sums_name(name) in self.entries:
            # Reports only read how a copy was made.
            from inspector.encode.side_sums import hadoop_sums_of  # noqa: PLC0415

            sums = hadoop_sums_of(content)
            yield SmallFile(f"{path}/{hadoop_sums_name(name)}", content=sums)


def _plain(entry: Entry, folder: str) -> SmallFile:
    """Return a file to be copied unchanged; raise CheckpointError if the entry is a folder."""
    if not entry.is_file:
        raise CheckpointError(f"{entry.name} is not a file and cannot be copied", folder)
    return SmallFile(entry.path, entry.size)


def with_unique_ids(commit: bytes, unique_ids: Mapping[str, str]) -> bytes:
    """Return a commit entry in which old state ids are replaced by new ones.

    ``unique_ids``: old id -> new id. Raises CheckpointError if the entry lacks an old id.
    """
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
            f"the commit log does not name {sorted(left)[0]}, the id of a state file of its batch, "
            "so that Spark would not load the changed state: let the query run one more batch"
        )
    head = commit.split(b"\n", 1)[0]
    return head + b"\n" + json.dumps(fields, separators=(",", ":")).encode()


def with_ids_of(commit: bytes, newer: bytes, chosen: Collection[str]) -> bytes:
    """Return a commit entry in which the ``chosen`` ids of a newer commit replace its own.

    An id of ``newer`` replaces the one in the same position. Without state ids the entry is
    returned unchanged.
    """

    def replace_ids(ids: object, newer_ids: object) -> object:
        if isinstance(ids, dict) and isinstance(newer_ids, dict):
            return {name: replace_ids(item, newer_ids.get(name)) for name, item in ids.items()}
        if isinstance(ids, list) and isinstance(newer_ids, list) and len(ids) == len(newer_ids):
            return [replace_ids(*items) for items in zip(ids, newer_ids, strict=True)]
        return newer_ids if isinstance(newer_ids, str) and newer_ids in chosen else ids

    name = "stateUniqueIds"
    entries = [json_object(split_log(entry, MAX_FORMAT)[1][0]) for entry in (commit, newer)]
    fields, newer_fields = entries
    if name not in fields:
        return commit
    fields[name] = replace_ids(fields[name], newer_fields.get(name))
    head = commit.split(b"\n", 1)[0]
    return head + b"\n" + json.dumps(fields, separators=(",", ":")).encode()


def with_confs(entry: bytes, new: Mapping[str, str], required: Collection[str] = ()) -> bytes:
    """Return an entry of the offset log with other values of some confs.

    Raises CheckpointError if the entry has no confs, or lacks one of ``required``.
    """
    head, _, remainder = entry.partition(b"\n")
    line, separator, sources = remainder.partition(b"\n")
    fields = json_object(line.decode("utf-8"))
    confs = fields.get("conf")
    missing = [name for name in required if not isinstance(confs, dict) or name not in confs]
    if not isinstance(confs, dict) or missing:
        what = missing[0] if missing else "confs"
        raise CheckpointError(
            f"the offset log does not record {what}, so that Spark takes the value of the session, "
            "and a copy cannot give it another: let a newer Spark run one batch"
        )
    confs |= new
    changed = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    return head + b"\n" + changed + separator + sources


def _with_ids_of_form(
    commit: bytes, form: NewForm, ids: Mapping[int, Sequence[Sequence[str]]]
) -> bytes:
    """Return a commit entry with the ids of a form's state files, or without ids."""
    return without_state_ids(commit) if form.has_no_ids else with_state_ids(commit, ids)


def without_state_ids(commit: bytes) -> bytes:
    """Return a commit entry without ids of state files, as of checkpoint format 1."""
    version, lines = split_log(commit, MAX_FORMAT)
    fields = json_object(lines[0])
    if fields.pop("stateUniqueIds", None) is None:
        return commit
    # Version 2 of the commit log only adds the ids; version 3 has sinks too.
    head = f"v{1 if version == _WITH_IDS else version}".encode()
    return head + b"\n" + json.dumps(fields, separators=(",", ":")).encode()


def with_state_ids(commit: bytes, ids: Mapping[int, Sequence[Sequence[str]]]) -> bytes:
    """Return a commit entry with other state ids; unchanged if it has none.

    ``ids`` has by operator, for each partition, the ids of its stores.
    """
    if not ids:
        return commit
    fields = json_object(split_log(commit, MAX_FORMAT)[1][0])
    fields["stateUniqueIds"] = {str(number): [*map(list, of)] for number, of in ids.items()}
    head = commit.split(b"\n", 1)[0]
    return head + b"\n" + json.dumps(fields, separators=(",", ":")).encode()


def with_partition_counts(metadata: bytes, form: NewForm) -> bytes:
    """Return operator metadata (JSON) with the new number of partitions in place of the old one.

    A store with another number stays as it is.
    """
    head, _, text = metadata.partition(b"\n")
    fields = json_object(text.decode("utf-8"))
    stores = fields.get("stateStoreInfo")
    for store in stores if isinstance(stores, list) else ():
        if isinstance(store, dict) and store.get("numPartitions") == form.old:
            store["numPartitions"] = form.new
    return head + b"\n" + json.dumps(fields, separators=(",", ":")).encode()


def _tree(storage: Storage, folder: str) -> Iterator[SmallFile]:
    """Yield all files below a folder, at any depth; nothing if the folder does not exist."""
    for entry in storage.list(folder, missing_ok=True):
        if entry.is_dir:
            yield from _tree(storage, entry.path)
        else:
            yield _plain(entry, storage.full_path(folder))


def _of_operator(
    storage: Storage,
    directory: str,
    batch: int,
    new_root: str,
    form: NewForm | None = None,
) -> Iterator[SmallFile]:
    """Yield the metadata and schema files of an operator, without those of later batches.

    Metadata of format 2 gets schema paths below ``new_root``. Metadata of both formats gets the new
    number of partitions, if there is one.
    """
    metadata = _Folder.of(storage, f"{directory}/_metadata")
    if form is None or not form.new or "metadata" not in metadata.entries:
        yield from metadata.files("metadata")
    else:
        content = storage.read(metadata.entries["metadata"].path)
        yield from metadata.rewrite("metadata", with_partition_counts(content, form))
    newer = _Folder.of(storage, f"{directory}/_metadata/v2")
    for name, entry in newer.entries.items():
        written_by = number(name)
        if written_by is not None and written_by <= batch:
            content = with_schema_paths(storage.read(entry.path), new_root)
            if form is not None and form.new:
                content = with_partition_counts(content, form)
            yield from newer.rewrite(name, content)
    for file in _tree(storage, f"{directory}/_stateSchema"):
        written_by = number(file.path.rpartition("/")[2].lstrip(".").partition("_")[0])
        if written_by is None or written_by <= batch:
            yield file


def with_schema_paths(metadata: bytes, new_root: str) -> bytes:
    """Return operator metadata (JSON) with its schema paths moved below another root."""
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
    """Return a schema path with the part before ``/state/`` replaced by a new root.

    The old scheme is kept if it means the same storage as the new one.
    """
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
