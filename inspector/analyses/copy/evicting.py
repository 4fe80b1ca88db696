"""Tasks of a copy: each copies one partition, evicts rows from it, and reports its rows."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from inspector.analyses.shared.run import Run
from inspector.arrays import Int64s
from inspector.checkpoint.layout import PartitionLayout
from inspector.codec import Message
from inspector.decode.records import RecordBlock
from inspector.discovery.checkpoint import Operator
from inspector.discovery.tasks import ALL_LEFTOVERS, StoreTask, Task
from inspector.engines.engine import Work
from inspector.exceptions import CheckpointError
from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import Leftover, LeftoverCount
from inspector.facts.registry import fact_batches
from inspector.light_dataclasses import dataclass, field, replace
from inspector.merge.collect import Facts, collect
from inspector.merge.resolution import Resolution, reasons_of
from inspector.model import Certainty, FileKind, StoreId, StoreName
from inspector.operators.eviction import PART_OF_GROUP, TIMEOUT, Way, way_of
from inspector.passes.binary_columns import records_of
from inspector.passes.copy_partition import Choice, CopyTask, FolderCopy, copy_partition
from inspector.passes.key_filter import KeyFilter, check_filter, filter_of
from inspector.passes.worker import run_tasks
from inspector.providers.chain import chain_for
from inspector.providers.reader_options import UNSAFE_ROW
from inspector.quantities import short_count_text
from inspector.schemas import specs_in, task_batch
from inspector.sums import sum_by_key

# values of the option ``--evict`` besides names of classes: leftovers of all classes, or the rows
# that the user names with ``--key`` and ``--where``
LEFTOVERS, ROWS = "leftovers", "rows"
CLASSES = tuple(kind.value for kind in LeftoverClass)  # names of the classes of leftovers

# kinds of state files and checksum files that are copied
_KINDS = (
    *(FileKind.DELTA, FileKind.SNAPSHOT, FileKind.TABLE, FileKind.TABLE_LOG),
    *(FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM),
)


@dataclass(frozen=True)
class Eviction:
    """Eviction that the user requested: the rows, the way, and the operator.

    The rows are leftovers, that is rows that should have expired, or rows that the user names.
    """

    target: str  # :data:`LEFTOVERS`, :data:`ROWS`, or the name of a class of leftovers
    # ``removal``, or ``timeout``: set timers to the past; None for the default of each operator
    way: str | None = None
    operator_id: int | None = None  # only operator whose rows are evicted; None for all operators
    # certainties of the leftovers that are evicted
    certainties: tuple[Certainty, ...] = (Certainty.PROVEN,)
    # filter of the rows by ``--key`` and ``--where``; matches all rows without these options
    keys: KeyFilter = field(default_factory=KeyFilter)

    @property
    def expired(self) -> bool:
        """True if leftovers are evicted, and not rows that the user names."""
        return self.target != ROWS

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes of leftovers that are evicted; empty if the user names rows."""
        if self.target == LEFTOVERS:
            return CLASSES
        return (self.target,) if self.expired else ()

    def counts(self, facts: Facts) -> dict[StoreName, int]:
        """Return the number of leftovers to evict from each store, over all partitions.

        ``facts`` are those of the source, before anything is evicted. Stores count even if the
        eviction of their rows is refused. A store without such leftovers is absent. The result is
        empty if rows are named.
        """
        return sum_by_key((store.name, count) for store, count in self.leftovers(facts))

    def leftovers(self, facts: Facts) -> Iterator[tuple[StoreId, int]]:
        """Yield (store of one partition, number of leftovers to evict); stores may be repeated.

        ``facts`` are those of the source. Leftovers count if the eviction includes their class,
        certainty and operator, even if the eviction of their rows is refused.
        """
        for observed in facts.totals:
            fact = observed.fact
            chosen = fact.leftover_class.value in self.classes
            in_operator = self.operator_id in (None, observed.store.operator_id)
            if chosen and in_operator and fact.certainty in self.certainties:
                yield observed.store, fact.rows

    def remaining(self, run: Run, facts: Facts) -> Iterator[str]:
        """Yield sentences for the user on keys that the eviction leaves in the state.

        They have a class of leftovers that is evicted. Either they are inferred leftovers and only
        proven ones are evicted, or the files do not show whether they are leftovers. A sentence has
        their number and the option that includes them. ``facts`` are those of the source. Stores
        whose eviction is refused are left out.
        """
        ways = {name: way for name, way in self.ways(run).items() if not way.refused}
        likely: Counter[StoreName] = Counter()
        for observed in facts.totals:
            fact, name = observed.fact, observed.store.name
            of_class = fact.leftover_class.value in self.classes
            if of_class and name in ways and fact.certainty not in self.certainties:
                likely[name] += fact.rows
        for name, rows in sorted(likely.items()):
            yield (
                f"{short_count_text(rows, 'likely leftover')} of operator {name.operator_id} "
                f"{'stays' if rows == 1 else 'stay'}; --certainty inferred takes likely ones too."
            )
        undecided: dict[tuple[StoreName, LeftoverClass], list[LeftoverCount]] = defaultdict(list)
        for observed in facts.undecided_totals:
            if observed.fact.leftover_class.value in self.classes and observed.store.name in ways:
                kind = observed.store.name, observed.fact.leftover_class
                undecided[kind].append(observed.fact)
        for (name, of_kind), counts in sorted(undecided.items(), key=lambda item: item[0][0]):
            rows = sum(count.rows for count in counts)
            condition = ""
            if of_kind is LeftoverClass.KEPT_WITHOUT_TIMEOUT:
                condition = self._without_timer(run, name, ways[name])
            advice = (
                "inspector leftovers lists them in the table undecided_keys, and --key takes one"
            )
            if condition:
                advice = f"--evict rows --where {condition} takes every key without a timer"
            yield (
                f"{short_count_text(rows, 'key')} of operator {name.operator_id} "
                f"{'stays' if rows == 1 else 'stay'}, because the files do not show whether a "
                f"timeout or the watermark left {'it' if rows == 1 else 'them'} behind "
                f"({reasons_of(counts) or of_kind.value}): {advice}."
            )

    def _without_timer(self, run: Run, name: StoreName, way: Way) -> str:
        """Return the condition for ``--where`` by which a value has no timer, as a text.

        ``way`` is the way to evict rows of the store ``name``. Return "" if its values have no
        timer, or if its schema is not known.
        """
        operator = next(o for o in run.checkpoint.operators if o.operator_id == name.operator_id)
        schema = operator.schemas.get(name.store_name)
        if way.timer is None or schema is None:
            return ""
        return f"value.{schema.value.fields[way.timer].name}=-1"

    def ways(self, run: Run) -> dict[StoreName, Way]:
        """Return the way to evict rows of each store, with the effect on the query's results.

        A way is refused if results or state would be wrong, or if it is not possible for the
        store. Refused ways are in the result too, with the reason as their ``words``. If the
        user chose an operator, only its stores are in the result.
        """
        found = {}
        encoding = run.checkpoint.conf(run.version, "stateStore.encodingFormat") or UNSAFE_ROW
        for operator in run.checkpoint.operators:
            if self.operator_id not in (None, operator.operator_id):
                continue
            for store, rule in operator.rules.items():
                schema = operator.schemas.get(store)
                value = None if schema is None else schema.value
                way = way_of(operator.name, rule, value, self.way, expired=self.expired)
                if way.way == TIMEOUT and way.timer is None:
                    words = (
                        f"Operator {operator.operator_id} keeps no group state with timers, so "
                        "nothing can be evicted by timeout; use --by removal."
                    )
                    way = replace(way, words=words, refused=True)
                elif encoding.lower() != UNSAFE_ROW and not way.refused:
                    words = (
                        f"Its rows are encoded as {encoding}, which is read here and not written: "
                        "call clear() in the processor."
                    )
                    way = replace(way, words=words, refused=True)
                elif operator.processor is not None and not self.expired and not way.refused:
                    way = self._of_groups(way, operator, store)
                found[StoreName(operator.operator_id, store)] = way
        return found

    def _of_groups(self, way: Way, operator: Operator, store: str) -> Way:
        """Return ``way`` for a ``store`` of transformWithState, from which the user names rows.

        The result is refused if the named keys are not whole grouping keys of ``operator``.
        Otherwise it is ``way`` unchanged.
        """
        schema, grouping = operator.schemas.get(store), operator.grouping_key(store)
        if schema is None or grouping is None:
            return way
        try:
            self.keys.bind(schema.key, schema.value, grouping, whole_groups=True)
        except CheckpointError as error:
            return replace(way, words=PART_OF_GROUP.format(error=error.message), refused=True)
        return way


