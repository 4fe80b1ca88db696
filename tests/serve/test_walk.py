"""The walk from the fleet down to the history of a key, for each kind of state."""

from __future__ import annotations

import shlex

import pytest

from inspector.analyses.shared.options import Options
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, copy_of, run
from tests.reports import cell_values
from tests.serve.support import (
    STORES,
    client_of,
    command_of_page,
    level_of_url,
    links_of,
    report_of,
    walk,
)

LEVELS = {
    "/",
    "/N",
    "/N/rows",
    "/N/operators/N",
    "/N/operators/N/rows",
    "/N/operators/N/stores/S",
    "/N/operators/N/stores/S/rows",
    "/N/operators/N/stores/S/partitions/N",
    "/N/operators/N/stores/S/partitions/N/keys/K",
}


@pytest.mark.parametrize("case", STORES.values(), ids=STORES)
def test_links_reach_every_level(case: str) -> None:
    client = client_of(checkpoint_of(case))
    pages = dict(walk(client))
    codes = dict(zip(pages, attributes(pages.values(), "status_code"), strict=True))
    assert codes == dict.fromkeys(pages, 200)
    assert set(map(level_of_url, pages)) == LEVELS


def test_page_of_a_checkpoint_has_its_name_and_a_list_of_rows_its_own() -> None:
    client = client_of(checkpoint_of("agg_update"))
    assert "<title>agg_update/checkpoint</title>" in client.get("/0").text
    assert "<title>rows</title>" in client.get("/0/rows").text


@pytest.mark.parametrize("case", STORES.values(), ids=STORES)
@pytest.mark.parametrize("is_clear", [False, True])
def test_command_of_a_page_shows_the_same(case: str, is_clear: bool) -> None:
    client = client_of(checkpoint_of(case), may_show=True)
    start = "0?values=shown" if is_clear else "0"
    for url, page in walk(client, start):
        words = shlex.split(command_of_page(page))
        assert words[0] == "inspector"
        if url == "/" or ("values=shown" in url) is not is_clear:
            continue
        words = shlex.split(command_of_page(page).replace(" -o html", ""))
        outcome = run(*words[1:], "-o", "json", "-q")
        assert outcome.code in (0, 1), outcome.err
        assert report_of(page) == outcome.json, url


def test_commands_have_the_options_of_the_start() -> None:
    options = Options(operator_rules=("0=never",), thresholds={"skew_ratio": "7"})
    client = client_of(checkpoint_of("agg_append"), options=options)
    page = client.get("/0")
    command = command_of_page(page)
    assert "--operator-rule 0=never" in command
    assert "--threshold skew_ratio=7" in command
    words = shlex.split(command)
    assert report_of(page) == run(*words[1:-4], "-o", "json", *words[-4:]).json


def test_batch_selector_shows_an_older_batch() -> None:
    client = client_of(checkpoint_of("agg_append"))
    page = client.get("/0?batch=4")
    assert report_of(page)["summary"]["batch_id"] == 4
    assert "--batch 4" in command_of_page(page)
    below = [url for url in links_of(page) if url.startswith("/0/")]
    assert below
    assert all("batch=4" in url for url in below)
    assert '<option value="0">0</option>' in page.text
    assert page.text.count('<option value="4"') == 1


@pytest.mark.parametrize("order", ["row_bytes", "key_bytes", "value_bytes", "puts", "oldest"])
def test_rows_in_an_order_are_those_of_top(order: str) -> None:
    client = client_of(checkpoint_of("agg_append"))
    path = "/0/operators/0/stores/default/partitions/0"
    page = client.get(f"{path}?order={order}")
    words = shlex.split(command_of_page(page))
    assert words[1] == "top"
    assert report_of(page) == run(*words[1:], "-o", "json").json
    assert any("/keys/" in url for url in links_of(page))


@pytest.mark.parametrize(
    "url",
    [
        *("/1", "/0/operators/7", "/0/operators/0/stores/none", "/0?batch=99999", "/0?batch=x"),
        *("/00000000000000000000", "/0/operators/0/stores/default/partitions/99", "/x", "/-1"),
        *("/0/rows?order=x", "/0/rows?limit=1000000", "/0/rows?search=none"),
        "/0/operators/0/stores/default/partitions/0/keys/abc",
    ],
)
def test_absent_page_is_404(url: str) -> None:
    client = client_of(checkpoint_of("agg_append"))
    assert client.get(url).status_code == 404


def test_key_without_rows_has_an_empty_history() -> None:
    client = client_of(checkpoint_of("agg_append"))
    page = client.get(f"/0/operators/0/stores/default/partitions/0/keys/{'0' * 16}")
    assert page.status_code == 200
    assert report_of(page)["summary"]["events"] == 0


def test_page_of_a_key_searches_the_store_at_the_same_batch() -> None:
    client = client_of(checkpoint_of("agg_append"))
    key = "/0/operators/0/stores/default/partitions/0/keys/" + "0" * 16
    page = client.get(f"{key}?batch=4")
    assert 'action="/0/operators/0/stores/default/rows"' in page.text
    rows = client.get("/0/operators/0/stores/default/rows?batch=4")
    name = report_of(rows)["rows"][0]["key"]
    found = client.get(f"/0/operators/0/stores/default/rows?batch=4&key={name}")
    assert cell_values(report_of(found)["rows"], "key") == [name]


def test_page_is_made_again_when_a_file_changes(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = copy_of("agg_append", tmp_path_factory.mktemp("changed"))
    client = client_of(path)
    assert report_of(client.get("/0"))["summary"]["batch_id"] == 9
    assert client.get("/0").text == client.get("/0").text
    (path / "commits/9").unlink()
    (path / "offsets/9").unlink()
    assert report_of(client.get("/0"))["summary"]["batch_id"] == 8


def test_fleet_has_damaged_and_missing_checkpoints(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("fleet")
    broken = copy_of("join_left_outer", folder)
    (broken / "state/0/0/left-keyWithIndexToValue/5.delta").unlink()
    client = client_of(checkpoint_of("agg_append"), broken, folder / "nothing 4.3.0 <b>")
    pages = (client.get("/") for _ in range(100))  # each waits for audits that are running
    page = next(page for page in pages if 'class="badge pending"' not in page.text)
    assert page.status_code == 200
    assert "nothing 4.3.0 &lt;b&gt;" in page.text
    assert "<b>" not in page.text
    assert client.get("/0").status_code == client.get("/1").status_code == 200
    assert client.get("/2").status_code == 404
