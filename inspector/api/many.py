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

Path = str | os.PathLike[str]  # path of a checkpoint


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


AT_ONCE = 256  # checkpoints of one Spark job; the driver holds their reports
# cost in bytes, where a file counts as some, up to which one task audits a checkpoint
WHOLE_COST = 64 << 20
SHARES = 64  # a checkpoint with more than one such share of a job's cost is left to the driver

# columns of :data:`ANSWERS`
_columns: list[tuple[str, pa.DataType]] = [
    *((name, pa.int64()) for name in ("number", "files", "bytes")),
    *(("report", pa.binary()), ("is_kept", pa.bool_()), ("notes", pa.list_(pa.string()))),
]
ANSWERS = pa.schema(_columns)
"""What an executor says of a checkpoint, by its number in the job: its files, or its report."""

Answer: TypeAlias = dict[str, Any]  # values of a row of :data:`ANSWERS`, by name
# makes the answer of an executor on one checkpoint
Make: TypeAlias = Callable[[Found, Options], Answer]


def audits_by_executors(
    candidates: Iterable[Found], options: Options, engine: Engine
) -> Iterator[Found]:
    """Yield the checkpoints: with a report (:class:`Audited`) if executors made it, else as given.

    Executors list, plan and judge, up to :data:`AT_ONCE` checkpoints in one job: first they list
    all, so that Spark's tasks get equal shares, and then they audit. A large checkpoint is left to
    the driver, which divides it. So is one that fails, and all of a job that fails, so that the
    driver reports the reason.
    """
    job = _Job(options, engine)
    rest = iter(candidates)
    while places := list(islice(rest, AT_ONCE)):
        yield from job.run(places)


class _Job:
    """Jobs on Spark that audit checkpoints, and the notes that they have given."""

    def __init__(self, options: Options, engine: Engine) -> None:
        """Prepare jobs on an engine."""
        self._options, self._engine = options, engine
        self._said: set[str] = set()

    def run(self, places: Sequence[Found]) -> Iterator[Found]:
        """Yield these checkpoints, with a report where the executors could make one."""
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
        """Yield the answers of the executors to some work; nothing if the job fails."""
        remote = replace(self._options, engine=EngineOptions(LOCAL), workers=1)
        try:
            answers = list(self._engine.run(Job(partial(_run, make, remote), ANSWERS, work)))
        except EngineError as error:
            self._options.engine.notify(f"engine: done again by the driver: {error}")
            return
        for batch in answers:
            yield from batch.to_pylist()

    def _with_report(self, candidate: Found, answer: Answer) -> Audited:
        """Return a checkpoint with the report in an executor's answer; print its new notes."""
        for note in answer["notes"]:
            if note not in self._said:
                self._said.add(note)
                self._options.engine.notify(note)
        report = report_cache.report_from_json(zlib.decompress(answer["report"]).decode())
        recalled = Recalled(report, self._options, is_kept=answer["is_kept"])
        return Audited(candidate.path, is_root=candidate.is_root, run=recalled)


def _work(number: int, candidate: Found, size: int = 0, files: int = 0) -> Work:
    """Return a checkpoint as work for Spark; ``number`` identifies it in the job."""
    spec = {"number": number, "path": candidate.path, "is_root": candidate.is_root}
    return Work(json.dumps(spec), size, files=files)


def _run(
    make: Make, options: Options, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the answers of ``make`` for the checkpoints in ``batches``.

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
    """Return a checkpoint's report if the cache has it, else the files and bytes to read."""
    if options.cache is not None:
        report = report_cache.ReportCache(
            candidate.path, options, is_root=candidate.is_root
        ).recall()
        if report is not None:
            return _row_of(report, is_kept=True)
    work = work_of(candidate, options)
    return {"files": work.files, "bytes": work.bytes}


def _audit(candidate: Found, options: Options) -> Answer:
    """Return the report on a checkpoint, from the cache or by an audit."""
    run = begin(candidate.path, options, is_root=candidate.is_root)
    if isinstance(run, Recalled):
        return _row_of(run.report, is_kept=True)
    return _row_of(audit(run), is_kept=False)


def _row_of(report: Report, *, is_kept: bool) -> Answer:
    """Return a report as an answer: compressed JSON, and whether the cache had it."""
    return {"report": zlib.compress(report_cache.report_json(report).encode()), "is_kept": is_kept}
