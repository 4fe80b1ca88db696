"""Operators, partitions, stores and state files of a checkpoint, from listings alone.

::

    <root>/state/<operator>/<partition>/                 the files of the store "default"
    <root>/state/<operator>/<partition>/<store name>/    the files of a named store (joins)
    <root>/state/<operator>/_metadata  _stateSchema      read elsewhere (metadata, state_schema)

The operator's metadata (Spark 4.0 and later) name the stores. Before 4.0 the names that Spark gives
decide: only a join has named stores. Other folders next to them, such as a backup, are no part of
the state: Spark never opens them, and nothing of them is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain

from inspector.checkpoint.copy_record import RECORD
from inspector.checkpoint.logfile import problem
from inspector.checkpoint.metadata import OperatorMetadata, read_operator_metadata
from inspector.checkpoint.names import Classify, is_marker
from inspector.checkpoint.roots import STATE, Selection, is_numbered, is_root_with, not_a_checkpoint
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.light_dataclasses import dataclass, replace
from inspector.model import (
    DEFAULT_STORE,
    JOIN_STORES,
    KINDS_OF_VERSION,
    FileKind,
    Problem,
    StoreFile,
    StoreId,
)

_METADATA = "_metadata"  # name of the folder with an operator's metadata
# slug of the problem that a folder or file among the stores does not belong to any store
FOREIGN = "foreign-folder"
FOREIGN_FILE = "got a file"  # first words of such a problem's message if it is about a file


@dataclass(frozen=True)
class StoreLayout:
    """One state store and its files."""

    store: StoreId
    directory: str  # its folder, relative to the root
    # all its files, by version and then name; files without a version last
    files: tuple[StoreFile, ...] = ()
    # name of the column family that is the store; None if the files have no other store
    column_family: str | None = None

    def of_kind(self, *kinds: FileKind) -> tuple[StoreFile, ...]:
        """Return the files of these kinds, in order."""
        return tuple([file for file in self.files if file.kind in kinds])


@dataclass(frozen=True)
class PartitionLayout:
    """One partition of an operator."""

    partition_id: int  # its number
    directory: str  # its folder, relative to the root
    stores: tuple[StoreLayout, ...] = ()  # its stores; empty while the folder is empty
    # True if there is a ``_metadata`` folder, in which Spark before 4.0 has schemas
    has_schemas: bool = False


@dataclass(frozen=True)
class OperatorLayout:
    """One stateful operator."""

    operator_id: int  # Spark's number: 0 is the operator closest to the sink
    directory: str  # its folder, relative to the root
    partitions: tuple[PartitionLayout, ...] = ()  # by number, those that exist
    metadata: OperatorMetadata | None = None  # Spark's own (4.0 on); None if none can be read
    expected_stores: tuple[str, ...] = ()  # names of the stores that each of its partitions has
    has_state_schema: bool = False  # True if there is a ``_stateSchema`` folder (schema format 3)

    @cached_property
    def stores(self) -> tuple[StoreLayout, ...]:
        """All stores of all partitions."""
        return tuple(store for partition in self.partitions for store in partition.stores)

    @property
    def folders(self) -> tuple[StoreLayout, ...]:
        """One store of each folder; stores that share a folder have the same files."""
        return tuple({store.directory: store for store in reversed(self.stores)}.values())[::-1]

    @cached_property
    def store_names(self) -> tuple[str, ...]:
        """Names of its stores, sorted."""
        return tuple(sorted({layout.store.store_name for layout in self.stores}))

    def map_stores(self, change: Callable[[StoreLayout], Iterable[StoreLayout]]) -> OperatorLayout:
        """Return a copy in which each store is replaced by the stores that ``change`` returns."""
        partitions = (
            replace(partition, stores=tuple(chain.from_iterable(map(change, partition.stores))))
            for partition in self.partitions
        )
        return replace(self, partitions=tuple(partitions))


@dataclass(frozen=True)
class Layout:
    """Contents of a checkpoint's ``state`` folder."""

    operators: tuple[OperatorLayout, ...] = ()  # by number; empty for a query without state
    has_state: bool = False  # True if there is a ``state`` folder
    # names of the files and folders in the root, ``state`` included
    root_names: frozenset[str] = frozenset()
    # unreadable folders and metadata; folders and files that belong to no store
    problems: tuple[Problem, ...] = ()

    @property
    def stores(self) -> tuple[StoreLayout, ...]:
        """All stores of all operators."""
        return tuple(store for operator in self.operators for store in operator.stores)

    @property
    def folders(self) -> tuple[StoreLayout, ...]:
        """One store of each folder (:attr:`OperatorLayout.folders`)."""
        return tuple(store for operator in self.operators for store in operator.folders)

    def select(self, selection: Selection) -> Layout:
        """Return the layout with only the parts that a selection names."""
        return replace(self, operators=tuple(_select(self.operators, selection)))


