"""The one place that chooses between the compiled loops and their Python twin.

``INSPECTOR_KERNEL=c`` or ``=python`` requests one of them; requested and absent is an error and
never a silent change to the other. Unset, C is used where it was built. Both give the same
results for every input; :mod:`inspector.kernel._kernel_py` is the definition.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, cast

from inspector.exceptions import EngineError

if TYPE_CHECKING:
    from inspector.kernel._interner import Interner as Interner
    from inspector.kernel._kernel_py import Kernel as Kernel

ENVIRONMENT = "INSPECTOR_KERNEL"
PYTHON = "python"
_C_MODULE = "inspector.kernel._kernel_c"
_PYTHON_MODULE = "inspector.kernel._kernel_py"


def load(choice: str) -> Kernel:
    """The kernel ``c`` or ``python``, of None C if built; EngineError: no such one, not built."""
    if choice not in ("c", "python", ""):
        raise EngineError(f"{ENVIRONMENT} is {choice!r}, expected 'c' or 'python'")
    if choice != "python":
        try:
            return cast("Kernel", importlib.import_module(_C_MODULE))
        except ImportError as error:
            if choice == "c":
                raise EngineError(f"{ENVIRONMENT}=c, but it was not built: {error}") from error
    return cast("Kernel", importlib.import_module(_PYTHON_MODULE))


@functools.cache
def kernel() -> Kernel:
    """The kernel, chosen at the first call (EngineError: the environment's is not there)."""
    return load(os.environ.get(ENVIRONMENT, ""))


def c_function(name: str) -> Any:
    """A function that only the compiled kernel has; None without it: its twin is not loaded."""
    if os.environ.get(ENVIRONMENT) == PYTHON:
        return None
    try:
        return getattr(importlib.import_module(_C_MODULE), name)
    except ImportError:
        return None


def slow_kernel_text() -> str:
    """Return why this process uses the Python kernel, and what that means."""
    if os.environ.get(ENVIRONMENT) == PYTHON:
        reason = f"{ENVIRONMENT}={PYTHON} asks for it"
    else:
        reason = "the compiled one was not built when this package was installed"
    return f"the Python kernel reads the state, many times slower than the compiled one: {reason}"


def kernel_name() -> str:
    """``c`` or ``python``: the kernel of this process, for reports."""
    chosen: object = kernel()
    return PYTHON if chosen is sys.modules.get(_PYTHON_MODULE) else "c"
