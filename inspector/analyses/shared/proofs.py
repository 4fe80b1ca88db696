"""What each class of leftovers rests on: premises of proofs, and inferences where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspector.facts.expired import LeftoverClass
from inspector.operators.inferences import INFERENCES
from inspector.operators.premises import PREMISES


def proof_notes(kind: LeftoverClass) -> tuple[str, ...]:
    """The premises and inferences of a class, a line each."""
    return (
        *map(_premise, _RESTS_ON[kind]),
        *map(_inference, _INFERRED_BY.get(kind, ())),
    )


_BY_CLOCK = ("own-batch", "one-watermark")
_BY_TIMEOUT = (
    *("data-first", "only-data-calls", "set-after-clock", "clears-timers", "idle-batch"),
    *("one-clock", "own-batch"),
)
_RESTS_ON: Mapping[LeftoverClass, Sequence[str]] = {
    LeftoverClass.PAST_WATERMARK: (*_BY_CLOCK, "timers-fire"),
    LeftoverClass.PAST_PROCESSING_TIME: ("own-batch", "ttl-cleanup", "timers-fire"),
    LeftoverClass.KEPT_WITHOUT_TIMEOUT: _BY_TIMEOUT,
    LeftoverClass.REARMED: _BY_TIMEOUT,
    LeftoverClass.IGNORED_TIMEOUT: ("set-after-clock", "idle-batch", "one-clock", *_BY_CLOCK),
}
"""The premises that proofs of each class use."""


def _premise(name: str) -> str:
    found = PREMISES[name]
    return f"premise {name}: {found.says} ({found.source}). Refuted by: {found.refuted_by}."


_INFERRED_BY: Mapping[LeftoverClass, Sequence[str]] = {
    LeftoverClass.PAST_WATERMARK: ("complete-mode",),
    LeftoverClass.KEPT_WITHOUT_TIMEOUT: ("kept-by-habit", "kept-before-window"),
    LeftoverClass.REARMED: ("rearmed-by-habit", "clock-of-neighbours"),
    LeftoverClass.IGNORED_TIMEOUT: ("clock-of-neighbours",),
}
"""The inferences that find leftovers of each class where there is no proof."""


def _inference(name: str) -> str:
    found = INFERENCES[name]
    often = f"right {found.right:,} of {found.of:,} times on random workloads"
    return f"inference {name}: {found.says} ({often}). Decided by: {found.decided_by}."
