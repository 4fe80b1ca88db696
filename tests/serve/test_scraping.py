"""A server with a schedule: /metrics for a scraper, /healthz for a probe, the page of the fleet."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from inspector.cli.service_options import service_of
from inspector.findings.verdict import Level
from inspector.serve.application import application
from inspector.serve.audit_worker import Answer
from inspector.serve.service import Service
from inspector.serve.sources import Source
from tests.cli.support import checkpoint_of, run
from tests.serve.test_service import PATHS, result, service

TOKEN = "a-token-of-a-test"
BASE = "http://127.0.0.1:8765"
BEARER = {"authorization": f"Bearer {TOKEN}"}


def client(running: Service | None) -> TestClient:
    return TestClient(application(Source(list(PATHS)), TOKEN, service=running), BASE)


def test_a_scraper_sends_the_token_as_bearer() -> None:
    running, auditor, _clock = service()
    auditor.special["/b"] = lambda: Answer(result("/b", level=Level.ERROR))
    running.run()
    scraper = client(running)
    assert scraper.get("/metrics").status_code == 403
    assert scraper.get("/metrics", headers={"authorization": "Bearer x"}).status_code == 403
    answer = scraper.get("/metrics", headers=BEARER)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert len(re.findall("^spark_state_level{", answer.text, re.MULTILINE)) == 3


def test_a_probe_needs_no_token_and_learns_no_path() -> None:
    running, _auditor, clock = service(audit_seconds=300)
    answer = client(running).get("/healthz")
    assert (answer.status_code, answer.text) == (200, "ok\n")
    clock.now += 1000
    answer = client(running).get("/healthz")
    assert (answer.status_code, answer.text) == (503, "the audits do not go on\n")


def test_without_a_schedule_there_are_no_metrics() -> None:
    scraper = client(None)
    assert scraper.get("/healthz").status_code == 403
    assert scraper.get("/metrics", headers=BEARER).status_code == 404


def test_the_fleet_shows_the_last_results_and_waiting_checkpoints() -> None:
    running, auditor, _clock = service()
    auditor.recalled = [result("/a", level=Level.WARNING), None, None]
    running._recall()
    text = client(running).get("/", headers=BEARER).text
    assert text.count('<span class="badge pending">pending</span></data>') == 2
    assert 'badge warning">warning</span></data>' in text
    assert "3 checkpoints audited every 1 min, last at 1970-01-01T00:00:00.005Z." in text
    assert auditor.audited == []  # the page itself audits nothing


# --- command line ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--cache", "c"), "--cache is for --every, such as --every 15m"),
        (("--history", "h"), "--history is for --every, such as --every 15m"),
        (("--every", "soon"), "--every: got 'soon', expected a duration"),
        (("--every", "5ms"), "--every: got 5ms, expected at least 1s"),
    ],
)
def test_options_that_do_not_fit_are_refused(args: tuple[str, ...], message: str) -> None:
    outcome = run("serve", checkpoint_of("agg_append"), *args)
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.parametrize("name", ["--cache", "--history"])
def test_scraping_writes_nothing_into_checkpoint(name: str) -> None:
    path = checkpoint_of("agg_append")
    outcome = run("serve", path, "--every", "1m", name, path / "inside")
    assert outcome.code == 2
    assert "is inside the checkpoint" in outcome.err


def test_a_new_checkpoint_with_the_cache_in_it_is_not_audited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = Source([str(checkpoint_of("agg_append"))])
    parsed: dict[str, Any] = {
        "every": "1m",
        "cache": str(tmp_path / "later/cache"),
        "history": None,
    }
    parsed |= {"paths": (str(tmp_path),), "recursive": True, "audit_seconds": 60.0}
    running = service_of(parsed, source)
    assert running is not None
    search = running._plan.search
    assert search is not None
    assert search.add(str(tmp_path / "later")) is None
    assert "is inside the checkpoint, which is never written to" in capsys.readouterr().err
    added = search.add(str(tmp_path / "other"))
    assert added is not None
    assert (added.url, source.paths[1:]) == ("/1", [str(tmp_path / "other")])


def test_a_short_token_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("short\n")
    args = ("--every", "1m", "--token-file", tmp_path / "token")
    outcome = run("serve", checkpoint_of("agg_append"), *args)
    assert outcome.code == 2
    assert "at least 16 ASCII characters" in outcome.err


def test_a_server_ends_cleanly_after_sigterm(tmp_path: Path) -> None:
    """A whole server: it makes its token, audits, answers a scraper, and ends with code 0."""
    token = tmp_path / "token"
    program = "import sys; from inspector.cli.main import run; run()"
    args = [str(checkpoint_of("agg_append")), "--every", "1h", "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", program, "serve", *args, "--token-file", str(token)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    secret = token.read_text().strip()
    base, _, query = url.partition("/?")
    assert query == f"token={secret}"
    headers = {"Authorization": f"Bearer {secret}"}
    text = ""
    while "spark_state_rows{" not in text:
        scraper = urllib.request.Request(f"{base}/metrics", headers=headers)
        with urllib.request.urlopen(scraper) as answer:
            text = answer.read().decode()
    process.send_signal(signal.SIGTERM)
    _out, err = process.communicate()
    assert process.returncode == 0
    assert "Traceback" not in err
