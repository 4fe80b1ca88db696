"""``inspector sql``: formats, statements on stdin, and errors."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.cli.support import OUTPUTS, checkpoint_of, copy_of, run

PATH = checkpoint_of("fmgws_event_ignore")
TOP = "select value, sum(row_bytes) from op0_default group by 1 order by 2 desc, 1 limit 10"


def test_sql_result_is_a_table() -> None:
    outcome = run("sql", PATH, TOP)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    start = lines.index("result")
    assert lines[start + 1].split() == ["VALUE", "SUM(ROW_BYTES)"]
    assert len(lines[start + 2 :]) == 10


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_format_has_the_sql_result(output: str) -> None:
    outcome = run("sql", PATH, TOP, "-o", output)
    assert outcome.code == 0
    assert outcome.out.count("lapsed-") + outcome.out.count("revived-") >= 10


def test_large_numbers_and_structs_in_json() -> None:
    query = "select 170141183460469231731687303715884105727::hugeint h, {'a': [1, null]} s, 0.5 d"
    assert run("sql", PATH, query, "-o", "ndjson").ndjson == [
        {"h": 2**127 - 1, "s": {"a": [1, None]}, "d": "0.5"}
    ]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("interval '90 minutes'", "1 hours 30 minutes"),
        ("interval '1 year 2 days'", "1 years 2 days"),
        ("timestamptz '2024-01-01 00:00:10+00'", "2024-01-01T00:00:10.000000Z"),
        ("date '2024-01-01'", "2024-01-01"),
        ("'nan'::double", "NaN"),
        ("'ab'::blob", "YWI="),
        ("1.25::decimal(5, 3)", "1.250"),
        ("true", True),
        ("null", None),
    ],
)
def test_sql_types_in_json(expression: str, value: object) -> None:
    outcome = run("sql", PATH, f"select {expression} as x", "-o", "ndjson")
    assert outcome.ndjson == [{"x": value}]


@pytest.mark.parametrize("output", ["table", "markdown", "html"])
def test_control_characters_of_sql_results_are_escaped(output: str) -> None:
    query = """select chr(27) || '[31m<b>' as "\x1b[31m<i>" """
    outcome = run("sql", PATH, query, "-o", output)
    assert outcome.code == 0
    assert "\x1b" not in outcome.out
    assert output == "table" or "<i>" not in outcome.out


def test_duplicate_result_columns_get_numbers() -> None:
    query = "select 1 as a, 2 as a"
    assert run("sql", PATH, query, "-o", "ndjson").ndjson == [{"a": 1, "a_2": 2}]


def test_statements_are_read_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "create table t as\n  select 1 as a;\nselect a + 1 as b\nfrom t;\nselect 3 as c"
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    outcome = run("sql", PATH)
    assert outcome.code == 0
    assert outcome.out.split() == ["result", "COUNT", "1", "result", "B", "2", "result", "C", "3"]


def test_refused_statement_ends_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("choose 1;\nselect 3 as c;"))
    outcome = run("sql", PATH)
    assert outcome.code == 2
    assert "DuckDB refuses the query: Parser Error" in outcome.err
    assert outcome.out == ""


class Terminal(io.StringIO):
    """A stdin that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_prompt_continues_after_a_refused_statement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = iter(["choose 1;", "select", " 3 as c;"])
    prompts: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", ask)
    monkeypatch.setattr("sys.stdin", Terminal())
    outcome = run("sql", PATH)
    assert outcome.code == 0
    assert "DuckDB refuses the query" in outcome.err
    assert outcome.out.split() == ["result", "C", "3"]
    assert prompts == ["sql> ", "sql> ", "...> ", "sql> "]


def test_unreadable_delta_is_a_problem_of_sql(tmp_path: Path) -> None:
    path = copy_of("fmgws_event_ignore", tmp_path)
    (path / "state" / "0" / "0" / "5.delta").write_bytes(b"spoilt")
    outcome = run("sql", path, "select count(*) as n from op0_default", "-o", "json")
    assert outcome.code == 4
    assert outcome.rows == [{"n": 63}]
    assert any("5.delta" in problem["path"] for problem in outcome.json["problems"])


def test_output_file_is_for_one_statement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("select 1;"))
    outcome = run("sql", PATH, "-O", tmp_path / "x.csv")
    assert outcome.code == 2
    assert "--output-file is for one statement" in outcome.err


def test_statement_is_written_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    outcome = run("sql", PATH, "select 1 as a", "-O", target)
    assert outcome.code == 0
    assert target.read_text("utf-8").split() == ["a", "1"]
