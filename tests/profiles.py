"""How many examples a property is tried with: decided here, and in no test file.

So is how a plain run takes a sample of many parameters. What it leaves out is ``full``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

FEW = "default"
"""What a contributor's run takes: a few seconds for all properties together."""

MANY = "full"
"""What ``pytest -m full`` and CI take: some two minutes of one core."""

MOST = "exhaustive"
"""For a change of what reads bytes: ``pytest -m full --hypothesis-profile=exhaustive``."""

COSTLY = 5
"""A costly property is tried with so many times fewer examples.

It writes a checkpoint for each, or is tried with each of forty types.
"""

# A busy machine is no failure: no deadline, and slow generation of data is no fault of the test.
_ANY_MACHINE: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile(FEW, max_examples=10, **_ANY_MACHINE)
settings.register_profile(MANY, max_examples=40, **_ANY_MACHINE)
settings.register_profile(MOST, max_examples=5_000, **_ANY_MACHINE)


def load_profile(*, has_many: bool) -> None:
    """Before any test file is imported: :func:`costly` counts on it."""
    settings.load_profile(MANY if has_many else FEW)


def costly(test: Callable[..., None]) -> Callable[..., None]:
    """Decorate a property of which each example takes a tenth of a second or so."""
    return settings(max_examples=settings().max_examples // COSTLY)(test)


def history(test: Callable[..., None]) -> Callable[..., None]:
    """Decorate a property whose examples are histories: 5, 20 in a full run, 500 at the most."""
    count = min(500, settings().max_examples // 2)
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    return settings(max_examples=count, suppress_health_check=checks)(test)


# --- parameters of which a plain run takes a sample ------------------------------------------


def sampled(values: Sequence[Any], every: int, first: int = 0) -> list[Any]:
    """Parameters for :func:`pytest.mark.parametrize`: a plain run has each so-manieth of them.

    Args:
        values: all of them; a tuple is the values of several names.
        every: of how many a plain run takes one.
        first: the place of the first that it takes; tests that begin at different places have
            together more of the values in a plain run.
    """
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [_param(row, plain=n % every == first) for n, row in enumerate(rows)]


ROUNDS = 2
"""How many other partners of the other lists each value meets in a full run."""


def crossed(*lists: Sequence[Any]) -> list[Any]:
    """Parameters that are combinations of some lists.

    A plain run has as many of them as the longest list is long: each value of each list at least
    once. A full one has :data:`ROUNDS` times as many: each value with other partners.
    """
    longest = max(map(len, lists))
    places = dict.fromkeys(
        tuple((n + turn * at) % len(values) for at, values in enumerate(lists))
        for turn in range(ROUNDS)
        for n in range(longest)
    )
    return [
        _param([values[n] for values, n in zip(lists, location, strict=True)], plain=at < longest)
        for at, location in enumerate(places)
    ]


def _param(values: Sequence[Any], *, plain: bool) -> Any:
    return pytest.param(*values, marks=() if plain else pytest.mark.full)
