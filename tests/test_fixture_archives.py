"""Storage of the fixtures in archives: what is stored comes back, and the index lists it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fixtures import archives
from tests.attributes import attributes
from tests.fixture_folder import FIXTURES


def made_case(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "recipe.md").write_text(text, "utf-8")
    return folder


def test_index_and_folders_list_every_fixture() -> None:
    index = json.loads((archives.HOME / archives.INDEX).read_text("utf-8"))
    listed = {
        (release, case)
        for stored in (index, archives.FOLDERS)
        for release, cases in stored.items()
        for case in cases
    }
    assert set(attributes(FIXTURES.glob("*/*"), "parent.name", "name")) == listed


@pytest.mark.parametrize("case", ["agg_update", "case_of_this_test"])
def test_stored_case_replaces_its_predecessor(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "FOLDERS", {"4.3.0": ("agg_update",)})
    stored = tmp_path / "stored"
    made_case(stored / "4.3.0" / "agg_update", "kept folder")
    archives.store("4.3.0", {"packed": made_case(tmp_path / "packed", "kept archive")}, stored)
    for text in ("first", "second"):
        archives.store("4.3.0", {case: made_case(tmp_path / text, text)}, stored)
    folder = archives.unpack(tmp_path / "target", stored) / "4.3.0"
    assert (folder / case / "recipe.md").read_text("utf-8") == "second"
    assert (folder / "packed" / "recipe.md").read_text("utf-8") == "kept archive"


def test_archive_bytes_are_reproducible(tmp_path: Path) -> None:
    digests = set()
    for name in ("first", "second"):
        case = made_case(tmp_path / name / "case", "the same bytes")
        (tmp_path / name / "stored").mkdir()
        archives.store("4.3.0", {"case": case}, tmp_path / name / "stored")
        digests.add((tmp_path / name / "stored" / "4.3.0.tar.xz").read_bytes())
    assert len(digests) == 1


def test_changed_fixtures_are_unpacked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "FOLDERS", {})
    stored = tmp_path / "stored"
    stored.mkdir()
    folders = []
    for text in ("first", "second"):
        archives.store("9.9.9", {"case": made_case(tmp_path / text, text)}, stored)
        folders.append(archives.unpack(tmp_path / "target", stored))
    assert (folders[1] / "9.9.9" / "case" / "recipe.md").read_text("utf-8") == "second"
    assert not folders[0].exists()
