"""``leftovers``: one row per key, in every format, with its proof."""

import json

import pytest

from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import NEWEST

PATH = checkpoint_of("fmgws_event_ignore")
PROMISED = {
    *("operator_id", "operator_name", "store_name", "partition_id", "key", "key_hex"),
    *("key_bytes", "value_bytes", "class", "certainty", "expired_batch", "expired_version"),
    *("clock_ms", "clock", "threshold_ms", "threshold", "last_put_version", "last_put_batch"),
}


def test_a_row_has_the_names_that_are_promised() -> None:
    for output in ("json", "ndjson", "csv"):
        outcome = run("leftovers", PATH, "-o", output)
        rows = getattr(outcome, "rows" if output == "json" else output)
        assert len(rows) == 68
        assert all(set(row) >= PROMISED for row in rows)


def test_a_row_proves_what_it_says() -> None:
    rows = run("leftovers", PATH, "-o", "ndjson").ndjson
    for row in rows:
        assert row["clock_ms"] < row["threshold_ms"]
        assert row["margin_ms"] == row["threshold_ms"] - row["clock_ms"]
        assert row["expired_version"] == row["expired_batch"] + 1
        assert row["last_put_version"] == row["last_put_batch"] + 1
        assert row["key_bytes"] == len(row["key_hex"]) // 2
        assert (row["class"], row["certainty"]) == ("kept_without_timeout", "proven")
    assert rows[0]["key"] == {"value": "once-000"}
    assert rows[0]["clock"] == "2024-01-01T00:00:21.000Z"
    batches = [row["expired_batch"] for row in rows]
    assert batches == sorted(batches)


def test_the_clock_of_a_row_is_the_one_that_the_query_itself_logged() -> None:
    file = NEWEST / "fmgws_event_ignore" / "expected_leftovers.json"
    expected = {row["key"]: row for row in json.loads(file.read_text(encoding="utf-8"))}
    for row in run("leftovers", PATH, "-o", "ndjson").ndjson:
        logged = expected[row["key"]["value"]]
        assert (row["clock_ms"], row["fired"]) == (logged["timeout_ms"], logged["fired"])
        assert row["threshold_ms"] == logged["clock_ms"]


def test_a_limit_keeps_the_oldest_and_says_how_many_there_are() -> None:
    complete = run("leftovers", PATH, "-o", "json", "--limit", "0").json
    short = run("leftovers", PATH, "-o", "json", "--limit", "5").json
    assert (len(complete["rows"]), len(short["rows"])) == (68, 5)
    assert short["summary"] == complete["summary"]
    assert short["tables"]["classes"] == complete["tables"]["classes"]
    assert [r["expired_batch"] for r in short["rows"]] == [4] * 5
    assert "leftover keys, the oldest 5 of 68\n" in run("leftovers", PATH, "--limit", "5").out


def test_people_get_a_hundred_rows_and_machines_all() -> None:
    path = checkpoint_of("agg_complete")
    assert "leftover keys, the oldest 100 of 201\n" in run("leftovers", path).out
    assert len(run("leftovers", path, "-o", "ndjson").ndjson) == 201
    assert len(run("leftovers", path, "-o", "ndjson", "--limit", "7").ndjson) == 7


def test_a_healthy_checkpoint_has_none_and_says_so() -> None:
    path = checkpoint_of("fmgws_event_remove")
    outcome = run("leftovers", path)
    assert outcome.code == 0
    assert "(none: every expired key has been removed)\n" in outcome.out
    assert run("leftovers", path, "-o", "ndjson").out == ""
    header = run("leftovers", path, "-o", "csv").out
    assert (header.count("\n"), set(header.strip().split(",")) >= PROMISED) == (1, True)
    assert run("leftovers", path, "-o", "json").json["complete"] is True


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("pandas_event_ignore", "ignored_timeout"),
        ("fmgws_event_rearm", "rearmed"),
        ("fmgws_event_update", "kept_without_timeout"),
        ("agg_complete", "past_watermark"),
    ],
)
def test_a_leftover_has_the_class_of_what_the_query_did(case: str, kind: str) -> None:
    rows = run("leftovers", checkpoint_of(case), "-o", "ndjson").ndjson
    assert {row["class"] for row in rows} == {kind}


def test_they_fail_a_script_only_if_asked_to() -> None:
    assert run("leftovers", PATH).code == 0
    assert run("leftovers", PATH, "--fail-on", "error").code == 1
    clean = checkpoint_of("agg_update")
    assert run("leftovers", clean, "--fail-on", "info").code == 0


def test_the_clock_of_timers_can_be_said() -> None:
    path = checkpoint_of("fmgws_event_ignore")
    assert len(run("leftovers", path, "--timeout-kind", "event", "-o", "ndjson").ndjson) == 68
    outcome = run("leftovers", path, "--timeout-kind", "lunar")
    assert outcome.code == 2


def test_hidden_keys_have_no_bytes_either() -> None:
    for redact in ("hash", "all"):
        rows = run("leftovers", PATH, "-o", "ndjson", "--redact", redact).ndjson
        assert len(rows) == 68
        assert {row["key_hex"] for row in rows} == {None}
    hashed = run("leftovers", PATH, "-o", "ndjson", "--redact", "hash").ndjson
    assert len({row["key"] for row in hashed}) == 68


def test_findings_below_a_threshold_are_left_out_as_in_an_audit() -> None:
    path = checkpoint_of("trouble_kept_timeouts")
    result = {
        maximum: [
            item["id"] for item in run("leftovers", path, *maximum, "-o", "json").json["findings"]
        ]
        for maximum in ((), ("--threshold", "SS203=80"), ("--threshold", "SS203=81"))
    }
    assert list(result.values()) == [["SS203"], ["SS203"], []]
