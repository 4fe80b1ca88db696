"""The envelope, and lines of JSON."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from inspector.model import Problem
from inspector.render.as_json import render_json, render_ndjson
from tests.render.samples import HOSTILE, ROWS, bare, report, table


def test_the_envelope_has_everything() -> None:
    envelope = json.loads("".join(render_json(report())))
    assert list(envelope) == [
        *("schema_version", "command", "checkpoint", "summary", "columns", "rows"),
        *("tables", "findings", "problems", "complete", "notes"),
    ]
    assert (envelope["schema_version"], envelope["command"]) == (1, "things")
    assert envelope["tables"] == {"others": []}
    assert len(envelope["findings"]) == 3
    assert envelope["notes"] == ["A note."]
    assert envelope["complete"] is False
    assert {"name": "heap", "unit": "bytes", "exact": False} in envelope["columns"]
    assert {"name": "bytes", "unit": "bytes", "exact": True} in envelope["columns"]


def test_values_stay_as_they_are() -> None:
    first, second = json.loads("".join(render_json(report())))["rows"]
    assert first["bytes"] == 2**53 + 1
    assert first["key"] == ROWS[0]["key"]
    assert (first["clock_ms"], first["clock"]) == (1_704_067_220_500, "2024-01-01T00:00:20.500Z")
    assert second["store_name"] == HOSTILE
    assert second["bytes"] is second["clock_ms"] is second["clock"] is None
    assert "hidden" in second


def test_times_of_the_summary_are_told_twice() -> None:
    summary = json.loads("".join(render_json(report())))["summary"]
    assert summary["watermark_ms"] == 1_704_067_220_500
    assert summary["watermark"] == "2024-01-01T00:00:20.500Z"
    assert summary["batch_timestamp_ms"] is summary["batch_timestamp"] is None


def test_an_empty_report_is_complete() -> None:
    envelope = json.loads("".join(render_json(bare())))
    assert (envelope["rows"], envelope["problems"], envelope["complete"]) == ([], [], True)


def test_rows_are_written_while_they_are_read() -> None:
    problems: list[Problem] = []
    read = []

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(3):
            read.append(number)
            yield {"rows": number}
        problems.append(Problem("truncated", "at the end"))

    made = report(tables=(table(rows()),), problems=problems)  # type: ignore[arg-type]
    pieces = render_json(made)
    next(pieces)
    assert read == []
    second = next(pieces)
    assert (read, '"rows": 0' in second) == ([0], True)
    envelope = json.loads('{"rows": [' + second + "".join(pieces))
    assert [row["rows"] for row in envelope["rows"]] == [0, 1, 2]
    assert [problem["message"] for problem in envelope["problems"]] == ["at the end"]
    assert envelope["complete"] is False


def test_lines_hold_the_rows_and_nothing_else() -> None:
    lines = "".join(render_ndjson(report())).splitlines()
    assert [json.loads(line) for line in lines] == json.loads("".join(render_json(report())))[
        "rows"
    ]
    assert "".join(render_ndjson(bare())) == ""


@pytest.mark.parametrize("render", [render_json, render_ndjson])
def test_a_number_that_json_lacks_is_a_fault_and_no_bad_json(render: Any) -> None:
    made = report(tables=(table([{"rows": float("nan")}]),))
    with pytest.raises(ValueError, match="JSON compliant"):
        list(render(made))
