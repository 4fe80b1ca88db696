"""The envelope, and lines of JSON."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from inspector.model import Problem
from inspector.render.as_json import render_json
from inspector.render.plain import render_ndjson
from inspector.render.tabular import Table
from tests.render.samples import HOSTILE, PART, ROWS, bare, report, table, verdict
from tests.reports import cell_values, json_lines


def test_json_envelope_has_all_parts_of_report() -> None:
    envelope = json.loads("".join(render_json(report())))
    assert list(envelope) == [
        *("schema_version", "command", "checkpoint", "part", "verdict", "summary"),
        *("table", "columns", "rows"),
        *("tables", "findings", "problems", "complete", "notes"),
    ]
    assert (envelope["schema_version"], envelope["command"]) == (2, "things")
    assert envelope["tables"] == {"others": []}
    assert len(envelope["findings"]) == 3
    assert envelope["notes"] == ["A note."]
    assert envelope["complete"] is False
    assert {"name": "heap", "unit": "bytes", "exact": False} in envelope["columns"]["things"]
    assert {"name": "bytes", "unit": "bytes", "exact": True} in envelope["columns"]["things"]


def test_json_values_keep_their_types() -> None:
    first, second = json.loads("".join(render_json(report())))["rows"]
    assert first["bytes"] == 2**53 + 1
    assert first["key"] == ROWS[0]["key"]
    assert (first["clock_ms"], first["clock"]) == (1_704_067_220_500, "2024-01-01T00:00:20.500Z")
    assert second["store_name"] == HOSTILE
    assert second["bytes"] is second["clock_ms"] is second["clock"] is None
    assert "hidden" in second


def test_json_summary_has_times_twice() -> None:
    summary = json.loads("".join(render_json(report())))["summary"]
    assert summary["watermark_ms"] == 1_704_067_220_500
    assert summary["watermark"] == "2024-01-01T00:00:20.500Z"
    assert summary["batch_timestamp_ms"] is summary["batch_timestamp"] is None


def test_json_of_empty_report_is_complete() -> None:
    envelope = json.loads("".join(render_json(bare())))
    assert (envelope["rows"], envelope["problems"], envelope["complete"]) == ([], [], True)


def test_json_rows_are_streamed() -> None:
    problems: list[Problem] = []
    read = []

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(3):
            read.append(number)
            yield {"rows": number}
        problems.append(Problem("truncated", "at the end"))

    result = report(tables=(table(rows()),), problems=problems)  # type: ignore[arg-type]
    pieces = render_json(result)
    next(pieces)
    assert read == []
    second = next(pieces)
    assert (read, '"rows": 0' in second) == ([0], True)
    envelope = json.loads('{"rows": [' + second + "".join(pieces))
    assert cell_values(envelope["rows"], "rows") == [0, 1, 2]
    assert cell_values(envelope["problems"], "message") == ["at the end"]
    assert envelope["complete"] is False


def test_ndjson_lines_are_rows() -> None:
    rows = json.loads("".join(render_json(report())))["rows"]
    assert json_lines("".join(render_ndjson(report()))) == rows
    assert "".join(render_ndjson(bare())) == ""


@pytest.mark.parametrize("render", [render_json, render_ndjson])
def test_json_escapes_control_characters(render: Any) -> None:
    hostile = {"store_name": f"{HOSTILE}\x7f\x9b31m\U000e0001", "key": {f"\x9b{HOSTILE}": "\ud800"}}
    text = "".join(render(report(tables=(table([hostile]),))))
    assert text.replace("\n", "").isprintable()
    assert "\\u007f\\u009b31m\\udb40\\udc01" in text
    document = text if render is render_ndjson else json.dumps(json.loads(text)["rows"][0])
    read = json.loads(document)
    assert (read["store_name"], read["key"]) == (hostile["store_name"], hostile["key"])


def test_json_verdict_has_numbers() -> None:
    envelope = json.loads("".join(render_json(report(verdict=verdict()))))
    result = envelope["verdict"]
    assert (result["level"], result["errors"], result["leftovers"]) == ("error", 1, 3)
    assert result["size"] == {"rows": 4, "row_bytes": 10_000, "heap_bytes": 20_000}
    assert result["growth"]["rows_per_hour"] == 1_200_000
    assert result["growth"]["since"] == "2024-01-01T00:00:00.000Z"
    assert result["cause"]["finding"] == "SS203"
    assert result["cause"]["rows_share"] == 0.75
    assert result["cause"]["command"].startswith("inspector leftovers '/ck/")
    assert json.loads("".join(render_json(report())))["verdict"] is None


def test_json_part_has_numbers() -> None:
    envelope = json.loads("".join(render_json(report(part=PART))))
    assert envelope["part"] == {
        "operator_id": 0,
        "store_name": None,
        "partition_id": 1,
        "version": None,
        "stores": 1,
        "of_stores": 2,
        "partitions": 1,
        "of_partitions": 5,
        "file_bytes": 1024,
        "of_file_bytes": 4096,
        "subset": None,
    }
    assert json.loads("".join(render_json(report())))["part"] is None


@pytest.mark.parametrize(("own", "second"), [("findings", "problems"), ("problems", "findings")])
def test_json_has_findings_and_problems_once(own: str, second: str) -> None:
    rows: list[dict[str, Any]] = [{"a": "is not written: the report has them"}]
    result = report(tables=(Table(own, own, (), rows), Table(second, second, (), rows)))
    envelope = json.loads("".join(render_json(result)))
    assert (envelope["table"], "rows" in envelope, envelope["tables"]) == (own, False, {})
    assert (len(envelope["findings"]), len(envelope["problems"])) == (3, 2)


@pytest.mark.parametrize("render", [render_json, render_ndjson])
def test_infinite_number_is_an_error_in_json(render: Any) -> None:
    result = report(tables=(table([{"rows": float("nan")}]),))
    with pytest.raises(ValueError, match="JSON compliant"):
        list(render(result))
