"""Tables and Markdown, whole, against golden files; and the words in them."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.model import Problem
from inspector.render.report import Report
from inspector.render.tabular import Column, Table, Unit
from inspector.render.text import problem_line, render_markdown, render_text
from tests.render.golden import Golden
from tests.render.samples import HOSTILE, bare, report, table


@pytest.mark.parametrize("make", [report, bare])
def test_report_as_text_equals_golden_file(make: Callable[[], Report], golden: Golden) -> None:
    golden.check(f"{make.__name__}.txt", "".join(render_text(make())))


@pytest.mark.parametrize("make", [report, bare])
def test_report_as_markdown_equals_golden_file(make: Callable[[], Report], golden: Golden) -> None:
    golden.check(f"{make.__name__}.md", "".join(render_markdown(make())))


def test_differing_golden_file_is_shown_and_kept(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden/x.txt").write_text("one\ntwo\n")
    golden = Golden(request)
    golden._accept = False
    with pytest.raises(pytest.fail.Exception, match=r"(?s)-two.*\+three"):
        golden.check("x.txt", "one\nthree\n", tmp_path)
    assert (tmp_path / "actual/x.txt").read_text() == "one\nthree\n"
    golden.check("x.txt", "one\ntwo\n", tmp_path)


@pytest.mark.parametrize("render", [render_text, render_markdown])
def test_text_output_escapes_hostile_values(render: Callable[[Report], object]) -> None:
    text = "".join(render(report()))  # type: ignore[arg-type]
    assert text.replace("\n", "").isprintable()
    assert "red" in text


def test_key_text_is_escaped_in_markup() -> None:
    text = "".join(render_markdown(report()))
    line, *_ = re.findall(r"^\| 12 .*$", text, re.M)
    assert line.replace("\\|", "").count("|") == 9
    assert "<b>" not in text
    assert "\\<b\\>" in text


def test_store_name_is_escaped_in_markdown() -> None:
    from tests.render.samples import finding

    text = "".join(render_markdown(report(findings=(finding(store_name="<img>*"),))))
    assert "\\<img\\>\\*" in text


def test_text_table_ignores_terminal_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = "".join(render_text(report()))
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", "5")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert "".join(render_text(report())) == expected
    assert "\x1b" not in expected


def test_numbers_align_right_and_text_left() -> None:
    columns = (Column("n", Unit.COUNT), Column("word"), Column("size", Unit.BYTES))
    rows = [{"n": 1, "word": "a", "size": 1}, {"n": 12_345, "word": "long", "size": None}]
    text = "".join(render_text(report(tables=(Table("t", "title", columns, rows),))))
    lines = text[text.index("title") :].splitlines()
    assert lines[1:4] == [
        "     N  WORD  SIZE",
        "     1  a      1 B",
        "12,345  long     -",
    ]


def test_rows_are_consumed_once_and_problems_listed() -> None:
    problems: list[Problem] = []

    def rows() -> object:
        yield {"rows": 1}
        problems.append(Problem("truncated", "found while reading"))

    for render in (render_text, render_markdown):
        result = table(rows())  # type: ignore[arg-type]
        text = "".join(render(report(tables=(result,), problems=problems)))
        assert "found while reading" in text
        problems.clear()


@pytest.mark.parametrize("render", [render_text, render_markdown])
def test_empty_table_has_note(render: Callable[[Report], object]) -> None:
    text = "".join(render(bare()))  # type: ignore[arg-type]
    assert "(no things)\n" in text
    assert "STORE_NAME" not in text.upper()


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (Problem("s", "message"), "message"),
        (Problem("s", "message", "/p"), "/p: message"),
        (Problem("s", "message", "/p", 0), "/p: byte 0: message"),
        (Problem("s", "\x1b", f"/{HOSTILE[:1]}"), r"/\x1b: \x1b"),
    ],
)
def test_problem_has_wording_of_errors(problem: Problem, expected: str) -> None:
    assert problem_line(problem) == expected
