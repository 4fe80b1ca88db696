"""Formats that Spark's executors write; tests/spark/test_writing.py tests the writing."""

import click
import pytest

from inspector.cli.export_files import FORMATS, check_format


@pytest.mark.parametrize("form", FORMATS)
def test_executors_write_the_formats_of_spark(form: str) -> None:
    check_format(form)


def test_executors_refuse_arrow() -> None:
    with pytest.raises(click.UsageError, match="Spark writes no arrow, expected parquet, "):
        check_format("arrow")
