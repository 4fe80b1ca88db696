"""Options of the test run."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark_support import SILENCE


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept-golden",
        action="store_true",
        help="write what the renderers say now to tests/golden",
    )


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests mean the same wherever they run: no colours, no options from the environment."""
    for name in ("NO_COLOR", "FORCE_COLOR", "INSPECTOR_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One small session. Without a Java these tests fail: they must not be forgotten silently."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.fail("no Java: install 17, or leave these tests out with -m 'not spark'")
    from pyspark.sql import SparkSession

    home = Path(__file__).resolve().parents[1]
    scratch = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYTHONPATH", str(home), prepend=os.pathsep)
        quiet = scratch / "log4j2.properties"
        quiet.write_text(SILENCE)
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={quiet}")
            .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        yield session
        session.stop()
