"""Arrays that grow."""

from __future__ import annotations

import numpy as np
import pytest

from inspector.arrays import longer


@pytest.mark.parametrize("fill", [0, -1])
def test_an_array_keeps_its_values_and_type_and_gets_more(fill: int) -> None:
    short = np.array([5, 6], np.int32)
    grown = longer(short, 4, fill=fill)
    assert grown.tolist() == [5, 6, fill, fill]
    assert grown.dtype == short.dtype
    grown[0] = 7
    assert short[0] == 5
