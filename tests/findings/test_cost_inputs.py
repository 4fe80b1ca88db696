"""What the judgement of costs goes by."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from inspector.checkpoint.log_entries import SourceOffset
from inspector.facts.fact import Observed
from inspector.facts.versions import VersionFacts
from inspector.findings.cost_inputs import file_costs
from inspector.findings.views.store_keys import columns_of
from inspector.merge.collect import Facts
from inspector.model import FileKind, StoreId
from inspector.operators.rule import StoreRule
from inspector.sparktypes.ddl import parse_ddl
from tests.encode import row
from tests.store_views import store_view


@pytest.mark.parametrize(
    ("key", "counted"),
    [
        ("id string", (120, 10)),
        # Without a watermark on it the rule says nothing of how many windows a record is in.
        ("window struct<start: timestamp, end: timestamp>, id string", (0, 0)),
    ],
)
def test_rows_of_a_record_are_counted_unless_windows_make_them(
    key: str, counted: tuple[int, int]
) -> None:
    store = store_view(
        StoreRule(),
        history=[VersionFacts(puts=120)],
        key=parse_ddl(key),
        sources={0: (SourceOffset("0", "{}", True, 10),)},
    )
    assert store.keys.rows_and_records == counted


def test_column_families_share_what_their_partition_uploads() -> None:
    layouts = [
        SimpleNamespace(
            store=StoreId(0, "default", partition),
            directory=f"0/{partition}",
            files=[SimpleNamespace(kind=FileKind.SNAPSHOT, size=300)],
        )
        for partition in range(2)
    ]
    zips = {version: SimpleNamespace(version=version, size=300) for version in (2, 3)}
    folder = SimpleNamespace(newest=3, snapshots=zips, deltas={}, compares=True)
    operator: Any = SimpleNamespace(operator_id=0, layout=SimpleNamespace(folders=layouts))
    checkpoint: Any = SimpleNamespace(
        store_files={layout.directory: folder for layout in layouts},
        logs=SimpleNamespace(sources={}),
    )
    stores = [StoreId(0, name, partition) for name in ("$idle", "busy") for partition in range(2)]
    puts = [
        Observed(store, version, VersionFacts(stores=1, puts=5 * (store.store_name == "busy")))
        for store in stores
        for version in (1, 2, 3)
        if (version, store) != (1, stores[0])  # one that could not be read
    ]
    costs = file_costs(checkpoint, operator, Facts(puts))
    assert (costs.zips, costs.uploaded) == (2, 300)
    assert [version.puts for version in costs.changes] == [10, 10]


def test_columns_of_a_key_are_as_they_lie_in_it() -> None:
    schema = parse_ddl("w struct<start: timestamp, end: timestamp>, n int, user string, id string")
    key = row(schema, [(1, 2), 7, "Ab ", None])
    columns = columns_of([key, key[:20]], schema.fields)
    (window, _), (number, _), (user, cut), (none, _) = columns
    assert (window[8:], number) == (b"\1" + bytes(7) + b"\2" + bytes(7), b"\7" + bytes(7))
    assert (user, none, cut) == (b"Ab ", b"", b"")
