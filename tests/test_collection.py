"""Every test file runs: no tool passes one by, and no choice of marks leaves one out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from fnmatch import translate
from glob import glob
from itertools import chain
from pathlib import Path

import pytest

from tests import conftest
from tests.spark.support import spark_release

ROOT = Path(__file__).resolve().parents[1]
SEARCHED = ("inspector", "scripts", "tests")
"""Folders of the top level in which a file of tests could lie."""

IGNORED_BY_TOOLS = ("buck-out", "env", "out", "site-packages", "target", "test-results")
"""Names that Git's and linters' usual settings pass by; pytest's own are asked of pytest."""

FEWEST = 5000


def collected(*options: str) -> Counter[str]:
    """File -> how many tests pytest finds in it."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "-p", "no:randomly"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", *options],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return Counter(re.findall("^(.*?)::", done.stdout, re.M))


def files_of_tests() -> set[str]:
    folders = (glob(f"{folder}/**/test_*.py", root_dir=ROOT, recursive=True) for folder in SEARCHED)
    return set(chain.from_iterable(folders))


def test_every_test_file_has_tests(tests_found: Counter[tuple[str, bool]]) -> None:
    files, number = {file for file, _ in tests_found}, sum(tests_found.values())
    if files != files_of_tests():  # as where this file is run alone
        counter = collected("-m", "full or not full or browser")
        files, number = set(counter), sum(counter.values())
    assert files == files_of_tests()
    assert number > FEWEST


def test_tests_named_in_ci_exist() -> None:
    text = (ROOT / ".ci" / "run").read_text("utf-8")
    named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", text)
    assert len(named) > 5
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text("utf-8")


def test_no_test_folder_has_ignored_name(request: pytest.FixtureRequest) -> None:
    patterns = (*request.config.getini("norecursedirs"), *IGNORED_BY_TOOLS)
    assert {"build", "dist", "venv"} <= set(patterns)
    ignored = re.compile("|".join(map(translate, patterns)))
    folders = (glob(f"{folder}/**/", root_dir=ROOT, recursive=True) for folder in SEARCHED)
    paths = chain.from_iterable(folders)
    assert [path for path in paths if ignored.match(Path(path).name)] == []


# --- what a plain run leaves out -------------------------------------------------------------


@pytest.mark.parametrize("name", [*conftest.FULL, *conftest.SMOKE])
def test_full_and_smoke_tests_exist(name: str) -> None:
    file, _, test = name.partition("::")
    assert f"def {test}" in (ROOT / "tests" / file).read_text("utf-8")


@pytest.mark.parametrize("name", [*chain(*conftest.IN_ONE_PROCESS.values())])
def test_files_in_one_process_exist(name: str) -> None:
    assert (ROOT / "tests" / name).exists()


@pytest.mark.parametrize("name", conftest.LONGEST)
def test_longest_files_exist(name: str) -> None:
    assert name in conftest.IN_ONE_PROCESS or (ROOT / name).is_file()


def test_plain_run_has_fixtures_of_oldest_and_newest_spark() -> None:
    oldest, *between, newest = conftest.RELEASES
    assert (oldest, newest) == ("2.4.8", "4.3.0")
    assert set(between) == conftest.IN_BETWEEN
    assert len(between) == 7


OF_BROWSERS = {"tests/test_browser.py", "tests/test_browser_serve.py"}


def test_browser_tests_are_in_browser_files(tests_found: Counter[tuple[str, bool]]) -> None:
    assert {file for file, browser in tests_found if browser} <= OF_BROWSERS
    assert tests_found.keys().isdisjoint({(file, False) for file in OF_BROWSERS})


@pytest.mark.full
def test_browser_tests_run_only_if_selected() -> None:
    only = collected("-m", "browser", *sorted(OF_BROWSERS), "tests/test_model.py")
    assert set(only) == OF_BROWSERS
    assert only["tests/test_browser.py"] > 30
    assert only["tests/test_browser_serve.py"] > 5
    others = collected("-m", "not spark", *sorted(OF_BROWSERS), "tests/test_model.py")
    assert not OF_BROWSERS & set(others)


@pytest.mark.full
def test_plain_run_has_spark_tests_and_no_benchmark() -> None:
    wide = {"tests/test_bench.py", "tests/test_cluster.py"}
    sample = ("tests/test_fixtures.py", "tests/test_spark.py", "tests/engines", *sorted(wide))
    plain, full = collected(*sample), collected("-m", "full", *sample)
    assert {"tests/test_fixtures.py", "tests/test_spark.py"} <= set(plain)
    assert wide | {"tests/test_fixtures.py"} <= set(full)
    assert not wide & set(plain)
    on_spark = collected("-m", "spark and not full", *sample)
    assert len(on_spark) >= (2 if spark_release() >= (4, 0) else 1)
