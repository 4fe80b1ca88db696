"""``inspector rows``: its report from the API and its printed output."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest

from inspector import api
from inspector.analyses.rows import rows_report
from inspector.analyses.shared.judged import Subject
from inspector.discovery.checkpoint import open_checkpoint
from inspector.model import Problem, StoreId
from inspector.schemas import ROWS, batch_of
from tests.cli.support import checkpoint_of, copy_of, replace_state, run, schema_json, schema_of
from tests.encode import row
from tests.reports import cell_values

GROUPS = str(checkpoint_of("fmgws_event_ignore"))
PLACE: dict[str, Any] = {
    "operator_id": 0,
    "store_name": "default",
    "partition_id": 1,
    "version": 10,
}
VALUE = schema_of(("count", "long"), ("sum", "long"), ("max", "timestamp"))


def batch(*numbers: int) -> pa.RecordBatch:
    return batch_of(
        ROWS,
        [PLACE | {"kind": "row", "key": b"k", "value": row(VALUE, [n, n, 0])} for n in numbers],
    )


def problem(slug: str, path: str | None) -> pa.RecordBatch:
    return batch_of(ROWS, [PLACE | {"kind": "problem", "slug": slug, "message": "m", "path": path}])


def test_row_has_its_partition_version_and_sizes() -> None:
    checkpoint = open_checkpoint(str(checkpoint_of("agg_append")))
    report = rows_report(Subject(checkpoint, 10), [batch(7)], raw=True)
    (result,) = report.primary.rows
    assert result["key"] is None
    assert result["value"] == {"count": 7, "sum": 7, "max": "1970-01-01T00:00:00.000000Z"}
    assert (result["key_bytes"], result["value_bytes"], result["key_hex"]) == (1, 32, "6b")
    assert (result["partition_id"], result["version"], result["batch_id"]) == (1, 10, 9)


def test_limit_stops_reading_batches() -> None:
    used = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(5):
            used.append(number)
            yield batch(number, number)

    checkpoint = open_checkpoint(str(checkpoint_of("agg_append")))
    report = rows_report(Subject(checkpoint, 10), batches(), limit=3)
    assert cell_values(cell_values(report.primary.rows, "value"), "count") == [0, 0, 1]
    assert used == [0, 1]


def test_listing_problem_is_reported_once() -> None:
    """The key of the only row, "k", is no row of the schema."""
    checkpoint = open_checkpoint(str(checkpoint_of("agg_append")))
    listed = [Problem("missing-version", "m", "/ck", None, StoreId(0, "default", 1), 10)]
    batches = [problem("missing-version", None), problem("truncated", "/ck/1.delta"), batch(1)]
    report = rows_report(Subject(checkpoint, 10, listed), batches)
    assert len(list(report.primary.rows)) == 1
    first, second, third = report.problems
    assert (first.slug, second.slug, third.slug) == ("missing-version", "truncated", "bad-row")
    assert second.path == "/ck/1.delta"


def test_rows_of_named_keys() -> None:
    by_json = api.rows(
        GROUPS,
        api.Options(key='{"value": "lapsed-004"}'),
        raw=True,
    )
    (row,) = by_json.primary.rows
    assert row["key"] == {"value": "lapsed-004"}
    by_hex = api.rows(GROUPS, api.Options(key=row["key_hex"]), raw=True)
    assert list(by_hex.primary.rows) == [row]
    nobody = api.rows(GROUPS, api.Options(where=("value=nobody",)))
    assert list(nobody.primary.rows) == []
    assert "no matching row" in nobody.primary.empty


# --- command line --------------------------------------------------------------------------------


NAMES = [
    *("operator_id", "operator_name", "store_name", "partition_id", "version", "batch_id"),
    *("key", "value", "key_bytes", "value_bytes", "row_bytes"),
    *("expires_at_ms", "expires_at", "last_put_batch"),
]
KEY = (("user", "string"), ("at", "timestamp"))
TAGS = {"type": "array", "elementType": "string", "containsNull": True}
PRINTED_VALUE = (
    *(("count", "long"), ("sum", "decimal(30,2)"), ("count", "long"), ("blob", "binary")),
    *(("mean", "double"), ("tags", TAGS)),
)
AT = 1_704_067_200_123_456
HOSTILE = "\x1b[31mred\x1b[0m\r\n|<b>*`\x07\u202e\t"


def checkpoint_with_rows(folder: Path, *entries: tuple[Sequence[Any], Sequence[Any]]) -> Path:
    """Write a checkpoint whose newest version has only these rows."""
    records = [(row(schema_of(*KEY), k), row(schema_of(*PRINTED_VALUE), v)) for k, v in entries]
    schemas = schema_json(*KEY), schema_json(*PRINTED_VALUE)
    return replace_state(copy_of("agg_append", folder), schemas, {(1, 10): records})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    values = [7, Decimal("-12345678901234567890.50"), 2**63 - 1, b"\x00\xff\x10", float("nan"), []]
    return checkpoint_with_rows(tmp_path, (["Ä user", AT], values), ([None, None], [None] * 6))


@pytest.mark.parametrize("output", ["json", "ndjson"])
def test_json_values_keep_digits_and_field_names(checkpoint: Path, output: str) -> None:
    outcome = run("rows", checkpoint, "-o", output)
    first, second = outcome.rows if output == "json" else outcome.ndjson
    assert list(first) == NAMES
    assert first["key"] == {"user": "Ä user", "at": "2024-01-01T00:00:00.123456Z"}
    assert first["value"] == {
        "count": 7,
        "sum": "-12345678901234567890.50",
        "count#2": 2**63 - 1,
        "blob": base64.b64encode(b"\x00\xff\x10").decode(),
        "mean": "NaN",
        "tags": [],
    }
    assert second["key"] == {"user": None, "at": None}
    assert set(second["value"].values()) == {None}


@pytest.mark.parametrize("output", ["table", "csv", "markdown"])
def test_duplicate_field_names_are_numbered_in_every_format(checkpoint: Path, output: str) -> None:
    outcome = run("rows", checkpoint, "-o", output)
    assert outcome.code == 0
    result = outcome.out.replace('""', '"').replace("\\", "")
    assert f'"count": 7, "sum": "-12345678901234567890.50", "count#2": {2**63 - 1}' in result
    assert '"at": "2024-01-01T00:00:00.123456Z"' in result


def test_raw_option_adds_key_and_value_bytes(checkpoint: Path) -> None:
    outcome = run("rows", checkpoint, "--raw", "-o", "ndjson")
    first = outcome.ndjson[0]
    assert list(first) == [*NAMES, "key_hex", "value_hex"]
    assert bytes.fromhex(first["key_hex"]) == row(schema_of(*KEY), ["Ä user", AT])
    assert first["key_bytes"] == len(first["key_hex"]) // 2
    assert first["value_bytes"] == len(first["value_hex"]) // 2
    assert first["row_bytes"] == first["key_bytes"] + first["value_bytes"]
    assert run("rows", checkpoint, "-o", "csv").out.startswith(",".join(NAMES) + "\n")


@pytest.mark.parametrize(("redact", "word"), [("hash", "sha256:"), ("all", "***")])
def test_redacted_rows_have_no_key_value_or_bytes(checkpoint: Path, redact: str, word: str) -> None:
    first, second = run("rows", checkpoint, "--raw", "--redact", redact, "-o", "ndjson").ndjson
    assert first["key"].startswith(word)
    assert first["value"].startswith(word)
    assert cell_values([first, second], "key_hex", "value_hex") == [(None, None), (None, None)]
    assert first["key_bytes"] > 0


def lines_with(text: str, word: str) -> list[str]:
    """Return the lines of a text that have a word."""
    return [line for line in text.splitlines() if word in line]


def test_control_characters_are_escaped(tmp_path: Path) -> None:
    path = checkpoint_with_rows(tmp_path, ([HOSTILE, AT], [1, Decimal(0), 2, b"", 0.0, [HOSTILE]]))
    table, markdown = run("rows", path).out, run("rows", path, "-o", "markdown").out
    assert table.replace("\n", "").isprintable()
    assert markdown.replace("\n", "").isprintable()
    assert len(lines_with(table, "red")) == len(lines_with(markdown, "red")) == 1
    assert "<b>" not in markdown.replace("\\<b\\>", "")
    (line,) = run("rows", path, "-o", "ndjson").ndjson
    assert line["key"]["user"] == HOSTILE
    assert run("rows", path, "-o", "json").rows == [line]
    (line,) = run("rows", path, "-o", "csv").csv
    assert json.loads(line["key"])["user"] == HOSTILE


@pytest.mark.parametrize("output", ["table", "json", "ndjson", "csv", "markdown"])
def test_invalid_utf_8_is_shown_in_every_format(output: str, tmp_path: Path) -> None:
    path = checkpoint_with_rows(tmp_path, ([b"\xff\xfe ok", AT], [1, Decimal(0), 2, b"", 0.0, []]))
    outcome = run("rows", path, "-o", output)
    assert (outcome.code, outcome.err) == (0, "")
    assert " ok" in outcome.out


@pytest.mark.parametrize("name", ["NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"])
def test_rows_are_printed_without_colours(
    name: str, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run("rows", checkpoint).out
    monkeypatch.setenv(name, "1")
    assert run("rows", checkpoint).out == plain
    assert "\x1b" not in plain


@pytest.mark.parametrize(
    ("options", "lines", "objects"),
    [((), 100, 401), (("--limit", "0"), 401, 401), (("--limit", "3"), 3, 3)],
)
def test_table_shows_100_rows_and_ndjson_all(
    options: tuple[str, ...], lines: int, objects: int
) -> None:
    path = checkpoint_of("agg_complete")
    assert len(lines_with(run("rows", path, *options).out, '{"window": ')) == lines
    assert len(run("rows", path, "-o", "ndjson", *options).ndjson) == objects


def test_empty_state_and_unreadable_state_differ(tmp_path: Path) -> None:
    empty = checkpoint_with_rows(tmp_path)
    assert "(this version has no rows)" in run("rows", empty).out
    assert run("rows", empty).code == 0
    assert run("rows", empty, "-o", "csv").out == ",".join(NAMES) + "\n"
    (empty / "state/0/1/10.delta").write_bytes(b"junk")
    broken = run("rows", empty, "-o", "ndjson")
    assert (broken.code, broken.out) == (4, "")
    assert broken.err.startswith(f"problem: {empty}/state/0/1/10.delta: byte 0: ")


def test_missing_version_is_reported_once_for_each_store() -> None:
    path = checkpoint_of("snapshots_cleaned")
    outcome = run("rows", path, "--batch", "0", "-o", "json")
    assert (outcome.code, outcome.rows) == (4, [])
    assert cell_values(outcome.json["problems"], "path", "problem") == [
        (str(path / "state/0/0"), "missing-version"),
        (str(path / "state/0/1"), "missing-version"),
    ]


def test_damaged_snapshot_is_replaced_by_its_deltas(tmp_path: Path) -> None:
    path = copy_of("fmgws_snapshots_cleaned", tmp_path)
    expected = run("rows", path, "--raw", "-o", "ndjson").ndjson
    snapshot = path / "state/0/1/12.snapshot"
    snapshot.write_bytes(b"junk")
    outcome = run("rows", path, "--raw", "-o", "json")
    assert outcome.code == 4
    (problem,) = outcome.json["problems"]
    assert problem["path"] == str(snapshot)
    columns = ("key_hex", "value_hex")
    assert sorted(cell_values(outcome.rows, *columns)) == sorted(cell_values(expected, *columns))


# --- other storages --------------------------------------------------------------------------


@pytest.fixture
def memory() -> Iterator[str]:
    """Put a fixture into fsspec's memory and return its URL."""
    system = fsspec.filesystem("memory")
    system.put(str(checkpoint_of("join_left_outer")), "/inspected/ck", recursive=True)
    yield "memory://inspected/ck"
    system.rm("/inspected", recursive=True)


