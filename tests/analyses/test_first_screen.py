"""First lines of an audit: the cause of each trouble that Spark wrote, and healthy twins."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.attributes import attributes
from tests.checkpoint_files import remove_paths
from tests.cli.support import checkpoint_of, copy_of, flip, run
from tests.fixture_folder import NEWEST
from tests.profiles import sampled
from tests.reports import cell_values

TROUBLES = [
    ("complete_mode", "SS202", "warning", r"watermark has passed 85 rows.* complete output mode"),
    ("dedup_without_time", "SS201", "warning", r"None of the columns of dropDuplicates carries"),
    ("future_watermark", "SS211", "error", r"Event times in the future .*watermark .*10 years"),
    ("huge_value", "SS303", "info", r"One key holds 94 % of the bytes .*779 times the median"),
    ("idle_source", "SS206", "warning", r"watermark stands still, .*source 1 .*since batch 3"),
    (
        "ignored_timeouts",
        "SS203",
        "error",
        r"45 keys leaked: their timeout fired and the function did nothing",
    ),
    ("join_without_range", "SS205", "warning", r"This join never drops rows; .* no time bound"),
    (
        "kept_timeouts",
        "SS203",
        "error",
        r"80 keys leaked: their timeout fired and the function did not call state.remove",
    ),
    (
        "rearmed_timeouts",
        "SS203",
        "warning",
        r"80 keys were kept: their timeout fired .*set a new one",
    ),
    ("skew", "SS307", "info", r"One key has 94 % of the rows of the join's left side"),
    ("unchanged_updates", "SS304", "info", r"100 % of the updates of this store do not change"),
]
"""Name of a trouble, the only finding of its audit, its severity, and the first line."""

STEADY = {"future_watermark", "skew", "unchanged_updates"}
"""Troubles whose state does not grow."""

NAMES = [*(trouble[0] for trouble in TROUBLES), "new_keys"]
"""Names of all troubles."""


def first_lines(path: Path) -> list[str]:
    """Return the lines that ``audit`` prints before the summary."""
    return run("audit", path).out.split("\n\n")[0].splitlines()


def test_every_trouble_has_a_fixture_and_a_healthy_twin() -> None:
    fixtures = set(attributes(NEWEST.iterdir(), "name"))
    assert {name for name in fixtures if name.startswith("trouble_")} == {
        f"trouble_{name}" for name in NAMES
    }
    assert {name for name in fixtures if name.startswith("healthy_")} == {
        f"healthy_{name}" for name in NAMES
    }


@pytest.mark.parametrize(("trouble", "finding", "severity", "words"), sampled(TROUBLES, 2))
def test_first_two_lines_name_the_cause_and_the_growth(
    trouble: str, finding: str, severity: str, words: str
) -> None:
    path = checkpoint_of(f"trouble_{trouble}")
    first, second, *action_lines = first_lines(path)
    assert re.search(words, first)
    growth = "The state does not grow." if trouble in STEADY else "The state grows by ~"
    assert second.startswith(growth)
    assert re.search("^Recommended action: ", "\n".join(action_lines), re.MULTILINE)
    document = run("audit", path, "-o", "json").json
    assert set(cell_values(document["findings"], "id", "severity")) == {(finding, severity)}
    assert document["verdict"]["growth"]["growing"] is (trouble not in STEADY)
    assert document["verdict"]["cause"]["finding"] == finding
    assert document["verdict"]["cause"]["sentence"] in first


def test_first_line_names_the_column_of_new_keys() -> None:
    path = checkpoint_of("trouble_new_keys")
    first, second, _, action, _ = first_lines(path)
    assert first == (
        "Growing by new keys only, most likely one for each 'user': ~9,886 keys come per hour, "
        "~56 % as many go; no expired rows remain."
    )
    assert second.startswith("The state grows by ~")
    assert action.startswith("Recommended action: ")
    document = run("audit", path, "-o", "json").json
    assert document["findings"] == []
    assert (document["verdict"]["level"], document["verdict"]["cause"]) == ("ok", None)


@pytest.mark.parametrize("trouble", sampled(NAMES, 3))
def test_first_line_of_a_healthy_twin(trouble: str) -> None:
    path = checkpoint_of(f"healthy_{trouble}")
    line, restart = first_lines(path)
    size = r"[\d,]+ rows, ([\d,]+ of them counters of join keys, )?[\d.]+ KiB"
    assert re.fullmatch(rf"Healthy: no findings; the state does not grow \({size}\)\.", line)
    assert re.fullmatch(r"Restarts from batch \d+: yes, from .*\.", restart)
    outcome = run("audit", path, "-o", "json")
    assert (outcome.code, outcome.json["problems"]) == (0, [])


@pytest.mark.parametrize("trouble", sampled([trouble[0] for trouble in TROUBLES], 3, 1))
def test_command_for_details_runs(trouble: str) -> None:
    options = first_lines(checkpoint_of(f"trouble_{trouble}"))[-1]
    program, *arguments = shlex.split(options.removeprefix("For details: "))
    assert program == "inspector"
    outcome = run(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert "\n\n" in outcome.out


def test_findings_are_sorted_by_severity_in_every_format() -> None:
    """The audit has an error, a warning, and two findings for information."""
    limits = ("--threshold", "heap_bytes=1KiB", "--threshold", "kept_versions=5")
    audit = ("audit", checkpoint_of("fmgws_event_ignore"), *limits)
    expected = ["SS203", "SS201", "SS306", "SS312"]
    assert cell_values(run(*audit, "-o", "json").json["findings"], "id") == expected
    assert cell_values(run(*audit, "-o", "ndjson").ndjson, "id") == expected
    assert cell_values(run(*audit, "-o", "csv").csv, "id") == expected
    assert re.findall(r"^(SS\d{3}) ", run(*audit).out, re.MULTILINE) == expected
    markdown = run(*audit, "-o", "markdown").out
    assert re.findall(r"^\*\*(SS\d{3}) ", markdown, re.MULTILINE) == expected


def test_cause_has_shares_of_rows_bytes_and_heap() -> None:
    document = run("audit", checkpoint_of("trouble_kept_timeouts"), "-o", "json").json
    cause, size = document["verdict"]["cause"], document["verdict"]["size"]
    assert (document["verdict"]["leftovers"], size["rows"]) == (80, 113)
    assert cause["rows_share"] == pytest.approx(80 / 113)
    (finding,) = document["findings"]
    assert cause["bytes_share"] == pytest.approx(finding["bytes"] / size["row_bytes"])
    (leaked,) = document["tables"]["classes"]
    heap_share = leaked["heap_bytes"] / size["heap_bytes"]
    assert cause["heap_share"] == pytest.approx(heap_share, rel=0.02)


def test_idle_watermark_affects_all_rows() -> None:
    document = run("audit", checkpoint_of("trouble_idle_source"), "-o", "json").json
    assert document["verdict"]["cause"]["rows_share"] == 1


def test_rocksdb_uploads_follow_the_healthy_verdict() -> None:
    root = checkpoint_of("rocksdb_agg_update_zips_one")
    limits = ("--threshold", "zip_bytes=1", "--threshold", "zip_ratio=0.1")
    lines = run("audit", root, *limits).out.splitlines()
    start = (
        "Healthy: the state does not grow (24 rows, 2.1 KiB). For information: each batch uploads"
    )
    assert lines[0].startswith(start)
    assert lines[1].startswith("Restarts from batch 8: yes")


def test_growth_by_new_keys_without_a_finding() -> None:
    first, second, _, to_do, options = first_lines(checkpoint_of("fmgws_no_timeout"))
    assert first == (
        "Growing by new keys only, most likely one for each 'value': ~3,420 keys come per hour, "
        "~21 % as many go; no expired rows remain."
    )
    assert to_do.startswith("Recommended action: If this many keys are unexpected, ")
    assert options.startswith("For details: inspector timeline ")
    # The rate of new keys is printed once, with the time span that it is extrapolated from.
    assert second.startswith("The state grows by ~229.7 KiB per hour")
    assert "extrapolated from 80 seconds" in second


@pytest.mark.parametrize("case", ["trouble_join_without_range", "join_no_watermark"])
def test_cause_of_both_join_sides_names_no_store(case: str) -> None:
    """The counters count, too: they go with the last row that they count."""
    cause = run("audit", checkpoint_of(case), "-o", "json").json["verdict"]["cause"]
    assert (cause["store_name"], cause["rows_share"], cause["bytes_share"]) == (None, 1, 1)
    assert cause["heap_share"] == pytest.approx(1)


def test_cause_of_one_join_side_names_its_store() -> None:
    cause = run("audit", checkpoint_of("join_one_sided"), "-o", "json").json["verdict"]["cause"]
    assert cause["store_name"] == "left-keyWithIndexToValue"
    assert 0.5 < cause["rows_share"] < 1


def test_heap_share_of_a_value_rewritten_in_every_batch() -> None:
    cause = run("audit", checkpoint_of("trouble_huge_value"), "-o", "json").json["verdict"]["cause"]
    assert cause["heap_share"] > 0.8


def test_unreadable_delta_is_on_the_first_line(tmp_path: Path) -> None:
    path = copy_of("trouble_kept_timeouts", tmp_path)
    flip(path / "state/0/1/13.delta", 40)
    first, second, *_ = first_lines(path)
    assert first.startswith("Cannot restart (batch 14): partition 1 needs 13.delta, which cannot ")
    assert second.startswith("Unreadable in part, 1 problem: At state/0/1/13.delta: ")
    verdict = run("audit", path, "-o", "json").json["verdict"]
    assert verdict["level"] == "unreadable"
    assert verdict["cause"]["finding"] in ("SS102", "SS105")


@pytest.mark.parametrize(
    ("case", "lost", "needed"),
    [
        ("rocksdb_agg_update_zips_one", "SSTs/000015-*.sst", r"SSTs/000015-\S+.sst of 8.zip"),
        ("join_left_outer", "left-keyToNumValues/1.delta", "1.delta of left-keyToNumValues"),
    ],
)
@pytest.mark.parametrize(
    ("command", "output"),
    [("audit", "table"), ("verify", "table"), ("info", "table"), ("audit", "html")],
)
def test_missing_file_for_restart_is_named_in_every_format(
    tmp_path: Path, case: str, lost: str, needed: str, command: str, output: str
) -> None:
    path = copy_of(case, tmp_path)
    (gone,) = (path / "state/0/0").glob(lost)
    gone.unlink()
    text = " ".join(run(command, path, "-o", output).out.split())
    assert re.search(f"partition 0 lacks {needed}", text)


@pytest.mark.parametrize("output", ["table", "html"])
def test_missing_file_for_restart_is_named_in_a_fleet(output: str, tmp_path: Path) -> None:
    path = copy_of("agg_update", tmp_path)
    (path / "state/0/0/1.delta").unlink()
    text = " ".join(run("audit", path, checkpoint_of("agg_update"), "-o", output).out.split())
    assert "partition 0 lacks 1.delta" in text


def test_missing_delta_is_the_cause_of_the_verdict(tmp_path: Path) -> None:
    path = copy_of("trouble_kept_timeouts", tmp_path)
    (path / "state/0/1/13.delta").unlink()
    verdict = run("audit", path, "-o", "json").json["verdict"]
    assert verdict["cause"]["finding"] == "SS101"


def test_query_without_state_is_healthy(tmp_path: Path) -> None:
    path = copy_of("agg_update", tmp_path)
    shutil.rmtree(path / "state")
    # A batch without new data, as 5 is, shows that there was state.
    remove_paths(path, "offsets/[5-9]", "commits/[5-9]")
    assert first_lines(path) == [
        "Healthy if the query keeps no state: no findings; there is no folder state.",
        "Restarts from batch 5: yes if the query keeps no state; else no, as it needs state.",
    ]


def test_uncommitted_batch_is_on_the_first_line() -> None:
    first, second, third, *_ = first_lines(checkpoint_of("uncommitted"))
    assert first.startswith("Not finished: batch 4 was planned at 2024-01-01T00:00:40.000Z")
    assert "nothing after batch 3 has been committed" in first
    assert second.startswith("No findings; ")
    assert "yes, from 4 deltas" in third


def test_damage_not_needed_by_a_restart_is_a_warning(tmp_path: Path) -> None:
    path = copy_of("snapshots_cleaned", tmp_path)
    (path / "state/0/0/9.delta").unlink()
    document = run("audit", path, "-o", "json").json
    assert document["verdict"]["level"] == "warning"
    assert document["verdict"]["restart"]["possible"] is True
    (finding,) = document["findings"]
    assert (finding["id"], finding["severity"]) == ("SS101", "warning")
    assert "only earlier versions are lost" in finding["cause"]


@pytest.mark.parametrize(
    ("snapshot", "lost"), [("12", "no version is"), ("8", "at most earlier versions are")]
)
def test_versions_lost_with_an_old_damaged_snapshot(
    snapshot: str, lost: str, tmp_path: Path
) -> None:
    path = copy_of("snapshots_cleaned", tmp_path)
    (path / f"state/0/0/{snapshot}.snapshot").write_bytes(b"")
    (finding,) = run("audit", path, "-o", "json").json["findings"]
    assert f"the query restarts without it, and {lost} lost" in finding["cause"]


def test_deleted_state_folder_is_an_error(tmp_path: Path) -> None:
    path = copy_of("agg_update", tmp_path)
    shutil.rmtree(path / "state")
    first, second, third, *_ = first_lines(path)
    assert first.startswith(
        "Cannot restart (batch 10): the checkpoint lacks the operators in state "
    )
    assert second.startswith("Unreadable in part, 1 problem: At state: it is missing, though ")
    assert third == "No row of the state could be read, so its size is unknown."
