"""Keys and values: hidden unless the command and then the user allow it; harmless in any case."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from urllib.parse import unquote

import pytest
from starlette.testclient import TestClient

from tests.cli.support import checkpoint_of, copy_of, replace_state, schema_json, schema_of
from tests.encode import row
from tests.serve.support import client_of, links_of, report_of, walk

SCRIPT = "<script>window.ran=1</script>"
HOSTILE = f"{SCRIPT}<img src=x onerror='window.ran=2'>\x1b[31m\u202eevil\u2028\x00\"'"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
KEY, VALUE = "alice-in-clear", "secret-value-in-clear"
AT = 1_704_067_200_000_000


def checkpoint_with(folder: Path, key_text: str, value_text: str, name: str = "who") -> Path:
    """A copy of a fixture with one row, whose key and value have these texts."""
    key = ((name, "string"), ("at", "timestamp"))
    value = (("what", "string"),)
    records = [(row(schema_of(*key), [key_text, AT - 1]), row(schema_of(*value), [value_text]))]
    path = copy_of("agg_append", folder)
    return replace_state(path, (schema_json(*key), schema_json(*value)), {(0, 2): records})


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return checkpoint_with(tmp_path, KEY, VALUE)


def test_pages_and_urls_contain_no_key_or_value(plain: Path) -> None:
    for may_show in (False, True):
        client = client_of(plain, may_show=may_show)
        for url, page in walk(client):
            if "values=shown" in url:
                continue
            assert KEY not in page.text + unquote(url), url
            assert VALUE not in page.text, url


def test_values_are_shown_only_if_the_command_allows_it(plain: Path) -> None:
    url = "/0/operators/0/stores/default/partitions/0?values=shown"
    assert client_of(plain).get(url).status_code == 403
    page = client_of(plain, may_show=True).get(url)
    assert KEY in page.text
    assert VALUE in page.text
    assert "--redact none" in page.text
    assert KEY not in str(links_of(page))


@pytest.mark.parametrize("query", [f"key=who%3D{KEY}", f"where=who%3D{KEY}"])
def test_hidden_search_gets_a_url_without_its_key(plain: Path, query: str) -> None:
    client = client_of(plain)
    page = client.get(f"/0/rows?{query}")
    assert page.status_code == 200
    assert KEY not in unquote(str(page.url))
    assert "search=" in str(page.url)
    assert len(report_of(page)["rows"]) == 1
    assert report_of(client.get(f"/0/rows?{query}x"))["rows"] == []


def test_search_by_hash_finds_the_key(plain: Path) -> None:
    client = client_of(plain)
    listed = report_of(client.get("/0/rows"))["rows"]
    page = client.get("/0/rows", params={"key": listed[0]["key"]})
    assert report_of(page)["rows"] == listed


def test_search_in_clear_is_in_the_url(plain: Path) -> None:
    client = client_of(plain, may_show=True)
    page = client.get("/0/rows", params={"where": "what~=secret", "values": "shown"})
    assert len(report_of(page)["rows"]) == 1
    assert "where=what~=secret" in unquote(str(page.url))


@pytest.mark.parametrize("where", ["what~=s", "what>a", "what!=a", "what contains s"])
def test_comparison_of_hidden_values_is_refused(plain: Path, where: str) -> None:
    page = client_of(plain).get("/0/rows", params={"where": where})
    assert page.status_code == 403
    assert "would tell hidden values" in page.text


@pytest.mark.parametrize("params", [{"key": "{"}, {"where": "x"}, {"key": "none=1"}])
def test_search_that_fits_no_store_is_an_error_page(plain: Path, params: dict[str, str]) -> None:
    page = client_of(plain).get("/0/rows", params=params)
    assert page.status_code == 404
    assert "<h1>" in page.text


# --- hostile contents ------------------------------------------------------------------------


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "a<script>window.ran=3<%2Fscript>\x1b\u202e&amp;\"'>"
    return checkpoint_with(folder, HOSTILE, HOSTILE, f"{SCRIPT}\u202e")


def scripts_of(text: str) -> list[str]:
    """The tags of scripts in a page."""
    return re.findall(r"<script[^>]*>", text)


def test_hostile_texts_are_harmless_on_every_page(hostile: Path) -> None:
    client = client_of(hostile, may_show=True)
    pages = [*walk(client), *walk(client, "0?values=shown")]
    harmless = 0
    for url, page in pages:
        assert page.status_code == 200, url
        text = page.text
        assert "<script>window" not in text, url
        assert "<img" not in text, url
        assert not CONTROLS.search(text.replace("\n", "")), url
        assert set(scripts_of(text)) <= {
            '<script src="/assets/page.js" defer>',
            '<script type="application/json" class="report" id="report">',
        }
        harmless += "&lt;script&gt;window." in text
    assert harmless > 3


TEXTS = (SCRIPT, f'" autofocus onfocus="{SCRIPT}', "x=\x1b\u202e")
PARAMETERS = ("key", "where", "search", "order", "batch", "limit")


def test_hostile_search_is_harmless(hostile: Path) -> None:
    client = client_of(hostile, may_show=True)
    for text, name, values in product(TEXTS, PARAMETERS, ("shown", "")):
        page = client.get("/0/rows", params={name: text, "values": values})
        assert page.status_code in (200, 403, 404)
        assert "<script>window" not in page.text
        assert " onfocus=" not in page.text.replace("&#34; autofocus onfocus=", "")
        assert not CONTROLS.search(page.text.replace("\n", ""))


def test_error_pages_escape_the_path(client: TestClient) -> None:
    page = client.get("/%3Cscript%3Ewindow.ran=1%3C/script%3E")
    assert page.status_code == 404
    assert "<script>window" not in page.text


@pytest.fixture
def client() -> TestClient:
    return client_of(checkpoint_of("agg_append"))
