"""What the Python workers of a Spark have, asked before any work is sent to them."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import inspector
from inspector.exceptions import EngineError

NEEDED = ("pyarrow", "numpy", "fsspec", "xxhash", "google_crc32c", "pandas")
"""Modules that a worker has to have: the package's own dependencies, and PySpark's."""

VENV_PACK = (
    "install them there, or ship an environment (venv-pack): "
    "--conf spark.archives=environment.tar.gz#environment "
    "--conf spark.pyspark.python=./environment/bin/python"
)


def question(modules: tuple[str, ...] = NEEDED) -> Callable[[Any], str]:
    """The function that a worker runs; it carries all that it needs, as nothing may be there."""

    def answer(_number: Any) -> str:
        import importlib  # noqa: PLC0415 - on the worker
        import json  # noqa: PLC0415
        import platform  # noqa: PLC0415
        import sys  # noqa: PLC0415

        missing = []
        for name in modules:
            try:
                importlib.import_module(name)
            except ImportError:  # noqa: PERF203
                missing.append(name)
        told = {
            "host": platform.node(),
            "executable": sys.executable,
            "python": platform.python_version(),
            "missing": missing,
            "inspector": None,
            "kernel": None,
        }
        try:
            package = importlib.import_module("inspector")
            kernel = importlib.import_module("inspector.decode.kernel")
            told["inspector"] = package.__version__
            told["kernel"] = kernel.kernel_name()
        except ImportError as error:
            if not missing:
                told["missing"] = [] if error.name == "inspector" else [str(error.name or error)]
        return json.dumps(told)

    return answer


def judge(answers: Iterable[str]) -> list[Mapping[str, Any]]:
    """The distinct workers' answers.

    Raises:
        EngineError: one cannot do the work; says what it lacks.
    """
    workers = [json.loads(answer) for answer in sorted(set(answers))]
    for one in workers:
        if one["missing"]:
            raise EngineError(
                f"the Python worker {one['executable']} on {one['host']} has no "
                f"{', '.join(one['missing'])}: {VENV_PACK}"
            )
    return workers


def must_ship(workers: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a worker lacks this package, or has another version of it."""
    return any(one["inspector"] != inspector.__version__ for one in workers)


def kernel_note(workers: Iterable[Mapping[str, Any]]) -> str | None:
    """What to know if workers run the slow twin of the kernel."""
    if all(one["kernel"] == "c" for one in workers):
        return None
    return (
        "workers run the Python twin of the kernel, many times slower than the compiled one; "
        "install the package's wheel on them, or ship a venv-pack archive with it"
    )


def package_zip(folder: Path | None = None) -> Path:
    """This package as a zip that workers can import: pure Python, so on the kernel's Python twin.

    Args:
        folder: where to put it; a new temporary folder if not given.
    """
    home = Path(inspector.__file__).resolve().parent
    target = (folder or Path(tempfile.mkdtemp(prefix="inspector-zip-"))) / "inspector.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(home.rglob("*.py")):
            archive.write(path, Path("inspector") / path.relative_to(home))
    return target
