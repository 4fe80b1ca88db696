"""What the inspector says of a workload at every batch, held against the workload's own account.

A key is a leftover at batch N if the last put of its row was made by a call for a timeout, or if a
timer that had run out by the operator's own clock stands after the batch. Everything that is
claimed of one is compared: its class, the batch, the timer, and the run of timeouts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workloads.account import (
    NO_TIMER,
    Call,
    Entry,
    State,
    Workload,
    key_hex,
    operators_with_calls,
    replay,
)

from inspector import api
from inspector.facts.expired import LeftoverClass, Needs
from inspector.facts.timed_out import AMONG_DATA, BEFORE, NO_LOG_ENTRY
from inspector.merge.resolution import NEIGHBOURS
from inspector.model import Certainty
from inspector.operators.aggregation import COMPLETE
from inspector.render.report import Report

Key = tuple[int, str]
"""Operator id, and the key's UnsafeRow in hex."""
PAST = "past_watermark"
NOT_RESTORABLE = "missing-version"
HEALTHY = "healthy"


class AccountError(ValueError):
    """The calls of a workload do not account for its state at some batch."""


@dataclass(frozen=True)
class Truth:
    """A key that is a leftover.

    Attributes:
        kind: its class. batch: the one in which it became one. timer: the one that had run out.
        first, fired: of the calls for timeouts in a row that led there: the first one's batch, and
            how many they are.
    """

    kind: str
    batch: int
    timer: int
    first: int
    fired: int


@dataclass
class Score:
    """What was said and what was so, over all batches of some workloads. Adds.

    Attributes:
        judged: keys times batches; leftovers: those that are one; batches: that were judged.
        right, wrong: claims by certainty and name of the inference.
        undecided: keys left open, by whether they are leftovers.
        silent: leftovers of which nothing is said, though their last put can be read.
        warnings: workloads by finding that warns though the workload is healthy.
        examples: of what is wrong.
    """

    judged: int = 0
    leftovers: int = 0
    batches: int = 0
    right: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: Counter[tuple[str, str]] = field(default_factory=Counter)
    undecided: Counter[bool] = field(default_factory=Counter)
    silent: int = 0
    warnings: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def __add__(self, other: Score) -> Score:
        return Score(*(getattr(self, name) + getattr(other, name) for name in vars(self)))

    def claims(self, certainty: Certainty, which: Counter[tuple[str, str]]) -> int:
        """How many right or wrong claims of a certainty there are."""
        return sum(count for (word, _), count in which.items() if word == certainty.value)


def judge(workload: Workload) -> Score:
    """Judge a workload at every batch that can be restored."""
    truths = dict(_truths(workload))
    score = Score()
    warned: set[str] = set()
    for batch in sorted(workload.batches):
        options = api.Options(batch=batch)
        report = api.leftovers(str(workload.folder / "checkpoint"), options)
        if any(problem.slug == NOT_RESTORABLE for problem in report.problems):
            continue
        score.batches += 1
        _compare(workload, batch, report, truths.get(batch, {}), score)
        if is_healthy(workload):
            warned |= {f.kind.id for f in report.findings if f.severity.word != "info"}
    score.warnings.update(warned)
    return score


def is_healthy(workload: Workload) -> bool:
    """Whether its function removes whatever fires, has a timeout that can fire, and a watermark.

    A source that is idle holds the watermark back, which is worth a warning.
    """
    spec = workload.spec
    idle = "idle" in spec or "idleFrom" in spec
    return spec.get("profile") == HEALTHY and spec.get("timeout") != "none" and not idle


def _compare(
    workload: Workload, batch: int, report: Report, truths: Mapping[Key, Truth | None], score: Score
) -> None:
    score.judged += len(truths)
    score.leftovers += sum(truth is not None for truth in truths.values())
    said: set[Key] = set()
    for row in report.primary.rows:
        key = row["operator_id"], row["key_hex"]
        said.add(key)
        found = fault(workload, batch, row, truths.get(key))
        place = row["certainty"], _inference(row)
        (score.wrong if found else score.right)[place] += 1
        if found:
            score.examples.append(f"{workload.name} batch {batch} {key}: {place}: {found}")
    for table in report.tables:
        for row in table.rows if table.name == "undecided_keys" else ():
            key = row["operator_id"], row["key_hex"]
            score.undecided[truths.get(key) is not None] += key not in said
            said.add(key)
    window = report.summary.get("proof_from_batch") or 0
    for key, truth in truths.items():
        if truth is not None and key not in said and truth.batch >= window:
            score.silent += 1
            score.examples.append(f"{workload.name} batch {batch} {key}: silent: {truth}")


def fault(workload: Workload, batch: int, row: Mapping[str, Any], truth: Truth | None) -> str:
    """What is wrong with a claim; empty if nothing is."""
    if row["class"] == PAST:
        evict = next(
            op["evict"] for op in workload.batches[batch]["ops"] if op["op"] == row["operator_id"]
        )
        kept = workload.spec.get("mode") == "complete" and row["clock_ms"] <= evict
        return "" if kept else f"no row of {workload.spec.get('mode')} mode is left"
    if truth is None:
        return f"{row['class']} of a key that is none"
    # Of a timer that stands, the batch claimed is the first that is sure to have fired it.
    stands = truth.kind == "ignored_timeout" and row["expired_batch"] > truth.batch
    claims = {
        "class": row["class"] == truth.kind,
        "batch": row["expired_batch"] in (None, truth.batch) or stands,
        "timer": row["clock_ms"] in (None, truth.timer),
        "first batch": (row["first_expired_batch"] or truth.first) >= truth.first,
        "times": (row["fired"] or 0) <= truth.fired,
    }
    return ", ".join(word for word, holds in claims.items() if not holds) and f"{row} is {truth}"


