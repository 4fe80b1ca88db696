"""Rows that do not fit their schema."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inspector.api import audit
from inspector.facts.checks import ChecksPassed, ReadProblem
from inspector.facts.size_distributions import SampledSizes
from inspector.operators.rule import RowPart
from inspector.passes.fit import MOST_SAMPLES
from tests import cases, encode
from tests.attributes import attributes
from tests.cases import Batch, Seen, facts_of_type, group_state, observed_in, problems_in, user
from tests.encode import Record
from tests.reports import finding_ids

A = user("a")


def test_rows_that_do_not_fit_are_named_up_to_a_few_and_counted(tmp_path: Path) -> None:
    bad: list[Record] = [
        *((user("b"), b"\0" * 16), (user("c"), b"\0" * 16), (user("d"), b"\0" * 16)),
        *((user("e"), b"\0" * 16), (user("f"), b"\0" * 16)),
    ]
    deltas: dict[int, list[Record]] = {1: [(A, group_state(1, 5)), *bad, (b"\0" * 4, None)]}
    cases.write_logs(tmp_path, [Batch(0, 1, 1)], {"shuffle.partitions": "1"})
    cases.write_operator(tmp_path, 0, "flatMapGroupsWithState", "default")
    cases.write_store(tmp_path / "state/0/0", deltas)
    cases.write_schema(tmp_path / "state/0/0", cases.USER, cases.GROUP_STATE)
    assert problems_in(observed_in(tmp_path)) == []
    rows = observed_in(tmp_path, fit=True)
    problems = problems_in(rows)
    path = str(tmp_path / "state/0/0/1.delta")
    assert attributes(problems, "slug", "path") == [("bad-row", path)] * 4
    assert [row.message.split(":")[0] for row in problems] == [
        "key of record 6 at raw byte " + str(4 + _size(deltas[1][:6])),
        "value of record 1 at raw byte " + str(_size(deltas[1][:1]) + 8 + len(A)),
        "value of record 2 at raw byte " + str(_size(deltas[1][:2]) + 8 + len(A)),
        "6 rows of the file do not fit their schema",
    ]
    assert counted_facts(rows) == counted_facts(observed_in(tmp_path))


def _size(records: Sequence[Record]) -> int:
    return len(encode.records(records)) - len(encode.END)


def counted_facts(result: list[Seen]) -> list[str]:
    messages = (ReadProblem, ChecksPassed)
    return sorted(repr(item) for item in result if not isinstance(item.fact, messages))


def test_columns_are_measured_of_rows_that_fit_and_later_ones_may_have_no_bytes(
    tmp_path: Path,
) -> None:
    long = user("a" * 3000)
    deltas: dict[int, list[Record]] = {
        1: [(long, group_state(1, 5))],
        2: [(long, None), (b"", b"")],
    }
    clocks = [Batch(0, 1, 1), Batch(1, 2, 2)]
    cases.write_logs(tmp_path, clocks, {"shuffle.partitions": "1"})
    cases.write_operator(tmp_path, 0, "flatMapGroupsWithState", "default")
    cases.write_store(tmp_path / "state/0/0", deltas)
    cases.write_schema(tmp_path / "state/0/0", cases.USER, cases.GROUP_STATE)
    report = audit(str(tmp_path))
    assert "SS106" in finding_ids(report)
    assert report.summary["rows"] == 1


def test_of_many_files_some_are_sampled(tmp_path: Path) -> None:
    files = MOST_SAMPLES + 4
    cases.write_logs(tmp_path, [Batch(1, 2, 1)] * files, {"shuffle.partitions": "1"})
    cases.write_operator(tmp_path, 0, "flatMapGroupsWithState", "default")
    deltas: dict[int, list[Record]] = {
        n + 1: [(user(f"{n:02}" + "a" * 3000), group_state(1, 5))] for n in range(files)
    }
    cases.write_store(tmp_path / "state/0/0", deltas)
    cases.write_schema(tmp_path / "state/0/0", cases.USER, cases.GROUP_STATE)
    sampled = facts_of_type(observed_in(tmp_path, fit=True), SampledSizes)
    assert attributes(sampled, "side", "rows.rows") == [(RowPart.KEY, MOST_SAMPLES)]
