"""Numbers in file names."""

from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.names import MAX_INT, MAX_LONG, number


@given(st.integers(0, MAX_LONG))
def test_parse_number_in_a_file_name(value: int) -> None:
    assert number(str(value)) == value
    assert number(f"0{value}") is None
    assert number(str(value), MAX_INT) == (value if value <= MAX_INT else None)


def test_number_beyond_64_bits_is_no_number() -> None:
    assert number(str(MAX_LONG + 1)) is None
    assert number("9" * 5000) is None
    assert number("\u0667") is None
    assert number("-7") is None
