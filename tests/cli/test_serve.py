"""``inspector serve``: its URL and its errors."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from inspector.cli import serve as module
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import REPOSITORY


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The URL of a server in a process of its own."""
    words = ("serve", str(checkpoint_of("agg_append")), "--port", "0")
    process = subprocess.Popen(
        [sys.executable, "-m", "inspector", *words],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate()


def test_printed_url_opens_the_fleet(served: str) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", served)
    with urllib.request.urlopen(served) as answer:
        text = answer.read().decode()
        assert answer.headers["Cache-Control"] == "no-store"
        assert "server" not in {name.lower() for name in answer.headers}
    assert "Checkpoints, worst first" in text
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(served.partition("?")[0])


def test_request_of_a_megabyte_is_refused_by_the_server(served: str) -> None:
    host, port = served.removeprefix("http://").partition("/")[0].split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.settimeout(60)
        line = f"GET /?x={'x' * (1 << 20)} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"
        connection.sendall(line.encode())
        answer = connection.recv(64)
    assert re.match(rb"HTTP/1.1 4\d\d ", answer)
    with urllib.request.urlopen(served) as page:  # it still answers
        assert page.status == 200


@pytest.mark.parametrize("library", ["starlette", "uvicorn"])
def test_missing_library_of_serve_names_the_extra(library: str) -> None:
    def find(name: str) -> object:
        return None if name == library else object()

    with mock.patch.object(module, "find_spec", find):
        outcome = run("serve", checkpoint_of("agg_append"))
    assert outcome.code == 2
    assert outcome.err == (
        f"error: serve needs {library}, which is not installed: "
        "pip install 'spark-state-inspector[serve]'\n"
    )


def test_port_in_use_is_a_usage_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        outcome = run("serve", checkpoint_of("agg_append"), "--port", str(port))
    assert outcome.code == 2
    assert "Address already in use; --port 0 takes a free port" in outcome.err


def test_options_of_serve_are_given_to_the_server() -> None:
    options = ("--port", "0", "--show-values", "--allow-host", "a.example", "--allow-host", "b")
    with mock.patch("inspector.serve.server.run_server") as server:
        outcome = run("serve", checkpoint_of("agg_append"), *options)
    assert outcome.code == 0
    source, _, _, host, hosts, seconds, _ = server.call_args.args
    assert (host, hosts, seconds) == ("127.0.0.1", ("a.example", "b"), 120.0)
    assert source.may_show is True


def test_folder_without_checkpoints_is_an_error(tmp_path: Path) -> None:
    with mock.patch.object(module, "_listen", side_effect=AssertionError):
        outcome = run("serve", tmp_path, "--recursive")
    assert outcome.code == 3
    assert "no checkpoint" in outcome.err
