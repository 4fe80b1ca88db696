"""``copy`` in another form by an engine that moves the rows itself: the source is read once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses.copy import _Copy, evicting, reshaping
from inspector.api import CheckpointError, Options
from inspector.checkpoint.destination import Destination
from inspector.engines import choose
from inspector.engines.choose import EngineOptions
from inspector.exceptions import RowError, SourceNotWholeError
from inspector.model import Redact
from tests.analyses.test_copy import checkpoint
from tests.attributes import attributes
from tests.engines.sorting_engine import SortingEngine

FAULT_RANK = reshaping._FAULT_RANK
SORTED, SENT = "run_sorting", "run_sending"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> SortingEngine:
    """Replace the engine of ``--engine spark`` by one that sorts in this process."""
    result = SortingEngine()
    monkeypatch.setattr(choose, "_spark", lambda *_: result)
    return result


@pytest.fixture
def no_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every write of a file an error."""

    def write(_: Any, relative: str, *_chunks: Any) -> int:
        raise AssertionError(f"{relative} is written")

    monkeypatch.setattr(Destination, "write", write)


def copy(
    root: Path | str, dest: Path, name: str = "spark", key: tuple[str, ...] = (), **words: Any
) -> Any:
    """Copy a checkpoint with an engine and return the report; ``key`` names keys to evict."""
    options = Options(engine=EngineOptions(name), key=key)
    return api.copy(str(root), str(dest), options, **words)


def refusal(
    root: Path, tmp_path: Path, error: type[Exception] = CheckpointError, **words: Any
) -> str:
    """Return the message of a refused copy, and check that nothing of the copy is left."""
    dest = tmp_path / "copies" / "copy"
    dest.parent.mkdir()
    with pytest.raises(error) as raised:
        copy(root, dest, **words)
    assert list(dest.parent.iterdir()) == []
    return str(raised.value)


def rows_files(root: Path) -> dict[str, bytes]:
    """Return the content of each file with rows by its path; checksum files may contain a time."""
    files = (path for name in ("*.delta", "*.changelog", "*.snapshot") for path in root.rglob(name))
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("agg_update", {"partitions": 5}),
        ("join_left_outer", {"partitions": 3}),
        ("rocksdb_tws_event", {"partitions": 7}),
        ("rocksdb_agg_update", {"provider": "hdfs"}),
        ("agg_update", {"partitions": 3, "provider": "rocksdb"}),
    ],
)
def test_spark_engine_reads_the_source_once_and_writes_equal_files(
    case: str, words: dict[str, Any], engine: SortingEngine, tmp_path: Path
) -> None:
    root, moved, here = checkpoint(case), tmp_path / "moved", tmp_path / "here"
    report = copy(root, moved, **words)
    expected = copy(root, here, "local", **words)
    assert engine.functions.count(SENT) == 1
    assert SORTED not in engine.functions
    assert rows_files(moved) == rows_files(here)
    rows = report.summary["rows"], report.primary.rows
    assert rows == (expected.summary["rows"], expected.primary.rows)
    assert report.summary["rows"] > 0
    assert len(rows_files(here)) >= report.summary.get("partitions", 1)


@pytest.mark.parametrize("plan", [False, True])
@pytest.mark.parametrize("words", [{"partitions": 3}, {"provider": "rocksdb"}])
def test_spark_engine_evicts_leftovers_in_one_reading(
    plan: bool, words: dict[str, Any], engine: SortingEngine, tmp_path: Path
) -> None:
    words = words | {"evict": "leftovers", "plan": plan}
    report = copy(checkpoint("fmgws_event_ignore"), tmp_path / "moved", **words)
    assert SORTED not in engine.functions
    assert report.summary["evicted_rows"] > 0
    expected = copy(checkpoint("fmgws_event_ignore"), tmp_path / "here", "local", **words)
    assert attributes(report.tables, "rows") == attributes(expected.tables, "rows")
    assert rows_files(tmp_path / "moved") == rows_files(tmp_path / "here")


