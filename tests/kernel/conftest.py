"""Fixtures of the tests of both kernels."""

from __future__ import annotations

import pytest

from inspector.kernel.loader import load
from tests.cases import KERNELS
from tests.kernel.support import Kernel


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Each kernel in turn. A missing C kernel fails the test unless Python was requested."""
    return load(request.param)
