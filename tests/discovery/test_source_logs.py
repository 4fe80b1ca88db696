"""Folders of sources, and source logs that are lost."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import api
from inspector.discovery.checkpoint import Checkpoint, open_checkpoint
from inspector.discovery.query_sources import query_sources
from inspector.discovery.restart import restart_of
from inspector.discovery.source_logs import source_folders, source_log_gaps
from tests.attributes import attributes
from tests.cli.support import run
from tests.fixture_folder import FIXTURES
from tests.reports import damage_ids, finding_ids, findings_with_id

RATE, KAFKA, VOID = "1500", '{"orders":{"0":5}}', "-"
V2 = '"spark.sql.streaming.offsetLog.formatVersion":"2"'
EVOLUTION = '"spark.sql.streaming.queryEvolution.enableSourceEvolution":"true"'


def file_offset(entry: int) -> str:
    return f'{{"logOffset":{entry}}}'


def write_checkpoint(
    root: Path,
    entries: Sequence[Sequence[str]],
    logs: Mapping[str, Iterable[int | str]],
    *,
    version: int = 1,
    conf: str = "",
) -> Checkpoint:
    """Write a stateless checkpoint with these lines of offset entries and these source logs."""
    (root / "offsets").mkdir(parents=True)
    (root / "commits").mkdir()
    (root / "metadata").write_text('{"id":"11111111-1111-1111-1111-111111111111"}')
    header = f'{{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{{{conf}}}}}'
    for batch, lines in enumerate(entries):
        text = "\n".join([f"v{version}", header, *lines])
        (root / "offsets" / str(batch)).write_text(text)
        (root / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    for folder, names in logs.items():
        (root / "sources" / folder).mkdir(parents=True)
        for name in names:
            path = f"file:///in/{folder}/{name}.json"
            entry = f'v1\n{{"path":"{path}","timestamp":1,"batchId":{name}}}'
            (root / "sources" / folder / str(name)).write_text(entry)
    return open_checkpoint(str(root))


def lost_logs(checkpoint: Checkpoint) -> list[str]:
    newest = checkpoint.logs.last_offset
    assert newest is not None
    return [*source_log_gaps(checkpoint, newest)]


ZERO, ONE, TWO = file_offset(0), file_offset(1), file_offset(2)
SAME = [[ZERO, ZERO], [ONE, ONE], [TWO, TWO]]  # both lines have one offset in all entries
DISTINCT = [[ZERO, ZERO], [ONE, ONE], [TWO, ONE]]
AAB = [[ZERO, ZERO, ZERO], [ONE, ONE, ONE], [TWO, TWO, ONE]]
ABA = [[ZERO, ZERO, ZERO], [ONE, ONE, ONE], [TWO, ONE, TWO]]
RATE_A_A = [["15000", ZERO, ZERO], ["15001", ONE, ONE], ["15002", TWO, TWO]]
WITH_VOID = [[VOID, file_offset(0), file_offset(0)]] * 3


@pytest.mark.parametrize(
    ("entries", "logs", "folders"),
    [
        (SAME, {"0": range(3)}, "00"),  # s.union(s)
        (SAME, {"0": range(3), "1": range(3)}, "01"),  # two sources, or a self-join
        (DISTINCT, {"0": range(3), "1": range(2)}, "01"),
        (AAB, {"0": range(3), "1": range(2)}, "001"),
        (ABA, {"0": range(3), "1": range(2)}, "010"),
        (RATE_A_A, {"0": [0], "1": range(3)}, "011"),
        (RATE_A_A, {"1": range(3)}, "011"),  # rate-micro-batch has no folder
        (WITH_VOID, {"1": [0]}, "011"),
        ([[file_offset(11)] * 2], {"0": ["9.compact", 10, 11]}, "00"),
    ],
)
def test_folders_of_sources_in_offset_log_v1(
    tmp_path: Path,
    entries: list[list[str]],
    logs: Mapping[str, Iterable[int | str]],
    folders: str,
) -> None:
    """Spark 4.3.0 wrote these folders."""
    checkpoint = write_checkpoint(tmp_path, entries, logs)
    result = source_folders(checkpoint, len(entries) - 1)
    assert "".join(result.folders.values()) == folders
    assert result.lost == ()
    assert restart_of(checkpoint).possible is True


@pytest.mark.parametrize(
    ("newest", "possible", "words"),
    [
        # Spark 4.3.0 uses the last line of a source that is used twice.
        ((0, 2), True, "the same in all entries but the newest one and only sources/0 is there"),
        ((2, 0), False, "source 1 goes back from 1 to 0"),
        ((0, 0), False, "source 1 goes back from 1 to 0"),
        ((2, 1), False, "the checkpoint lacks sources/1"),  # no line goes back: the sources are two
    ],
)
def test_offsets_of_a_source_used_twice_that_go_back(
    tmp_path: Path, newest: tuple[int, int], possible: bool, words: str
) -> None:
    first, second = newest
    entries = [*SAME[:2], [file_offset(first), file_offset(second)]]
    restart = restart_of(write_checkpoint(tmp_path, entries, {"0": range(3)}))
    assert restart.possible is possible
    assert words in restart.sentence


def test_lost_newest_source_log_entry_is_a_warning(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, [[ZERO], [ONE], [ONE]], {"0": [0]})
    (finding,) = findings_with_id(api.audit(str(tmp_path)), "SS120")
    assert finding.severity.word == "warning"
    assert "The entry sources/0/1 is missing" in finding.cause
    assert "are never read" in finding.cause


@pytest.mark.parametrize(
    ("entries", "logs", "lost"),
    [
        (SAME, {}, "sources/0"),
        (SAME, {"0": [0, 1]}, "sources/0/2"),
        (SAME, {"0": [1, 2]}, "sources/0/0"),
        (SAME, {"0": range(3), "1": range(2)}, "sources/1/2"),
        (SAME, {"1": range(3)}, "sources/0"),
        (DISTINCT, {"0": range(3)}, "sources/1"),
        (DISTINCT, {"1": range(2)}, "sources/0"),
        (DISTINCT, {"0": range(3), "1": [1]}, "sources/1/0"),
        (AAB, {"0": range(3)}, "sources/1"),
        (RATE_A_A, {"0": [0]}, "sources/1"),
        # The third folder shows that there are three sources.
        ([[file_offset(0)] * 3], {"0": [0], "2": [0]}, "sources/1"),
    ],
)
def test_lost_source_logs_in_offset_log_v1(
    tmp_path: Path,
    entries: list[list[str]],
    logs: Mapping[str, Iterable[int | str]],
    lost: str,
) -> None:
    checkpoint = write_checkpoint(tmp_path, entries, logs)
    assert lost_logs(checkpoint) == [lost]
    assert f"the checkpoint lacks {lost}." in restart_of(checkpoint).sentence


@pytest.mark.parametrize(
    ("lines", "logs", "folders", "lost"),
    [
        # In the files of Spark 4.3.0, each line has the position of the last use of its source.
        (["1:" + file_offset(1)], {"0": range(2)}, {"1": "0"}, []),
        (["1:" + file_offset(1)], {}, {}, ["sources/0"]),
        (
            ["1:" + file_offset(1), "0:" + file_offset(1)],
            {"0": range(2), "1": range(2)},
            {"1": "1", "0": "0"},
            [],
        ),
        (["1:" + file_offset(1), "0:" + file_offset(1)], {"0": range(2)}, None, ["sources/1"]),
        (
            ["1:" + file_offset(0), "2:" + file_offset(1)],  # a, b, a
            {"0": range(2), "1": range(1)},
            {"1": "1", "2": "0"},
            [],
        ),
        (
            ["1:" + file_offset(1), "2:" + file_offset(0)],  # a, a, b
            {"0": range(2), "1": range(1)},
            {"1": "0", "2": "1"},
            [],
        ),
        (["1:" + file_offset(1), "2:" + file_offset(0)], {"0": range(2)}, {}, ["sources/1"]),
        (["0:" + RATE, "2:" + file_offset(0)], {"0": [0], "1": [0]}, {"0": "0", "2": "1"}, []),
        (['1:{"offset":5,"timestamp":0}', "2:" + file_offset(0)], {"0": [0]}, None, []),
        ([f"{1 << 40}:" + file_offset(0)], {"0": [0]}, {}, []),  # a position that is too large
    ],
)
def test_folders_of_sources_in_offset_log_v2(
    tmp_path: Path,
    lines: list[str],
    logs: Mapping[str, Iterable[int | str]],
    folders: Mapping[str, str] | None,
    lost: list[str],
) -> None:
    checkpoint = write_checkpoint(tmp_path, [lines], logs, version=2, conf=V2)
    assert lost_logs(checkpoint) == lost
    if folders is not None:
        assert source_folders(checkpoint, 0).folders == folders


def test_folders_of_named_sources(tmp_path: Path) -> None:
    lines = ["1:" + file_offset(1), "alpha:" + file_offset(0)]
    logs = {"1": range(2), "alpha": range(1)}
    checkpoint = write_checkpoint(tmp_path / "a", [lines], logs, version=2, conf=EVOLUTION)
    assert source_folders(checkpoint, 0).folders == {"1": "1", "alpha": "alpha"}
    lines = ["1:" + file_offset(1)]
    checkpoint = write_checkpoint(tmp_path / "b", [lines], {"0": [0, 1]}, version=2, conf=EVOLUTION)
    assert lost_logs(checkpoint) == ["sources/1"]


def test_source_used_twice_names_its_files_once(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path, SAME, {"0": range(3)})
    (tmp_path / "commits/2").unlink()
    checkpoint = open_checkpoint(str(tmp_path))
    text = restart_of(checkpoint).unfinished_text
    assert "It reads the files that sources/0/2 names." in text
    assert attributes(query_sources(checkpoint, 2), "place") == ["file:///in/0"] * 2


def test_commands_on_a_file_source_that_is_used_twice(tmp_path: Path) -> None:
    """``s.union(s)``: Spark 4.3.0 restarts, and made ``sources/0`` alone."""
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / "4.3.0/agg_update/checkpoint", root)
    (root / "sources/0").mkdir(parents=True)
    for batch in range(10):
        path = root / "offsets" / str(batch)
        path.with_name(f".{batch}.crc").unlink(missing_ok=True)
        lines = path.read_text().splitlines()[:2]
        path.write_text("\n".join([*lines, file_offset(batch), file_offset(batch)]))
        line = f'{{"path":"file:///in/{batch}.json","timestamp":1,"batchId":{batch}}}'
        (root / f"sources/0/{batch}").write_text(f"v1\n{line}")
    assert damage_ids(api.audit(str(root))) == set()
    assert api.copy(str(root), str(tmp_path / "copy")).summary["written"]
    result = run("preflight", root, root, "-o", "json")
    assert '"SS488"' not in result.out
    assert '"SS414"' not in result.out
    shutil.rmtree(root / "sources/0")
    assert finding_ids(api.audit(str(root)))[0] == "SS120"


LINES = st.sampled_from([VOID, RATE, KAFKA, *map(file_offset, (0, 1, 2, 11)), '{"logOffset":-1}'])


@given(
    entries=st.lists(st.lists(LINES, max_size=6), min_size=1, max_size=3),
    logs=st.dictionaries(
        st.sampled_from("01234"), st.sets(st.integers(0, 4), max_size=4), max_size=5
    ),
    positions=st.sets(st.integers(0, 12), min_size=6, max_size=6),
    version=st.sampled_from([1, 2]),
)
def test_any_sources_have_folders_or_lost_logs(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[list[str]],
    logs: dict[str, set[int]],
    positions: set[int],
    version: int,
) -> None:
    if version == 2:
        names = sorted(positions)
        entries = [[f"{names[n]}:{line}" for n, line in enumerate(lines)] for lines in entries]
    root = tmp_path_factory.mktemp("sources") / "checkpoint"
    checkpoint = write_checkpoint(root, entries, logs, version=version)
    result = source_folders(checkpoint, len(entries) - 1)
    assert all(path.startswith("sources/") for path in (*result.lost, *result.doubtful))
    assert len({*result.lost, *result.doubtful}) == len(result.lost) + len(result.doubtful)
    shutil.rmtree(root)
