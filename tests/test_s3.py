"""S3 on loopback: the client that people use, against a server that speaks its protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import inspector.api as api
from inspector.analyses.shared.options import Options
from inspector.checkpoint import drivers
from inspector.render.report import Report
from tests.checkpoint_files import contents_below
from tests.fixture_folder import NEWEST
from tests.reports import cell_values
from tests.test_object_stores import ANALYSES, CASES, assert_only_root_is_read_twice, told

BUCKET = "checkpoints"
KEYS = {"key": "someone", "secret": "very-secret-indeed"}


class Account:
    """A server, and what it was asked for.

    Attributes:
        url: of the server. asked: method, path and question of each request.
    """

    def __init__(self) -> None:
        from moto import server as moto_server

        self.asked: list[tuple[str, str, str]] = []
        self._server = moto_server.ThreadedMotoServer("127.0.0.1", 0)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.url = f"http://{host}:{port}"
        serving: Any = self._server._server
        app = serving.app

        def noted(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
            question = str(environ.get("QUERY_STRING", ""))
            self.asked.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], question))
            return app(environ, start_response)

        serving.app = noted

    def stop(self) -> None:
        self._server.stop()

    def kinds(self) -> Counter[str]:
        """LIST, HEAD and GET -> requests."""
        return Counter(
            "LIST" if method == "GET" and "list-type" in question else method
            for method, _, question in self.asked
        )


@pytest.fixture(scope="module")
def s3() -> Iterator[Account]:
    account = Account()
    yield account
    account.stop()
    drivers._kept.clear()


def client_of(s3: Account) -> Any:
    """A client of a server that has the bucket."""
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=s3.url,
        region_name="us-east-1",
        aws_access_key_id=KEYS["key"],
        aws_secret_access_key=KEYS["secret"],
    )
    client.create_bucket(Bucket=BUCKET)
    return client


@pytest.fixture
def upload(s3: Account) -> Callable[[str], str]:
    """Copies the checkpoint of a fixture into the bucket; gives its URL."""
    client = client_of(s3)

    def copy(case: str) -> str:
        root = NEWEST / case / "checkpoint"
        for path, content in contents_below(root).items():
            client.put_object(Bucket=BUCKET, Key=f"{case}/{path}", Body=content)
        s3.asked.clear()
        return f"s3a://{BUCKET}/{case}"

    return copy


@pytest.mark.full
@pytest.mark.parametrize("case", CASES[2::2])
def test_reports_are_those_of_local_files_by_one_request_for_each(
    s3: Account, upload: Callable[[str], str], case: str
) -> None:
    url = upload(case)
    options = Options(storage_options={**KEYS, "endpoint_url": s3.url})
    local = str(NEWEST / case / "checkpoint")
    for analysis in ANALYSES.values():
        s3.asked.clear()
        report: Report = analysis(url, options)
        assert told(report, url) == told(analysis(local), local)
        kinds = s3.kinds()
        assert (kinds["LIST"], kinds["HEAD"]) == (1, 0)
        assert_only_root_is_read_twice(
            Counter(path for _, path, q in s3.asked if "list-type" not in q)
        )


@pytest.mark.full
def test_wrong_s3_keys_are_denied_without_secrets(s3: Account) -> None:
    options = Options(storage_options={**KEYS, "endpoint_url": s3.url})
    with pytest.raises((OSError, api.CheckpointError)) as caught:
        api.info("s3://no-such-bucket/x", options)
    assert KEYS["secret"] not in str(caught.value)


@pytest.mark.full
def test_an_unchanged_checkpoint_is_one_listing(s3: Account, upload: Callable[[str], str]) -> None:
    url = upload("agg_update")
    options = Options(storage_options={**KEYS, "endpoint_url": s3.url}, cache=f"s3://{BUCKET}/kept")
    complete = told(api.audit(url, options), url)
    s3.asked.clear()
    again = told(api.audit(url, options), url)
    assert again["notes"].pop().endswith("from the cache.")
    assert again == complete
    # The secret is known to the process; the report is one object.
    assert s3.kinds() == {"LIST": 1, "GET": 1}
    upload("agg_update")
    assert told(api.audit(url, options), url) == complete


@pytest.mark.full
def test_copy_between_disk_and_s3(s3: Account, tmp_path: Path) -> None:
    secret = {**KEYS, "endpoint_url": s3.url}
    client_of(s3)
    source = str(NEWEST / "rocksdb_fmgws_event_ignore" / "checkpoint")
    first, second, back = f"s3://{BUCKET}/first", f"s3a://{BUCKET}/second", str(tmp_path / "back")
    on_s3 = Options(storage_options=secret)
    api.copy(source, first, evict="leftovers", dest_storage_options=secret)
    api.copy(first, second, on_s3)
    api.copy(second, back, on_s3, dest_storage_options={})
    rows = [
        sorted(cell_values(api.rows(root, options, raw=True).primary.rows, "key_hex", "value_hex"))
        for root, options in ((first, on_s3), (second, on_s3), (back, Options()))
    ]
    assert rows[0] == rows[1] == rows[2]
    assert rows[0]
    assert not api.audit(second, on_s3).fails
    record = (tmp_path / "back" / "_inspector.json").read_text("utf-8")
    assert KEYS["secret"] not in record
