"""CSV that any reader reads."""

import csv
import io
import json

from inspector.plain_text import escape
from inspector.render.plain import render_csv, render_ndjson
from tests.render.samples import HOSTILE, bare, report, table
from tests.reports import json_lines

HEADER = "operator_id,store_name,key,rows,bytes,heap,clock_ms,clock,done,hidden\n"


def test_csv_round_trip_of_values() -> None:
    text = "".join(render_csv(report()))
    assert text.startswith(HEADER)
    first, second = csv.DictReader(io.StringIO(text, newline=""))
    rows = json_lines("".join(render_ndjson(report())))
    assert json.loads(first["key"]) == rows[0]["key"]
    assert (first["rows"], first["bytes"]) == ("1234567", str(2**53 + 1))
    assert (first["clock_ms"], first["clock"]) == ("1704067220500", "2024-01-01T00:00:20.500Z")
    assert (first["done"], second["done"]) == ("true", "false")
    assert second["store_name"] == escape(HOSTILE)
    assert json.loads(second["key"]) == [HOSTILE, None]
    assert second["bytes"] == second["clock_ms"] == second["clock"] == ""


def test_csv_escapes_control_characters() -> None:
    hostile = [{"store_name": f"{HOSTILE}\x7f\x9b31m", "key": [f"\x9b{HOSTILE}"]}]
    text = "".join(render_csv(report(tables=(table(hostile),))))
    assert text.replace("\n", "").isprintable()
    assert "\\x7f\\x9b31m" in text


def test_csv_without_rows_is_header() -> None:
    assert "".join(render_csv(bare())) == HEADER
