"""What tests of pages in a browser share: a Chromium, and pages loaded in it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PHONE, DESKTOP = (390, 844), (1440, 900)
LONG_NAME = "a_name_without_a_place_to_break_a_line_" * 2
"""The name of a folder that is wider than a telephone."""


def chromium() -> str:
    """The program. Without one these tests fail: they must not be forgotten silently."""
    for name in PROGRAMS:
        result = shutil.which(name)
        if result is not None:
            return result
    pytest.fail("there is no Chromium: apt-get install chromium; or leave out -m browser")


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.fail("there is no playwright: pip install -e '.[browser]'")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium())
        yield started
        started.close()


@dataclass
class Loaded:
    """A page as it was loaded.

    Attributes:
        page: what to ask. said: what the console and the policy said. requested: every URL that
            was asked for. dialogs: what popped up.
    """

    page: Page
    said: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def evaluate(self, script: str) -> Any:
        """What a script gives."""
        return self.page.evaluate(script)

    def says(self, *words: str, timeout: float = 300) -> bool:
        """Whether a line with all the words comes; the console tells in its own time."""
        end = time.monotonic() + timeout
        while not any(all(word in line for word in words) for line in self.said):
            if time.monotonic() > end:
                return False
            self.page.wait_for_timeout(50)  # which lets the events in
        return True


@contextmanager
def loaded(
    started: Browser, file: Path, size: tuple[int, int] = DESKTOP, scheme: Any = "light"
) -> Iterator[Loaded]:
    """A file in a tab of its own."""
    with tab(started, size, scheme, offline=True) as result:
        result.page.goto(file.as_uri())
        yield result


@contextmanager
def tab(
    started: Browser, size: tuple[int, int] = DESKTOP, scheme: Any = "light", **options: Any
) -> Iterator[Loaded]:
    """An empty tab with cookies of its own."""
    context = started.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, **options
    )
    page = context.new_page()
    result = Loaded(page)
    page.on("console", lambda message: result.said.append(message.text))
    page.on("pageerror", lambda error: result.said.append(str(error)))
    page.on("request", lambda request: result.requested.append(request.url))

    def dismiss(dialog: Any) -> None:
        result.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    yield result
    context.close()
