"""Cached reports of audits: they equal whole audits, whatever happened to the checkpoint."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import inspector.api as api
from inspector.analyses.shared import report_cache
from inspector.analyses.shared.options import Options
from inspector.checkpoint import cache_files
from inspector.checkpoint.cache_files import SECRET
from inspector.checkpoint.storage import Storage
from inspector.engines.choose import LOCAL, EngineOptions
from inspector.engines.engine import HADOOP
from inspector.exceptions import CheckpointError, EngineError, NotACheckpointError
from inspector.model import Redact
from inspector.render.report import Report
from tests.attributes import attributes
from tests.checkpoint_files import files_below, remove_paths
from tests.fixture_folder import NEWEST
from tests.growing import Growing
from tests.object_store import ObjectStore, serve
from tests.profiles import history, sampled
from tests.reports import rows_of_table, slugs

BATCHES = 6
NOTE = "from the cache"
Change = Callable[[Path], None]


@pytest.fixture(autouse=True)
def _empty_memory_cache() -> Iterator[None]:
    """Forget what this process knows of caches, as a new process does."""
    cache_files.cache_files.cache_clear()
    yield
    cache_files.cache_files.cache_clear()


def settle(root: Path, shift_s: int = 0) -> None:
    """Set old modification times, another one for each file, so that no file is just written."""
    for number, path in enumerate(files_below(root)):
        os.utime(path, (1.6e9 + number + shift_s, 1.6e9 + number + shift_s))


def copy_of(case: str, folder: Path) -> Path:
    root = folder / case
    shutil.copytree(NEWEST / case / "checkpoint", root)
    settle(root)
    return root


def body(report: Report) -> dict[str, Any]:
    """Return a report as a document without the note that it is from the cache."""
    document = report.to_dict()
    document["notes"] = [note for note in document["notes"] if NOTE not in note]
    return document


def is_cached(report: Report) -> bool:
    count = "\n".join(report.notes).count(NOTE)
    assert count <= 1
    return count == 1


def is_second_audit_cached(path: str, options: Options) -> bool:
    """Return True if a second audit is from the cache. Both equal an audit without cache."""
    report = api.audit(path, replace(options, cache=None))
    first, second = api.audit(path, options), api.audit(path, options)
    assert body(first) == body(second) == body(report)
    assert not is_cached(first)
    return is_cached(second)


def cached_files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name != SECRET]


# --- equal reports ---------------------------------------------------------------------------


CASES = (
    *("agg_update", "agg_complete", "agg_global", "agg_row_checksum", "agg_two_levels"),
    *("fmgws_event_ignore", "fmgws_processing_time", "fmgws_snapshots_cleaned", "named_source"),
    *("join_left_outer", "codec_zstd", "dedup_no_watermark", "empty_partitions", "wide_value"),
    *("rocksdb_tws_event", "rocksdb_tws_processing", "rocksdb_agg_update_snapshots_format2"),
    *("rocksdb_join_left_outer_v4", "rocksdb_session_window", "session_window"),
    *("snapshots_cleaned", "pandas_event_ignore", "trouble_skew", "limit_after_dedup"),
)


@pytest.mark.parametrize("case", sampled(CASES, 6))
def test_cached_report_equals_a_whole_audit(case: str, tmp_path: Path) -> None:
    path = str(NEWEST / case / "checkpoint")
    assert is_second_audit_cached(path, Options(cache=str(tmp_path / "cache")))


@pytest.mark.parametrize("case", ["task_failed", "uncommitted"])
def test_report_with_an_unfinished_batch_is_not_cached(case: str, tmp_path: Path) -> None:
    """The report says how long the batch has been planned, so it changes with the time."""
    path = str(NEWEST / case / "checkpoint")
    assert not is_second_audit_cached(path, Options(cache=str(tmp_path / "cache")))


def test_gates_apply_to_cached_reports(tmp_path: Path) -> None:
    root, options = str(copy_of("agg_update", tmp_path)), Options(cache=str(tmp_path / "cache"))
    assert is_second_audit_cached(root, options)
    limit = {"state.bytes": "1"}
    gated = api.audit(root, options, maximum=limit)
    assert is_cached(gated)
    assert attributes(gated.gates, "passed.value") == ["exceeded"]
    assert body(gated) == body(api.audit(root, maximum=limit))


def test_cached_audit_costs_one_listing(tmp_path: Path) -> None:
    copy_of("agg_update", tmp_path)
    requests = serve(tmp_path)
    options = Options(cache=str(tmp_path / "cache"))
    api.audit("objects://agg_update", options)
    first = dict(requests.kinds)
    assert first["LIST"] == 1
    requests.kinds.clear()
    assert is_cached(api.audit("objects://agg_update", options))
    assert dict(requests.kinds) == {"LIST": 1}
    # The listing that shows the change is used by the audit too.
    change_time(tmp_path / "agg_update")
    requests.kinds.clear()
    assert not is_cached(api.audit("objects://agg_update", options))
    assert dict(requests.kinds) == first | {"GET": first["GET"] - 1}


def test_cache_in_memory_storage(tmp_path: Path) -> None:
    copy_of("agg_update", tmp_path)
    serve(tmp_path)
    options = Options(cache="memory://cache/of/audits")
    assert is_second_audit_cached("objects://agg_update", options)


def test_parts_and_batches_are_cached_separately(tmp_path: Path) -> None:
    root = copy_of("agg_update", tmp_path)
    options = Options(cache=str(tmp_path / "cache"))
    assert is_second_audit_cached(str(root), options)
    assert is_second_audit_cached(str(root / "state" / "0" / "1"), options)
    assert is_second_audit_cached(str(root), replace(options, partition_id=0))
    assert is_second_audit_cached(str(root), replace(options, batch=2))
    assert is_cached(api.audit(str(root), options))
    # Reports do not depend on the number of workers and on credentials.
    assert is_cached(api.audit(str(root), replace(options, workers=1, memory_limit=1 << 30)))
    rotated = replace(options, storage_options={"token": "of this hour"})
    assert is_cached(api.audit(str(root), rotated))


# --- changed checkpoints ---------------------------------------------------------------------


def add_batch(root: Path) -> None:
    shutil.copyfile(root / "state/0/0/10.delta", root / "state/0/0/11.delta")
    shutil.copyfile(root / "state/0/1/10.delta", root / "state/0/1/11.delta")
    shutil.copyfile(root / "offsets/9", root / "offsets/10")
    shutil.copyfile(root / "commits/9", root / "commits/10")


def remove_version_1(root: Path) -> None:
    remove_paths(root, "state/0/*/1.delta")


def remove_delta(root: Path) -> None:
    (root / "state/0/1/5.delta").unlink()


def rewrite_delta(root: Path) -> None:
    """Write other bytes of the same number, and restore the modification time."""
    path = root / "state/0/0/5.delta"
    before, second = path.stat(), (root / "state/0/0/4.delta").read_bytes()
    path.write_bytes(second.ljust(before.st_size, b"\0")[: before.st_size])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_checkpoint(root: Path) -> None:
    shutil.rmtree(root)
    shutil.copytree(NEWEST / "agg_v1" / "checkpoint", root)


def change_time(root: Path) -> None:
    os.utime(root / "offsets" / "3", (1.5e9, 1.5e9))


def change_query_id(root: Path) -> None:
    text = (root / "metadata").read_text()
    (root / "metadata").write_text(text.replace("-", "0", 1))


def assert_audited_again(path: str, root: Path, change: Change) -> None:
    """Check that an audit after a change is not from the cache and equals one without cache."""
    options = Options(cache=str(root.parent / "cache"))
    assert is_second_audit_cached(path, options)
    change(root)
    now = api.audit(path, options)
    assert not is_cached(now)
    assert body(now) == body(api.audit(path))


@pytest.mark.parametrize(
    "change",
    [
        add_batch,
        remove_version_1,
        remove_delta,
        replace_checkpoint,
        change_time,
        change_query_id,
        rewrite_delta,
    ],
)
def test_changed_checkpoint_is_audited_again(change: Change, tmp_path: Path) -> None:
    root = copy_of("agg_update", tmp_path)
    assert_audited_again(str(root), root, change)


@pytest.mark.parametrize(
    "change",
    [add_batch, remove_version_1, remove_delta, replace_checkpoint, change_time, change_query_id],
)
def test_changed_checkpoint_on_an_object_store_is_audited_again(
    change: Change, tmp_path: Path
) -> None:
    """A store without ETags does not show a rewrite with the old modification time."""
    root = copy_of("agg_update", tmp_path)
    serve(tmp_path)
    assert_audited_again("objects://agg_update", root, change)


def test_rewritten_file_with_another_etag_is_audited_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = ObjectStore._info_of

    def with_etag(self: ObjectStore, path: Path) -> dict[str, Any]:
        result = path.stat()
        return {**plain(self, path), "ETag": f"{result.st_ino}-{result.st_ctime_ns}"}

    monkeypatch.setattr(ObjectStore, "_info_of", with_etag)
    root = copy_of("agg_update", tmp_path)
    serve(tmp_path)
    assert_audited_again("objects://agg_update", root, rewrite_delta)


def test_cache_key_has_options_and_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(copy_of("agg_update", tmp_path))
    options = Options(cache=str(tmp_path / "cache"))
    assert is_second_audit_cached(root, options)
    assert not is_cached(api.audit(root, replace(options, thresholds={"heap_bytes": 1})))
    assert not is_cached(api.audit(root, replace(options, operator_rules=("0=never",))))
    assert not is_cached(api.audit(root, replace(options, redact=Redact.ALL)))
    monkeypatch.setattr(report_cache, "_tool", lambda: "another")
    assert not is_cached(api.audit(root, options))
    assert is_cached(api.audit(root, options))


def test_just_changed_checkpoint_is_not_cached(tmp_path: Path) -> None:
    root = copy_of("agg_update", tmp_path)
    options = Options(cache=str(tmp_path / "cache"))
    os.utime(root / "commits" / "9")
    assert not is_second_audit_cached(str(root), options)
    settle(root)
    assert is_second_audit_cached(str(root), options)


def test_audit_with_second_reads_is_not_cached(tmp_path: Path) -> None:
    copy_of("agg_update", tmp_path)
    requests = serve(tmp_path)

    def fault(kind: str, path: str) -> None:
        if kind == "GET" and path.endswith("state/0/0/1.delta") and requests.read[path] == 1:
            raise FileNotFoundError(path)

    requests.fault = fault
    options = Options(cache=str(tmp_path / "cache"))
    moved = api.audit("objects://agg_update", options)
    assert slugs(moved.problems) == ["moved"]
    assert not (tmp_path / "cache").exists()
    assert is_second_audit_cached("objects://agg_update", options)


def test_incomplete_audit_is_not_cached(tmp_path: Path) -> None:
    copy_of("agg_update", tmp_path)
    requests = serve(tmp_path)
    options = Options(cache=str(tmp_path / "cache"))

    def denied(kind: str, path: str) -> None:
        if kind == "GET" and "/state/0/1/" in path:
            raise PermissionError("403 Forbidden")

    requests.fault = denied
    assert not api.audit("objects://agg_update", options).complete
    requests.fault = lambda _kind, _path: None
    assert is_second_audit_cached("objects://agg_update", options)


# --- content of the cache --------------------------------------------------------------------


def test_cache_has_no_plain_keys(tmp_path: Path) -> None:
    root = str(copy_of("fmgws_event_ignore", tmp_path))
    cache = tmp_path / "cache"
    report = api.audit(root, Options(redact=Redact.NONE))
    examples = rows_of_table(report, "leftovers")
    assert examples[0]["key"] == {"value": "once-000"}
    assert not is_second_audit_cached(root, Options(cache=str(cache), redact=Redact.NONE))
    assert not cache.exists()
    assert is_second_audit_cached(root, Options(cache=str(cache)))
    (path,) = cached_files(cache)
    content = zlib.decompress(path.read_bytes()[32:]).decode()
    assert "once-000" not in content
    assert "sha256:" in content


def test_cache_secret_is_private(tmp_path: Path) -> None:
    assert is_second_audit_cached(
        str(copy_of("agg_update", tmp_path)), Options(cache=str(tmp_path / "cache"))
    )
    assert (tmp_path / "cache" / SECRET).stat().st_mode & 0o077 == 0


def test_oldest_cached_reports_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setattr(cache_files, "TRIM_EVERY", 1)
    roots = [str(copy_of("agg_update", tmp_path / str(number)).resolve()) for number in range(4)]
    for number, root in enumerate(roots[:3]):
        assert is_second_audit_cached(root, Options(cache=str(cache)))
        for path in cached_files(cache):
            if path.stat().st_mtime > 1e9 + 10:
                os.utime(path, (1e9 + number, 1e9 + number))
    sizes = [path.stat().st_size for path in cached_files(cache)]
    monkeypatch.setattr(cache_files, "MOST_BYTES", sum(sizes) + max(sizes) // 2)
    (cache / "of-somebody-else").write_bytes(bytes(100_000))
    api.audit(roots[3], Options(cache=str(cache)))
    result = [is_cached(api.audit(root, Options(cache=str(cache)))) for root in reversed(roots)]
    assert result == [True, True, True, False]
    assert (cache / "of-somebody-else").exists()


def test_cache_inside_a_checkpoint_is_refused(tmp_path: Path) -> None:
    root = copy_of("agg_update", tmp_path)
    before = sorted(root.rglob("*"))
    with pytest.raises(CheckpointError, match="never written to"):
        api.audit(str(root), Options(cache=str(root / "cache")))
    with pytest.raises(CheckpointError, match="never written to"):
        api.audit(str(root / "state" / "0"), Options(cache=str(root / "cache")))
    assert sorted(root.rglob("*")) == before


def test_cache_with_hadoop_io_is_refused(tmp_path: Path) -> None:
    engine = EngineOptions(LOCAL, io=HADOOP)
    with pytest.raises(EngineError, match="--io hadoop"):
        api.audit(str(tmp_path), Options(cache=str(tmp_path), engine=engine))


def test_cache_with_page_or_estimate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="page"):
        api.audit(str(tmp_path), Options(cache=str(tmp_path)), page=True)
    with pytest.raises(TypeError, match="estimate"):
        api.audit(str(tmp_path), Options(cache=str(tmp_path)), estimate=True)


# --- other files in the cache ----------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes() or b"0")
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def bomb(path: Path) -> None:
    path.write_bytes(bytes(32) + zlib.compress(bytes(64 << 20)))


def harm_all(harm: Callable[[Path], None], paths: list[Path]) -> None:
    for path in paths:
        harm(path)


@pytest.mark.parametrize("harm", [cut, flip, folder, empty, bomb])
@pytest.mark.parametrize("choice", ["report", "secret"])
def test_damaged_cache_file_is_ignored(
    harm: Callable[[Path], None], choice: str, tmp_path: Path
) -> None:
    root, cache = str(copy_of("agg_update", tmp_path)), tmp_path / "cache"
    options = Options(cache=str(cache))
    assert is_second_audit_cached(root, options)
    harm(cached_files(cache)[0] if choice == "report" else cache / SECRET)
    cache_files.cache_files.cache_clear()
    now = api.audit(root, options)
    assert not is_cached(now)
    assert body(now) == body(api.audit(root))
    if harm is not folder:
        assert is_cached(api.audit(root, options))


def test_swapped_cache_file_is_ignored(tmp_path: Path) -> None:
    first, second = str(copy_of("agg_update", tmp_path)), str(copy_of("agg_v1", tmp_path))
    options = Options(cache=str(tmp_path / "cache"))
    assert is_second_audit_cached(first, options)
    (path,) = cached_files(tmp_path / "cache")
    content = path.read_bytes()
    assert is_second_audit_cached(second, options)
    for item in cached_files(tmp_path / "cache"):
        item.write_bytes(content)
    assert is_cached(api.audit(first, options))
    assert not is_cached(api.audit(second, options))


def test_unusable_cache_is_reported(tmp_path: Path) -> None:
    root = str(copy_of("agg_update", tmp_path))
    (tmp_path / "cache").write_text("a file")
    message: list[str] = []
    options = Options(
        cache=str(tmp_path / "cache"), engine=EngineOptions(LOCAL, notify=message.append)
    )
    assert body(api.audit(root, options)) == body(api.audit(root))
    assert "cache: not used: " in "\n".join(message)


def test_concurrent_cache_writers(tmp_path: Path) -> None:
    root = str(copy_of("agg_update", tmp_path))
    options = Options(cache=str(tmp_path / "cache"), workers=1)
    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(lambda _: api.audit(root, options), range(16)))
    expected = body(api.audit(root))
    assert [body(report) for report in reports] == [expected] * 16
    cache_files.cache_files.cache_clear()
    assert is_cached(api.audit(root, options))
    assert not list((tmp_path / "cache").glob("*.tmp"))


# --- many checkpoints ------------------------------------------------------------------------


def test_fleet_audits_only_changed_checkpoints(tmp_path: Path) -> None:
    for number in range(5):
        copy_of("agg_update", tmp_path / "all" / str(number))
    requests = serve(tmp_path)
    options = Options(cache=str(tmp_path / "cache"))

    def run() -> tuple[list[str], dict[str, int]]:
        cache_files.cache_files.cache_clear()
        requests.kinds.clear()
        outcomes = list(api.audit_many("objects://all", options, recursive=True))
        assert attributes(outcomes, "error") == [None] * 5
        cached = [item.path for item in outcomes if item.result and is_cached(item.result)]
        return cached, dict(requests.kinds)

    result, first = run()
    # The search lists each folder once; then all below each checkpoint is one listing.
    assert result == []
    assert first["LIST"] == 1 + 2 * 5 + 5
    result, second = run()
    # A path with a cached report needs no search: one listing shows whether it has changed.
    assert len(result) == 5
    assert second == {"LIST": 1 + 5 + 5}
    add_batch(tmp_path / "all" / "3" / "agg_update")
    result, third = run()
    assert sorted(result) == [
        "objects://all/0/agg_update",
        "objects://all/1/agg_update",
        "objects://all/2/agg_update",
        "objects://all/4/agg_update",
    ]
    assert third["LIST"] == second["LIST"]
    assert third["GET"] < first["GET"] / 4
    # A checkpoint that is gone is forgotten, and its folder is searched again.
    gone = tmp_path / "all" / "1" / "agg_update"
    gone.rename(tmp_path / "all" / "1" / "another")
    shutil.rmtree(tmp_path / "all" / "2" / "agg_update" / "offsets")
    shutil.rmtree(tmp_path / "all" / "2" / "agg_update" / "commits")
    shutil.rmtree(tmp_path / "all" / "2" / "agg_update" / "state")
    outcomes = list(api.audit_many("objects://all", options, recursive=True))
    assert sorted(attributes(outcomes, "path")) == [
        "objects://all/0/agg_update",
        "objects://all/1/another",
        "objects://all/2/agg_update",
        "objects://all/3/agg_update",
        "objects://all/4/agg_update",
    ]
    (failed,) = [outcome for outcome in outcomes if outcome.error]
    assert failed.path == "objects://all/2/agg_update"
    assert type(failed.error) is NotACheckpointError
    # The error is reported once; the next search finds checkpoints below the folder.
    (tmp_path / "all" / "2" / "agg_update" / "metadata").unlink()
    copy_of("agg_update", tmp_path / "all" / "2" / "agg_update" / "v2")
    outcomes = list(api.audit_many("objects://all", options, recursive=True))
    assert "objects://all/2/agg_update/v2/agg_update" in attributes(outcomes, "path")
    assert attributes(outcomes, "error") == [None] * 5


# --- any history -----------------------------------------------------------------------------

STEPS = st.sampled_from(
    (
        *("batch", "batch", "nothing", "purge", "rewrite", "touch", "clock", "half", "cut"),
        *("flip", "forget", "secret", "somebody else", "option", "temporary"),
    )
)


class History:
    """A checkpoint and a cache that change; each audit is compared with one without cache."""

    def __init__(self, folder: Path) -> None:
        self.growing = Growing("agg_update", folder)
        self.root, self.cache = self.growing.root, folder / "cache"
        self.options = Options(cache=str(self.cache), workers=1)
        self.batches = self.kept = 0
        self.batch()
        self.batch()
        self.batch()

    def batch(self) -> None:
        if self.batches < BATCHES:
            self.growing.run(self.batches)
            self.batches += 1

    def do(self, step: str, number: int) -> None:
        if step in self._of_cache(number) and self.cache.exists():
            self._of_cache(number)[step]()
        elif step in self._of_checkpoint(number):
            self._of_checkpoint(number)[step]()

    def _of_checkpoint(self, number: int) -> dict[str, Callable[[], object]]:
        files = files_below(self.root)
        path = files[number % len(files)]
        return {
            "batch": self.batch,
            "purge": lambda: self.purge(1 + number % 2),
            "rewrite": lambda: path.write_bytes(bytes(path.stat().st_size)),
            "touch": lambda: os.utime(path, (1.5e9 + number, 1.5e9 + number)),
            "clock": lambda: settle(self.root, shift_s=number - 50),
            "half": lambda: (self.root / "state/0/.7.delta.x.tmp").write_bytes(b"half"),
            "somebody else": lambda: self.replace(("agg_v1", "dedup_event_time")[number % 2]),
            "option": lambda: self.choose((1, 1 << 40)[number % 2]),
        }

    def _of_cache(self, number: int) -> dict[str, Callable[[], object]]:
        remaining = sorted(cached_files(self.cache)) if self.cache.exists() else []
        middle = self.cache / f"{'0' * 64}.kept.{'0' * 32}.tmp"
        return {
            "cut": lambda: harm_all(cut, remaining[: 1 + number % 3]),
            "flip": lambda: harm_all(flip, remaining[-1:]),
            "forget": lambda: shutil.rmtree(self.cache),
            "secret": lambda: (self.cache / SECRET).write_bytes(bytes([number]) * (number % 40)),
            "temporary": lambda: middle.write_bytes(b"half a report"),
        }

    def purge(self, version: int) -> None:
        for path in self.root.glob(f"state/*/*/{version}.delta"):
            path.unlink()

    def replace(self, case: str) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(NEWEST / case / "checkpoint", self.root)
        self.batches = BATCHES

    def choose(self, heap: int) -> None:
        self.options = replace(self.options, thresholds={"heap_bytes": heap})

    def check(self, *, old: bool) -> None:
        if old:
            for path in self.root.rglob("*"):
                if path.is_file() and path.stat().st_mtime > 1.7e9:
                    os.utime(path, (1.65e9, 1.65e9))
        cache_files.cache_files.cache_clear()
        complete = body(api.audit(str(self.root), replace(self.options, cache=None)))
        for _ in range(2):
            report = api.audit(str(self.root), self.options)
            assert body(report) == complete
            self.kept += is_cached(report)


def follow(steps: list[tuple[str, int, bool]], folder: Path) -> History:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    happened = History(folder)
    happened.check(old=True)
    for step, number, old in steps:
        happened.do(step, number)
        happened.check(old=old)
    return happened


RANDOM = st.lists(st.tuples(STEPS, st.integers(0, 100), st.booleans()), max_size=5)


@history
@given(RANDOM)
def test_cached_report_equals_a_whole_audit_after_any_history(
    tmp_path: Path, steps: list[tuple[str, int, bool]]
) -> None:
    follow(steps, tmp_path / "history")


def test_cached_reports_of_an_unchanged_checkpoint(tmp_path: Path) -> None:
    assert follow([("nothing", 0, True)] * 3, tmp_path / "history").kept == 7
    assert Storage(str(tmp_path)).list()
