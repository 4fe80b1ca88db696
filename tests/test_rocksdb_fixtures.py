"""What the fixtures of RocksDB promise: that they are whole, and that all they say agrees."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fixtures.cases import cases_of
from fixtures.state_from_calls import leftovers, leftovers_after, read_batch_times, replay

from tests.attributes import attributes
from tests.cases import rocksdb_cases
from tests.listings import names_in, total_bytes
from tests.profiles import sampled
from tests.reports import cell_values, rows_where
from tests.spark_records import STORE_VERSION, read_calls, read_json, read_rows

CASES = rocksdb_cases()
PAIRS = rocksdb_cases(name="rocksdb_*_hdfs")
TABLES = sorted({*CASES} - {*PAIRS})
PROCESSORS = rocksdb_cases(name="rocksdb_tws_*")
MOST_BYTES = 5 << 20
MOST_BYTES_OF_A_CASE = 200 << 10


def name_of(case: Path) -> str:
    return f"{case.parent.name}-{case.name}"


def cases(folders: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", folders, ids=name_of)


def some_cases(first: int, folders: list[Path] = TABLES) -> pytest.MarkDecorator:
    """Return a parameter with cases of the RocksDB provider; a plain run takes a third of them."""
    return pytest.mark.parametrize(
        "case", sampled(folders, 3, first), ids=list(map(name_of, folders))
    )


# --- what lies there -------------------------------------------------------------------------


@cases(CASES)
def test_every_rocksdb_fixture_is_generated_case(case: Path) -> None:
    assert case.name in attributes(cases_of(case.parent.name), "name")


def test_provider_pairs_are_found() -> None:
    assert len(PAIRS) >= 5


@cases(CASES)
def test_fixture_metadata_is_complete(case: Path) -> None:
    manifest = read_json(case / "manifest.json")
    assert (manifest["case"], manifest["spark"]) == (case.name, case.parent.name)
    recipe = (case / "recipe.md").read_text("utf-8")
    assert recipe.startswith(f"# {case.name}\n")
    assert f"--spark-version {case.parent.name} --only '^{case.name}$'" in recipe
    assert list((case / "checkpoint/offsets").iterdir()) != []
    assert list((case / "checkpoint/state").iterdir()) != []
    assert (case / "checkpoint/commits" / str(manifest["committed_batch"])).is_file()


def test_fixtures_stay_small() -> None:
    sizes = list(map(total_bytes, CASES))
    assert sum(sizes) <= MOST_BYTES
    assert max(sizes) <= MOST_BYTES_OF_A_CASE


# --- what Spark says agrees with itself ------------------------------------------------------


@some_cases(0)
def test_rocksdb_recorded_rows_are_counted(case: Path) -> None:
    counts = read_json(case / "truth_counts.json")
    assert "error" not in set().union(*counts)
    table = pa.Table.from_pylist(counts)
    by_family = table.filter(pc.is_valid(table["cf"])).to_pylist()
    families = cell_values(by_family, *STORE_VERSION, "cf")
    counted = Counter(dict(zip(families, cell_values(by_family, "rows"), strict=True)))
    assert Counter(cell_values(read_rows(case), *STORE_VERSION, "cf")) == counted
    assert read_json(case / "manifest.json")["committed_batch"] + 1 in cell_values(counts, "ver")


@some_cases(1)
def test_rocksdb_rows_equal_database_entries(case: Path) -> None:
    raw = Counter(cell_values(read_rows(case, "raw"), *STORE_VERSION))
    keys = set(cell_values(read_rows(case), *STORE_VERSION, "cf", "kx"))
    assert Counter(key[:4] for key in keys) == raw
    stores = rows_where(read_json(case / "truth_counts.json"), cf=None)
    counted = zip(cell_values(stores, *STORE_VERSION), cell_values(stores, "rows"), strict=True)
    assert Counter(dict(counted)) == raw


@cases(sorted({*TABLES} - {*rocksdb_cases(name="*_uncounted*")}))
def test_rocksdb_counts_are_keys_and_internal_keys(case: Path) -> None:
    stores = pa.Table.from_pylist(rows_where(read_json(case / "truth_counts.json"), cf=None))
    counted = stores.filter(pc.is_valid(stores["num_internal_keys"]))
    total = pc.add(counted["num_internal_keys"], counted["num_keys"])
    assert total.to_pylist() == counted["rows"].to_pylist()


@some_cases(2, sorted({*TABLES} - {*rocksdb_cases(name="*_avro")}))
def test_rocksdb_entry_contains_unsafe_row(case: Path) -> None:
    entries: dict[tuple[Any, ...], str] = defaultdict(str)
    for *key, value in cell_values(read_rows(case, "raw"), *STORE_VERSION, "rv"):
        entries[tuple(key)] += f" {value}"
    for *key, value in cell_values(read_rows(case), *STORE_VERSION, "vx"):
        assert value in entries[tuple(key)]


@some_cases(0)
def test_rocksdb_rows_have_column_family_with_schema(case: Path) -> None:
    schemas = read_json(case / "schemas.json")
    families = dict(zip(cell_values(schemas, "op", "store", "cf"), schemas, strict=True))
    for line in read_rows(case):
        schema = families[line["op"], line["store"], line["cf"]]
        assert set(line["k"]) <= set(cell_values(schema["key"]["fields"], "name"))
        assert ("i" in line) == schema["several_values"]


# --- files -----------------------------------------------------------------------------------


@cases(TABLES)
def test_rocksdb_fixture_versions_match_case_name(case: Path) -> None:
    suffixes = set(attributes((case / "checkpoint/state").rglob("*.*"), "suffix"))
    assert (".changelog" in suffixes) == ("_zips" not in case.name)
    # A version that makes a column family is a snapshot as well.
    has_snapshots = re.search("_zips|_snapshots|_cleaned|_v3|_v4|_tws_", case.name) is not None
    assert (".zip" in suffixes) == (".sst" in suffixes) == has_snapshots


UNIQUE_ID = re.compile(r'"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"')


@cases(rocksdb_cases(name="*_format2"))
def test_commit_log_names_existing_checkpoint_ids(case: Path) -> None:
    commits = case / "checkpoint/commits"
    listing = "\n".join(map(str, (case / "checkpoint/state").rglob("*_*.*")))
    attempts = set(re.findall(r"/(\d+)_([\w-]+)\.(?:zip|changelog)$", listing, re.M))
    committed = set()
    for batch in names_in(commits):
        ids = UNIQUE_ID.findall((commits / batch).read_text("utf-8"))
        assert ids
        committed |= {(str(int(batch) + 1), unique_id) for unique_id in ids}
    assert committed <= attempts
    abandoned = Counter(version for version, _ in attempts - committed)
    assert abandoned == ABANDONED.get(case.name, {})


ABANDONED = {"rocksdb_task_failed_recovered_format2": {"5": 2}}
"""Numbers of state files by version that a failed task wrote, by fixture."""


# --- pairs -----------------------------------------------------------------------------------


@cases(PAIRS)
def test_provider_pair_has_equal_rows(case: Path) -> None:
    twin = case.with_name(case.name.removesuffix("_hdfs"))
    rows = set(cell_values(read_rows(case), *STORE_VERSION, "kx", "vx"))
    assert set(cell_values(read_rows(twin), *STORE_VERSION, "kx", "vx")) == rows
    assert rows


# --- transformWithState ----------------------------------------------------------------------


@cases(PROCESSORS)
def test_recorded_rows_equal_calls_of_processor(case: Path) -> None:
    calls = read_calls(case)
    times = {batch: time for batch, (time, _) in read_batch_times(case).items()}
    recorded = read_rows(case)
    counts = read_json(case / "truth_counts.json")
    partitions = set(cell_values(counts, "part"))
    compared = 0
    for batch, stored in replay(calls, times):
        version = batch + 1
        if set(cell_values(rows_where(counts, ver=version), "part")) == partitions:
            rows = rows_of(rows_where(recorded, ver=version))
            assert sorted(map(str, rows)) == sorted(map(str, stored.rows()))
            compared += 1
    assert compared


@cases(PROCESSORS)
def test_ttl_leftovers_equal_calls_of_processor(case: Path) -> None:
    calls = read_calls(case)
    newest = read_json(case / "manifest.json")["committed_batch"]
    assert read_json(case / "expected_leftovers.json") == leftovers_after(case, calls, newest)


@pytest.mark.parametrize(
    ("action", "cleared", "left"), [("remove", "x", []), ("clear", None, [("a", "x")])]
)
def test_entry_put_again_expires_with_removed_one(
    action: str, cleared: str | None, left: list[tuple[str, str]]
) -> None:
    messages = {"key": "a", "var": "visited", "value": 1, "fired_ms": None}
    calls: list[dict[str, Any]] = [
        messages | {"batch": 0, "do": "put", "at": "x", "expires_ms": 15},
        messages | {"batch": 1, "do": action, "at": cleared},
        messages | {"batch": 1, "do": "put", "at": "x", "expires_ms": 35},
    ]
    *_, (_, result) = replay(calls, {0: 0, 1: 10, 2: 20})
    assert list(result.maps["visited"]) == left


def test_leftovers_by_log_are_expired_values_and_timers() -> None:
    def call(batch: int, key: str, var: str, do: str, **options: Any) -> dict[str, Any]:
        messages = {"batch": batch, "key": key, "var": var, "do": do, "fired_ms": None, "at": None}
        return messages | {"value": 1, "expires_ms": None} | options

    calls = [
        call(0, "a", "seen", "put", expires_ms=15),
        call(0, "a", "recent", "append", expires_ms=25),
        call(0, "a", "timer", "register", value=5),
        call(1, "b", "pages", "put", at="x"),
        call(1, "b", "timer", "register", value=40),
        call(1, "a", "none", "nothing", fired_ms=5),
        call(2, "b", "pages", "clear"),
        call(2, "c", "timer", "register", value=12),
        call(2, "c", "total", "put"),
    ]
    replayed = replay(calls, {0: 0, 1: 10, 2: 20})
    _, result = next(replayed)
    assert set(result.rows()) == {
        ("seen", "a", None, 1, 15),
        ("recent", "a", 0, 1, 25),
        ("timer", "a", None, 5, None),
    }
    *_, (_, result) = replayed
    assert set(result.rows()) == {
        ("recent", "a", 0, 1, 25),
        ("timer", "b", None, 40, None),
        ("total", "c", None, 1, None),
        ("timer", "c", None, 12, None),
    }
    assert leftovers(result, 20, 20) == [
        {"class": "timer_without_state", "key": "b", "ms": 40},
        {"class": "past_timer", "key": "c", "ms": 12},
    ]
    result.values["seen"]["d"] = (1, 19)
    assert leftovers(result, None, 20)[0]["class"] == "expired_value"


def rows_of(lines: list[dict[str, Any]]) -> Iterable[tuple[Any, ...]]:
    """Spark's rows in the words of `Held.rows`; Spark's own helper families are left out."""
    for line in lines:
        family, key, value = line["cf"], line["k"], line["v"]
        if family.endswith("Timers_keyToTimestamp"):
            yield "timer", text_of(key["key"]), None, key["expiryTimestampMs"], None
        elif family != "default" and not family.startswith("$"):
            expires = value.get("ttlExpirationMs")
            number = number_of(value["value"] if expires is not None else value)
            if "userKey" in key:
                yield family, text_of(key["key"]), text_of(key["userKey"]), number, expires
            else:
                yield family, text_of(key), line.get("i"), number, expires


def text_of(key: dict[str, Any]) -> str:
    (text,) = key.values()
    return str(text)


def number_of(value: Any) -> int:
    """The number in a value: a page's stays, or all there is."""
    return int(value["stays"] if "stays" in value else next(iter(value.values())))
