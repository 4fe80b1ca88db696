"""The nodes of a plan that are Python's: transformWithState, with whatever Scala makes around."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pandas as pd
from fixtures.python_processors import Scripted
from pyspark.sql import Row

BASE = 1_704_067_200_000
WORDS = [
    "v=",
    "v=",
    "v-",
    "l+",
    "l+",
    "l=",
    "l-",
    "m=a",
    "m=b",
    "m=c",
    "m-a",
    "m-",
    "V=",
    "V=",
    "V-",
]
WORDS += ["L+", "L+", "L=", "L-", "M=a", "M=b", "M=c", "M-a", "M-", "t+5", "t+20", "t+40", "t+-15"]
WORDS += ["t-"]
AT_FIRST = "v= l+ l+ m=a m=b V= L+ M=a M=b t+20"
USER = (
    "concat(element_at(array('once', 'once', 'tidy', 'again', 'cancel'), 1 + pmod(id, 5)), '-', id)"
)
"""The key of a row, whose first part says what the processor does when a timer fires."""

KEYS = {
    "dec10": "CAST(IF(id % 7 = 0, NULL, (id - 20) * 1.37) AS DECIMAL(10, 2))",
    "dec38": "CAST((id - 20) * 12345678901234567.89 AS DECIMAL(38, 10))",
    "stamp": "timestamp_micros((id - 20) * 86399000001)",
    "date": "IF(id % 5 = 0, NULL, date_add(DATE'1969-12-20', id * 7))",
    "bin": "CAST(repeat(chr(65 + id % 26), id % 12) AS BINARY)",
    "row": "named_struct('a', IF(id % 3 = 0, NULL, id), 's', repeat('x', id % 9))",
    "none": "CAST(NULL AS STRING)",
    "dbl": "CAST(id - 20 AS DOUBLE) / 3",
    "long": "CAST(id - 20 AS BIGINT) * 1234567890123",
}
"""A second column of the key, of another type."""


class Emitting(Scripted):
    """A processor of the fixtures whose input and output are rows of a plan.

    For each call it emits one row, with the newest time of its rows or with that of the timer.
    """

    def __init__(
        self, time: str, call_log: str, seed: int, emits: str, *, frames: bool = True
    ) -> None:
        super().__init__({"none": "untimed"}.get(time, time), call_log, frames=frames)
        self.seed = seed
        self.emits = emits

    def handleInputRows(  # noqa: N802 -- Spark calls it so
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803 -- and gives it by name
    ) -> Iterator[Any]:
        """Do what the words of the rows say; emit a row with their newest time."""
        self.oldest = self._oldest(timerValues)
        yield from super().handleInputRows(key, rows, timerValues)

    def handleExpiredTimer(  # noqa: N802 -- Spark calls it so
        self,
        key: Any,
        timerValues: Any,  # noqa: N803 -- and gives it by name
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Do what keys of this kind do; emit a row with the timer's time."""
        self.newest = expiredTimerInfo.getExpiryTimeInMs()
        self.oldest = self._oldest(timerValues)
        yield from super().handleExpiredTimer(key, timerValues, expiredTimerInfo)

    def handleInitialState(  # noqa: N802 -- Spark calls it so
        self,
        key: Any,
        initialState: Any,  # noqa: N803
        timerValues: Any,  # noqa: N803
    ) -> None:
        """Put a value into each variable of a key that begins with a state, and set a timer."""
        amount = initialState["amount"].iloc[0] if self.frames else initialState.amount
        call = self._call(key, timerValues, None)
        is_clock = self.time == "processing"
        start = timerValues.getCurrentProcessingTimeInMs() if is_clock else BASE
        for word in filter(self._knows, AT_FIRST.split(" ")):
            self._follow(call, word, int(amount), start)

    def _oldest(self, now: Any) -> int | None:
        """Spark refuses a column of event time that is older than the watermark."""
        return now.getCurrentWatermarkInMs() if self.emits == "column" else None

    def _events(self, rows: Iterator[Any]) -> list[dict[str, Any]]:
        result = [self._event(row) for row in super()._events(rows)]
        self.newest = max(event["at_ms"] for event in result)
        return result

    def _event(self, row: dict[str, Any]) -> dict[str, Any]:
        at_ms = 0 if pd.isna(row["ts"]) else int(row["ts"].timestamp() * 1000)
        picks = [zlib.crc32(f"{self.seed}/{row['id']}/{at_ms}/{n}".encode()) for n in range(4)]
        effect = " ".join(WORDS[pick % len(WORDS)] for pick in picks)
        return {"at_ms": at_ms, "amount": row["v"], "effect": effect}

    def _output(self, user: str, calls: int) -> Any:
        newest = self.newest if self.oldest is None else max(self.newest, self.oldest + 1)
        time = pd.Timestamp(newest, unit="ms")
        number = int(user.split("-")[1])
        if not self.frames:
            local = datetime.fromtimestamp(newest / 1000)
            return Row(id=number, ts=local, v=calls)
        return pd.DataFrame({"id": [number], "ts": [time], "v": [calls]})
