"""How many rows a listing shows where nobody said."""

import pytest

from inspector.cli.limits import FOR_PEOPLE, limit_of


@pytest.mark.parametrize(
    ("output", "expected"),
    [("table", FOR_PEOPLE), ("markdown", FOR_PEOPLE), ("json", 0), ("ndjson", 0), ("csv", 0)],
)
def test_people_get_some_and_machines_all(output: str, expected: int) -> None:
    assert limit_of(None, {"output": output}) == expected
    assert limit_of(0, {"output": output}) == 0
    assert limit_of(7, {"output": output}) == 7
