"""The web application in a browser: every level, in both colours, on a desktop and on a phone."""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import LONG_NAME, Loaded, browser, tab
from tests.cli.support import checkpoint_of, copy_of
from tests.serve.support import STORES, TOKEN, level_of_url
from tests.serve.test_redaction import HOSTILE, SCRIPT, checkpoint_with
from tests.serve.test_walk import LEVELS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.browser

WIDE, NARROW = (1200, 900), (400, 844)  # sizes of a desktop and of a phone
DAY: tuple[tuple[int, int], Any] = (WIDE, "light")
NIGHT: tuple[tuple[int, int], Any] = (NARROW, "dark")
LOOKS = [DAY, NIGHT, (WIDE, "dark"), (NARROW, "light")]
LOOKS_FOR_AXE = {"hdfs": (DAY, NIGHT), "join": (NIGHT, DAY)}
"""Kind of state -> looks in which axe, which is slow, sees its levels by turns.

So it sees each level in both, by day of one kind and by night of the other. The levels of the other
kinds are the same components, and a page of eight thousand elements takes axe ten seconds.
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The kinds of state, a hostile checkpoint, one with an error, a damaged one, and none."""
    folder = tmp_path_factory.mktemp("served")
    broken = copy_of("join_left_outer", folder / "broken")
    (broken / "state/0/0/left-keyWithIndexToValue/5.delta").unlink()
    hostile = checkpoint_with(folder / "a<b>", HOSTILE, HOSTILE, f"{SCRIPT}\u202e")
    kinds = [checkpoint_of(case) for case in STORES.values()]
    leaking = checkpoint_of("fmgws_event_ignore")
    return [*kinds, hostile, leaking, broken, folder / LONG_NAME]


