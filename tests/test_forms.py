"""All forms of a report: JSON by its published schema, and the same numbers in every one."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inspector import analyses, api, docs
from inspector.render.cells import cell_text
from inspector.render.report import Report
from inspector.render.tabular import Column, Unit
from tests.cli.support import COMMANDS, OUTPUTS, checkpoint_of, copy_of, flip, run
from tests.fixture_folder import NEWEST
from tests.profiles import crossed, sampled

CASES = (
    *("agg_update", "agg_v1", "dedup_no_watermark", "fmgws_event_ignore", "fmgws_processing_time"),
    *("join_left_outer", "session_window", "snapshots_cleaned", "uncommitted", "task_failed"),
    *("limit_after_dedup", "empty_partitions", "pandas_event_ignore", "restarted"),
    *sorted(path.name for path in NEWEST.glob("trouble_*")),
)


@cache
def validator() -> jsonschema.Draft202012Validator:
    text = docs.data("report.schema.json")
    assert text is not None
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(document: Any) -> None:
    """Fail with the first thing in a document that the schema does not allow."""
    error = jsonschema.exceptions.best_match(validator().iter_errors(document))
    assert error is None, f"{error.json_path}: {error.message}"


LIKE_A_NUMBER = re.compile(
    r"^[~<>]?-?[\d,.]+ ?(%|[KMGTP]i?B|B|m?s|min|h|d)?$|\d+ of \d+|\d+ to \d+"
)
FREE = {
    *("key", "value", "old_value", "key_hex", "value_hex"),
    *("notes", "evidence", "message", "sentence", "cause"),
    *("source", "start", "end"),  # of sources, whose offsets may be numbers
}
"""Names under which a text may be whatever a query stored, or is a sentence."""


def texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a document with the name that it stands under."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item, name)
    elif isinstance(value, str) and name not in FREE:
        yield name, value


# --- the schema ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "command"), crossed(CASES, COMMANDS))
def test_json_of_every_command_fits_schema(case: str, command: str) -> None:
    document = run(command, checkpoint_of(case), "-o", "json").json
    check(document)
    if command == "info":
        document["tables"].pop("confs")  # the value of a conf is a text for Spark too
    result = [(name, text) for name, text in texts(document) if LIKE_A_NUMBER.search(text)]
    assert result == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("history", "--where", "value=lapsed-004"),
        ("history", "--where", "value=lapsed-004", "--raw"),
        ("rows", "--raw"),
        ("rows", "--redact", "all"),
        ("diff", "--from-batch", "3", "--to-batch", "9"),
        ("diff", "--from-batch", "3", "--to-batch", "9", "--raw"),
        ("sizes", "--by", "field"),
        ("sizes", "--by", "partition"),
        ("sharing", "--by", "operator"),
        ("leftovers", "--explain", "kept_without_timeout"),
        ("timeline", "--capacity", "1GiB"),
        ("memory", "--executors", "2", "--heap", "1GiB"),
        ("audit", "--partition", "1"),
        ("audit", "--batch", "5"),
        ("audit", "--max", "state.rows=1", "--max", "heap.bytes=1GiB"),
    ],
    ids=" ".join,
)
def test_json_with_options_fits_schema(arguments: tuple[str, ...]) -> None:
    command, *options = arguments
    path = checkpoint_of("fmgws_event_ignore")
    paths = (path, path) if command == "diff" and "--from-batch" not in options else (path,)
    check(run(command, *paths, *options, "-o", "json").json)


def test_json_of_changes_fits_schema() -> None:
    report = api.changes(str(checkpoint_of("agg_update")))
    check(json.loads("".join(api.render(report, "json"))))


def test_json_of_unreadable_checkpoint_fits_schema(tmp_path: Path) -> None:
    path = copy_of("fmgws_event_ignore", tmp_path)
    flip(path / "state/0/1/3.delta", 40)
    (path / "state/0/0/5.delta").unlink()
    for command in COMMANDS:
        document = run(command, path, "-o", "json").json
        check(document)
        if command in ("audit", "verify"):
            assert document["verdict"]["level"] == "unreadable"


def test_json_of_fleet_and_baseline_fits_schema(tmp_path: Path) -> None:
    paths = (checkpoint_of("fmgws_event_ignore"), tmp_path / "none", checkpoint_of("agg_update"))
    several_values = [name for name in COMMANDS if analyses.load(name).many]
    assert len(several_values) == 10
    for command in several_values:
        document = run(command, *paths, "-o", "json").json
        assert len(document["fleet"]) == len(document["reports"]) == len(paths)
        check(document)
    old = tmp_path / "old.json"
    run("audit", *paths, "-O", old)
    again = run("audit", paths[0], checkpoint_of("agg_v1"), "--baseline", old, "-o", "json").json
    check(again)
    for spoil in (_drop("complete"), _set([{}], "fleet"), _set([{"error": {}}], "reports")):
        spoilt = copy.deepcopy(again)
        spoil(spoilt)
        assert not validator().is_valid(spoilt)


def _drop(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.pop(name)


def _set(value: Any, *path: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        location: Any = document
        for step in path[:-1]:
            location = location[step]
        location[path[-1]] = value

    return change


@cache
def sound_document(command: str) -> Any:
    document = run(command, checkpoint_of("fmgws_event_ignore"), "-o", "json").json
    check(document)
    return document


@pytest.mark.parametrize(
    ("command", "spoil"),
    [
        ("audit", _drop("verdict")),
        ("audit", _set(1, "schema_version")),
        ("audit", _set("3 errors", "verdict")),
        ("audit", _set("~3", "verdict", "errors")),
        ("audit", _set("bad", "verdict", "level")),
        ("audit", _set([], "rows")),
        ("audit", _set([], "tables", "findings")),
        ("audit", _set("68", "findings", 0, "rows")),
        ("audit", _set(1.5, "verdict", "cause", "rows_share")),
        ("audit", _set("12.5 %", "verdict", "cause", "rows_share")),
        ("audit", _set("1,536", "summary", "row_bytes")),
        ("timeline", _set("2 of 2", "rows", 0, "partitions")),
        ("timeline", _set("yes", "rows", 0, "new_data")),
        ("timeline", _set(1, "rows", 0, "unknown_column")),
        ("timeline", _drop("rows")),
        ("timeline", _set([], "tables", "unknown_table")),
        ("sizes", _set("yesterday", "rows", 0, "batch_id")),
        ("leftovers", _set("yesterday", "rows", 0, "clock")),
        ("top", _set("1.12", "tables", "skew", 0, "max_to_median")),
    ],
)
def test_report_schema_refuses_wrong_documents(
    command: str, spoil: Callable[[dict[str, Any]], None]
) -> None:
    spoilt = copy.deepcopy(sound_document(command))
    spoil(spoilt)
    assert not validator().is_valid(spoilt)


# --- the same numbers ----------------------------------------------------------------------------

NUMBERS = ("agg_update", "fmgws_event_ignore", "join_left_outer", "trouble_skew")
OF_NUMBERS = ("sizes", "timeline", "sharing", "leftovers", "top", "files")


def rows_of(report: Report) -> list[dict[str, Any]]:
    """The rows of a report's own table, which can be read again and again."""
    return [dict(row) for row in report.primary.rows]