@pytest.mark.parametrize("command", ["audit", "info", "verify", "sizes", "sharing", "rows"])
def test_fsspec_storage_gives_the_local_rows(command: str, memory: str) -> None:
    local = run(command, checkpoint_of("join_left_outer"), "-o", "ndjson")
    outcome = run(command, memory, "-o", "ndjson")
    assert (outcome.code, outcome.out) == (local.code, local.out)
    assert run(command, memory, "-o", "json").json["checkpoint"] == memory


class Forbidding(fsspec.get_filesystem_class("memory")):  # type: ignore[misc]
    """A storage that denies reading one file."""

    protocol = "forbidding"
    store: dict[str, Any] = {}  # noqa: RUF012 - as fsspec has it
    pseudo_dirs = [""]  # noqa: RUF012 - as fsspec has it

    @classmethod
    def _strip_protocol(cls, path: str) -> Any:
        return super()._strip_protocol(path.replace("forbidding://", "memory://"))

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if mode == "rb":
            self._refuse(path)
        return super()._open(path, mode, **options)

    def cat_file(self, path: str, **options: Any) -> Any:
        self._refuse(path)
        return super().cat_file(path, **options)

    def _refuse(self, path: str) -> None:
        if path.endswith("/state/0/1/5.delta"):
            raise PermissionError(13, "Permission denied", path)


