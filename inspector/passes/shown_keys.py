"""Keys that a report shows, read again from the files that hold them.

A map of millions of keys keeps 16 bytes of each, whatever its length
(:attr:`inspector.state.replay.Tracking.hashed`). The key itself is in the record of its last put;
the map knows the file and the number of that record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from inspector.arrays import Int64s, distinct
from inspector.checkpoint.logfile import VANISHED_SLUG
from inspector.checkpoint.urls import is_local
from inspector.decode.records import RecordBlock, SmallDeltas
from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import Leftover
from inspector.facts.top_keys import SampledKey, TopKey
from inspector.light_dataclasses import replace
from inspector.model import StoreFile
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.passes.store_reader import READ_ERRORS, StoreReader
from inspector.providers.chain import replay_steps
from inspector.providers.registry import provider_by_name
from inspector.state.replay import BEFORE_WINDOW, StateMap, id_of

# bytes of remote files above which they are read again for the keys that are shown
FAR_BYTES = 64 << 20


def shows_few(task: Task, store: StoreTask) -> bool:
    """Return True if a map may keep hashes of keys instead of their bytes, since few are shown.

    Keys are kept with their bytes if facts are about their fields (joins, session windows,
    transformWithState), if all leftovers are listed, and if a record has no position in its file (a
    row of a list, or a row that a snapshot shows to be removed). They are also kept for few files
    on another machine, where a second request takes too long.
    """
    if store.family is not None or store.several_values or _has_compared(task, store):
        return False
    has_fields = store.store_name in (*COUNT_STORES, *VALUE_STORES) or bool(store.session_fields)
    lists_all = store.expiry is not None and not task.request.leftover_limit
    if has_fields or lists_all:
        return False
    return is_local(task.url) or sum(file.size for file in store.files) > FAR_BYTES


def _has_compared(task: Task, store: StoreTask) -> bool:
    """Return True if a snapshot of the store has to be compared with the previous one."""
    provider = provider_by_name(task.provider)
    if not provider.writes_snapshots_alone and not any(file.continues for file in store.files):
        return False
    files = provider.files_of(store.files)
    return any(step.compared is not None for step in replay_steps(files, task.version))


class HeldDeltas(NamedTuple):
    """Small deltas whose records are still in memory."""

    first: int = 0  # step of the map that applied the first of them
    small: SmallDeltas | None = None  # their records; None if none are held

    def records(self, step: int) -> list[RecordBlock]:
        """Return the records of the delta of a step as one block.

        The list is empty if they are not held.
        """
        index = step - self.first
        if self.small is None or not 0 <= index < len(self.small.ends):
            return []
        start = self.small.ends[index - 1] if index else 0
        return [self.small.block.select(slice(start, self.small.ends[index]))]


def with_keys(
    facts: Iterable[Observed[Any]],
    state: StateMap,
    applied: Sequence[StoreFile],
    reader: StoreReader,
    deltas: HeldDeltas,
) -> Iterator[Observed[Any]]:
    """Yield facts, with the bytes of their keys in place of the ids that a hashed map gives.

    ``applied`` has the file of each step of the map, ``deltas`` the records that are still in
    memory. Facts without keys come first. A fact whose key cannot be read again is left out, and
    the problem stays with ``reader``.
    """
    showing = []
    for item in facts:
        if isinstance(item.fact, TopKey | Leftover | SampledKey):
            showing.append(item)
        else:
            yield item
    ids = distinct(np.array([id_of(item.fact.key) for item in showing], np.int64))
    keys = _keys(ids, state, applied, reader, deltas) if showing else {}
    for item in showing:
        key = keys.get(id_of(item.fact.key))
        if key is not None:
            yield replace(item, fact=replace(item.fact, key=key))


def _keys(
    ids: Int64s,
    state: StateMap,
    applied: Sequence[StoreFile],
    reader: StoreReader,
    deltas: HeldDeltas,
) -> Mapping[int, bytes]:
    """Return the bytes of keys by their ids, read again from the records of their last puts.

    Keys that cannot be read again are missing; the reader has the problem.
    """
    steps = np.where(state.put_step[ids] == BEFORE_WINDOW, state.base_step, state.put_step[ids])
    keys: dict[int, bytes] = {}
    used: list[int] = distinct(steps).tolist()
    near = {step: deltas.records(step) for step in used}
    if not all(near.values()):
        reader.files.expect([applied[step] for step in used if not near[step]])
    for step in used:
        own_ids, file = ids[steps == step], applied[step]
        try:
            keys.update(_in_file(own_ids, state, near[step] or reader.blocks(file)))
        except READ_ERRORS as error:
            reader.note_failure(error, file)
            continue
        if not all(key_id in keys for key_id in own_ids.tolist()):
            text = "the file was written anew: its keys are not where they were"
            reader.report(VANISHED_SLUG, text, file)
    return keys


def _in_file(
    ids: Int64s, state: StateMap, blocks: Iterable[RecordBlock]
) -> Iterator[tuple[int, bytes]]:
    """Yield (id, key) for the given ids from the records of one file.

    A record that holds another key now is passed over.
    """
    ids = ids[np.argsort(state.record[ids])]
    records = state.record[ids].astype(np.int64)
    done = 0
    for block in blocks:
        upto = int(np.searchsorted(records, block.first_record + block.count))
        locations = records[done:upto] - block.first_record
        for key_id, location in zip(ids[done:upto].tolist(), locations.tolist(), strict=True):
            start = int(block.key_offset[location])
            key = bytes(memoryview(block.buffer)[start : start + int(block.key_length[location])])
            if state.interner.find(key) == key_id:
                yield key_id, key
        done = upto
        if done == len(ids):
            return
