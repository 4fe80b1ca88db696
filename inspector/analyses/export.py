"""``export``: rows or changes, as tables with their types or as reports, one for each store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from inspector.analyses.changes import changes_report
from inspector.analyses.rows import rows_report
from inspector.analyses.shared import options as o
from inspector.analyses.shared import stores
from inspector.analyses.shared.declare import TableOptions, analysis
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.run import Run
from inspector.light_dataclasses import replace
from inspector.model import ProblemMode
from inspector.render.report import Report

CHANGES = "changes"  # value of the argument ``what`` that exports changes


def _check(options: Mapping[str, Any]) -> str | None:
    """Return an error if ``--from-batch`` is given and no changes are exported; None if not.

    ``options`` has the value of each option by its name. The error is a sentence.
    """
    misplaced = options["from_batch"] and options["what"] != CHANGES
    return "--from-batch is for changes" if misplaced else None


@analysis(uses=(o.ENGINE, o.KEYS, o.STATE), files=True, check=_check)
def export(
    what: Annotated[
        Literal["rows", "changes"], o.Option("Export the rows of a version, or all changes.")
    ],
    path: str | Opened,
    options: o.Options | None = None,
    *,
    from_batch: Annotated[
        int, o.Option("Of changes: skip those before this batch.", minimum=0)
    ] = 0,
    raw: Annotated[bool, o.Option("Add the UnsafeRow bytes of key and value.")] = False,
    mode: str = ProblemMode.PERMISSIVE.value,
) -> list[stores.StoreTable]:
    """The rows of a version, or every change, as Parquet, Arrow, CSV or NDJSON.

    ``inspector export rows PATH -O rows.parquet`` writes one store to a file; several stores, or a
    name that ends with a slash, make a folder of that name with a file for each:
    ``operator-0.default.parquet``. -O is required. Files are complete or not written. An existing
    file is an error without --force, which replaces it; other files of a folder stay. ``export
    changes`` writes each put and removal up to --batch. The columns are those of ``rows`` and
    ``changes``, never hashed. In Parquet and Arrow key and value are structs, in NDJSON objects, in
    CSV JSON texts. Without a schema they are bytes (Parquet, Arrow) or null. What cannot be read is
    left out and reported, with exit code 4. With --engine spark the executors write one folder for
    each store.

    Args:
        what: ``rows`` or ``changes``.
        path: the checkpoint.
        options: which part and version; ``key`` and ``where`` narrow the keys.
        from_batch: changes of older batches are left out.
        raw: with the UnsafeRow bytes beside the decoded key and value.
        mode: error handling where something cannot be read: ``permissive`` adds it to the
            ``problems`` of the tables, ``failfast`` raises, ``dropmalformed`` is silent.

    Returns:
        A table of Arrow for each store; nothing of the state is read before its batches are.

    Raises:
        InspectorError: something is missing, and the mode is ``failfast``.
    """
    table_options = TableOptions(from_batch, raw, ProblemMode(mode))
    return stores.store_tables(path, options, table_options, changes=what == CHANGES)


def store_reports(
    run: Run, content: str, *, from_batch: int = 0, raw: bool = False
) -> list[tuple[str, Report]]:
    """Return a pair for each store: its name, as ``operator-0.default``, and the report on it.

    Such reports are for exports in formats of text. ``content`` is ``rows`` or ``changes``; changes
    of batches before ``from_batch`` are left out. ``raw`` adds the bytes in hex. Only the first
    report has the problems of the checkpoint; each has the problems of reading its own rows.
    """
    reports, subject = [], run.subject()
    for store, tasks in stores.by_store(stores.selected_tasks(run)).items():
        if content == CHANGES:
            batches = stores.change_batches(run, tasks, first_version=from_batch + 1)
            report = changes_report(subject, batches, raw=raw)
        else:
            report = rows_report(subject, stores.live_batches(run, tasks), raw=raw)
        reports.append((stores.table_name(store), report))
        subject = replace(subject, problems=[])
    return reports
