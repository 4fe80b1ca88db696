"""One way to name a key: the hash that an audit prints leads to the key in every command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import checkpoint_of, run

LEAK = checkpoint_of("fmgws_event_ignore")
KEY = {"value": "once-000"}


@pytest.fixture(scope="module")
def hashed() -> str:
    """A key as the report of an audit names it."""
    tables = run("audit", LEAK, "-o", "json").json["tables"]
    first: str = tables["leftovers"][0]["key"]
    assert first.startswith("sha256:")
    return first


@pytest.fixture(scope="module")
def forms(hashed: str) -> list[str]:
    """All names of one key."""
    (row,) = run("rows", LEAK, "--key", hashed, "-o", "json", "--raw").rows
    assert row["key"] == KEY
    return [
        *(hashed, hashed[:13], "value=once-000", '{"value": "once-000"}'),
        *(row["key_hex"], f"hex:{row['key_hex']}", f"0x{row['key_hex']}"),
    ]


@pytest.mark.parametrize("command", ["rows", "history", "leftovers", "diff"])
def test_every_form_of_a_key_finds_the_same_rows(command: str, forms: list[str]) -> None:
    options = ("--from-batch", "0") if command == "diff" else ()
    result = [run(command, LEAK, "--key", form, *options, "-o", "json").json for form in forms]
    assert all(report["rows"] == result[0]["rows"] != [] for report in result)
    assert all(row["key"] == KEY for row in result[0]["rows"])
    assert not any("ambiguous" in note for note in result[1]["notes"])


def test_every_form_of_a_key_explains_the_same_leftover(forms: list[str]) -> None:
    result = [run("leftovers", LEAK, "--explain", form, "-o", "json").rows for form in forms]
    assert all(rows == result[0] != [] for rows in result)


def test_export_of_a_named_key(forms: list[str], tmp_path: Path) -> None:
    location = tmp_path / "rows.ndjson"
    assert run("export", "rows", LEAK, "-O", location, "--key", forms[0]).code == 0
    assert location.read_text("utf-8").count("\n") == 1


def test_key_of_several_fields_is_named_by_each_field() -> None:
    path = checkpoint_of("agg_append")
    rows = run("rows", path, "-o", "json").rows
    item = rows[0]["key"]
    options = ("--key", f"user={item['user']}", "--key", f"window.end={item['window']['end']}")
    result = run("rows", path, *options, "-o", "json").rows
    assert [row["key"] for row in result] == [item]


def test_where_option_compares_values() -> None:
    rows = run("rows", LEAK, "-o", "json").rows
    visits = {row["key"]["value"]: row["value"]["groupState"]["visits"] for row in rows}
    for where, expected in {
        "value.groupState.visits>1": [key for key, n in visits.items() if n > 1],
        "groupState.visits != 1": [key for key, n in visits.items() if n != 1],
        "value.groupState.visits=1": [key for key, n in visits.items() if n == 1],
    }.items():
        result = run("rows", LEAK, "--where", where, "-o", "json").rows
        assert [row["key"]["value"] for row in result] == expected != []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--key", "valuex=a"), "keys have no field 'valuex'; did you mean value?"),
        (("--where", "visit=1"), "The fields are key.value string, value.groupState.user string"),
        (("--key", "hex:nobody"), "the hash of a redacted key (sha256:...)"),
        (("--key", "sha256:"), "1 to 64 hex digits"),
        (("--operator", "9"), "it has operator 0 (partitions 0 to 1; stores default)"),
    ],
)
def test_invalid_key_names_the_existing_fields(options: tuple[str, ...], words: str) -> None:
    outcome = run("rows", LEAK, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("kept_without_timeot", "did you mean kept_without_timeout? the classes are"),
        ("unheard-of", "the classes are past_watermark, past_processing_time"),
    ],
)
def test_unknown_leftover_class_names_the_classes(word: str, words: str) -> None:
    outcome = run("leftovers", LEAK, "--explain", word)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert "a key is named by a field and its value" in outcome.err


def test_ambiguous_key_hash_is_reported() -> None:
    outcome = run("rows", LEAK, "--key", "sha256:2")
    assert "sha256:2 is ambiguous" in outcome.out
    assert outcome.code == 0
    out = run("rows", LEAK, "--key", "sha256:" + "0" * 16).out
    assert "inspector history searches older versions too" in out


def test_removed_key_is_found_by_its_hash_in_the_history() -> None:
    path = checkpoint_of("fmgws_event_remove")
    rows: list[dict[str, Any]] = run(
        "history", path, "--where", "value>a", "-o", "json", "--redact", "hash"
    ).rows
    gone = next(row["key"] for row in rows if row["event"] == "removal")
    assert run("rows", path, "--key", gone, "-o", "json").rows == []
    life = run("history", path, "--key", gone, "-o", "json").rows
    assert [row["event"] for row in life][-1] == "removal"


def test_key_variable_has_one_key_on_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECTOR_ROWS_KEY", '{"value": "once-000"}\nvalue=once-000')
    (row,) = run("rows", LEAK, "-o", "json").rows
    assert row["key"] == KEY
