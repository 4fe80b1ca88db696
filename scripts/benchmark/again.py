"""A fleet that is audited a second time with a cache, after few of its queries have gone on.

The checkpoints lie on an object store of the tests, which counts what is requested of it; requests
are LISTs, GETs and HEADs of the audits and of the search that finds them. Processor time is that of
this process, which is also the store.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

from benchmark.checkpoint import Size, make
from benchmark.tables import table

import inspector.api as api
from tests.object_store import Requests, serve

CHANGED = 0.05
"""Share of the checkpoints that have a new batch."""

SIZE = Size(2_000, 30, 4)
"""Of each checkpoint; its last batch is the one that comes later."""

LONG_AGO = 1_600_000_000
HEAD = ("audit", "checkpoints", "new batch", "LIST", "GET and HEAD", "cpu s", "requests", "cpu")


def measure(folder: Path, checkpoints: int) -> dict[str, Any]:
    """The first audit of a fleet, and the second.

    Args:
        folder: where they are made.
        checkpoints: how many.
    """
    base = folder / "again"
    shutil.rmtree(base, ignore_errors=True)
    batch = _make(base, checkpoints)
    requests = serve(base)
    options = api.Options(cache=str(base / "cache"))
    api.audit("objects://fleet/0")  # what is imported is no part of it
    estimate = _estimate("objects://fleet/0", requests)
    first = _audit(options, requests)
    changed = max(1, round(CHANGED * checkpoints))
    for number in range(changed):
        for path in batch:
            os.link(base / "batch" / path, base / "fleet" / str(number) / path)
    second = _audit(options, requests)
    ratios = {name: round(second[name] / first[name], 3) for name in first}
    totals = [audit["lists"] + audit["gets"] for audit in (first, second)]
    ratios["requests"] = round(totals[1] / totals[0], 3)
    shares = (f"{100 * ratios[name]:.1f} %" for name in ("requests", "cpu_s"))
    table(
        f"a fleet again, with a cache: {SIZE.versions} batches, {SIZE.partitions} partitions",
        HEAD,
        [
            ("first", f"{checkpoints:,}", "", *_cells(first), "", ""),
            ("second", f"{checkpoints:,}", f"{changed:,}", *_cells(second), *shares),
        ],
    )
    return {"first": first, "second": second, "ratios": ratios, "estimate": estimate}


def _estimate(path: str, requests: Requests) -> dict[str, float]:
    """What an audit was estimated to request, against what it did."""
    summary = api.audit(path, estimate=True).summary
    messages = {"lists": summary["list_requests"], "gets": summary["get_requests"]}
    requests.kinds.clear()
    api.audit(path)
    kinds = requests.kinds
    seen = {"lists": kinds["LIST"], "gets": kinds["GET"] + kinds["HEAD"]}
    ratios = {name: round(messages[name] / count, 3) for name, count in seen.items()}
    table(
        "an estimate, against what a store counts",
        ("requests", "estimated", "counted", "x"),
        [(name, f"{messages[name]}", f"{n}", f"{ratios[name]:.2f}") for name, n in seen.items()],
    )
    return ratios


def _make(base: Path, checkpoints: int) -> list[Path]:
    """Make a fleet of one checkpoint and its copies; gives the files of its last batch."""
    make(base / "made", SIZE)
    for path in base.rglob("*"):
        if path.is_file():
            os.utime(path, (LONG_AGO, LONG_AGO))
    last = (f"offsets/{SIZE.versions - 1}", f"commits/{SIZE.versions - 1}")
    deltas = (base / "made").glob(f"state/*/*/{SIZE.versions}.delta")
    batch = [*map(Path, last), *(path.relative_to(base / "made") for path in deltas)]
    for path in batch:
        (base / "batch" / path).parent.mkdir(parents=True, exist_ok=True)
        (base / "made" / path).rename(base / "batch" / path)
    for number in range(checkpoints):
        shutil.copytree(base / "made", base / "fleet" / str(number), copy_function=os.link)
    return batch


def _audit(options: api.Options, requests: Requests) -> dict[str, float]:
    requests.kinds.clear()
    before = time.process_time()
    for outcome in api.audit_many("objects://fleet", options, recursive=True):
        if outcome.error is not None:
            raise outcome.error
    seconds = time.process_time() - before
    kinds = requests.kinds
    return {
        "lists": kinds["LIST"],
        "gets": kinds["GET"] + kinds["HEAD"],
        "cpu_s": round(seconds, 3),
    }


def _cells(audit: dict[str, float]) -> tuple[str, str, str]:
    return f"{audit['lists']:,}", f"{audit['gets']:,}", f"{audit['cpu_s']:.2f}"
