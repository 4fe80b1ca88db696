"""Names of keys: hash, field and value, JSON, and hex."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import checkpoint_of, run
from tests.reports import cell_values, rows_where

LEAK = checkpoint_of("fmgws_event_ignore")
KEY = {"value": "once-000"}


@pytest.fixture(scope="module")
def hashed() -> str:
    """The hash of a key in the report of an audit."""
    tables = run("audit", LEAK, "-o", "json").json["tables"]
    first: str = tables["leftovers"][0]["key"]
    assert first.startswith("sha256:")
    return first


@pytest.fixture(scope="module")
def forms(hashed: str) -> list[str]:
    """All forms in which one key can be named."""
    (row,) = run("rows", LEAK, "--key", hashed, "-o", "json", "--raw").rows
    assert row["key"] == KEY
    return [
        *(hashed, hashed[:13], "value=once-000", '{"value": "once-000"}'),
        *(row["key_hex"], f"hex:{row['key_hex']}", f"0x{row['key_hex']}"),
    ]


@pytest.mark.parametrize(
    ("command", "options"),
    [("rows", ()), ("history", ()), ("leftovers", ()), ("diff", ("--from-batch", "0"))],
)
def test_every_form_of_a_key_finds_the_same_rows(
    command: str, options: tuple[str, ...], forms: list[str]
) -> None:
    by_hash = run(command, LEAK, "--key", forms[0], *options, "-o", "json").rows
    assert cell_values(by_hash, "key") == [KEY] * len(by_hash) != []
    for form in forms[1:]:
        report = run(command, LEAK, "--key", form, *options, "-o", "json").json
        assert report["rows"] == by_hash
        assert "ambiguous" not in " ".join(report["notes"])


def test_every_form_of_a_key_explains_the_same_leftover(forms: list[str]) -> None:
    expected = run("leftovers", LEAK, "--explain", forms[0], "-o", "json").rows
    assert len(expected) == 3
    for form in forms[1:]:
        assert run("leftovers", LEAK, "--explain", form, "-o", "json").rows == expected


def test_export_of_a_named_key(forms: list[str], tmp_path: Path) -> None:
    location = tmp_path / "rows.ndjson"
    assert run("export", "rows", LEAK, "-O", location, "--key", forms[0]).code == 0
    assert location.read_text("utf-8").count("\n") == 1


def test_key_of_several_fields_is_named_by_each_field() -> None:
    options = ("--key", "user=user-102", "--key", "window.end=2024-01-01T00:01:20.000000Z")
    rows = run("rows", checkpoint_of("agg_append"), *options, "-o", "json").rows
    window = {"start": "2024-01-01T00:01:00.000000Z", "end": "2024-01-01T00:01:20.000000Z"}
    assert cell_values(rows, "key") == [{"window": window, "user": "user-102"}]


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("value.groupState.visits>1", 35),
        ("groupState.visits != 1", 35),
        ("value.groupState.visits=1", 93),
    ],
)
def test_where_option_compares_values(where: str, count: int) -> None:
    """93 keys have 1 visit, 12 have 2, 18 have 3 and 5 have 10 visits."""
    assert len(run("rows", LEAK, "--where", where, "-o", "json").rows) == count


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
    options = ("--where", "value>a", "-o", "json", "--redact", "hash")
    removed = rows_where(run("history", path, *options).rows, event="removal")[0]["key"]
    assert run("rows", path, "--key", removed, "-o", "json").rows == []
    life = run("history", path, "--key", removed, "-o", "json").rows
    assert cell_values(life, "event")[-1] == "removal"


def test_key_variable_has_one_key_on_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECTOR_ROWS_KEY", '{"value": "once-000"}\nvalue=once-000')
    (row,) = run("rows", LEAK, "-o", "json").rows
    assert row["key"] == KEY
