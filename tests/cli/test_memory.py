"""``inspector memory``."""

from __future__ import annotations

from tests.cli.support import checkpoint_of, run


def test_options_reach_the_model() -> None:
    path = checkpoint_of("agg_update")
    usual = run("memory", path, "-o", "json").json
    more = run(
        "memory", path, "--retain", "5", "--executors", "2", "--heap", "1GiB", "-o", "json"
    ).json
    assert usual["summary"]["retained_versions"] == 2
    assert more["summary"]["retained_versions"] == 5
    assert more["summary"]["heap_estimate_bytes"] > usual["summary"]["heap_estimate_bytes"]
    assert len(more["tables"]["executors"]) == 2
    large = run("memory", path, "--heap", "40GiB", "--jdk", "11", "-o", "json").json
    assert large["summary"]["heap_estimate_bytes"] > usual["summary"]["heap_estimate_bytes"]


def test_a_size_that_is_none_is_a_usage_error() -> None:
    assert run("memory", checkpoint_of("agg_update"), "--heap", "lots").code == 2
