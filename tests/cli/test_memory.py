"""``inspector memory``."""

from __future__ import annotations

from tests.cli.support import checkpoint_of, run


def test_options_reach_the_model() -> None:
    path = checkpoint_of("agg_update")
    usual = run("memory", path, "-o", "json").json
    json = run(
        "memory", path, "--retain", "5", "--executors", "2", "--heap", "1GiB", "-o", "json"
    ).json
    assert usual["summary"]["retained_versions"] == 2
    assert json["summary"]["retained_versions"] == 5
    assert json["summary"]["heap_estimate_bytes"] > usual["summary"]["heap_estimate_bytes"]
    assert len(json["tables"]["executors"]) == 2
    large = run("memory", path, "--heap", "40GiB", "--jdk", "11", "-o", "json").json
    assert large["summary"]["heap_estimate_bytes"] > usual["summary"]["heap_estimate_bytes"]


def test_a_size_that_is_none_is_a_usage_error() -> None:
    assert run("memory", checkpoint_of("agg_update"), "--heap", "lots").code == 2


def test_a_spark_that_is_none_is_a_usage_error() -> None:
    outcome = run("memory", checkpoint_of("agg_update"), "--spark", "foo")
    assert outcome.code == 2
    assert "Spark version 'foo', expected one such as 4.3.0" in outcome.err


def test_more_than_all_of_a_heap_is_a_usage_error() -> None:
    path = checkpoint_of("agg_update")
    assert run("memory", path, "--heap", "8GiB", "--state-percent", "101").code == 2
    assert run("memory", path, "--heap", "8GiB", "--state-percent", "100").code == 0


def test_estimates_of_the_summary_are_rounded_to_units() -> None:
    out = run("memory", checkpoint_of("agg_update")).out
    assert "~58.0 KiB\n" in out
    assert "bytes)" not in out.split("size ladder")[0]
    for wrong in ("1 versions", "1 executors", "say --heap", "a row more", "unshared"):
        assert wrong not in out + run("memory", checkpoint_of("agg_update"), "--executors", "1").out