@dataclass(frozen=True)
class ChosenRows:
    """Description of the rows of one partition that are evicted; no rows by default."""

    stores: tuple[str, ...] = ()  # names of the stores from which rows are evicted
    # names of those of ``stores`` whose eviction is refused: their rows are only counted
    refused: tuple[str, ...] = ()
    # names of the classes of leftovers that are evicted; empty if the user names rows
    classes: tuple[str, ...] = ()
    certainties: tuple[Certainty, ...] = ()  # certainties of the leftovers that are evicted
    # clock that timers of each store follow, as decided from the facts of all partitions
    resolution: Resolution = field(default_factory=Resolution)
    # leftovers that are evicted: name of the store -> key in hex -> class; None if the task has to
    # find them
    leftovers: Mapping[str, Mapping[str, str]] | None = None
    # position in the value of the timer that is set to a past time in each evicted row; None if
    # rows are removed
    timer: int | None = None


@dataclass(frozen=True)
class EvictTask(Message):
    """Task that copies one partition and evicts rows from it."""

    copy: CopyTask  # copy of the partition without an eviction
    rows: ChosenRows = field(default_factory=ChosenRows)  # rows that are evicted

    def into(self, url: str, options: Mapping[str, str]) -> EvictTask:
        """Return the task with ``url``, the root to which it writes, and its storage options."""
        return replace(self, copy=replace(self.copy, url=url, options=options))


