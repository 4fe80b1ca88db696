"""``inspector history`` from the command line."""

from __future__ import annotations

import pytest

from tests.cli.support import OUTPUTS, checkpoint_of, run, tree

CASE = checkpoint_of("fmgws_event_ignore")
KEY = '{"value": "lapsed-004"}'


def test_the_life_of_a_key_for_people() -> None:
    outcome = run("history", CASE, "--key", KEY)
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    head = next(line for line in lines if line[:2] == ["VERSION", "BATCH_ID"])
    event = head.index("EVENT")
    told_of = [(line[0], line[1], line[event]) for line in lines if len(line) >= len(head)]
    assert {("1", "0", "insert"), ("5", "4", "update")} <= set(told_of)
    assert "2024-01-01T00:00:20.400Z" in outcome.out


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_format(output: str) -> None:
    before = tree(CASE)
    outcome = run("history", CASE, "--where", "value=lapsed-004", "-o", output, "--raw")
    assert outcome.code == 0
    assert outcome.out
    assert tree(CASE) == before


def test_machine_formats_have_every_column() -> None:
    first, second = run("history", CASE, "--key", KEY, "-o", "ndjson").ndjson
    assert first["timeout"] == "2024-01-01T00:00:20.400Z"
    assert second["timeout"] is None
    assert second["old_value_bytes"] == second["value_bytes"] == 80
    assert second["file"].endswith("state/0/0/5.delta")
    assert second["watermark_ms"] < second["batch_timestamp_ms"]


def test_hidden_keys_are_still_found() -> None:
    rows = run("history", CASE, "--key", KEY, "-o", "json", "--redact", "all", "--raw").rows
    assert [(row["key"], row["key_hex"]) for row in rows] == [("***", None)] * 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "use --key"),
        (("--key", "hex:lapsed"), "the bytes of the key row in hex"),
        (("--where", "user=a"), "no field 'user'"),
        (("--where", "value"), "NAME=VALUE"),
        (("--key", KEY, "--batch", "99"), "does not exist"),
    ],
)
def test_mistakes_are_of_usage(options: tuple[str, ...], words: str) -> None:
    outcome = run("history", CASE, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
