"""What a notebook shows of a report, of hostile state too."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from inspector import api
from inspector.render.notebook import HEAD_ROWS, html_head, python_call
from inspector.render.report import Report
from inspector.render.tabular import Column, Table, Unit
from tests.cli.support import COMMANDS, checkpoint_of, copy_of
from tests.reports import cell_values

LEAK = str(checkpoint_of("fmgws_event_ignore"))
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202egnp.exe\"'&"


class Elements(HTMLParser):
    """Tags and text of an HTML fragment, in which every tag must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("command", COMMANDS)
def test_every_report_has_small_html(command: str) -> None:
    report = getattr(api, command)(LEAK)
    html = html_head(report)
    assert html_head(report) == html
    elements = Elements(html)
    assert elements.tags[0] == "div"
    assert elements.tags.count("tr") <= HEAD_ROWS + 1
    assert LEAK in elements.text
    assert len(html) < 20_000
    assert report.to_dict()["command"] == command


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("inspector leftovers /ck", "api.leftovers('/ck')"),
        (
            "inspector top '/a b' --by value --operator 1 --store left --state-version 3",
            "api.top('/a b', api.Options(operator_id=1, store_name='left', state_version=3), "
            "by='value')",
        ),
    ],
)
def test_hints_are_python_calls(code: str, call: str) -> None:
    assert python_call(code) == call


def test_notebook_audit_has_growth_chart_and_python_hints() -> None:
    report = api.audit(LEAK)
    html = html_head(report)
    assert html.count("<polyline ") == 2
    assert f"For details: api.leftovers({LEAK!r})" in Elements(html).text
    assert cell_values(report, "id") == ["SS203", "SS201"]


def test_notebook_shows_audit_findings_or_health() -> None:
    text = Elements(html_head(api.audit(LEAK))).text
    assert "SS203 error, proven: timeout fired and key kept." in text
    healthy = Elements(html_head(api.leftovers(str(checkpoint_of("agg_append"))))).text
    assert "No findings." in healthy
    assert "No rows: none: every expired key has been removed" in healthy


def test_notebook_escapes_hostile_text() -> None:
    columns = (Column("key", Unit.VALUE), Column(HOSTILE))
    rows = [{"key": {HOSTILE: HOSTILE}, HOSTILE: HOSTILE}]
    table = Table("t", HOSTILE, columns, rows)
    html = html_head(Report("rows", HOSTILE, {}, (table,), notes=(HOSTILE,)))
    elements = Elements(html)
    assert "script" not in elements.tags
    assert "alert(1)" in elements.text
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "\\u202e" in html


def test_notebook_cuts_long_values_and_many_findings() -> None:
    report = api.audit(LEAK)
    finding = replace(report.findings[0], evidence="x" * 10_000)
    html = html_head(replace(report, findings=[finding] * 9))
    assert "and 4 more" in html
    assert html.count("x") < 5_000


def test_notebook_shows_problems_and_consumed_rows(tmp_path: object) -> None:
    path = copy_of("agg_append", tmp_path)  # type: ignore[arg-type]
    (path / "state/0/1/5.delta").unlink()
    text = Elements(html_head(api.verify(str(path)))).text
    assert "problem" in text
    assert "not all could be read" in text
    report = api.rows(LEAK)
    list(report.primary.rows)
    assert "The rows have already been read and are not kept" in html_head(report)


def test_notebook_formats_numbers_times_and_estimates() -> None:
    columns = (
        Column("n", Unit.COUNT),
        Column("b", Unit.BYTES, exact=False),
        Column("at_ms", Unit.TIME_MS),
        Column("f", Unit.FLAG),
        Column("none"),
    )
    row = {"n": 12345, "b": 6789, "at_ms": 0, "f": True, "none": None}
    text = html_head(Report("sizes", "/p", {}, (Table("t", "T", columns, [row]),)))
    for item in (">12,345<", ">~6.6 KiB<", ">1970-01-01T00:00:00.000Z<", ">yes<", ">at<"):
        assert item in text
