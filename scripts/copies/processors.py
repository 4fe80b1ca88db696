"""A processor of ``transformWithState`` with each kind of variable; it needs Spark 4.0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

TIMED = "EventTime"
_TTL_MS = 3_600_000
"""Longer than any judgement takes: what is judged is that the rows of the TTL are read on."""


class Counting(StatefulProcessor):
    """Counts the rows of a user, keeps them in a list and by batch in a map.

    Args:
        timed: it has a timer for each user; otherwise its values expire.
        ttl_ms: after which they do.
    """

    def __init__(self, *, timed: bool, ttl_ms: int = _TTL_MS) -> None:
        self._timed, self._ttl_ms = timed, ttl_ms

    def init(self, handle: Any) -> None:
        """Make the variables."""
        self._handle = handle
        ttl = () if self._timed else (self._ttl_ms,)
        self._count = handle.getValueState("count", "n long", *ttl)
        self._newest = handle.getListState("newest", "v long", *ttl)
        self._kept = handle.getMapState("kept", "tens long", "v long", *ttl)

    def handleInputRows(  # noqa: N802 -- Spark calls it so
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803 -- and gives it by name
    ) -> Iterator[Any]:
        """Count, and say what all variables hold."""
        values = sorted(int(v) for frame in rows for v in frame.v)
        count = len(values) + (self._count.get()[0] if self._count.exists() else 0)
        self._count.update((count,))
        for value in values:
            self._newest.appendValue((value,))
            self._kept.updateValue((value // 10,), (value,))
        if self._timed:
            self._handle.registerTimer(timerValues.getCurrentWatermarkInMs() + 20_000)
        yield self._output(key, "data")

    def handleExpiredTimer(  # noqa: N802 -- Spark calls it so
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Forget half of what there is."""
        del timerValues, expiredTimerInfo
        self._newest.clear()
        yield self._output(key, "timer")

    def _output(self, key: Any, why: str) -> Any:
        listed = sorted(row[0] for row in self._newest.get())
        kept = sorted((k[0], v[0]) for k, v in self._kept.iterator())
        (count,) = self._count.get()
        return pd.DataFrame({"user": [key[0]], "n": [count], "why": [f"{why} {listed} {kept}"]})

    def close(self) -> None:
        """Nothing is held."""


class Forgetful(StatefulProcessor):
    """Declares none of those variables, so that Spark does not clean them up."""

    def init(self, handle: Any) -> None:
        """Make another variable."""
        self._other = handle.getValueState("other", "n long")

    def handleInputRows(  # noqa: N802 -- Spark calls it so
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Count in the other variable."""
        del timerValues
        count = sum(map(len, rows))
        self._other.update((count,))
        yield pd.DataFrame({"user": [key[0]], "n": [count], "why": ["other"]})

    def close(self) -> None:
        """Nothing is held."""


class Waiting(StatefulProcessor):
    """Sets one timer of the processing time for each user.

    Args:
        wait_ms: after which it fires.
    """

    def __init__(self, *, wait_ms: int) -> None:
        self._wait_ms = wait_ms

    def init(self, handle: Any) -> None:
        """Make a counter."""
        self._handle = handle
        self._count = handle.getValueState("count", "n long")

    def handleInputRows(  # noqa: N802 -- Spark calls it so
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Count, and set a timer for a new user."""
        is_new = not self._count.exists()
        count = sum(map(len, rows)) + (0 if is_new else self._count.get()[0])
        self._count.update((count,))
        if is_new:
            due = timerValues.getCurrentProcessingTimeInMs() + self._wait_ms
            self._handle.registerTimer(due)
        yield pd.DataFrame({"user": [key[0]], "n": [count], "why": ["data"]})

    def handleExpiredTimer(  # noqa: N802 -- Spark calls it so
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Say that the timer fired."""
        del timerValues, expiredTimerInfo
        yield pd.DataFrame({"user": [key[0]], "n": [0], "why": ["timer"]})

    def close(self) -> None:
        """Nothing is held."""
