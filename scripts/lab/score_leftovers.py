"""Precision and recall of ``leftovers`` on labelled checkpoints, per case, class and certainty.

    python scripts/lab/score_leftovers.py FOLDER [--only REGEX]

A case is any folder with a checkpoint (``checkpoint/`` or ``ck/``) and labels:

* ``expected_leftovers.json``: the account of the query's own function (group state).
* otherwise ``truth.jsonl.gz``, ``manifest.json`` and the offset log: a row of Spark's own state
  whose field the watermark of the judged batch covers (``label``: window end, session end, event
  time, ``expiresAtMicros``) and that is still there is a leftover.

What expired before the oldest batch in the log is not asked for, but has to be right where it is
told; keys that are reported as expired before the window are scored on a line of their own. Exit
code 1 if a proven leftover is none, or a labelled one is missing among proven and inferred.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspector import api
from inspector.discovery.checkpoint import Checkpoint, open_checkpoint
from inspector.operators.rule import event_time_field
from inspector.sparktypes import StructType
from inspector.sparktypes.schema_json import parse_schema_json

Label = tuple[str, str, int | None]
"""Key, class, and the batch in which it expired, where the labels have it."""

PAST, KEPT = "past_watermark", "kept_without_timeout"
GROUP_STATE = ("flatMapGroupsWithState", "applyInPandasWithState")


@dataclass
class Score:
    """Reported and labelled leftovers of one class in one case."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: int = 0
    labelled: int = 0

    @property
    def bad(self) -> bool:
        """A proven one is wrong, or one was missed."""
        return bool(self.wrong["proven"] or self.missed)


def checkpoint_of(case: Path) -> Path | None:
    """The checkpoint of a case."""
    return next((path for path in (case / "checkpoint", case / "ck") if path.is_dir()), None)


def cases(folder: Path, only: str) -> list[Path]:
    """Every folder below one that holds a checkpoint and labels."""
    labels = {
        p.parent
        for name in ("truth.jsonl.gz", "expected_leftovers.json")
        for p in folder.rglob(name)
    }
    return sorted(case for case in labels if checkpoint_of(case) and re.search(only, case.name))


def labels_of(case: Path, checkpoint: Checkpoint) -> dict[Label, dict[str, Any]] | None:
    """The leftovers that a case's labels name; None where they say nothing."""
    file = case / "expected_leftovers.json"
    oldest = min(checkpoint.logs.clocks, default=0)
    if file.is_file():
        content = json.loads(file.read_text())
        rows = content["leftovers"] if isinstance(content, dict) else content
        return {
            (_word(row["key"]), row["class"], row["expired_batch"]): row
            for row in rows
            if row["expired_batch"] >= oldest
        }
    if any(operator.name in GROUP_STATE for operator in checkpoint.operators):
        return None
    return {label: {} for label in _past_watermark(case, checkpoint)}