def run_copies(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Copy the partitions of the :class:`EvictTask` specs in ``batches``, and yield fact batches.

    The facts are about the rows of the copy, the evicted rows and the written files.
    """
    for spec in specs_in(batches):
        request = EvictTask.from_json(spec)
        choice = choice_of(request.copy.task, request.rows)
        yield from fact_batches(copy_partition(request.copy, choice))


def choice_of(task: Task, chosen: ChosenRows) -> Choice:
    """Return the rows of ``chosen`` as a choice of rows from each block of records of ``task``.

    If classes of leftovers are chosen whose keys are not in ``chosen``, the partition is read here
    to find them.
    """
    if not chosen.stores:
        return Choice()
    # All rows of a named grouping key of transformWithState are evicted together.
    grouped = [store for store in task.stores if store.family is not None and not chosen.classes]
    of_groups = {store.store_name for store in grouped} - set(chosen.refused)
    filters = {
        store.store_name: filter_of(task, store, whole_groups=store.store_name in of_groups)
        for store in task.stores
    }
    leftovers = _leftovers(task, chosen) if chosen.classes else {}

    def of_block(store: StoreTask, block: RecordBlock, live: Int64s) -> Mapping[str, Int64s]:
        """Return the positions of the live records of a block that are evicted, by reason."""
        if store.store_name not in chosen.stores:
            return {}
        met = filters[store.store_name]
        rows = live if met is None else met.live(block, live)
        if not chosen.classes:
            return {ROWS: rows} if len(rows) else {}
        return _of_class(block, rows, leftovers.get(store.store_name, {}))

    return Choice(of_block, leftovers, chosen.refused, of_groups, chosen.timer)


def _of_class(
    block: RecordBlock, rows: Int64s, leftovers: Mapping[bytes, str]
) -> Mapping[str, Int64s]:
    """Return those of ``rows`` whose keys are leftovers, by class of leftovers.

    ``rows``, and the result, are positions in ``block``. ``leftovers`` has the class of each
    leftover by its key.
    """
    if not leftovers:
        return {}
    found: dict[str, list[int]] = defaultdict(list)
    for row, (key, _) in zip(rows.tolist(), records_of(block, rows), strict=True):
        if key in leftovers:
            found[leftovers[key]].append(row)
    return {name: np.array(of_class, np.int64) for name, of_class in found.items()}


def _leftovers(task: Task, chosen: ChosenRows) -> Mapping[str, Mapping[bytes, str]]:
    """Return the leftovers that a task evicts: name of the store -> key in bytes -> class.

    If ``chosen`` does not have them, the partition of ``task`` is read to find them.
    """
    if chosen.leftovers is not None:
        return {
            store: {bytes.fromhex(key): name for key, name in keys.items()}
            for store, keys in chosen.leftovers.items()
        }
    whole = replace(task, key=(), where=())
    found: dict[str, dict[bytes, str]] = defaultdict(dict)
    facts = collect(run_tasks([task_batch(whole.to_json())]))
    for leftover in chosen.resolution.resolve_all(facts.of(Leftover)):
        fact = leftover.fact
        name = fact.leftover_class.value
        if name in chosen.classes and fact.certainty in chosen.certainties:
            found[leftover.store.store_name][fact.key] = name
    return found


class Copying(NamedTuple):
    """Tasks of a copy, with the ids of state files that change if rows are evicted."""

    tasks: Sequence[EvictTask]  # one task for each partition that the version has
    # checkpoint format 2: for each partition the new ids of its newest state files by their ids in
    # the source; empty if the names of files have no ids
    unique_ids: Mapping[PartitionKey, Mapping[str, str]]
    # ids of the snapshots whose version has no other file, by partition; if rows are evicted, the
    # snapshot gets the name of the previous version
    renamed: Mapping[PartitionKey, Collection[str]]


PartitionKey = tuple[int, int]
"""Operator id and partition id."""


def copying(
    run: Run,
    *,
    changing: bool = False,
    compact: bool = False,
    checked: bool = False,
    planned: bool = False,
) -> Copying:
    """Return the tasks that copy the version of ``run``; they evict nothing yet.

    ``changing``: rows may be evicted later, so state files get new ids. ``compact``: write all rows
    of a folder into one snapshot. ``checked``: compare all rows with their schemas and all files
    with their checksums. ``planned``: copy the state files of the next version too.
    """
    checkpoint, version = run.checkpoint, run.version
    layouts = ((o.operator_id, p) for o in checkpoint.operators for p in o.layout.partitions)
    partitions = {(number, layout.partition_id): layout for number, layout in layouts}
    ids: dict[PartitionKey, dict[str, str]] = {}
    renamed: dict[PartitionKey, set[str]] = {}
    tasks = []
    for task in run.tasks(replace(ALL_LEFTOVERS, fit=checked)):
        key = task.operator_id, task.partition_id
        if not task.present or not version:
            continue
        folders = []
        for folder in folders_of(partitions[key], version + planned):
            newest = chain_for(checkpoint.store_files[folder.directory], version).files[-1]
            old = checkpoint.provider.unique_id(newest)
            if changing and newest.kind is FileKind.SNAPSHOT:
                renamed.setdefault(key, set()).update([] if old is None else [old])
            if changing and old is not None:
                new = ids.setdefault(key, {}).setdefault(old, str(uuid.uuid4()))
                folder = replace(folder, unique_id=new)
            folders.append(folder)
        copy = CopyTask(task, tuple(folders), compact=compact, planned=planned)
        tasks.append(EvictTask(copy))
    return Copying(tasks, ids, renamed)


def folders_of(partition: PartitionLayout, newest: int) -> Iterator[FolderCopy]:
    """Yield the folders of state files of a partition, without duplicates.

    Each has its state files and checksum files up to version ``newest``, and its stores.
    """
    layouts = {layout.directory: layout for layout in partition.stores}
    for directory, layout in layouts.items():
        names = tuple(s.store.store_name for s in partition.stores if s.directory == directory)
        of_kinds = (file for file in layout.files if file.kind in _KINDS)
        files = tuple(f for f in of_kinds if f.version is None or f.version <= newest)
        yield FolderCopy(directory, files, names)


def with_eviction(
    run: Run, tasks: Iterable[EvictTask], eviction: Eviction, facts: Facts
) -> list[EvictTask]:
    """Return ``tasks``, which evict nothing, with ``eviction`` added to each.

    ``facts`` are those of the source. If this process runs the tasks, they get the keys of the
    leftovers; otherwise they find them. CheckpointError: the key that the user names fits no store.
    """
    if eviction.keys:
        check_filter(run.checkpoint, eviction.keys)
    classes = eviction.classes
    holding = {store for store, _ in eviction.leftovers(facts)}
    known = _find_leftovers(eviction, facts) if run.engine.in_process and classes else None
    ways = eviction.ways(run)

    def evicting(request: EvictTask) -> EvictTask:
        """Return a task with the rows to evict from its partition."""
        task = request.copy.task
        stores = [task.store_id(store) for store in task.stores]
        stores = [s for s in stores if s.name in ways and (not classes or s in holding)]
        timers = [ways[s.name].timer for s in stores if ways[s.name].way == TIMEOUT]
        named = replace(task, key=eviction.keys.key, where=eviction.keys.where)
        return replace(
            request,
            copy=replace(
                request.copy,
                task=named,
                evicts=any(not ways[s.name].refused for s in stores),
            ),
            rows=ChosenRows(
                stores=tuple(store.store_name for store in stores),
                refused=tuple(s.store_name for s in stores if ways[s.name].refused),
                classes=classes,
                certainties=eviction.certainties,
                resolution=facts.resolution if known is None else Resolution(),
                leftovers=None
                if known is None
                else {s.store_name: known.get(s, {}) for s in stores},
                timer=timers[-1] if timers else None,
            ),
        )

    return list(map(evicting, tasks))


def _find_leftovers(eviction: Eviction, facts: Facts) -> dict[StoreId, dict[str, str]]:
    """Return the leftovers of the eviction: store of one partition -> key in hex -> class.

    ``facts`` are those of the source. Operators are not distinguished.
    """
    known: dict[StoreId, dict[str, str]] = defaultdict(dict)
    for observed in facts.leftovers:
        fact = observed.fact
        if fact.leftover_class.value in eviction.classes and fact.certainty in eviction.certainties:
            known[observed.store][fact.key.hex()] = fact.leftover_class.value
    return known


def copy_facts(run: Run, tasks: Sequence[EvictTask]) -> Facts:
    """Run ``tasks`` on the engine of ``run``, and return the facts that they report.

    They write files if they have a URL to write to; otherwise they only find what to write.
    """
    read = [(task.to_json(), task.copy.task) for task in tasks]
    work = [Work(spec, of.file_bytes, files=of.file_count) for spec, of in read]
    return collect(run.map_work(run_copies, work))
