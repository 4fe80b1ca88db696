"""Choice between the compiled loops and their Python twin.

``INSPECTOR_KERNEL=c`` or ``=python`` requests one of them; if it is absent, that is an error and
never a silent change to the other. Unset, C is used if it was built. Both give the same results for
every input; :mod:`inspector.kernel._kernel_py` is the definition.
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

ENVIRONMENT = "INSPECTOR_KERNEL"  # variable that requests a kernel
PYTHON = "python"  # its value for the Python kernel
_C_MODULE = "inspector.kernel._kernel_c"  # module of the compiled kernel
_PYTHON_MODULE = "inspector.kernel._kernel_py"  # module of the Python kernel


def load(choice: str) -> Kernel:
    """Return the kernel ``c`` or ``python``; for an empty choice C if built, else Python.

    EngineError: another choice, or C is requested and not built.
    """
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
    """Return the kernel of this process, chosen at the first call by the environment.

    EngineError: the requested kernel does not exist.
    """
    return load(os.environ.get(ENVIRONMENT, ""))


def c_function(name: str) -> Any:
    """Return a function that only the compiled kernel has; None without that kernel."""
    if os.environ.get(ENVIRONMENT) == PYTHON:
        return None
    try:
        return getattr(importlib.import_module(_C_MODULE), name)
    except ImportError:
        return None


def slow_kernel_text() -> str:
    """Return a sentence on why this process uses the Python kernel, and its effect."""
    if os.environ.get(ENVIRONMENT) == PYTHON:
        reason = f"{ENVIRONMENT}={PYTHON} asks for it"
    else:
        reason = "the compiled one was not built when this package was installed"
    return f"the Python kernel reads the state, many times slower than the compiled one: {reason}"


def kernel_name() -> str:
    """Return the name of this process's kernel, ``c`` or ``python``, for reports."""
    chosen: object = kernel()
    return PYTHON if chosen is sys.modules.get(_PYTHON_MODULE) else "c"
