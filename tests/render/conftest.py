"""Fixtures of the tests of reports."""

import pytest

from tests.render.golden import Golden


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request)
