"""What the fixtures of RocksDB promise: that they are whole, and that all they say agrees."""

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from fixtures.cases import cases_of
from fixtures.state_from_calls import leftovers, leftovers_after, read_batch_times, replay

from tests.cases import rocksdb_cases
from tests.profiles import sampled
from tests.reports import cell_values, rows_where

CASES = rocksdb_cases()
TABLES = [case for case in CASES if not case.name.endswith("_hdfs")]
PAIRS = [case for case in CASES if case.name.endswith("_hdfs")]
PROCESSORS = [case for case in CASES if case.name.startswith("rocksdb_tws_")]
FORMAT_2 = [case for case in CASES if "_format2" in case.name]
MOST_BYTES = 5 << 20
MOST_BYTES_OF_A_CASE = 200 << 10


def name_of(case: Path) -> str:
    return f"{case.parent.name}-{case.name}"


def cases(folders: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", folders, ids=name_of)


def some_cases(first: int) -> pytest.MarkDecorator:
    """Those of the RocksDB provider, of which a plain run takes a third."""
    return pytest.mark.parametrize(
        "case", sampled(TABLES, 3, first), ids=list(map(name_of, TABLES))
    )


def lines_of(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def json_of(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


PLACE = ("op", "store", "part", "ver")
"""Fields that name a version of a store of a partition."""


# --- what lies there -------------------------------------------------------------------------


@cases(CASES)
def test_every_rocksdb_fixture_is_generated_case(case: Path) -> None:
    assert case.name in [generated.name for generated in cases_of(case.parent.name)]


def test_provider_pairs_are_found() -> None:
    assert len(PAIRS) >= 5


@cases(CASES)
def test_fixture_metadata_is_complete(case: Path) -> None:
    manifest = json_of(case / "manifest.json")
    assert (manifest["case"], manifest["spark"]) == (case.name, case.parent.name)
    recipe = (case / "recipe.md").read_text("utf-8")
    assert recipe.startswith(f"# {case.name}\n")
    assert f"--spark-version {case.parent.name} --only '^{case.name}$'" in recipe
    assert list((case / "checkpoint/offsets").iterdir()) != []
    assert list((case / "checkpoint/state").iterdir()) != []
    assert (case / "checkpoint/commits" / str(manifest["committed_batch"])).is_file()


def test_fixtures_stay_small() -> None:
    sizes = [(size_of(case), case.name) for case in CASES]
    assert sum(size for size, _ in sizes) <= MOST_BYTES
    assert max(sizes) <= (MOST_BYTES_OF_A_CASE, "")


def size_of(case: Path) -> int:
    return sum(path.stat().st_size for path in case.rglob("*") if path.is_file())


# --- what Spark says agrees with itself ------------------------------------------------------


@some_cases(0)
def test_rocksdb_recorded_rows_are_counted(case: Path) -> None:
    counts = json_of(case / "truth_counts.json")
    assert "error" not in set().union(*counts)
    counted = zip(cell_values(counts, *PLACE, "cf"), cell_values(counts, "rows"), strict=True)
    rows = Counter(cell_values(lines_of(case / "truth.jsonl.gz"), *PLACE, "cf"))
    assert rows == Counter({key: number for key, number in counted if key[-1] is not None})
    assert json_of(case / "manifest.json")["committed_batch"] + 1 in cell_values(counts, "ver")


@some_cases(1)
def test_rocksdb_rows_equal_database_entries(case: Path) -> None:
    raw = Counter(cell_values(lines_of(case / "raw.jsonl.gz"), *PLACE))
    keys = set(cell_values(lines_of(case / "truth.jsonl.gz"), *PLACE, "cf", "kx"))
    assert Counter(key[:4] for key in keys) == raw
    stores = rows_where(json_of(case / "truth_counts.json"), cf=None)
    counted = zip(cell_values(stores, *PLACE), cell_values(stores, "rows"), strict=True)
    assert Counter(dict(counted)) == raw


COUNTED = [case for case in TABLES if "_uncounted" not in case.name]


@cases(COUNTED)
def test_rocksdb_counts_are_keys_and_internal_keys(case: Path) -> None:
    stores = rows_where(json_of(case / "truth_counts.json"), cf=None)
    counts = cell_values(stores, "num_internal_keys", "num_keys", "rows")
    counted = [(internal + keys, rows) for internal, keys, rows in counts if internal is not None]
    assert [total for total, _ in counted] == [rows for _, rows in counted]


@some_cases(2)
def test_rocksdb_entry_contains_unsafe_row(case: Path) -> None:
    if "_avro" in case.name:
        return
    entries: dict[tuple[Any, ...], str] = defaultdict(str)
    for *key, value in cell_values(lines_of(case / "raw.jsonl.gz"), *PLACE, "rv"):
        entries[tuple(key)] += f" {value}"
    for *key, value in cell_values(lines_of(case / "truth.jsonl.gz"), *PLACE, "vx"):
        assert value in entries[tuple(key)]


@some_cases(0)
def test_rocksdb_rows_have_column_family_with_schema(case: Path) -> None:
    schemas = json_of(case / "schemas.json")
    families = {(item["op"], item["store"], item["cf"]): item for item in schemas}
    for line in lines_of(case / "truth.jsonl.gz"):
        schema = families[line["op"], line["store"], line["cf"]]
        assert set(line["k"]) <= {field["name"] for field in schema["key"]["fields"]}
        assert ("i" in line) == schema["several_values"]


# --- files -----------------------------------------------------------------------------------


@cases(TABLES)
def test_rocksdb_fixture_versions_match_case_name(case: Path) -> None:
    kinds = Counter(path.suffix for path in (case / "checkpoint/state").rglob("*.*"))
    assert bool(kinds[".changelog"]) == ("_zips" not in case.name)
    # A version that makes a column family is a snapshot as well.
    words = ("_zips", "_snapshots", "_cleaned", "_v3", "_v4", "_tws_")
    assert bool(kinds[".zip"]) == bool(kinds[".sst"]) == any(word in case.name for word in words)


@cases(FORMAT_2)
def test_commit_log_names_existing_checkpoint_ids(case: Path) -> None:
    state = case / "checkpoint/state"
    attempts = defaultdict(set)
    for path in state.rglob("*_*.*"):
        if path.suffix in (".zip", ".changelog"):
            version, unique_id = path.stem.split("_")
            attempts[int(version)].add(unique_id)
    for log in (case / "checkpoint/commits").iterdir():
        entry = json.loads(log.read_text("utf-8").splitlines()[1])
        named = set(ids_in(entry["stateUniqueIds"]))
        assert named
        assert named <= attempts[int(log.name) + 1]
        if "task_failed" not in case.name:
            assert named == attempts[int(log.name) + 1]
    if "task_failed" in case.name:
        assert len(attempts[5]) > len(attempts[4])


def ids_in(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return [element for item in inner for element in ids_in(item)]


# --- pairs -----------------------------------------------------------------------------------


@cases(PAIRS)
def test_provider_pair_has_equal_rows(case: Path) -> None:
    twin = case.with_name(case.name.removesuffix("_hdfs"))
    rows = set(cell_values(lines_of(case / "truth.jsonl.gz"), *PLACE, "kx", "vx"))
    assert set(cell_values(lines_of(twin / "truth.jsonl.gz"), *PLACE, "kx", "vx")) == rows
    assert rows


# --- transformWithState ----------------------------------------------------------------------


@cases(PROCESSORS)
def test_recorded_rows_equal_calls_of_processor(case: Path) -> None:
    calls = [json.loads(line) for line in (case / "calls.jsonl").read_text("utf-8").splitlines()]
    times = {batch: time for batch, (time, _) in read_batch_times(case).items()}
    recorded = defaultdict(list)
    for line in lines_of(case / "truth.jsonl.gz"):
        recorded[line["ver"]].append(line)
    counts = json_of(case / "truth_counts.json")
    partitions = set(cell_values(counts, "part"))
    compared = 0
    for batch, stored in replay(calls, times):
        version = batch + 1
        if set(cell_values(rows_where(counts, ver=version), "part")) == partitions:
            assert sorted(map(str, rows_of(recorded[version]))) == sorted(map(str, stored.rows()))
            compared += 1
    assert compared


@cases(PROCESSORS)
def test_ttl_leftovers_equal_calls_of_processor(case: Path) -> None:
    calls = [json.loads(line) for line in (case / "calls.jsonl").read_text("utf-8").splitlines()]
    newest = json_of(case / "manifest.json")["committed_batch"]
    assert json_of(case / "expected_leftovers.json") == leftovers_after(case, calls, newest)


@pytest.mark.parametrize(("cleared", "left"), [("x", []), (None, ["x"])])
def test_entry_put_again_expires_with_removed_one(cleared: str | None, left: list[str]) -> None:
    messages = {"key": "a", "var": "visited", "value": 1, "fired_ms": None}
    calls: list[dict[str, Any]] = [
        messages | {"batch": 0, "do": "put", "at": "x", "expires_ms": 15},
        messages | {"batch": 1, "do": "remove" if cleared else "clear", "at": cleared},
        messages | {"batch": 1, "do": "put", "at": "x", "expires_ms": 35},
    ]
    *_, (_, result) = replay(calls, {0: 0, 1: 10, 2: 20})
    assert [at for _, at in result.maps["visited"]] == left


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
