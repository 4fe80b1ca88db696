"""Checkpoints on object stores: the same reports, few requests, and what happens when some fail."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmark.checkpoint import Size, make

import inspector.api as api
from inspector.analyses.shared.options import Options
from inspector.checkpoint import patience, storage
from inspector.checkpoint.roots import Selection
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.verified_files import RememberedFiles
from inspector.discovery.checkpoint import checkpoint_at
from inspector.exceptions import NotACheckpointError
from inspector.model import LIMITS, Limits
from inspector.render.report import Report
from tests.attributes import attributes
from tests.fixture_folder import NEWEST
from tests.growing import Growing
from tests.object_store import serve
from tests.reports import finding_ids

ANALYSES: dict[str, Callable[..., Report]] = {
    "info": api.info,
    "audit": api.audit,
    "leftovers": api.leftovers,
    "verify": api.verify,
}
CASES = (
    "join_left_outer",
    *(
        pytest.param(name, marks=pytest.mark.full)
        for name in (
            *("agg_update", "agg_row_checksum", "dedup_event_time", "dedup_within_watermark"),
            *("session_window", "join_window_key", "fmgws_event_rearm", "mgws_tuple_key"),
            *("pandas_event_ignore", "limit_after_dedup", "snapshots_cleaned", "dedup_after_join"),
        )
    ),
)
"""Fixtures of every operator, of both join formats, with snapshots and with two operators."""

SHARED = (
    "rocksdb_join_left_outer_v3",
    pytest.param("rocksdb_join_left_outer_v4", marks=pytest.mark.full),
    pytest.param("rocksdb_tws_event", marks=pytest.mark.full),
)
"""Fixtures whose stores are column families of one."""


def told(report: Report, root: str) -> dict[str, Any]:
    """A report as JSON has it, less the place that it is about."""
    document: dict[str, Any] = json.loads(json.dumps(report.to_dict()).replace(root, "CHECKPOINT"))
    return document


def without_place(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what depends on where the checkpoint is: state schemas by absolute paths."""
    verdict = report["verdict"] | {"infos": 0, "restart": None}
    findings = [finding for finding in report["findings"] if finding["id"] != "SS120"]
    return report | {"verdict": verdict, "findings": findings}


def slugs(report: Report) -> Counter[str]:
    return Counter(attributes(report.problems, "slug"))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Limits:
    """No long waits: a second is the longest."""
    limits = Limits(request_seconds=1, attempts=2)
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(patience, "WORD_AFTER_S", 0.05)
    for name in ("Pending", "patiently"):
        complete = getattr(patience, name)

        def bounded(*args: Any, complete: Any = complete) -> Any:
            return complete(*args[:2], limits)

        monkeypatch.setattr(storage, name, bounded)
    assert limits != LIMITS
    return limits


# --- reports and requests ------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ANALYSES)
def test_object_store_report_equals_local_report(case: str, name: str) -> None:
    analysis = ANALYSES[name]
    requests = serve(NEWEST / case)
    local = analysis(str(NEWEST / case / "checkpoint"))
    remote = analysis("objects://checkpoint")
    assert told(remote, "objects://checkpoint") == told(local, str(NEWEST / case / "checkpoint"))
    assert requests.kinds["LIST"] == 1
    assert requests.kinds["HEAD"] == 0
    assert_only_root_is_read_twice(requests.read)


def assert_only_root_is_read_twice(requested: Counter[str]) -> None:
    """Check that only the metadata that show a checkpoint's root were requested twice."""
    (path, count), (_, next_count) = requested.most_common(2)
    assert path.endswith("/metadata")
    assert (count, next_count) == (2, 1)


@pytest.mark.parametrize("case", SHARED)
def test_shared_files_are_requested_once(case: str) -> None:
    """Each table once for each snapshot that names it, of which these have one a partition."""
    requests = serve(NEWEST / case)
    local = api.audit(str(NEWEST / case / "checkpoint"))
    remote = api.audit("objects://checkpoint")
    assert without_place(told(remote, "objects://checkpoint")) == without_place(
        told(local, str(NEWEST / case / "checkpoint"))
    )
    assert_only_root_is_read_twice(requests.read)


