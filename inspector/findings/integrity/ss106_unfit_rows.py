"""SS106: rows do not fit their schema.

What it means:
    The schema of the store cannot have produced these rows: a wrong length, an offset outside the
    row, bytes set where the type leaves none. The schema belongs to another query, or the row is
    damaged.

How it is proven:
    Length, null bits and variable parts of each row are checked as Spark does.

Source:
    UnsafeRowUtils.validateStructuralIntegrity (3.1 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inspector.exceptions import RowError
from inspector.facts.join_rows import min_size
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case
from inspector.findings.rule import Case, Evidence, Part
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import StoreName
from inspector.sparktypes import StructType

SIZES_NAMED = 5  # largest number of sizes of rows that a finding names


class UnfitRows(ProblemRule):
    """Rows that are not of the schema of their store."""

    id = "SS106"
    title = "rows do not fit their schema"
    severity = Severity.ERROR
    spark = "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE"
    next_step = "check that the schema in state/<operator>/0/_metadata/schema belongs to this query"

    slugs = (RowError.slug,)

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield evidence of problems of rows, then of keys and values longer than their schema."""
        yield from super().find(view)
        for operator in view.operators:
            for store_name, schema in operator.operator.schemas.items():
                name = StoreName(operator.operator_id, store_name)
                facts = view.facts.of_version(name, view.version)
                keys, values = facts.key_sizes.counts, facts.value_sizes.counts
                yield from self.wider_rows(name, "key", keys, schema.key)
                yield from self.wider_rows(name, "value", values, schema.value)

    def wider_rows(
        self, name: StoreName, side: str, sizes: Mapping[int, int], schema: StructType
    ) -> Iterator[Evidence]:
        """Yield at most one evidence: the number of keys or values longer than all fields together.

        ``side`` is ``key`` or ``value``, ``sizes`` are the numbers of rows by size in bytes, and
        ``schema`` is that of the side. Nothing is yielded if a field has no fixed width.
        """
        if not schema.fields or any(field.data_type.slot_width is None for field in schema.fields):
            return
        width = min_size(schema)
        wider = {size: rows for size, rows in sizes.items() if size > width}
        if any(wider.values()):
            yield self.wider(
                sum(wider.values()),
                subject=Part(name.operator_id, name.store_name),
                side=side,
                sizes=" or ".join(f"{size:,}" for size in sorted(wider)[:SIZES_NAMED]),
                width=width,
                total=sum(sizes.values()),
            )

    general = problem_case("Rows in the state do not fit the schema of their store.")
    wider = Case(
        cause="{rows:number} of {total:{side}} {rows:/has} {sizes} bytes where their schema makes "
        "{width}: perhaps they are of another schema, as after a change of the query while the "
        "check of schemas was off (stateSchemaCheck).",
        evidence="{rows:number} of {total:{side}} {rows:/has} {sizes} bytes where their schema "
        "makes {width}",
    )
