"""Random workloads: what the functions say of their calls accounts for every row of Spark's."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from workloads import account, families, judge

from inspector.findings.finding import Finding
from inspector.findings.rule import all_kinds
from inspector.model import Certainty
from tests.spark_support import LONG, MARK, finish

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "lab" / "make_workloads.py"
SEED, COUNT = 7, 5


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[account.Workload]:
    """A few workloads of the families with functions, and one join, by the installed Spark."""
    folder = tmp_path_factory.mktemp("workloads")
    chosen = ["--seed", str(SEED), "--count", str(COUNT), "--only", "^[RJPLD]"]
    command = [sys.executable, str(SCRIPT), "--out", str(folder / "out"), *chosen]
    command += ["--cache", str(folder / "cache")]
    done = finish(command, os.environ | {MARK: str(folder)}, ROOT, LONG)
    assert done.returncode == 0, done.stdout + done.stderr
    return [account.read(path) for path in sorted((folder / "out").iterdir())]


@pytest.mark.spark
def test_recorded_calls_account_for_all_rows(made: list[account.Workload]) -> None:
    assert len(made) == COUNT
    assert [workload.name for workload in made if account.check(workload)] == []
    assert any(account.PANDAS in workload.names().values() for workload in made)
    assert sum(len(workload.committed_calls()) for workload in made) > 100


@pytest.mark.spark
def test_workloads_have_no_wrong_judgements(made: list[account.Workload]) -> None:
    scores = [judge.judge(workload) for workload in made]
    total = sum(scores, judge.Score())
    assert total.examples == []
    assert total.judged > 100
    assert not total.wrong
    assert not total.warnings


@pytest.mark.parametrize(
    ("change", "is_right"),
    [
        ({}, True),
        ({"class": "kept_without_timeout"}, False),
        ({"expired_batch": 3}, False),
        ({"expired_batch": 5}, False),
        ({"first_expired_batch": 2}, False),
        ({"clock_ms": 91}, False),
        ({"fired": 3}, False),
    ],
)
def test_judge_finds_wrong_field_of_leftover(change: dict[str, object], is_right: bool) -> None:
    workload = account.Workload(Path(), "one", {"op": "fm"}, "", [], {}, [])
    truth = judge.Truth("rearmed", batch=4, timer=90, first=3, fired=2)
    row = {"class": "rearmed", "expired_batch": 4, "first_expired_batch": 3, "clock_ms": 90}
    row |= {"fired": 2, "certainty": "proven", "reason": None}
    assert (judge.fault(workload, 5, row | change, truth) == "") is is_right
    assert judge.fault(workload, 5, row, None) != ""


@pytest.mark.parametrize(
    ("mode", "clock", "right"),
    [("complete", 7, True), ("complete", 8, False), ("append", 7, False)],
)
def test_row_below_watermark_is_leftover_only_in_complete_mode(
    mode: str, clock: int, right: bool
) -> None:
    batches = {3: {"ops": [{"op": 0, "evict": 7}]}}
    workload = account.Workload(Path(), "one", {"op": "agg", "mode": mode}, "", [], batches, [])
    message = {"class": "past_watermark", "operator_id": 0, "clock_ms": clock}
    assert (judge.fault(workload, 3, message, None) == "") is right


def _call(batch: int, act: str, timer: int, *, timed: bool = False) -> account.Call:
    return {"run": 0, "b": batch, "k": "aa", "timed": timed, "act": act, "o": act[0], "set": timer}


@pytest.mark.parametrize(
    ("calls", "pandas", "result"),
    [
        ([_call(0, "UT", 5), _call(1, "N", -1, timed=True)], False, "kept_without_timeout"),
        ([_call(0, "UT", 5), _call(1, "N", -1, timed=True)], True, "ignored_timeout"),
        ([_call(0, "UT", 5), _call(1, "NT", 50, timed=True)], False, "rearmed"),
        ([_call(0, "UT", 5), _call(1, "N", -1)], False, None),
        ([_call(0, "UT", 50)], True, None),
    ],
)
def test_leftover_class_follows_last_put_and_timer(
    calls: list[account.Call], pandas: bool, result: str | None
) -> None:
    *_, (batch, state) = account.replay(calls, pandas=pandas)
    truth = judge.Runs(calls, pandas=pandas).truth("aa", state["aa"], batch, due_at=10)
    assert (truth and truth.kind) == result


def test_score_table_sums_families() -> None:
    right, wrong = judge.Score(judged=3), judge.Score(judged=4)
    right.right["proven", ""] = 2
    wrong.wrong["inferred", "kept-by-habit"] = 1
    table = judge.table({"G": right, "J": wrong}).splitlines()
    assert table[2] == "| G | 0 | 3 | 0 | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |"
    assert table[-1] == "| all | 0 | 7 | 0 | 2 | 0 | 0 | 1 | 0 | 0 | 0 | 0 |"
    assert judge.inferences(right + wrong) == ["kept-by-habit: 0 of 1 right"]


def test_leftover_is_counted_once_by_best_judgement() -> None:
    first, second, third = (("one", 0, "", key) for key in "abc")
    early = judge.Keys(frozenset({first, second}), undecided=frozenset({first, second}))
    late = judge.Keys(frozenset({first, third}), frozenset({first}), silent=frozenset({third}))
    score = judge.Score(workloads=1, keys=early) + judge.Score(keys=late)
    assert score.keys.counts == (3, 1, 0, 1, 1, 0, 0)
    table = judge.keys_table({"G": score}).splitlines()
    assert table[-1] == "| all | 1 | 0 | 3 | 1 | 0 | 1 | 1 | 0 | 0 | 0 |"


def test_workload_specifications_are_reproducible() -> None:
    once = families.lines(3, 40, "4.3.0")
    assert once == families.lines(3, 40, "4.3.0")
    assert once[:20] == families.lines(3, 20, "4.3.0")
    assert not set(once) & set(families.lines(4, 40, "4.3.0"))


def test_row_unexplained_by_calls_is_reported(tmp_path: Path) -> None:
    (tmp_path / "spec.txt").write_text("one op=fm\n# ok\n")
    (tmp_path / "batches.jsonl").write_text(
        '{"b":0,"run":0,"ops":[{"op":0,"name":"flatMapGroupsWithState"}]}\n'
    )
    (tmp_path / "calls.jsonl").write_text(
        '{"run":0,"op":-1,"b":0,"k":"aa","timed":false,"act":"UT","set":5}\n'
    )
    store = tmp_path / "store.jsonl"
    store.write_text('{"op":0,"k":"aa","t":5,"null0":false}\n')
    assert account.check(account.read(tmp_path)) == []
    store.write_text('{"op":0,"k":"aa","t":6,"null0":false}\n')
    assert account.check(account.read(tmp_path)) == [
        "operator 0, key aa: by the calls (5, False), by Spark (6, False)"
    ]


@pytest.mark.parametrize(("pandas", "timer"), [(False, -1), (True, 9)])
def test_a_call_that_does_nothing_ends_the_timer_of_scala_only(pandas: bool, timer: int) -> None:
    armed = {"run": 0, "b": 0, "k": "a", "timed": False, "act": "UT", "set": 9}
    calls = [armed, armed | {"b": 1, "act": "N", "set": -1}]
    *_, (batch, state) = account.replay(calls, pandas=pandas)
    assert (batch, state["a"].timer, state["a"].null) == (1, timer, False)


@pytest.fixture(scope="module")
def drawn() -> list[str]:
    """More workloads than any Spark will run."""
    return families.lines(1, 3_000, "4.3.0")


@pytest.mark.parametrize(
    "shape",
    [
        r" plan=(fm|dedup|ddw)\.tws\.\S* timeMode1=processing",  # no watermark comes down
        r" emit=meta timeout=event .*plan=pd\.twsp",
        r" plan=fm\.u\(\S*second\|tws\.\S* timeMode\d=processing",  # an idle batch is another's
        r" op=ddw .*pNull=[1-9]",
        r" timeout=processing .*huge=[1-9]",
        r" plan=twice .*multiple=false",
        r" plan=\S*dedup\.meta",
        r" op=pd .*failHow=sink .*quiet=.*switchAt=1",
        r" retain=2 .*then=| then=.*retain=2",
        r" retryAt=",
        r" op=join .*repart=",
        r" rocks=true .*ckFmt=2",
        r" plan=tws\.one .*encoding=avro",
    ],
)
def test_shapes_that_drew_wrong_proofs_are_drawn_by_chance(drawn: list[str], shape: str) -> None:
    assert [line for line in drawn if re.search(shape, line)]


@pytest.mark.parametrize(
    ("version", "shape"),
    [
        ("3.5.9", " op=(dedup_agg|fm_d) .*later=op:"),
        ("4.3.0", " mode=update .*later=wm:false"),
        ("4.3.0", " op=join .*later=cond:"),
        ("4.3.0", " plan=.*tws.*declares=deletes"),
        ("4.3.0", " later=ckFmt:2"),
        ("4.3.0", " twice=true"),
    ],
)
def test_shapes_that_restarts_change_are_drawn_where_asked_for(version: str, shape: str) -> None:
    lines = families.lines(1, 400, version, "^b")
    assert [line for line in lines if re.search(shape, line)]
    assert not [line for line in families.lines(1, 400, version) if line.startswith("b")]


def test_an_old_spark_gets_what_it_has() -> None:
    def words(version: str) -> str:
        return "\n".join(families.lines(1, 400, version))

    assert re.search("plan=.*tws", words("4.0.5"))
    assert "repart=" in words("4.3.0")
    assert "repart=" not in words("4.1.4")
    assert not re.search("tws|repart|ckFmt|encoding|cleanup|key=dec", words("3.5.9"))
    assert "op=pd_agg" not in words("4.3.0")


def test_of_a_task_that_ran_twice_the_last_attempt_counts() -> None:
    batches = {0: {"b": 0, "run": 0, "ops": []}}
    calls = [_call(0, "UT", 5) | {"p": part, "att": att} for part, att in [(0, 0), (0, 1), (1, 0)]]
    workload = account.Workload(Path(), "one", {}, "", calls, batches, [])
    assert workload.committed_calls() == calls[1:]


@pytest.mark.parametrize(
    ("certainty", "message"), [(Certainty.PROVEN, True), (Certainty.UNDECIDED, False)]
)
def test_damage_of_what_spark_wrote_is_false(certainty: Certainty, message: bool) -> None:
    kinds = {kind.id: kind for kind in all_kinds()}
    assert judge.is_damage(Finding(kinds["SS118"], certainty, "", "")) is message
    assert not judge.is_damage(Finding(kinds["SS202"], certainty, "", ""))
