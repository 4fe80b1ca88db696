"""``inspector sharing``."""

from tests.cli.support import checkpoint_of, run
from tests.reports import cell_values


def test_sharing_counts_add_up_from_version_to_version() -> None:
    rows = run("sharing", checkpoint_of("agg_update"), "-o", "ndjson").ndjson
    assert cell_values(rows, *SHARING) == [
        (1, 50, 50, 0, 0, 0, 0, 4400, 4400),
        (2, 100, 50, 0, 10, 0, 40, 9120, 13_200),
        (3, 150, 50, 0, 10, 0, 90, 13_520, 22_000),
        (4, 200, 50, 0, 10, 0, 140, 17_920, 30_800),
        (5, 150, 50, 100, 10, 0, 90, 22_320, 30_800),
        (6, 150, 0, 0, 0, 0, 150, 13_200, 26_400),
        (7, 200, 50, 0, 10, 0, 140, 17_920, 30_800),
        (8, 150, 50, 100, 10, 0, 90, 22_320, 30_800),
        (9, 200, 50, 0, 10, 0, 140, 17_920, 30_800),
        (10, 100, 0, 100, 0, 0, 100, 17_600, 26_400),
    ]


def live_rows(version: str) -> dict[str, str]:
    """Return the values of the rows of one version by their keys, in hex."""
    options = ("--raw", "--state-version", version, "-o", "ndjson")
    rows = run("rows", checkpoint_of("agg_update"), *options).ndjson
    return dict(cell_values(rows, "key_hex", "value_hex"))


def test_sharing_counts_equal_the_rows_of_two_versions() -> None:
    old, new = live_rows("6"), live_rows("7")
    assert len(new.keys() - old.keys()) == 50
    assert len(old.keys() - new.keys()) == 0
    assert len(old.items() & new.items()) == 140
    row = run("sharing", checkpoint_of("agg_update"), "-o", "ndjson").ndjson[6]
    assert cell_values([row], *SHARING[:7]) == [(7, 200, 50, 0, 10, 0, 140)]


def test_versions_after_cleanup_have_a_partial_history() -> None:
    rows = run("sharing", checkpoint_of("snapshots_cleaned"), "-o", "ndjson").ndjson
    assert cell_values(rows, "version", "history", "stores_read", "stores") == [
        (6, "some partitions", 1, 2),
        (7, "some partitions", 1, 2),
        (8, "some changes", 2, 2),
        (9, "complete", 2, 2),
        (10, "complete", 2, 2),
        (11, "complete", 2, 2),
        (12, "complete", 2, 2),
        (13, "complete", 2, 2),
        (14, "complete", 2, 2),
    ]
    partition = checkpoint_of("snapshots_cleaned") / "state/0/0"
    part = run("sharing", partition, "-o", "ndjson").ndjson[0]
    assert part["history"] == "from snapshot"
    assert (part["new_rows"], part["rows"] > 0) == (None, True)


def test_rewrites_count_keys_put_in_the_newest_versions() -> None:
    """The newest version puts 50 new keys and 12 present ones."""
    json = run("sharing", checkpoint_of("agg_complete"), "-o", "json").json
    rewrites = cell_values(json["tables"]["rewrites"], "newest_versions", "keys")
    assert rewrites == [(1, 62), (2, 12), (3, 2)]
    newest = cell_values(json["rows"][-1:], "new_rows", "changed_rows", "same_value_rows")
    assert newest == [(50, 12, 0)]


SHARING = (
    *("version", "rows", "new_rows", "removed_rows", "changed_rows", "same_value_rows"),
    *("shared_rows", "two_versions_bytes", "two_versions_unshared_bytes"),
)