def _past_watermark(case: Path, checkpoint: Checkpoint) -> Iterator[Label]:
    """Rows of Spark's own account whose time the judged batch's watermark covered."""
    version = checkpoint.newest_version
    clock = checkpoint.clock(version)
    watermark = (clock.watermark_ms if clock else None) or 0
    judged = {
        operator.operator_id
        for operator in checkpoint.operators
        if "symmetricHashJoin" not in {operator.name, *(item.name for item in operator.upstream)}
    }
    schemas = json.loads((case / "schemas.json").read_text())
    times = {
        (element["op"], element["store"]): result
        for element in schemas
        if element["op"] in judged
        and (
            result := _time_of(
                *(parse_schema_json(json.dumps(element[s])) for s in ("key", "value"))
            )
        )
    }
    with gzip.open(case / "truth.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            time = times.get((row["op"], row["store"]))
            if row["ver"] != version or time is None or not watermark:
                continue
            side, schema, ordinal, window = time
            micros = _long_at(
                bytes.fromhex(row["kx" if side == "k" else "vx"]), schema, ordinal, window=window
            )
            if micros is not None and micros <= watermark * 1000:
                yield row["kx"], PAST, None


def _time_of(key: StructType, value: StructType) -> tuple[str, StructType, int, bool] | None:
    for side, schema in (("k", key), ("v", value)):
        result = event_time_field(schema)
        if result is not None:
            return side, schema, result[0], isinstance(result[1].data_type, StructType)
    if [column.name for column in value.fields] == ["expiresAtMicros"]:
        return "v", value, 0, False
    return None


def _long_at(row: bytes, schema: StructType, ordinal: int, *, window: bool) -> int | None:
    """A long of an UnsafeRow, or a window's end; written apart from the inspector's decoder."""
    bits = (len(schema.fields) + 63) // 64 * 8
    if row[ordinal >> 3] >> (ordinal & 7) & 1:
        return None
    slot = int.from_bytes(row[bits + 8 * ordinal :][:8], "little", signed=True)
    if not window:
        return slot
    inner = row[slot >> 32 :]
    return int.from_bytes(inner[16:24], "little", signed=True)


def score(case: Path) -> dict[str, Score] | None:
    """The scores of a case by class; None where its labels say nothing."""
    path = str(checkpoint_of(case))
    checkpoint = open_checkpoint(path)
    labels = labels_of(case, checkpoint)
    if labels is None:
        return None
    by_log = (case / "expected_leftovers.json").is_file()
    scores: dict[str, Score] = {}
    left = dict(labels)
    earlier = range(min(checkpoint.logs.clocks, default=0))
    for row in api.leftovers(path, _options(case, checkpoint)).primary.rows:
        before = row["expired_batch"] is None
        name = f"{row['class']} before window" if before else row["class"]
        item = scores.setdefault(name, Score())
        label = _label(row, by_log=by_log)
        result = _before(case, label) if before else left.pop(label, None)
        if result is None and by_log and row["expired_batch"] in earlier:
            actual = _before(case, label)
            result = actual if actual and actual["expired_batch"] == row["expired_batch"] else None
            item.labelled += result is not None
        good = result is not None and _agrees(result, row, before=before)
        (item.right if good else item.wrong)[row["certainty"]] += 1
    for label in left:
        scores.setdefault(label[1], Score()).missed += 1
    for label in labels:
        scores.setdefault(label[1], Score()).labelled += 1
    return scores


def _options(case: Path, checkpoint: Checkpoint) -> api.Options:
    """With the schemas that Spark had, for checkpoints without any (Spark 3.0 and older)."""
    file = case / "schemas.json"
    if any(operator.schemas for operator in checkpoint.operators) or not file.is_file():
        return api.Options()
    entries = json.loads(file.read_text())
    texts = {
        side: tuple(f"{e['op']}:{e['store']}={json.dumps(e[side])}" for e in entries)
        for side in ("key", "value")
    }
    return api.Options(key_schemas=texts["key"], value_schemas=texts["value"])


def _label(row: Any, *, by_log: bool) -> Label:
    if by_log:
        return _word(_key(row["key"])), row["class"], row["expired_batch"]
    return row["key_hex"], row["class"], None


def _before(case: Path, label: Label) -> dict[str, Any] | None:
    """A key that the log of calls knows as kept, whenever that was."""
    content = json.loads((case / "expected_leftovers.json").read_text())
    rows = content["leftovers"] if isinstance(content, dict) else content
    return next((r for r in rows if (_word(r["key"]), r["class"]) == label[:2]), None)


def _agrees(label: dict[str, Any], row: Any, *, before: bool) -> bool:
    """The run of timeouts too, where the labels have it and it is claimed to be known."""
    if before or row["certainty"] != "proven":
        return True
    if "fired" not in label:
        return True
    # The run is claimed to be at least so long.
    later = row["first_expired_batch"] >= label["first_expired_batch"]
    return bool(row["fired"] <= label["fired"] and later)


def _key(key: Any) -> Any:
    return next(iter(key.values())) if isinstance(key, dict) and len(key) == 1 else key


def _word(key: Any) -> str:
    return str(list(key.values()) if isinstance(key, dict) else key)


def _share(part: int, complete: int) -> str:
    return f"{part / complete:.3f}" if complete else "-"


def main() -> int:
    """Print the table; 1 if a proven leftover is wrong or a labelled one was missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="regular expression on the case's name")
    args = parser.parse_args()
    head = (
        "CASE",
        "CLASS",
        "LABELLED",
        "PROVEN",
        "INFERRED",
        "PRECISION_PROVEN",
        "PRECISION",
        "RECALL_PROVEN",
        "RECALL",
    )
    lines: list[tuple[str, ...]] = [head]
    bad = healthy = 0
    for case in cases(args.folder, args.only):
        scores = score(case)
        name = str(case.relative_to(args.folder))
        if scores is not None and not scores:
            healthy += 1
            lines.append((name, "none", "0", "0", "0", "-", "-", "-", "-"))
        for kind, item in sorted((scores or {}).items()):
            bad += item.bad
            lines.append((name, kind, *_figures(item)))
    for line in lines:
        print("  ".join(f"{cell:<{_width(lines, i)}}" for i, cell in enumerate(line)).rstrip())
    print(
        f"{len(lines) - 1 - bad} of {len(lines) - 1} lines without a wrong proven leftover and "
        f"without a missed one; {healthy} healthy cases have none"
    )
    return 1 if bad or len(lines) == 1 else 0


def _figures(item: Score) -> tuple[str, ...]:
    right, wrong = item.right, item.wrong
    proven, every = right["proven"] + wrong["proven"], right.total() + wrong.total()
    return (
        str(item.labelled),
        str(proven),
        str(every - proven),
        _share(right["proven"], proven),
        _share(right.total(), every),
        _share(right["proven"], item.labelled),
        _share(right.total(), item.labelled),
    )


def _width(lines: list[tuple[str, ...]], column: int) -> int:
    return max(len(line[column]) for line in lines)


if __name__ == "__main__":
    sys.exit(main())