def test_bucket_is_listed_whole_only_with_query_metadata(tmp_path: Path) -> None:
    requests = serve(tmp_path)
    (tmp_path / "bucket" / "data").mkdir(parents=True)
    for number in range(3000):
        (tmp_path / "bucket" / "data" / f"{number}.parquet").touch()
    for content in (None, b"", b"[]", b'{"id": "mine"}', bytes(range(256))):
        if content is not None:
            (tmp_path / "bucket" / "metadata").write_bytes(content)
        requests.kinds.clear()
        with pytest.raises(NotACheckpointError):
            api.audit("objects://bucket")
        # The folder, for what is said of it, and whether its folders are checkpoints.
        assert requests.kinds["LIST"] <= 3


def test_info_reads_log_entries_near_batch(tmp_path: Path) -> None:
    result = make(tmp_path / "ck", Size(400, 60, 2))
    requests = serve(tmp_path)
    report = api.info("objects://ck")
    assert told(report, "objects://ck") == told(api.info(str(result.path)), str(result.path))
    # Ten of each log and its oldest, metadata of the query (twice) and the operator, the schema,
    # and the head of one state file.
    assert dict(requests.kinds) == {"LIST": 1, "GET": 27}
    requests.kinds.clear()
    older = api.info("objects://ck", Options(batch=20))
    assert older.summary["batch_id"] == 20
    assert requests.kinds["GET"] == 27 + 2 * 21


def test_watch_requests_one_listing_and_new_files(tmp_path: Path) -> None:
    growing = Growing("agg_update", tmp_path)
    for batch in range(5):
        growing.run(batch)
    requests = serve(tmp_path)
    files = RememberedFiles(Storage.open("objects://checkpoint"))
    looks = []
    for batch in range(5, 8):
        requests.kinds.clear()
        files.look_again()
        checkpoint = checkpoint_at(files, Selection(), small_files=files)
        looks.append(dict(requests.kinds))
        assert checkpoint.newest_version == batch
        growing.run(batch)
    # The entries of both logs, and of each the checksums.
    assert looks[1:] == [{"LIST": 1, "GET": 4}] * 2
    assert looks[0]["LIST"] == 1


def test_requests_run_concurrently(tmp_path: Path) -> None:
    make(tmp_path / "ck", Size(2000, 3, 60))  # of each store but three files
    requests = serve(tmp_path)
    requests.together = 32
    api.audit("objects://ck", Options(workers=1))
    assert 32 <= requests.most <= 64
    assert_only_root_is_read_twice(requests.read)


