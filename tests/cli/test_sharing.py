"""``inspector sharing``."""

from collections import Counter

from tests.cli.support import checkpoint_of, run

JOIN = checkpoint_of("join_left_outer")


def test_sharing_counts_add_up_from_version_to_version() -> None:
    rows = run("sharing", checkpoint_of("agg_update"), "-o", "ndjson").ndjson
    assert [row["version"] for row in rows] == list(range(1, 11))
    before = 0
    for row in rows:
        assert row["rows"] == before + row["new_rows"] - row["removed_rows"]
        remaining = row["changed_rows"] + row["same_value_rows"] + row["shared_rows"]
        assert row["rows"] == row["new_rows"] + remaining
        assert row["two_versions_bytes"] <= row["two_versions_unshared_bytes"]
        before = row["rows"]
    assert sum(row["removed_rows"] for row in rows) > 0


def test_sharing_counts_equal_the_rows_of_two_versions() -> None:
    path = checkpoint_of("agg_update")
    live = [
        {
            (r["partition_id"], r["key_hex"]): r["value_hex"]
            for r in run("rows", path, "--raw", "--state-version", str(v), "-o", "ndjson").ndjson
        }
        for v in (6, 7)
    ]
    old, new = live
    row = run("sharing", path, "-o", "ndjson").ndjson[6]
    assert row["version"] == 7
    words = Counter(
        "new" if key not in old else "same" if old[key] == value else "changed"
        for key, value in new.items()
    )
    assert row["new_rows"] == words["new"]
    assert row["changed_rows"] == words["changed"]
    assert row["same_value_rows"] + row["shared_rows"] == words["same"]
    assert row["removed_rows"] == len(old.keys() - new.keys())


def test_versions_after_cleanup_have_a_partial_history() -> None:
    rows = run("sharing", checkpoint_of("snapshots_cleaned"), "-o", "ndjson").ndjson
    result = {row["history"] for row in rows[1:-1]}
    assert result == {"complete", "some changes", "some partitions"}
    alone = next(row for row in rows if row["history"] == "some partitions")
    assert (alone["stores_read"], alone["stores"]) == (1, 2)
    assert rows[-1]["history"] == "complete"
    partition = checkpoint_of("snapshots_cleaned") / "state/0/0"
    part = run("sharing", partition, "-o", "ndjson").ndjson[0]
    assert part["history"] == "from snapshot"
    assert (part["new_rows"], part["rows"] > 0) == (None, True)


def test_rewrites_count_keys_put_in_the_newest_versions() -> None:
    json = run("sharing", checkpoint_of("agg_complete"), "-o", "json").json
    rewrites = {row["newest_versions"]: row["keys"] for row in json["tables"]["rewrites"]}
    newest = json["rows"][-1]
    # Of the puts of the newest version, those of keys that are there once.
    assert rewrites[1] == newest["new_rows"] + newest["changed_rows"] + newest["same_value_rows"]
    assert all(
        rewrites[n] >= rewrites[m] for n, m in zip(rewrites, list(rewrites)[1:], strict=False)
    )
