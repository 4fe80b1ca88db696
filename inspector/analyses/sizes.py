"""``sizes``: rows and bytes of a version, by store, operator, partition or field."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from inspector.analyses.shared.declare import View, analysis
from inspector.analyses.shared.fields import FieldRow, fields_report
from inspector.analyses.shared.options import AT_VERSION, PART, SCHEMAS, WORK, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.size_table import PLACES, SizeRow, size_table
from inspector.analyses.shared.stores import selected_tasks
from inspector.analyses.shared.words import add_problems
from inspector.discovery.checkpoint import state_file_bytes
from inspector.discovery.tasks import Request
from inspector.passes.run import run_fields
from inspector.render.report import Report

SIZES_NOTE = (
    "Row bytes are the UnsafeRow bytes of the keys and values that Spark holds for this version, "
    "exact; P50, P90 and P99 are percentiles over the rows. The files are smaller: they are "
    "compressed, and a delta holds only what changed. The JVM needs more: objects, arrays and a "
    "map node for each row."
)
FIELD = "field"
FACTS = Request()


@analysis(
    uses=(WORK, SCHEMAS, PART, AT_VERSION), tables=(SizeRow, FieldRow), facts=FACTS, many=True
)
def sizes(
    path: str | Run,
    options: Options | None = None,
    *,
    by: Annotated[str, View("What a line stands for.", choices=(*PLACES, FIELD))] = "store",
) -> Report:
    """Rows, key and value bytes with their quantiles; or what each field takes. All exact."""
    run = Run.start(path, options)
    if by == FIELD:
        of_fields = run.facts_by(run_fields, lambda: selected_tasks(run))
        problems = list(run.listed)
        add_problems(of_fields.problems, problems)
        return fields_report(replace(run.judge(of_fields), problems=problems))
    judged = run.judge(run.facts(FACTS))
    total = judged.total
    summary = judged.coverage | {
        "state_file_bytes": state_file_bytes(judged.checkpoint),
        "rows": total.rows,
        "row_bytes": total.row_bytes,
    }
    return judged.report("sizes", (size_table(judged, by),), summary, footnotes=(SIZES_NOTE,))
