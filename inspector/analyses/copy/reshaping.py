"""Reshaping: a copy whose state has another form, for all stores of all operators together."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from inspector.analyses.copy.conversions import NEW, Conversion, conversions_of
from inspector.analyses.copy.evicting import ChosenRows, EvictTask, choice_of, folders_of
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.words import StoreWords
from inspector.checkpoint.confs import HDFS_PROVIDER, PROVIDER_CLASS, SHUFFLE_PARTITIONS
from inspector.checkpoint.logfile import json_object, split_log
from inspector.checkpoint.logs import COMMITS, MAX_FORMAT
from inspector.codec import Message
from inspector.discovery.batch_times import is_real_time
from inspector.discovery.checkpoint import Operator
from inspector.discovery.copy_contents import NewForm
from inspector.discovery.placement import is_strict, partition_count, partition_key
from inspector.discovery.tasks import ALL_LEFTOVERS, Task
from inspector.engines.engine import PARCEL_COLUMNS, Exchange, ShufflingEngine, Work
from inspector.exceptions import (
    CheckpointError,
    DecodeError,
    EngineError,
    InspectorError,
    NoSchemaError,
    RowError,
)
from inspector.facts.checks import ReadProblem
from inspector.facts.copied import (
    Evicted,
    EvictedKey,
    MisplacedRow,
    RowPrints,
    UnwritableRows,
    WrittenFiles,
)
from inspector.facts.fact import Observed
from inspector.facts.registry import fact_batches, facts_schema
from inspector.light_dataclasses import dataclass, replace
from inspector.merge.collect import Facts, collect
from inspector.model import LIMITS, FileKind, Redact, StoreId, StoreName
from inspector.operators.aggregation import STREAMLINE
from inspector.operators.join import NAMES as JOIN
from inspector.operators.physical import PHYSICAL
from inspector.operators.transform_with_state import NAMES as TRANSFORM
from inspector.passes.copy_partition import FolderCopy
from inspector.passes.reshape import (
    FilledFolder,
    FillTask,
    Parcel,
    SentRows,
    SortTask,
    fill_partition,
    read_partition,
    sort_partition,
    stores_in_order,
)
from inspector.providers.chain import chain_for
from inspector.providers.content import FolderVersion, WholeVersion
from inspector.providers.provider import Provider
from inspector.providers.reader_options import UNSAFE_ROW, ReadOptions
from inspector.providers.registry import provider_by_name
from inspector.quantities import bytes_text, short_count_text
from inspector.schemas import array_of, specs_in

# note on a copy with another number of partitions, and on its plan; a template for the numbers
MOVED = (
    "Each row is in the partition of {new} that Spark's hash gives its key; the same hash puts "
    "every row of the source into its partition of {old}. The logs and the operator metadata have "
    "the new number, so the query needs no setting."
)
# note on a copy for another state store provider, and on its plan; a template for class names
REWRITTEN = (
    "The state is written for {new}, in place of {old}. The offset log records the class, which "
    "Spark uses whatever the session sets."
)
# addition to REWRITTEN for a copy on RocksDB
_NEEDS_CHANGELOGS = (
    " Each store is a changelog, which Spark reads from 3.5 on, whatever its conf for changelogs."
)
# addition to REWRITTEN for a copy without the ids of checkpoint format 2
_WITHOUT_IDS = (
    " HDFS-backed state has no ids of checkpoints: the query must not set "
    "spark.sql.streaming.stateStore.checkpointFormatVersion to 2, with which Spark refuses it "
    "(STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED)."
)
# note on a copy whose state is converted to format 2; a template for the operators
CONVERTED = (
    "The values of operator {operators} are converted from state format 1 to 2, and so is the "
    "schema file. The offset log records format 2, which Spark uses whatever the session sets."
)
# note on what Spark loads when the query starts from a copy in another form; a template
TO_LOAD = (
    "When the query starts, Spark loads {rows} from {files}, checksum files included: {form} for "
    "each store of a partition. How long that takes was not measured."
)
# Template of the error message for an operator whose state cannot have the requested form.
# ``name`` is the operator's name in brackets after a space, or "" if the name is not known.
_UNKNOWN = "operator {number}{name} cannot be reshaped: {reason}. {advice}"
# (reason, advice) for :data:`_UNKNOWN`: transformWithState cannot have HDFS-backed state
_OF_TRANSFORM = (
    "transformWithState keeps several kinds of rows in one store, which only RocksDB can do",
    "Keep the provider; a query on HDFS-backed state is a new one, with flatMapGroupsWithState or "
    "applyInPandasWithState in place of transformWithState",
)
# (reason, advice) for :data:`_UNKNOWN`: a query in real-time mode cannot have HDFS-backed state
_IN_REAL_TIME = (
    "the query runs in real-time mode, which needs RocksDB",
    "Keep the provider; a query on HDFS-backed state is a new one, in micro-batch mode",
)
# (reason, advice) for :data:`_UNKNOWN`: a join in format 3 or 4 cannot have HDFS-backed state
_OF_JOIN = (
    "a join in state format 3 or 4 keeps several kinds of rows in one store, which only RocksDB "
    "can do",
    "Keep the provider; a query on HDFS-backed state is a new one, with "
    "spark.sql.streaming.join.stateFormatVersion set to 2",
)
_BATCH_BYTES = 1 << 20  # smallest number of bytes of parcels that are sent to Spark as one batch
# rank of parcels that report a fault of reading; they are sorted first, and their receiver then
# writes nothing
_FAULT_RANK = -1
# types of facts about the reading of the source because of which no copy is made
FAULTS = (ReadProblem, MisplacedRow, UnwritableRows)
ItemT = TypeVar("ItemT")  # type of the results of reading a partition: parcels and facts, or facts
_STATE_PACKAGE = HDFS_PROVIDER.rpartition(".")[0]  # Java package of the classes of providers


class Target(NamedTuple):
    """Form of state that the user requested for a copy; None keeps the form of the source."""

    partitions: int | None = None  # number of partitions of each operator
    provider: str | None = None  # state store provider: ``hdfs`` or ``rocksdb``
    state_format: str | None = None  # state format of aggregations and group state: ``2``

    @property
    def flags(self) -> tuple[str, ...]:
        """Words of the command line options that request this form; empty if none is requested."""
        given = (
            ("--partitions", self.partitions),
            ("--provider", self.provider),
            ("--state-format", self.state_format),
        )
        return tuple(str(word) for pair in given if pair[1] is not None for word in pair)

    @property
    def is_given(self) -> bool:
        """True if at least one of partitions, provider and state format is requested."""
        return any(value is not None for value in self)


class MovedRows(NamedTuple):
    """Facts of the tasks that move the rows of the source into a copy in another form."""

    # facts of reading the source; None if the rows were read before, into temporary files
    read: Facts | None
    written: Facts  # facts of writing the copy


class Reshape:
    """Change of the form of a checkpoint's state for a copy: partitions, provider or format.

    Attributes:
        target: the form that the user requested.
        provider: state store provider of the copy.
        old: number of partitions of the source; 0 if it is not recorded.
        new: number of partitions of the copy; if it does not change, one more than the highest
            partition id of the source.
    """

    def __init__(self, run: Run, target: Target) -> None:
        """Check by logs, schemas and listings that the state can have the form ``target``.

        CheckpointError: it cannot. EngineError: the engine of the run cannot move rows.
        """
        self._run, self.target = run, target
        checkpoint, version = run.checkpoint, run.version
        self._root = checkpoint.root
        self.provider = checkpoint.provider
        if target.provider is not None:
            self.provider = provider_by_name(target.provider)
        self.old = partition_count(checkpoint, version)
        # engine that moves rows by a shuffle; None if this process moves them by temporary files
        self._shuffling = run.engine if isinstance(run.engine, ShufflingEngine) else None
        self._sources: Sequence[SourceTask] = ()  # tasks that read the source
        if not run.engine.in_process and self._shuffling is None:
            message = f"{target.flags[0]} works in this process: add --engine local"
            raise EngineError(message)
        if not checkpoint.operators:
            message = "the query keeps no state, so there is nothing to change"
            raise CheckpointError(message, self._root)
        self._check_partitions()
        self._check_provider()
        for operator in checkpoint.operators:
            reason, advice = self._reason(operator)
            if reason:
                name = f" ({operator.name})" if operator.name else ""
                parts = {"reason": reason, "advice": advice}
                text = _UNKNOWN.format(number=operator.operator_id, name=name, **parts)
                raise CheckpointError(text, self._root)
        # conversions to state format 2, by operator id; empty if none is requested
        self._conversions: Mapping[int, Conversion] = {}
        if target.state_format is not None:
            found = conversions_of(checkpoint, version)
            self._conversions = {conversion.operator_id: conversion for conversion in found}
        tasks = run.tasks(replace(ALL_LEFTOVERS, fit=False))
        self._tasks = [task for task in tasks if task.present]
        highest = max((task.partition_id for task in self._tasks), default=0)
        self.new = target.partitions or highest + 1

    @property
    def _advice(self) -> str:
        """Advice for error messages to copy without the requested form, without a full stop."""
        options = (flag for flag in self.target.flags if flag.startswith("--"))
        return f"Copy it without {' and '.join(options)}"

    @property
    def changes_provider(self) -> bool:
        """True if the copy is for another provider than the source."""
        return self.provider is not self._run.checkpoint.provider

    def _check_partitions(self) -> None:
        """Raise CheckpointError if the requested number of partitions is not possible.

        It is too large, it is the number of the source, or the number of the source is not
        recorded.
        """
        partitions = self.target.partitions
        if partitions is None:
            return
        if partitions > LIMITS.partitions:
            limit = f"{LIMITS.partitions:,}"
            raise CheckpointError(f"got {partitions:,} as --partitions, expected at most {limit}")
        if not self.old:
            message = f"the offset log does not record {SHUFFLE_PARTITIONS} for this batch"
            raise CheckpointError(f"{message}, so that rows cannot be placed", self._root)
        if self.old == partitions:
            message = f"the state has {partitions} partitions already: leave out --partitions"
            raise CheckpointError(message, self._root)

    def _check_provider(self) -> None:
        """Raise CheckpointError if the requested provider is that of the source."""
        if self.target.provider is None:
            return
        if not self.changes_provider:
            message = f"the state is of {self.provider.spark_class} already"
            raise CheckpointError(f"{message}: leave out --provider", self._root)

    def _reason(self, operator: Operator) -> tuple[str, str]:
        """Return (reason, advice) if the state of ``operator`` cannot have the requested form.

        Both are clauses for an error message. The reason is "" if the state can have the form.
        """
        checkpoint, version = self._run.checkpoint, self._run.version
        encoding = checkpoint.conf(version, "stateStore.encodingFormat") or UNSAFE_ROW
        if encoding.lower() != UNSAFE_ROW:
            reason = f"its rows are encoded as {encoding}, which is read here and not written"
            return reason, self._advice
        if self.changes_provider:
            if not self.provider.shares_files and self._is_real_time(operator):
                return _IN_REAL_TIME
            if operator.processor is not None or operator.name in TRANSFORM:
                return _OF_TRANSFORM
            if any(schema.column_families for schema in operator.schemas.values()):
                return _OF_JOIN if operator.name in JOIN else _OF_TRANSFORM
            if operator.name not in PHYSICAL:
                reason = "it is of a kind that is not known, so neither is how its rows are kept"
                return reason, "Copy it without --provider"
        return (self._reason_of_partitions(operator), "Copy it without --partitions")

    def _is_real_time(self, operator: Operator) -> bool:
        """Return True if ``operator``, or the times in the logs, show real-time mode."""
        if operator.name == STREAMLINE:
            return True
        return bool(is_real_time(self._run.checkpoint))

    def _reason_of_partitions(self, operator: Operator) -> str:
        """Return the reason why rows of ``operator`` cannot be moved to other partitions.

        It is a clause for an error message; "" if they can, or if no number of partitions is
        requested.
        """
        checkpoint, version = self._run.checkpoint, self._run.version
        if self.target.partitions is None:
            return ""
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

    def notes(self) -> Iterator[str]:
        """Yield a note for the report on each change: partitions, provider, state format."""
        if self.target.partitions is not None:
            yield MOVED.format(old=self.old, new=self.new)
        if self.changes_provider:
            names = {"new": self.provider.spark_class, "old": self._source_provider.spark_class}
            note = REWRITTEN.format(**names)
            note += _NEEDS_CHANGELOGS if self.provider.shares_files else ""
            yield note + (_WITHOUT_IDS if self._drops_ids else "")
        if self._conversions:
            operators = ", ".join(map(str, sorted(self._conversions)))
            yield CONVERTED.format(operators=operators)

    def loading_note(self, done: Facts) -> str:
        """Return a note on what Spark loads when the query starts from the copy.

        ``done`` are the facts of the tasks that write the copy.
        """
        rows = sum(prints.rows for prints in done.sums(RowPrints).values())
        sizes = [written.bytes for written in done.sums(WrittenFiles).values()]
        numbers = sum(written.files for written in done.sums(WrittenFiles).values())
        form = "one snapshot"
        if self.provider.shares_files:
            form = "one changelog"
        files = f"{short_count_text(numbers, 'file')} of {bytes_text(sum(sizes))}"
        return TO_LOAD.format(rows=short_count_text(rows, "row"), files=files, form=form)

    @property
    def converts(self) -> bool:
        """True if values are converted to another state format."""
        return bool(self._conversions)

    @property
    def _source_provider(self) -> Provider:
        """State store provider of the source."""
        return self._run.checkpoint.provider

    @property
    def _drops_ids(self) -> bool:
        """True if commits of the source have ids of state files that the copy cannot have."""
        return self.changes_provider and bool(self._read_ids())

    def source_tasks(self, folder: str, evictions: Sequence[EvictTask]) -> list[SourceTask]:
        """Return the tasks that read the source, one for each of its partitions.

        ``folder`` is the path of the folder for temporary files. ``evictions`` have the rows that
        are evicted from each partition; empty without an eviction.
        """
        by_partition = {
            (of.copy.task.operator_id, of.copy.task.partition_id): of for of in evictions
        }
        operators = {operator.operator_id: operator for operator in self._run.checkpoint.operators}
        tasks = list[SourceTask]()
        for task in self._tasks:
            operator = operators[task.operator_id]
            keys = {s.store_name: partition_key(operator, s.store_name) for s in task.stores}
            known = {name: key for name, key in keys.items() if key is not None}
            stays = operator.single_partition or self.target.partitions is None
            chosen = by_partition.get((task.operator_id, task.partition_id))
            # The keys that the user named are in the task of the eviction.
            named = task if chosen is None else chosen.copy.task
            conversion = self._conversions.get(task.operator_id)
            kind = None if conversion is None else conversion.kind
            sort = SortTask(named, self.new, folder, known, stays, kind)
            tasks.append(SourceTask(sort, ChosenRows() if chosen is None else chosen.rows))
        return tasks

    def fill_tasks(self, folder: str) -> tuple[list[FillTask], NewForm]:
        """Return the tasks that write the copy, and the entries of its logs on its form.

        There is one task for each partition of the copy, in the order of operators and partitions.
        ``folder`` is the path of the folder with temporary files. CheckpointError: an operator
        lacks partitions, its partitions have different stores, or ids of the commit log belong to
        no folder.
        """
        tasks: list[FillTask] = []
        ids: dict[int, list[list[str]]] = {}
        previous: dict[int, list[list[str]]] = {}
        stored = {} if self.changes_provider else self._read_ids()
        for operator in self._run.checkpoint.operators:
            number = operator.operator_id
            sources = [task for task in self._tasks if task.operator_id == number]
            self._check_count(operator, sources)
            moves = self.target.partitions is not None and not operator.single_partition
            numbers = tuple(task.partition_id for task in sources)
            example = sources[0]
            folders = self._folders(operator, sources)
            order = self._order_of_ids(stored.get(str(number)), folders)
            for target in range(self.new) if moves else numbers:
                pairs = [(str(uuid.uuid4()), str(uuid.uuid4())) if order else None for _ in folders]
                filled = tuple(
                    self._make_folder(operator, target, source, pair)
                    for source, pair in zip(folders, pairs, strict=True)
                )
                readable = numbers if moves else (target,)
                tasks.append(FillTask(example, target, readable, folder, filled))
                chosen = [pairs[index] for index in order]
                ids.setdefault(number, []).append([pair[0] for pair in chosen if pair])
                previous.setdefault(number, []).append([pair[1] for pair in chosen if pair])
        return tasks, self._new_form(ids if stored else {}, previous if stored else {})

    def _new_form(
        self, ids: Mapping[int, list[list[str]]], previous: Mapping[int, list[list[str]]]
    ) -> NewForm:
        """Return the entries of logs, operator metadata and schema files on the form of the copy.

        ``ids`` has, by operator id, the ids of the state files of each partition; ``previous`` has
        the ids for the version before. Both are empty if files have no ids.
        """
        confs: dict[str, str] = {}
        if self.target.partitions is not None:
            confs[SHUFFLE_PARTITIONS] = str(self.new)
        required = tuple(confs)
        if self.changes_provider:
            confs[PROVIDER_CLASS] = f"{_STATE_PACKAGE}.{self.provider.spark_class}"
        confs |= {conversion.conf: NEW for conversion in self._conversions.values()}
        schemas = {of.schema_path: of.schema for of in self._conversions.values()}
        numbers = (0, 0) if self.target.partitions is None else (self.old, self.new)
        return NewForm(confs, required, *numbers, ids, previous, schemas, self.changes_provider)

    def _check_count(self, operator: Operator, sources: Sequence[Task]) -> None:
        """Raise CheckpointError if ``operator`` lacks a partition of the source, or has others.

        ``sources`` are the tasks of its partitions. Nothing is checked if the number of partitions
        is not recorded.
        """
        expected = 1 if operator.single_partition else self.old
        found = sorted(task.partition_id for task in sources)
        first = self._run.checkpoint.first_partition(operator.operator_id)
        if expected and found != list(range(first, first + expected)):
            raise CheckpointError(
                f"operator {operator.operator_id} has the partitions {found}, expected {first} to "
                f"{first + expected - 1}",
                self._root,
            )

    def _folders(self, operator: Operator, sources: Sequence[Task]) -> list[_SourceFolder]:
        """Return the folders that each partition of ``operator`` has, with the form of new files.

        ``sources`` are the tasks of its partitions. Files of the first partition are the examples.
        CheckpointError: the partitions have different stores or column families.
        """
        run, found = self._run, dict[str, _SourceFolder]()
        layouts = {p.partition_id: p for p in operator.layout.partitions}
        content = self.provider.content
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
                made_of = chain_for(run.checkpoint.provider.files_of(files), run.version)
                of_version = FolderVersion(run.checkpoint.storage, files, made_of)
                # Files of another provider are no examples of the new files.
                example = FolderVersion(run.checkpoint.storage, (), made_of)
                is_example = not self.changes_provider
                whole = content.encode_whole(of_version if is_example else example, options)
                old_id = run.checkpoint.provider.unique_id(made_of.files[-1])
                source = _SourceFolder(suffix, folder, whole, old_id)
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
        """Return the description of one folder of the copy; no file is written.

        It is a folder of partition ``target`` of ``operator``. It has the stores, the form of file
        and the kinds of checksum files of ``source``. ``ids`` are the new unique ids of the version
        and of the version before; None if files have no ids.
        """
        content = self.provider.content
        # All partitions have the form of the first one, which was read once.
        whole = source.whole
        if ids is not None:
            whole = content.with_ids(whole, self._run.version, ids)
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
        """Return the JSON with the ids of state files in the commit of the copied batch.

        It is by operator id, as a text. Empty if the commit has no ids.
        """
        storage, batch = self._run.checkpoint.storage, self._run.version - 1
        lines = split_log(storage.read(f"{COMMITS}/{batch}"), MAX_FORMAT)[1]
        ids = json_object(lines[0]).get("stateUniqueIds")
        return ids if isinstance(ids, dict) else {}

    def _order_of_ids(self, ids: object, folders: Sequence[_SourceFolder]) -> list[int]:
        """Return the position in ``folders`` for each id of the first partition in the commit.

        ``ids`` is the JSON of the commit for one operator; None if it has no ids, for which the
        result is empty. CheckpointError: ``ids`` has another form, or an id belongs to no folder.
        """
        if ids is None:
            return []
        first = ids[0] if isinstance(ids, list) and ids else None
        own = [folder.unique_id for folder in folders]
        if not isinstance(first, list) or not set(first) <= set(own) or len(first) != len(own):
            message = "the commit log does not name the ids of the state files as Spark writes them"
            raise CheckpointError(f"{message}: let the query run one more batch", self._root)
        return [own.index(unique_id) for unique_id in first]

    def check_values(self, facts: Facts) -> None:
        """Raise CheckpointError if values cannot be converted to state format 2.

        ``facts`` are those of reading the source.
        """
        for seen in facts.of(UnwritableRows):
            text = f"the state cannot be converted to format 2: {seen.fact.reason}. "
            raise CheckpointError(f"{text}Copy it without --state-format", self._root)

    def with_evictions(self, written: Facts, read: Facts | None) -> Facts:
        """Return the rows and files of the facts ``written``, with the evictions of ``read``.

        ``read`` are the facts of reading the source; None without evictions.
        """
        evicted = list[Observed[Any]]()
        if read is not None:
            evicted += [*read.of(Evicted), *read.of(EvictedKey)]
        return Facts([*written.of(RowPrints), *written.of(WrittenFiles), *evicted])

    def check_rows(self, facts: Facts) -> None:
        """Raise CheckpointError if a row is not in the partition into which Spark's hash puts it.

        A row whose hash is not known is an error too. ``facts`` are those of reading the source.
        The message has the key of the first such row.
        """
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

    def read_source(self, tasks: Sequence[SourceTask], *, can_wait: bool) -> Facts | None:
        """Run ``tasks``, which read the source, and return their facts.

        If this process moves the rows, they are also sorted into temporary files; on Spark no rows
        are stored. On Spark with ``can_wait`` nothing is read and the result is None, because
        :meth:`move_rows` reads the rows. ``can_wait`` is False if the facts decide whether a copy
        is made.
        """
        self._sources = tasks
        if self._shuffling is not None:
            if can_wait:
                return None
            tasks = [replace(of, sort=replace(of.sort, folder="")) for of in tasks]
        return collect(self._run.map_work(run_sorting, [task.work() for task in tasks]))

    def move_rows(self, tasks: Sequence[FillTask]) -> MovedRows:
        """Write the rows of the source into the copy and return the facts of the tasks.

        ``tasks`` each write one partition. The result has the facts of reading the source, and
        those of writing the copy. The facts of reading are None if :meth:`read_source` has put the
        rows into temporary files. Otherwise the rows are read here, and nothing is written if a row
        that is read has a fault.
        """
        if self._shuffling is None:
            work = [Work(task.to_json()) for task in tasks]
            return MovedRows(None, collect(self._run.map_work(run_filling, work)))
        senders = [task.work() for task in self._send_tasks(tasks)]
        share = sum(sender.weight for sender in senders) // max(1, len(tasks))
        work = [Work(task.to_json(), share) for task in tasks]
        job = Exchange(run_sending, senders, run_receiving, work, facts_schema())
        results = list(self._run.exchange(self._shuffling, job))
        read = collect(result.batch for result in results if result.is_of_sender)
        written = collect(result.batch for result in results if not result.is_of_sender)
        return MovedRows(read, written)

    def check_written(self, facts: Facts) -> None:
        """Raise CheckpointError if rows have a form that this package cannot write.

        ``facts`` are those of writing the copy.
        """
        for seen in facts.of(UnwritableRows):
            text = f"the rows cannot be written: {seen.fact.reason}. {self._advice}"
            raise CheckpointError(text, self._root)

    def _send_tasks(self, tasks: Sequence[FillTask]) -> Iterator[SendTask]:
        """Yield the tasks that send the rows of the source to ``tasks``, which write the copy."""
        position = {(of.task.operator_id, of.partition_id): n for n, of in enumerate(tasks)}
        for source in self._sources:
            task = source.sort.task
            # The positions of an operator's partitions follow each other.
            first = task.partition_id if source.sort.stays else 0
            receiver = position[task.operator_id, first]
            order = tuple(stores_in_order(tasks[receiver]))
            yield SendTask(source, order, receiver - first, len(tasks))


@dataclass(frozen=True)
class SourceTask(Message):
    """Task that reads one partition of the source, sorts its rows, and evicts rows from it."""

    sort: SortTask  # task that reads the partition and sorts its rows
    rows: ChosenRows  # rows that are evicted

    def work(self) -> Work:
        """Return the task as work for an engine, with the number and bytes of its files."""
        task = self.sort.task
        return Work(self.to_json(), task.file_bytes, files=task.file_count)


@dataclass(frozen=True)
class SendTask(Message):
    """Task that reads one partition of the source and sends its rows to the receivers.

    The receivers are the tasks that write the copy.
    """

    source: SourceTask  # task that reads the rows
    order: tuple[str, ...]  # names of the operator's stores in the order in which they are written
    # number to add to the id of a partition of the copy, for the position of its receiver
    shift: int
    receivers: int  # number of all receivers

    def work(self) -> Work:
        """Return the task as work for an engine, with the number and bytes of its files."""
        task = self.source.sort.task
        return Work(self.to_json(), task.file_bytes, files=task.file_count)


class _SourceFolder(NamedTuple):
    """One folder that each partition of an operator has, as found in the first partition."""

    # path below the folder of the partition, such as ``/left-keyToNumValues``; empty for the
    # partition's folder itself
    suffix: str
    folder: FolderCopy  # state files and stores of the folder
    whole: WholeVersion  # form of a new file with all rows, without ids
    unique_id: str | None  # id of the newest file; None if names of files have no ids


def _store_of(seen: Observed[MisplacedRow]) -> tuple[int, str, int]:
    """Return (operator id, store name, partition id) of a fact, as a sort key."""
    return seen.store.operator_id, seen.store.store_name, seen.store.partition_id


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Create a folder for temporary files and yield its real path; remove it at the end."""
    with TemporaryDirectory(prefix="inspector-reshape-") as folder:
        yield os.path.realpath(folder)


