"""Options about keys and schemas."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector.checkpoint.metadata import LOST_METADATA
from inspector.discovery.lost_files import LOST_SCHEMA
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import to_json
from tests.cli.support import copy_of, run
from tests.fixture_folder import FIXTURES
from tests.reports import cell_values

KEY = "window struct<start: timestamp, end: timestamp>, user string"
VALUE = "count bigint, sum bigint, max timestamp"


def _copy_of(release: str, folder: Path) -> Path:
    """Return a copy of a fixture by another Spark release, which has the same rows."""
    source = FIXTURES / release / "agg_update" / "checkpoint"
    return Path(shutil.copytree(source, folder / release))


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A checkpoint of Spark 3.0, which writes no schemas and no operator metadata."""
    return _copy_of("3.0.3", tmp_path)


def schemas(key: str = KEY, value: str = VALUE) -> tuple[str, ...]:
    return ("--key-schema", key, "--value-schema", value)


def contents(path: Path, *options: str) -> list[tuple[str, str]]:
    """Return keys and values of all rows."""
    return cell_values(run("rows", path, "-o", "csv", *options).csv, "key", "value")


def test_given_schemas_replace_missing_schemas(bare: Path, tmp_path: Path) -> None:
    file = tmp_path / "value.json"
    file.write_text(to_json(parse_ddl(VALUE)))
    rows = contents(_copy_of("3.1.3", tmp_path))
    assert contents(bare) != rows
    for item in (schemas(), schemas(f"0={KEY}", f"0:default=@{file}"), schemas(KEY, f"@{file}")):
        assert contents(bare, *item) == rows


@pytest.mark.parametrize("command", ["info", "sizes", "sharing", "leftovers", "audit", "verify"])
def test_schema_options_of_every_command_that_decodes(bare: Path, command: str) -> None:
    outcome = run(command, bare, *schemas(), "-o", "json")
    assert outcome.code in (0, 1)
    assert "stateStoreSave" in outcome.out or command == "verify"
    if command == "info":
        assert outcome.rows[0]["schema_from"] == "given"


def test_given_schema_replaces_a_lost_schema_file(tmp_path: Path) -> None:
    copy = copy_of("agg_update", tmp_path)
    (copy / "state/0/0/_metadata/schema").unlink()
    assert cell_values(run("info", copy, "-o", "json").json["problems"], "problem") == [LOST_SCHEMA]
    outcome = run("info", copy, *schemas(), "-o", "json")
    assert (outcome.code, outcome.json["problems"]) == (0, [])


def test_lost_metadata_is_a_problem_despite_a_given_schema(tmp_path: Path) -> None:
    copy = copy_of("agg_update", tmp_path)
    (copy / "state/0/_metadata/metadata").unlink()
    outcome = run("info", copy, *schemas(), "-o", "json")
    assert cell_values(outcome.json["problems"], "problem") == [LOST_METADATA]
    assert outcome.code == 4


def test_given_schema_that_does_not_match_is_reported(bare: Path) -> None:
    outcome = run("verify", bare, *schemas(KEY, "a string"))
    assert "SS106" in outcome.out
    assert outcome.code == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (schemas("user text"), "unknown type"),
        (schemas("7=user string"), "is no store; there are 0:default"),
        (("--key-schema", KEY), "give --value-schema too"),
        (schemas("@/no/such/file"), "cannot be read"),
    ],
)
def test_invalid_schema_options_are_usage_errors(
    bare: Path, arguments: tuple[str, ...], words: str
) -> None:
    outcome = run("rows", bare, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


def test_at_sign_inside_a_schema(bare: Path) -> None:
    outcome = run("rows", bare, *schemas("`a@b` string"))
    assert outcome.code == 0
