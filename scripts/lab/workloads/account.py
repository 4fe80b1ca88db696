"""State rebuilt from the log of calls, and compared with Spark's own rows.

The write rules of the two kinds of function, for a call that left the timer `set` (-1 if it set
none) and found `stored` in state:

* Scala: removed and no timer: the row goes. Otherwise, if the function updated or removed, or if
  the timer is not the stored one, the state (or null) is put with the new timer.
* Python: the same, but a timer is compared with -1 in place of the stored one. So a call that does
  nothing leaves the old timer in place.
"""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

Call = dict[str, Any]

NO_TIMER = -1
PANDAS = "applyInPandasWithState"
NO_TIMER_FIELD = -9
"""What ``store.jsonl`` has where the value has no field for a timer."""


@dataclass(frozen=True)
class Entry:
    """The row of one key, and how it came to be.

    `previous_timer` is the timer that the row had before its last put, None if there was no row.
    `quiet_calls` counts the calls since the last put, which wrote nothing.
    """

    timer: int
    null: bool
    last_put_batch: int
    last_put_run: int
    last_put_timed: bool
    last_put_act: str
    previous_timer: int | None
    first_put_batch: int
    quiet_calls: int = 0
    last_call: Call | None = None


State = dict[str, Entry]


@dataclass(frozen=True)
class Workload:
    """What lies in the folder of one workload."""

    folder: Path
    name: str
    spec: dict[str, str]
    problem: str
    calls: list[Call]
    batches: dict[int, dict[str, Any]]
    store: list[dict[str, Any]]
    variables: list[dict[str, Any]] = field(default_factory=list)

    def names(self) -> dict[int, str]:
        """The operators by id, 0 nearest the sink."""
        newest = list(self.batches.values())[-1:]
        return {operator["op"]: operator["name"] for batch in newest for operator in batch["ops"]}

    def word(self, name: str, batch: int) -> str | None:
        """What a word of the workload's line was when a batch ran."""
        later = dict(pair.split(":") for pair in self.spec.get("later", "").split(",") if pair)
        changed = later if later and self.batches[batch]["run"] else {}
        return changed.get(name, self.spec.get(name))

    def is_pandas(self, operator: int) -> bool:
        """Whether the function of an operator is Python's."""
        return self.names().get(operator) == PANDAS

    def committed_calls(self) -> list[Call]:
        """Calls of the attempts whose batch was committed; of tasks, the last attempt."""
        result = [call for call in self.calls if self._was_committed(call["b"], call["run"])]
        attempts: dict[tuple[int | None, ...], int] = {}
        for call in result:
            task = call["b"], call.get("p"), call.get("op")
            attempts[task] = max(attempts.get(task, 0), call.get("att", 0))
        return [
            call
            for call in result
            if call.get("att", 0) == attempts[call["b"], call.get("p"), call.get("op")]
        ]

    def committed_variables(self) -> dict[int, list[Call]]:
        """By operator, the calls of its processor whose batch was committed."""
        result: dict[int, list[Call]] = defaultdict(list)
        for call in self.variables:
            if self._was_committed(call["batch"], call["run"]):
                result[call["op"]].append(call)
        return result

    def _was_committed(self, batch: int, run: int) -> bool:
        return batch in self.batches and self.batches[batch]["run"] == run


