"""Rows that are given away are read again as long as none was given and damage is in doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from inspector.passes.typed_rows import look_again, once

VANISHED, WRONG, ROW = ("problem", "vanished"), ("problem", "bad-row"), ("row", None)
Found = list[tuple[str, str | None]]


def read(looks: int, *by_look: Found, moves: bool = True) -> tuple[Found, int]:
    """What is given of a task that reads so by look, and how often it was read."""
    reads = 0

    def batches(task: int) -> Iterator[pa.RecordBatch]:
        nonlocal reads
        reads += 1
        for kind, slug in by_look[min(task, len(by_look) - 1)]:
            columns = {"slug": slug, "path": slug and "file"}
            texts = {name: pa.array([text], "string") for name, text in columns.items()}
            yield pa.RecordBatch.from_pydict({"kind": [kind], **texts})

    def again(task: int, paths: Sequence[str]) -> int:
        confirmed.extend(paths)
        return task + moves

    confirmed: list[str] = []
    result = look_again(0, batches, again=again, looks=looks)
    return [(row["kind"], row["slug"]) for item in result for row in item.to_pylist()], reads


def test_problem_in_both_reads_is_damage() -> None:
    assert read(3, [ROW]) == ([ROW], 1)
    assert read(3, [VANISHED], [ROW]) == ([ROW], 2)
    assert read(3, [VANISHED]) == ([VANISHED], 4)
    assert read(0, [VANISHED], [ROW]) == ([VANISHED], 1)


def test_unchanged_files_need_one_more_read() -> None:
    assert read(3, [VANISHED], moves=False) == ([VANISHED], 2)


def test_undoubted_problem_is_reported_at_once() -> None:
    assert read(3, [WRONG], [ROW]) == ([WRONG], 1)


def test_rows_are_not_given_twice() -> None:
    assert read(3, [ROW, VANISHED], [ROW]) == ([ROW, VANISHED], 1)


def test_once_is_a_look_too() -> None:
    batch = pa.RecordBatch.from_pydict({"task": [3]})
    assert list(once(batch, lambda task: iter([task]))) == [batch]
