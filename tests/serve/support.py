"""What tests of the web application share: clients, and the walk over its pages."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from starlette.testclient import TestClient

from inspector.analyses.shared.options import Options
from inspector.serve.application import application
from inspector.serve.sources import Source

TOKEN = "a-token-of-a-test"
BASE = "http://127.0.0.1:8765"

STORES = {
    "hdfs": "agg_append",
    "rocksdb": "rocksdb_agg_update",
    "join": "join_left_outer",
    "transformWithState": "rocksdb_tws_event",
}
"""Kind of state -> fixture with it."""


def client_of(
    *paths: str | Path, may_show: bool = False, options: Options | None = None, **keywords: Any
) -> TestClient:
    """A client that has the cookie of the token."""
    source = Source(list(map(str, paths)), options or Options(), may_show)
    client = TestClient(application(source, TOKEN, **keywords), BASE, raise_server_exceptions=False)
    assert client.get(f"/assets/page.css?token={TOKEN}").status_code == 200
    return client


def links_of(answer: httpx.Response) -> list[str]:
    """The links of a page to pages of the server."""
    return [html.unescape(url) for url in re.findall(r'<a href="(/[^"#]*)"', answer.text)]


def report_of(answer: httpx.Response) -> Any:
    """The JSON report in a page."""
    match = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', answer.text, re.S)
    assert match is not None
    return json.loads(match[1])


def command_of_page(answer: httpx.Response) -> str:
    """The command line that shows the same as a page."""
    match = re.search(r'data-text="([^"]*)"', answer.text)
    assert match is not None
    return html.unescape(match[1])


def level_of_url(url: str) -> str:
    """The pattern of a URL's path: numbers, stores and keys are left out."""
    path = url.partition("?")[0]
    path = re.sub(r"/keys/\w+", "/keys/K", path)
    return re.sub(r"(?<=/)\d+", "N", re.sub(r"/stores/[^/]+", "/stores/S", path))


def walk(
    client: TestClient, query: str = "", limit: int = 1
) -> Iterator[tuple[str, httpx.Response]]:
    """Yield pages that links reach from the fleet, at most ``limit`` of each pattern."""
    waiting, seen, counts = [f"/{query}"], set[str](), dict[str, int]()
    while waiting:
        url = waiting.pop(0)
        level = level_of_url(url)
        if url in seen or counts.get(level, 0) >= limit:
            continue
        seen.add(url)
        counts[level] = counts.get(level, 0) + 1
        answer = client.get(url)
        yield url, answer
        waiting += links_of(answer)
