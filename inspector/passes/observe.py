"""The one pass: every restorable version of a store, oldest first, each file read once.

After a repartitioning the history of a partition's keys comes from the partitions that had them
before. Each of those is replayed up to the version that was repartitioned, and forgotten except for
what it knows of these keys. Where one cannot be, or the rows are not those that it had, the history
of the keys begins with the repartitioning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from inspector.arrays import lengths_of
from inspector.decode.records import RecordBlock, SmallDeltas
from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.ages import Rewrites
from inspector.facts.checks import SNAPSHOT_DIFFERS, SnapshotDiffers
from inspector.facts.fact import FactColumns, Observed
from inspector.facts.heap_prefixes import LivePrefixes
from inspector.facts.inherited import Inherited
from inspector.facts.join_rows import MatchedPuts
from inspector.facts.misplaced import MisplacedKeys
from inspector.facts.registry import TOGETHER
from inspector.facts.simulated import Simulation
from inspector.facts.size_distributions import LiveSizes, SampledSizes
from inspector.facts.timers import CallBounds
from inspector.facts.top_keys import TopBy, newest_keys, top_keys
from inspector.facts.versions import VersionFacts, measure_version, measure_versions
from inspector.light_dataclasses import replace
from inspector.model import DEFAULT_STORE, StoreFile
from inspector.passes.ahead import is_large, make_rounds_ahead
from inspector.passes.cross_checks import CrossChecks
from inspector.passes.fit import Fit
from inspector.passes.life_of_rows import Lifetime
from inspector.passes.shown_keys import HeldDeltas, shows_few, with_keys
from inspector.passes.store_reader import READ_ERRORS, Check, StoreReader
from inspector.passes.tracked import schemas, task_tracking
from inspector.providers.chain import Step, replay_steps
from inspector.state.change import Change, Changes
from inspector.state.compare import (
    SnapshotDifference,
    apply_snapshot,
    compare_delta,
    compare_snapshot,
)
from inspector.state.replay import StateMap


def audit_stores(
    task: Task, stores: Sequence[tuple[StoreTask, StoreReader]]
) -> Generator[Observed[Any] | FactColumns, None, list[StateMap | None]]:
    """Replay stores that have the same files, and emit their facts; problems stay with the readers.

    In turns, block by block, so that what the stores share of a file is made once.

    Returns:
        The map of the judged version of each; None if it could not be made.
    """
    first, reader = stores[0]
    steps = replay_steps(reader.provider.files_of(first.files), task.version)
    reader.files.expect(file for step in steps for file in step.files)
    passes = [StorePass(task, store, item) for store, item in stores]
    number = 0
    while number < len(steps):
        if len(passes) == 1:
            count = yield from passes[0].read_together(steps[number : number + TOGETHER])
            if count:
                number += count
                continue
        step = steps[number]
        number += 1
        if len(passes) == 1:
            changes = [passes[0].advance(step)]
        else:
            with reader.storage.in_turns():
                applied = step.base or step.delta
                if task.decode_ahead and applied and is_large(applied):
                    rounds = make_rounds_ahead([pass_.decoding(applied) for pass_ in passes])
                    for pass_, blocks in zip(passes, rounds, strict=True):
                        pass_.take(blocks)
                changes = in_turns([pass_.advancing(step) for pass_ in passes])
        for pass_, change in zip(passes, changes, strict=True):
            if change is not None:
                yield from pass_.emit_version(change, step)
    states: list[StateMap | None] = []
    for pass_ in passes:
        state = yield from pass_.emit_last()
        states.append(state)
    return states


def in_turns(running: Sequence[_Running]) -> list[Change | None]:
    """Run generators to their end, each to its next pause in turn, and collect the results.

    The list has their return values in order: the change of a version, None if the version could
    not be made.
    """
    changes: list[Change | None] = [None] * len(running)
    going = dict(enumerate(running))
    while going:
        for number, item in [*going.items()]:
            try:
                next(item)
            except StopIteration as end:  # noqa: PERF203 - a block takes longer than its try
                changes[number] = end.value
                del going[number]
    return changes


def bounds_of(task: Task, store: StoreTask, reader: StoreReader) -> Iterator[Observed[CallBounds]]:
    """Yield, for each version of a group state, how many records data and timers made, as bounds.

    Nothing is yielded for a store without timers.
    """
    pass_ = StorePass(task, store, reader, confirm=False)
    if pass_.state.tracking.clock_slot < 0:
        return
    steps = replay_steps(reader.provider.files_of(store.files), task.version)
    reader.files.expect(file for step in steps for file in step.files)
    for step in steps:
        change = pass_.advance(step)
        if change is not None:
            yield pass_.life.bounds(change)


# most compressed bytes of the small deltas that are read at once; :data:`TOGETHER` are the most
# files
TOGETHER_BYTES = 128 << 10
# most bytes of a delta that ``read_together`` reads at once with others; a larger one is read
# alone, because little would be saved
SMALL_DELTA_BYTES = 8 << 10
# raw bytes up to which the records of deltas read at once stay in memory, to show their keys
HELD_BYTES = 1 << 20


def _small_deltas(steps: Sequence[Step]) -> list[StoreFile]:
    """Return the deltas of the first steps that can be read together, possibly none.

    It stops at the first step with a snapshot, without a delta, or with a delta that is too large.
    """
    files, size = list[StoreFile](), 0
    for step in steps:
        delta = step.delta
        # One that has a snapshot is compared with the map, which then knows no later key.
        if delta is None or step.base or step.check or delta.size > SMALL_DELTA_BYTES:
            break
        size += delta.size
        if size > TOGETHER_BYTES:
            break
        files.append(delta)
    return files


_Running = Generator[None, None, "Change | None"]
"""Generator that pauses after each block, where other stores take their turn, and returns the
change of the version that its file made; None if the version could not be made.
"""


class StorePass:
    """Replay of one store through its versions, with the facts that follow it.

    Attributes:
        state: the map of the version that was replayed last.
        whole: True if the map is that of the last step, False after a file that could not be read.
        life: ages, timers and leftovers of the rows.
    """

    def __init__(
        self,
        # task, store, reader: what is read
        task: Task,
        store: StoreTask,
        reader: StoreReader,
        *,
        # hold the snapshots that are not needed against the map that the deltas made. Those that
        # are older than the delta of their version are in any case: its batch ran again.
        confirm: bool = True,
        # keep all keys. Otherwise a hash of 16 bytes stands for each where the facts need no more,
        # and the few that are shown are read again from their files.
        exact: bool = False,
    ) -> None:
        self._task, self._store, self._reader = task, store, reader
        self._confirm = confirm
        self._fit = (
            Fit(*schemas(store), reader) if task.request.fit and task.speaks_for_files else None
        )
        self._applied: list[StoreFile] = []
        self._held = HeldDeltas()
        hashed = not exact and not task.origins and shows_few(task, store)
        self.state = StateMap(task_tracking(task, store, hashed=hashed))
        # True if the map is that of the last step; False after a file that could not be read
        self.whole = True
        self._raw_bytes = 0
        self._given: Iterator[RecordBlock] | None = None
        self._pause, self._patience = 0, 1
        self._since: list[StoreFile] = []  # a snapshot, or the empty version, and deltas after it
        self._differences: list[Observed[SnapshotDiffers]] = []
        self._sizes = LiveSizes()
        fields = store.session_fields
        self._prefixes = LivePrefixes(fields) if fields else None
        self._rewrites = Rewrites() if task.request.rewrites else None
        self._simulations = [
            Simulation(scenario, store.expiry, task.clocks, schemas(store)[0])
            for scenario in store.scenarios
        ]
        self.life = Lifetime(task, store, reader.store, self.state)
        self._follows = bool(
            fields or self._rewrites or self._simulations or self.life.looks_at_versions
        )
        self._crossed = CrossChecks(task, store)

    def resume(self, task: Task, store: StoreTask, reader: StoreReader) -> None:
        """Continue with a later task of the same store, from the existing map.

        Rules and schemas must be those of the earlier task. Files and batches may have been added.
        """
        reader.files.resume_from(self._reader.files)
        self._task, self._store, self._reader = task, store, reader
        self.life.resume(task, store)
        self._crossed.resume(task, store)

    # -- replay ------------------------------------------------------------------------------

    def advance(self, step: Step) -> Change | None:
        """Replay one step and return the change; None if its version could not be made."""
        (change,) = in_turns([self.advancing(step)])
        return change

    def advancing(self, step: Step) -> _Running:
        """Replay one step with a pause after each block; return the change as :meth:`advance` does.

        A snapshot that differs from the map is reported, and the map is loaded from it.
        """
        if step.base is not None:
            return (yield from self._load(step.base, step.delta))
        if step.compared is not None:
            if self.whole:
                return (yield from self._run(step.compared, compared=True))
            return (yield from self._load(step.compared))
        assert step.delta is not None
        change = None
        if self.whole:
            change = yield from self._run(step.delta)
        else:
            yield from self._pass_over(step.delta)
        if change is None:
            return (yield from self._load(step.check)) if step.check is not None else None
        self._cross(change, step.delta)
        if step.check is None or not self._is_compared(step.check, step.delta):
            return change
        agrees = self._agrees(step.check)
        if not agrees or self.life.disputed:
            self._given = self._reader.blocks(step.check)
            change = yield from self._load(step.check)
            self.life.disputed = not agrees
        return change

    def _is_compared(self, snapshot: StoreFile, delta: StoreFile) -> bool:
        """Return True if a snapshot is to be compared with the map that the deltas made.

        It is if ``confirm`` is set, or if the snapshot is older than the delta, so that its batch
        ran again.
        """
        return self._confirm or (snapshot.modified_ms or 0) < (delta.modified_ms or 0)

    def _cross(self, change: Change, delta: StoreFile) -> None:
        """Report records that a delta's batch cannot have written.

        None are reported after a version whose snapshot and deltas contradict each other.
        """
        for slug, message in () if self.life.disputed else self._crossed.of(change):
            self._reader.report(slug, message, delta)

    def _load(self, file: StoreFile, side_file: StoreFile | None = None) -> _Running:
        """Replace the map by a snapshot, and return the change.

        The change is None if the snapshot is unreadable. Otherwise the new map is compared with the
        delta of its version (``side_file``).
        """
        self._since = []
        self.life.disputed = False
        change = yield from self._run(file, rebase=True)
        if change is not None and side_file is not None:
            self._hold_against(file, side_file)
        return change

    def _run(self, file: StoreFile, *, rebase: bool = False, compared: bool = False) -> _Running:
        """Apply a file to the map with a pause after each block.

        The result is the change, or None if the file is unreadable. ``rebase`` replaces the map by
        a snapshot. ``compared`` applies a snapshot as changes against the map.
        """
        self.state.begin(file.version or 0, rebase=rebase, ordered=not compared)
        self._applied.append(file)
        try:
            if compared:
                apply_snapshot(self.state, self._check_blocks(file))
            else:
                for block in self._check_blocks(file):
                    self.state.apply(block)
                    yield
        except READ_ERRORS as error:
            self._reader.note_failure(error, file)
            self.whole = False
            return None
        self.whole = True
        if self._confirm:
            self._since.append(file)
        self._raw_bytes = self._reader.files.raw_bytes
        return self.state.end()

    def read_together(
        self, steps: Sequence[Step]
    ) -> Generator[Observed[Any] | FactColumns, None, int]:
        """Replay the next steps at once while their deltas are small and without any problem.

        A file with a problem is left to :meth:`advance`, which reports it. After an attempt that
        read nothing, the next steps are read one by one: twice as many after each failed attempt.

        Returns:
            How many steps were replayed; 0 if the first step must be read alone.
        """
        tracking = self.state.tracking
        if self._pause or not self.whole or tracking.keys is not None or tracking.most_bytes:
            self._pause = max(self._pause - 1, 0)
            return 0
        files = _small_deltas(steps)
        if len(files) < 2:
            return 0
        contents, small = self._reader.files.read_together(files)
        if small is None or (self._fit is not None and not self._fit.fits(small)):
            self._pause = self._patience = min(2 * self._patience, TOGETHER)
            return 0
        self._patience = 1
        versions = [file.version or 0 for file in files[: len(small.ends)]]
        facts = list[Observed[Any]]()
        changes = self.state.apply_ahead(
            small.block,
            small.ends,
            versions,
            (lambda change: facts.extend(self._follow(change))) if self._follows else None,
        )
        yield from facts
        yield self._note_together(changes, steps, contents, small)
        return len(versions)

    def _note_together(
        self, changes: Changes, steps: Sequence[Step], contents: Sequence[bytes], small: SmallDeltas
    ) -> FactColumns:
        """Note the deltas that were applied at once, and return the facts of their versions."""
        raw_sizes, counts = lengths_of(small.raw_ends), lengths_of(small.ends)
        deltas = [step.delta for step in steps[: len(counts)] if step.delta is not None]
        self._reader.note(deltas, contents, counts.tolist())
        doubtful = self._crossed.doubtful(changes)
        for index, change in zip(doubtful.tolist(), changes.iterate(doubtful), strict=True):
            self._cross(change, deltas[index])
        if len(small.block.buffer) <= HELD_BYTES:
            self._held = HeldDeltas(len(self._applied), small)
        self._applied += deltas
        self._since += deltas if self._confirm else ()
        files = {
            "delta_bytes": np.array([delta.size for delta in deltas]),
            "snapshot_bytes": np.zeros(len(deltas), np.int64),
            "raw_bytes": raw_sizes,
        }
        if not self._store.counts_files:
            files = {name: np.zeros_like(sizes) for name, sizes in files.items()}
        columns = measure_versions(changes, self._sizes, files)
        return FactColumns(VersionFacts, self._reader.store, changes.versions, columns)

    def _pass_over(self, file: StoreFile) -> Generator[None, None, None]:
        """Read a file whose version cannot be made, only to report if it is unreadable."""
        try:
            for _ in self._check_blocks(file):
                yield
        except READ_ERRORS as error:
            self._reader.note_failure(error, file)

    def _agrees(self, file: StoreFile) -> bool:
        """Return True if the map equals a snapshot of its version, or if that is unreadable.

        A difference is reported, unless the map is disputed already.
        """
        try:
            difference = compare_snapshot(self.state, self._check_blocks(file))
        except READ_ERRORS as error:
            self._reader.note_failure(error, file)
        else:
            if difference:
                # After a disputed one either may be as the query went on.
                if not self.life.disputed:
                    self._differs(file, difference)
                return False
            self._reader.confirm([*self._since, file])
            self._since = [file]
        return True

    def _hold_against(self, snapshot: StoreFile, delta: StoreFile) -> None:
        """Compare a loaded snapshot with the delta of its version, and report a difference.

        A difference makes the map disputed. The comparison is left out if neither checks nor expiry
        need it, and for stores of lists, because the lists that the delta appended to are not
        known.
        """
        is_requested = self._task.request.fit or self._store.expiry
        if not is_requested or self._store.several_values or not self._is_compared(snapshot, delta):
            return
        try:
            difference = compare_delta(self.state, self._reader.blocks(delta))
        except READ_ERRORS as error:
            self._reader.note_failure(error, delta)
        else:
            if difference:
                self._differs(snapshot, difference)
                self.life.disputed = True

    def _differs(self, file: StoreFile, difference: SnapshotDifference) -> None:
        """Report that a snapshot differs.

        For a key range a fact is kept instead, to be summed over all ranges.
        """
        if self._task.key_range is None:
            self._reader.report(SNAPSHOT_DIFFERS, difference.text, file)
            return
        result = SnapshotDiffers(file.path, file.version, difference)
        self._differences.append(Observed(self._reader.store, self._task.version, result))

    def take(self, blocks: Iterator[RecordBlock]) -> None:
        """Use these blocks for the next file that is applied, instead of reading the file."""
        self._given = blocks

    def decoding(self, file: StoreFile) -> Iterator[RecordBlock]:
        """Return the blocks of a file with its checks, decoded by the thread that consumes them."""
        return self._reader.blocks_here(file, self._check(file))

    def _check_blocks(self, file: StoreFile) -> Iterator[RecordBlock]:
        """Return the blocks of a file with its checks, or those that :meth:`take` was given."""
        blocks_given, self._given = self._given, None
        return (
            self._reader.blocks(file, self._check(file)) if blocks_given is None else blocks_given
        )

    def _check(self, file: StoreFile) -> Check:
        """Return the function that checks the rows of a file and passes on its blocks.

        It checks nothing if rows are not compared with their schema.
        """
        return iter if self._fit is None else partial(self._fit.check, file)

    # -- facts -------------------------------------------------------------------------------

    def emit_version(self, change: Change, step: Step) -> Iterator[Observed[Any]]:
        """Yield the facts of the version that a step made: its sizes and those about its keys."""
        snapshot = step.base or step.check or step.compared
        counted = self._store.counts_files
        files = {
            "delta_bytes": step.delta.size if step.delta and counted else 0,
            "snapshot_bytes": snapshot.size if snapshot and counted else 0,
            "raw_bytes": self._raw_bytes if counted else 0,
        }
        facts = measure_version(change, self.state, self._sizes, files)
        if step.delta is None:
            facts = replace(facts, empty_deltas=0)
        yield from self._differences
        self._differences.clear()
        if not self._task.speaks_for_files:
            no_files: dict[str, Any] = dict.fromkeys(files, 0)
            facts = replace(facts, stores=0, rebased=0, empty_deltas=0, **no_files)
        yield Observed(self._reader.store, change.version, facts)
        yield from self._follow(change)
        if change.rebased and change.version == self._task.repartitioned:
            self._inherit()

    def _follow(self, change: Change) -> Iterator[Observed[Any]]:
        """Yield the facts about the keys of a version, and update what follows the keys."""
        if self._prefixes is not None:
            prefixes = self._prefixes.update(change, self.state)
            yield Observed(self._reader.store, change.version, prefixes)
        if self._rewrites is not None:
            self._rewrites.update(change, self.state)
        for simulation in self._simulations:
            simulation.update(change, self.state)
        yield from self.life.update(change)

    def _inherit(self) -> None:
        """Take over the history that keys had in other partitions, if all can be replayed."""
        result, lives = Inherited(self.state), list[Lifetime]()
        for task, store, reader in _origins_of(self._task, self._store, self._reader):
            pass_ = StorePass(task, store, reader)
            for step in replay_steps(reader.provider.files_of(store.files), task.version):
                change = pass_.advance(step)
                deque(pass_.emit_version(change, step) if change is not None else (), maxlen=0)
            if not pass_.is_complete or pass_.life.disputed:
                return
            result.add(pass_.state, pass_.life.runs, pass_.life.calls())
            lives.append(pass_.life)
        if lives and result.whole:
            self.life.inherit(lives, result)

    @property
    def is_complete(self) -> bool:
        """True if the map is that of the task's version."""
        return self.whole and self.state.versions[-1:] == [self._task.version]

    def emit_last(self) -> Generator[Observed[Any], None, StateMap | None]:
        """Yield the facts of the version that is judged, if the replay has reached it.

        If that version does not have the partition, facts about the partition's timers are yielded.

        Returns:
            The map of that version; None if it could not be made.
        """
        if not self._task.present:
            yield from self.life.evidence()
        if not self.is_complete:
            return None
        facts: Iterator[Observed[Any]] = chain(self.life.emit(), self._emit_keys())
        if self.state.tracking.hashed:
            again = self._reader.again(self._task, self._store)
            facts = with_keys(facts, self.state, self._applied, again, self._held)
            yield from facts
            self._reader.add(again.problems)
        else:
            yield from facts
        return self.state

    def _emit_keys(self) -> Iterator[Observed[Any]]:
        """Yield the requested facts about keys.

        These are rewrites, prefixes, simulations, misplaced keys, top keys and sampled keys.
        """
        store, version = self._reader.store, self._task.version
        if self._rewrites is not None:
            yield Observed(store, version, self._rewrites.observe(self.state))
        key, _ = schemas(self._store)
        if self._prefixes is not None and key is not None and len(key.fields) > 1:
            for item in self._prefixes.entries(self.state, key):
                yield Observed(store, version, item)
        for step, rows in chain.from_iterable(
            simulation.observe() for simulation in self._simulations
        ):
            speaks = self._task.speaks_for_files
            yield Observed(store, step, rows if speaks else replace(rows, stores=0, whole=0))
        if self.state.tracking.mark is not None:
            yield Observed(store, version, MisplacedKeys.observe(self.state))
        request = self._task.request
        audited = (*_OF_AUDIT, TopBy.PUTS) if self._store.session_fields else _OF_AUDIT
        rankings = audited if request.sampled else TopBy if request.top else ()
        for ranking in rankings:
            if ranking is not TopBy.NUMBER or self._store.number is not None:
                for top in top_keys(self.state, ranking, self._task.request.top):
                    yield Observed(store, version, top)
        yield from self._emit_samples()

    def _emit_samples(self) -> Iterator[Observed[Any]]:
        """Yield facts of sampled rows: sizes of columns, partners in a join, keys to compare."""
        store, version = self._reader.store, self._task.version
        if self._fit is not None:
            for side, measured in self._fit.sampled.items():
                yield Observed(store, version, SampledSizes(side, measured))
            if self._fit.partners is not None:
                yield Observed(store, version, MatchedPuts(*self._fit.partners.tolist()))
        sampled = self._task.request.sampled
        if sampled and self._store.store_name == DEFAULT_STORE and not self._store.session_fields:
            newest = newest_keys(self.state, self._task.sampled_keys)
            yield from (Observed(store, version, key) for key in newest)


_OF_AUDIT = (TopBy.VALUE_BYTES, TopBy.NUMBER)
"""Rankings of keys that every audit with samples makes; findings name a key by them."""


def _origins_of(
    task: Task, store: StoreTask, reader: StoreReader
) -> Iterator[tuple[Task, StoreTask, StoreReader]]:
    """Yield the partitions from which a store's rows came, each as (task, store, reader).

    Only stores of the same name are yielded, with the batches up to the repartitioning.
    """
    for origin in map(Task.from_json, task.origins):
        clocks = tuple(clock for clock in task.clocks if clock.batch_id < origin.version)
        task_origin = replace(origin, clocks=clocks, codecs=task.codecs)
        for origin_store in origin.stores:
            if origin_store.store_name == store.store_name:
                yield task_origin, origin_store, reader.again(task_origin, origin_store)
