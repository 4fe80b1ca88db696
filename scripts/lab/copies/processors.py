"""Processors of ``transformWithState``; they need Spark 4.0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

TIMED = "EventTime"
_TTL_MS = 3_600_000  # longer than any judgement takes, so that rows with a TTL are read back


class _Processor(StatefulProcessor):
    """Yields one row for each call: the user, a count, and a text on the reason."""

    def handleInputRows(  # noqa: N802 -- Spark calls it so
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803 -- and gives it by name
    ) -> Iterator[Any]:
        """Count the rows of a user."""
        values = sorted(int(v) for frame in rows for v in frame.v)
        yield self._row(key, *self.count(values, timerValues))

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Answer a timer of a user."""
        del timerValues, expiredTimerInfo
        yield self._row(key, *self.fire())

    def count(self, values: Sequence[int], timers: Any) -> tuple[int, str]:
        """Return a count and a reason for the values of a user in one batch."""
        raise NotImplementedError

    def fire(self) -> tuple[int, str]:
        """Return a count and a reason for a timer of a user."""
        return 0, "timer"

    def _row(self, key: Any, count: int, reason: str) -> Any:
        return pd.DataFrame({"user": [key[0]], "n": [count], "why": [reason]})

    def close(self) -> None:
        """Release nothing."""


class Counting(_Processor):
    """Counts the rows of a user, and keeps their values in a list and in a map.

    Args:
        timed: True for a timer for each user; otherwise the values have a TTL.
        ttl_ms: the TTL.
    """

    def __init__(self, *, timed: bool, ttl_ms: int = _TTL_MS) -> None:
        self._timed, self._ttl_ms = timed, ttl_ms

    def init(self, handle: Any) -> None:
        """Declare the variables."""
        self._handle = handle
        ttl = () if self._timed else (self._ttl_ms,)
        self._count = handle.getValueState("count", "n long", *ttl)
        self._newest = handle.getListState("newest", "v long", *ttl)
        self._kept = handle.getMapState("kept", "tens long", "v long", *ttl)

    def count(self, values: Sequence[int], timers: Any) -> tuple[int, str]:
        """Count the values, and return a text of all variables."""
        total = len(values) + (self._count.get()[0] if self._count.exists() else 0)
        self._count.update((total,))
        for value in values:
            self._newest.appendValue((value,))
            self._kept.updateValue((value // 10,), (value,))
        if self._timed:
            self._handle.registerTimer(timers.getCurrentWatermarkInMs() + 20_000)
        return total, f"data {self._variables()}"

    def fire(self) -> tuple[int, str]:
        """Clear the list."""
        self._newest.clear()
        (count,) = self._count.get()
        return count, f"timer {self._variables()}"

    def _variables(self) -> str:
        listed = sorted(row[0] for row in self._newest.get())
        result = sorted((k[0], v[0]) for k, v in self._kept.iterator())
        return f"{listed} {result}"


class Forgetful(_Processor):
    """Declares none of those variables, so that Spark does not clean them up."""

    def init(self, handle: Any) -> None:
        """Declare another variable."""
        self._other = handle.getValueState("other", "n long")

    def count(self, values: Sequence[int], timers: Any) -> tuple[int, str]:
        """Count in the other variable."""
        del timers
        self._other.update((len(values),))
        return len(values), "other"


class Waiting(_Processor):
    """Sets a timer by processing time for each user with one of some values.

    The timer is due in the next batch, however long a batch takes.

    Args:
        timed_values: the values.
    """

    def __init__(self, *, timed_values: range) -> None:
        self._timed_values = timed_values

    def init(self, handle: Any) -> None:
        """Declare a counter."""
        self._handle = handle
        self._count = handle.getValueState("count", "n long")

    def count(self, values: Sequence[int], timers: Any) -> tuple[int, str]:
        """Count the values, and set a timer if one of them has it."""
        total = len(values) + (self._count.get()[0] if self._count.exists() else 0)
        self._count.update((total,))
        if any(value in self._timed_values for value in values):
            self._handle.registerTimer(timers.getCurrentProcessingTimeInMs() + 1)
        return total, "data"
