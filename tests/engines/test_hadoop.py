"""Reading through Spark against reading by fsspec: the same reports, and the same troubles."""

from __future__ import annotations

import gc
import json
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from inspector import api
from inspector.analyses.shared.opening import OUTPACED
from inspector.analyses.shared.run import Run
from inspector.checkpoint.logfile import MOVED_SLUG
from inspector.discovery.tasks import Request
from inspector.engines.bin_packing import partition_keys
from inspector.engines.choose import EngineOptions
from inspector.engines.engine import Job, Work
from inspector.engines.staging import CHUNK_BYTES
from inspector.exceptions import EngineError, NotACheckpointError, OutpacedError
from inspector.facts.registry import facts_in, facts_schema
from inspector.passes.worker import run_tasks
from inspector.render.as_json import render_json
from inspector.render.report import Report
from tests.attributes import attributes
from tests.cases import hdfs_cases
from tests.cli.support import checkpoint_of, copy_of, replace_state
from tests.cli.support import run as run_command
from tests.fixture_folder import FIXTURES, NEWEST
from tests.growing import Endless
from tests.reports import cell_values
from tests.spark_support import WITH_SPARK
from tests.test_slow_reader import TOO_SLOW, faults, slowed

pytestmark = WITH_SPARK

COMMANDS: dict[str, Callable[..., Report]] = {
    "audit": api.audit,
    "verify": api.verify,
    "leftovers": api.leftovers,
    "fields": partial(api.sizes, by="field"),
    "files": api.files,
    "rows": api.rows,
    "changes": api.changes,
    "diff": lambda path, options: api.diff(path, None, options),
}
"""Tasks on executors, and in this process; and what needs no task."""


@pytest.fixture
def hadoop(spark: Any) -> api.Options:
    return api.Options(engine=EngineOptions(session=spark, io="hadoop"))


def said(report: Report) -> Any:
    """A report as JSON."""
    return json.loads("".join(render_json(report)))


def plain_copy(case: str, folder: Path) -> str:
    """A fixture without hidden files, which not every Spark shows."""
    ignore = shutil.ignore_patterns(".*")
    return str(shutil.copytree(checkpoint_of(case), folder, ignore=ignore))


def assert_same(command: str, path: str, hadoop: api.Options) -> Any:
    result = said(COMMANDS[command](path, hadoop))
    assert result == said(COMMANDS[command](path, api.Options()))
    return result


@pytest.mark.parametrize("command", COMMANDS)
def test_reports_are_those_of_fsspec(command: str, hadoop: api.Options, tmp_path: Path) -> None:
    result = assert_same(command, plain_copy("fmgws_event_ignore", tmp_path / "mine"), hadoop)
    tables = [result.get("rows"), *result.get("tables", {}).values()]
    assert any(tables) or command == "verify"


@pytest.mark.parametrize("case", attributes(hdfs_cases("4.3.0"), "name")[::24])
def test_an_audit_is_that_of_fsspec(case: str, hadoop: api.Options, tmp_path: Path) -> None:
    assert assert_same("audit", plain_copy(case, tmp_path / "mine"), hadoop)["tables"]


def test_facts_of_many_checkpoints_in_one_job(spark: Any, hadoop: api.Options) -> None:
    from inspector.engines.spark import SparkEngine

    engine = SparkEngine.of(spark, None, {}, io="hadoop")
    cases = [FIXTURES / "2.4.8", FIXTURES / "3.5.9", NEWEST]
    names = "agg_append", "agg_update", "join_left_outer", "snapshots_cleaned"
    paths = [str(path) for case in cases for name in names for path in case.glob(f"{name}/*/")]
    runs = [Run.start(path, hadoop) for path in paths]
    work = [_work(run) for run in runs]
    outcome = list(engine.run(Job(run_tasks, facts_schema(), list(chain(*work)))))
    by_fsspec = [Run.start(path, None) for path in paths]
    expected = [
        b for run in by_fsspec for b in run.engine.run(Job(run_tasks, facts_schema(), _work(run)))
    ]
    assert _facts(outcome) == _facts(expected)
    assert len(_facts(outcome)) > 100


def _work(run: Run) -> list[Work]:
    return [Work(task.to_json(), task.file_bytes) for task in run.tasks(Request(fit=True))]


def _facts(batches: list[Any]) -> list[str]:
    # Of damage that only a hidden file tells not every Spark knows.
    result = chain(*map(facts_in, batches))
    facts = (element for element in result if "file-checksum" not in repr(element.fact))
    return sorted(re.sub(r"file_checksums=[0-9]+", "", repr(item)) for item in facts)


