"""A Spark session for hundreds of small queries, and an inspector in another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_CONFS = {
    "spark.ui.enabled": "false",
    # Most of the time of many small queries is spent on compiling them. Interpreted code needs a
    # deeper stack: a regular expression of Spark overflows it on a busy machine.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss8m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.python.authenticate.socketTimeout": "120s",
}
LAB = Path(__file__).resolve().parents[1]
REPOSITORY = LAB.parents[1]


def start_session(name: str, confs: Mapping[str, str]) -> Any:
    """Start a session with two threads.

    Args:
        name: the name of the application.
        confs: further configuration.
    """
    # Python workers import the queries. A processor of transformWithState runs in one of the
    # driver, too.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    path = [str(LAB), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    builder = builder.master("local[2]").appName(name)
    for key, value in {**_CONFS, **confs}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


class OtherPython:
    """A Python that has the inspector and answers questions, one line of JSON each."""

    def __init__(self, python: str, program: str) -> None:
        """Start it.

        Args:
            python: the path of its executable.
            program: its source, which reads a question and prints the answer, until the end.
        """
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._process = subprocess.Popen(
            [python, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env=clean,
        )

    def ask(self, question: object) -> dict[str, Any]:
        """Return the answer to a question."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer
