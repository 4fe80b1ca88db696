"""How many examples a property is tried with: decided here, and in no test file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

FEW = "default"
"""What a contributor's run takes: a few seconds for all properties together."""

MANY = "full"
"""What ``pytest -m full`` and CI take: some ten minutes of two cores."""

MOST = "exhaustive"
"""For a change of what reads bytes: ``pytest -m full --hypothesis-profile=exhaustive``."""

COSTLY = 5
"""A costly property is tried with so many times fewer examples: it writes a checkpoint for each."""

# A busy machine is no failure: no deadline, and slow generation of data is no fault of the test.
_ANY_MACHINE: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile(FEW, max_examples=25, **_ANY_MACHINE)
settings.register_profile(MANY, max_examples=200, **_ANY_MACHINE)
settings.register_profile(MOST, max_examples=5_000, **_ANY_MACHINE)


def load_profile(*, many: bool) -> None:
    """Before any test file is imported: :func:`costly` counts on it."""
    settings.load_profile(MANY if many else FEW)


def costly(test: Callable[..., None]) -> Callable[..., None]:
    """Decorate a property of which each example takes a tenth of a second or so."""
    return settings(max_examples=settings().max_examples // COSTLY)(test)
