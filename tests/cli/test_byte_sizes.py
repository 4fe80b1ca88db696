"""Byte sizes as option values."""

from __future__ import annotations

import click
import pytest

from inspector.cli.click_options import ByteSize


@pytest.mark.parametrize(
    ("text", "size"),
    [("512", 512), ("8GiB", 8 << 30), ("8g", 8 << 30), ("1.5 MB", 3 << 19), ("2TiB", 2 << 40)],
)
def test_byte_size_option_is_parsed(text: str, size: int) -> None:
    assert ByteSize().convert(text, None, None) == size


@pytest.mark.parametrize("text", ["", "GiB", "-3", "8 lots", "1e9"])
def test_invalid_byte_size_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a size"):
        ByteSize().convert(text, None, None)
