"""Attributes of objects that tests compare with literal values."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from types import SimpleNamespace
from typing import Any


def attributes(objects: Iterable[Any], *names: str) -> list[Any]:
    """Return one attribute of each object; several attributes as a list of tuples.

    A name may have dots: ``kind.id`` is the attribute ``id`` of the attribute ``kind``.
    """
    return list(map(attrgetter(*names), objects))


def objects_where(objects: Iterable[Any], **values: Any) -> list[Any]:
    """Return the objects whose attributes of these names have these values."""
    names = tuple(values)
    expected = attributes([SimpleNamespace(**values)], *names)
    return [item for item in objects if attributes([item], *names) == expected]
