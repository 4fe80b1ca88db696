"""The fixtures themselves, and what the inspector says of them against what Spark said."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compare_with_spark import compare, options_of

from inspector import api
from inspector.model import Certainty
from tests.attributes import attributes
from tests.cases import hdfs_cases
from tests.fixture_folder import FIXTURES, NEWEST
from tests.listings import total_bytes
from tests.profiles import sampled
from tests.reports import cell_values, row_where, rows_where
from tests.spark_records import STORE_VERSION, read_json, read_rows

CASES = hdfs_cases()
GROUP_STATES = sorted(
    {*CASES} & {*attributes(FIXTURES.glob("*/*/expected_leftovers.json"), "parent")}
)
"""Cases of (flat)MapGroupsWithState, whose leftovers are known from the recorded calls."""

MOST_BYTES = 10 << 20


def name_of(case: Path) -> str:
    return f"{case.parent.name}-{case.name}"


case_of_spark = pytest.mark.parametrize("case", CASES, ids=name_of)


def some_cases_of_spark(first: int, cases: list[Path] = CASES) -> pytest.MarkDecorator:
    """Return a parameter with cases, of which a plain run takes a third.

    Three tests that differ in ``first`` together take every case.
    """
    return pytest.mark.parametrize("case", sampled(cases, 3, first), ids=list(map(name_of, cases)))


# --- what lies there -------------------------------------------------------------------------


def test_every_fixture_folder_is_declared_case() -> None:
    declared = attributes(FIXTURES.glob("*/*/manifest.json"), "parent")
    assert set(declared) == {*FIXTURES.glob("*/*")}
    assert len(CASES) >= 24


@case_of_spark
def test_fixture_metadata_is_complete(case: Path) -> None:
    assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", case.name)
    assert re.fullmatch(r"\d+\.\d+\.\d+", case.parent.name)
    manifest = json.loads((case / "manifest.json").read_text("utf-8"))
    assert (manifest["case"], manifest["spark"]) == (case.name, case.parent.name)
    recipe = (case / "recipe.md").read_text("utf-8")
    assert recipe.startswith(f"# {case.name}\n")
    assert f"--spark-version {case.parent.name} --only '^{case.name}$'" in recipe
    assert "\n## What a correct inspector finds\n\n" in recipe


@case_of_spark
def test_fixture_has_checkpoint_and_recorded_rows(case: Path) -> None:
    assert list((case / "checkpoint/offsets").iterdir()) != []
    assert list((case / "checkpoint/commits").iterdir()) != []
    assert list((case / "checkpoint/state").iterdir()) != []
    lines, recorded = read_rows(case), read_json(case / "truth_counts.json")
    assert {"op", "store", "part", "ver", "k", "v", "kx", "vx"} == set().union(*lines)
    assert "error" not in set().union(*recorded)
    counts = zip(cell_values(recorded, *STORE_VERSION), cell_values(recorded, "rows"), strict=True)
    assert Counter(cell_values(lines, *STORE_VERSION)) == Counter(dict(counts))
    manifest = json.loads((case / "manifest.json").read_text("utf-8"))
    assert manifest["committed_batch"] + 1 in cell_values(recorded, "ver")
    is_group_state = manifest["timeout"] is not None
    assert (case / "calls.jsonl").is_file() == is_group_state
    assert (case / "expected_leftovers.json").is_file() == is_group_state


def test_fixtures_stay_small() -> None:
    assert sum(map(total_bytes, CASES)) <= MOST_BYTES


# --- the inspector against Spark -------------------------------------------------------------


@some_cases_of_spark(0)
def test_recorded_rows_equal_decoded_rows(case: Path) -> None:
    verdict = compare(case)
    assert verdict.faults == []
    assert verdict.versions == len(set(cell_values(read_json(case / "truth_counts.json"), "ver")))
    assert verdict.rows == len(read_rows(case))


@some_cases_of_spark(1, sorted({*CASES} - {*GROUP_STATES}))
def test_only_complete_mode_has_leftovers_without_timeouts(case: Path) -> None:
    rows = list(api.leftovers(str(case / "checkpoint"), options_of(case)).primary.rows)
    assert bool(rows) == (case.name in ("agg_complete", "trouble_complete_mode"))


@some_cases_of_spark(1, GROUP_STATES)
def test_leftovers_equal_keys_left_by_query(case: Path) -> None:
    rows = list(api.leftovers(str(case / "checkpoint"), options_of(case)).primary.rows)
    expected = _expected_leftovers(case)
    for row in rows_where(rows, certainty="proven"):
        result = expected[_key_of(row)]
        assert row["class"] == result["class"]
        assert row["clock_ms"] == result["timeout_ms"]
        assert row["expired_batch"] >= result["first_expired_batch"]
    named = {_key_of(row) for row in rows if row["expired_batch"] is not None}
    assert named <= set(expected)
    # The log of the cleaned checkpoint does not reach back to the expiry of its oldest keys.
    assert named == set(expected) or "snapshots_cleaned" in case.name


def _key_of(row: Mapping[str, Any]) -> str:
    (key,) = row["key"].values()
    return str(key)


def _expected_leftovers(case: Path) -> dict[str, dict[str, Any]]:
    rows = read_json(case / "expected_leftovers.json")
    return {str(row["key"]): row for row in rows}


LIFETIME_FINDINGS = {
    "agg_complete": {"SS202"},
    "dedup_no_watermark": {"SS201"},
    "dedup_watermark_not_key": {"SS201"},
    "empty_partitions": {"SS201"},
    "fmgws_event_idle": {"SS203"},
    "fmgws_event_ignore": {"SS203"},
    "fmgws_event_ignore_v1": {"SS203"},
    "fmgws_event_rearm": {"SS203"},
    "fmgws_event_update": {"SS203"},
    "fmgws_kryo": {"SS203"},
    "fmgws_nodata_off": {"SS203"},
    "fmgws_processing_time": {"SS203"},
    "fmgws_processing_watermark": {"SS203"},
    "fmgws_snapshots_cleaned": {"SS203"},
    "fmgws_timer_only": {"SS203"},
    "fmgws_watermark_stands": {"SS203"},
    "join_no_watermark": {"SS201"},
    "limit_after_dedup": {"SS201"},
    "mgws_tuple_key": {"SS201"},
    "pandas_event_ignore": {"SS203"},
    "trouble_complete_mode": {"SS202"},
    "trouble_dedup_without_time": {"SS201"},
    "trouble_ignored_timeouts": {"SS203"},
    "trouble_kept_timeouts": {"SS203"},
    "trouble_rearmed_timeouts": {"SS203"},
    "wide_key": {"SS201"},
    "wide_value": {"SS201"},
}
"""Findings SS201 to SS203 by case: its query has no expiry, or its calls left keys behind."""


@some_cases_of_spark(2)
def test_fixtures_have_expected_lifetime_findings(case: Path) -> None:
    findings = api.audit(str(case / "checkpoint"), options_of(case)).findings
    result = {"SS201", "SS202", "SS203"} & set(attributes(findings, "kind.id"))
    # A finding that is only information is about keys whose timeout was removed by new data.
    proven = result & {
        finding.kind.id
        for finding in findings
        if finding.certainty is Certainty.PROVEN and finding.severity is not api.Severity.INFO
    }
    expected = LIFETIME_FINDINGS.get(case.name, set())
    assert proven <= expected <= result


def test_complete_mode_keeps_windows_below_watermark() -> None:
    case = NEWEST / "agg_complete"
    offsets = (case / "checkpoint/offsets/7").read_text("utf-8").splitlines()
    watermark = json.loads(offsets[1])["batchWatermarkMs"]
    expected = {
        line["kx"]
        for line in rows_where(read_rows(case), ver=8)
        if _millis(line["k"]["window"]["end"]) <= watermark
    }
    rows = list(api.leftovers(str(case / "checkpoint")).primary.rows)
    assert set(cell_values(rows, "key_hex")) == expected
    assert len(rows) == len(expected) > 0
    assert set(cell_values(rows, "class")) == {"past_watermark"}
    assert max(cell_values(rows, "threshold_ms")) <= watermark


def _millis(text: str) -> int:
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return round(moment.timestamp() * 1000)


@some_cases_of_spark(1)
@pytest.mark.parametrize(
    ("by", "names"), sampled([("store", STORE_VERSION[:2]), ("partition", STORE_VERSION[:3])], 2)
)
def test_sizes_equal_recorded_bytes(case: Path, by: str, names: tuple[str, ...]) -> None:
    lines, recorded = read_rows(case), read_json(case / "truth_counts.json")
    stores = set(cell_values(recorded, *STORE_VERSION[:3]))
    compared = 0
    # Each version is measured in the same way: the newest, and each third before it are enough.
    for version in sorted(set(cell_values(recorded, "ver")))[::-3]:
        restorable = rows_where(recorded, ver=version)
        if by == "store" and len(restorable) < len(stores):
            continue  # Spark can restore this version only in some partitions.
        rows = rows_where(lines, ver=version)
        report = api.sizes(str(case / "checkpoint"), api.Options(state_version=version), by=by)
        for group in set(cell_values(restorable, *names)):
            pairs = cell_values(
                rows_where(rows, **dict(zip(names, group, strict=True))), "kx", "vx"
            )
            columns = dict(zip(STORE_COLUMNS, group, strict=False))
            row = row_where(report.primary.rows, **columns)
            assert row == row | _sizes(pairs)
            compared += 1
    assert compared >= 1


STORE_COLUMNS = ("operator_id", "store_name", "partition_id")
"""Columns of a report that name a store or one of its partitions."""


def _sizes(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Return the size columns of rows whose keys and values are hexadecimal."""
    sizes = np.array([(len(key), len(value)) for key, value in pairs]).reshape(-1, 2) // 2
    return {
        "rows": len(pairs),
        **_quantiles("key_bytes", sizes[:, 0]),
        **_quantiles("value_bytes", sizes[:, 1]),
        **_quantiles("row_bytes", sizes.sum(axis=1)),
    }


def _quantiles(name: str, sizes: Any) -> dict[str, int | None]:
    names = (f"{name}_p50", f"{name}_p90", f"{name}_p99", f"{name}_max")
    if not len(sizes):
        return {name: 0} | dict.fromkeys(names)
    quantiles = np.quantile(sizes, (0.5, 0.9, 0.99, 1), method="inverted_cdf").tolist()
    return {name: int(sizes.sum())} | dict(zip(names, quantiles, strict=True))
