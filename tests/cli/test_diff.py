"""``inspector diff`` from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import OUTPUTS, checkpoint_of, copy_of, run, tree

CASE = checkpoint_of("fmgws_event_ignore")


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_format(output: str) -> None:
    before = tree(CASE)
    outcome = run("diff", CASE, "--from-batch", "2", "--to-version", "6", "-o", output, "--raw")
    assert outcome.code == 0
    assert outcome.out
    assert tree(CASE) == before


def test_rows_have_both_values_and_counts_follow() -> None:
    json = run("diff", CASE, "-o", "json", "--limit", "2").json
    assert len(json["rows"]) == 2
    row = json["rows"][0]
    assert (row["change"], row["value"]["timeoutTimestamp"]) == ("changed", -1)
    assert row["old_value"]["timeoutTimestamp"] > 0
    counts = {row["change"]: row["rows"] for row in json["tables"]["counts"]}
    assert counts == {"added": 0, "removed": 0, "changed": 15}


def test_two_checkpoints(tmp_path: Path) -> None:
    copy = copy_of("fmgws_event_ignore", tmp_path)
    outcome = run("diff", CASE, copy)
    assert outcome.code == 0
    assert "(none)" in outcome.out


def test_what_cannot_be_read_makes_the_exit_code(tmp_path: Path) -> None:
    copy = copy_of("fmgws_event_ignore", tmp_path)
    (copy / "state/0/0/12.delta").write_bytes(b"broken")
    outcome = run("diff", copy, "-o", "ndjson")
    assert outcome.code == 4
    assert "12.delta" in outcome.err
    assert {row["partition_id"] for row in outcome.ndjson} == {1}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--from-batch", "1", "--from-version", "1"), "exclude each other"),
        (("--to-batch", "1", "--to-version", "1"), "exclude each other"),
        (("--to-batch", "99"), "does not exist"),
        (("--where", "x=1"), "no field 'x'"),
    ],
)
def test_mistakes_are_of_usage(options: tuple[str, ...], words: str) -> None:
    outcome = run("diff", CASE, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
