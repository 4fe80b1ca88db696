"""Precision and recall of what is said of state variables, by the log of the processor's calls.

    python scripts/lab/score_variables.py FOLDER [--only REGEX]

A case is any folder with a checkpoint of transformWithState (``checkpoint/`` or ``ck/``) and
``expected_leftovers.json``, which ``make_fixtures.py`` makes of the calls that the processor logged
(``fixtures/state_from_calls.py``), and not of the checkpoint:

* ``expired_value``: a proven leftover of a variable (finding SS212).
* ``past_timer``: a proven leftover of the timers (SS213), or undecided, where the judged batch set
  it.
* ``timer_without_state``: counted by finding SS214.

Exit code 1 if something proven is not in the log, or something of the log was missed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from score_leftovers import checkpoint_of

from inspector import api
from inspector.discovery.checkpoint import open_checkpoint
from inspector.operators.transform_with_state import NAMES, Family

VALUE, TIMER, BARE = "expired_value", "past_timer", "timer_without_state"
Label = tuple[str, str, int | None]
"""Store or class, key, and the time that the log has."""


@dataclass(frozen=True)
class Score:
    """What is said of one class in one case, against what the log says.

    Attributes:
        labelled: by the log. proven: said as proven. undecided: said as undecided.
        wrong: proven, and not in the log. missed: in the log, and neither proven nor undecided.
    """

    labelled: int
    proven: int
    undecided: int
    wrong: int
    missed: int

    @property
    def cells(self) -> tuple[str, ...]:
        """As the table has them."""
        precision = f"{(self.proven - self.wrong) / self.proven:.3f}" if self.proven else "-"
        recall = f"{1 - self.missed / self.labelled:.3f}" if self.labelled else "-"
        counts = (self.labelled, self.proven, self.undecided)
        return (*map(str, counts), precision, recall)


def cases(folder: Path, only: str) -> Iterator[Path]:
    """Every folder below one with a checkpoint of transformWithState and labels."""
    for file in sorted(folder.rglob("expected_leftovers.json")):
        path = checkpoint_of(file.parent)
        if path is not None and re.search(only, file.parent.name):
            operators = open_checkpoint(str(path)).operators
            if any(operator.name in NAMES for operator in operators):
                yield file.parent


def scores(case: Path) -> dict[str, Score]:
    """By class."""
    path = str(checkpoint_of(case))
    labels: list[dict[str, Any]] = json.loads((case / "expected_leftovers.json").read_text())
    report = api.leftovers(path)
    proven = by_class(path, report.primary.rows)
    open_ = by_class(path, next((t.rows for t in report.tables if t.name == "undecided_keys"), ()))
    result: dict[str, Score] = {}
    for kind in (VALUE, TIMER):
        expected = Counter(label_of(row) for row in labels if row["class"] == kind)
        sure, unsure = proven[kind], open_[kind]
        result[kind] = Score(
            expected.total(),
            sure.total(),
            unsure.total(),
            (sure - expected).total(),
            (expected - sure - unsure).total(),
        )
    bare = sum(row["class"] == BARE for row in labels)
    actual = sum(finding.rows or 0 for finding in report.findings if finding.kind.id == "SS214")
    result[BARE] = Score(bare, actual, 0, max(actual - bare, 0), max(bare - actual, 0))
    return result


def label_of(row: dict[str, Any]) -> Label:
    """What the log says of a leftover."""
    return row.get("var", TIMER), str(row["key"]), row["ms"]


def by_class(path: str, rows: Any) -> dict[str, Counter[Label]]:
    """What is reported, as the log would say it."""
    operators = {operator.operator_id: operator for operator in open_checkpoint(path).operators}
    result: dict[str, Counter[Label]] = {VALUE: Counter(), TIMER: Counter()}
    for row in rows:
        store, key = row["store_name"], row["key"]
        timer = operators[row["operator_id"]].family(store) is Family.TIMERS
        name = TIMER if timer else store
        grouping = key.get("key", key) if isinstance(key, dict) else key
        user = next(iter(grouping.values())) if isinstance(grouping, dict) else grouping
        result[TIMER if timer else VALUE][name, str(user), row["clock_ms"]] += 1
    return result


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="regular expression on the case's name")
    args = parser.parse_args()
    print("CASE  CLASS  LABELLED  PROVEN  UNDECIDED  PRECISION_PROVEN  RECALL")
    bad = lines = 0
    for case in cases(args.folder, args.only):
        for kind, item in scores(case).items():
            print("  ".join((case.name, kind, *item.cells)))
            bad += bool(item.wrong or item.missed)
            lines += 1
    print(f"{lines - bad} of {lines} lines without a wrong and without a missed one")
    return 1 if bad or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
