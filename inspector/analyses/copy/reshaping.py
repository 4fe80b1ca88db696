"""Reshaping: a copy with another number of partitions, for all stores of all operators together."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa

from inspector.analyses.copy.evicting import folders_of
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.words import StoreWords
from inspector.checkpoint.confs import SHUFFLE_PARTITIONS
from inspector.checkpoint.logfile import json_object, split_log
from inspector.checkpoint.logs import COMMITS, MAX_FORMAT
from inspector.discovery.checkpoint import Operator
from inspector.discovery.copy_contents import NewPartitions
from inspector.discovery.placement import is_strict, partition_count, partition_key
from inspector.discovery.tasks import ALL_LEFTOVERS, Task
from inspector.engines.engine import Work
from inspector.exceptions import CheckpointError, DecodeError, EngineError
from inspector.facts.copied import MisplacedRow, RowPrints
from inspector.facts.fact import Observed
from inspector.facts.registry import fact_batches
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts, collect
from inspector.model import LIMITS, FileKind, Redact, StoreName
from inspector.operators.physical import PHYSICAL
from inspector.passes.copy_partition import FolderCopy
from inspector.passes.reshape import (
    FilledFolder,
    FillTask,
    SortTask,
    fill_partition,
    sort_partition,
)
from inspector.providers.chain import chain_for
from inspector.providers.content import FolderVersion, WholeVersion
from inspector.providers.reader_options import UNSAFE_ROW, ReadOptions
from inspector.schemas import specs_in

# note on a reshaped copy and on its plan
RESHAPED = (
    "Each row is in the partition of {new} that Spark's hash gives its key; the same hash puts "
    "every row of the source into its partition of {old}. The logs and the operator metadata have "
    "the new number, so the query needs no setting."
)
# refusal of an operator whose partitions are not known
_UNKNOWN = "operator {number}{name} cannot be reshaped: {reason}. Copy it without --partitions"


class Reshape:
    """A copy of one checkpoint with another number of partitions."""

    def __init__(self, run: Run, partitions: int) -> None:
        """Check everything that needs no state file.

        Raises CheckpointError or EngineError if the checkpoint cannot be reshaped.
        """
        self._run, self.new = run, partitions
        checkpoint, version = run.checkpoint, run.version
        self._root = checkpoint.root
        self.old = partition_count(checkpoint, version)
        if not run.engine.in_process:
            raise EngineError("--partitions works in this process: add --engine local")
        if partitions > LIMITS.partitions:
            limit = f"{LIMITS.partitions:,}"
            raise CheckpointError(f"got {partitions:,} as --partitions, expected at most {limit}")
        if not checkpoint.operators:
            message = "the query keeps no state, so there are no partitions to change"
            raise CheckpointError(message, self._root)
        if not self.old:
            message = f"the offset log does not record {SHUFFLE_PARTITIONS} for this batch"
            raise CheckpointError(f"{message}, so that rows cannot be placed", self._root)
        if self.old == partitions:
            message = f"the state has {partitions} partitions already: leave out --partitions"
            raise CheckpointError(message, self._root)
        for operator in checkpoint.operators:
            reason = self._reason(operator)
            if reason:
                name = f" ({operator.name})" if operator.name else ""
                text = _UNKNOWN.format(number=operator.operator_id, name=name, reason=reason)
                raise CheckpointError(text, self._root)
        tasks = run.tasks(replace(ALL_LEFTOVERS, fit=False))
        self._tasks = [task for task in tasks if task.present]

    def _reason(self, operator: Operator) -> str:
        """Return why the rows of an operator cannot be placed; empty if they can."""
        checkpoint, version = self._run.checkpoint, self._run.version
        encoding = checkpoint.conf(version, "stateStore.encodingFormat") or UNSAFE_ROW
        if encoding.lower() != UNSAFE_ROW:
            return f"its rows are encoded as {encoding}, which is read here and not written"
        if checkpoint.first_partition(operator.operator_id):
            return "its partitions do not begin with 0"
        if operator.single_partition:
            return ""
        if operator.name not in PHYSICAL:
            return "it is of a kind that is not known, so neither is the key that places its rows"
        if not is_strict(checkpoint, version):
            return (
                "the query began before Spark 3.3, which placed rows by other columns than the "
                "grouping key too"
            )
        return ""

    def sort_tasks(self, folder: str) -> list[SortTask]:
        """Return the tasks that read the source; ``folder`` is for temporary files."""
        operators = {operator.operator_id: operator for operator in self._run.checkpoint.operators}
        tasks = []
        for task in self._tasks:
            operator = operators[task.operator_id]
            keys = {s.store_name: partition_key(operator, s.store_name) for s in task.stores}
            known = {name: key for name, key in keys.items() if key is not None}
            tasks.append(SortTask(task, self.new, folder, known, operator.single_partition))
        return tasks

    def fill_tasks(self, folder: str) -> tuple[list[FillTask], NewPartitions]:
        """Return the tasks that write the copy, and the number and ids for the logs.

        Raises CheckpointError if the partitions of an operator have different stores.
        """
        tasks: list[FillTask] = []
        ids: dict[int, list[list[str]]] = {}
        previous: dict[int, list[list[str]]] = {}
        stored = self._read_ids()
        for operator in self._run.checkpoint.operators:
            number = operator.operator_id
            sources = [task for task in self._tasks if task.operator_id == number]
            target_count = 1 if operator.single_partition else self.new
            self._check_count(operator, sources)
            example = sources[0]
            folders = self._folders(operator, sources)
            order = self._order_of_ids(stored.get(str(number)), folders)
            for target in range(target_count):
                pairs = [(str(uuid.uuid4()), str(uuid.uuid4())) if order else None for _ in folders]
                filled = tuple(
                    self._make_folder(operator, target, source, pair)
                    for source, pair in zip(folders, pairs, strict=True)
                )
                numbers = tuple(task.partition_id for task in sources)
                tasks.append(FillTask(example, target, numbers, folder, filled))
                chosen = [pairs[index] for index in order]
                ids.setdefault(number, []).append([pair[0] for pair in chosen if pair])
                previous.setdefault(number, []).append([pair[1] for pair in chosen if pair])
        if not stored:
            return tasks, NewPartitions(self.old, self.new)
        return tasks, NewPartitions(self.old, self.new, ids, previous)

    def _check_count(self, operator: Operator, sources: Sequence[Task]) -> None:
        """Raise CheckpointError unless an operator has every partition of the source."""
        expected = 1 if operator.single_partition else self.old
        found = sorted(task.partition_id for task in sources)
        if found != list(range(expected)):
            raise CheckpointError(
                f"operator {operator.operator_id} has the partitions {found}, expected 0 to "
                f"{expected - 1}",
                self._root,
            )

    def _folders(self, operator: Operator, sources: Sequence[Task]) -> list[_SourceFolder]:
        """Return the folders that each partition of an operator has, with their files' form.

        Raises CheckpointError if the partitions differ.
        """
        run, found = self._run, dict[str, _SourceFolder]()
        layouts = {p.partition_id: p for p in operator.layout.partitions}
        content = run.checkpoint.provider.content
        for task in sources:
            options = ReadOptions(
                task.codecs, task.row_checksum, task.merge_delimiter, task.encoding
            )
            layout = layouts[task.partition_id]
            for folder in folders_of(layout, run.version):
                suffix = folder.directory.removeprefix(layout.directory)
                files = tuple(
                    f for f in folder.files if f.version is None or f.version <= run.version
                )
                chain = chain_for(run.checkpoint.provider.files_of(files), run.version)
                of_version = FolderVersion(run.checkpoint.storage, files, chain)
                whole = content.encode_whole(of_version, options, None)
                old_id = run.checkpoint.provider.unique_id(chain.files[-1])
                source = _SourceFolder(suffix, folder, of_version, options, whole, old_id)
                first = found.setdefault(suffix, source)
                is_equal = first.folder.stores == folder.stores
                if not is_equal or first.whole.families != whole.families:
                    raise CheckpointError(
                        f"partitions {sources[0].partition_id} and {task.partition_id} of operator "
                        f"{operator.operator_id} have different stores or column families: let the "
                        "query run one more batch",
                        self._root,
                    )
        return list(found.values())

    def _make_folder(
        self, operator: Operator, target: int, source: _SourceFolder, ids: tuple[str, str] | None
    ) -> FilledFolder:
        """Return one folder of the copy, modelled on a folder of the source."""
        content = self._run.checkpoint.provider.content
        # Without ids all partitions have the form of the first one, which was read once.
        whole = source.whole
        if ids is not None:
            whole = content.encode_whole(source.version, source.options, ids)
        name, base = whole.base or ("", b"")
        kinds = {file.kind for file in source.folder.files}
        return FilledFolder(
            f"{operator.layout.directory}/{target}{source.suffix}",
            source.folder.stores,
            whole.form,
            name,
            base.hex(),
            whole.families,
            FileKind.HADOOP_CHECKSUM in kinds,
            FileKind.SPARK_CHECKSUM in kinds,
        )

    def _read_ids(self) -> Mapping[str, object]:
        """Return the ids of state files in the commit entry, by operator; empty without ids."""
        storage, batch = self._run.checkpoint.storage, self._run.version - 1
        lines = split_log(storage.read(f"{COMMITS}/{batch}"), MAX_FORMAT)[1]
        ids = json_object(lines[0]).get("stateUniqueIds")
        return ids if isinstance(ids, dict) else {}

    def _order_of_ids(self, ids: object, folders: Sequence[_SourceFolder]) -> list[int]:
        """Return which folder each id of a partition in the commit entry belongs to.

        Returns an empty list without ids. Raises CheckpointError if an id belongs to no folder.
        """
        if ids is None:
            return []
        first = ids[0] if isinstance(ids, list) and ids else None
        own = [folder.unique_id for folder in folders]
        if not isinstance(first, list) or not set(first) <= set(own) or len(first) != len(own):
            message = "the commit log does not name the ids of the state files as Spark writes them"
            raise CheckpointError(f"{message}: let the query run one more batch", self._root)
        return [own.index(unique_id) for unique_id in first]

    def check_rows(self, facts: Facts) -> None:
        """Raise CheckpointError for a row that the hash does not put into its partition."""
        seen = min(facts.of(MisplacedRow), key=_store_of, default=None)
        if seen is None:
            return
        words = StoreWords(self._run.checkpoint, self._run.options.redact or Redact.NONE)
        name, fact = seen.store.name, seen.fact
        key = words.keys(name, [fact.key])[0]
        where = f"in partition {fact.expected_partition}"
        if fact.expected_partition < 0:
            where = "in a partition that is not known (a type or size of the key has no known hash)"
        raise CheckpointError(
            f"operator {name.operator_id}, store {name.store_name}, partition "
            f"{seen.store.partition_id}: Spark's hash puts the row with the key {key} {where}, so "
            "that it is not known how Spark places the rows. Copy it without --partitions",
            self._root,
        )

    def run_sorting(self, tasks: Sequence[SortTask]) -> Facts:
        """Return the facts of sorting the source's rows."""
        work = [Work(t.to_json(), t.task.file_bytes, files=t.task.file_count) for t in tasks]
        return collect(self._run.map_work(run_sorting, work))

    def run_filling(self, tasks: Sequence[FillTask]) -> Facts:
        """Return the facts of writing the copy.

        Raises CheckpointError if rows have a form that is read here and not written.
        """
        try:
            return collect(self._run.map_work(run_filling, [Work(t.to_json()) for t in tasks]))
        except DecodeError as error:
            text = f"the rows cannot be written: {error.message}. Copy it without --partitions"
            raise CheckpointError(text, self._root) from None


