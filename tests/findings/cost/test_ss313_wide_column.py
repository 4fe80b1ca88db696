"""SS313: one wide column."""

from __future__ import annotations

from typing import Any

from inspector.decode.field_sizes import FieldBytes, RowBytes
from inspector.facts.size_distributions import SampledSizes
from inspector.facts.versions import VersionFacts
from inspector.findings.cost.ss313_wide_column import WideColumn
from inspector.findings.rule import parse_thresholds
from inspector.operators.rule import RowPart, StoreRule
from inspector.sparktypes.ddl import parse_ddl
from tests.store_views import store_view


def findings(sample: SampledSizes, newest: VersionFacts, **thresholds: str) -> list[Any]:
    """Return the findings about a store of which a sample was measured."""
    view = store_view(
        StoreRule(),
        sample,
        history=[newest],
        key=parse_ddl("user string"),
        value=parse_ddl("raw string, n bigint"),
    )
    return list(WideColumn(parse_thresholds(thresholds)).findings(view))


def sampled(*sizes: int) -> SampledSizes:
    """Return the sizes of the columns `raw` and `n` in one row."""
    fields = tuple(FieldBytes(variable_bytes=size) for size in sizes)
    return SampledSizes(RowPart.VALUE, RowBytes(1, 0, fields))


def newest(key_bytes: int, value_bytes: int, rows: int = 10) -> VersionFacts:
    return VersionFacts(stores=1, rows=rows, key_bytes=key_bytes, value_bytes=value_bytes)


def test_column_with_most_bytes_is_named() -> None:
    (finding,) = findings(sampled(900, 100), newest(10_000, 20_000))
    assert (finding.kind.id, finding.rows, finding.bytes) == ("SS313", 10, 18_000)
    assert finding.cause == (
        "The column 'raw' holds ~60 % of the bytes, ~1.8 KiB in each of 10 rows."
    )
    assert finding.evidence == (
        "the column 'raw' holds ~1.8 KiB in a row and ~60 % of the bytes of keys and values, by a "
        "sample of each file; 10 rows"
    )


def test_small_column_has_no_finding() -> None:
    assert findings(sampled(900, 100), newest(20_000, 20_000)) == []
    assert findings(sampled(900, 100), newest(0, 11_000)) == []
    assert findings(sampled(900, 100), newest(0, 20_000), mean_value_bytes="2KiB") == []
    assert findings(SampledSizes(RowPart.VALUE, RowBytes()), newest(0, 20_000)) == []


def test_key_column_with_most_bytes_is_named() -> None:
    sample = SampledSizes(RowPart.KEY, RowBytes(1, 0, (FieldBytes(variable_bytes=9),)))
    (finding,) = findings(sample, newest(20_000, 1000))
    assert finding.cause.startswith("The column 'user' of the key holds ~95 % of the bytes, ")
