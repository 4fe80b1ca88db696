"""Which operators, partitions, stores and state files a checkpoint has, from listings alone.

::

    <root>/state/<operator>/<partition>/                 the files of the store "default"
    <root>/state/<operator>/<partition>/<store name>/    the files of a named store (joins)
    <root>/state/<operator>/_metadata  _stateSchema      read elsewhere (metadata, state_schema)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from inspector.checkpoint.entries import Entry
from inspector.checkpoint.logfile import problem
from inspector.checkpoint.names import Classify
from inspector.checkpoint.roots import STATE, Selection, is_numbered, is_root, not_a_checkpoint
from inspector.checkpoint.storage import Storage
from inspector.model import DEFAULT_STORE, FileKind, Problem, StoreFile, StoreId

_SPARKS_OWN = frozenset({"_metadata", "_stateSchema"})


@dataclass(frozen=True)
class StoreLayout:
    """One state store and its files.

    Attributes:
        store: which store.
        directory: its folder, relative to the root.
        files: all its files, by version and then name; those without a version last.
    """

    store: StoreId
    directory: str
    files: tuple[StoreFile, ...] = ()

    def of_kind(self, *kinds: FileKind) -> tuple[StoreFile, ...]:
        """The files of these kinds, in order."""
        return tuple(file for file in self.files if file.kind in kinds)


@dataclass(frozen=True)
class PartitionLayout:
    """One partition of an operator: its stores by name; none while its folder is empty."""

    partition_id: int
    directory: str
    stores: tuple[StoreLayout, ...] = ()


@dataclass(frozen=True)
class OperatorLayout:
    """One stateful operator.

    Attributes:
        operator_id: Spark's number: 0 is the operator closest to the sink.
        directory: its folder, relative to the root.
        partitions: by number, those that exist.
        has_metadata: whether there is a ``_metadata`` folder (Spark 4.0 and later).
        has_state_schema: whether there is a ``_stateSchema`` folder (schema format 3).
        others: relative paths in its folder that are none of Spark's.
    """

    operator_id: int
    directory: str
    partitions: tuple[PartitionLayout, ...] = ()
    has_metadata: bool = False
    has_state_schema: bool = False
    others: tuple[str, ...] = ()

    @property
    def stores(self) -> tuple[StoreLayout, ...]:
        """All stores of all partitions."""
        return tuple(store for partition in self.partitions for store in partition.stores)

    @property
    def store_names(self) -> tuple[str, ...]:
        """Names of its stores, sorted."""
        return tuple(sorted({layout.store.store_name for layout in self.stores}))


@dataclass(frozen=True)
class Layout:
    """What lies in a checkpoint's ``state`` folder.

    Attributes:
        root: the checkpoint, as the user spelled it.
        operators: by number; empty for a query without state.
        others: relative paths in ``state`` that are none of Spark's.
        problems: folders that could not be listed.
    """

    root: str
    operators: tuple[OperatorLayout, ...] = ()
    others: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def stores(self) -> tuple[StoreLayout, ...]:
        """All stores of all operators."""
        return tuple(store for operator in self.operators for store in operator.stores)

    def select(self, selection: Selection) -> Layout:
        """Only what the selection names."""
        return replace(self, operators=tuple(_selected(self.operators, selection)))


def discover(storage: Storage, classify: Classify) -> Layout:
    """List a checkpoint's state.

    Args:
        storage: opened at the checkpoint's root (see :func:`resolve_root`).
        classify: what the providers know of file names.

    Raises:
        NotACheckpointError: the root is none.
        OSError: the root or its ``state`` cannot be listed; below it is a problem of the layout.
    """
    if not is_root(storage):
        raise not_a_checkpoint(storage)
    walk = _Walk(storage, classify)
    folders = storage.list(STATE, missing_ok=True)
    operators = walk.operators([entry for entry in folders if is_numbered(entry)])
    return Layout(
        root=storage.root,
        operators=operators,
        others=tuple(entry.path for entry in folders if not is_numbered(entry)),
        problems=walk.problems(),
    )


class _Walk:
    """Lists level by level, all folders of a level at once: an object store is slow, not narrow."""

    def __init__(self, storage: Storage, classify: Classify) -> None:
        self._storage, self._classify = storage, classify
        self._errors: dict[str, OSError] = {}

    def problems(self) -> tuple[Problem, ...]:
        place = self._storage.full_path
        return tuple(problem(error, place(path)) for path, error in sorted(self._errors.items()))

    def operators(self, folders: Iterable[Entry]) -> tuple[OperatorLayout, ...]:
        listed = self._list(folders)
        partitions = self._partitions(
            entry for entries in listed.values() for entry in entries if is_numbered(entry)
        )
        found = (_operator(path, entries, partitions) for path, entries in listed.items())
        return tuple(sorted(found, key=lambda operator: operator.operator_id))

    def _partitions(self, folders: Iterable[Entry]) -> dict[str, PartitionLayout]:
        listed = self._list(folders)
        named = self._list(e for entries in listed.values() for e in entries if self._is_store(e))
        # Named stores belong to joins, which have no default one, not even where a folder is empty.
        joins = {path.rsplit("/", 2)[0] for path in named}
        found: dict[str, PartitionLayout] = {}
        for path, entries in listed.items():
            stores = [self._store(e.path, named[e.path]) for e in entries if e.path in named]
            default = self._store(path, entries)
            if default.files or path.rsplit("/", 1)[0] not in joins:
                stores.insert(0, default)
            found[path] = PartitionLayout(int(path.rsplit("/", 1)[-1]), path, tuple(stores))
        return found

    def _store(self, directory: str, entries: Iterable[Entry]) -> StoreLayout:
        _, operator, partition, *name = directory.split("/")
        files = [self._file(e) for e in entries if not e.is_dir or self._is_own(e)]
        files.sort(key=lambda file: (file.version is None, file.version or 0, file.path))
        store = StoreId(int(operator), name[0] if name else DEFAULT_STORE, int(partition))
        return StoreLayout(store, directory, tuple(files))

    def _file(self, entry: Entry) -> StoreFile:
        kind, version = self._classify(entry.name, is_dir=entry.is_dir)
        path = self._storage.full_path(entry.path)
        return StoreFile(path, kind, version, entry.size, entry.modified_ms)

    def _is_own(self, folder: Entry) -> bool:
        """Whether a folder in a store's folder belongs to that store."""
        return self._classify(folder.name, is_dir=True)[0] is not FileKind.OTHER

    def _is_store(self, entry: Entry) -> bool:
        hidden = entry.name.startswith(("_", ".")) or self._is_own(entry)
        return entry.is_dir and not hidden and self._classify(entry.name)[0] is FileKind.OTHER

    def _list(self, folders: Iterable[Entry]) -> dict[str, tuple[Entry, ...]]:
        paths = [folder.path for folder in folders]
        return self._storage.list_many(paths, missing_ok=True, errors=self._errors)


