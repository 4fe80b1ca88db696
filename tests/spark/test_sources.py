"""Restarts of queries with file sources, compared with what the inspector says before them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from inspector import api
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.restart import restart_of
from tests.spark.test_claims import run, source, write
from tests.spark_support import WITH_SPARK

pytestmark = WITH_SPARK


def sums(frame: Any) -> Any:
    return frame.groupBy("user").sum("v")


def remove(path: Path) -> None:
    """Remove a log, or an entry of a log with its checksum."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def change(path: Path, old: str, new: str) -> None:
    """Change the text of an entry of a log."""
    text = path.read_text()
    assert re.search(old, text)
    remove(path)
    path.write_text(re.sub(old, new, text))


def answer(root: Path) -> bool | None:
    return restart_of(open_checkpoint(str(root))).possible


def restarts(frame: Any, root: Path) -> bool:
    try:
        run(sums(frame), root, "update")
    except StreamingQueryException:
        return False
    return True


def files(spark: Any, folder: Path) -> Any:
    return source(spark, folder, "user string, v long")


def make(spark: Any, tmp_path: Path, second: str) -> tuple[Any, Path]:
    """A query of three batches that reads two sources, and one more file of each."""
    first = files(spark, tmp_path / "in")
    sibling = {
        "itself": first,
        "other": files(spark, tmp_path / "other"),
    }[second]
    for batch in range(3):
        write(tmp_path / "in", batch, [{"user": "a", "v": batch}])
        if batch != 1:
            write(tmp_path / "other", batch, [{"user": "b", "v": batch}])
        run(sums(first.union(sibling)), tmp_path / "ck", "update")
    for folder in ("in", "other"):
        write(tmp_path / folder, 9, [{"user": "c", "v": 9}])
    return first.union(sibling), tmp_path / "ck"


@pytest.mark.parametrize(
    ("second", "lost", "possible"),
    [
        ("itself", "", True),
        ("itself", "sources/0", False),
        ("itself", "sources/0/0", False),
        ("other", "", True),
        ("other", "sources/0", False),
        ("other", "sources/1", False),
        ("other", "sources/1/1", False),
    ],
)
def test_restart_of_a_query_with_two_sources(
    spark: Any, tmp_path: Path, second: str, lost: str, *, possible: bool
) -> None:
    frame, root = make(spark, tmp_path, second)
    assert (root / "sources/1").exists() is (second == "other")
    if lost:
        remove(root / lost)
    assert answer(root) is possible
    assert restarts(frame, root) is possible


@pytest.mark.parametrize(
    ("batch", "offset", "possible"), [(2, 0, False), (1, 9, False), (0, 9, True), (2, 1, True)]
)
def test_restart_with_an_offset_of_files_that_goes_back(
    spark: Any, tmp_path: Path, batch: int, offset: int, *, possible: bool
) -> None:
    frame, root = make(spark, tmp_path, "itself")
    change(root / "offsets" / str(batch), r'"logOffset":\d+', f'"logOffset":{offset}')
    assert answer(root) is possible
    assert restarts(frame, root) is possible


@pytest.mark.parametrize(("line", "possible"), [(0, True), (1, False)])
def test_restart_with_one_of_two_lines_of_a_source_that_goes_back(
    spark: Any, tmp_path: Path, line: int, *, possible: bool
) -> None:
    """Spark takes the offset of the last line of a source that is used twice."""
    frame, root = make(spark, tmp_path, "itself")
    pattern = r"((?:.*\n){" + str(2 + line) + r'}.*"logOffset":)\d+'
    change(root / "offsets/2", rf"\A{pattern}", r"\g<1>0")
    assert answer(root) is possible
    assert restarts(frame, root) is possible


def test_new_files_in_a_source_entry_that_is_written_again_are_never_read(
    spark: Any, tmp_path: Path
) -> None:
    first, folder, root = files(spark, tmp_path / "in"), tmp_path / "other", tmp_path / "ck"
    folder.mkdir()
    second = spark.readStream.schema("user string, v long").json(str(folder))
    for batch in range(3):
        write(tmp_path / "in", batch, [{"user": "a", "v": batch}])
        if batch < 2:
            write(folder, batch, [{"user": "b", "v": batch}])
        run(sums(first.union(second)), root, "update")
    remove(root / "sources/1/1")
    assert answer(root) is None
    write(tmp_path / "in", 8, [{"user": "c", "v": 9}])
    write(folder, 9, [{"user": "d", "v": 9}])
    run(sums(first.union(second)), root, "update")
    written = (root / "sources/1/1").read_text()
    assert {name for name in ("1.json", "9.json") if name in written} == {"1.json", "9.json"}
    write(folder, 10, [{"user": "e", "v": 9}])
    run(sums(first.union(second)), root, "update")
    users = {row["key"]["user"] for row in api.rows(str(root)).to_dict()["rows"]}
    assert users == {"a", "b", "c", "e"}


@pytest.mark.parametrize(
    ("folder", "glob", "says", "possible"),
    [("other", "", None, False), ("in/sub", "", True, True), ("other", "*", None, True)],
)
def test_restart_with_an_entry_of_another_job(
    spark: Any, tmp_path: Path, folder: str, glob: str, *, says: bool | None, possible: bool
) -> None:
    """Another job wrote the entry and was refused; without the entry the query restarts."""
    _, root = make(spark, tmp_path, "itself")
    first = files(spark, tmp_path / "in")
    write(tmp_path / folder, 7, [{"user": "x", "v": 1}])
    entry = root / "sources/0/3"
    line = {"path": f"file://{tmp_path}/{folder}/7.json", "timestamp": 1, "batchId": 3}
    entry.write_text(f"v1\n{json.dumps(line)}")
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    if glob:
        first = spark.readStream.schema("user string, v long").json(f"{tmp_path}/{glob}")
    assert answer(root) is says
    assert restarts(first.union(first), root) is possible
    remove(copy / "sources/0/3")
    assert answer(copy) is True
    assert restarts(first.union(first), copy)
