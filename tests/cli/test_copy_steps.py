"""Commands that reports print, from a leak to a copy."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.support import run
from tests.fixture_folder import NEWEST
from tests.reports import rows_where


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a space in its name, in which the commands run."""
    location = tmp_path / "my checkpoints"
    location.mkdir()
    monkeypatch.chdir(location)
    return location


def commands(text: str) -> list[str]:
    """Return the lines of a report that are an inspector command."""
    return re.findall(r"^ *(inspector .*?) *$", text, re.M)


def follow(command: str) -> str:
    """Run a command line as a shell does, and return what it prints."""
    name, *words = shlex.split(command)
    assert name == "inspector"
    outcome = run(*words)
    assert outcome.code == 0, (command, outcome.err)
    return outcome.out


@pytest.mark.parametrize("name", ["orders", "orders of today"])
def test_commands_lead_from_a_leak_to_a_comparison_with_the_baseline(
    name: str, folder: Path
) -> None:
    shutil.copytree(NEWEST / "trouble_kept_timeouts/checkpoint", folder / name)
    audit = run("audit", name)
    plan, *_ = commands(audit.out)
    assert plan.startswith("inspector copy ")
    save, copy, compare = commands(follow(plan))
    assert not (folder / f"{name}-copy").exists()
    follow(save)
    events = follow(copy)
    assert commands(events) == [save, compare]
    assert f"to {folder / name}-copy, and start it." in events
    assert "gone" in follow(compare)
    # The finding names the same command as the first screen.
    assert commands(audit.out).count(plan) == 2


@pytest.mark.full
def test_printed_commands_for_a_named_key_run(folder: Path) -> None:
    root = folder / "orders"
    shutil.copytree(NEWEST / "rocksdb_tws_processing/checkpoint", root)
    words = ("--key", "value=once-016", "--by", "removal", "--stopped")
    plan = run("copy", "orders", "the copy", *words, "--plan")
    copy, search = commands(plan.out)
    events = follow(copy)
    assert commands(events) == [search]
    assert "this version has no matching row" in follow(search)
    steps = json.loads(run("copy", "orders", "another", *words, "--plan", "-o", "json").out)[
        "steps"
    ]
    assert steps[1]["command"].startswith("inspector copy")


def test_oldest_key_of_a_processor_can_be_evicted(folder: Path) -> None:
    shutil.copytree(NEWEST / "rocksdb_tws_processing/checkpoint", folder / "orders")
    report = json.loads(run("top", "orders", "--by", "oldest", "-o", "json").out)
    row = rows_where(report["rows"], by="oldest")[0]
    key = row["key"].get("key", row["key"])
    words = ["--key", json.dumps(key), "--by", "removal", "--stopped", "--plan"]
    assert commands(run("copy", "orders", "the copy", *words).out)[0].startswith("inspector copy")


def test_printed_commands_repeat_the_options(folder: Path) -> None:
    shutil.copytree(NEWEST / "trouble_kept_timeouts/checkpoint", folder / "orders")
    options = ("--timeout-kind", "event", "--certainty", "inferred", "--by", "removal")
    plan = run("copy", "orders", "new", "--evict", "kept_without_timeout", *options, "--plan")
    save, copy, compare = commands(plan.out)
    assert "--timeout-kind event" in save
    assert "--timeout-kind event" in compare
    expected = "inspector copy orders new --evict kept_without_timeout --by removal"
    assert copy == f"{expected} --certainty inferred --timeout-kind event"
    follow(save)
    follow(copy)
    follow(compare)


def test_refused_plan_prints_no_commands(folder: Path) -> None:
    shutil.copytree(NEWEST / "join_left_outer/checkpoint", folder / "orders")
    plan = run("copy", "orders", "new", "--where", "key.field0!=null", "--plan")
    assert plan.code == 1
    assert commands(plan.out) == []


@pytest.mark.parametrize("case", ["dedup_no_watermark", "trouble_dedup_without_time"])
def test_never_expiring_rule_names_the_page_on_leaked_keys(case: str, folder: Path) -> None:
    shutil.copytree(NEWEST / case / "checkpoint", folder / "orders")
    text = " ".join(run("audit", "orders").out.split())
    assert "The changed query needs a new checkpoint." in text
    assert "(inspector explain leaked-keys)" in text
    assert follow("inspector explain leaked-keys").startswith("# Get rid of leaked keys")
