"""``inspector preflight`` of one checkpoint: another release, mode or conf."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.findings.key_order import set_order
from inspector.sparktypes import INTEGER, LONG, DataType, StructField
from tests.analyses.test_preflight import edit_offsets, with_conf, with_fields
from tests.checkpoint_files import remove_paths, substitute
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import FIXTURES
from tests.reports import cell_values

NAMES = ["user", "id", "name", "day", "item"]
NO_ANSI = {"spark.sql.ansi.enabled": "false"}


def lines(path: Path, **options: Any) -> dict[str, Any]:
    """Return the lines by rule."""
    report = api.preflight(str(path), **options)
    return {str(row["rule"]): row for row in report.primary.rows}


def verdict(path: Path, **options: Any) -> str:
    return str(api.preflight(str(path), **options).summary["verdict"])


def copy(tmp_path: Path, path: Path) -> Path:
    root = tmp_path / "copy"
    shutil.copytree(path, root)
    return root


def of_release(case: str, release: str = "3.5.9") -> Path:
    return FIXTURES / release / case / "checkpoint"


def test_upgrade_without_ansi_mode_starts() -> None:
    result = lines(of_release("agg_update"), to_spark="4.3.0", conf=NO_ANSI)
    assert set(cell_values(result.values(), "verdict")) == {"ok"}
    assert result["SS503"]["old"] == "3.5 or earlier"
    assert result["SS504"]["issue"].startswith("SPARK-57003")
    out = run("preflight", of_release("agg_update"), "--conf", "spark.sql.ansi.enabled=false").out
    assert out.startswith("Healthy: Spark 4.3 will start.")


def test_ansi_mode_of_spark_4_is_unknown_and_no_warning() -> None:
    path = of_release("agg_update")
    result = lines(path, to_spark="4.0.5")
    assert (result["SS505"]["verdict"], result["SS505"]["issue"]) == ("unknown", "SPARK-44444")
    assert (result["SS505"]["old"], result["SS505"]["new"]) == ("false", "true")
    outcome = run("preflight", path, "--to-spark", "4.0.5", "--fail-on", "warning")
    assert outcome.code == 0
    assert "Spark 4.0 will start." in outcome.out
    assert "SS505" not in lines(path, to_spark="3.5.9")
    assert "SS505" not in lines(of_release("agg_update", "4.0.5"), to_spark="4.3.0")


def test_same_release_has_no_upgrade_lines() -> None:
    result = lines(checkpoint_of("dedup_event_time"), to_spark="4.3.0")
    assert set(result) == {"SS480"}


def with_key(root: Path, names: Sequence[str], types: Callable[[str], DataType]) -> Path:
    return with_fields(root, key=lambda _: [StructField(name, types(name)) for name in names])


def long_of(_name: str) -> DataType:
    return LONG


def mixed(name: str) -> DataType:
    return LONG if name in ("user", "id") else INTEGER


@pytest.mark.parametrize(
    ("names", "types", "rule", "verdict_of_rule"),
    [
        (set_order(NAMES, scala_2_13=False), long_of, "SS509", "silent"),
        (set_order(NAMES, scala_2_13=False), mixed, "SS510", "refused"),
        (NAMES, long_of, "SS511", "unknown"),
    ],
)
def test_key_order_of_many_columns(
    names: Sequence[str],
    types: Callable[[str], DataType],
    rule: str,
    verdict_of_rule: str,
    tmp_path: Path,
) -> None:
    root = with_key(copy(tmp_path, of_release("dedup_no_watermark")), names, types)
    line = lines(root, to_spark="4.1", conf=NO_ANSI)[rule]
    assert (line["verdict"], line["issue"]) == (verdict_of_rule, "SPARK-57489")
    assert line["old"] == ", ".join(names)
    assert rule not in lines(root, to_spark="3.5")
    sample = with_key(root, names[:4], types)
    assert not {"SS509", "SS510", "SS511"} & set(lines(sample, to_spark="4.1"))


def test_key_order_that_both_scalas_have_is_kept(tmp_path: Path) -> None:
    names = next(
        ordered
        for number in range(10_000)
        for ordered in [set_order([f"{name}{number}" for name in "abcde"], scala_2_13=False)]
        if ordered == set_order(ordered, scala_2_13=True)
    )
    root = with_key(copy(tmp_path, of_release("dedup_no_watermark")), names, long_of)
    assert lines(root, to_spark="4.3", conf=NO_ANSI)["SS435"]["verdict"] == "ok"


def test_join_of_an_outer_format_1_may_be_refused(tmp_path: Path) -> None:
    root = copy(tmp_path, of_release("join_left_outer"))
    edit_offsets(root, with_conf(spark__sql__streaming__join__stateFormatVersion="1"))
    assert lines(root)["SS507"]["issue"] == "SPARK-26154"
    assert "SS507" not in lines(of_release("join_left_outer"))


def test_join_with_fields_that_were_not_null_may_be_refused() -> None:
    path = of_release("join_left_outer")
    result = lines(path, to_spark="4.0", conf=NO_ANSI)["SS523"]
    assert (result["verdict"], result["store_name"]) == ("unknown", "right-keyWithIndexToValue")
    assert result["old"].startswith("not null: ")
    assert "SS523" not in lines(path, to_spark="3.5")
    assert "SS523" not in lines(of_release("join_left_outer", "4.0.5"), to_spark="4.3")


def test_provider_of_another_package_needs_its_library(tmp_path: Path) -> None:
    root = copy(tmp_path, of_release("agg_update"))
    provider = "com.example.state.HDFSBackedStateStoreProvider"
    edit_offsets(root, with_conf(spark__sql__streaming__stateStore__providerClass=provider))
    options = api.Options(provider_format="hdfs")
    result = {row["rule"]: row for row in api.preflight(str(root), None, options).primary.rows}
    assert (result["SS508"]["verdict"], result["SS508"]["old"]) == ("unknown", provider)


FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def test_checkpoint_format_follows_the_log_from_4_3_on() -> None:
    path = checkpoint_of("rocksdb_agg_update_snapshots_format2")
    assert lines(path, to_spark="4.2")["SS502"]["verdict"] == "option"
    assert "SS502" not in lines(path, to_spark="4.2", conf={FORMAT: "2"})
    assert "SS502" not in lines(path, to_spark="4.3")
    assert lines(path, to_spark="4.3", conf={FORMAT: "1"})["SS501"]["verdict"] == "ignored"
    plain = of_release("agg_update", "4.0.5")
    assert lines(plain, to_spark="4.0", conf={FORMAT: "2"})["SS490"]["verdict"] == "refused"
    assert lines(plain, to_spark="4.2", conf={FORMAT: "2"})["SS524"]["verdict"] == "refused"


def test_state_made_by_kryo_under_scala_2_12_is_unknown() -> None:
    result = lines(of_release("fmgws_kryo"), to_spark="4.0", conf=NO_ANSI)
    assert (result["SS506"]["verdict"], result["SS506"]["issue"]) == ("unknown", "SPARK-45314")
    assert "SS506" not in lines(of_release("fmgws_no_timeout"), to_spark="4.0")
    assert "SS506" not in lines(of_release("fmgws_kryo"), to_spark="3.5")


@pytest.mark.parametrize(
    ("case", "release", "mode", "rule", "code"),
    [
        ("agg_update", "4.3", "async", "SS514", 1),
        ("agg_update", "4.3", "micro-batch", "SS512", 0),
        ("agg_update", "4.0", "real-time", "SS517", 1),
        ("agg_update", "4.2", "real-time", "SS519", 1),
        ("agg_update", "4.3", "real-time", "SS520", 1),
        ("join_left_outer", "4.3", "real-time", "SS519", 1),
    ],
)
def test_execution_modes(case: str, release: str, mode: str, rule: str, code: int) -> None:
    path = checkpoint_of(case)
    assert rule in lines(path, to_spark=release, mode=mode)
    assert run("preflight", path, "--to-spark", release, "--mode", mode).code == code


def test_real_time_mode_of_a_checkpoint_of_format_2() -> None:
    path = checkpoint_of("rocksdb_agg_update_snapshots_format2")
    result = lines(path, mode="real-time")
    assert "SS520" not in result
    assert result["SS522"]["verdict"] == "unknown"
    conf = {"spark.sql.streaming.stateStore.checkpointFormatVersion": "1"}
    assert lines(path, mode="real-time", conf=conf)["SS521"]["verdict"] == "refused"


def test_real_time_mode_refuses_operators_outside_its_allowlist() -> None:
    path = checkpoint_of("join_left_outer")
    assert lines(path, mode="real-time")["SS519"]["verdict"] == "refused"
    conf = {"spark.sql.streaming.realTimeMode.allowlistCheck": "false"}
    assert "SS519" not in lines(path, mode="real-time", conf=conf)


def without_state(tmp_path: Path) -> Path:
    root = copy(tmp_path, checkpoint_of("agg_update"))
    shutil.rmtree(root / "state")
    edit_offsets(root, lambda texts: [*texts[:2], '{"logOffset":3}'])
    return root


def test_modes_of_a_query_without_state(tmp_path: Path) -> None:
    root = without_state(tmp_path)
    assert lines(root, mode="async")["SS516"]["verdict"] == "unknown"
    assert lines(root, mode="real-time")["SS518"]["verdict"] == "refused"
    edit_offsets(root, lambda texts: [*texts[:2], json.dumps({"orders": {"0": 7}})])
    result = lines(root, mode="real-time")
    assert "SS518" not in result
    assert result["SS512"]["old"] == "Kafka topics of orders"
    assert result["SS520"]["verdict"] == "refused"  # without state too
    substitute(root, "commits/[0-9]*", "^v1", "v2")
    assert "SS520" not in lines(root, mode="real-time")


def test_unknown_mode_is_a_usage_error() -> None:
    assert run("preflight", checkpoint_of("agg_update"), "--mode", "continuous").code == 2


def test_log_gaps_of_asynchronous_progress_tracking_decide_the_mode(tmp_path: Path) -> None:
    root = without_state(tmp_path)
    remove_paths(root, "offsets/[124578]", "commits/[124578]")
    assert lines(root)["SS472"]["verdict"] == "option"
    assert lines(root, mode="micro-batch")["SS513"]["verdict"] == "refused"
    result = lines(root, mode="async")
    assert not {"SS472", "SS513", "SS516"} & set(result)
    assert result["SS512"]["verdict"] == "ok"
