"""What the inspector says of a workload at every batch, held against the workload's own account.

A key is a leftover at batch N if the last put of its row was made by a call for a timeout, or if a
timer that had run out by the operator's own clock stands after the batch. Everything that is
claimed of one is compared: its class, the batch, the timer, and the run of timeouts.

What transformWithState holds is rebuilt by fixtures/state_from_calls.py, and compared by variable,
key and time. Spark wrote all of these checkpoints, so that whatever is said to be damaged is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from fixtures.state_from_calls import Held
from score_variables import TIMER, VALUE, by_class, label_of
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

from fixtures import state_from_calls
from inspector import api
from inspector.facts.expired import LeftoverClass, Needs
from inspector.facts.timed_out import AMONG_DATA, BEFORE, NO_LOG_ENTRY, UNSEEN
from inspector.findings.finding import Finding
from inspector.merge.resolution import NEIGHBOURS
from inspector.model import Certainty
from inspector.operators.aggregation import COMPLETE
from inspector.render.report import Report

Key = tuple[int, str]
"""Operator id, and the key's UnsafeRow in hex."""
PAST = "past_watermark"
UNDECIDED = "undecided_keys"
NOT_RESTORABLE = "missing-version"
HEALTHY = "healthy"
DAY_MS = 86_400_000
JOIN = "symmetricHashJoin"
BY_WATERMARK = ("stateStoreSave", "dedupe", "sessionWindowStateStoreSave")


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


LeftoverKey = tuple[str, int, str, str]
"""Workload, operator id, state variable or class, and key: the unit in which leftovers count."""


