"""``audit``: verdicts, over one checkpoint or many."""

from pathlib import Path

import pytest

from tests.cli.support import checkpoint_of, copy_of, flip, run

HEALTHY, LEAK = checkpoint_of("agg_update"), checkpoint_of("fmgws_event_ignore")


def test_a_healthy_checkpoint_has_no_findings() -> None:
    outcome = run("audit", HEALTHY)
    assert outcome.code == 0
    assert "verdict                      no findings\n" in outcome.out
    assert "findings\n(none)\n" in outcome.out


def test_a_leak_is_an_error_with_its_size() -> None:
    outcome = run("audit", LEAK, "-o", "json")
    assert outcome.code == 1
    finding = outcome.rows[0]
    assert (finding["id"], finding["severity"], finding["certainty"]) == (
        "SS203",
        "error",
        "proven",
    )
    assert (finding["rows"], finding["bytes"]) == (68, 6528)
    assert finding["next_step"]
    assert outcome.json["summary"]["leftovers"] == 68
    here = {"checkpoint": str(LEAK)}
    assert [here | one for one in outcome.json["findings"]] == outcome.rows


@pytest.mark.parametrize(
    ("fail_on", "code"), [("error", 1), ("warning", 1), ("info", 1), ("never", 0)]
)
def test_the_findings_that_fail_it_can_be_chosen(fail_on: str, code: int) -> None:
    assert run("audit", LEAK, "--fail-on", fail_on).code == code


def test_a_warning_is_below_an_error() -> None:
    path = checkpoint_of("dedup_no_watermark")
    assert run("audit", path).code == 1
    assert run("audit", path, "--fail-on", "error").code == 0


def test_the_oldest_leftovers_are_listed_without_their_keys() -> None:
    listed = run("audit", LEAK, "-o", "json").json["tables"]["leftovers"]
    assert len(listed) == 5
    assert [row["expired_batch"] for row in listed] == [4] * 5
    assert all(row["key"].startswith("sha256:") for row in listed)


def test_several_checkpoints_have_one_verdict_each(tmp_path: Path) -> None:
    outcome = run("audit", HEALTHY, tmp_path / "missing", LEAK)
    assert outcome.code == 3
    assert outcome.out.count("\nverdict ") == 2
    assert outcome.out.index(str(HEALTHY)) < outcome.out.index(str(LEAK))
    assert outcome.err.startswith(f"error: {tmp_path}/missing: got nothing")
    assert run("audit", HEALTHY, LEAK).code == 1
    assert run("audit", HEALTHY, HEALTHY).code == 0


def test_one_file_does_not_hold_several_reports(tmp_path: Path) -> None:
    outcome = run("audit", HEALTHY, LEAK, "-O", tmp_path / "report")
    assert (outcome.code, list(tmp_path.iterdir())) == (2, [])


def test_a_rule_that_can_never_hold_is_a_warning_about_the_operator() -> None:
    for case, rows in (("dedup_no_watermark", 402), ("dedup_watermark_not_key", 400)):
        finding = run("audit", checkpoint_of(case), "-o", "json").rows[0]
        kind = (finding["id"], finding["severity"], finding["operator_id"])
        assert kind == ("SS201", "warning", 0)
        assert finding["rows"] == rows
        assert "watermark" in finding["evidence"]


def test_a_function_that_removes_keys_is_not_accused() -> None:
    found = run("audit", checkpoint_of("fmgws_no_timeout"), "-o", "json").rows
    assert [row["id"] for row in found if row["certainty"] == "proven"] == []


def test_a_gap_in_the_files_is_told_with_its_problems(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").unlink()
    outcome = run("audit", path, "-o", "json")
    assert outcome.code == 4
    assert {finding["id"] for finding in outcome.rows} == {"SS101", "SS105"}
    assert {p["problem"] for p in outcome.json["problems"]} == {"missing-delta", "missing-version"}
    assert "2 problems" in outcome.json["summary"]["verdict"]


def test_a_bad_file_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    flip(path / "state/0/1/10.delta", 40)
    outcome = run("audit", path, "-o", "json")
    assert outcome.code == 4
    (finding,) = outcome.rows
    assert finding["id"] == "SS102"
    assert str(path / "state/0/1/10.delta") in finding["evidence"]


def test_an_older_version_can_be_judged() -> None:
    found = {
        batch: run("audit", LEAK, "--batch", str(batch), "-o", "json").json["summary"]["leftovers"]
        for batch in (3, 4, 5, 12)
    }
    assert found[3] == 0 < found[4] < found[5] < found[12] == 68


def test_several_checkpoints_make_one_document() -> None:
    both = run("audit", LEAK, HEALTHY, LEAK, "-o", "json").json
    assert [report["checkpoint"] for report in both] == [str(LEAK), str(HEALTHY), str(LEAK)]
    header, *lines = run("audit", LEAK, LEAK, "-o", "csv").out.splitlines()
    assert header.startswith("checkpoint,id,")
    assert lines
    assert all(line.startswith(f"{LEAK},") for line in lines)
    rows = run("audit", LEAK, HEALTHY, "-o", "ndjson").ndjson
    assert {row["checkpoint"] for row in rows} == {str(LEAK)}


def test_json_is_a_document_where_no_checkpoint_can_be_read(tmp_path: Path) -> None:
    outcome = run("audit", tmp_path / "a", tmp_path / "b", "-o", "json")
    assert (outcome.code, outcome.json) == (3, [])
