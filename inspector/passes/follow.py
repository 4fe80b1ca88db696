"""The pass of a query that runs: what was replayed is kept, and a later task reads what is new.

:class:`Followed` has the signature of :func:`inspector.passes.worker.run_tasks`, and its facts are
the same; but it remembers the map of every store and the facts of the versions that it has passed,
so that a task for a newer version reads the deltas that came since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from inspector.checkpoint.logfile import UNSEEN
from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.checks import ReadProblem
from inspector.facts.fact import Observed
from inspector.facts.registry import fact_batches
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import Problem, StoreFile, StoreId
from inspector.passes.observe import StorePass
from inspector.passes.store_facts import emit_sides, emit_variables, meets_others
from inspector.passes.store_reader import StoreReader, open_stores
from inspector.passes.worker import tasks_in
from inspector.providers.chain import Step, StoreFiles, replay_steps
from inspector.state.replay import StateMap

KEPT_VERSIONS = 100
"""Versions whose facts are kept in memory, as many as Spark retains by default
(``spark.sql.streaming.minBatchesToRetain``).
"""

MOST_DEAD_KEYS = 1 << 18
"""Keys that a map may have above twice the number it had when it was made; then it is made again
from the files. A map never forgets a removed key.
"""


@dataclass
class _Kept:
    """One store with its map and facts, kept between two tasks."""

    store: StoreTask  # the task that it was opened with, without its files
    pass_: StorePass  # its map and the facts that follow the map
    # facts of the versions that it passed, oldest first
    facts: list[Observed[Any]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)  # problems of reading its files
    reached: int = 0  # the version of the last step
    last: StoreFile | None = None  # the file that the last step applied
    keys: int = 0  # distinct keys when it was opened

    def continues(self, store: StoreTask, files: StoreFiles, version: int) -> bool:
        """Return True if ``version`` can be reached by applying newer files to the map.

        It returns False if schemas or rules have changed, the version is older, a file could not be
        seen, the map has too many dead keys, or the last applied file was written again.
        """
        if self.store != _shape(store) or self.reached > version:
            return False
        if any(problem.slug in UNSEEN for problem in self.problems):
            return False  # the storage did not answer, and may do so now
        if len(self.pass_.state) > 2 * self.keys + MOST_DEAD_KEYS:
            return False
        # A query that was set back has written the version once more.
        written = (files.deltas.get(self.reached), files.snapshots.get(self.reached))
        entry = {file.path: file for file in written if file is not None}
        return self.last is None or entry.get(self.last.path, self.last) == self.last


class Followed:
    """Reads the partitions of tasks; each later call reads only what is new."""

    def __init__(self) -> None:
        self._stores: dict[StoreId, _Kept] = {}

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the facts of some tasks, in batches as :func:`inspector.passes.worker.run_tasks`.

        The facts of a partition are consecutive. A store whose new version is older than the last
        one is replayed from its files.
        """
        for task in tasks_in(batches):
            yield from fact_batches(self._walk_stores(task))

    def _walk_stores(self, task: Task) -> Iterator[Observed[Any]]:
        """Yield the facts of all stores of a task, then the facts for which several stores meet."""
        states: dict[str, StateMap] = {}
        for store, reader in open_stores(task):
            store_pass = self._reach(task, store, reader)
            yield from store_pass.facts
            state = yield from store_pass.pass_.emit_last()
            for problem in store_pass.problems:
                yield ReadProblem.observe(problem, reader.store, task.version)
            if state is not None and meets_others(store):
                states[store.store_name] = state
        yield from emit_sides(task, states)
        yield from emit_variables(task, states)

    def _reach(self, task: Task, store: StoreTask, reader: StoreReader) -> _Kept:
        """Return a store at the version of a task, or at the last version its files can make."""
        files = reader.provider.files_of(store.files)
        store_pass = self._stores.get(reader.store)
        if store_pass is None or not store_pass.continues(store, files, task.version):
            store_pass = _Kept(
                _shape(store), StorePass(task, store, reader, confirm=False, exact=True)
            )
            self._stores[reader.store] = store_pass
            self._advance(store_pass, replay_steps(files, task.version), reader)
            store_pass.keys = len(store_pass.pass_.state)
        else:
            store_pass.pass_.resume(task, store, reader)
            self._advance(store_pass, replay_steps(files, task.version), reader)
        paths = {file.path for file in store.files}
        store_pass.problems = [item for item in store_pass.problems if item.path in paths]
        oldest = task.version - KEPT_VERSIONS
        store_pass.facts = [item for item in store_pass.facts if item.version > oldest]
        return store_pass

    def _advance(self, store_pass: _Kept, steps: list[Step], reader: StoreReader) -> None:
        """Apply the steps that are newer than the last one, and keep their facts and problems."""
        steps = [step for step in steps if step.version > store_pass.reached]
        applied = [step.base or step.delta or step.compared for step in steps]
        reader.files.expect(filter(None, applied))
        for step, file in zip(steps, applied, strict=True):
            change = store_pass.pass_.advance(step)
            if change is not None:
                store_pass.facts += store_pass.pass_.emit_version(change, step)
            store_pass.reached, store_pass.last = step.version, file
        store_pass.problems += reader.problems


def _shape(store: StoreTask) -> StoreTask:
    """Return the store without its files and other parts that change with each batch.

    Two stores of equal shape can continue one map.
    """
    return replace(store, files=(), side_files=(), processing_versions=(), reason="")