@pytest.fixture(scope="module")
def base(checkpoints: list[Path]) -> Iterator[str]:
    """The URL of a running server, without a slash at its end."""
    import uvicorn

    from inspector.serve.application import application
    from inspector.serve.sources import Source

    source = Source(list(map(str, checkpoints)), may_show=True)
    config = uvicorn.Config(application(source, TOKEN), log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        while "data-reload" in fleet_of(url):
            pass
        yield url
        server.should_exit = True
        thread.join()


def fleet_of(url: str) -> str:
    """The page of the fleet, which loads itself again while audits run."""
    with urllib.request.urlopen(f"{url}/?token={TOKEN}") as answer:
        text: str = answer.read().decode()
    return text


def visit(result: Loaded, url: str) -> None:
    """Open a page and check what holds for every page."""
    result.said.clear()
    response = result.page.goto(url)
    assert response is not None
    assert response.status == 200, url
    assert result.said == [], url
    assert result.dialogs == []
    assert result.evaluate("window.ran") is None
    assert result.evaluate("document.documentElement.scrollWidth <= innerWidth"), url


def look_as(result: Loaded, size: tuple[int, int], scheme: Any) -> None:
    """Give the window of a page a size, and the system a colour scheme."""
    result.page.set_viewport_size({"width": size[0], "height": size[1]})
    result.page.emulate_media(color_scheme=scheme)
    result.page.evaluate("new Promise(requestAnimationFrame)")


def violations(result: Loaded) -> list[Any]:
    """The faults that axe finds in a page, with all details open."""
    from axe_playwright_python.sync_playwright import Axe

    result.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    result.page.evaluate("new Promise(requestAnimationFrame)")
    response: dict[str, Any] = Axe().run(result.page).response
    assert len(response["passes"]) > 15
    return [
        (item["id"], item["help"], [node["html"][:200] for node in item["nodes"]][:3])
        for item in response["violations"]
    ]


def links(result: Loaded) -> list[str]:
    """The links of a page to pages of the server."""
    urls: list[str] = result.evaluate(
        "Array.from(document.querySelectorAll('a[href^=\"/\"]'), link => link.href)"
    )
    return urls


KINDS = [*STORES, "hostile", "leaking"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_level_is_accessible_and_loads_nothing_from_elsewhere(
    kind: str, base: str, chromium: Browser
) -> None:
    index = KINDS.index(kind)
    with tab(chromium) as result:
        visit(result, f"{base}/?token={TOKEN}")
        assert result.page.url == f"{base}/"
        waiting, levels = [f"{base}/", f"{base}/{index}?values=shown"], dict[str, str]()
        while waiting:
            url = waiting.pop(0)
            level = level_of_url(url.removeprefix(base))
            if level in levels or not (url == f"{base}/" or url.startswith(f"{base}/{index}")):
                continue
            levels[level] = url
            visit(result, url)
            waiting += links(result)
            for size, scheme in LOOKS:
                look_as(result, size, scheme)
                assert result.evaluate("document.documentElement.scrollWidth <= innerWidth"), url
            if kind in LOOKS_FOR_AXE:
                size, scheme = LOOKS_FOR_AXE[kind][len(levels) % 2]
                look_as(result, size, scheme)
                assert violations(result) == [], (url, size, scheme)
            assert result.said == [], url
        assert set(levels) == LEVELS
        assert [url for url in result.requested if not url.startswith(f"{base}/")] == []


def test_lines_are_drawn(base: str, chromium: Browser) -> None:
    with tab(chromium) as result:
        visit(result, f"{base}/0?token={TOKEN}")
        counts = result.evaluate(
            "['.plot', '.plot canvas'].map(name => document.querySelectorAll(name).length)"
        )
        assert counts[0] == counts[1] > 0


def follow(page: Page, element: Locator) -> None:
    """Click on an element that leads to another page, and wait until that page is loaded."""
    with page.expect_navigation():
        element.click()


def test_batch_search_and_order_are_chosen_by_forms(base: str, chromium: Browser) -> None:
    with tab(chromium) as result:
        page = result.page
        visit(result, f"{base}/0?token={TOKEN}")
        page.locator("select[name=batch]").select_option("4")
        follow(page, page.get_by_role("button", name="Go"))
        assert page.url == f"{base}/0?batch=4"
        follow(page, page.get_by_role("link", name="default").first)
        follow(page, page.get_by_role("link", name="0", exact=True).first)
        assert page.url == f"{base}/0/operators/0/stores/default/partitions/0?batch=4"
        page.locator("select[name=order]").select_option("row_bytes")
        follow(page, page.get_by_role("button", name="Sort"))
        assert "order=row_bytes" in page.url
        key = page.locator("td a", has_text="sha256:").first.inner_text()
        page.locator("input[name=key]").fill(key)
        follow(page, page.get_by_role("button", name="Search"))
        assert key.removeprefix("sha256:") not in page.url
        assert page.locator("td a", has_text="sha256:").all_inner_texts() == [key]
        follow(page, page.locator("td a", has_text="sha256:"))
        assert page.url.partition("?")[0].endswith(f"/keys/{key.removeprefix('sha256:')}")
        assert page.get_by_role("cell", name="insert").count() == 1


def test_command_line_is_copied(base: str, chromium: Browser) -> None:
    with tab(chromium, permissions=["clipboard-read", "clipboard-write"]) as result:
        visit(result, f"{base}/0/rows?token={TOKEN}")
        button = result.page.locator("button.copy").first
        button.click()
        result.page.get_by_role("button", name="Copied").wait_for()
        text = result.evaluate("navigator.clipboard.readText()")
        assert text == button.get_attribute("data-text")
        assert text.startswith("inspector rows ")


def test_fleet_is_searched_and_sorted(base: str, chromium: Browser) -> None:
    with tab(chromium) as result:
        page = result.page
        visit(result, f"{base}/?token={TOKEN}")
        page.locator("table.fleet").wait_for()
        page.get_by_label("Search").fill("broken")
        assert page.locator("#matching").inner_text() == "1 of 8 checkpoints"
        page.get_by_label("Search").fill("")
        page.locator("th", has_text="row bytes").get_by_role("button").click()
        assert page.locator("th[aria-sort]").count() == 1


def test_error_page_is_accessible(base: str, chromium: Browser) -> None:
    with tab(chromium) as result:
        visit(result, f"{base}/?token={TOKEN}")
        result.page.goto(f"{base}/99")
        assert "There is no checkpoint with this number." in result.page.inner_text("main")
        assert violations(result) == []


def test_policy_lets_no_other_script_run(base: str, chromium: Browser) -> None:
    with tab(chromium) as result:
        visit(result, f"{base}/0?token={TOKEN}")
        with pytest.raises(Exception, match="TrustedHTML"):
            result.evaluate("document.body.innerHTML = '<p>x'")
        result.evaluate(
            "const s = document.createElement('style'); s.textContent = 'body{display:none}';"
            "document.head.append(s)"
        )
        assert result.says("Content Security Policy", "style-src")


def test_page_of_another_site_gets_nothing(base: str, chromium: Browser, tmp_path: Path) -> None:
    """The cookie is there, and neither an image, a frame nor a request has it."""
    page = tmp_path / "evil.html"
    page.write_text(
        f"<iframe src='{base}/0'></iframe><script>fetch('{base}/0', {{credentials: 'include'}})"
        ".then(() => { window.ran = 1 }, () => { window.ran = 0 })</script>"
    )
    with tab(chromium) as result:
        visit(result, f"{base}/?token={TOKEN}")
        result.page.goto(page.as_uri())
        result.page.wait_for_function("window.ran !== undefined")
        assert result.evaluate("window.ran") == 0
        assert "Spark state inspector" not in result.page.frames[1].content()
