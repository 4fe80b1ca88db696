"""The page as text: escaped, under a policy that names its scripts, the same numbers as JSON."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace

import pytest

from inspector.findings.verdict import Level, Verdict
from inspector.render.as_json import render_json
from inspector.render.page import (
    LineChart,
    Section,
    Series,
    Text,
    document,
)
from inspector.render.page.document import (
    json_for_html,
    render_fleet_page,
    render_page,
)
from inspector.render.report import Report
from inspector.render.tabular import Unit
from tests.render.samples import HOSTILE, bare, finding, report


def written(item: Report) -> str:
    return "".join(render_page(item))


def policy_of(page: str) -> dict[str, list[str]]:
    match = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert match is not None
    parts = (part.split() for part in html.unescape(match[1]).split("; "))
    return {name: sources for name, *sources in parts}


def embedded(page: str) -> list[object]:
    result = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page)
    return [json.loads(item) for item in result]


def test_content_policy_lists_exactly_scripts_and_styles() -> None:
    page = written(report())
    policy = policy_of(page)
    assert policy["default-src"] == ["'none'"]
    for directive, tag in (("script-src", "script"), ("style-src", "style")):
        inline = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in inline]
        assert policy[directive] == [f"'sha256-{digest.decode()}'" for digest in digests]
        assert inline
    for directive in ("img-src", "connect-src", "base-uri", "form-action", "object-src"):
        assert policy[directive] == ["'none'"]
    assert "unsafe" not in page.split("</head>")[0].split("<style>")[0]
    assert not re.search(r'<[^>]+\s(style|on\w+)="', page)


def test_page_embeds_script_library_with_licence() -> None:
    page = written(report())
    assert "Permission is hereby granted, free of charge" in page
    assert not re.search(r'(src|href)="(?!#)', page)
    assert "eval(" not in page
    assert "new Function" not in page


def test_page_is_ascii_without_control_characters() -> None:
    page = written(report(checkpoint=f"/{HOSTILE}\ud800é"))
    assert page.isascii()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", page)
    result = html.unescape(page.replace("<wbr>", ""))
    assert r"/\x1b[31mred\x1b[0m\r\n| <b>*x*</b> \u202e`\t\ud800é" in result
    assert "<b>*x*" not in page


def test_page_embeds_json_report() -> None:
    (result,) = embedded(written(report()))
    assert result == json.loads("".join(render_json(report())))


def test_streamed_rows_are_shown_and_embedded() -> None:
    item = report()
    tables = [replace(table, rows=iter(list(table.rows))) for table in item.tables]
    once = replace(item, tables=tables)
    assert written(once) == written(item)


@pytest.mark.parametrize("text", ["</script>", "<!--", "&amp;", "\u2028", "\x7f\x85", "\ud800"])
def test_embedded_json_closes_no_html_element(text: str) -> None:
    result = json_for_html(json.dumps({text: text}))
    assert result.isascii()
    assert not set(result) & set("<>&\x7f")
    assert json.loads(result) == {text: text}


def test_report_without_page_sections_shows_tables() -> None:
    page = written(report())
    assert "The things</h3>" in page
    assert '<data value="1234567">1,234,567</data>' in page
    assert '<data value="9007199254740993">' in page
    assert "not for people" not in page.split('<script type="application/json"')[0]
    assert "A note." in page
    assert "None at all." in page


def test_page_heading_is_the_verdict_or_else_the_command() -> None:
    heading = r'<h2 id="verdict">(.*?)</h2>'
    assert re.findall(heading, written(bare())) == ["things"]
    judged = replace(bare(), verdict=Verdict(Level.OK, 0, 0, 0, 0))
    assert re.findall(heading, written(judged)) == ["Healthy: no findings."]


def test_page_sections_keep_their_order() -> None:
    sections = [Section("one", "First part", [Text(["a <b>"])]), Section("two", "Second", [])]
    page = written(report(page=sections))
    assert page.index("a &lt;b&gt;") < page.index('id="two"')
    assert "The things</h3>" not in page


def test_page_findings_are_sorted_by_severity_and_explained() -> None:
    page = written(report())
    titles = re.findall(r'<article class="finding (\w+)">', page)
    order = ["error", "warning", "info"]
    assert titles == sorted(titles, key=order.index)
    assert len(titles) == 3
    assert "What SS203 means" in page
    assert "<strong>Evidence.</strong> The timer was due by the clock" in page
    assert "<code>rearmed</code>" in page
    assert "There are no findings." in written(bare())


def test_sentence_that_begins_with_path_keeps_lower_case() -> None:
    page = written(report(findings=(finding(evidence="state/0/1/9.delta: bad block"),)))
    assert "state/0/1/9.delta: bad block." in page
    assert "State/0/1/9.delta" not in page


def test_line_break_opportunities_in_conf_names_and_times() -> None:
    evidence = "spark.sql.shuffle.partitions since 2024-01-01T00:00:29.000Z"
    page = written(report(findings=(finding(evidence=evidence),)))
    conf = "spark.<wbr>sql.<wbr>shuffle.<wbr>partitions"
    time = '<span class="moment">2024-01-01T00:00:29.000Z</span>'
    assert f"{conf} since {time}" in page


def test_page_shows_problems() -> None:
    page = written(report())
    assert "/ck/1.delta" in page
    assert "Permission denied" in page


# --- a fleet ---------------------------------------------------------------------------------


def fleet() -> list[Report]:
    healthy = report(checkpoint="/ck/healthy", findings=(), problems=[])
    ill = report(checkpoint="/ck/ill", findings=(finding(),), problems=[])
    return [healthy, ill]


def places(page: str) -> list[str]:
    return re.findall(r'<th scope="row">.*?<bdi>(.*?)</bdi>', page.replace("<wbr>", ""))


def test_fleet_page_lists_failures_then_most_severe() -> None:
    page = "".join(render_fleet_page(fleet(), [("/ck/<gone>", "not found")]))
    assert places(page) == ["&lt;gone&gt;", "ill", "healthy"]
    assert "Each of them is <bdi>/<wbr>ck/<wbr>NAME" in page
    assert "Not found." in page
    assert re.findall(r'class="open" href="#(.*?)"', page) == ["c1-open", "c2-open"]
    assert page.index('id="c1-open"') < page.index('id="c2-open"')
    assert '<script type="application/json"' not in page, "reports are in -o json"
    assert re.findall(r'<tr data-group="(\d+)">', page) == ["0", "1", "2"]
    assert page.count('aria-pressed="false" data-group="') == 3


def test_fleet_page_has_unique_element_ids() -> None:
    page = "".join(render_fleet_page(fleet()))
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    targets = re.findall(r'href="#([^"]*)"', page) + re.findall(r'labelledby="([^"]*)"', page)
    assert set(targets) <= set(ids)


def test_fleet_page_is_bounded_and_names_omissions(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = {"text": "x" * 20_000}
    several_values = [
        report(checkpoint=f"/ck/{n}", summary=summary, problems=[]) for n in range(30)
    ]
    monkeypatch.setattr(document, "MOST_FLEET_BYTES", 100_000)
    page = "".join(render_fleet_page(several_values))
    fixed = len("".join(render_fleet_page(several_values[:1])))
    table = 30 * 1000
    assert len(page) < fixed + table + 100_000
    assert len(places(page)) == 30
    opened = page.count('class="open"')
    assert 3 <= opened < 30
    assert f"the last {30 - opened} checkpoints of the table have no details here" in page


def test_fleet_page_of_100_checkpoints_is_below_1_mb() -> None:
    batches = range(150)
    chart = LineChart("Rows", Unit.COUNT, batches, batches, [Series("rows", batches)])
    several_values = [
        report(
            checkpoint=f"s3a://bucket/team/{n}/checkpoint",
            findings=(finding(), finding(), finding()),
            problems=[],
            charts=[chart, chart],
            page=[Section("text", "Text", [Text(["x" * 20_000])])],
        )
        for n in range(100)
    ]
    page = "".join(render_fleet_page(several_values))
    assert page.count("<polyline ") == 200
    assert len(page) < 1_000_000


def test_growth_chart_needs_no_script() -> None:
    values = [4, None, 6, 8]
    chart = LineChart("Rows", Unit.COUNT, range(4), range(4), [Series("rows", values)])
    page = written(
        report(charts=[chart, replace(chart, series=[Series("rows", [1] + [None] * 3)])])
    )
    assert "<strong>Rows</strong> 4 after batch 0, 8 after batch 3" in page
    assert re.findall(r'<polyline [^>]*points="([^"]*)"', page) == ["0,30.0", "200,16.0 300,2.0"]
