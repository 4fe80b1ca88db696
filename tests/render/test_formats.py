"""Every format has its renderer, and every renderer tells the report."""

import pytest

from inspector.render.as_json import render_json
from inspector.render.display import Display
from inspector.render.plain import render_csv, render_ndjson
from inspector.render.renderers import FORMATS, OF_VERDICTS, SUFFIXES, render
from inspector.render.text import render_markdown, render_text
from tests.render.samples import report

RENDERERS = {
    "table": render_text,
    "json": render_json,
    "ndjson": render_ndjson,
    "csv": render_csv,
    "markdown": render_markdown,
}


@pytest.mark.parametrize("output", FORMATS)
def test_output_format_selects_renderer(output: str) -> None:
    text = "".join(render(report(), output))
    if output in RENDERERS:
        assert text == "".join(RENDERERS[output](report()))
    assert "default" in text
    assert text.endswith("\n")


def test_formats_differ() -> None:
    texts = {"".join(render(report(), output)) for output in FORMATS}
    assert len(texts) == len(FORMATS) >= 5


def test_text_is_default_format() -> None:
    assert "".join(render(report())) == "".join(render(report(), "table"))


def test_display_changes_only_text_formats() -> None:
    for output in FORMATS:
        narrow = "".join(render(report(), output, Display(40)))
        assert (narrow == "".join(render(report(), output))) == (output != "table")


def test_file_extension_selects_format() -> None:
    assert set(SUFFIXES.values()) <= {*FORMATS, *OF_VERDICTS}
    assert SUFFIXES["json"] == "json"
