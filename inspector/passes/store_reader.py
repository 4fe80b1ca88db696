"""Reader of the records of one store; what goes wrong is kept as problems with a path."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from inspector.checkpoint.logfile import UNSEEN, VANISHED_SLUG, problem
from inspector.checkpoint.storage import Storage
from inspector.decode.records import RecordBlock
from inspector.discovery.tasks import StoreTask, Task
from inspector.exceptions import ChecksumError, InspectorError
from inspector.facts.checks import ChecksPassed
from inspector.light_dataclasses import replace
from inspector.model import KINDS_OF_STATE, Problem, StoreFile
from inspector.passes.ahead import is_large, make_ahead
from inspector.providers.file_reader import SLUG as SIDE_SLUG
from inspector.providers.reader_options import ReadOptions, StoreForm
from inspector.providers.registry import provider_by_name
from inspector.providers.task_files import TaskFiles
from inspector.sparktypes import StructType
from inspector.sparktypes.schema_json import parse_schema_json

READ_ERRORS = (InspectorError, OSError)
"""Exceptions that reading a file may raise; any other exception is a fault of this package."""

# Function that takes the blocks of a file, checks them and passes them on.
Check = Callable[[Iterator[RecordBlock]], Iterable[RecordBlock]]


class StoreReader:
    """Reads the state files of one store, and keeps the problems of reading."""

    def __init__(self, task: Task, storage: Storage, store: StoreTask) -> None:
        self.storage = storage if isinstance(storage, TaskFiles) else TaskFiles(storage)
        self.store = task.store_id(store)
        self._problems: dict[Problem, None] = {}  # each pass over the same files meets them
        self._fit = task.request.fit
        self._decode_ahead = task.decode_ahead
        self._begun: set[str] = set()
        self._confirmed: set[str] = set()
        self.provider = provider_by_name(task.provider)
        key = None if store.key_schema is None else parse_schema_json(store.key_schema)
        if key is not None and store.several_values:
            key = StructType(key.fields[:-1])  # operators put no place of a row in its list
        form = StoreForm(
            store.column_family,
            key,
            store.key_encoder,
            store.several_values,
            None if store.value_schema is None else parse_schema_json(store.value_schema),
            {number: parse_schema_json(text) for number, text in store.written_values.items()},
        )
        task_options = task.codecs, task.row_checksum, task.merge_delimiter, task.encoding
        store_arguments = ReadOptions(*task_options, form), store.files, store.side_files
        self.files = self.provider.reader(self.storage, *store_arguments, self.report)

    @property
    def problems(self) -> list[Problem]:
        """Problems so far, each once, in the order in which they occurred."""
        return list(self._problems)

    def leave_out(self, reported: Collection[tuple[str, str | None, int | None]]) -> None:
        """Drop the problems whose (slug, path, offset) is in ``reported``."""
        left = (p for p in self._problems if (p.slug, p.path, p.offset) not in reported)
        self._problems = dict.fromkeys(left)

    @property
    def checks(self) -> ChecksPassed:
        """Checks that passed so far; each file counts once."""
        unsummed = self.files.paths_without_sums
        confirmed = len(unsummed & self._confirmed)
        checks = vars(self.files.checks)
        return ChecksPassed(**checks, unsummed_files=len(unsummed), confirmed_files=confirmed)

    def confirm(self, files: Iterable[StoreFile]) -> None:
        """Note that a snapshot, itself one of ``files``, has the rows that these files make."""
        self._confirmed.update(file.path for file in files)

    def blocks(self, file: StoreFile, check: Check = iter) -> Iterator[RecordBlock]:
        """Yield the records of a file in blocks, passed through ``check``.

        The last block is yielded only after the end of the file was verified. Another thread
        decodes large files if the task has a core for it and no other store takes turns. Raises
        DecodeError, with path and offset, and OSError.
        """
        ahead = self._decode_ahead and self.storage.turns is None and is_large(file)
        blocks = self.blocks_here(file, check)
        return make_ahead(blocks) if ahead else blocks

    def blocks_here(self, file: StoreFile, check: Check = iter) -> Iterator[RecordBlock]:
        """Return the blocks of a file, decoded by the thread that consumes them."""
        self._begun.add(file.path)
        return iter(check(self.files.blocks(file)))

    def note(
        self, files: Sequence[StoreFile], contents: Sequence[bytes], records: Sequence[int]
    ) -> None:
        """Note files that were read together as read, with their contents and record counts."""
        self._begun.update(file.path for file in files)
        self.files.note(files, contents, records)

    def decode_rest(self, files: Iterable[StoreFile]) -> None:
        """Decode the files that were not read yet, and note failures.

        No version needed them, such as a delta that a snapshot has replaced.
        """
        for file in files:
            if file.path not in self._begun:
                try:
                    for _ in self.blocks(file):
                        pass
                except READ_ERRORS as error:
                    self.note_failure(error, file)

    def again(self, task: Task, store: StoreTask) -> StoreReader:
        """Return a new reader of a store, without checksum files, to read it a second time."""
        bare = replace(store, side_files=()) if store.side_files else store
        return StoreReader(task, self.storage, bare)

    def check_rest(self, files: Iterable[StoreFile]) -> None:
        """Compare files with their checksums that were not read to their end; note failures.

        Files that the storage did not show are left out.
        """
        slugs = (*UNSEEN, VANISHED_SLUG)
        unseen = {result.path for result in self.problems if result.slug in slugs}
        for file in self.files.files_to_check(item for item in files if item.path not in unseen):
            try:
                self.files.check(file)
            except OSError as error:  # noqa: PERF203 - a file takes longer than its try
                self.note_failure(error, file)

    def report(
        self, slug: str, message: str, file: StoreFile | None = None, offset: int | None = None
    ) -> None:
        """Keep a problem of this store.

        ``file`` is the file with the problem, ``offset`` the position in it; None if unknown. The
        slug of a state file that does not match its checksum file depends on the request. A request
        that checks files (``fit``, as of audit and verify) keeps the given slug. Any other request
        keeps the slug of ChecksumError: its rows or numbers are then uncertain.
        """
        is_state_file = file is not None and file.kind in KINDS_OF_STATE
        if slug == SIDE_SLUG and is_state_file and not self._fit:
            slug = ChecksumError.slug
        path, version = (None, None) if file is None else (file.path, file.version)
        self._problems[Problem(slug, message, path, offset, self.store, version)] = None

    def add(self, problems: Iterable[Problem]) -> None:
        """Keep problems of another reader, except those whose slug and path are known here."""
        reported = {(result.slug, result.path) for result in self._problems}
        new = (result for result in problems if (result.slug, result.path) not in reported)
        self._problems.update(dict.fromkeys(new))

    def note_failure(self, error: InspectorError | OSError, file: StoreFile) -> None:
        """Keep an error that reading a file raised as a problem."""
        result = problem(error, file.path)
        self._problems[replace(result, store=self.store, version=file.version)] = None

    def row(self, kind: str, version: int | None) -> dict[str, Any]:
        """Return the columns that every row about this store has: kind, store, version."""
        return {"kind": kind, **vars(self.store), "version": version}


def open_stores(task: Task) -> Iterator[tuple[StoreTask, StoreReader]]:
    """Yield the stores of a task, each with a new reader."""
    storage = TaskFiles(Storage(task.url, task.options, task.root))
    for store in task.stores:
        yield store, StoreReader(task, storage, store)
