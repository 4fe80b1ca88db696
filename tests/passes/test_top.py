"""The top keys that a task tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from inspector.operators.join import COUNT_STORES
from tests.cases import run, small_checkpoint, tasks_of


def test_keys_are_told_when_asked_for(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    tasks = tasks_of(root)
    assert not [row for row in run([task.to_json() for task in tasks]) if row["kind"] == "top"]
    told = run([replace(task, top=2).to_json() for task in tasks])
    rows = [row for row in told if row["kind"] == "top"]
    newest = {
        (row["partition_id"], row["store_name"]): row["rows"]
        for row in told
        if row["kind"] == "version" and row["version"] == tasks[0].version
    }
    by_ranking: dict[tuple[str, int, str], list[int]] = {}
    for row in rows:
        place = (row["top_by"], row["partition_id"], row["store_name"])
        by_ranking.setdefault(place, []).append(row["amount"])
    rankings = {by for by, _, _ in by_ranking}
    assert rankings == {"key_bytes", "value_bytes", "row_bytes", "puts", "oldest", "join_rows"}
    assert {store for by, _, store in by_ranking if by == "join_rows"} <= set(COUNT_STORES)
    for (_, partition, store), amounts in by_ranking.items():
        assert len(amounts) == min(2, newest[partition, store])
        assert amounts == sorted(amounts, reverse=True)
