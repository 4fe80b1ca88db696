"""The gate on names, docstrings and sentences: what it counts, and that the package passes it."""

from __future__ import annotations

from pathlib import Path

import check_english
import pytest

MODULE = '''
"""What a module has."""

ALL = 1


def _counted(rows, found=None):
    """Return the rows."""
    for one in rows:
        before_rows = one
    return [each for each in rows]


def told(at):
    async def shared_rows(*some): ...


class Reader:
    """Whether it reads."""

    def feed(self): ...
'''
PAGE = """# A page

Rows are held against a clock. A rule:

- short item

```python
held against = 1
```

| held against | a table |
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "module.py").write_text(MODULE, "utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(PAGE, "utf-8")
    return tmp_path


def test_names_and_docstrings_are_counted(package: Path) -> None:
    openings, prepositions, pronouns, participles, *_ = check_english.measure(
        check_english.read_package(package)
    )
    assert dict(openings.examples) == {"What": 1, "Whether": 1}
    assert openings.value == pytest.approx(100 * 2 / 3)
    assert set(prepositions.examples) == {"before_rows", "at"}
    assert set(pronouns.examples) == {"found", "one", "each", "some"}
    assert set(participles.examples) == {"_counted", "told", "shared_rows"}


def test_phrases_are_counted_in_prose_only(package: Path) -> None:
    *_, phrases, words = check_english.measure(check_english.read_package(package))
    assert dict(phrases.examples) == {"held against": 1}
    assert words.value == len(PAGE.split())


def test_long_sentences_are_counted(package: Path) -> None:
    words = " ".join(["word"] * 16)
    text = f"# Page\n\n{words}\n{words}. Short.\n\n{words}\n\n- {words}\n"
    (package / "docs" / "page.md").write_text(text, "utf-8")
    *_, long, _, _ = check_english.measure(check_english.read_package(package))
    assert (long.value, list(long.examples)) == (1, ["word word word word word word ..."])


def test_a_measure_above_its_limit_ends_with_1(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_english.main([str(package)]) == 1
    assert "FAIL docstrings that open with a relative clause, %: 66.7" in capsys.readouterr().out


def test_pronoun_names_in_tests_and_scripts_are_counted(
    package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (package / "tests").mkdir()
    (package / "tests" / "test_rows.py").write_text("found = told = 1\nrows = 2\n", "utf-8")
    monkeypatch.setattr(check_english, "ROOT", package)
    monkeypatch.setattr(check_english, "ELSEWHERE", ("tests",))
    assert check_english.main([]) == 1
    assert "FAIL names that are pronouns in tests, per mille: 666.7" in capsys.readouterr().out
