"""All forms of a report: JSON by its published schema, and the same numbers in every one."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inspector import api, docs
from inspector.render.cells import cell_text
from inspector.render.tabular import Column, Unit
from tests.attributes import attributes
from tests.cli.support import COMMANDS, OUTPUTS, checkpoint_of, copy_of, flip, run
from tests.fixture_folder import NEWEST
from tests.profiles import crossed, sampled
from tests.reports import cell_values, json_lines, primary_rows

CASES = (
    *("agg_update", "agg_v1", "dedup_no_watermark", "fmgws_event_ignore", "fmgws_processing_time"),
    *("join_left_outer", "session_window", "snapshots_cleaned", "uncommitted", "task_failed"),
    *("limit_after_dedup", "empty_partitions", "pandas_event_ignore", "restarted"),
    *sorted(attributes(NEWEST.glob("trouble_*"), "name")),
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


FLEET_COMMANDS = (
    *("audit", "files", "info", "leftovers", "memory", "sharing", "sizes", "timeline", "top"),
    "verify",
)
"""Commands that accept several checkpoints."""

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
    document["tables"].pop("confs", None)  # the value of a conf is a text for Spark too
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
    check(run(command, path, *options, "-o", "json").json)


def test_json_of_changes_fits_schema() -> None:
    report = api.changes(str(checkpoint_of("agg_update")))
    check(json.loads("".join(api.render(report, "json"))))


@pytest.fixture(scope="module")
def unreadable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with a damaged delta and a missing one."""
    path = copy_of("fmgws_event_ignore", tmp_path_factory.mktemp("unreadable"))
    flip(path / "state/0/1/3.delta", 40)
    (path / "state/0/0/5.delta").unlink()
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_json_of_unreadable_checkpoint_fits_schema(command: str, unreadable: Path) -> None:
    check(run(command, unreadable, "-o", "json").json)


@pytest.mark.parametrize("command", ["audit", "verify"])
def test_verdict_of_unreadable_checkpoint(command: str, unreadable: Path) -> None:
    document = run(command, unreadable, "-o", "json").json
    assert document["verdict"]["level"] == "unreadable"


@pytest.mark.parametrize("command", FLEET_COMMANDS)
def test_json_of_fleet_fits_schema(command: str, tmp_path: Path) -> None:
    paths = (checkpoint_of("fmgws_event_ignore"), tmp_path / "none", checkpoint_of("agg_update"))
    document = run(command, *paths, "-o", "json").json
    assert (len(document["fleet"]), len(document["reports"])) == (3, 3)
    check(document)


