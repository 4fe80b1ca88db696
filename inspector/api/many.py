"""Audits of many checkpoints at a time: by this process, or each whole by an executor of Spark."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from inspect import signature
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa

from inspector import analyses
from inspector.analyses.audit import audit
from inspector.analyses.shared import report_cache
from inspector.analyses.shared.estimate import work_of
from inspector.analyses.shared.fleet_run import Audited, Outcome, Shown, find_all, run_all
from inspector.analyses.shared.opening import Recalled, begin
from inspector.analyses.shared.options import Options
from inspector.checkpoint.cache_files import cache_files
from inspector.checkpoint.search import Found
from inspector.engines.choose import LOCAL, EngineOptions
from inspector.engines.engine import Engine, Job, Work
from inspector.exceptions import EngineError, InspectorError
from inspector.light_dataclasses import replace
from inspector.render.report import Report
from inspector.schemas import batch_of, specs_in

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
    requested_paths = [paths] if isinstance(paths, str | os.PathLike) else paths
    candidates = find_all(
        [os.fspath(path) for path in requested_paths], options, recursive=recursive
    )

    filters = Shown.of(level, finding)
    ahead = None if keywords.get("page") or keywords.get("estimate") else audits_by_executors
    outcomes = run_all(candidates, options, partial(audit, **keywords), at_once, ahead)
    return (outcome for outcome in outcomes if filters.shows(outcome.result))


AT_ONCE = 256  # checkpoints of one job; the driver holds their reports
WHOLE_COST = 64 << 20  # bytes, files counted in, up to which a checkpoint is audited whole
SHARES = 64  # a checkpoint that is more than such a share of a job's work is not

_columns: list[tuple[str, pa.DataType]] = [
    *((name, pa.int64()) for name in ("number", "files", "bytes")),
    *(("report", pa.binary()), ("is_kept", pa.bool_()), ("notes", pa.list_(pa.string()))),
]
ANSWERS = pa.schema(_columns)
"""What an executor says of a checkpoint, by its number in the job: its files, or its report."""

Answer: TypeAlias = dict[str, Any]
Make: TypeAlias = Callable[[Found, Options], Answer]


def audits_by_executors(
    candidates: Iterable[Found], options: Options, engine: Engine
) -> Iterator[Found]:
    """The checkpoints, each with its report (:class:`Audited`) or, if that is for the driver, none.

    A fleet of small checkpoints waits for the driver, which lists, plans and judges what executors
    read. Here executors do all of it, :data:`AT_ONCE` checkpoints a job: they list them first, so
    that Spark's tasks have equal shares, and then audit them. One that would be most of a task is
    left to the driver, which divides it; so is one that fails, and those of a job that fails, so
    that the driver says why, and none suffers from another one's checkpoint.
    """
    job = _Job(options, engine)
    rest = iter(candidates)
    while places := list(islice(rest, AT_ONCE)):
        yield from job.run(places)


class _Job:
    def __init__(self, options: Options, engine: Engine) -> None:
        self._options, self._engine = options, engine
        self._said: set[str] = set()

    def run(self, places: Sequence[Found]) -> Iterator[Found]:
        waiting = {n: candidate for n, candidate in enumerate(places) if candidate.error is None}
        yield from (candidate for candidate in places if candidate.error is not None)
        listed: dict[int, Work] = {}
        for answer in self._ask(_look, [_work(n, candidate) for n, candidate in waiting.items()]):
            number = answer["number"]
            if answer["report"] is not None:
                yield self._with_report(waiting.pop(number), answer)
            else:
                weights = answer["bytes"], answer["files"]
                listed[number] = _work(number, waiting[number], *weights)
        max_cost = max(WHOLE_COST, sum(work.cost for work in listed.values()) // SHARES)
        small_work = [work for work in listed.values() if work.cost <= max_cost]
        if small_work and self._options.cache is not None:
            # Else each executor might make a secret, and lose what another one kept by its own.
            # Where it cannot be made, they say so.
            folder = self._options.cache
            options = tuple(sorted(self._options.storage_options.items()))
            with suppress(OSError, InspectorError, TypeError):
                for candidate in waiting.values():
                    report_cache.check_outside(candidate.path, folder)
                cache_files(folder, options).secret(new=True)
        for answer in self._ask(_audit, small_work):
            yield self._with_report(waiting.pop(answer["number"]), answer)
        yield from waiting.values()

    def _ask(self, make: Make, work: Sequence[Work]) -> Iterator[Answer]:
        """Return the answers of the executors; empty if the job fails."""
        remote = replace(self._options, engine=EngineOptions(LOCAL), workers=1)
        try:
            answers = list(self._engine.run(Job(partial(_run, make, remote), ANSWERS, work)))
        except EngineError as error:
            self._options.engine.notify(f"engine: done again by the driver: {error}")
            return
        for batch in answers:
            yield from batch.to_pylist()

    def _with_report(self, candidate: Found, answer: Answer) -> Audited:
        for note in answer["notes"]:
            if note not in self._said:
                self._said.add(note)
                self._options.engine.notify(note)
        report = report_cache.report_from_json(zlib.decompress(answer["report"]).decode())
        recalled = Recalled(report, self._options, is_kept=answer["is_kept"])
        return Audited(candidate.path, is_root=candidate.is_root, run=recalled)


def _work(number: int, candidate: Found, size: int = 0, files: int = 0) -> Work:
    spec = {"number": number, "path": candidate.path, "is_root": candidate.is_root}
    return Work(json.dumps(spec), size, files=files)


def _run(
    make: Make, options: Options, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the results of checkpoints.

    A checkpoint that fails yields nothing: the driver opens it again and reports the error.
    """
    for spec in map(json.loads, specs_in(batches)):
        notes: list[str] = []
        # Which kernel the workers run the engine has said of all of them.
        engine = EngineOptions(LOCAL, notify=notes.append, tells_kernel=False)
        own = replace(options, engine=engine)
        with suppress(Exception):
            answer = make(Found(spec["path"], is_root=spec["is_root"]), own)
            yield batch_of(ANSWERS, [answer | {"number": spec["number"], "notes": notes}])


def _look(candidate: Found, options: Options) -> Answer:
    """Return the report that the cache has for a checkpoint, or the work that reads it."""
    if options.cache is not None:
        report = report_cache.ReportCache(
            candidate.path, options, is_root=candidate.is_root
        ).recall()
        if report is not None:
            return _row_of(report, is_kept=True)
    work = work_of(candidate, options)
    return {"files": work.files, "bytes": work.bytes}


def _audit(candidate: Found, options: Options) -> Answer:
    run = begin(candidate.path, options, is_root=candidate.is_root)
    if isinstance(run, Recalled):
        return _row_of(run.report, is_kept=True)
    return _row_of(audit(run), is_kept=False)


def _row_of(report: Report, *, is_kept: bool) -> Answer:
    return {"report": zlib.compress(report_cache.report_json(report).encode()), "is_kept": is_kept}
