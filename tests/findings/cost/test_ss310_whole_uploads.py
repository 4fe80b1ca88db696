"""SS310: RocksDB uploads without changelogs."""

from __future__ import annotations

from typing import Any

from inspector.facts.versions import VersionFacts
from inspector.findings.cost.ss310_whole_uploads import WholeUploads, changes_of, uploads_of
from inspector.findings.rule import parse_thresholds
from inspector.model import FileKind, StoreFile, Version
from tests.attributes import attributes
from tests.store_views import batch_clocks, operator_view

ROWS = VersionFacts(stores=1, rows=10, value_bytes=800)


def zips(versions: int, size: int) -> list[StoreFile]:
    return [
        StoreFile(f"{n}.zip", FileKind.SNAPSHOT, Version(n), size) for n in range(1, versions + 1)
    ]


def findings(
    *folders: list[StoreFile], changes: VersionFacts = ROWS, compares: bool = True, **options: float
) -> list[Any]:
    """Return the findings about an operator with these files, whose versions have these changes."""
    facts = [("default", 0, changes)]
    view = operator_view(*folders, compares=compares, facts=facts, clocks=batch_clocks(*[0] * 8))
    return list(WholeUploads(parse_thresholds(options)).findings(view))


def test_zips_far_larger_than_the_rows_are_reported() -> None:
    (finding,) = findings(zips(5, 20_000))
    assert (finding.kind.id, finding.operator_id, finding.store_name) == ("SS310", 0, None)
    assert finding.cause == (
        "Each batch uploads ~19.5 KiB of RocksDB files to write ~800 B of rows, as changelogs are "
        "off."
    )
    assert finding.evidence.startswith("the newest 5 versions have a zip and no changelog in ")


def test_few_or_small_zips_have_no_finding() -> None:
    assert findings(zips(4, 20_000)) == []
    assert findings(zips(5, 8_000)) == []
    assert findings(zips(5, 20_000), compares=False) == []
    changelog = StoreFile("5.changelog", FileKind.DELTA, Version(5), 100)
    assert findings([*zips(5, 20_000), changelog]) == []


def test_repeated_puts_count_bytes_of_key() -> None:
    again = VersionFacts(1, 0, 10, 9000, 1000, 10, updates=10, shared_key_bytes=9000)
    assert findings(zips(8, 20_001), changes=again, zip_ratio=2.1) == []
    (finding,) = findings(zips(8, 20_001), changes=again, zip_ratio=2)
    assert finding.evidence.endswith("and 10 puts in 1 version wrote ~9.8 KiB each")


def test_column_families_share_uploads_of_partition() -> None:
    facts = [
        (name, partition, VersionFacts(stores=1, puts=5 * (name == "busy")))
        for name in ("$idle", "busy")
        for partition in range(2)
    ]
    view = operator_view(zips(2, 300), zips(2, 300), compares=True, facts=facts)
    assert uploads_of(view) == (2, 600)
    assert attributes(changes_of(view), "puts") == [10]
