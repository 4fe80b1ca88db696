"""What a replayed store tells of its biggest, hottest and oldest keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.top import TopBy, top_keys
from inspector.passes.store_reader import StoreReader
from inspector.state.replay import StateMap


def tell_top(
    task: Task, store: StoreTask, reader: StoreReader, state: StateMap
) -> Iterator[dict[str, Any]]:
    """The first keys of a partition by each ranking; the driver merges those of all partitions."""
    if not task.top:
        return
    for by in TopBy:
        if by is TopBy.NUMBER and store.number is None:
            continue
        ranked = top_keys(state, by, task.top)
        keys = state.keys(np.array([one.key_id for one in ranked], np.int64))
        for key, (key_id, amount) in zip(keys, ranked, strict=True):
            put = int(state.put_step[key_id])
            yield reader.row("top", task.version) | {
                "top_by": by.value,
                "amount": amount,
                "key": key,
                "key_bytes": int(state.key_size[key_id]),
                "value_bytes": int(state.value_size[key_id]),
                "puts": int(state.puts[key_id]),
                "last_put_version": None if put < 0 else state.versions[put],
            }