@pytest.fixture(scope="module")
def baseline_document(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """JSON of an audit of two checkpoints, of which the baseline has only the first."""
    old, first = tmp_path_factory.mktemp("baseline") / "old.json", checkpoint_of("agg_update")
    run("audit", first, "-O", old)
    return run("audit", first, checkpoint_of("agg_v1"), "--baseline", old, "-o", "json").json


def test_json_of_fleet_with_baseline_fits_schema(baseline_document: Any) -> None:
    check(baseline_document)


def _drop(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.pop(name)


def _set(value: Any, *path: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        parent: Any = reduce(getitem, path[:-1], document)
        parent[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "spoil",
    [_drop("complete"), _set([{}], "fleet"), _set([{"error": {}}], "reports")],
    ids=["complete", "fleet", "reports"],
)
def test_report_schema_refuses_wrong_fleets(
    baseline_document: Any, spoil: Callable[[dict[str, Any]], None]
) -> None:
    spoilt = copy.deepcopy(baseline_document)
    spoil(spoilt)
    assert not validator().is_valid(spoilt)


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


@pytest.mark.parametrize(("case", "command"), crossed(NUMBERS, OF_NUMBERS))
def test_numbers_agree_across_formats(case: str, command: str, tmp_path: Path) -> None:
    path = str(checkpoint_of(case))
    function = getattr(api, command)
    columns = list(function(path).primary.columns)
    rows = primary_rows(function(path))
    numbers = [c for c in columns if c.unit not in (Unit.TEXT, Unit.VALUE)]
    assert numbers
    names = attributes(numbers, "name")
    text = {form: "".join(api.render(function(path), form)) for form in OUTPUTS}
    of_json = json.loads(text["json"])["rows"]
    expected = cell_values(of_json, *names)
    assert expected == [tuple(map(row.get, names)) for row in rows]
    assert json_lines(text["ndjson"]) == of_json
    of_csv = csv.DictReader(io.StringIO(text["csv"]))
    assert [tuple(_read(c, row[c.name]) for c in numbers) for row in of_csv] == expected
    table = api.arrow_table(function(path))
    assert _of_arrow(table, numbers) == expected
    pq.write_table(table, tmp_path / "t.parquet")
    assert _of_arrow(pq.read_table(tmp_path / "t.parquet"), numbers) == expected
    result = [[cell_text(c, row.get(c.name)) for c in columns] for row in rows]
    assert _of_text(text["table"], columns, len(rows)) == result
    heads, lines = _of_markdown(text["markdown"], len(rows))
    is_shown = np.isin(attributes(columns, "head"), heads)
    assert np.array(attributes(columns, "head"))[is_shown].tolist() == heads
    assert np.array(result).reshape(-1, len(columns))[:, is_shown].tolist() == lines


def _read(column: Column, cell: str) -> Any:
    """A cell of a CSV as the number that it says."""
    if cell == "":
        return None
    if column.unit is Unit.FLAG:
        return {"true": True, "false": False}[cell]
    return json.loads(cell)


def _of_arrow(table: pa.Table, columns: list[Column]) -> list[tuple[Any, ...]]:
    """The rows of an Arrow table, times in epoch ms."""

    def read(column: Column) -> list[Any]:
        if column.unit is not Unit.TIME_MS:
            return list(table[column.name].to_pylist())
        return list(table[column.name.removesuffix("_ms")].cast(pa.int64()).to_pylist())

    return list(zip(*map(read, columns), strict=True))


def _of_text(text: str, columns: list[Column], count: int) -> list[list[str]]:
    """Return the cells of the first rows of the primary table of a text report."""
    if count == 0:
        return []
    first = columns[0].head.upper().replace(" ", "_")
    match = re.search(rf"^ *{first}\b.*\n", text, re.M)
    assert match is not None
    assert len(re.split(r" {2,}", match[0].strip())) == len(columns)
    lines = text[match.end() :].splitlines()[:count]
    return [re.split(r" {2,}", line.strip()) for line in lines]


def _of_markdown(text: str, count: int) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the cells of the first table of a Markdown report.

    Markdown leaves out columns that are for a wide terminal.
    """
    if count == 0:
        return [], []
    lines = re.findall(r"^\| (.*) \|$", text.replace("\\", ""), re.M)
    head, *cells = [re.split(r" +\| +", line.strip()) for line in lines[: count + 1]]
    return head, cells


@pytest.mark.parametrize("case", sampled(NUMBERS, 2, 1))
def test_audit_is_equal_in_every_format(case: str) -> None:
    path = checkpoint_of(case)
    document = run("audit", path, "-o", "json").json
    verdict, findings = document["verdict"], document["findings"]
    ndjson = run("audit", path, "-o", "ndjson").ndjson
    of_csv = run("audit", path, "-o", "csv").csv
    assert [{"checkpoint": str(path)} | finding for finding in findings] == ndjson
    assert cell_values(of_csv, "rows") == [str(finding["rows"] or "") for finding in findings]
    severities = cell_values(findings, "severity")
    assert verdict["errors"] == severities.count("error")
    assert verdict["warnings"] == severities.count("warning")
    assert verdict["infos"] == severities.count("info")
    sizes = cell_values(document["tables"]["sizes"], "rows")
    assert verdict["size"]["rows"] == document["summary"]["rows"] == sum(sizes)
    ids = cell_values(findings, "id")
    assert re.findall("^(SS...) ", run("audit", path, "-o", "table").out, re.M) == ids
    assert re.findall(r"^\*\*(SS...) ", run("audit", path, "-o", "markdown").out, re.M) == ids
    memory = run("memory", path, "-o", "json").json["summary"]["heap_estimate_bytes"]
    assert verdict["size"]["heap_bytes"] == memory
