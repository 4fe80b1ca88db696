"""Every format has its renderer, and every renderer tells the report."""

import pytest

from inspector.render.formats import FORMATS, render
from tests.render.samples import report


@pytest.mark.parametrize("output", FORMATS)
def test_a_format_means_its_renderer(output: str) -> None:
    text = "".join(render(report(), output))
    assert text == "".join(FORMATS[output](report()))
    assert "default" in text
    assert text.endswith("\n")


def test_formats_differ() -> None:
    texts = {"".join(render(report(), output)) for output in FORMATS}
    assert len(texts) == len(FORMATS) >= 5


def test_people_are_the_default() -> None:
    assert "".join(render(report())) == "".join(render(report(), "table"))
