"""Findings about files, and about what they waste."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.exceptions import ChecksumError, DecodeError, FrameError, TruncatedError
from inspector.findings.catalogue import UNDECODABLE_FILE
from inspector.findings.finding import Finding, Severity
from inspector.findings.integrity_rules import judge_problems, judge_replay, judge_widths
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.model import Certainty, Problem, StoreId, StoreName
from inspector.sparktypes.ddl import parse_ddl
from tests import encode
from tests.cases import FIXTURES

FIXTURE = Path(__file__).parents[2] / "fixtures" / "4.3.0" / "agg_append" / "checkpoint"
STORE = StoreId(3, "default", 1)


def judged(*problems: Problem) -> list[Finding]:
    return list(judge_problems(problems))


@pytest.mark.parametrize(
    ("slug", "id_"),
    [
        ("missing-delta", "SS101"),
        (TruncatedError.slug, "SS102"),
        (FrameError.slug, "SS102"),
        (DecodeError.slug, "SS102"),
        ("storage", "SS117"),
        ("denied", "SS116"),
        ("row-checksum", "SS102"),
        ("snapshot-differs", "SS104"),
        ("missing-version", "SS105"),
        ("bad-row", "SS106"),
        ("missing-partition", "SS109"),
        ("log-contradiction", "SS111"),
        ("log-entry-lost", "SS111"),
        (ChecksumError.slug, "SS112"),
    ],
)
def test_a_problem_is_a_proven_finding_with_its_place_and_a_next_step(slug: str, id_: str) -> None:
    (found,) = judged(Problem(slug, "got 1, expected 2", "/c/1.delta", 21, STORE, 1))
    assert (found.kind.id, found.certainty) == (id_, Certainty.PROVEN)
    assert found.evidence == "/c/1.delta: got 1, expected 2"
    assert (found.operator_id, found.store_name) == (3, None)
    assert found.next_step


def test_the_cause_names_the_file_that_somebody_has_to_look_at() -> None:
    bad = [Problem(FrameError.slug, "got 1", f"/c/{n}.delta", 0, STORE, n) for n in (1, 2)]
    assert [one.cause for one in judged(bad[0])] == ["At /c/1.delta: got 1."]
    assert [one.cause for one in judged(*bad)] == ["At /c/1.delta (and 1 more): got 1."]
    short = Problem(TruncatedError.slug, "LZ4 block: got 7, expected 9", "/c/1.delta", 0, STORE, 1)
    assert [one.cause for one in judged(short)] == [
        "At /c/1.delta: the data ends too early (LZ4 block: got 7, expected 9)."
    ]
    gaps = [Problem("missing-delta", "got 1", f"/c/{n}", None, STORE, n) for n in (1, 2)]
    assert [one.cause for one in judged(gaps[0])] == [
        "At /c/1: got 1, so no version that needs it can be loaded."
    ]
    assert judged(*gaps)[0].cause.startswith("At /c/1 (and 1 more): got 1, so ")
    assert judged(Problem(FrameError.slug, "got 1"))[0].cause == UNDECODABLE_FILE.cause


@pytest.mark.parametrize("slug", ["codec-mismatch", "uncommitted"])
def test_what_is_only_remarkable_is_no_finding(slug: str) -> None:
    assert judged(Problem(slug, "got 1", "/c", 0, STORE)) == []


def test_problems_of_one_kind_in_one_operator_are_one_finding() -> None:
    other = StoreId(4, "default", 0)
    found = judged(
        Problem("truncated", "first", "/a", 1, STORE),
        Problem("bad-frame", "second", "/b", 2, STORE),
        Problem("truncated", "third", "/c", 3, other),
        Problem("missing-delta", "fourth", "/d", None, STORE),
        Problem("decode", "fifth"),
    )
    assert [(one.kind.id, one.operator_id, one.evidence) for one in found] == [
        ("SS102", 3, "/a: first (and 1 more, see problems)"),
        ("SS102", 4, "/c: third"),
        ("SS101", 3, "/d: fourth"),
        ("SS102", None, "fifth"),
    ]


@pytest.mark.parametrize(("slug", "id_"), [("denied", "SS116"), ("storage", "SS117")])
def test_what_the_storage_does_not_let_see_is_no_damage(slug: str, id_: str) -> None:
    unseen, damaged = judged(
        Problem(slug, "it says so", "/a", None, STORE),
        Problem("truncated", "got 3 bytes", "/b", 3, STORE),
    )
    assert (unseen.kind.id, damaged.kind.id) == (id_, "SS102")
    assert "nothing says that a file is damaged" in unseen.next_step
    assert "backup" not in unseen.next_step
    assert "backup" in damaged.next_step


def test_a_file_that_is_gone_at_every_look_is_no_damage() -> None:
    (found,) = judged(Problem("vanished", "[Errno 2] No such file", "/a", None, STORE))
    assert (found.kind.id, found.severity) == ("SS108", Severity.WARNING)
    assert "backup" not in found.next_step


def test_a_query_that_went_on_is_information() -> None:
    (found,) = judged(Problem("moved", "1 partition was read again"))
    assert (found.kind.id, found.severity) == ("SS108", Severity.INFO)
    assert found.cause.endswith("nothing is missing.")
    assert found.next_step.startswith("nothing")


def test_problems_are_reported_from_a_number_on() -> None:
    problem = Problem("truncated", "got 3 bytes", "/b", 3, STORE)
    assert list(judge_problems([problem], Thresholds(at_least={"SS102": 2}))) == []
    assert list(judge_problems([problem] * 2, Thresholds(at_least={"SS102": 2})))


def test_a_chain_is_too_deep_from_a_number_of_deltas_on() -> None:
    least, noted = DEFAULTS.replay_deltas, DEFAULTS.replay_noted
    deep, other = StoreId(3, "default", 1), StoreId(3, "default", 0)
    assert list(judge_replay(3, {deep: noted - 1})) == []
    assert list(judge_replay(3, {})) == []
    (found,) = judge_replay(3, {other: 2, deep: least})
    assert (found.kind.id, found.operator_id) == ("SS103", 3)
    assert found.severity is Severity.WARNING
    assert found.evidence == (
        f"{least} deltas to replay of store default in partition 1; "
        f"1 partition of 2 has {noted} or more"
    )
    assert f"up to {least} deltas in partition 1 (of 2), because no snapshot of it" in found.cause
    for depths in ({deep: least}, {deep: least, other: least}):
        (found,) = judge_replay(3, depths)
        assert f"up to {least} deltas in a partition, because no snapshot was made" in found.cause
    (found,) = judge_replay(3, {deep: least}, noun="changelog")
    assert found.evidence.startswith(f"{least} changelogs to replay")
    (found,) = judge_replay(3, {deep: least - 1})
    assert found.severity is Severity.INFO


def test_rows_that_are_wider_than_their_schema_are_of_another() -> None:
    store, schema = StoreName(3, "default"), parse_ddl("a bigint")
    assert list(judge_widths(store, "value", {16: 142}, schema)) == []
    assert list(judge_widths(store, "value", {24: 1}, parse_ddl("a string"))) == []
    (found,) = judge_widths(store, "value", {16: 70, 24: 72}, schema)
    assert (found.kind.id, found.severity, found.rows) == ("SS106", Severity.ERROR, 72)
    assert list(judge_widths(store, "value", {8: 3, 16: 142}, schema)) == []
    assert found.cause.startswith("72 of 142 values have 24 bytes where their schema makes 16: ")


def test_rows_of_a_checkpoint_are_held_against_the_width_of_their_schema(tmp_path: Path) -> None:
    """As after a change of the query with ``stateSchemaCheck`` off, which Spark does not notice."""
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / "agg_global/checkpoint", root)
    assert "SS106" not in {found.kind.id for found in api.audit(str(root)).findings}
    newest = max(root.glob("state/0/*/*.delta"), key=lambda path: int(path.stem))
    wider = encode.row(parse_ddl("a bigint, b bigint, c bigint"), (1, 2, 3))
    newest.write_bytes(encode.state_file([(b"", wider)]))
    (found,) = (one for one in api.audit(str(root)).findings if one.kind.id == "SS106")
    assert found.cause.startswith("1 of 1 value has 32 bytes where their schema makes 24")


def test_few_deltas_are_many_where_there_was_time_for_a_snapshot() -> None:
    least, minutes = DEFAULTS.replay_slow, DEFAULTS.replay_minutes
    store, enough = StoreId(3, "default", 1), round(minutes * 60_000)
    assert list(judge_replay(3, {store: least}, passed_ms=enough - 1)) == []
    assert list(judge_replay(3, {store: least - 1}, passed_ms=enough)) == []
    (found,) = judge_replay(3, {store: least}, passed_ms=enough)
    assert found.severity is Severity.INFO
    assert found.cause.endswith("no snapshot was made for 10 min.")


def test_records_that_spark_does_not_write_are_findings() -> None:
    slugs = ("absent-removals", "foreign-records")
    found = list(judge_problems([Problem(slug, "got x", "p/8.delta") for slug in slugs]))
    assert [finding.kind.id for finding in found] == ["SS113", "SS118"]
    assert found[0].evidence == "p/8.delta: got x"


def test_deltas_of_another_partition_are_noticed(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURE, root)
    for ours, others in (("0", "1"), ("1", "0")):
        for name in ("8.delta", "9.delta"):
            shutil.copy(FIXTURE / "state/0" / others / name, root / "state/0" / ours / name)
    found = [finding.kind.id for finding in api.audit(str(root)).findings]
    assert "SS113" in found
