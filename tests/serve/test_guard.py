"""The guard of the web application: each kind of foreign request is refused."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from inspector.serve.application import application
from inspector.serve.guard import HEADERS
from inspector.serve.sources import Source
from tests.cli.support import checkpoint_of

TOKEN = "a-token-of-a-test"
BASE = "http://127.0.0.1:8765"


@pytest.fixture(scope="module")
def client() -> TestClient:
    """A client without a token."""
    source = Source((str(checkpoint_of("agg_append")),))
    return TestClient(application(source, TOKEN), BASE, raise_server_exceptions=False)


@pytest.mark.parametrize("url", ["/", "/0", "/assets/page.js", "/?token=", "/?token=wrong"])
def test_requests_without_the_token_are_refused(client: TestClient, url: str) -> None:
    answer = client.get(url)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert all(answer.headers[name] == value for name, value in HEADERS.items())


def test_token_of_the_url_becomes_a_cookie() -> None:
    source = Source((str(checkpoint_of("agg_append")),))
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
def test_another_host_is_refused(client: TestClient, host: str) -> None:
    assert client.get(f"/?token={TOKEN}", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_foreign_origin_is_refused(client: TestClient, origin: str) -> None:
    assert client.get(f"/?token={TOKEN}", headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_methods_that_write_are_refused(client: TestClient, method: str) -> None:
    assert client.request(method, f"/?token={TOKEN}").status_code == 405


def test_long_url_is_refused(client: TestClient) -> None:
    assert client.get(f"/?token={TOKEN}&x={'x' * 20_000}").status_code == 414
