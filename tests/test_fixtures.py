"""The fixtures themselves, and what the inspector says of them against what Spark said."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compare_with_spark import checkpoint_of, compare, options_of

from inspector import api
from inspector.model import Certainty
from tests.cases import hdfs_cases
from tests.profiles import sampled
from tests.reports import cell_values, row_where, rows_where

CASES = [case for case in hdfs_cases() if (case / "manifest.json").is_file()]
MOST_BYTES = 10 << 20
PLACE = ("op", "store", "part", "ver")
"""Fields of a recorded row that name a version of a store of a partition."""

NAMES = [f"{case.parent.name}-{case.name}" for case in CASES]

case_of_spark = pytest.mark.parametrize("case", CASES, ids=NAMES)


def some_cases_of_spark(first: int) -> pytest.MarkDecorator:
    """All cases, of which a plain run takes a third: each of three such tests another one."""
    return pytest.mark.parametrize("case", sampled(CASES, 3, first), ids=NAMES)


def truth_of(case: Path) -> list[dict[str, Any]]:
    """Spark's own rows, line by line, without any help of the inspector."""
    with gzip.open(case / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def counts_of(case: Path) -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = json.loads((case / "truth_counts.json").read_text("utf-8"))
    return [entry for entry in document if "error" not in entry]


# --- what lies there -------------------------------------------------------------------------


def test_every_fixture_folder_is_declared_case() -> None:
    assert hdfs_cases() == CASES
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
    lines, recorded = truth_of(case), counts_of(case)
    assert {"op", "store", "part", "ver", "k", "v", "kx", "vx"} == set().union(*lines)
    counts = zip(cell_values(recorded, *PLACE), cell_values(recorded, "rows"), strict=True)
    assert Counter(cell_values(lines, *PLACE)) == Counter(dict(counts))
    manifest = json.loads((case / "manifest.json").read_text("utf-8"))
    assert manifest["committed_batch"] + 1 in cell_values(recorded, "ver")
    is_group_state = manifest["timeout"] is not None
    assert (case / "calls.jsonl").is_file() == is_group_state
    assert (case / "expected_leftovers.json").is_file() == is_group_state


def test_fixtures_stay_small() -> None:
    files = (path for case in CASES for path in case.rglob("*") if path.is_file())
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


# --- the inspector against Spark -------------------------------------------------------------


@some_cases_of_spark(0)
def test_recorded_rows_equal_decoded_rows(case: Path) -> None:
    verdict = compare(case)
    assert verdict.faults == []
    assert verdict.versions == len(set(cell_values(counts_of(case), "ver")))
    assert verdict.rows == len(truth_of(case))


@some_cases_of_spark(1)
def test_leftovers_equal_keys_left_by_query(case: Path) -> None:
    rows = list(api.leftovers(str(checkpoint_of(case)), options_of(case)).primary.rows)
    if not (case / "expected_leftovers.json").is_file():
        assert bool(rows) == (case.name in ("agg_complete", "trouble_complete_mode"))
        return
    expected = _expected_leftovers(case)
    for row in rows_where(rows, certainty="proven"):
        result = expected[_key_of(row)]
        assert row["class"] == result["class"]
        assert row["clock_ms"] == result["timeout_ms"]
        assert row["expired_batch"] >= result["first_expired_batch"]
    named = {_key_of(row) for row in rows if row["expired_batch"] is not None}
    assert named <= set(expected)
    if "snapshots_cleaned" not in case.name:
        # There the log does not reach back to the expiry of the oldest.
        assert named >= set(expected)


def _key_of(row: Mapping[str, Any]) -> str:
    (key,) = row["key"].values()
    return str(key)


def _expected_leftovers(case: Path) -> dict[str, dict[str, Any]]:
    rows = json.loads((case / "expected_leftovers.json").read_text("utf-8"))
    return {str(row["key"]): row for row in rows}


@some_cases_of_spark(2)
def test_fixtures_have_expected_lifetime_findings(case: Path) -> None:
    findings = api.audit(str(checkpoint_of(case)), options_of(case)).findings
    result = {f.kind.id for f in findings if "SS201" <= f.kind.id <= "SS203"}
    # For information many a function is told of keys whose timeout a call for data took away.
    warned = [f for f in findings if f.severity is not api.Severity.INFO]
    proven = {f.kind.id for f in warned if f.certainty is Certainty.PROVEN} & result
    recipe = (case / "recipe.md").read_text("utf-8")
    manifest = json.loads((case / "manifest.json").read_text("utf-8"))
    # A query without watermark and without timeouts has nothing by which a row could go; but one
    # row for the whole query is no leak.
    ageless = manifest["watermark_delay_ms"] is None and manifest["timeout"] is None
    ageless &= case.name != "agg_global"
    expected = {"SS201"} if "SS201" in recipe or ageless else set()
    if "past_watermark" in recipe:
        expected |= {"SS202"}
    if (case / "expected_leftovers.json").is_file() and _expected_leftovers(case):
        expected |= {"SS203"}
    assert proven <= expected <= result


def test_complete_mode_keeps_windows_below_watermark() -> None:
    case = next(case for case in CASES[::-1] if case.name == "agg_complete")
    offsets = (case / "checkpoint/offsets/7").read_text("utf-8").splitlines()
    watermark = json.loads(offsets[1])["batchWatermarkMs"]
    expected = {
        line["kx"]
        for line in truth_of(case)
        if line["ver"] == 8 and _millis(line["k"]["window"]["end"]) <= watermark
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
@pytest.mark.parametrize("by", sampled(("store", "partition"), 2))
def test_sizes_equal_recorded_bytes(case: Path, by: str) -> None:
    lines, recorded = truth_of(case), counts_of(case)
    names = PLACE[:3] if by == "partition" else PLACE[:2]
    stores = set(cell_values(recorded, *PLACE[:3]))
    compared = 0
    # Each version is measured in the same way: the newest, and each third before it are enough.
    for version in sorted(set(cell_values(recorded, "ver")))[::-3]:
        restorable = rows_where(recorded, ver=version)
        if by == "store" and len(restorable) < len(stores):
            continue  # Spark can restore this version only in some partitions.
        rows = rows_where(lines, ver=version)
        report = api.sizes(str(checkpoint_of(case)), api.Options(state_version=version), by=by)
        for group in set(cell_values(restorable, *names)):
            pairs = cell_values(
                rows_where(rows, **dict(zip(names, group, strict=True))), "kx", "vx"
            )
            columns = dict(zip(map(OURS.__getitem__, names), group, strict=True))
            assert _reported(row_where(report.primary.rows, **columns)) == _measured(pairs)
            compared += 1
    assert compared >= 1


OURS = {"op": "operator_id", "store": "store_name", "part": "partition_id"}
SIZED = ("key_bytes", "value_bytes", "row_bytes")
QUANTILES = ("p50", "p90", "p99", "max")


def _reported(row: Mapping[str, Any]) -> dict[str, int | None]:
    names = [f"{size}_{quantile}" for size in SIZED for quantile in QUANTILES]
    return {name: row[name] for name in ("rows", *SIZED, *names)}


def _measured(pairs: list[tuple[str, str]]) -> dict[str, int | None]:
    """Return the sizes of rows whose keys and values are hexadecimal."""
    keys = [len(key) // 2 for key, _ in pairs]
    value_sizes = [len(value) // 2 for _, value in pairs]
    sums = [len(key + value) // 2 for key, value in pairs]
    return {
        "rows": len(pairs),
        **_summary("key_bytes", keys),
        **_summary("value_bytes", value_sizes),
        **_summary("row_bytes", sums),
    }


def _summary(name: str, sizes: list[int]) -> dict[str, int | None]:
    names = [f"{name}_{quantile}" for quantile in QUANTILES]
    if not sizes:
        return {name: 0} | dict.fromkeys(names)
    quantiles = np.quantile(sizes, (0.5, 0.9, 0.99, 1), method="inverted_cdf").tolist()
    return {name: sum(sizes)} | dict(zip(names, quantiles, strict=True))