def test_troubles_are_the_same_and_no_folder_of_ours_is_named(
    hadoop: api.Options, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "ü a b%20+#[x]{y}?*" / "ck pt"
    path = plain_copy("agg_append", root)
    (root / "state/0/1/5.delta").write_bytes(b"junk")
    (root / "state/0/0/7.delta").write_bytes(b"")
    (root / "offsets/3").write_bytes(b"v7\n")
    result = assert_same("verify", path, hadoop)
    assert len(result["problems"]) >= 3
    assert all(problem["path"].startswith(path) for problem in result["problems"])
    assert "inspector-" not in json.dumps(result) + capfd.readouterr().err
    assert_same("rows", path, hadoop)


def test_files_that_spark_lists_are_checked_by_nobody_but_us(
    hadoop: api.Options, tmp_path: Path
) -> None:
    # Hadoop's own check of .crc files would fail the job.
    path = copy_of("agg_update", tmp_path)
    assert (path / "state/0/0/.1.delta.crc").is_file()
    delta = path / "state/0/0/1.delta"
    delta.write_bytes(b"junk" + delta.read_bytes()[4:])
    problems = said(api.verify(str(path), hadoop))["problems"]
    assert "bad-frame" in cell_values(problems, "problem")


@pytest.mark.parametrize("command", ["audit", "rows", "diff"])
def test_a_query_that_has_written_no_state_yet(
    command: str, hadoop: api.Options, tmp_path: Path
) -> None:
    path = Path(plain_copy("dedup_event_time", tmp_path / "mine"))
    for folder in path.glob("state/0/[1-9]*"):
        shutil.rmtree(folder)
    for pattern in ("state/0/0/*.*", "commits/*", "offsets/[1-9]*"):
        for file in path.glob(pattern):
            file.unlink()
    assert_same(command, str(path), hadoop)


def test_a_file_that_is_gone_since_it_was_listed(hadoop: api.Options, tmp_path: Path) -> None:
    path = plain_copy("agg_append", tmp_path / "mine")
    runs = [Run.start(path, hadoop), Run.start(path, None)]
    Path(path, "state/0/1/4.delta").unlink()
    problems, expected = (run.problems(run.facts()) for run in runs)
    assert problems == expected
    assert MOVED_SLUG in attributes(problems, "slug"), "they were listed again"
    stores = runs[0].checkpoint.layout.stores
    files = attributes(chain(*attributes(stores, "files")), "path")
    assert f"{path}/state/0/1/3.delta" in files
    assert f"{path}/state/0/1/4.delta" not in files


def test_a_file_of_many_pieces(hadoop: api.Options, tmp_path: Path) -> None:
    path = plain_copy("agg_append", tmp_path / "mine")
    noise = random.Random(0)
    entries = [(b"%d" % i, noise.randbytes(400_000)) for i in range(9)]
    replace_state(Path(path), None, {(0, 1): entries})
    file = Path(path, "state/0/0/1.delta")
    assert file.stat().st_size > 2 * CHUNK_BYTES
    assert_same("verify", path, hadoop)


def test_a_file_above_spark_s_limit_is_named_before_any_job(
    spark: Any, hadoop: api.Options, tmp_path: Path
) -> None:
    path = plain_copy("agg_append", tmp_path / "mine")
    with Path(path, "state/0/1/4.delta").open("ab") as file:
        file.truncate(200_000)
    name = "spark.sql.sources.binaryFile.maxLength"
    spark.conf.set(name, "100000")
    try:
        with pytest.raises(EngineError) as caught:
            api.verify(path, hadoop)
    finally:
        spark.conf.unset(name)
    assert str(caught.value).startswith(f"{path}/state/0/1/4.delta: file has 200,000 bytes")
    assert "at most 100,000" in str(caught.value)


@pytest.mark.parametrize("below", ["state", "state/0/1", "state/0/1/5.delta", "offsets"])
def test_paths_below_the_root(below: str, hadoop: api.Options, tmp_path: Path) -> None:
    path = plain_copy("agg_append", tmp_path / "mine")
    run = Run.start(f"{path}/{below}", hadoop)
    expected = Run.start(f"{path}/{below}", None)
    assert run.checkpoint.root == expected.checkpoint.root == path
    assert run.checkpoint.selection == expected.checkpoint.selection
    assert run.version == expected.version


@pytest.mark.parametrize(
    ("below", "words"),
    [
        ("", "got none of 'metadata', 'offsets', 'commits' and 'state' at this path as Spark"),
        ("nothing", "got none of 'metadata'"),
        ("a[b]c", "got none of 'metadata'"),
        ("mine/state/0/7", "got nothing at this path, expected a part of "),
    ],
)
def test_other_paths_are_no_checkpoints(
    below: str, words: str, hadoop: api.Options, tmp_path: Path
) -> None:
    plain_copy("agg_append", tmp_path / "mine")
    with pytest.raises(NotACheckpointError) as caught:
        Run.start(str(tmp_path / below), hadoop)
    assert str(caught.value).startswith(f"{tmp_path / below}: {words}")
    assert "inspector-" not in str(caught.value)


def test_what_spark_cannot_list_is_said_without_passwords(hadoop: api.Options) -> None:
    with pytest.raises(EngineError, match="Spark cannot list it: ") as caught:
        Run.start("nosuch://me:secretword@host/path", hadoop)
    assert "secretword" not in str(caught.value)


def test_unreadable_files_of_a_partition_are_an_error_without_passwords(
    hadoop: api.Options, tmp_path: Path
) -> None:
    from inspector.engines.hadoop import HadoopFiles

    opened = Run.start(plain_copy("agg_append", tmp_path / "mine"), hadoop)
    error = RuntimeError("no file system for nosuch://me:secretword@host/path")
    with (
        mock.patch.object(HadoopFiles, "_read", side_effect=error),
        pytest.raises(EngineError, match="Spark cannot read files of a partition: ") as caught,
    ):
        list(api.rows(opened).primary.rows)
    assert "secretword" not in str(caught.value)


def test_options_of_fsspec_are_refused(spark: Any) -> None:
    engine_options = EngineOptions(session=spark, io="hadoop")
    options = api.Options(storage_options={"key": "x"}, engine=engine_options)
    with pytest.raises(EngineError, match="--storage-option is for fsspec"):
        api.verify(str(checkpoint_of("agg_append")), options)


def test_nothing_is_left_and_the_session_is_as_it_was(
    spark: Any, hadoop: api.Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    run = Run.start(str(checkpoint_of("agg_append")), hadoop)
    assert attributes(tmp_path.glob("inspector-listing-*"), "name")
    assert run.facts().versions
    assert spark.conf.get(name) == before
    del run
    gc.collect()
    assert list(tmp_path.glob("inspector-*")) == []


def test_spark_puts_the_partition_keys_where_they_should_go(spark: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    keys = partition_keys(50)
    rows = list(zip(keys, strict=True))
    frame = spark.createDataFrame(rows, "key int").repartition(50, "key")
    places = dict(frame.select("key", F.spark_partition_id()).collect())
    assert list(map(places.get, keys)) == list(range(50))


# --- a query that commits batches, and removes old ones, between Spark's requests ----------------

SLOWLY = Fraction(1, 6)
"""Batches that pass with each request: a table is read in seven or eight."""

WRITTEN = {"export": ("export", "rows"), "leftovers": ("leftovers", "-o", "parquet")}
"""What executors write."""


def endless(folder: Path) -> Endless:
    """A query with a group state, whose watermark is behind all timers."""
    query = Endless(
        "fmgws_snapshots_cleaned", 12, folder / "checkpoint", watermark_ms=1_904_067_279_000
    )
    for _ in range(6):
        query.go_on()
    return query


@pytest.mark.parametrize("command", ["changes", "leftovers"])
def test_tables_are_of_one_batch_or_not_there(
    command: str, hadoop: api.Options, tmp_path: Path
) -> None:
    where = ("value.groupState.visits > 0",) if command == "leftovers" else ()
    options = replace(hadoop, where=where)
    for batches in (SLOWLY, TOO_SLOW):
        query = endless(tmp_path / str(batches.numerator))
        path, begun = str(query.root), query.batch
        quiet = said(COMMANDS[command](path, replace(options, engine=EngineOptions())))
        messages: Any = None
        with before_each_request(slowed(query, batches)), suppress(OutpacedError):
            messages = said(COMMANDS[command](path, options))
            assert faults(messages) == []
        assert query.batch > begun
        if batches is TOO_SLOW:
            assert messages is None or "outpaced" in cell_values(messages["problems"], "problem")
        else:
            assert counts(messages) == counts(quiet)
            assert any(counts(messages).values())


@pytest.mark.parametrize(
    ("command", "batches"), [("export", SLOWLY), ("export", TOO_SLOW), ("leftovers", SLOWLY)]
)
@pytest.mark.usefixtures("spark")
def test_what_executors_write_is_of_one_batch_or_not_there(
    command: str, batches: Fraction, tmp_path: Path
) -> None:
    query = endless(tmp_path)
    words = [*WRITTEN[command], str(query.root), "-O", str(tmp_path / "out"), "--engine", "spark"]
    with before_each_request(slowed(query, batches)):
        outcome = run_command(*words, "--io", "hadoop")
    assert "problem: " not in outcome.err
    assert (outcome.code, OUTPACED in outcome.err) in ((0, False), (4, True))
    assert (tmp_path / "out").exists() == (outcome.code == 0)
    assert batches is SLOWLY or outcome.code == 4


def counts(report: Any) -> dict[str, int]:
    """How many rows each table of a report has."""
    tables = {"": report["rows"], **report["tables"]}
    return {name: len(rows) for name, rows in tables.items()}


@contextmanager
def before_each_request(act: Callable[[Any, str], None]) -> Iterator[None]:
    """Call ``act`` before Spark is asked what lies in a folder, to list it or to read it."""
    from inspector.engines.hadoop import HadoopFiles

    read = HadoopFiles._read

    def asked(self: HadoopFiles, *paths: str) -> Any:
        act(self, paths[0])
        return read(self, *paths)

    with mock.patch.object(HadoopFiles, "_read", asked):
        yield