def run_sorting(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sort rows of the source by their new partition, and yield the facts of reading them.

    ``batches`` have specs of :class:`SourceTask`, each about one partition. The rows that are not
    evicted are written into temporary files in the folder of the task. Without a folder no file is
    written, and the partition is only read.
    """
    for spec in specs_in(batches):
        yield from fact_batches(_sort(SourceTask.from_json(spec)))


def _sort(request: SourceTask) -> Iterator[Observed[Any]]:
    """Sort the rows of one partition of the source and yield the facts of reading them.

    If values cannot be converted, the last fact is an UnwritableRows.
    """
    choice = choice_of(request.sort.task, request.rows)
    yield from _until_unwritable(request, sort_partition(request.sort, choice))


def _until_unwritable(
    request: SourceTask, items: Iterable[ItemT]
) -> Iterator[ItemT | Observed[UnwritableRows]]:
    """Yield ``items``, the results of reading a partition.

    If reading raises RowError or NoSchemaError, because values cannot be converted, yield
    an UnwritableRows fact and end.
    """
    task = request.sort.task
    try:
        yield from items
    except (RowError, NoSchemaError) as error:
        yield _unwritable(task, task.partition_id, error)


def run_filling(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the partitions of the :class:`FillTask` specs in ``batches``, and yield fact batches.

    The rows are in temporary files.
    """
    for spec in specs_in(batches):
        yield from fact_batches(_fill(FillTask.from_json(spec)))


def _fill(request: FillTask, rows: SentRows | None = None) -> Iterator[Observed[Any]]:
    """Write one partition of the copy and yield its facts.

    ``rows`` are the rows of the partition; None if they are in temporary files. If rows cannot be
    written, the last fact is an UnwritableRows.
    """
    try:
        yield from fill_partition(request, rows)
    except DecodeError as error:
        yield _unwritable(request.task, request.partition_id, error)


def _unwritable(task: Task, partition: int, error: InspectorError) -> Observed[UnwritableRows]:
    """Return the fact that rows of a partition cannot be written, with the message of ``error``.

    It is about the first store of ``task``, in the partition with the id ``partition``.
    """
    # The fact replaces the error: Spark would drop the type of the error and run the task again.
    store = StoreId(task.operator_id, task.stores[0].store_name, partition)
    return Observed(store, task.version, UnwritableRows(error.message))


def run_sending(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the partitions of the :class:`SendTask` specs in ``batches``.

    Yield their rows, without evicted rows, as batches of parcels, and fact batches.
    """
    for spec in specs_in(batches):
        request = SendTask.from_json(spec)
        source = request.source
        choice = choice_of(source.sort.task, source.rows)
        yield from _send(request, _until_unwritable(source, read_partition(source.sort, choice)))


def _send(request: SendTask, items: Iterable[Observed[Any] | Parcel]) -> Iterator[pa.RecordBatch]:
    """Yield the parcels among ``items`` as batches, and then the facts among them.

    A batch of parcels has the columns PARCEL_COLUMNS, and contents of _BATCH_BYTES or
    more; only the last may have fewer. If there is a fact of a type in FAULTS, each receiver also
    gets a parcel that reports the fault.
    """
    rank = {name: number for number, name in enumerate(request.order)}
    task = request.source.sort.task
    sender, facts = task.partition_id, list[Observed[Any]]()
    rows, size = list[tuple[int, int, int, int, bytes]](), 0
    for parcel in items:
        if isinstance(parcel, Observed):
            facts.append(parcel)
            continue
        receiver, data = parcel.target + request.shift, parcel.data
        rows.append((receiver, rank[parcel.store_name], sender, parcel.chunk, data))
        size += len(data)
        if size >= _BATCH_BYTES:
            yield _parcel_batch(rows)
            rows, size = [], 0
    if any(isinstance(seen.fact, FAULTS) for seen in facts):
        identity = _FAULT_RANK, task.operator_id, task.partition_id, b"fault"
        rows += [(receiver, *identity) for receiver in range(request.receivers)]
    if rows:
        yield _parcel_batch(rows)
    yield from fact_batches(facts)


def _parcel_batch(rows: Sequence[tuple[int, int, int, int, bytes]]) -> pa.RecordBatch:
    """Return a batch of parcels with the columns PARCEL_COLUMNS; ``rows`` are their values."""
    *numbers, contents = zip(*rows, strict=True)
    columns = [array_of(column, pa.int32()) for column in numbers]
    columns.append(array_of(contents, pa.binary()))
    return pa.RecordBatch.from_arrays(columns, names=list(PARCEL_COLUMNS))


def run_receiving(spec: str, parcels: Iterable[tuple[int, bytes]]) -> Iterator[pa.RecordBatch]:
    """Write the partition of the :class:`FillTask` ``spec`` from its parcels; yield its facts.

    ``parcels`` are (rank, content) of each parcel, in order. Nothing is written or yielded if the
    first parcel reports that a sender has found a fault.
    """
    request, parcels = FillTask.from_json(spec), iter(parcels)
    first = next(parcels, None)
    if first is not None and first[0] == _FAULT_RANK:
        return
    received = () if first is None else chain([first], parcels)
    yield from fact_batches(_fill(request, SentRows(stores_in_order(request), received)))


def sums_differ(source: Facts, copy: Facts) -> StoreName | None:
    """Return the first store whose rows differ between the facts ``source`` and ``copy``.

    Rows are compared by number, sizes and hash sums over all partitions. Return None if the rows of
    all stores are equal.
    """
    sums, written = source.sums(RowPrints), copy.sums(RowPrints)
    names = sorted({*sums, *written})
    return next((n for n in names if sums.get(n) != written.get(n)), None)