def read(folder: Path) -> Workload:
    """Read all of a workload but its checkpoint."""
    line, *remainder = (folder / "spec.txt").read_text(encoding="utf-8").splitlines()
    name, *words = line.split()
    problem = remainder[0].removeprefix("# ") if remainder else "unfinished"
    return Workload(
        folder,
        name,
        dict(word.split("=", 1) for word in words),
        "" if problem == "ok" else problem,
        # Calls without an operator are of a transformWithState, as corpora of others have them.
        [call for call in _lines(folder / "calls.jsonl") if "op" in call],
        {batch["b"]: batch for batch in _lines(folder / "batches.jsonl")},
        _lines(folder / "store.jsonl"),
        _lines(folder / "variables.jsonl"),
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def replay(calls: Iterable[Call], *, pandas: bool = False) -> Iterator[tuple[int, State]]:
    """Yield the state of one operator after each batch that called its function.

    Args:
        calls: Committed calls of one operator, in the order in which a task made them.
        pandas: Whether the rules are those of applyInPandasWithState.

    Yields:
        A batch and the rows by key. The dictionary is a copy, which is the caller's.
    """
    by_batch: dict[int, list[Call]] = defaultdict(list)
    for call in calls:
        by_batch[call["b"]].append(call)
    state: State = {}
    for batch in sorted(by_batch):
        for call in by_batch[batch]:
            _apply(state, call, pandas=pandas)
        yield batch, dict(state)


def _apply(state: State, call: Call, *, pandas: bool) -> None:
    """Do to the state what Spark does after a call."""
    key, timer, letter = call["k"], call["set"], outcome(call)
    old = state.get(key)
    if old is None and call.get("was") and call["b"] == 0:
        old = state[key] = _initial(call)
    if letter == "R" and timer == NO_TIMER:
        state.pop(key, None)
        return
    compared = NO_TIMER if pandas or old is None else old.timer
    if letter == "N" and timer == compared:
        if old is not None:
            state[key] = replace(old, quiet_calls=old.quiet_calls + 1, last_call=call)
        return
    state[key] = Entry(
        timer=timer,
        null=_null_after(letter, old),
        last_put_batch=call["b"],
        last_put_run=call["run"],
        last_put_timed=call["timed"],
        last_put_act=call["act"],
        previous_timer=old.timer if old else None,
        first_put_batch=old.first_put_batch if old else call["b"],
        last_call=call,
    )


def _initial(call: Call) -> Entry:
    """The row of a key that the query gave a state before its first call."""
    return Entry(NO_TIMER, False, 0, call["run"], False, "U", None, 0)


def outcome(call: Call) -> str:
    """What a call did to the state in the end: U, R or N; ``act`` has it with its detours."""
    return str(call.get("o") or {"X": "R", "Y": "U", "S": "U"}.get(call["act"][0], call["act"][0]))


def _null_after(letter: str, old: Entry | None) -> bool:
    if letter == "N":
        return old is None or old.null
    return letter == "R"


def operators_with_calls(workload: Workload) -> dict[int, list[Call]]:
    """Committed calls by operator id, 0 nearest the sink."""
    functions = ("flatMapGroupsWithState", PANDAS)
    named = [operator for operator, name in workload.names().items() if name in functions]
    result: dict[int, list[Call]] = {operator: [] for operator in named}
    for call in workload.committed_calls():
        operator = call["op"] if call["op"] >= 0 else named[0]
        result.setdefault(operator, []).append(call)
    return result


def check(workload: Workload) -> list[str]:
    """Return how the replayed state differs from Spark's rows of the newest version."""
    if workload.problem:
        return [f"did not run: {workload.problem}"]
    result = []
    for operator, calls in operators_with_calls(workload).items():
        state: State = {}
        pandas = workload.is_pandas(operator)
        for _, state in replay(calls, pandas=pandas):  # noqa: B007 - the last one counts
            pass
        ours = {
            key_hex(key) if pandas else key: (entry.timer, entry.null)
            for key, entry in state.items()
        }
        result += _differences(operator, ours, _rows_of(workload, operator))
    return result


def _rows_of(workload: Workload, operator: int) -> dict[str, tuple[int, bool]]:
    rows = {}
    for row in workload.store:
        if row["op"] == operator:
            timer = NO_TIMER if row["t"] == NO_TIMER_FIELD else row["t"]
            rows[row["k"]] = (timer, row["null0"])
    return rows


def _differences(
    operator: int, ours: dict[str, tuple[int, bool]], theirs: dict[str, tuple[int, bool]]
) -> list[str]:
    return [
        f"operator {operator}, key {key}: by the calls {ours.get(key)}, by Spark {theirs.get(key)}"
        for key in sorted(ours.keys() | theirs.keys())
        if ours.get(key) != theirs.get(key)
    ]


def key_hex(key: str) -> str:
    """The UnsafeRow of a key of Python, given in JSON as pandas_workloads.py writes it."""
    return _row(json.loads(key)).hex()


def _row(values: list[Any]) -> bytes:
    nulls = sum(1 << ordinal for ordinal, value in enumerate(values) if value is None)
    slots, tail = [struct.pack("<Q", nulls)], b""
    for value in values:
        if isinstance(value, dict) and "double" in value:
            slots.append(struct.pack("<d", value["double"]))
        elif isinstance(value, (str, dict)):
            content = _variable(value)
            offset = 8 * (len(values) + 1) + len(tail)
            slots.append(struct.pack("<Q", offset << 32 | len(content)))
            room = 16 if isinstance(value, dict) and "big" in value else -len(content) // 8 * -8
            tail += content + b"\0" * (room - len(content))
        else:
            slots.append(struct.pack("<q", value or 0))
    return b"".join(slots) + tail


def _variable(value: Any) -> bytes:
    """What lies behind the slots of a row: text, bytes, a wide decimal, a row, an array of ints."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    ((kind, content),) = value.items()
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "big":
        size = (content if content >= 0 else ~content).bit_length() // 8 + 1
        return int(content).to_bytes(size, "big", signed=True)
    if kind == "row":
        return _row(content)
    packed = struct.pack(f"<{len(content)}i", *content)
    head = struct.pack("<q", len(content)) + b"\0" * (-len(content) // 64 * -8)
    return head + packed + b"\0" * (-len(packed) % 8)
