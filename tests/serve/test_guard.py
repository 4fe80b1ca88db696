"""The guard of the web application: each kind of foreign request is refused."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from inspector.serve.application import application
from inspector.serve.guard import HEADERS, MAX_REQUESTS, Guard
from inspector.serve.sources import Source
from tests.cli.support import checkpoint_of
from tests.serve.support import BASE, TOKEN, client_of


@pytest.fixture(scope="module")
def client() -> TestClient:
    """A client without a token."""
    source = Source([str(checkpoint_of("agg_append"))])
    return TestClient(application(source, TOKEN), BASE, raise_server_exceptions=False)


@pytest.mark.parametrize("url", ["/", "/0", "/assets/page.js", "/?token=", "/?token=wrong"])
def test_requests_without_the_token_are_refused(client: TestClient, url: str) -> None:
    answer = client.get(url)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert all(answer.headers[name] == value for name, value in HEADERS.items())


def test_token_of_the_url_becomes_a_cookie() -> None:
    source = Source([str(checkpoint_of("agg_append"))])
    own = TestClient(application(source, TOKEN), BASE)
    answer = own.get(f"/0?token={TOKEN}", headers={"accept": "text/html"})
    assert (answer.status_code, str(answer.url)) == (200, f"{BASE}/0")
    cookie = answer.history[0].headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert own.get("/0").status_code == 200


def test_bearer_token_is_accepted(client: TestClient) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert client.get("/assets/page.css", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", ""]
)
def test_foreign_host_header_is_refused(client: TestClient, host: str) -> None:
    assert client.get(f"/?token={TOKEN}", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_foreign_origin_is_refused(client: TestClient, origin: str) -> None:
    assert client.get(f"/?token={TOKEN}", headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_methods_that_write_are_refused(client: TestClient, method: str) -> None:
    assert client.request(method, f"/?token={TOKEN}").status_code == 405


def test_long_url_is_refused(client: TestClient) -> None:
    assert client.get(f"/?token={TOKEN}&x={'x' * 20_000}").status_code == 414


def scope_of(path: str = "/", query: bytes = b"", **headers: str) -> dict[str, Any]:
    """The scope of a request as a server passes it on."""
    pairs = {"host": "127.0.0.1:8765"} | headers
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in pairs.items()],
    }


async def status_of(app: Any, scope: dict[str, Any]) -> int:
    """The status of the answer of an application."""
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    return statuses[0]


def test_query_of_a_megabyte_is_refused() -> None:
    app = application(Source([str(checkpoint_of("agg_append"))]), TOKEN)
    query = f"token={TOKEN}&x=".encode() + b"x" * (1 << 20)
    assert asyncio.run(status_of(app, scope_of(query=query))) == 414


def test_200_requests_at_once_are_answered_or_refused() -> None:
    release = asyncio.Event()

    async def slow(_scope: Any, _receive: Any, send: Any) -> None:
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def main() -> Counter[int]:
        guard = Guard(slow, TOKEN)
        scope = scope_of(authorization=f"Bearer {TOKEN}")
        tasks = [asyncio.ensure_future(status_of(guard, scope)) for _ in range(200)]
        await asyncio.sleep(0.01)
        release.set()
        counts = Counter(await asyncio.gather(*tasks))
        assert await status_of(guard, scope) == 200  # afterwards there is room again
        return counts

    assert asyncio.run(main()) == {200: MAX_REQUESTS, 503: 200 - MAX_REQUESTS}


def test_200_requests_of_pages_all_end() -> None:
    app = application(Source([str(checkpoint_of("agg_append"))]), TOKEN)
    scope = scope_of("/0", authorization=f"Bearer {TOKEN}")

    async def main() -> Counter[int]:
        return Counter(await asyncio.gather(*(status_of(app, scope) for _ in range(200))))

    assert set(asyncio.run(main())) == {200, 503}


@pytest.mark.parametrize(
    "path",
    [
        *("/../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd"),
        *("/assets/../application.py", "/assets/..%2f..%2fserve.html.j2", "/assets/page.html.j2"),
        *("/0/../../etc", "/0/operators/0/stores/..%2f..", "/0/operators/0/stores/~2e~2e"),
        *("/file:%2f%2f%2fetc", "/0%00", "/0/rows/", "/0/operators/0/stores/default/partitions/.."),
    ],
)
def test_paths_cannot_leave_checkpoints(path: str) -> None:
    app = application(Source([str(checkpoint_of("agg_append"))]), TOKEN)
    scope = scope_of(unquote(path), authorization=f"Bearer {TOKEN}")
    scope["raw_path"] = path.encode()
    assert asyncio.run(status_of(app, scope)) == 404


def test_name_of_a_proxy_is_allowed_on_request() -> None:
    client = client_of(checkpoint_of("agg_append"), hosts=("state.example",))
    headers = {"host": "State.Example"}
    assert client.get("/assets/page.js", headers=headers).status_code == 200
    headers["origin"] = "https://state.example"
    assert client.get("/assets/page.js", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("bound", "host", "status"),
    [
        ("0.0.0.0", "10.1.2.3:8765", 200),
        ("0.0.0.0", "evil.example", 421),
        ("::", "[fd00::1]:8765", 200),
        ("10.1.2.3", "10.1.2.3", 200),
        ("10.1.2.3", "10.1.2.4", 421),
        ("10.1.2.3", "localhost", 421),
        ("127.0.0.1", "10.1.2.3", 421),
        ("127.0.0.1", "[::1]:9", 200),
        ("127.0.0.1", "[", 421),
    ],
)
def test_host_depends_on_the_address_of_the_server(bound: str, host: str, status: int) -> None:
    app = application(Source([str(checkpoint_of("agg_append"))]), TOKEN, bound)
    scope = scope_of("/assets/page.js", host=host, authorization=f"Bearer {TOKEN}")
    assert asyncio.run(status_of(app, scope)) == status


@pytest.mark.parametrize("cookie", ["inspector_x=1", "=;;=", "\x80=\xff", f"inspector={TOKEN}"])
def test_wrong_cookies_are_refused(cookie: str) -> None:
    app = application(Source([str(checkpoint_of("agg_append"))]), TOKEN)
    assert asyncio.run(status_of(app, scope_of(cookie=cookie))) == 403
    assert asyncio.run(status_of(app, scope_of(authorization=f"Basic {TOKEN}"))) == 403
    assert asyncio.run(status_of(app, scope_of(query=b"token=%ff%fe&token"))) == 403


def test_head_has_headers_and_no_body() -> None:
    answer = client_of(checkpoint_of("agg_append")).head("/0")
    assert (answer.status_code, answer.content) == (200, b"")


def test_websockets_are_closed() -> None:
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    app = application(Source([str(checkpoint_of("agg_append"))]), TOKEN)
    asyncio.run(app({"type": "websocket"}, None, send))  # type: ignore[arg-type]
    assert messages == [{"type": "websocket.close", "code": 1008}]


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=40))
def test_requests_without_token_are_refused(query: bytes, cookie: bytes, host: bytes) -> None:
    app = application(Source([str(checkpoint_of("agg_append"))]), TOKEN)
    scope = scope_of(query=query)
    scope["headers"].append((b"cookie", cookie))
    assert asyncio.run(status_of(app, scope)) == 403
    scope["headers"][0] = (b"host", host)
    assert asyncio.run(status_of(app, scope)) in (403, 421)
