"""Errors of the data source as one sentence, where Spark would show the stack of its worker.

PySpark reports what a worker raises with all frames between its ``main`` and ours
(``pyspark.util.handle_worker_exception``). Since Spark 4.1 it leaves them out where
``SPARK_HIDE_TRACEBACK`` is set in the worker; Spark 4.0 has no such switch, and heeds the
interpreter's own ``sys.tracebacklimit``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from inspector.exceptions import InspectorError

_OF_WORKERS = "PYTHON_WORKER_FACTORY"
"""How the variables begin by which Spark connects to a Python worker; no other process has them."""


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """Let errors that say all that is to be said end a worker without a stack.

    Any other is a fault of the inspector, and keeps its stack.
    """
    try:
        yield
    except (InspectorError, OSError) as error:
        if any(name.startswith(_OF_WORKERS) for name in os.environ):
            # A worker that reports an error ends with it, so that nobody else is affected.
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
            sys.tracebacklimit = 0
        error.__cause__, error.__suppress_context__ = None, True
        raise
