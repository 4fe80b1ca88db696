"""Keys and values decoded by the schemas of their store."""

from __future__ import annotations

from pathlib import Path

from inspector.analyses.shared.words import CHUNK, StoreWords, add_problems, row_chunks
from inspector.discovery.checkpoint import open_checkpoint
from inspector.model import Problem, Redact, StoreId, StoreName
from inspector.schemas import ROWS, batch_of
from tests import cases
from tests.cases import small_checkpoint
from tests.reports import slugs

PLACE = StoreName(1, "default")


def test_null_rows_and_rows_without_schema_are_null(tmp_path: Path) -> None:
    words = StoreWords(open_checkpoint(str(small_checkpoint(tmp_path))))
    rows = [None, cases.micros(1_000_000), None]
    display = {"ts": "1970-01-01T00:00:01.000000Z"}
    assert words.keys(PLACE, rows) == [None, display, None]
    assert words.values(PLACE, rows[:1]) == [None]
    assert words.keys(StoreName(7, "default"), rows) == [None] * 3
    assert words.hex(b"\x01") == "01"
    assert words.hex(None) is None


def test_redaction_hides_hex_bytes(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    words = StoreWords(checkpoint, Redact.ALL)
    assert words.keys(PLACE, [None, b"x"]) == [None, "***"]
    assert words.hex(b"x") is None


def test_row_chunks_without_problem_rows() -> None:
    location = {"operator_id": 0, "store_name": "default", "partition_id": 1, "version": 2}
    row = location | {"kind": "row", "key": b"k", "value": b"v"}
    gone = location | {"kind": "problem", "slug": "missing-version", "message": "again"}
    bad = location | {"kind": "problem", "slug": "bad-frame", "message": "bad", "path": "2.delta"}
    batches = [batch_of(ROWS, [row] * (CHUNK + 1)), batch_of(ROWS, [gone, bad])]
    store = StoreId(0, "default", 1)
    problems = [Problem("missing-version", "told by the listing", store=store)]
    assert [len(chunk) for chunk in row_chunks(batches, problems)] == [CHUNK, 1]
    assert slugs(problems) == ["missing-version", "bad-frame"]


def test_listed_problems_are_not_added_again() -> None:
    stores = StoreId(0, "default", 1), StoreId(0, "default", 2)
    listed = [Problem("missing-version", "cannot be restored", "p/1", store=stores[0])]
    problems = list(listed)
    again = Problem("missing-version", "no delta", store=stores[0])
    elsewhere = Problem("missing-version", "no delta", store=stores[1])
    of_file = Problem("missing-version", "no delta", "2.delta", store=stores[0])
    add_problems([again, elsewhere, of_file, elsewhere], problems)
    assert problems == [*listed, elsewhere, of_file]


def test_rows_that_do_not_fit_are_null_and_a_problem(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    words = StoreWords(open_checkpoint(str(root)))
    assert words.keys(PLACE, [cases.micros(1)]) != [None]
    assert list(words.misfits()) == []
    assert words.keys(PLACE, [b"short", b""]) == [None, None]
    (problem,) = words.misfits()
    assert (problem.slug, problem.path) == ("bad-row", f"{root}/state/1")
    assert "are null: 2" in problem.message
