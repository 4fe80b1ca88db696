"""What the tests' own Sparks lean on: a crash is told at once, and a bad archive is never used."""

import os
import sys
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests import spark_support
from tests.spark_support import MARK, OPTIONS, assert_no_crash, crashes, finish, processes, until

MADE_BUT_BAD = f"""
import os, re, sys
archive = re.search("ArchiveClassesAtExit=(.*)", os.environ["{OPTIONS[0]}"])
open(archive[1], "w").close() if archive else sys.exit("crashed")
"""


def test_jvm_crash_ends_waiting_tests(tmp_path: Path) -> None:
    report = crashes() / "1.log"
    crash = f"import time; open({str(report)!r}, 'w').write('# SIGSEGV'); time.sleep(600)"
    with pytest.raises(AssertionError, match=r"(?s)1 JVMs crashed.*SIGSEGV"):
        finish([sys.executable, "-c", crash], os.environ | {MARK: str(tmp_path)}, tmp_path)
    assert processes(tmp_path) == []
    assert_no_crash()  # it is told once


def test_waiting_has_deadline() -> None:
    with pytest.raises(TimeoutError, match="no end of a job within 0 s"):
        until(lambda: Future[None]().done() or None, "end of a job", patience=0)


@pytest.mark.parametrize("program", ["raise SystemExit('no Java')", "", MADE_BUT_BAD])
def test_unused_class_archive_is_ignored(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spark_support, "FEW_CLASSES", program)
    for name in OPTIONS:
        monkeypatch.setenv(name, "")
    monkeypatch.setenv(spark_support.ARCHIVE, str(tmp_path / "spark.jsa"))
    spark_support.start_quickly()
    assert "SharedArchiveFile" not in "".join(os.environ[name] for name in OPTIONS)
    assert spark_support.ARCHIVE not in os.environ
    assert list(tmp_path.iterdir()) == []
    assert "no archive of Spark's classes: " in capfd.readouterr().err
