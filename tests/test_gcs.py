"""Google Cloud Storage on loopback: the client that people use, against an emulator."""

from __future__ import annotations

import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from inspector.analyses.shared.options import Options
from inspector.checkpoint import drivers
from tests.checkpoint_files import contents_below
from tests.fixture_folder import NEWEST
from tests.test_object_stores import ANALYSES, assert_only_root_is_read_twice, told

BUCKET = "checkpoints"
CASES = ("dedup_event_time", "join_left_outer", "snapshots_cleaned")


class Account:
    """An emulator, and what it was asked for.

    Attributes:
        url: of the server. asked: method and path of each request.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        from gcp_storage_emulator import server

        self.asked: list[tuple[str, str]] = []

        def note(_handler: Any, _form: str, line: str, *_: Any) -> None:
            method, path, _version = line.split()
            self.asked.append((method, path))

        patch.setattr(server.RequestHandler, "log_message", note)
        self._server = server.create_server("127.0.0.1", 0, in_memory=True, default_bucket=BUCKET)
        self._server.start()
        port = self._server._api._httpd.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        self._server.stop()

    def upload(self, case: str) -> str:
        """Copies the checkpoint of a fixture into the bucket; gives its URL."""
        root = NEWEST / case / "checkpoint"
        for path, content in contents_below(root).items():
            name = urllib.parse.quote(f"{case}/{path}", safe="")
            where = f"{self.url}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={name}"
            request = urllib.request.Request(where, content, method="POST")
            urllib.request.urlopen(request).close()
        return f"gs://{BUCKET}/{case}"


@pytest.fixture(scope="module")
def gcs() -> Iterator[Account]:
    with pytest.MonkeyPatch.context() as patch:
        # It asks by gRPC which kind of bucket this is: the emulator speaks JSON alone.
        patch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
        account = Account(patch)
        yield account
        account.stop()
    drivers._kept.clear()


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_reports_are_those_of_local_files_by_one_request_for_each(gcs: Account, case: str) -> None:
    url = gcs.upload(case)
    options = Options(storage_options={"endpoint_url": gcs.url, "token": "anon"})
    local = str(NEWEST / case / "checkpoint")
    for analysis in ANALYSES.values():
        gcs.asked.clear()
        assert told(analysis(url, options), url) == told(analysis(local), local)
        read = [request for request in gcs.asked if "alt=media" in request[1]]
        assert len(gcs.asked) == len(read) + 1
        paths = Counter(url.partition("?")[0].replace("%2F", "/") for _, url, *_ in read)
        assert_only_root_is_read_twice(paths)
