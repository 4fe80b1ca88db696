"""What is inferred where the bytes allow another reading, and how often it was right.

Counted on random workloads whose functions logged every call (``scripts/make_workloads.py`` and
``scripts/judge_workloads.py``, Spark 4.3 and 3.5), key by key and batch by batch; those of joins,
finding by finding. An inference that is right less often than :data:`WARNS` never warns: its keys
are reported as undecided, its findings for information.
"""

from __future__ import annotations

from collections.abc import Mapping

from inspector.light_dataclasses import dataclass
from inspector.model import Certainty

WARNS = 0.95
"""Share of right ones from which on an inference is worth a warning."""


@dataclass(frozen=True)
class Inference:
    """A conclusion that the bytes suggest and do not force.

    Attributes:
        name: by which code and documentation call it.
        says: what is concluded, from what.
        right, of: how often it was right on random workloads, of how many times it was drawn.
        decided_by: what would make it certain.
    """

    name: str
    says: str
    right: int
    of: int
    decided_by: str

    @property
    def warns(self) -> bool:
        """Whether it is right often enough to warn."""
        return self.right >= WARNS * self.of

    @property
    def certainty(self) -> Certainty:
        """That of a leftover that it finds."""
        return Certainty.INFERRED if self.warns else Certainty.UNDECIDED


_INFERENCES = (
    Inference(
        "complete-mode",
        "a group that the watermark of a processed batch covered and that stayed is kept for good: "
        "append and update mode would have removed it; complete mode keeps every group, as does a "
        "query that a restart took withWatermark from",
        195,
        195,
        "the output mode of the query, or --operator-rule",
    ),
    Inference(
        "clock-of-neighbours",
        "where no record of a batch shows which clock the timers follow, it is the one that the "
        "batches before and after show; a restart may have changed it",
        2,
        134,
        "--timeout-kind",
    ),
    Inference(
        "kept-by-habit",
        "a put that data or a timeout may have made, and that left no timer, a timeout made: "
        "at least 20 puts that data surely made all left a timer, and timeouts that surely fired "
        "left none, at least 6 of them and 95 % of all",
        95,
        95,
        "what the function does in a call for data, and when a timeout fires",
    ),
    Inference(
        "rearmed-by-habit",
        "the same of a put that left a new timer and the state untouched: data always changed the "
        "state, and timeouts set the timer anew",
        7,
        7,
        "what the function does in a call for data, and when a timeout fires",
    ),
    Inference(
        "unseen-rewrites",
        "the last change that snapshots show of a key, which a timeout surely made, is its last: "
        "without deltas a later call for data that put the same value again is not seen",
        109,
        110,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
    ),
    Inference(
        "kept-before-window",
        "a key without a timer since before the oldest version that can be restored lost it to a "
        "timeout, by the same habits; a restart may have changed the function since (wrong in 10 "
        "of 52 where one had)",
        73,
        83,
        "a longer history (spark.sql.streaming.minBatchesToRetain)",
    ),
    Inference(
        "join-side",
        "a side of a join that removed nothing, though the watermark moved and its rows grew, "
        "never will",
        134,
        369,
        "the join condition, or --join-retention",
    ),
    Inference(
        "join-copy",
        "a join key that holds the event time of every row, and rows that a watermark on it would "
        "have removed: the key is a copy that carries no watermark",
        26,
        34,
        "the query: whether it joins on the column of withWatermark",
    ),
)

INFERENCES: Mapping[str, Inference] = {inference.name: inference for inference in _INFERENCES}
"""Every inference by its name."""
