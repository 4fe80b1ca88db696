"""Options of the test run."""

import pytest


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
