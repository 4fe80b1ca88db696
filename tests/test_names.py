"""Names are nouns and verbs: the check of them, and what it is to see."""

from __future__ import annotations

from pathlib import Path

import check_names
import pytest

PLANTED = '''
"""Names of every kind."""

__all__ = ["rows"]
ALL = 1


def _counted(rows, found=None):
    for one in rows:
        which = one
    return [each for each in rows]


def held_against(other):
    def is_shared(): ...
    async def rows_told(*some): ...


class Place:
    known: int

    def retained_versions(self): ...
    def read_schema(self): ...
    def feed(self): ...
'''


def test_pronouns_and_participles_are_counted(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(PLANTED, "utf-8")
    names = check_names.read_names(tmp_path)
    assert set(names.pronouns) == {"found", "one", "which", "each", "other", "some", "known"}
    assert set(names.participles) == {"_counted", "held_against", "rows_told"}
    # rows found one which each other some known self self self, and ALL
    assert names.assigned.total() == 12
    assert names.pronoun_share == pytest.approx(7 / 12)


def test_bad_names_end_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "module.py").write_text(PLANTED, "utf-8")
    assert check_names.main([str(tmp_path)]) == 1
    assert "7 of 12 assigned names and parameters are pronouns: 58.33%" in capsys.readouterr().out


def test_the_package_is_within_the_limits(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_names.main([]) == 0, capsys.readouterr().out
