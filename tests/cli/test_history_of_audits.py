"""``--history``: one table with a row for each audit."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.cli.support import checkpoint_of, copy_of, run, tree
from tests.reports import cell_values

HEALTHY, LEAK = map(checkpoint_of, ("agg_update", "fmgws_event_ignore"))


def test_history_option_adds_a_row_for_each_audit(tmp_path: Path) -> None:
    history = tmp_path / "history"
    assert run("audit", HEALTHY, "--history", history).code == 0
    assert run("audit", HEALTHY, "--history", history).code == 0
    assert len(pd.read_parquet(history)) == 2
    outcome = run("trend", history, "-o", "json")
    assert outcome.code == 0
    assert cell_values(outcome.rows, "audits") == [2]
    assert outcome.json["summary"]["checkpoints"] == 1


@pytest.mark.parametrize("output", ["table", "markdown", "html"])
def test_trend_shows_standing_findings_in_every_format(output: str, tmp_path: Path) -> None:
    run("audit", LEAK, "--history", tmp_path)
    run("audit", LEAK, "--history", tmp_path)
    outcome = run("trend", tmp_path, "-o", output)
    assert outcome.code == 0
    assert "indings that stand" in outcome.out
    assert "SS203" in outcome.out
    standing = run("trend", tmp_path, "-o", "json").json["tables"]["standing"]
    assert "SS203" in cell_values(standing, "finding")


def test_history_of_a_fleet_is_one_file_with_failures(tmp_path: Path) -> None:
    history = tmp_path / "history"
    done = run("audit", HEALTHY, LEAK, tmp_path / "none", "--history", history, "-o", "json")
    assert done.code == 3
    (file,) = history.rglob("*.parquet")
    frame = pd.read_parquet(file)
    assert sorted(frame["level"]) == ["error", "failed", "ok"]
    assert frame[frame["level"] == "failed"]["error"].str.contains("got nothing").all()
    assert frame["audited"].nunique() == 1


def test_audit_of_an_earlier_batch_is_a_part_of_the_history(tmp_path: Path) -> None:
    run("audit", HEALTHY, "--batch", "3", "--history", tmp_path)
    assert pd.read_parquet(tmp_path)["is_part"].all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--history", "{0}", "--history-format", "delta"), "use --engine spark"),
        (("--history-format", "delta"), "--history-format is for --history"),
    ],
)
def test_delta_history_needs_the_spark_engine(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    outcome = run("audit", HEALTHY, *(item.format(tmp_path / "h") for item in arguments))
    assert (outcome.code, message in outcome.err) == (2, True)
    assert not (tmp_path / "h").exists()


def test_history_inside_the_checkpoint_is_refused(tmp_path: Path) -> None:
    copy = copy_of("agg_update", tmp_path)
    before = tree(copy)
    outcome = run("audit", copy, "--history", copy / "history")
    assert outcome.code == 2
    assert "is inside the checkpoint" in outcome.err
    assert tree(copy) == before


def test_next_subset_is_verified_after_the_last(tmp_path: Path) -> None:
    verify = ("verify", HEALTHY, "--subset", "next/3", "--history", tmp_path, "-o", "json")
    first, second, third = run(*verify), run(*verify), run(*verify)
    assert (first.code, second.code, third.code) == (0, 0, 0)
    assert cell_values([r.json["part"] for r in (first, second, third)], "subset") == [
        *("1/3", "2/3", "3/3")
    ]
    assert "2 of 3 parts have no proof" in " ".join(first.json["notes"])
    assert "Each of 3 parts has been verified" in " ".join(third.json["notes"])


def test_next_subset_needs_a_history() -> None:
    outcome = run("verify", HEALTHY, "--subset", "next/3")
    assert outcome.code == 2
    assert "which --history remembers" in outcome.err
