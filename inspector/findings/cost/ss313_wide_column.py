"""SS313: one wide column.

What it means:
    One column has most of the bytes of the state, and much in each row: a payload that is carried
    along, a long text in a key, or a sketch.

How it is proven:
    The columns of the first rows that each file puts are measured, where these rows are large.

Source:
    StateStore.put (2.3 to 4.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from inspector.decode.field_sizes import walk_nested_fields
from inspector.facts.size_distributions import SampledSizes
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import HOT_SHARE, MEAN_VALUE_BYTES, Threshold
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.rule import RowPart
from inspector.sparktypes import unique_names, widen_timeout

# number at the end of the names of a sketch's columns, as ``MS[0]`` of ``HyperLogLogPlusPlus``
NUMBERED = re.compile(r"\[\d+\]$")
AGGREGATES = {
    "buf": "a list, a set or a sketch",
    "MS": "approx_count_distinct",
    "valueWithExtremumOrdering": "max_by or min_by",
}
"""Beginning of the name that Spark gives to a buffer's column -> words for its aggregate."""


class Column(NamedTuple):
    """Column with most bytes of a store."""

    name: str  # path such as ``a.b``, or the name of several numbered columns
    bytes: float  # bytes in a row, on average


class WideColumn(Rule[StoreView]):
    """A column with most of the bytes of large rows."""

    scope = "store"
    id = "SS313"
    title = "one wide column"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "payload"
    next_step = (
        "select the needed columns before the operator, and look the payload up after it; group "
        "by a hash (xxhash64, sha2) of a long text; allow a sketch a larger error"
    )
    command = "sizes"

    mean_value_bytes = MEAN_VALUE_BYTES
    hot_share = HOT_SHARE
    nested_share = Threshold(
        0.9, "share", "Share of a struct's bytes for which a field in it is named instead."
    )

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the column with most of the bytes of a store's large rows.

        It must have ``mean_value_bytes`` in a row and the share ``hot_share`` of all bytes.
        """
        column = self.widest(self.column_sizes(store))
        if column is None or column.bytes < self.mean_value_bytes:
            return
        total = store.sizes.total
        share = column.bytes * total.rows / store.newest.row_bytes
        if share < self.hot_share:
            return
        field = column.name.rpartition(".")[2]
        is_of_key = column.name in [key.name for key in store.key_fields]
        yield (self.of_key if is_of_key else self.column)(
            total.rows,
            round(share * total.row_bytes),
            share=share,
            column=column.name,
            each=column.bytes,
            aggregate=next((a for start, a in AGGREGATES.items() if field.startswith(start)), ""),
        )

    def column_sizes(self, store: StoreView) -> Mapping[str, float]:
        """Return the mean bytes in a row of each column and nested field, by name.

        They are estimated by a sample. Empty for state that a user's function keeps, and without a
        schema or rows.
        """
        operator, newest = store.operator, store.newest
        schema = operator.schemas.get(store.store_name)
        is_of_function = operator.processor is not None or operator.name in GROUP_STATE
        if schema is None or not newest.row_bytes or is_of_function:
            return {}
        totals = {RowPart.KEY: newest.key_bytes, RowPart.VALUE: newest.value_bytes}
        sizes: dict[str, float] = {}
        for sample in store.facts.merged(SampledSizes).get(store.name, {}).values():
            part, rows = sample.side, sample.rows
            if part is None or not rows.rows:
                continue
            columns = schema.key if part is RowPart.KEY else widen_timeout(schema.value)
            names = [NUMBERED.sub("", name) for name in unique_names(columns.fields)]
            names += [nested.name for nested in walk_nested_fields(columns)]
            scale = totals[part] / newest.rows / (sum(field.bytes for field in rows.fields) or 1)
            for name, field in zip(names, (*rows.fields, *rows.nested), strict=True):
                sizes[name] = sizes.get(name, 0) + field.bytes * scale
        return sizes

    def widest(self, sizes: Mapping[str, float]) -> Column | None:
        """Return the column with most bytes; None if ``sizes``, the bytes by name, is empty.

        If a field in a struct has nearly all bytes of the struct (``nested_share``), it is returned
        instead.
        """
        if not sizes:
            return None
        column = max(sizes, key=lambda name: sizes[name])
        for name, size in sizes.items():
            if name.startswith(f"{column}.") and size >= self.nested_share * sizes[column]:
                column = name
        return Column(column, sizes[column])

    _EVIDENCE = (
        "the column {column:quoted}{aggregate:brackets} holds ~{each:bytes} in a row and "
        "{share:estimate} of the bytes of keys and values, by a sample of each file; {rows:row}"
    )
    column = Case(
        cause="The column {column:quoted}{aggregate:brackets} holds {share:estimate} of the bytes, "
        "~{each:bytes} in each of {rows:row}.",
        evidence=_EVIDENCE,
    )
    of_key = Case(
        cause="The column {column:quoted} of the key holds {share:estimate} of the bytes, "
        "~{each:bytes} in each of {rows:row}.",
        evidence=_EVIDENCE,
    )
