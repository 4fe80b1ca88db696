"""What is shown holds no character that a terminal would obey."""

import pytest

from inspector.plain_text import escape, escape_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text", "plain text"),
        ("Grüße 日本", "Grüße 日本"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\u202e\u2028\xa0", r"\u202e\u2028\xa0"),
        ("\ud800", r"\ud800"),
        ("\x7f\x9b", r"\x7f\x9b"),
    ],
)
def test_control_characters_are_escaped(text: str, expected: str) -> None:
    assert escape(text) == expected


def test_escaped_text_keeps_line_breaks() -> None:
    assert escape_lines("a\x1b[2J\nb\n") == "a\\x1b[2J\nb\n"