@pytest.mark.parametrize(("case", "command"), crossed(NUMBERS, OF_NUMBERS))
def test_numbers_agree_across_formats(case: str, command: str, tmp_path: Path) -> None:
    path = str(checkpoint_of(case))
    function = getattr(api, command)
    columns = list(function(path).primary.columns)
    rows = rows_of(function(path))
    numbers = [c for c in columns if c.unit not in (Unit.TEXT, Unit.VALUE)]
    assert numbers
    expected = [{c.name: row.get(c.name) for c in numbers} for row in rows]

    def only_numbers(actual: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{c.name: row[c.name] for c in numbers} for row in actual]

    text = {form: "".join(api.render(function(path), form)) for form in OUTPUTS}
    assert only_numbers(json.loads(text["json"])["rows"]) == expected
    assert only_numbers([json.loads(line) for line in text["ndjson"].splitlines()]) == expected
    of_csv = list(csv.DictReader(io.StringIO(text["csv"])))
    assert [[_read(c, row[c.name]) for c in numbers] for row in of_csv] == [
        [row[c.name] for c in numbers] for row in expected
    ]
    table = api.arrow_table(function(path))
    assert _of_arrow(table, numbers) == expected
    pq.write_table(table, tmp_path / "t.parquet")
    assert _of_arrow(pq.read_table(tmp_path / "t.parquet"), numbers) == expected
    result = [[cell_text(c, row.get(c.name)) for c in columns] for row in rows]
    assert _of_text(text["table"], columns, result) == len(rows)
    assert _of_markdown(text["markdown"], columns, result) == len(rows)


