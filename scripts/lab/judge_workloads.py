"""Hold what the inspector says of random workloads against what their functions did.

    python scripts/lab/make_workloads.py --out DIR --count 250
    python scripts/lab/judge_workloads.py DIR [DIR ...] [--only REGEX] [--examples N]

Judges every workload at every batch that can be restored and prints, by family, how many leftovers
it has and how many were proven, inferred, left open or missed. The first table counts each key
once, by the best that is said of it at any batch; the second one counts each key at every batch.
Then each kind of inference follows with how often it was right. The totals are those of
inspector/docs/explanation/accuracy.md. A workload whose calls do not account for Spark's rows is
left out. Exit code 1 if a proven leftover is wrong, an inferred one is wrong more than once in
twenty, a healthy workload is warned of, or any is called damaged.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import top_scripts  # noqa: F401 - finds the folder above
from workloads.account import check, read
from workloads.families import TITLES
from workloads.judge import AccountError, Score, inferences, judge, keys_table, table

from inspector.model import Certainty

PRECISION = 0.95
SEVERITIES = ("info", "warning", "error")


def main() -> int:
    """Print the scores; 1 if one is too low."""
    parser = argparse.ArgumentParser(description="Judge the inspector on random workloads.")
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--only", default="", metavar="REGEX", help="those whose name matches")
    parser.add_argument("--examples", type=int, default=5, help="of what is wrong")
    options = parser.parse_args()
    scores: dict[str, Score] = defaultdict(Score)
    warned: dict[str, list[str]] = defaultdict(list)
    damaged: dict[str, list[str]] = defaultdict(list)
    checkpoint = 0
    for name, result in _judged(options.folders, options.only):
        scores[_family(name)] += result
        checkpoint += 1
        for finding in result.warnings:
            warned[finding].append(name)
        for finding in result.damage:
            damaged[finding].append(name)
    total = sum(scores.values(), Score())
    print(f"{checkpoint} workloads\n\n{keys_table(scores)}\n\n{table(scores)}\n")
    print("\n".join(inferences(total)) or "nothing was inferred")
    for (certainty, severity, right), count in sorted(total.never.items()):
        print(f"SS201, {certainty}, {severity}: {count} {'right' if right else 'wrong'}")
    for finding, names in sorted(warned.items()):
        print(f"healthy, and warned of by {finding}: {', '.join(names)}")
    for finding, names in sorted(damaged.items()):
        print(f"sound, and damaged by {finding}: {', '.join(names)}")
    for example in total.examples[: options.examples]:
        print(example)
    return _failed(total, warned)


def _judged(folders: Iterable[Path], only: str) -> Iterator[tuple[str, Score]]:
    """The scores of all workloads whose calls account for Spark's rows."""
    for folder in (item for root in folders for item in sorted(root.iterdir())):
        if not re.search(only, folder.name) or not (folder / "spec.txt").is_file():
            continue
        workload = read(folder)
        if problems := check(workload):
            print(f"left out, {folder.name}: {problems[0]}")
            continue
        try:
            yield folder.name, judge(workload)
        except AccountError as error:
            print(f"left out, {folder.name}: {error}")


def _family(name: str) -> str:
    return TITLES.get(name[0], name[0])


def _failed(total: Score, warned: dict[str, list[str]]) -> int:
    right = total.claims(Certainty.INFERRED, total.right)
    wrong = total.claims(Certainty.INFERRED, total.wrong)
    precise = right >= PRECISION * (right + wrong)
    wrong_proofs = total.claims(Certainty.PROVEN, total.wrong) + total.damage.total()
    wrong_proofs += sum(total.never[Certainty.PROVEN.value, word, False] for word in SEVERITIES)
    return int(bool(wrong_proofs) or not precise or bool(warned))


if __name__ == "__main__":
    sys.exit(main())
