"""One problem for one reason: a storage that refuses refuses every file, and says so each time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from inspector.checkpoint.logfile import DENIED_SLUG, UNSEEN
from inspector.checkpoint.patience import same_reason
from inspector.findings.quantities import counted
from inspector.model import Problem

_VERBS = {DENIED_SLUG: "refused"}


def folded(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems, each once; of what the storage did not give, the first for each reason.

    Args:
        problems: in the order in which they are reported.
    """
    found: dict[object, list[Problem]] = {}
    for problem in dict.fromkeys(problems):
        unseen = problem.slug in UNSEEN
        key = (problem.slug, same_reason(problem.message)) if unseen else problem
        found.setdefault(key, []).append(problem)
    return tuple(_one(alike) for alike in found.values())


def _one(alike: list[Problem]) -> Problem:
    first = alike[0]
    paths = len({problem.path for problem in alike})
    if paths == 1:
        return first
    others = counted(paths - 1, "other file or folder", "other files and folders")
    message = f"{first.message} (and so {_VERBS.get(first.slug, 'failed')} for {others})"
    same_store = all(problem.store == first.store for problem in alike)
    return replace(first, message=message, store=first.store if same_store else None, version=None)