@pytest.mark.parametrize("command", ["audit", "verify", "sizes", "sharing", "leftovers", "rows"])
def test_file_without_read_permission_is_a_problem(command: str) -> None:
    fsspec.register_implementation("forbidding", Forbidding, clobber=True)
    Forbidding.store.clear()
    Forbidding.pseudo_dirs[:] = [""]
    system = fsspec.filesystem("forbidding", skip_instance_cache=True)
    system.put(str(checkpoint_of("agg_append")), "/ck", recursive=True)
    outcome = run(command, "forbidding://ck", "-o", "json")
    assert outcome.code == 4
    (problem,) = outcome.json["problems"]
    assert problem["problem"] == "denied"
    assert problem["path"] == "forbidding://ck/state/0/1/5.delta"
    assert problem["message"] == "Permission denied"
    assert outcome.rows or command == "leftovers"


# --- when a row goes, and when it was put ----------------------------------------------------


@pytest.mark.parametrize(
    ("case", "key", "expires_at", "last_put_batch"),
    [
        ("fmgws_event_ignore", "edge-009", "2024-01-01T00:01:59.000Z", 11),
        ("fmgws_event_ignore", "unarmed-001", None, 1),
        ("rocksdb_fmgws_event_ignore", "edge-006", "2024-01-01T00:01:29.000Z", 8),
        ("fmgws_no_timeout", "due-000", None, 4),
        ("agg_append", "user=user-102", "2024-01-01T00:01:20.000Z", 7),
    ],
)
def test_row_has_expiry_time_and_last_put(
    case: str, key: str, expires_at: str | None, last_put_batch: int
) -> None:
    outcome = run("rows", checkpoint_of(case), "--key", key, "-o", "json")
    (result,) = outcome.rows
    assert (result["expires_at"], result["last_put_batch"]) == (expires_at, last_put_batch)


def test_last_put_equals_the_history() -> None:
    path = checkpoint_of("fmgws_event_ignore")
    rows = run("rows", path, "-o", "json").rows
    events = run("history", path, "--where", "value>a", "-o", "json").rows
    last_put = {event["key"]["value"]: event["batch_id"] for event in events}
    assert {row["key"]["value"]: row["last_put_batch"] for row in rows} == last_put
    assert len(rows) == 128


def test_row_of_a_snapshot_has_no_last_put() -> None:
    rows = run("rows", checkpoint_of("fmgws_snapshots_cleaned"), "-o", "json").rows
    assert Counter(cell_values(rows, "last_put_batch")) == {None: 113, 12: 15}


def test_row_without_expiry_rule_has_no_expiry_time() -> None:
    rows = run("rows", checkpoint_of("dedup_no_watermark"), "-o", "json").rows
    assert cell_values(rows, "expires_at") == [None] * 402
