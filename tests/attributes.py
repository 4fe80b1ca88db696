"""Attributes of objects that tests compare with literal values."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any


def attributes(objects: Iterable[Any], *names: str) -> list[Any]:
    """Return one attribute of each object; several attributes as a list of tuples.

    A name may have dots: ``kind.id`` is the attribute ``id`` of the attribute ``kind``.
    """
    return list(map(attrgetter(*names), objects))