def _read(column: Column, cell: str) -> Any:
    """A cell of a CSV as the number that it says."""
    if cell == "":
        return None
    if column.unit is Unit.FLAG:
        return {"true": True, "false": False}[cell]
    return json.loads(cell)


def _of_arrow(table: pa.Table, columns: list[Column]) -> list[dict[str, Any]]:
    """The rows of an Arrow table, times in epoch ms."""

    def read(column: Column) -> list[Any]:
        if column.unit is not Unit.TIME_MS:
            return list(table[column.name].to_pylist())
        return list(table[column.name.removesuffix("_ms")].cast(pa.int64()).to_pylist())

    names = [column.name for column in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*map(read, columns), strict=True)]


def _of_text(text: str, columns: list[Column], message: list[list[str]]) -> int:
    """How many lines of the own table say what the rows say."""
    if not message:
        return 0
    head = re.split(r" {2,}", _head(text, columns).strip())
    assert len(head) == len(columns)
    lines = text[text.index(_head(text, columns)) :].splitlines()[1 : 1 + len(message)]
    return sum(
        re.split(r" {2,}", line.strip()) == cells
        for line, cells in zip(lines, message, strict=True)
    )


def _head(text: str, columns: list[Column]) -> str:
    first = columns[0].head.upper().replace(" ", "_")
    return next(line for line in text.splitlines() if line.split()[:1] == [first])


def _of_markdown(text: str, columns: list[Column], message: list[list[str]]) -> int:
    """The same of Markdown, which leaves out columns that are for a wide terminal."""
    if not message:
        return 0
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    head = [cell.strip() for cell in lines[0].strip("| ").split(" | ")]
    result = [i for i, column in enumerate(columns) if column.head in head]
    assert len(result) == len(head)
    actual = 0
    for line, cells in zip(lines[1 : 1 + len(message)], message, strict=True):
        plain = [cell.replace("\\", "") for cell in line.strip("| ").split(" | ")]
        actual += plain == [cells[i] for i in result]
    return actual


@pytest.mark.parametrize("case", sampled(NUMBERS, 2, 1))
def test_audit_is_equal_in_every_format(case: str) -> None:
    path = checkpoint_of(case)
    document = run("audit", path, "-o", "json").json
    verdict, findings = document["verdict"], document["findings"]
    ndjson = run("audit", path, "-o", "ndjson").ndjson
    of_csv = run("audit", path, "-o", "csv").csv
    assert [{"checkpoint": str(path)} | finding for finding in findings] == ndjson
    assert [row["rows"] for row in of_csv] == [str(element["rows"] or "") for element in findings]
    severities = [finding["severity"] for finding in findings]
    counts = (verdict["errors"], verdict["warnings"], verdict["infos"])
    assert counts == tuple(severities.count(word) for word in ("error", "warning", "info"))
    sizes = document["tables"]["sizes"]
    assert verdict["size"]["rows"] == document["summary"]["rows"] == sum(s["rows"] for s in sizes)
    for form in ("table", "markdown"):
        text = run("audit", path, "-o", form).out
        assert [item["id"] for item in findings] == re.findall(r"^(?:\*\*)?(SS\d{3}) ", text, re.M)
    memory = run("memory", path, "-o", "json").json["summary"]["heap_estimate_bytes"]
    assert verdict["size"]["heap_bytes"] == memory
