"""A processor of ``transformWithState`` that counts the rows of a key in each of its variables.

Needs Spark 4.0. Workers get it by value: they do not have this folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

KEY = ("all",)
"""The one key of a map variable."""


class Counter(StatefulProcessor):  # type: ignore[misc, unused-ignore]
    """Counts in variables such as ``total:value:n bigint``, parted by ``;``.

    Args:
        variables: what it declares. ttl: of its values, in ms; None for none.
        step: what each row counts.
        timer: ms from the newest event time of a key to its timer; None for none.
    """

    def __init__(
        self, variables: str, ttl: int | None, step: int = 1, timer: int | None = None
    ) -> None:
        self._declared = [part.strip().split(":") for part in variables.split(";")]
        self._ttl, self._step, self._timer = ttl, step, timer

    def init(self, handle: Any) -> None:
        """Declare the variables."""
        self._handle = handle
        ttl = [] if self._ttl is None else [self._ttl]
        self._states = []
        for name, kind, schema in self._declared:
            if kind == "map":
                state = handle.getMapState(name, "kk string", schema)
            else:
                make = handle.getValueState if kind == "value" else handle.getListState
                state = make(name, schema, *ttl)
            # Of an int in a field of doubles Spark makes null.
            number = float if schema.split()[1] == "double" else int
            self._states.append((kind, state, number, len(schema.split(",")) - 1))

    def handleInputRows(self, key: Any, rows: Iterator[Any], _timers: Any) -> Iterator[Any]:  # noqa: N802
        """Count the rows; the first field of each variable has the count, the others are null."""
        batches = list(rows)
        count = self._step * sum(len(batch) for batch in batches)
        if self._timer is not None:
            newest = max(int(batch["ts"].max().timestamp() * 1000) for batch in batches)
            self._handle.registerTimer(newest + self._timer)
        total = sum(
            getattr(self, f"_{kind}")(state, number(count), (None,) * options)
            for kind, state, number, options in self._states
        )
        yield pd.DataFrame({"k": [key[0]], "total": [int(total)]})

    def handleExpiredTimer(self, key: Any, _timers: Any, _info: Any) -> Iterator[Any]:  # noqa: N802
        """Forget the key."""
        for _, state, _, _ in self._states:
            state.clear()
        yield pd.DataFrame({"k": [key[0]], "total": [-1]})

    def _value(self, state: Any, count: float, siblings: tuple[None, ...]) -> float:
        total = count + (type(count)(state.get()[0] or 0) if state.exists() else 0)
        state.update((total, *siblings))
        return total

    def _list(self, state: Any, count: float, siblings: tuple[None, ...]) -> int:
        state.appendValue((count, *siblings))
        return sum(int(entry[0]) for entry in state.get())

    def _map(self, state: Any, count: float, siblings: tuple[None, ...]) -> float:
        total = count + (type(count)(state.getValue(KEY)[0]) if state.containsKey(KEY) else 0)
        state.updateValue(KEY, (total, *siblings))
        return total

    def close(self) -> None:
        """Nothing is held."""