def _operator(
    path: str, entries: tuple[Entry, ...], partitions: Mapping[str, PartitionLayout]
) -> OperatorLayout:
    folders = {entry.name for entry in entries if entry.is_dir}
    mine = (partitions[entry.path] for entry in entries if entry.path in partitions)
    return OperatorLayout(
        operator_id=int(path.rsplit("/", 1)[-1]),
        directory=path,
        partitions=tuple(sorted(mine, key=lambda partition: partition.partition_id)),
        has_metadata="_metadata" in folders,
        has_state_schema="_stateSchema" in folders,
        others=tuple(e.path for e in entries if not is_numbered(e) and e.name not in _SPARKS_OWN),
    )


def _selected(
    operators: Iterable[OperatorLayout], selection: Selection
) -> Iterator[OperatorLayout]:
    for operator in operators:
        if selection.operator_id in (None, operator.operator_id):
            partitions = tuple(_selected_partitions(operator.partitions, selection))
            yield replace(operator, partitions=partitions)


def _selected_partitions(
    partitions: Iterable[PartitionLayout], selection: Selection
) -> Iterator[PartitionLayout]:
    for partition in partitions:
        if selection.partition_id in (None, partition.partition_id):
            stores = tuple(
                layout
                for layout in partition.stores
                if selection.store_name in (None, layout.store.store_name)
            )
            yield replace(partition, stores=stores)
