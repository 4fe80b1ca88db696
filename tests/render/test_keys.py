"""Rows as words, hashed or hidden."""

import hashlib

import pytest

from inspector.model import Redact
from inspector.render.values import RowWords
from tests.cli.support import schema_of
from tests.encode import row

SCHEMA = schema_of(("user", "string"), ("n", "long"))
ROWS = [row(SCHEMA, ["a", 1]), row(SCHEMA, [None, -1]), row(SCHEMA, ["a longer name", 2**63 - 1])]


def test_rows_are_decoded_by_their_schema() -> None:
    assert RowWords(SCHEMA).words(ROWS) == [
        {"user": "a", "n": 1},
        {"user": None, "n": -1},
        {"user": "a longer name", "n": 2**63 - 1},
    ]
    assert RowWords(SCHEMA).words([]) == []


def test_row_that_does_not_fit_schema_is_none() -> None:
    words = RowWords(SCHEMA).words([ROWS[0], b"short", ROWS[1]])
    assert words == [{"user": "a", "n": 1}, None, {"user": None, "n": -1}]


def test_rows_without_schema_are_none() -> None:
    assert RowWords(None).words(ROWS) == [None] * 3


@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_equal_rows_have_equal_hashes(schema: object) -> None:
    words = RowWords(schema, Redact.HASH)  # type: ignore[arg-type]
    result = words.words([*ROWS, ROWS[0]])
    assert result[0] == result[3] == f"sha256:{hashlib.sha256(ROWS[0]).hexdigest()[:16]}"
    assert len(set(result)) == 3


def test_fully_redacted_rows_are_asterisks() -> None:
    words = RowWords(SCHEMA, Redact.ALL)
    assert words.words(ROWS) == ["***"] * 3