def _truths(workload: Workload) -> Iterator[tuple[int, dict[Key, Truth | None]]]:
    """By batch, every key of every function and what it is."""
    states: dict[int, dict[Key, Truth | None]] = {batch: {} for batch in workload.batches}
    for operator, calls in operators_with_calls(workload).items():
        runs = Runs(calls, pandas=workload.is_pandas)
        after = dict(replay(calls, pandas=workload.is_pandas))
        state: State = {}
        for batch in sorted(workload.batches):
            state = after.get(batch, state)
            due_at = _threshold(workload, operator, batch)
            for key, entry in state.items():
                hexed = key_hex(key) if workload.is_pandas else key
                states[batch][operator, hexed] = runs.truth(key, entry, batch, due_at)
    yield from states.items()


def _threshold(workload: Workload, operator: int, batch: int) -> int | None:
    """What timers are held against in a batch; None without a timeout."""
    spec, entry = workload.spec, workload.batches[batch]
    kind = spec.get(f"timeout{operator}", spec.get("timeout", "none"))
    if "switchAt" in spec and entry["run"] >= int(spec["switchAt"]):
        kind = {"event": "processing", "processing": "event"}[kind]
    if kind == "none":
        return None
    evict = next((op["evict"] for op in entry["ops"] if op["op"] == operator), entry["W"])
    return int(evict if kind == "event" else entry["P"])


class Runs:
    """The calls for timeouts with which each key's history ends, at any batch."""

    def __init__(self, calls: list[Call], *, pandas: bool) -> None:
        self._pandas = pandas
        self._calls: dict[str, list[Call]] = {}
        for call in calls:
            self._calls.setdefault(call["k"], []).append(call)

    def truth(self, key: str, entry: Entry, batch: int, due_at: int | None) -> Truth | None:
        """What a key with this row is after a batch."""
        if due_at is None:
            return None
        ended = self._timed_at_end(key, entry, batch)
        if entry.timer != NO_TIMER and entry.timer < due_at:
            if not self._pandas:
                raise AccountError(f"{key}: a timer of Scala that has run out stands, {entry}")
            since = [call["b"] for call in ended if call["b"] > entry.last_put_batch]
            return Truth("ignored_timeout", since[0], entry.timer, since[0], len(since))
        if not entry.last_put_timed:
            return None
        kind = "kept_without_timeout" if entry.timer == NO_TIMER else "rearmed"
        until = [call["b"] for call in ended if call["b"] <= entry.last_put_batch]
        timer = NO_TIMER if entry.previous_timer is None else entry.previous_timer
        return Truth(kind, entry.last_put_batch, timer, until[0], len(until))

    def _timed_at_end(self, key: str, entry: Entry, batch: int) -> list[Call]:
        """The calls for timeouts behind the last call for data that wrote; oldest first."""
        found: list[Call] = []
        for call in reversed(self._calls[key]):
            if call["b"] > batch:
                continue
            if not call["timed"]:
                quiet = self._pandas and call["o"] == "N" and call["set"] == NO_TIMER
                if quiet or call["b"] > entry.last_put_batch:
                    continue
                break
            found.append(call)
        return found[::-1]


def table(scores: Mapping[str, Score]) -> str:
    """The scores by family, as Markdown."""
    head = (
        "| family | batches | keys x batches | leftovers | proven right | wrong | inferred right "
        "| wrong | undecided: leftovers | others | silent |\n|---|" + "---:|" * 10
    )
    total = sum(scores.values(), Score())
    rows = [_row(name, score) for name, score in [*sorted(scores.items()), ("all", total)]]
    return "\n".join([head, *rows])


def _row(name: str, score: Score) -> str:
    cells = [score.batches, score.judged, score.leftovers]
    for certainty in (Certainty.PROVEN, Certainty.INFERRED):
        cells += [score.claims(certainty, score.right), score.claims(certainty, score.wrong)]
    cells += [score.undecided[True], score.undecided[False], score.silent]
    return f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |"


def inferences(score: Score) -> list[str]:
    """Each kind of inference and how often it was right."""
    word = Certainty.INFERRED.value
    names = sorted({name for kind, name in (*score.right, *score.wrong) if kind == word})
    return [
        f"{name}: {score.right[word, name]:,} of "
        f"{score.right[word, name] + score.wrong[word, name]:,} right"
        for name in names
    ]


def _inference(row: Mapping[str, Any]) -> str:
    """The inference that a claim rests on, by its name; empty for a proof."""
    if row["certainty"] != Certainty.INFERRED.value:
        return ""
    if row["reason"] in (AMONG_DATA, NO_LOG_ENTRY):
        kept = row["class"] == LeftoverClass.KEPT_WITHOUT_TIMEOUT.value
        return str((Needs.KEPT_BY_HABIT if kept else Needs.REARMED_BY_HABIT).value)
    return _BY_REASON[row["reason"]]


_BY_REASON = {
    COMPLETE: "complete-mode",
    NEIGHBOURS: "clock-of-neighbours",
    BEFORE: Needs.BEFORE_WINDOW.value,
}
