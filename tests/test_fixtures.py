"""The fixtures themselves, and what the inspector says of them against what Spark said."""

import gzip
import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from compare_with_spark import checkpoint_of, compare, options_of

from inspector import api
from inspector.model import Certainty
from tests.cases import hdfs_cases
from tests.profiles import sampled

CASES = [case for case in hdfs_cases() if (case / "manifest.json").is_file()]
MOST_BYTES = 10 << 20

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
    for folder in ("offsets", "commits", "state"):
        assert any((case / "checkpoint" / folder).iterdir())
    lines = truth_of(case)
    assert {"op", "store", "part", "ver", "k", "v", "kx", "vx"} == set().union(*lines)
    rows: dict[tuple[Any, ...], int] = defaultdict(int)
    for line in lines:
        rows[line["op"], line["store"], line["part"], line["ver"]] += 1
    result = {(e["op"], e["store"], e["part"], e["ver"]): e["rows"] for e in counts_of(case)}
    assert dict(rows) == {location: count for location, count in result.items() if count}
    manifest = json.loads((case / "manifest.json").read_text("utf-8"))
    newest = manifest["committed_batch"] + 1
    assert newest in {version for *_, version in result}
    group_state = manifest["timeout"] is not None
    for name in ("calls.jsonl", "expected_leftovers.json"):
        assert (case / name).is_file() == group_state


def test_fixtures_stay_small() -> None:
    files = (path for case in CASES for path in case.rglob("*") if path.is_file())
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


# --- the inspector against Spark -------------------------------------------------------------


@some_cases_of_spark(0)
def test_recorded_rows_equal_decoded_rows(case: Path) -> None:
    verdict = compare(case)
    assert verdict.faults == []
    assert verdict.versions == len({entry["ver"] for entry in counts_of(case)})
    assert verdict.rows == len(truth_of(case))


@some_cases_of_spark(1)
def test_leftovers_equal_keys_left_by_query(case: Path) -> None:
    rows = list(api.leftovers(str(checkpoint_of(case)), options_of(case)).primary.rows)
    if not (case / "expected_leftovers.json").is_file():
        assert bool(rows) == (case.name in ("agg_complete", "trouble_complete_mode"))
        return
    expected = _expected_leftovers(case)
    for row in rows:
        if row["certainty"] == "proven":
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
    assert {row["key_hex"] for row in rows} == expected
    assert len(rows) == len(expected) > 0
    assert {row["class"] for row in rows} == {"past_watermark"}
    assert all(row["threshold_ms"] <= watermark for row in rows)


def _millis(text: str) -> int:
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return round(moment.timestamp() * 1000)


@some_cases_of_spark(1)
@pytest.mark.parametrize("by", sampled(("store", "partition"), 2))
def test_sizes_equal_recorded_bytes(case: Path, by: str) -> None:
    lines, recorded = truth_of(case), counts_of(case)
    places = {(entry["op"], entry["store"], entry["part"]) for entry in recorded}
    compared = 0
    # What is measured of one version is measured of any: the newest, and each third before it.
    for version in sorted({entry["ver"] for entry in recorded})[::-3]:
        result = [entry for entry in recorded if entry["ver"] == version]
        if by == "store" and len(result) < len(places):
            continue  # Spark can restore this version in some partitions alone.
        names = ("op", "store", "part")[: 3 if by == "partition" else 2]
        expected: dict[tuple[Any, ...], list[tuple[int, int]]] = {
            tuple(entry[name] for name in names): [] for entry in result
        }
        for line in lines:
            if line["ver"] == version:
                sizes = len(line["kx"]) // 2, len(line["vx"]) // 2
                expected[tuple(line[name] for name in names)].append(sizes)
        report = api.sizes(str(checkpoint_of(case)), api.Options(state_version=version), by=by)
        got = {tuple(row[f"{OURS[name]}"] for name in names): row for row in report.primary.rows}
        for location, pairs in expected.items():
            assert _told(got[location]) == _counted(pairs)
            compared += 1
    assert compared >= 1


OURS = {"op": "operator_id", "store": "store_name", "part": "partition_id"}
SIZED = ("key_bytes", "value_bytes", "row_bytes")
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def _told(row: Mapping[str, Any]) -> dict[str, int | None]:
    names = [f"{subject}_{q}" for subject in SIZED for q in (*SHARES, "max")]
    return {name: row[name] for name in ("rows", *SIZED, *names)}


def _counted(pairs: list[tuple[int, int]]) -> dict[str, int | None]:
    columns = {
        "key_bytes": [key for key, _ in pairs],
        "value_bytes": [value for _, value in pairs],
        "row_bytes": [key + value for key, value in pairs],
    }
    result: dict[str, int | None] = {"rows": len(pairs)}
    for subject, sizes in columns.items():
        sizes.sort()
        result[subject] = sum(sizes)
        result[f"{subject}_max"] = sizes[-1] if sizes else None
        for name, share in SHARES.items():
            rank = math.ceil(share * len(sizes))
            result[f"{subject}_{name}"] = sizes[rank - 1] if sizes else None
    return result
