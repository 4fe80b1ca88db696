"""Commands on several checkpoints."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml
from prometheus_client.parser import text_string_to_metric_families

from inspector import analyses
from inspector.analyses.shared.run import Run
from inspector.cli.fleets import Spool
from tests.cli.support import OUTPUTS, Outcome, checkpoint_of, copy_of, flip, run, tree
from tests.profiles import sampled
from tests.reports import cell_values

HEALTHY, LEAK, WARNED = map(checkpoint_of, ("agg_update", "fmgws_event_ignore", "agg_complete"))
MANY = [name for name in analyses.names() if analyses.load(name).many]


NEEDED = {"simulate": ("--watermark-delay", "1h")}
"""Options that a command requires."""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three checkpoints, of which one is healthy, one leaks and one is spoilt."""
    folder = tmp_path / "fleet"
    shutil.copytree(HEALTHY, folder / "team-a/healthy")
    shutil.copytree(LEAK, folder / "team-a/leak")
    flip(copy_of("agg_append", folder / "team-b") / "state/0/1/10.delta", 40)
    return folder


def levels(outcome: Outcome) -> list[tuple[str, str]]:
    """Return the folder and the level of each checkpoint of a fleet."""
    return [(Path(row["checkpoint"]).name, row["level"]) for row in outcome.json["fleet"]]


def test_recursive_fleet_is_sorted_by_level(fleet: Path) -> None:
    outcome = run("audit", "--recursive", fleet, "-o", "json")
    assert outcome.code == 4
    assert levels(outcome) == [("checkpoint", "unreadable"), ("leak", "error"), ("healthy", "ok")]
    rows = outcome.json["fleet"]
    assert cell_values(outcome.json["reports"], "checkpoint") == cell_values(rows, "checkpoint")
    assert cell_values(rows, "exit_code") == [4, 1, 0]
    assert outcome.json["complete"] is False


@pytest.mark.parametrize("output", ["json", "html", "table"])
def test_level_filter_keeps_the_exit_code(output: str, fleet: Path) -> None:
    graver = run("audit", "-r", fleet, "--level", "error", "-o", output)
    assert graver.code == 4
    assert "healthy" not in graver.out.replace("Healthy", "")
    assert "leak" in graver.out


def test_finding_filter_keeps_the_exit_code(fleet: Path) -> None:
    assert "1 checkpoint not shown" in run("audit", "-r", fleet, "--level", "error").out
    leaking = run("audit", "-r", fleet, "--finding", "ss203", "-o", "json")
    assert (leaking.code, levels(leaking)) == (4, [("leak", "error")])
    assert run("audit", "-r", fleet, "--finding", "SS999").code == 2
    assert run("audit", LEAK, "--finding", "SS203").code == 2


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("audit", "with all numbers, --level and --finding for some of them."),
        ("leftovers", "with all numbers."),
    ],
)
def test_fleet_report_names_options_of_its_command(command: str, end: str) -> None:
    words = run(command, checkpoint_of("agg_update"), checkpoint_of("agg_append")).out.split()
    assert " ".join(words).endswith(end)


def test_path_pattern_matches_checkpoints(fleet: Path) -> None:
    outcome = run("audit", f"{fleet}/*/h*", "-o", "json")
    assert (outcome.code, levels(outcome)) == (0, [("healthy", "ok")])
    assert run("audit", f"{fleet}/*/x*").code == 3


def test_fleet_table_lists_causes_and_actions() -> None:
    outcome = run("audit", HEALTHY, LEAK, WARNED)
    assert outcome.code == 1
    first, *_ = outcome.out.splitlines()
    assert first == "3 checkpoints: 1 with errors, 1 with warnings, 1 ok"
    gated = run("audit", HEALTHY, LEAK, "--max", "state.rows=0", "--fail-on", "never")
    assert gated.out.startswith("2 checkpoints, 2 above a limit: 1 with errors, 1 ok\n")
    _, actions = outcome.out.split("Recommended actions, by finding:\n")
    assert len(re.findall(r"^SS\d{3}  ", actions, re.M)) == 2
    assert outcome.out.index(f"\nerror       {LEAK.parent.name}: ") < outcome.out.index(
        f"\nwarning     {WARNED.parent.name}: "
    )
    assert "sizes of version" not in outcome.out
    assert "--details" in outcome.out
    details = run("audit", HEALTHY, LEAK, "--details").out
    assert details.count("sizes of version") == 2


@pytest.mark.parametrize("output", [*OUTPUTS, "junit", "prometheus"])
def test_every_format_has_failed_and_healthy_checkpoints(tmp_path: Path, output: str) -> None:
    missing = tmp_path / "missing"
    outcome = run("audit", HEALTHY, missing, LEAK, "-o", output, "--wide")
    assert outcome.code == 3
    text = outcome.out.replace("\\_", "_").replace("<wbr>", "")
    assert "agg_update/checkpoint" in text
    assert "fmgws_event_ignore/checkpoint" in text
    assert str(missing) in text
    assert outcome.err == (
        f"error: {missing}: got nothing at this path, expected a checkpoint folder with "
        "'metadata', 'offsets', 'commits' and 'state'\n"
    )