def test_named_keys_are_searched_before_rows_are_moved(
    engine: SortingEngine, tmp_path: Path
) -> None:
    root = checkpoint("fmgws_event_ignore")
    row = next(iter(api.rows(str(root), Options(redact=Redact.NONE)).primary.rows))
    key = tuple(f"{name}={value}" for name, value in row["key"].items())
    words: dict[str, Any] = {"partitions": 3}
    report = copy(root, tmp_path / "moved", key=key, **words)
    assert engine.functions.index(SORTED) < engine.functions.index(SENT)
    assert report.summary["evicted_rows"] == 1


@pytest.mark.usefixtures("no_writing")
def test_nothing_to_evict_moves_no_rows(engine: SortingEngine, tmp_path: Path) -> None:
    report = copy(checkpoint("agg_update"), tmp_path / "copy", partitions=3, evict="leftovers")
    assert SENT not in engine.functions
    assert report.nothing_done
    assert report.summary["rows"] > 0
    assert list(tmp_path.iterdir()) == []


def test_leftovers_missing_in_the_tasks_discard_the_copy(
    engine: SortingEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The audit has counted leftovers, and the tasks find none."""
    monkeypatch.setattr(evicting, "_leftovers", lambda *_: {})
    words: dict[str, Any] = {"partitions": 3, "evict": "leftovers"}
    report = copy(checkpoint("fmgws_event_ignore"), tmp_path / "copy", **words)
    assert engine.functions.count(SENT) == 1
    assert report.nothing_done
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_writing")
def test_plan_reads_the_source_once_and_writes_nothing(
    engine: SortingEngine, tmp_path: Path
) -> None:
    report = copy(checkpoint("agg_update"), tmp_path / "copy", plan=True, partitions=5)
    assert engine.functions.count(SENT) == 1
    assert report.summary["written"] is False
    assert report.summary["rows"] > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_writing")
def test_row_without_a_known_partition_stops_all_writers(
    engine: SortingEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reshaping, "partition_key", lambda *_: None)
    message = refusal(checkpoint("agg_update"), tmp_path, partitions=3)
    assert "operator 0, store default, partition 0" in message
    assert "Copy it without --partitions" in message
    faults = {row[1] for row in engine.sent if row[2] == FAULT_RANK}
    assert faults == {0, 1, 2}


@pytest.mark.usefixtures("no_writing", "engine")
def test_file_that_breaks_after_the_audit_stops_all_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(shutil.copytree(checkpoint("agg_update"), tmp_path / "checkpoint"))
    newest = max(root.glob("state/0/1/*.delta"), key=lambda path: int(path.stem))

    def break_file(*_: object) -> None:
        newest.write_bytes(b"broken")

    monkeypatch.setattr(_Copy, "_check_whole", break_file)
    message = refusal(root, tmp_path, SourceNotWholeError, partitions=3)
    assert str(newest) in message


@pytest.mark.usefixtures("no_writing", "engine")
def test_values_that_cannot_be_converted_stop_all_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RowError("a row that is too short")

    monkeypatch.setattr("inspector.passes.state_formats.Converter.convert", fail)
    message = refusal(checkpoint("agg_v1"), tmp_path, state_format="2")
    assert "cannot be converted to format 2: a row that is too short" in message


def test_lost_parcels_discard_the_copy(engine: SortingEngine, tmp_path: Path) -> None:
    engine.lost_targets = {1}
    message = refusal(checkpoint("agg_update"), tmp_path, SourceNotWholeError, partitions=3)
    assert "the rows that were written are not those that were read" in message


def test_pandas_is_not_loaded_by_tasks_that_move_rows(tmp_path: Path) -> None:
    """Pandas takes 50 MB and half a second in each Python worker of Spark."""
    root, dest = checkpoint("agg_update"), tmp_path / "copy"
    program = (
        "import sys; from inspector import api; from inspector.engines import choose; "
        "from tests.engines.sorting_engine import SortingEngine; "
        "choose._spark = lambda *_: SortingEngine(); "
        "options = api.Options(engine=choose.EngineOptions('spark')); "
        f"api.copy({str(root)!r}, {str(dest)!r}, options, partitions=3); "
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)
