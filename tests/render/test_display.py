"""Text at a width, with and without colours."""

import re

import pytest
from rich.text import Text

from inspector.render.display import STYLES, Display

LONG = "a sentence of some words that is longer than a narrow terminal"


def test_display_without_width_does_not_wrap() -> None:
    assert list(Display().text(LONG * 40, prefix="    ")) == ["    " + LONG * 40 + "\n"]
    assert Display().every_column
    assert Display(80, wide=True).every_column
    assert not Display(80).every_column


def test_wrapped_paragraph_is_indented() -> None:
    assert list(Display(30).text(LONG, prefix="  next: ")) == [
        "  next: a sentence of some\n",
        "        words that is longer\n",
        "        than a narrow terminal\n",
    ]


def test_narrow_terminal_reduces_indentation() -> None:
    lines = list(Display(20).text(LONG, prefix="a long label: "))
    assert lines[0].startswith("  a long label: a")
    assert max(map(len, lines)) <= 21
    assert re.fullmatch("(  .*\n)+", "".join(lines))


@pytest.mark.parametrize("width", [1, 2, 7, 40])
def test_too_long_word_is_broken(width: int) -> None:
    lines = list(Display(width).text("x" * 100, prefix="ab "))
    assert max(map(len, lines)) <= max(width, 3) + 1
    assert "".join(lines).count("x") == 100


def test_long_name_is_broken_between_its_parts() -> None:
    name = "spark.sql.streaming.stateStore.providerClass"
    assert list(Display(23).text(f"of {name}")) == [
        *("of spark.sql.streaming.\n", "stateStore.\n", "providerClass\n")
    ]
    parts = "x" * 30 + "/y"
    assert list(Display(20).text(parts)) == ["x" * 20 + "\n", "x" * 10 + "/\n", "y\n"]


def test_wide_characters_count_as_two_columns() -> None:
    assert list(Display(10).text("日本語日本語")) == ["日本語日本\n", "語\n"]


@pytest.mark.parametrize("style", sorted(STYLES))
def test_requested_colours_override_environment(
    style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "20")
    (line,) = Display(60, color=True).text("words", style)
    assert line.startswith("\x1b[")
    assert Text.from_ansi(line.rstrip("\n")).plain == "words"
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert list(Display(60).text("words", style)) == ["words\n"]