class _SourceFolder(NamedTuple):
    """One folder that each partition of an operator has; the example is of the first partition."""

    suffix: str  # part of its path below the partition, such as ``/left-keyToNumValues``
    folder: FolderCopy  # its files and stores
    version: FolderVersion  # its files at the copied version
    options: ReadOptions  # options of its files
    whole: WholeVersion  # form of a file with all rows, without ids
    unique_id: str | None  # id of the newest file; None if names have none


def _store_of(seen: Observed[MisplacedRow]) -> tuple[int, str, int]:
    """Return a sort key of the store of a fact."""
    return seen.store.operator_id, seen.store.store_name, seen.store.partition_id


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Yield a folder for temporary files, which is removed at the end."""
    with TemporaryDirectory(prefix="inspector-reshape-") as folder:
        yield os.path.realpath(folder)


def run_sorting(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sort the partitions of the task specs in ``batches``, and yield their facts."""
    for spec in specs_in(batches):
        yield from fact_batches(sort_partition(SortTask.from_json(spec)))


def run_filling(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the partitions of the task specs in ``batches``, and yield their facts."""
    for spec in specs_in(batches):
        yield from fact_batches(fill_partition(FillTask.from_json(spec)))


def sums_differ(source: Facts, copy: Facts) -> StoreName | None:
    """Return the first store whose rows in the copy are not those of the source; else None."""
    sums, written = source.sums(RowPrints), copy.sums(RowPrints)
    names = sorted({*sums, *written})
    return next((n for n in names if sums.get(n) != written.get(n)), None)