@dataclass(frozen=True)
class Keys:
    """Keys by what was said of them at any batch. Adds.

    Attributes:
        leftover: keys that are a leftover after some batch, by the calls.
        proven, inferred: keys rightly called a leftover, by the certainty.
        wrong: keys that were wrongly called a leftover, or with a wrong batch, timer or class.
        undecided, silent: keys that were left open, or passed over, while they were a leftover.
        kept: rows rightly inferred to stay in complete mode, which the calls do not show.
    """

    leftover: frozenset[LeftoverKey] = frozenset()
    proven: frozenset[LeftoverKey] = frozenset()
    inferred: frozenset[LeftoverKey] = frozenset()
    wrong: frozenset[LeftoverKey] = frozenset()
    undecided: frozenset[LeftoverKey] = frozenset()
    silent: frozenset[LeftoverKey] = frozenset()
    kept: frozenset[LeftoverKey] = frozenset()

    def __add__(self, operand: Keys) -> Keys:
        return Keys(*(getattr(self, name) | getattr(operand, name) for name in vars(self)))

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of leftover keys, and of each by the best that was ever said of it.

        The others are proven, inferred, undecided and passed over. Then the keys that something
        wrong was said of, and the rows of complete mode.
        """
        best, remainder = [], self.leftover
        for group in (self.proven, self.inferred, self.undecided):
            best.append(len(remainder & group))
            remainder -= group
        return (len(self.leftover), *best, len(remainder), len(self.wrong), len(self.kept))


@dataclass
class Score:
    """What was said and what was so, over all batches of some workloads. Adds.

    Attributes:
        workloads: how many; keys: of their functions, each counted once.
        judged: keys times batches; leftovers: those that are one; batches: that were judged.
        right, wrong: claims by certainty and name of the inference.
        undecided: keys left open, by whether they are leftovers.
        silent: leftovers of which nothing is said, though their last put can be read.
        warnings: workloads by finding that warns though the workload is healthy.
        damage: workloads by finding that calls the checkpoint damaged.
        never: what is said of rows that no rule ever removes (SS201), by its certainty and severity
            and whether the executed plan has none.
        examples: of what is wrong.
    """

    workloads: int = 0
    keys: Keys = Keys()
    judged: int = 0
    leftovers: int = 0
    batches: int = 0
    right: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: Counter[tuple[str, str]] = field(default_factory=Counter)
    undecided: Counter[bool] = field(default_factory=Counter)
    silent: int = 0
    warnings: Counter[str] = field(default_factory=Counter)
    damage: Counter[str] = field(default_factory=Counter)
    never: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def __add__(self, operand: Score) -> Score:
        return Score(*(getattr(self, name) + getattr(operand, name) for name in vars(self)))

    def claims(self, certainty: Certainty, choice: Counter[tuple[str, str]]) -> int:
        """How many right or wrong claims of a certainty there are."""
        return sum(count for (word, _), count in choice.items() if word == certainty.value)


def judge(workload: Workload) -> Score:
    """Judge a workload at every batch that can be restored."""
    truths = dict(_truths(workload))
    score = Score(workloads=1)
    variables = dict(_variables(workload))
    path = str(workload.folder / "checkpoint")
    warned: set[str] = set()
    findings = api.audit(path).findings
    damage = {f.kind.id for f in findings if is_damage(f)}
    score.never.update(_never(workload, findings))
    for batch in sorted(workload.batches):
        options = api.Options(batch=batch)
        report = api.leftovers(path, options)
        if any(problem.slug == NOT_RESTORABLE for problem in report.problems):
            continue
        score.batches += 1
        _compare(workload, batch, report, truths.get(batch, {}), score)
        for operator, stored in variables.get(batch, {}).items():
            if f"timeMode{operator}" in workload.spec:  # corpora of others do not say it
                _compare_variables(workload, operator, batch, report, stored, score)
        damage |= {f.kind.id for f in report.findings if is_damage(f)}
        if is_healthy(workload):
            warned |= {f.kind.id for f in report.findings if f.severity.word != "info"}
    if ran_again_in_another_mode(workload):
        damage.discard("SS104")
    score.warnings.update(warned)
    score.damage.update(damage)
    return score


def _never(workload: Workload, findings: Iterable[Finding]) -> Iterator[tuple[str, str, bool]]:
    """Each SS201 of an operator whose plan says whether it has a predicate by which rows go."""
    newest = max(workload.batches)
    plan = {operator["op"]: operator for operator in workload.batches[newest]["ops"]}
    remaining = workload.word("mode", newest) == "complete"
    for finding in findings:
        operator = plan.get(finding.operator_id, {})
        if finding.kind.id != "SS201" or " is null in " in finding.evidence:
            continue
        if operator.get("name") == JOIN:
            side = f"{(finding.store_name or '').split('-')[0]} = null"
            goes = side not in operator["pred"] and bool(operator["pred"])
        elif operator.get("name") in BY_WATERMARK and "goes" in operator:
            goes = operator["goes"] and not remaining
        else:
            continue
        yield finding.certainty.value, finding.severity.word, not goes


def is_damage(finding: Finding) -> bool:
    """Whether a finding says that state is damaged, which that of Spark is not."""
    return finding.kind.id.startswith("SS1") and finding.severity.word != "info"


def ran_again_in_another_mode(workload: Workload) -> bool:
    """Whether a batch wrote state, failed, and ran again as that of another query.

    The snapshot of the first attempt may then hold other rows than the changelog of the second,
    and a restart loads it (tests/spark/test_claims.py).
    """
    spec = workload.spec
    otherwise = "mode:" in spec.get("later", "") or "keepFailed" in spec
    return spec.get("failHow") == "sink" and otherwise


def is_healthy(workload: Workload) -> bool:
    """Whether its function removes whatever fires, has a timeout that can fire, and a watermark.

    A source that is idle holds the watermark back, and times of the far future, or ones a day
    ahead of the batch clock, bring it there, which is worth a warning; a plan may have operators
    without a watermark, which is, too.
    """
    spec = workload.spec
    future = spec.keys() & {"pMax", "pFar", "delayWords"} or int(spec.get("ahead", 0)) <= -DAY_MS
    idle = "idle" in spec or "idleFrom" in spec
    functions = spec.get("profile") == HEALTHY and spec.get("then", HEALTHY) == HEALTHY
    return functions and spec.get("timeout") != "none" and not (idle or future or "plan" in spec)


def _compare(
    workload: Workload, batch: int, report: Report, truths: Mapping[Key, Truth | None], score: Score
) -> None:
    score.judged += len(truths)
    score.leftovers += sum(truth is not None for truth in truths.values())
    result: set[Key] = set()
    sets = _KeySets(workload.name)
    sets.add("leftover", (key for key, truth in truths.items() if truth is not None))
    for row in _rows(report, workload):
        key = row["operator_id"], row["key_hex"]
        result.add(key)
        actual = fault(workload, batch, row, truths.get(key))
        location = row["certainty"], _inference(row)
        (score.wrong if actual else score.right)[location] += 1
        is_kept = row["class"] == PAST and not actual
        sets.add("wrong" if actual else "kept" if is_kept else row["certainty"], [key])
        if actual:
            score.examples.append(f"{workload.name} batch {batch} {key}: {location}: {actual}")
    for row in _rows(report, workload, undecided=True):
        key = row["operator_id"], row["key_hex"]
        score.undecided[truths.get(key) is not None] += key not in result
        result.add(key)
        sets.add("undecided", [key])
    window = report.summary.get("proof_from_batch") or 0
    for key, truth in truths.items():
        if truth is not None and key not in result and truth.batch >= window:
            score.silent += 1
            sets.add("silent", [key])
            score.examples.append(f"{workload.name} batch {batch} {key}: silent: {truth}")
    score.keys += sets.keys()


class _KeySets:
    """Collects the keys of one workload by what is said of them."""

    def __init__(self, workload: str) -> None:
        self._workload = workload
        self._sets: dict[str, set[LeftoverKey]] = {}

    def add(self, name: str, keys: Iterable[Key], variable: str = "") -> None:
        """Add keys to a field of :class:`Keys`; ``variable`` is the state variable that they have.

        The certainties ``proven`` and ``inferred`` are fields.
        """
        result = ((self._workload, operator, variable, key) for operator, key in keys)
        self._sets.setdefault(name, set()).update(result)

    def keys(self) -> Keys:
        """Return what was collected."""
        return Keys(**{name: frozenset(item) for name, item in self._sets.items()})


def _rows(
    report: Report, workload: Workload, operator: int | None = None, *, undecided: bool = False
) -> list[Mapping[str, Any]]:
    """What is said of a transformWithState, or of all other operators."""
    tables = [table.rows for table in report.tables if table.name == UNDECIDED]
    rows = (row for table in tables for row in table) if undecided else report.primary.rows
    if operator is not None:
        return [row for row in rows if row["operator_id"] == operator]
    return [row for row in rows if row["operator_id"] not in _processors(workload)]


def _processors(workload: Workload) -> set[int]:
    return {op for op, name in workload.names().items() if name.startswith("transformWithState")}


def _variables(workload: Workload) -> Iterator[tuple[int, dict[int, Held]]]:
    """By batch, what each transformWithState holds after it."""
    result: dict[int, dict[int, Held]] = {batch: {} for batch in workload.batches}
    calls = workload.committed_variables()
    clocks = {batch: entry["P"] for batch, entry in workload.batches.items()}
    for operator in _processors(workload):
        for batch, stored in state_from_calls.replay(
            calls.get(operator, []), clocks, between="evicts" in workload.spec
        ):
            result[batch][operator] = deepcopy(stored)
    yield from result.items()


def _compare_variables(
    workload: Workload, operator: int, batch: int, report: Report, stored: Held, score: Score
) -> None:
    entry, spec = workload.batches[batch], workload.spec
    watermark = next(op["evict"] for op in entry["ops"] if op["op"] == operator)
    clock = {"event": watermark, "processing": entry["P"]}.get(spec[f"timeMode{operator}"])
    path = str(workload.folder / "checkpoint")
    leftovers = state_from_calls.leftovers(stored, clock, entry["P"])
    result = by_class(path, _rows(report, workload, operator))
    unsure = by_class(path, _rows(report, workload, operator, undecided=True))
    score.judged += sum(1 for _ in stored.rows())
    sets = _KeySets(workload.name)
    for kind in (VALUE, TIMER):
        expected = Counter(label_of(row) for row in leftovers if row["class"] == kind)
        proven, wrong = result[kind] & expected, result[kind] - expected
        score.leftovers += expected.total()
        score.right[Certainty.PROVEN.value, ""] += proven.total()
        score.wrong[Certainty.PROVEN.value, ""] += wrong.total()
        score.undecided[True] += (unsure[kind] & expected).total()
        score.undecided[False] += (unsure[kind] - expected).total()
        # Of a batch whose log entry is gone no clock is known.
        is_known = batch >= (report.summary.get("proof_from_batch") or 0)
        silent = expected - proven - unsure[kind] if is_known else Counter[Any]()
        score.silent += silent.total()
        groups = {
            "leftover": expected,
            "proven": proven,
            "wrong": wrong,
            "undecided": unsure[kind] & expected,
            "silent": silent,
        }
        for name, labels in groups.items():
            for variable, key, _ in labels:
                sets.add(name, [(operator, key)], variable)
        location = f"{workload.name} batch {batch} operator {operator}"
        score.examples += [f"{location}: {kind} that is none: {label}" for label in wrong]
        score.examples += [f"{location}: silent: {kind} {label}" for label in silent]
    score.keys += sets.keys()


def fault(workload: Workload, batch: int, row: Mapping[str, Any], truth: Truth | None) -> str:
    """What is wrong with a claim; empty if nothing is."""
    if row["class"] == PAST:
        operators = workload.batches[batch]["ops"]
        operator = next(op for op in operators if op["op"] == row["operator_id"])
        evict = operator["evict"]
        # A watermark that a restart put on another column removes none either.
        mode = workload.word("mode", batch) if operator.get("goes", True) else "complete"
        if workload.word("wm", batch) == "false":  # what has a watermark stays for good
            evict = workload.batches[batch]["W"]
            mode = "complete"
        return "" if mode == "complete" and row["clock_ms"] <= evict else f"no row of {mode} mode"
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
        pandas = workload.is_pandas(operator)
        runs = Runs(calls, pandas=pandas)
        after = dict(replay(calls, pandas=pandas))
        state: State = {}
        for batch in sorted(workload.batches):
            state = after.get(batch, state)
            due_at = _threshold(workload, operator, batch)
            for key, entry in state.items():
                hexed = key_hex(key) if pandas else key
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
        result: list[Call] = []
        for call in reversed(self._calls[key]):
            if call["b"] > batch:
                continue
            if not call["timed"]:
                quiet = self._pandas and call["o"] == "N" and call["set"] == NO_TIMER
                if quiet or call["b"] > entry.last_put_batch:
                    continue
                break
            result.append(call)
        return result[::-1]


def keys_table(scores: Mapping[str, Score]) -> str:
    """The leftovers by family, each key counted once, as Markdown."""
    names = "leftover keys | proven | inferred | undecided | passed over | wrong | complete mode"
    head = f"| family | workloads | batches | {names} | false damage |\n|---|" + "---:|" * 10
    total = sum(scores.values(), Score())
    rows = []
    for name, score in [*sorted(scores.items()), ("all", total)]:
        cells = (score.workloads, score.batches, *score.keys.counts, score.damage.total())
        rows.append(f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return "\n".join([head, *rows])


def table(scores: Mapping[str, Score]) -> str:
    """The scores by family, each key counted at every batch, as Markdown."""
    head = (
        "| family | batches | keys x batches | leftovers | proven right | wrong | inferred right "
        "| wrong | undecided: leftovers | others | silent | false damage |\n|---|" + "---:|" * 11
    )
    total = sum(scores.values(), Score())
    rows = [_row(name, score) for name, score in [*sorted(scores.items()), ("all", total)]]
    return "\n".join([head, *rows])


def _row(name: str, score: Score) -> str:
    cells = [score.batches, score.judged, score.leftovers]
    for certainty in (Certainty.PROVEN, Certainty.INFERRED):
        cells += [score.claims(certainty, score.right), score.claims(certainty, score.wrong)]
    cells += [score.undecided[True], score.undecided[False], score.silent, score.damage.total()]
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
        remaining = row["class"] == LeftoverClass.KEPT_WITHOUT_TIMEOUT.value
        return str((Needs.KEPT_BY_HABIT if remaining else Needs.REARMED_BY_HABIT).value)
    return _BY_REASON[row["reason"]]


_BY_REASON = {
    COMPLETE: "complete-mode",
    NEIGHBOURS: "clock-of-neighbours",
    UNSEEN: "unseen-rewrites",
    BEFORE: Needs.BEFORE_WINDOW.value,
}
