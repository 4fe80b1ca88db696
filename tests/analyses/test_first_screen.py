"""What an audit says first, on what Spark wrote: the cause of every trouble, and health."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.support import checkpoint_of, copy_of, flip, run
from tests.fixture_folder import NEWEST
from tests.profiles import sampled

TROUBLES = {
    "complete_mode": ("SS202", r"Warning: .*watermark has passed 85 rows.* complete output mode"),
    "dedup_without_time": ("SS201", r"Warning: .*None of the columns of dropDuplicates carries"),
    "future_watermark": ("SS211", r"Error: Event times in the future moved the watermark"),
    "huge_value": ("SS303", r"One key holds 94 % of the bytes .*779 times the median"),
    "idle_source": ("SS206", r"Warning: The watermark stands still, .*source 1 .*since batch 3"),
    "ignored_timeouts": (
        "SS203",
        r"Error: 45 keys leaked: their timeout fired and the function did nothing",
    ),
    "join_without_range": ("SS205", r"This join never drops rows; .* no time bound"),
    "kept_timeouts": (
        "SS203",
        r"Error: 80 keys leaked: their timeout fired and the function did not call",
    ),
    "new_keys": (
        None,
        r"Growing by new keys only, most likely one for each 'user': ~9,886 keys come per hour, "
        "~56 % as many go",
    ),
    "rearmed_timeouts": (
        "SS203",
        r"Warning: 80 keys were kept: their timeout fired .*set a new one",
    ),
    "skew": ("SS307", r"One key has 94 % of the rows of the join's left side"),
    "unchanged_updates": ("SS304", r"100 % of the updates of this store do not change"),
}
"""Trouble -> the finding that is its cause, if it is one, and what the first line says."""

STEADY = ("future_watermark", "skew", "unchanged_updates")
"""Troubles whose state does not grow."""


def first_lines(path: Path) -> list[str]:
    """What people read before the summary."""
    return run("audit", path).out.split("\n\n")[0].splitlines()


def test_every_trouble_has_a_fixture_and_a_healthy_twin() -> None:
    for kind in ("trouble", "healthy"):
        result = {path.name.split("_", 1)[1] for path in NEWEST.glob(f"{kind}_*")}
        assert result == set(TROUBLES)


@pytest.mark.parametrize("trouble", sampled(tuple(TROUBLES), 2))
def test_first_two_lines_name_the_cause_and_the_growth(trouble: str) -> None:
    path = checkpoint_of(f"trouble_{trouble}")
    first, second, *remainder = first_lines(path)
    finding, words = TROUBLES[trouble]
    assert re.search(words, first), first
    grows = trouble not in STEADY
    assert second.startswith("The state grows by ~" if grows else "The state does not grow."), (
        second
    )
    verdict = run("audit", path, "-o", "json").json["verdict"]
    assert verdict["growth"]["growing"] is grows
    if finding is None:
        assert (verdict["level"], verdict["cause"]) == ("ok", None)
        assert remainder[1].startswith("Recommended action: ")
        return
    assert any(line.startswith("Recommended action: ") for line in remainder)
    assert verdict["cause"]["finding"] == finding
    assert verdict["cause"]["sentence"] in first


@pytest.mark.parametrize("trouble", sampled(tuple(TROUBLES), 3))
def test_first_line_of_a_healthy_twin(trouble: str) -> None:
    path = checkpoint_of(f"healthy_{trouble}")
    line, restart = first_lines(path)
    size = r"[\d,]+ rows, ([\d,]+ of them counters of join keys, )?[\d.]+ KiB"
    assert re.fullmatch(rf"Healthy: no findings; the state does not grow \({size}\)\.", line)
    assert re.fullmatch(r"Restarts from batch \d+: yes, from .*\.", restart)
    assert run("audit", path).code == 0


CAUSED = [name for name, (cause, _) in TROUBLES.items() if cause]


@pytest.mark.parametrize("trouble", sampled(CAUSED, 3, 1))
def test_command_for_details_runs(trouble: str) -> None:
    options = first_lines(checkpoint_of(f"trouble_{trouble}"))[-1]
    words = shlex.split(options.removeprefix("For details: "))
    assert words[0] == "inspector"
    outcome = run(*words[1:])
    assert (outcome.code, outcome.err) == (0, "")
    assert "\n\n" in outcome.out


@pytest.mark.parametrize("trouble", sampled(tuple(TROUBLES), 4, 2))
def test_findings_are_sorted_by_severity_in_every_format(trouble: str) -> None:
    path = checkpoint_of(f"trouble_{trouble}")
    findings = run("audit", path, "-o", "json").json["findings"]
    ranks = [["error", "warning", "info"].index(finding["severity"]) for finding in findings]
    assert ranks == sorted(ranks)
    ids = [finding["id"] for finding in findings]
    assert [row["id"] for row in run("audit", path, "-o", "ndjson").ndjson] == ids
    assert [row["id"] for row in run("audit", path, "-o", "csv").csv] == ids
    for form in ("table", "markdown"):
        text = run("audit", path, "-o", form).out
        assert re.findall(r"^(?:\*\*)?(SS\d{3}) ", text, re.MULTILINE) == ids


def test_cause_has_shares_of_rows_bytes_and_heap() -> None:
    document = run("audit", checkpoint_of("trouble_kept_timeouts"), "-o", "json").json
    cause, size = document["verdict"]["cause"], document["verdict"]["size"]
    assert (document["verdict"]["leftovers"], size["rows"]) == (80, 113)
    assert cause["rows_share"] == pytest.approx(80 / 113)
    (finding,) = document["findings"]
    assert cause["bytes_share"] == pytest.approx(finding["bytes"] / size["row_bytes"])
    classes = document["tables"]["classes"]
    assert cause["heap_share"] == pytest.approx(
        sum(row["heap_bytes"] for row in classes) / size["heap_bytes"], rel=0.02
    )


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
    # How many keys come is said once, and of how short a history a rate per hour is made.
    assert second.startswith("The state grows by ~229.7 KiB per hour")
    assert "extrapolated from 80 seconds" in second


def test_cause_of_both_join_sides_names_no_store() -> None:
    for case in ("trouble_join_without_range", "join_no_watermark"):
        cause = run("audit", checkpoint_of(case), "-o", "json").json["verdict"]["cause"]
        # The counters of the rows too: they go with the last row that they count.
        assert (cause["store_name"], cause["rows_share"], cause["bytes_share"]) == (None, 1, 1)
        assert cause["heap_share"] == pytest.approx(1)
    one_sided = checkpoint_of("join_one_sided")
    cause = run("audit", one_sided, "-o", "json").json["verdict"]["cause"]
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
        ("join_left_outer", "left-keyToNumValues", "1.delta of left-keyToNumValues"),
    ],
)
@pytest.mark.parametrize("form", ["audit", "verify", "info", "page", "fleet", "fleet page"])
def test_missing_file_for_restart_is_named_in_every_format(
    tmp_path: Path, case: str, lost: str, needed: str, form: str
) -> None:
    path = copy_of(case, tmp_path)
    (gone,) = (path / "state/0/0").glob(lost)
    if gone.is_dir():
        shutil.rmtree(gone)
    else:
        gone.unlink()
    paths = [path, checkpoint_of("agg_update")] if form.startswith("fleet") else [path]
    command = form if form in ("verify", "info") else "audit"
    output = "html" if form.endswith("page") else "table"
    text = " ".join(run(command, *paths, "-o", output).out.split())
    assert re.search(f"partition 0 lacks {needed}", text)


def test_missing_delta_is_the_cause_of_the_verdict(tmp_path: Path) -> None:
    path = copy_of("trouble_kept_timeouts", tmp_path)
    (path / "state/0/1/13.delta").unlink()
    verdict = run("audit", path, "-o", "json").json["verdict"]
    assert verdict["cause"]["finding"] == "SS101"


def test_query_without_state_is_healthy(tmp_path: Path) -> None:
    path = copy_of("agg_update", tmp_path)
    shutil.rmtree(path / "state")
    for batch in range(5, 10):  # a batch without new data, as 5 is, shows that there was state
        (path / "offsets" / str(batch)).unlink()
        (path / "commits" / str(batch)).unlink()
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
    ("version", "lost"), [(-1, "no version is"), (-2, "at most earlier versions are")]
)
def test_versions_lost_with_an_old_damaged_snapshot(
    version: int, lost: str, tmp_path: Path
) -> None:
    path = copy_of("snapshots_cleaned", tmp_path)
    snapshots = sorted((path / "state/0/0").glob("*.snapshot"), key=lambda file: int(file.stem))
    snapshots[version].write_bytes(b"")
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
