"""Audits of many checkpoints at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from inspect import signature
from typing import Any

from inspector import analyses
from inspector.analyses.audit import audit
from inspector.analyses.shared.fleet_run import Outcome, Shown, find_all, run_all
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import Options
from inspector.api.fleet_job import audits_by_executors
from inspector.render.report import Report

Path = str | os.PathLike[str]


def audit_many(
    paths: Path | Iterable[Path],
    options: Options | None = None,
    *,
    recursive: bool = False,
    at_once: int | None = None,
    level: str | None = None,
    finding: str | Iterable[str] | None = None,
    **keywords: Any,
) -> Iterator[Outcome[Report]]:
    """Audit all checkpoints that some paths mean, several at a time.

    ::

        for each in api.audit_many("s3a://bucket/checkpoints", recursive=True):
            print(each.path, each.error or each.result.verdict.level.value)

    Args:
        paths: of checkpoints, or patterns such as ``s3a://bucket/*/checkpoint``.
        options: of all of them.
        recursive: all that lie below the paths.
        at_once: how many are read at the same time; by default as many as suit the engine.
        level: only those of this level (``info``, ``warning``, ``error``, ``unreadable``) or a
            graver one.
        finding: only those with one of these findings, by their ids.
        keywords: of :func:`inspector.api.audit`.

    Returns:
        What became of each checkpoint, as they are ready, in no order: its report, or the error
        that it ended with; that of one checkpoint ends none of the others.

    Raises:
        TypeError: an audit has no such keyword, or no such option.
        EngineError: an engine that is requested cannot be had.
        ValueError: there is no such level or finding.
    """
    options = options or Options()
    # Else each checkpoint would fail for it.
    signature(audit).bind("", options, **keywords)
    analyses.load("audit").accept(options)
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    candidates = find_all([os.fspath(path) for path in given], options, recursive=recursive)

    def make(run: Opened) -> Report:
        return audit(run, **keywords)

    shown = Shown.of(level, finding)
    ahead = None if keywords.get("page") or keywords.get("estimate") else audits_by_executors
    outcomes = run_all(candidates, options, make, at_once, ahead)
    return (outcome for outcome in outcomes if shown.shows(outcome.result))
