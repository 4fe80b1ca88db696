"""Estimates of the requests, bytes and costs of audits, by listings alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.analyses.shared.fleet_run import find_all
from inspector.analyses.shared.options import Options
from inspector.checkpoint.logfile import problem
from inspector.checkpoint.patience import in_parallel
from inspector.checkpoint.roots import Selection, resolve_root
from inspector.checkpoint.search import Found
from inspector.checkpoint.storage import Storage
from inspector.engines.engine import HADOOP
from inspector.estimates import price as prices
from inspector.exceptions import CheckpointError, EngineError
from inspector.light_dataclasses import asdict, replace
from inspector.providers.registry import classify
from inspector.render.plain import EstimateRow
from inspector.render.report import Report


def estimate_audits(
    paths: Sequence[str], options: Options, price: Mapping[str, str], *, recursive: bool = False
) -> Report:
    """Return a report that estimates requests, bytes and costs of audits from listings.

    ``price`` has dollars by the names of :class:`.price.Prices`; without one no cost is estimated.
    The table has a row for each checkpoint; one that cannot be listed becomes a problem instead.
    Raises CheckpointError for a wrong price, EngineError with ``--io hadoop``, and the error of a
    checkpoint that cannot be listed if it is the only one.
    """
    wrong = wrong_price(price)
    if wrong is not None:
        raise CheckpointError(wrong)
    given = prices.prices_from(price)
    if options.engine.io == HADOOP:
        raise EngineError("--estimate lists files by fsspec, got --io hadoop")
    pace = prices.measure()
    result = list(find_all(paths, options, recursive=recursive))
    works = in_parallel(lambda position: work_of(position, options), result)
    rows, problems = [], []
    total = prices.Work()
    for candidate, work in zip(result, works, strict=True):
        if not isinstance(work, prices.Work):
            if len(result) == 1:
                raise work
            problems.append(problem(work, candidate.path))
            continue
        seconds = pace.seconds(work.files, work.bytes)
        total += work
        row: Any = {"checkpoint": candidate.path, "core_seconds": round(seconds, 3)}
        row["dollars"] = dollars_text(work, seconds, given)
        rows.append(EstimateRow(**row, **asdict(work)))
    seconds = pace.seconds(total.files, total.bytes)
    return Report(
        "audit",
        paths[0] if len(paths) == 1 else f"{len(result):,} checkpoints",
        {
            "checkpoints": len(result),
            "list_requests": total.lists,
            "get_requests": total.gets,
            "files": total.files,
            "read_estimate_bytes": total.bytes,
            "core_hours": f"{seconds / 3600:.6f}",
            "microseconds_per_file": round(pace.file * 1e6, 1),
            "nanoseconds_per_byte": round(pace.byte * 1e9, 1),
            "dollars": dollars_text(total, seconds, given),
        },
        (EstimateRow.table("what an audit would request, read and cost", rows),),
        problems=problems,
        notes=(
            "All of it is estimated from listings; no file of the state was read. The processor "
            "time is that of this machine for local files of generated rows: other rows compress "
            "otherwise, and the driver of a storage takes time for each request.",
            *(() if given else ("Without --price no cost is estimated.",)),
        ),
    )


def dollars_text(work: prices.Work, seconds: float, given: prices.Prices | None) -> str | None:
    """Return the cost in US dollars as text with six decimals; None without prices (``given``).

    It is the cost of the requests and bytes in ``work``, and of ``seconds`` of one core.
    """
    return None if given is None else f"{prices.dollars(work, seconds / 3600, given):.6f}"


def wrong_price(price: Mapping[str, str]) -> str | None:
    """Return the error message for prices that a user gives; None if they are valid.

    ``price`` has texts with dollars by the names of :class:`.price.Prices`.
    """
    try:
        prices.prices_from(price)
    except ValueError as error:
        return str(error)
    return None


def work_of(candidate: Found, options: Options) -> prices.Work:
    """Return the numbers of requests, files and bytes that an audit of a found checkpoint takes.

    They are estimated from listings, for the part and version in ``options``. Raises the error of
    a candidate that has one, and OSError or InspectorError if it cannot be listed.
    """
    if candidate.error is not None:
        raise candidate.error
    root, meant = candidate.path, Selection()
    if not candidate.is_root:
        root, meant = resolve_root(root, options.storage_options, classify)
    selected = Selection(options.operator_id, options.partition_id, options.store_name)
    own = {name: value for name, value in asdict(selected).items() if value is not None}
    chosen = replace(meant, **own)
    version = options.state_version if options.batch is None else options.batch + 1
    storage = Storage.open(root, options.storage_options)
    return prices.work_of_audit(storage, chosen, version, is_root=candidate.is_root)