def test_ndjson_and_csv_have_a_row_for_every_checkpoint(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    ndjson = run("audit", HEALTHY, missing, LEAK, "-o", "ndjson").ndjson
    csv = run("audit", HEALTHY, missing, LEAK, "-o", "csv").csv
    assert cell_values(ndjson, "checkpoint", "level") == [
        (missing, "unreadable"),
        (str(LEAK), "error"),
        (str(LEAK), "error"),
        (str(HEALTHY), "ok"),
    ]
    assert cell_values(ndjson[1:3], "id") == ["SS203", "SS201"]
    assert cell_values(csv, "checkpoint", "level") == cell_values(ndjson, "checkpoint", "level")
    assert cell_values(csv, "id") == ["", "SS203", "SS201", ""]
    assert csv[0]["message"] == ndjson[0]["message"]
    assert csv[0]["message"].startswith("got nothing")


def test_json_report_of_a_failed_checkpoint(tmp_path: Path) -> None:
    document = run("audit", tmp_path / "missing", HEALTHY, "-o", "json").json
    failed, report = document["reports"]
    assert failed["error"]["kind"] == "not-a-checkpoint"
    assert failed["error"]["exit_code"] == 3
    assert report["schema_version"] == document["schema_version"] == failed["schema_version"]
    assert report["metrics"]["state.rows"] == 100


@pytest.mark.parametrize("command", sampled(MANY, 3))
def test_command_takes_several_paths(command: str, tmp_path: Path) -> None:
    needed = NEEDED.get(command, ())
    outcome = run(command, HEALTHY, tmp_path / "missing", WARNED, *needed, "-o", "json")
    assert outcome.code == 3
    assert len(outcome.json["fleet"]) == len(outcome.json["reports"]) == 3
    assert outcome.json["fleet"][0]["level"] == "unreadable"
    assert run(command, HEALTHY, WARNED, *needed).out.startswith("2 checkpoints: ")
    alone = run(command, HEALTHY, *needed, "-o", "json").json
    assert alone in outcome.json["reports"]


def test_checkpoint_named_twice_is_read_once() -> None:
    outcome = run("info", HEALTHY, f"{HEALTHY}/", LEAK, "-o", "json")
    assert len(outcome.json["fleet"]) == 2


def test_internal_error_of_one_checkpoint_does_not_end_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks = Run.tasks

    def broken(self: Run, request: Any) -> Any:
        if self.checkpoint.root == str(WARNED):
            raise ZeroDivisionError("of ours")
        return tasks(self, request)

    monkeypatch.setattr(Run, "tasks", broken)
    outcome = run("audit", LEAK, WARNED, HEALTHY, "-o", "json")
    assert outcome.code == 70
    assert levels(outcome)[0] == ("checkpoint", "unreadable")
    assert outcome.json["fleet"][0]["message"] == "internal error: ZeroDivisionError: of ours"
    assert len(outcome.json["fleet"]) == 3


@pytest.mark.parametrize("at_once", sampled(["2", "1", "16"], 3))
def test_at_once_option_does_not_change_the_report(at_once: str) -> None:
    paths = (HEALTHY, LEAK, WARNED, checkpoint_of("agg_v1"))
    assert run("audit", *paths, "--at-once", at_once, "-o", "json").json == (
        run("audit", *paths, "-o", "json").json
    )


def test_fleet_output_file_is_outside_all_checkpoints(tmp_path: Path) -> None:
    file = tmp_path / "fleet.json"
    assert run("audit", HEALTHY, LEAK, "-O", file).code == 1
    assert file.read_text() == run("audit", HEALTHY, LEAK, "-o", "json").out
    copy = copy_of("agg_update", tmp_path)
    before = tree(copy)
    outcome = run("audit", HEALTHY, copy, "-O", copy / "x.json")
    assert outcome.code == 2
    assert "never written to" in outcome.err
    assert tree(copy) == before


def test_fleet_page_is_written_with_the_json_report(tmp_path: Path) -> None:
    page, report = tmp_path / "page.html", tmp_path / "report.json"
    outcome = run("audit", HEALTHY, LEAK, tmp_path / "none", "--html", page, "-O", report)
    assert outcome.code == 3
    text = page.read_text().replace("<wbr>", "")
    assert str(HEALTHY) in text
    assert str(LEAK) in text
    assert "none</bdi>" in text
    assert report.read_text().startswith('{"schema_version"')


def test_parquet_output_is_for_one_checkpoint(tmp_path: Path) -> None:
    outcome = run("leftovers", HEALTHY, LEAK, "-o", "parquet", "-O", tmp_path / "x.parquet")
    assert outcome.code == 2
    assert "is for one checkpoint" in outcome.err


def test_recursive_search_needs_the_local_filesystem() -> None:
    outcome = run("info", "--recursive", HEALTHY)
    assert outcome.code == 0
    outcome = run("audit", "--recursive", HEALTHY, "--io", "hadoop", "--engine", "local")
    assert outcome.code == 2


@pytest.mark.parametrize("output", sampled([*OUTPUTS, "junit", "prometheus"], 3))
def test_fleet_report_has_no_plain_keys(output: str) -> None:
    assert "once-000" not in run("audit", LEAK, HEALTHY, "-o", output, "--details").out


# --- the formats of other tools ------------------------------------------------------------------


def test_junit_has_a_suite_for_each_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    assert run("audit", HEALTHY, LEAK, tmp_path / "missing", "-O", file).code == 3
    missing, leak, healthy = JUnitXml.fromfile(str(file))
    assert (missing.name, missing.errors, missing.tests) == (str(tmp_path / "missing"), 1, 1)
    assert (leak.name, leak.failures) == (str(LEAK), 2)
    assert (healthy.name, healthy.failures, healthy.errors) == (str(HEALTHY), 0, 0)
    assert healthy.tests == leak.tests > 20


def test_junit_failures_follow_the_exit_code(tmp_path: Path) -> None:
    only_errors = run("audit", LEAK, HEALTHY, "-o", "junit", "--fail-on", "error")
    document = JUnitXml.fromstring(only_errors.out)
    assert (only_errors.code, document.failures) == (1, 1)
    never = run("audit", LEAK, HEALTHY, "-o", "junit", "--fail-on", "never")
    assert (never.code, JUnitXml.fromstring(never.out).failures) == (0, 0)
    old = tmp_path / "old.json"
    run("audit", LEAK, HEALTHY, "-O", old)
    same = run("audit", LEAK, HEALTHY, "-o", "junit", "--baseline", old)
    assert (same.code, JUnitXml.fromstring(same.out).failures) == (0, 0)


def test_prometheus_file_has_the_level_of_each_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "state.prom"
    file.write_text("old")
    assert run("audit", HEALTHY, LEAK, tmp_path / "no", "-O", file, "--force").code == 3
    assert list(tmp_path.iterdir()) == [file]
    families = {family.name: family for family in text_string_to_metric_families(file.read_text())}
    samples = families["spark_state_level"].samples
    level = {sample.labels["checkpoint"]: sample.value for sample in samples}
    assert level == {str(HEALTHY): 0, str(LEAK): 3, str(tmp_path / "no"): 4}
    assert file.stat().st_mode & 0o044


# --- baseline ------------------------------------------------------------------------------------


def test_fleet_is_compared_with_a_baseline(tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    run("audit", HEALTHY, LEAK, tmp_path / "missing", "-O", old)
    same = run("audit", LEAK, HEALTHY, "--baseline", old, "-o", "json")
    assert same.code == 0
    assert cell_values(same.json["fleet"], "new_or_worse") == [0, 0]
    new = run("audit", LEAK, WARNED, "--baseline", old, "-o", "json")
    assert new.code == 1
    assert set(cell_values(new.json["fleet"], "new_or_worse")) == {0, 1}
    assert new.json["gone"] == [str(HEALTHY)]
    text = run("audit", LEAK, WARNED, "--baseline", old).out
    assert f"{HEALTHY} is in the baseline, but was not found." in text


# --- the texts on disk ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "a", "é\udcff\n" * 40_000, "€" * 70_000], ids=len)
def test_spool_returns_kept_texts(text: str) -> None:
    with Spool() as spool:
        first = spool.keep(iter((text[:3], text[3:])))
        second = spool.keep(iter(("between",)))
        assert "".join(first()) == text
        assert "".join(second()) == "between"
        assert "".join(first()) == text


@pytest.mark.parametrize("command", ["audit", "verify", "leftovers"])
def test_unknown_threshold_is_reported_once_for_a_fleet(command: str, fleet: Path) -> None:
    outcome = run(command, "-r", fleet, "--threshold", "window_version=3")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("unknown threshold 'window_version'") == 1


def test_second_audit_counts_reports_from_the_cache(fleet: Path, tmp_path: Path) -> None:
    for number, path in enumerate(sorted(fleet.rglob("*"))):
        os.utime(path, (1.6e9 + number, 1.6e9 + number))
    options = ("--recursive", fleet, "-o", "json", "--cache", tmp_path / "cache")
    first, second = (run("audit", *options) for _ in range(2))
    assert f"cache: 0 of 3 reports are from {tmp_path / 'cache'}" in first.err
    # The damaged checkpoint is read each time.
    assert f"cache: 2 of 3 reports are from {tmp_path / 'cache'}" in second.err
    assert (first.code, levels(first)) == (second.code, levels(second))
    assert second.json["fleet"] == first.json["fleet"]
    assert "cache" not in run("audit", *options, "-q").err


@pytest.mark.parametrize("options", [("--html", "x.html"), ("-o", "html"), ("--estimate",)])
def test_options_that_a_cache_does_not_support_are_refused(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    outcome = run("audit", HEALTHY, "--cache", tmp_path / "cache", *options)
    assert outcome.code == 2
    assert "got --cache" in outcome.err
    assert run("audit", HEALTHY, LEAK, "--cache", HEALTHY / "cache").code == 2
    assert run("audit", HEALTHY, "--cache", HEALTHY / "cache").code == 2
