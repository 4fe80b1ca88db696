"""Values that add field by field: counts and sizes of several stores, versions or workers."""

from __future__ import annotations

from operator import add
from typing import TypeVar

SumsT = TypeVar("SumsT", bound="Sums")


class Sums:
    """A base for frozen dataclasses; without arguments they are the zero."""

    def __add__(self: SumsT, other: SumsT) -> SumsT:
        # In the order of the fields, as a dataclass sets them; dataclasses.fields() takes longer.
        return type(self)(*map(add, vars(self).values(), vars(other).values()))
