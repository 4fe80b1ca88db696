"""Options, paths and numbers of partitions on which a restart depends."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import api
from inspector.checkpoint.log_checks import has_equal_gaps
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.restart import Restart, restart_of
from inspector.discovery.restart_conditions import path_of
from inspector.findings.finding import Severity
from inspector.findings.verdict import Level
from inspector.model import BatchId
from tests.attributes import attributes
from tests.checkpoint_files import remove_paths, substitute
from tests.cli.support import run
from tests.fixture_folder import FIXTURES
from tests.reports import finding_ids, findings_with_id
from tests.rocks_damage import restart_in

AGGREGATION, TRANSFORM, NAMED = "4.3.0/agg_update", "4.3.0/rocksdb_tws_event", "4.3.0/named_source"
SHUFFLE = "spark.sql.shuffle.partitions"
SINKS = "spark.sql.streaming.queryEvolution.enableSinkEvolution"
SOURCES = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
HEADER = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{"a.conf":"2"}}'


def copy(tmp_path: Path, case: str) -> Path:
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / case / "checkpoint", root)
    return root


def edit(path: Path, pattern: str, text: str) -> None:
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.write_text(re.sub(pattern, text, path.read_text("utf-8")), "utf-8")


def entries(root: Path, log: str) -> list[Path]:
    return sorted((root / log).glob("[0-9]*"), key=lambda path: int(path.name))


def restart(root: Path, location: str | None = None) -> Restart:
    return restart_of(open_checkpoint(str(root)), restart_path=location)


def rules(old: Path, **options: Any) -> dict[str, str]:
    return {row["rule"]: row["verdict"] for row in api.preflight(str(old), **options).primary.rows}


def stateless(root: Path, offsets: Iterable[int], commits: Iterable[int]) -> Path:
    """Write a query without state with these entries in its logs."""
    for log, batches in (("offsets", offsets), ("commits", commits)):
        (root / log).mkdir(parents=True)
        for batch in batches:
            tail = f"{HEADER}\n{batch}" if log == "offsets" else '{"nextBatchWatermarkMs":0}'
            (root / log / str(batch)).write_text(f"v1\n{tail}", "utf-8")
    (root / "metadata").write_text('{"id":"3213a404-e99a-4381-a6ba-59542cfc3041"}', "utf-8")
    return root


# The commit log of format 3


def with_sinks(root: Path) -> Path:
    sink = {"sinkName": "sink-0", "commitOffset": "-", "isActive": True}
    for path in entries(root, "commits"):
        fields = json.loads(path.read_text("utf-8").partition("\n")[2])
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_text(f"v3\n{json.dumps({**fields, 'sinkMetadataMap': {'sink-0': sink}})}")
    return root


def test_a_commit_log_of_format_3_needs_sink_evolution(tmp_path: Path) -> None:
    result = restart(with_sinks(copy(tmp_path, AGGREGATION)))
    assert result.possible is True
    assert not result.is_plain
    assert f"yes, with {SINKS}=true, from " in result.sentence
    assert "each attempt runs the batch, writes its output and fails at its commit" in (
        result.sentence
    )


def test_older_commit_of_format_3_needs_no_option(tmp_path: Path) -> None:
    root = copy(tmp_path, AGGREGATION)
    newest = entries(root, "commits")[-1]
    content = newest.read_bytes()
    with_sinks(root)
    newest.write_bytes(content)
    assert restart(root).conditions == ()


def test_preflight_of_sink_evolution(tmp_path: Path) -> None:
    root = with_sinks(copy(tmp_path, AGGREGATION))
    assert rules(root)["SS478"] == "option"
    assert api.preflight(str(root)).summary["verdict"] == "option"
    assert rules(root, conf={SINKS: "false"})["SS479"] == "refused"
    on = api.preflight(str(root), conf={SINKS: "true"}).summary
    assert (on["verdict"], on.get("lines_option")) == ("ok", None)


def test_json_has_restart_options_only_if_needed(tmp_path: Path) -> None:
    root = copy(tmp_path, AGGREGATION)

    def of_restart() -> Any:
        return run("audit", root, "-o", "json").json["verdict"]["restart"]

    assert "options" not in of_restart()
    with_sinks(root)
    assert of_restart()["options"] == [f"{SINKS}=true"]


# Named sources


def test_named_sources_need_source_evolution() -> None:
    root = FIXTURES / NAMED / "checkpoint"
    recorded = open_checkpoint(str(root)).logs
    newest = recorded.confs[max(recorded.confs)]
    expected = (f"{SOURCES}=true",) if newest.get(SOURCES) == "true" else ()
    assert tuple(map(str, restart(root).conditions)) == expected


def test_log_with_source_evolution_needs_the_option(tmp_path: Path) -> None:
    root = copy(tmp_path, AGGREGATION)
    edit(entries(root, "offsets")[-1], f'"{SOURCES}":"false"', f'"{SOURCES}":"true"')
    assert f"yes, with {SOURCES}=true" in restart(root).sentence
    assert rules(root)["SS453"] == "option"
    assert "SS453" not in rules(root, conf={SOURCES: "true"})
    assert rules(root, conf={SOURCES: "false"})["SS491"] == "refused"


# The number of partitions


def without_count(root: Path, version: int = 2) -> Path:
    for path in entries(root, "offsets"):
        edit(path, f',?"{re.escape(SHUFFLE)}":"\\d+"', "")
        edit(path, "^v1", f"v{version}")
        if version > 1:
            edit(path, r"\n([^{\n].*|\{\"logOffset.*)$", r"\n0:\1")
    return root


def test_number_of_partitions_from_the_metadata(tmp_path: Path) -> None:
    root = without_count(copy(tmp_path, AGGREGATION))
    assert restart(root).is_plain
    assert rules(root, conf={SHUFFLE: "5"})["SS474"] == "ignored"
    assert rules(root, conf={SHUFFLE: "5"}, to_spark="4.2")["SS475"] == "unknown"
    assert rules(root, to_spark="4.2.0")["SS475"] == "unknown"
    assert not {"SS474", "SS475"} & set(rules(root, to_spark="4.2.1"))
    assert rules(root, conf={SHUFFLE: "5"}, to_spark="4.2.1")["SS474"] == "ignored"


def test_number_of_partitions_without_metadata_is_lost(tmp_path: Path) -> None:
    root = without_count(copy(tmp_path, AGGREGATION))
    shutil.rmtree(root / "state/0/_metadata")
    result = restart(root)
    assert result.possible is False
    assert "Failed to recover the state-store partition count" in result.sentence
    assert rules(root)["SS473"] == "refused"


def test_partition_named_by_metadata_is_needed(
    tmp_path: Path,
) -> None:
    root = without_count(copy(tmp_path, AGGREGATION))
    edit(root / "state/0/_metadata/metadata", r'"numPartitions":\d+', '"numPartitions":5')
    result = restart(root)
    assert "partition 2 lacks 1.delta (CANNOT_READ_DELTA_FILE_NOT_EXISTS)" in result.sentence


def test_number_of_partitions_from_the_session_in_format_1(tmp_path: Path) -> None:
    root = without_count(copy(tmp_path, AGGREGATION), version=1)
    assert f"yes, with {SHUFFLE}=2" in restart(root).sentence
    assert rules(root)["SS476"] == "option"
    assert rules(root, conf={SHUFFLE: "5"})["SS477"] == "refused"


# Asynchronous progress tracking


def test_equal_gaps_without_state_are_no_damage(tmp_path: Path) -> None:
    root = stateless(tmp_path / "checkpoint", (0, 2, 3, 5), (0, 2, 3, 5))
    audit = api.audit(str(root))
    assert audit.level is Level.OK
    assert not audit.problems
    result = restart(root)
    assert "Restarts from batch 6: yes, with asyncProgressTrackingEnabled=true" in result.sentence
    assert "Spark needs offsets/4, which such a query does not write" in result.sentence
    assert rules(root)["SS472"] == "option"


@pytest.mark.parametrize("commits", [(3,), ()])
def test_only_entry_of_the_offset_log_needs_asynchronous_progress(
    commits: tuple[int, ...], tmp_path: Path
) -> None:
    """Spark 4.3.0 restarts with the option. Without it, Spark fails: "batch 2 doesn't exist"."""
    root = stateless(tmp_path / "checkpoint", (3,), commits)
    result = restart(root)
    assert result.possible is True
    assert "yes, with asyncProgressTrackingEnabled=true" in result.sentence
    assert rules(root)["SS472"] == "option"
    assert rules(root, mode="micro-batch")["SS513"] == "refused"
    assert "SS516" not in rules(root, mode="async")


def test_lost_entry_beside_an_older_commit_is_refused(tmp_path: Path) -> None:
    assert restart(stateless(tmp_path / "checkpoint", (3,), (2, 3))).possible is False


def test_previous_entry_needs_no_asynchronous_progress(tmp_path: Path) -> None:
    root = stateless(tmp_path / "checkpoint", (0, 2, 4, 5), (0, 2, 4, 5))
    assert restart(root).conditions == ()
    assert restart(root).possible is True


@pytest.mark.parametrize(
    ("offsets", "commits", "remaining", "planned"),
    [
        ((0, 2, 3, 5), (0, 2, 3, 5), [{"3", "5"}, {"3", "5"}], None),
        ((0, 3, 6, 9), (0, 3, 6), [{"3", "6", "9"}, {"3", "6"}], 9),
        ((0, 4), (0,), [{"0", "4"}, {"0"}], 4),
    ],
)
def test_a_copy_with_equal_gaps_restarts_as_its_source(
    offsets: tuple[int, ...],
    commits: tuple[int, ...],
    remaining: list[set[str]],
    planned: int | None,
    tmp_path: Path,
) -> None:
    """A batch that was planned and not committed is copied, whatever its number."""
    root, dest = stateless(tmp_path / "checkpoint", offsets, commits), tmp_path / "copy"
    report = api.copy(str(root), str(dest), stopped=True)
    assert set(attributes(entries(dest, "offsets"), "name")) == remaining[0]
    assert set(attributes(entries(dest, "commits"), "name")) == remaining[1]
    assert report.summary.get("planned_batch") == planned
    assert restart(dest).sentence == restart(root).sentence


def test_planned_batch_after_equal_gaps_runs_again(tmp_path: Path) -> None:
    root = stateless(tmp_path / "checkpoint", (0, 2, 4, 7), (0, 2, 4))
    result = restart(root)
    assert (result.batch, result.again, result.possible) == (7, True, True)
    assert not api.audit(str(root)).problems


@pytest.mark.parametrize(
    ("offsets", "commits", "lost"),
    [
        ((0, 1, 3), (0, 1, 2, 3), "offsets/2"),
        ((0, 1, 2, 3), (0, 1, 3), "commits/2"),
        ((0, 2, 3), (0, 1, 3), "offsets/1"),
    ],
)
def test_other_gaps_are_damage(
    tmp_path: Path, offsets: tuple[int, ...], commits: tuple[int, ...], lost: str
) -> None:
    report = api.audit(str(stateless(tmp_path / "checkpoint", offsets, commits)))
    assert str(tmp_path / "checkpoint" / lost) in attributes(report.problems, "path")


def test_equal_gaps_of_a_query_with_state_are_damage(tmp_path: Path) -> None:
    root = copy(tmp_path, AGGREGATION)
    newest = int(entries(root, "offsets")[-1].name)
    remove_paths(root, f"offsets/{newest - 1}", f"commits/{newest - 1}")
    result = restart(root)
    assert result.possible is False
    assert f"lacks offsets/{newest - 1}" in result.sentence
    assert "SS111" in finding_ids(api.audit(str(root)))


def test_gaps_are_compared_from_the_oldest_entry_that_both_logs_have() -> None:
    def equal(offsets: Iterable[int], commits: Iterable[int]) -> bool:
        return has_equal_gaps([*map(BatchId, offsets)], [*map(BatchId, commits)])

    assert equal((0, 2), (0, 2))
    assert equal((4, 6, 7), (2, 4, 6))
    assert not equal((0, 1, 2), (0, 1, 2))
    assert not equal((), ())
    assert not equal((0, 2), ())
    assert not equal((0, 2, 4, 5), (0, 2))


# Paths of schemas


def moved_to(root: Path, location: str) -> Path:
    substitute(root, "state/0/_metadata/v2/[0-9]*", r'"[^"]*/state/', f'"{location}/state/')
    return root


def test_transform_with_state_at_its_recorded_path_restarts(tmp_path: Path) -> None:
    root = copy(tmp_path, TRANSFORM)
    assert restart(moved_to(root, f"file:{root}")).is_plain
    assert restart(moved_to(root, f"file://{root}")).is_plain
    assert restart(moved_to(root, str(root))).is_plain


def test_moved_checkpoint_does_not_restart(tmp_path: Path) -> None:
    root = moved_to(copy(tmp_path, TRANSFORM), f"file:{tmp_path}/elsewhere")
    result = restart(root)
    assert result.possible is False
    assert result.is_moved
    assert f"below file:{tmp_path}/elsewhere, where the query ran (FileNotFound" in result.sentence
    assert rules(root)["SS489"] == "refused"
    report = api.audit(str(root))
    assert restart_in(report).possible is restart_in(api.verify(str(root))).possible is False
    (finding,) = findings_with_id(report, "SS120")
    assert finding.severity is Severity.INFO
    assert "inspector copy" in finding.next_step
    assert "looks for the state schemas" in api.info(str(root)).summary["restart"]


def test_folder_of_the_same_name_is_another_path(tmp_path: Path) -> None:
    root = moved_to(copy(tmp_path, TRANSFORM), f"file:{tmp_path}/other/checkpoint")
    assert restart(root).possible is False
    longer = moved_to(root, f"file:/before{root}")
    assert restart(longer).possible is False


def test_copy_restarts_while_schemas_are_at_the_old_path(tmp_path: Path) -> None:
    old = copy(tmp_path / "old", TRANSFORM)
    new = moved_to(copy(tmp_path / "new", TRANSFORM), f"file:{old}")
    assert restart(new).possible is True
    shutil.rmtree(old)
    assert restart(new).possible is False


@pytest.mark.parametrize("case", ["4.3.0/rocksdb_join_left_outer_v3", AGGREGATION])
def test_other_operators_restart_at_any_path(case: str) -> None:
    root = FIXTURES / case / "checkpoint"
    assert restart(root).is_plain
    assert "SS489" not in rules(root)


def test_restart_with_schemas_on_another_storage_is_unknown(tmp_path: Path) -> None:
    root = moved_to(copy(tmp_path, TRANSFORM), "s3a://bucket/checkpoint")
    result = restart(root)
    assert result.possible is None
    assert "unknown, because the metadata of operator 0 names its schemas below s3a://bucket/" in (
        result.sentence
    )
    assert rules(root)["SS471"] == "unknown"
    assert restart(root, location="s3://bucket/checkpoint").possible is True
    assert restart(root, location="s3://other/checkpoint").possible is None


def test_path_of_every_spelling_of_a_url() -> None:
    assert path_of("file:/a/b") == path_of("file:///a/b/") == path_of("/a/b") == "/a/b"
    assert path_of("s3a://bucket/x") == path_of("s3://bucket/x") == "/bucket/x"


def test_hdfs_url_without_name_node_is_the_same_path(tmp_path: Path) -> None:
    root = moved_to(copy(tmp_path, TRANSFORM), "hdfs://namenode:8020/data/ck")
    assert restart(root, location="hdfs:///data/ck").possible is True
    assert restart(root, location="hdfs://namenode:8020/data/ck").possible is True
    assert restart(root, location="hdfs:///data/other").possible is None


@given(st.sampled_from(("", "s3a://", "file:", "abfss://", "dbfs:/", "staged:/", "x:")), st.text())
def test_any_path_in_metadata_has_a_path(scheme: str, text: str) -> None:
    for has_host in (True, False):
        assert path_of(scheme + text, has_host=has_host).startswith("/")
