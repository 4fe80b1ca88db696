"""Inferences where the bytes allow another explanation, and how often each was right.

They were counted on random workloads whose functions logged every call (Spark 4.3 and 3.5,
``scripts/lab/judge_workloads.py``), key by key and batch by batch; those of joins, finding by
finding. An inference that is right less often than :data:`WARNS` never warns: its keys
are undecided, its findings are for information. The documentation has the reasons
(``explanation/inferences``).
"""

from __future__ import annotations

from collections.abc import Mapping

from inspector.light_dataclasses import dataclass
from inspector.model import Certainty

WARNS = 0.95  # share of right conclusions from which on an inference is worth a warning


@dataclass(frozen=True)
class Inference:
    """A conclusion that the bytes suggest and do not prove."""

    name: str  # its name in code and documentation
    right: int  # number of right conclusions on random workloads
    of: int  # number of all conclusions

    @property
    def warns(self) -> bool:
        """True if the inference is right often enough to warn."""
        return self.right >= WARNS * self.of

    @property
    def certainty(self) -> Certainty:
        """Certainty of a leftover that it finds: INFERRED if it warns, else UNDECIDED."""
        return Certainty.INFERRED if self.warns else Certainty.UNDECIDED


INFERENCES: Mapping[str, Inference] = {
    inference.name: inference
    for inference in (
        Inference("complete-mode", 195, 195),
        Inference("clock-of-neighbours", 2, 134),
        Inference("kept-by-habit", 95, 95),
        Inference("rearmed-by-habit", 7, 7),
        Inference("unseen-rewrites", 109, 110),
        Inference("kept-before-window", 73, 83),
        Inference("unmarked-time", 33, 33),
        Inference("join-side", 134, 369),
        Inference("join-bound", 12, 12),
        Inference("join-copy", 26, 34),
        Inference("late-rows", 30, 30),
    )
}
"""Every inference by its name."""
