"""Options that all commands share."""

import json
from pathlib import Path

import click
import pytest

from inspector import analyses
from inspector.api import Options
from inspector.cli.click_options import api_options, own_options
from inspector.model import Redact, TimeoutKind
from tests.cli.support import checkpoint_of, run
from tests.reports import cell_values

GIVEN = {"storage_option": {"anon": "true"}}


def test_parsed_options_become_api_options() -> None:
    arguments = GIVEN | {
        "batch": 4,
        "state_version": None,
        "operator": 1,
        "store": "s",
        "partition": 2,
        "redact": "hash",
        "workers": 3,
        "timeout_kind": "event",
    }
    assert api_options(arguments) == Options(
        storage_options={"anon": "true"},
        batch=4,
        operator_id=1,
        store_name="s",
        partition_id=2,
        redact=Redact.HASH,
        workers=3,
        timeout_kind=TimeoutKind.EVENT_TIME,
    )


def test_unset_options_have_the_defaults_of_the_api() -> None:
    assert api_options(GIVEN) == Options(storage_options={"anon": "true"})


def test_batch_and_state_version_exclude_each_other() -> None:
    with pytest.raises(click.UsageError, match="exclude each other"):
        api_options(GIVEN | {"batch": 0, "state_version": 0})


@pytest.mark.parametrize("option", ["=value", "secret"])
def test_storage_option_needs_a_name(option: str) -> None:
    outcome = run("info", checkpoint_of("agg_update"), "--storage-option", option)
    assert outcome.code == 2
    assert "expected KEY=VALUE" in outcome.err
    assert "secret" not in outcome.err


@pytest.mark.parametrize(
    ("below", "stores", "partitions"),
    [
        ("", 4, {0, 1}),
        ("state", 4, {0, 1}),
        ("state/0", 4, {0, 1}),
        ("state/0/1", 4, {1}),
        ("state/0/1/left-keyToNumValues", 1, {1}),
        ("state/0/1/left-keyToNumValues/10.delta", 1, {1}),
        ("offsets", 4, {0, 1}),
    ],
)
def test_path_below_the_root_selects_a_part(below: str, stores: int, partitions: set[int]) -> None:
    path = checkpoint_of("join_left_outer") / below
    rows = run("sizes", path, "--by", "partition", "-o", "ndjson").ndjson
    assert set(cell_values(rows, "operator_id")) == {0}
    assert len(set(cell_values(rows, "store_name"))) == stores
    assert set(cell_values(rows, "partition_id")) == partitions


def test_path_of_a_delta_selects_its_version() -> None:
    file = checkpoint_of("agg_update") / "state/0/1/6.delta"
    summary = run("rows", file, "-o", "json").json["summary"]
    assert summary["version"] == 6
    assert run("rows", file, "--batch", "7", "-o", "json").json["summary"]["version"] == 8


@pytest.mark.parametrize(
    ("operator", "partition", "count"), [(0, 0, 0), (0, 1, 1), (1, 0, 54), (1, 1, 46)]
)
def test_operator_and_partition_options(operator: int, partition: int, count: int) -> None:
    options = ("--operator", str(operator), "--partition", str(partition))
    rows = run("rows", checkpoint_of("agg_two_levels"), "-o", "ndjson", *options).ndjson
    assert cell_values(rows, "operator_id", "partition_id") == [(operator, partition)] * count


@pytest.mark.parametrize("workers", ["1", "2", "5"])
def test_workers_option_does_not_change_the_report(workers: str) -> None:
    path = checkpoint_of("dedup_no_watermark")
    expected = run("audit", path, "-o", "json").out
    assert run("audit", path, "-o", "json", "--workers", workers).out == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [("table", 100), ("markdown", 100), ("json", 0), ("ndjson", 0), ("csv", 0)],
)
def test_default_limit_of_each_format(output: str, expected: int) -> None:
    rows, arguments = analyses.load("rows"), {"output": output, "raw": False}
    assert own_options(rows, arguments | {"limit": None}) == {"raw": False, "limit": expected}
    assert own_options(rows, arguments | {"limit": 0})["limit"] == 0
    assert own_options(rows, arguments | {"limit": 7})["limit"] == 7


def test_zero_workers_are_a_usage_error() -> None:
    assert run("audit", checkpoint_of("agg_update"), "--workers", "0").code == 2


def test_relative_path_and_file_url_are_shown_as_given(monkeypatch: pytest.MonkeyPatch) -> None:
    path = checkpoint_of("agg_update")
    monkeypatch.chdir(path.parent)
    assert run("info", Path("checkpoint"), "-o", "json").json["checkpoint"] == "checkpoint"
    uri = f"file:{path}"
    assert run("info", uri, "-o", "json").json["checkpoint"] == uri


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("report.json", '{"schema_version"'),
        ("report.ndjson", '{"'),
        ("report.csv", "checkpoint,id,"),
        ("report.md", "# audit"),
        ("report.txt", "Error: 68 keys leaked"),
        ("report", "Error: 68 keys leaked"),
    ],
)
def test_file_extension_sets_the_report_format(name: str, starts: str, tmp_path: Path) -> None:
    assert run("audit", checkpoint_of("fmgws_event_ignore"), "-O", tmp_path / name).code == 1
    assert (tmp_path / name).read_text("utf-8").startswith(starts)


def test_unknown_extension_of_a_report_needs_a_format(tmp_path: Path) -> None:
    path, file = checkpoint_of("agg_update"), tmp_path / "report.pdf"
    outcome = run("info", path, "-O", file)
    assert (outcome.code, list(tmp_path.iterdir())) == (2, [])
    assert "no format ends with .pdf; give one of .json, .ndjson," in outcome.err
    assert run("info", path, "-O", file, "-o", "json").code == 0
    assert json.loads(file.read_text("utf-8"))["command"] == "info"


def test_parquet_extension_writes_data(tmp_path: Path) -> None:
    file = tmp_path / "leftovers.parquet"
    assert run("leftovers", checkpoint_of("fmgws_event_ignore"), "-O", file).code == 0
    assert file.read_bytes()[:4] == b"PAR1"
    assert run("info", checkpoint_of("agg_update"), "-O", tmp_path / "info.parquet").code == 2


@pytest.mark.parametrize("extension", ["json", "parquet"])
def test_extension_that_contradicts_the_output_format_is_refused(
    extension: str, tmp_path: Path
) -> None:
    file = tmp_path / f"x.{extension}"
    outcome = run("leftovers", checkpoint_of("agg_append"), "-O", file, "-o", "csv")
    assert (outcome.code, list(tmp_path.iterdir())) == (2, [])
    assert f"the name is that of {extension}, got -o csv" in outcome.err


@pytest.mark.parametrize("name", ["x.csv", "x.txt", "x.log", "x"])
def test_output_option_is_accepted_for_a_name(name: str, tmp_path: Path) -> None:
    path = checkpoint_of("agg_append")
    assert run("leftovers", path, "-O", tmp_path / name, "-o", "csv").code == 0