def test_large_file_is_read_in_parallel_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = make(tmp_path / "ck", Size(30_000, 1, 1))
    (size,) = (path.stat().st_size for path in tmp_path.rglob("*.delta"))
    requests = serve(tmp_path)
    requests.together = storage.CHUNKS_AHEAD
    stream = storage.Storage.stream
    monkeypatch.setattr(
        storage.Storage,
        "stream",
        lambda self, relative, chunk_bytes=1 << 16, *, size=None: stream(
            self, relative, min(chunk_bytes, 1 << 16), size=size
        ),
    )
    assert told(api.audit("objects://ck"), "objects://ck") == told(
        api.audit(str(result.path)), str(result.path)
    )
    assert requests.read["ck/state/0/0/1.delta"] == -(-size // (1 << 16)) > 4
    assert requests.most >= storage.CHUNKS_AHEAD


# --- faults --------------------------------------------------------------------------------------


def failing(match: str, error: Exception, kind: str = "GET") -> Callable[[str, str], None]:
    def fault(requested: str, path: str) -> None:
        if requested == kind and match in path:
            raise error

    return fault


def test_denied_partition_is_reported_as_denied() -> None:
    requests = serve(NEWEST / "agg_update")
    requests.fault = failing("/state/0/1/", PermissionError("403 Forbidden"))
    report = api.audit("objects://checkpoint")
    assert {"SS101", "SS102", "SS105", "SS109"}.isdisjoint(finding_ids(report))
    assert set(slugs(report)) == {"denied"}
    assert not report.complete


def test_denied_recursive_listing_falls_back_to_folders() -> None:
    requests = serve(NEWEST / "agg_update")
    listings: list[str] = []

    def denied(kind: str, path: str) -> None:
        if kind == "LIST":
            listings.append(path)
            if len(listings) == 1 or path.endswith("state/0/1"):
                raise PermissionError("403 Forbidden")

    requests.fault = denied
    report = api.audit("objects://checkpoint")
    assert slugs(report) == {"denied": 1}
    assert "SS109" not in finding_ids(report)
    # The root: with all that lies below it, and with the names of checksum files.
    assert len(listings) == len(set(listings)) + 1


def test_expired_token_is_one_problem(quick: Limits) -> None:
    del quick
    requests = serve(NEWEST / "join_left_outer")
    requests.fault = failing("/state/", PermissionError("ExpiredToken: the token has expired"))
    report = api.verify("objects://checkpoint")
    assert sum(slugs(report).values()) <= 2
    assert set(slugs(report)) <= {"denied"}


@pytest.mark.parametrize(
    "error", [OSError("HTTP 503 Slow Down"), ConnectionResetError("Connection reset by peer")]
)
def test_transient_errors_are_retried(quick: Limits, error: OSError) -> None:
    del quick
    requests = serve(NEWEST / "agg_update")

    def fault(kind: str, path: str) -> None:
        if kind == "GET" and requests.read[path] == 1 and path.endswith(".delta"):
            raise error

    requests.fault = fault
    local = str(NEWEST / "agg_update" / "checkpoint")
    report = api.audit("objects://checkpoint")
    assert told(report, "objects://checkpoint") == told(api.audit(local), local)
    assert set(requests.read.values()) == {1, 2}


def test_silent_request_ends_with_timeout_error(
    quick: Limits, caplog: pytest.LogCaptureFixture
) -> None:
    requests = serve(NEWEST / "agg_update")
    requests.fault = lambda _kind, path: 3600 if path.endswith("state/0/1/3.delta") else None
    report = api.audit("objects://checkpoint")
    assert requests.read["checkpoint/state/0/1/3.delta"] == quick.attempts
    assert set(slugs(report)) == {"storage"}
    assert "SS102" not in finding_ids(report)
    assert "3.delta: no answer for" in caplog.text


def test_file_removed_after_listing_is_listed_again() -> None:
    requests = serve(NEWEST / "agg_update")

    def fault(kind: str, path: str) -> None:
        if kind == "GET" and path.endswith("state/0/0/1.delta") and requests.read[path] == 1:
            raise FileNotFoundError(path)

    requests.fault = fault
    report = api.audit("objects://checkpoint")
    assert report.complete
    assert slugs(report) == {"moved": 1}


@pytest.mark.parametrize(
    "path", ["offsets/9", "commits/9", "offsets/4", "state/0/0/_metadata/schema"]
)
def test_log_entry_or_schema_removed_after_listing_is_reported(path: str) -> None:
    requests = serve(NEWEST / "agg_update")
    requests.fault = failing(f"checkpoint/{path}", FileNotFoundError(path))
    report = api.audit("objects://checkpoint")
    vanished = {problem.slug: problem.path for problem in report.problems}["vanished"]
    assert vanished == f"objects://checkpoint/{path}"
    assert not report.complete


def test_log_entries_purged_after_listing_are_no_problem() -> None:
    requests = serve(NEWEST / "agg_update")

    def purged(kind: str, path: str) -> None:
        if kind == "GET" and path.endswith(("offsets/0", "offsets/1", "commits/0")):
            raise FileNotFoundError(path)

    requests.fault = purged
    report = api.audit("objects://checkpoint")
    assert "vanished" not in slugs(report)
