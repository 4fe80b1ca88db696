"""Tasks split by ranges of keys: where a partition is too large for its memory or for one core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, replace
from typing import TYPE_CHECKING

from inspector.discovery.tasks import StoreTask, Task
from inspector.model import KeyRange, StoreFile, StoreId
from inspector.providers.chain import replay_steps
from inspector.providers.registry import provider_by_name

if TYPE_CHECKING:
    from inspector.facts.timers import CallBounds

MOST_RANGES = 4096
"""Ranges of one partition: each reads all of its files."""


def split_task(task: Task, count: int, seed: int | None = None) -> list[Task]:
    """One task for each of so many ranges of a task's keys; for 1 the task itself.

    The ``seed`` of the hash that divides them is drawn at random if it is None.
    """
    count = min(count, MOST_RANGES)
    # The variables of a transformWithState are held against each other by a part of their keys, and
    # so are the rows of a list: nothing puts those that belong together into one range.
    whole = any(store.family is not None or store.several_values for store in task.stores)
    if count < 2 or whole or not task.stores:
        return [task]
    first, *further = (replace(task, key_range=part) for part in KeyRange.divide(count, seed))
    # What is not about single keys is for the first range to say.
    bare = tuple(replace(store, side_files=()) for store in task.stores)
    return [first, *(replace(item, stores=bare) for item in further)]


def needs_bounds(task: Task) -> bool:
    """Whether a task has to be told what the keys of other ranges show (``call_bounds``)."""
    return task.key_range is not None and any(store.timeout_kinds for store in task.stores)


def with_bounds(task: Task, call_bounds: Mapping[StoreId, Mapping[int, CallBounds]]) -> Task:
    """A task with what all ranges of its partition show, by store and version."""

    def told(store: StoreTask) -> StoreTask:
        of_store = call_bounds.get(task.store_id(store), {})
        return replace(store, call_bounds={v: astuple(bounds) for v, bounds in of_store.items()})

    return replace(task, stores=tuple(map(told, task.stores)))


def replayed_files(task: Task, store: StoreTask) -> list[StoreFile]:
    """The files of a store whose records are in the map at the same time, where it is largest.

    Each record in them may have another key.
    """
    largest: list[StoreFile] = []
    since: list[StoreFile] = []
    files = provider_by_name(task.provider).files_of(store.files)
    for step in replay_steps(files, task.version):
        applied = step.base or step.delta or step.compared
        assert applied is not None  # a step has one of them
        since = [applied] if step.base is not None else [*since, applied]
        largest = max(largest, since, key=lambda files: sum(file.size for file in files))
    return largest
