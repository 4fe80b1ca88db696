"""Parts of type hints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NewType, Optional, Union

import pytest

from inspector.type_hints import HintParts, hint_parts

Number = NewType("Number", int)


@pytest.mark.parametrize(
    ("hint", "parts"),
    [
        (int, HintParts(int, (), False, ())),
        (Number, HintParts(int, (), False, ())),
        (Optional[Number], HintParts(int, (), True, ())),  # noqa: UP045 - the older spelling
        (tuple[int, ...], HintParts(tuple, (int, ...), False, ())),
        (Counter[int], HintParts(Counter, (int,), False, ())),
        (Mapping[str, int] | None, HintParts(Mapping, (str, int), True, ())),
        (Literal["a", "b"], HintParts(Literal, ("a", "b"), False, ())),
        (Union[str, int, None], HintParts(Union, (str, int), True, ())),  # noqa: UP007
        (Annotated[int, "x"] | None, HintParts(int, (), True, ("x",))),
        (
            Annotated[Annotated[Number, "inner"] | None, "outer"],
            HintParts(int, (), True, ("inner", "outer")),
        ),
    ],
)
def test_parts_of_hint(hint: Any, parts: HintParts) -> None:
    assert hint_parts(hint) == parts
