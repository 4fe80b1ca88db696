"""Error classes of the installed PySpark."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest


def spark_home() -> Path:
    """Return the folder of the installed PySpark."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@cache
def error_messages() -> dict[str, str]:
    """Return the message template of each error class and subclass of the JVM and of Python."""
    (jar,) = (spark_home() / "jars").glob("spark-common-utils_*.jar")
    with ZipFile(jar) as archive:
        files = re.findall(r"error/error-c[a-z-]+\.json", "\n".join(archive.namelist()))
        texts = [archive.read(file) for file in files]
    texts += [path.read_bytes() for path in (spark_home() / "errors").glob("error-conditions.json")]
    result: dict[str, str] = {}
    for conditions in map(json.loads, texts):
        for name, condition in conditions.items():
            if "message" not in condition:
                continue
            message = " ".join(condition["message"])
            result[name] = message
            for subclass, options in condition.get("subClass", {}).items():
                result[f"{name}.{subclass}"] = f"{message} {' '.join(options['message'])}"
    return result


WITH_STATE_ERRORS = pytest.mark.skipif(
    "STATE_STORE_COMMIT_VALIDATION_FAILED" not in error_messages(),
    reason="the pages are about error classes of later releases of Spark",
)
"""Mark of tests that need the error classes of Spark 4.1 or later."""