def discover(storage: Storage, classify: Classify) -> Layout:
    """Return the layout of a checkpoint's state, listed through a storage at its root.

    ``classify`` gives the kind and version of a file name. NotACheckpointError: the root is none.
    OSError: the root or ``state`` cannot be listed; below them an error is a problem of the layout.
    """
    # An OSError below the root and ``state`` is a problem of the layout.
    entries = storage.list(missing_ok=True)
    # An unfinished copy has no commits yet; its record shows that it is one.
    is_copy = any(entry.name == RECORD for entry in entries)
    if not is_copy and not is_root_with(storage, entries):
        raise not_a_checkpoint(storage)
    walk = _Walk(storage, classify)
    folders = storage.list(STATE, missing_ok=True)
    operators = walk.operators([entry for entry in folders if is_numbered(entry)])
    return Layout(
        operators=operators,
        has_state=bool(folders) or storage.exists(STATE),
        root_names=frozenset(entry.name for entry in entries),
        problems=walk.problems(),
    )


class _Walk:
    """Walk through the folders of state that gives the layout of each operator, and problems.

    All folders of a level are listed at once: an object store is slow, not narrow.
    """

    def __init__(self, storage: Storage, classify: Classify) -> None:
        # The stores of all partitions have files of the same names.
        self._storage, self._classify = storage, lru_cache(maxsize=1 << 16)(classify)
        self._errors: dict[str, OSError] = {}
        self._found: list[Problem] = []
        self._inside_shared: dict[str, tuple[Entry, ...]] = {}

    def problems(self) -> tuple[Problem, ...]:
        """Return the problems of listing, by path, and then the other ones."""
        location = self._storage.full_path
        errors = (problem(error, location(path)) for path, error in sorted(self._errors.items()))
        return (*errors, *self._found)

    def operators(self, folders: Iterable[Entry]) -> tuple[OperatorLayout, ...]:
        """Return the layouts of the operators in these folders, by number."""
        listed = self._list(folders)
        inside = self._list(e for result in listed.values() for e in result if is_numbered(e))
        operators = []
        for path, entries in listed.items():
            inside_folders = {e.path: inside[e.path] for e in entries if e.path in inside}
            operators.append(self._operator(path, entries, inside_folders))
        return tuple(sorted(operators, key=lambda operator: operator.operator_id))

    def _operator(
        self, path: str, entries: tuple[Entry, ...], inside: Mapping[str, tuple[Entry, ...]]
    ) -> OperatorLayout:
        """Return the layout of one operator.

        ``entries`` is the listing of its folder, ``inside`` has the listings of its partitions.
        """
        operator_id = int(path.rsplit("/", 1)[-1])
        metadata = None
        if any(entry.name == _METADATA for entry in entries):
            metadata, trouble = read_operator_metadata(self._storage, operator_id)
            self._found.extend(trouble)
        infos = metadata.stores if metadata else ()
        stores = tuple(info.store_name for info in infos) or self._recognise(inside.values())
        partitions = self._partitions(inside, stores, by_metadata=bool(infos))
        return OperatorLayout(
            operator_id=operator_id,
            directory=path,
            partitions=tuple(sorted(partitions, key=lambda partition: partition.partition_id)),
            metadata=metadata,
            expected_stores=stores,
            has_state_schema=any(e.name == "_stateSchema" and e.is_dir for e in entries),
        )

    def _recognise(self, partitions: Collection[tuple[Entry, ...]]) -> tuple[str, ...]:
        """Return the names of an operator's stores without metadata: a join's, or the default.

        ``partitions`` are the listings of its partitions.
        """
        # A single folder with a join's name, beside files of a store without a name, is a copy.
        entries = [entry for partition in partitions for entry in partition]
        named = {e.name for e in entries if self._is_store(e)} & set(JOIN_STORES)
        has_state = any(self._is_state(entry) for entry in entries)
        return JOIN_STORES if named and (len(named) > 1 or not has_state) else (DEFAULT_STORE,)

    def _partitions(
        self, inside: Mapping[str, tuple[Entry, ...]], names: Collection[str], *, by_metadata: bool
    ) -> Iterator[PartitionLayout]:
        """Yield the layouts of an operator's partitions; ``names`` are the names of its stores.

        Folders that are no store are noted as problems.
        """
        below = [entry for entries in inside.values() for entry in entries if entry.is_dir]
        folders = [entry for entry in below if self._is_store(entry)]
        listed = self._list(e for e in folders if e.name in names)
        store_listings = [*listed.values(), *(inside.values() if DEFAULT_STORE in names else ())]
        entries_of_stores = (entry for entries in store_listings for entry in entries)
        shared = [entry for entry in entries_of_stores if entry.is_dir and self._is_own(entry)]
        self._inside_shared.update(self._list(shared))  # they hold files of several versions
        source = "by the operator's metadata" if by_metadata else "by the names that Spark gives"
        clause = f"whose stores are {', '.join(sorted(names))} {source}; nothing in it is counted"
        for path, entries in inside.items():
            below = [entry for entry in entries if entry.is_dir]
            stores = [self._store(e.path, listed[e.path]) for e in below if e.path in listed]
            if DEFAULT_STORE in names:
                stores.insert(0, self._store(path, entries))
            elif any(map(self._is_state, entries)):
                self._foreign(path, f"got state files beside the stores of this operator, {clause}")
            for entry in below:
                if self._is_store(entry) and entry.name not in names:
                    message = f"got a folder that is not a store of this operator, {clause}"
                    self._foreign(entry.path, message)
            has_schemas = any(entry.name == _METADATA for entry in entries)
            number = int(path.rsplit("/", 1)[-1])
            yield PartitionLayout(number, path, tuple(stores), has_schemas)

    def _foreign(self, path: str, message: str) -> None:
        """Note that a path among the stores belongs to no store."""
        self._found.append(Problem(FOREIGN, message, self._storage.full_path(path)))

    def _is_state(self, entry: Entry) -> bool:
        """Return True if an entry is a file whose name is that of a version's file."""
        return entry.is_file and self._has_the_name_of_state(entry)

    def _has_the_name_of_state(self, entry: Entry) -> bool:
        """Return True if the name of an entry is that of a version's file."""
        return self._classify(entry.name)[0] in KINDS_OF_VERSION

    def _store(self, directory: str, entries: Collection[Entry]) -> StoreLayout:
        """Return the layout of a store's folder; note entries that do not belong there."""
        _, operator, partition, *names = directory.split("/")
        folder, files, unknown_names = self._storage.full_path(directory), list[StoreFile](), []
        for entry in entries:
            name, _, is_dir, size, modified_ms, is_special, _ = entry
            if is_dir or is_special:
                unknown_names.append(entry)
                files += self._list_shared_files(entry)
            else:
                kind, version = self._classify(name)
                files.append(StoreFile(f"{folder}/{name}", kind, version, size, modified_ms))
        files.sort(key=lambda file: (file.version is None, file.version or 0, file.path))
        store = StoreId(int(operator), names[0] if names else DEFAULT_STORE, int(partition))
        self._found += [
            replace(entry.not_a_file(self._storage.full_path(entry.path)), store=store)
            for entry in unknown_names
            if self._has_the_name_of_state(entry)
        ]
        others_by_name = (file for file in files if file.kind is FileKind.OTHER)
        foreign = [file for file in others_by_name if not is_marker(file.path.rpartition("/")[2])]
        if foreign:
            first = f", the first of {len(foreign):,}" if foreign[1:] else ""
            message = f"{FOREIGN_FILE} whose name no state store gives{first}; it is not counted"
            self._found.append(Problem(FOREIGN, message, foreign[0].path, store=store))
        return StoreLayout(store, directory, tuple(files))

    def _list_shared_files(self, folder: Entry) -> Iterator[StoreFile]:
        """Yield the files in a folder that is part of a store, such as shared SST files."""
        kind, _ = self._classify(folder.name, is_dir=True)
        for entry in self._inside_shared.get(folder.path, ()):
            if not entry.is_dir and not is_marker(entry.name):
                path = self._storage.full_path(entry.path)
                own_kind, _ = self._classify(entry.name)
                file_kind = kind if own_kind is FileKind.OTHER else own_kind
                yield StoreFile(path, file_kind, None, entry.size, entry.modified_ms)

    def _is_own(self, folder: Entry) -> bool:
        """Return True if a folder is part of its store."""
        return self._classify(folder.name, is_dir=True)[0] is not FileKind.OTHER

    def _is_store(self, entry: Entry) -> bool:
        """Return True if an entry is a folder that may be a store by its name."""
        if not entry.is_dir:
            return False
        hidden = entry.name.startswith(("_", ".")) or self._is_own(entry)
        return not hidden and self._classify(entry.name)[0] is FileKind.OTHER

    def _list(self, folders: Iterable[Entry]) -> dict[str, tuple[Entry, ...]]:
        """Return the listings of folders by path; note errors. A missing folder is empty."""
        paths = [folder.path for folder in folders]
        return self._storage.list_many(paths, missing_ok=True, errors=self._errors)


def _select(operators: Iterable[OperatorLayout], selection: Selection) -> Iterator[OperatorLayout]:
    """Yield the selected operators, with only the selected partitions and stores."""
    for operator in operators:
        if selection.operator_id in (None, operator.operator_id):
            partitions = (
                p for p in operator.partitions if selection.partition_id in (None, p.partition_id)
            )
            expected = tuple(filter(selection.has_store, operator.expected_stores))
            part = replace(operator, partitions=tuple(partitions), expected_stores=expected)
            yield part.map_stores(
                lambda layout: (layout,) * selection.has_store(layout.store.store_name)
            )
