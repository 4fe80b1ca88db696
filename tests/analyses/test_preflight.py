"""``inspector preflight``: the line of each difference, without a Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from inspector import api
from inspector.analyses.preflight import _rehearsed_rows, _without_clock
from inspector.analyses.shared.opening import Opened
from inspector.checkpoint.state_schema import parse_state_schema
from inspector.exceptions import CheckpointError
from inspector.findings.restart_judgement import Line, SameRows, Side, StateCounts
from inspector.findings.restart_rules import Restarts, rule_of
from inspector.sparktypes import INTEGER, LONG, StructField, StructType
from tests.cases import write_schema
from tests.checkpoint_files import forget_checksum, remove_paths, substitute
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import FIXTURES
from tests.reports import cell_values, finding_ids, row_where
from tests.rocks import as_spark_4_0
from tests.rocks_damage import change_entry

AGGREGATION, JOIN, ONCE = "agg_update", "join_left_outer", "dedup_event_time"
TRANSFORM = "rocksdb_tws_pandas_processing"
Fields = Sequence[StructField]


def copy(tmp_path: Path, case: str = AGGREGATION, name: str = "new") -> Path:
    root = tmp_path / name
    shutil.copytree(checkpoint_of(case), root)
    return root


def newest_offsets(root: Path) -> Path:
    return max((root / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))


def edit_offsets(root: Path, change: Callable[[list[str]], list[str]]) -> None:
    file = newest_offsets(root)
    file.write_text("\n".join(change(file.read_text().split("\n"))))
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def lines(old: Path, new: Path | None = None, **options: Any) -> dict[str, Any]:
    """Return the lines that are not ok by their rule, except SS495 on the logic of the query."""
    report = api.preflight(str(old), None if new is None else str(new), **options)
    rows: list[Any] = list(report.primary.rows)
    assert report.summary["verdict"] == max(
        cell_values(rows, "verdict"), key=lambda word: Restarts(word).rank
    )
    result = {row["rule"]: row for row in rows if row["verdict"] != "ok"}
    assert set(finding_ids(report)) == set(result)
    result.pop("SS495", None)
    return result


def with_conf(**conf: str) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        header = json.loads(lines[1])
        header["conf"] |= {key.replace("__", "."): value for key, value in conf.items()}
        return [lines[0], json.dumps(header), *lines[2:]]

    return change


def with_fields(
    root: Path, key: Callable[[Fields], Fields] = list, value: Callable[[Fields], Fields] = list
) -> Path:
    """Change the fields in the schema of the only store."""
    folder = root / "state" / "0" / "0"
    file = folder / "_metadata" / "schema"
    schema = parse_state_schema(file.read_bytes())
    for path in file.parent.glob(".*.crc"):
        path.unlink()
    pair = (
        StructType(tuple(key(schema.key.fields))),
        StructType(tuple(value(schema.value.fields))),
    )
    write_schema(folder, *pair)
    return root


@pytest.mark.parametrize("case", [AGGREGATION, JOIN, ONCE, TRANSFORM, "fmgws_event_ignore"])
def test_unchanged_query_restarts(case: str) -> None:
    """SS489 is a line because a fixture is not where it was made."""
    old = checkpoint_of(case)
    bad = set(cell_values(api.preflight(str(old), str(old)).primary.rows, "rule", "verdict"))
    assert {rule for rule, verdict in bad if verdict not in ("ok", "unknown")} <= {"SS489"}


def renamed(fields: Fields) -> Fields:
    return [replace(fields[0], name="other"), *fields[1:]]


def upper_case(fields: Fields) -> Fields:
    return [replace(field, name=field.name.upper()) for field in fields]


def of_int(fields: Fields) -> Fields:
    return [replace(fields[0], data_type=INTEGER), *fields[1:]]


def one_more(fields: Fields) -> Fields:
    return [*fields, StructField("count", LONG)]


def nullable(fields: Fields) -> Fields:
    return [replace(field, nullable=True) for field in fields]


def expression(fields: Fields) -> Fields:
    return [replace(fields[0], name="_groupingexpression"), *fields[1:]]


def twice(fields: Fields) -> Fields:
    return [fields[0], *fields]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (renamed, "SS431"),
        (of_int, "SS430"),
        (one_more, "SS430"),
        (expression, "SS431"),
        (upper_case, "SS436"),
    ],
)
def test_changed_key_schema(change: Any, rule: str, tmp_path: Path) -> None:
    assert set(lines(checkpoint_of(AGGREGATION), with_fields(copy(tmp_path), key=change))) == {rule}


@pytest.mark.parametrize(
    ("change", "rule"), [(renamed, "SS442"), (one_more, "SS440"), (of_int, "SS440")]
)
def test_changed_value_schema(change: Any, rule: str, tmp_path: Path) -> None:
    new = with_fields(copy(tmp_path), value=change)
    assert set(lines(checkpoint_of(AGGREGATION), new)) == {rule}


PAIR = [StructField("min", LONG), StructField("max", LONG)]


def test_swapped_aggregates_are_silent(tmp_path: Path) -> None:
    old = with_fields(copy(tmp_path, name="old"), value=lambda _: PAIR)
    new = with_fields(copy(tmp_path), value=lambda _: PAIR[::-1])
    (line,) = lines(old, new).values()
    assert (line["rule"], line["verdict"]) == ("SS441", "silent")
    assert (line["old"], line["new"]) == ("min bigint, max bigint", "max bigint, min bigint")


def test_first_replaced_by_last_is_unknown(tmp_path: Path) -> None:
    flag = StructField("valueSet", LONG)
    fields = {
        "first": [StructField("first", LONG), flag],
        "last": [StructField("last", LONG), flag],
    }
    first = with_fields(copy(tmp_path, name="first"), value=lambda _: fields["first"])
    last = with_fields(copy(tmp_path, name="last"), value=lambda _: fields["last"])
    assert cell_values(lines(first, last).values(), "rule", "verdict") == [("SS439", "unknown")]
    assert cell_values(lines(last, first).values(), "rule", "verdict") == [("SS442", "silent")]


def test_fields_with_equal_name_and_type_are_unknown(tmp_path: Path) -> None:
    old = with_fields(copy(tmp_path, name="old"), value=lambda _: [PAIR[0], PAIR[0]])
    new = with_fields(copy(tmp_path), value=lambda _: [PAIR[0], PAIR[0]])
    (line,) = lines(old, new).values()
    assert (line["rule"], line["verdict"]) == ("SS443", "unknown")
    assert "order" in line["what_to_do"]


def test_unnamed_grouping_expression_is_unknown(tmp_path: Path) -> None:
    old = with_fields(copy(tmp_path, name="old"), key=expression)
    new = with_fields(copy(tmp_path), key=expression)
    assert set(lines(old, new)) == {"SS433"}


def test_nullable_field_may_become_not_nullable(tmp_path: Path) -> None:
    strict = with_fields(
        copy(tmp_path, name="strict"), value=lambda _: [StructField("min", LONG, nullable=False)]
    )
    loose = with_fields(copy(tmp_path), value=lambda _: [PAIR[0]])
    assert not lines(loose, strict)
    assert set(lines(strict, loose)) == {"SS440"}


def test_serialized_buffer_is_unknown(tmp_path: Path) -> None:
    new = with_fields(copy(tmp_path), value=lambda _: [StructField("buf", LONG)])
    assert set(lines(new, new)) == {"SS444"}


@pytest.mark.parametrize(
    ("conf", "rule", "verdict"),
    [
        ({"spark.sql.shuffle.partitions": "400"}, "SS402", "ignored"),
        ({"streaming.stateStore.compression.codec": "zstd"}, "SS401", "ignored"),
        ({"spark.sql.streaming.stateStore.providerClass": "com.example.Mine"}, "SS403", "ignored"),
        ({"spark.sql.streaming.stateStore.stateSchemaCheck": "false"}, "SS448", "unknown"),
        ({"spark.executor.memory": "8g"}, "SS406", "unknown"),
    ],
)
def test_conf_option_is_ignored_or_unknown(conf: dict[str, str], rule: str, verdict: str) -> None:
    (line,) = lines(checkpoint_of(AGGREGATION), conf=conf).values()
    assert (line["rule"], line["verdict"]) == (rule, verdict)
    assert line["new"] == next(iter(conf.values()))


@pytest.mark.parametrize("part", ["key", "value"])
def test_changed_schema_without_schema_check_is_unknown(part: str, tmp_path: Path) -> None:
    new = with_fields(copy(tmp_path), **{part: of_int})
    conf = {"spark.sql.streaming.stateStore.stateSchemaCheck": "false"}
    assert set(lines(checkpoint_of(AGGREGATION), new, conf=conf)) == {"SS448"}


def test_conf_without_effect_on_state_has_no_line() -> None:
    conf = {"spark.sql.streaming.minBatchesToRetain": "7"}
    assert not lines(checkpoint_of(AGGREGATION), conf=conf)


def test_unrecorded_conf_has_the_default_of_the_old_release() -> None:
    old = Path(str(checkpoint_of(AGGREGATION)).replace("4.3.0", "3.5.9"))
    conf = {"spark.sql.streaming.stateStore.rowChecksum.enabled": "true"}
    assert set(lines(old, conf=conf)) == {"SS404", "SS505"}


def test_different_number_of_sources_is_refused(tmp_path: Path) -> None:
    new = copy(tmp_path)
    edit_offsets(new, lambda texts: [*texts, "0"])
    (line,) = lines(checkpoint_of(AGGREGATION), new).values()
    assert line["rule"] == "SS411"
    assert "sources in the checkpoint offsets" in line["spark"]
    assert (line["old"][:2], line["new"][:2]) == ("1:", "2:")


def test_different_kind_of_source_is_recognized_by_its_offset(tmp_path: Path) -> None:
    new = copy(tmp_path)
    edit_offsets(new, lambda texts: [*texts[:2], '{"logOffset":3}'])
    (line,) = lines(checkpoint_of(AGGREGATION), new).values()
    assert (line["rule"], line["new"]) == ("SS412", "files")


def test_different_kafka_topics_are_reported(tmp_path: Path) -> None:
    old, new = copy(tmp_path, name="old"), copy(tmp_path)
    edit_offsets(old, lambda texts: [*texts[:2], '{"orders":{"0":7}}'])
    edit_offsets(new, lambda texts: [*texts[:2], '{"orders_test":{"0":7}}'])
    (line,) = lines(old, new).values()
    assert (line["rule"], line["old"]) == ("SS416", "Kafka topics of orders")


def test_operators_are_compared_as_the_release_compares_them(tmp_path: Path) -> None:
    old, new = checkpoint_of(AGGREGATION), checkpoint_of(ONCE)
    assert "SS421" in lines(old, new)
    assert "SS422" in lines(old, new, to_spark="3.5")
    bare = copy(tmp_path, name="old")
    shutil.rmtree(bare / "state" / "0" / "_metadata")
    assert "SS423" in lines(bare, new)


def test_damage_of_the_old_checkpoint_is_reported(tmp_path: Path) -> None:
    old = copy(tmp_path, name="old")
    (old / "metadata").unlink()
    (old / "state/0/0/10.delta").unlink()
    result = lines(old)
    assert set(result) == {"SS484", "SS481"}
    assert "lacks 10.delta" in result["SS481"]["spark"]


def test_uncommitted_batch_runs_again_with_its_offsets() -> None:
    report = api.preflight(str(checkpoint_of("uncommitted")))
    line = row_where(report.primary.rows, rule="SS483")
    assert line["verdict"] == "ok"
    assert "runs again, up to the offsets" in line["spark"]


def test_moved_transform_with_state_has_schemas_elsewhere() -> None:
    assert "SS489" in lines(checkpoint_of(TRANSFORM))


@pytest.mark.parametrize("release", ["4.1", "4.3"])
def test_snapshots_of_spark_4_0_are_refused_by_later_releases(release: str, tmp_path: Path) -> None:
    old = copy(tmp_path, "rocksdb_agg_update_snapshots_format2", "old")
    assert "SS499" not in lines(old)
    as_spark_4_0(old)
    line = lines(old, to_spark=release)["SS499"]
    assert line["spark"].startswith("CANNOT_LOAD_STATE_STORE.CANNOT_READ_CHECKPOINT")
    assert (line["old"], line["new"]) == ("v2", "v1")
    assert "SS499" not in lines(old, to_spark="4.0")


def test_transform_with_state_modes_are_compared() -> None:
    result = lines(checkpoint_of(TRANSFORM), checkpoint_of("rocksdb_tws_pandas_event"))
    assert result["SS460"]["spark"].startswith("STATE_STORE_INVALID_CONFIG_AFTER_RESTART")


def test_release_without_older_snapshots_refuses_a_snapshot_without_manifest(
    tmp_path: Path,
) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / "4.0.5/rocksdb_agg_update_snapshots/checkpoint", root)
    change_entry(root / "state/0/0", "MANIFEST", lambda _: None)
    assert "SS481" in lines(root, to_spark="4.1")
    assert "SS481" not in lines(root, to_spark="4.2")


def test_unknown_release_is_an_error() -> None:
    with pytest.raises(CheckpointError, match="expected one that the rules know"):
        api.preflight(str(checkpoint_of(AGGREGATION)), to_spark="4.9")
    assert run("preflight", checkpoint_of(AGGREGATION), "--to-spark", "4.9").code == 2


def test_older_release_may_not_read_the_checkpoint() -> None:
    result = lines(checkpoint_of(AGGREGATION), to_spark="4.1")
    assert result["SS492"]["old"] == "4.3 or later"
    named = checkpoint_of("named_source")
    assert lines(named, named, to_spark="4.1")["SS493"]["item"] == "format of offsets"
    assert "SS493" not in lines(named, named)
    moved = lines(checkpoint_of(TRANSFORM), checkpoint_of(TRANSFORM), to_spark="3.5")
    assert set(cell_values(moved.values(), "verdict")) == {"unknown"}


def with_less_state(root: Path) -> Path:
    """Remove the newest batch, as if it had never been planned."""
    newest = int(newest_offsets(root).name)
    forget_checksum(root / "offsets" / str(newest)).unlink()
    forget_checksum(root / "commits" / str(newest)).unlink()
    remove_paths(root, f"state/*/*/*{newest + 1}.*")
    return root


def with_watermark(root: Path, watermark_ms: int) -> Path:
    """Set another watermark in all entries of both logs."""
    substitute(
        root, "offsets/[0-9]*", r'"batchWatermarkMs":\d+', f'"batchWatermarkMs":{watermark_ms}'
    )
    substitute(
        root,
        "commits/[0-9]*",
        r'"nextBatchWatermarkMs":\d+',
        f'"nextBatchWatermarkMs":{watermark_ms}',
    )
    return root


def verdict_of(old: Path, new: Path, before: Path) -> tuple[str, set[str]]:
    """Return the verdict and the rules of a comparison with a rehearsal of the old query."""
    report = api.preflight(str(old), str(new), before=str(before))
    return str(report.summary["verdict"]), set(cell_values(report.primary.rows, "rule"))


def test_query_logic_is_unknown_without_a_rehearsal() -> None:
    old = str(checkpoint_of(AGGREGATION))
    report = api.preflight(old, old)
    assert report.summary["verdict"] == "unknown"
    assert "--before" in row_where(report.primary.rows, rule="SS495")["what_to_do"]
    assert "SS495" not in cell_values(api.preflight(old).primary.rows, "rule")


@pytest.mark.parametrize(
    ("case", "verdict", "expected"),
    [
        (AGGREGATION, "ok", {"SS496"}),
        (ONCE, "ok", {"SS496"}),
        ("fmgws_event_ignore", "ok", {"SS496"}),
        # Both sources of the join have offsets by which they cannot be distinguished.
        (JOIN, "unknown", {"SS496", "SS414"}),
    ],
)
def test_equal_state_after_equal_input_is_ok(case: str, verdict: str, expected: set[str]) -> None:
    old = checkpoint_of(case)
    actual, rules = verdict_of(old, old, old)
    assert actual == verdict
    assert rules & {"SS414", "SS495", "SS496", "SS497"} == expected


def test_different_state_after_equal_input_is_silent(tmp_path: Path) -> None:
    old = checkpoint_of(AGGREGATION)
    new = with_watermark(with_less_state(copy(tmp_path)), 7)
    before = with_watermark(copy(tmp_path, name="before"), 7)
    report = api.preflight(str(old), str(new), before=str(before))
    row = row_where(report.primary.rows, rule="SS497")
    assert (row["verdict"], row["operator_id"]) == ("silent", 0)
    differing = list(api.diff(str(before), str(new)).primary.rows)
    assert row["new"] == f"{len(differing)} keys differ"
    assert run("preflight", old, new, "--before", before).code == 1


def test_equal_state_decides_unknown_schema_lines(tmp_path: Path) -> None:
    old = with_fields(copy(tmp_path, name="old"), key=expression)
    assert "SS433" in lines(old, old)
    assert verdict_of(old, old, old)[0] == "ok"
    fields = [StructField("sum", LONG), StructField("sum", LONG)]
    sums = with_fields(copy(tmp_path), value=lambda arguments: [*fields, *arguments[2:]])
    assert "SS443" in lines(sums, sums)
    assert verdict_of(sums, sums, sums)[0] == "ok"  # count and sum differ in some row


def test_indistinct_fields_are_not_decided_by_equal_state() -> None:
    side = Side(Opened.start(str(checkpoint_of(AGGREGATION)), None).checkpoint, ())
    store = (0, "default")
    line = Line("value", rule_of("value-alike", "4.3"), operator_id=0, store_name="default")
    equal = SameRows(side, {store: 3}, {store: 0}, {store: 0}, ())
    assert equal.decides(line)
    assert not replace(equal, indistinct=[store]).decides(line)
    assert not replace(equal, values={store: 1}).decides(line)
    assert not equal.decides(replace(line, rule=rule_of("value-replaced", "4.3")))


def test_differences_of_states_are_counted_by_operator() -> None:
    side = Side(Opened.start(str(checkpoint_of(AGGREGATION)), None).checkpoint, ())
    first, second = (0, "default"), (1, "default")
    states = SameRows(side, {first: 3, second: 9}, {first: 1, second: 0}, {first: 0, second: 2}, ())
    assert states.counts_of(0) == StateCounts(3, 1, True, 0, False)
    assert states.counts_of(1) == StateCounts(9, 2, False, 0, False)


def test_values_of_evolved_schemas_are_compared_by_shared_fields() -> None:
    opened, store = Opened.start(str(checkpoint_of(AGGREGATION)), None), (0, "default")
    rows = _rehearsed_rows(opened, {}, {store: {"count"}}, set())
    assert {value for _, value in rows.counts[store]} == {'{"count": 1.0}', '{"count": 2.0}'}


def test_values_with_ttl_are_compared_without_expiry_time() -> None:
    opened = Opened.start(str(checkpoint_of("rocksdb_tws_pandas_processing")), None)
    rows = _rehearsed_rows(opened, {}, {}, set())
    assert {value for _, value in rows.counts[0, "seen"]} == {
        '[{"title": "steady-000", "stays": 500}]',
        '[{"title": "once-016", "stays": 400}]',
        '[{"title": "once-020", "stays": 500}]',
    }


def test_incomparable_states_are_unknown(tmp_path: Path) -> None:
    old = checkpoint_of(AGGREGATION)
    assert "SS498" in verdict_of(old, old, checkpoint_of(ONCE))[1]
    verdict, rules = verdict_of(old, with_watermark(copy(tmp_path), 7), old)
    assert verdict == "unknown"
    assert "SS498" in rules
    unread = copy(tmp_path, name="unread")
    (unread / "state/0/0/2.delta").unlink()
    assert "SS498" in verdict_of(old, old, unread)[1]
    assert run("preflight", old, "--before", old).code == 2


def test_processing_time_timers_are_compared_without_clock() -> None:
    first = _without_clock({"groupState": 1, "timeoutTimestamp": 5}, "default")
    assert first == _without_clock({"groupState": 1, "timeoutTimestamp": 9}, "default")
    assert first != _without_clock({"groupState": 1, "timeoutTimestamp": -1}, "default")
    timer = {"key": {"user": 7}, "expiryTimestampMs": 5}
    assert _without_clock(timer, "$procTimers_keyToTimestamp") == [{"user": 7}]


def test_exit_codes_of_preflight(tmp_path: Path) -> None:
    old = checkpoint_of(AGGREGATION)
    silent = with_fields(copy(tmp_path), value=renamed)
    assert run("preflight", old, old).code == 0
    assert run("preflight", old, silent).code == 1
    assert run("preflight", old, silent, "--fail-on", "never").code == 0
    assert run("preflight", old, old, "--fail-on", "warning").code == 0  # logic informs
    assert run("preflight", old, old, "--fail-on", "info").code == 1
    free = ("--conf", "spark.executor.memory=8g")
    assert run("preflight", old, *free).code == 0
    assert run("preflight", old, *free, "--fail-on", "warning").code == 1


def test_every_format_has_the_verdict(tmp_path: Path) -> None:
    old, new = checkpoint_of(AGGREGATION), with_fields(copy(tmp_path), value=renamed)
    envelope = run("preflight", old, new, "-o", "json").json
    assert envelope["summary"]["verdict"] == "silent"
    assert envelope["rows"][0].keys() >= {"item", "verdict", "old", "new", "spark", "what_to_do"}
    assert "silent" in run("preflight", old, new, "-o", "markdown").out
    assert "silent" in run("preflight", old, new, "-o", "html").out
    assert "silent" in run("preflight", old, new, "-o", "table").out
    suite = ET.fromstring(run("preflight", old, new, "-o", "junit").out)
    (failed,) = suite.findall(".//testcase/failure/..")
    assert failed.get("name") == "SS442 aggregate replaced by another"


def test_open_checkpoint_has_the_method_preflight() -> None:
    opened = api.open_checkpoint(str(checkpoint_of(AGGREGATION)))
    report = opened.preflight(conf={"spark.sql.shuffle.partitions": "400"})
    assert report.summary["verdict"] == "ignored"
