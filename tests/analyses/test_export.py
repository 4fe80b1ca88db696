"""``inspector export``: its report from the API and its printed output."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inspector import api
from inspector.analyses.export import store_reports
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import StoreTable
from inspector.render.report import Report
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, copy_of, run, tree
from tests.reports import cell_values

JOIN = str(checkpoint_of("join_left_outer"))


def row_counts(tables: list[StoreTable]) -> list[tuple[str, int]]:
    """Return the name and the number of rows of each exported table."""
    return [(t.name, pa.Table.from_batches(t.batches, t.schema).num_rows) for t in tables]


def test_exported_tables_have_all_rows_and_changes() -> None:
    assert row_counts(api.export("rows", JOIN)) == [
        ("operator-0.left-keyToNumValues", 44),
        ("operator-0.left-keyWithIndexToValue", 61),
        ("operator-0.right-keyToNumValues", 12),
        ("operator-0.right-keyWithIndexToValue", 15),
    ]
    assert row_counts(api.export("changes", JOIN)) == [
        ("operator-0.left-keyToNumValues", 255),
        ("operator-0.left-keyWithIndexToValue", 378),
        ("operator-0.right-keyToNumValues", 159),
        ("operator-0.right-keyWithIndexToValue", 216),
    ]
    assert len(list(api.changes(JOIN).primary.rows)) == 255 + 378 + 159 + 216


def test_store_reports_have_the_rows_of_the_rows_report() -> None:
    reports = store_reports(Run.start(JOIN, None), "rows")
    assert sorted(map(str, rows_in(reports))) == sorted(map(str, api.rows(JOIN).primary.rows))
    later = store_reports(Run.start(JOIN, None), "changes", from_batch=3)
    batches = cell_values(rows_in(later), "batch_id")
    assert (min(batches), max(batches)) == (3, 9)


def rows_in(reports: Iterable[tuple[str, Report]]) -> list[Any]:
    """Return the rows of the reports of all stores."""
    return [row for _, report in reports for row in report.primary.rows]


def test_listing_problem_is_reported_for_one_store(tmp_path: Path) -> None:
    root = copy_of("join_left_outer", tmp_path)
    (root / "state/0/0/left-keyToNumValues/3.delta").unlink()
    first, *remaining = api.export("rows", str(root))
    assert first.problems
    assert attributes(remaining, "problems") == [[], [], []]


# --- command line --------------------------------------------------------------------------------


GROUPS = checkpoint_of("fmgws_event_ignore")
PRINTED_JOIN = checkpoint_of("join_left_outer")
FORMATS = ("parquet", "arrow", "csv", "ndjson")


def read_arrow(file: Path) -> list[Any]:
    with pa.memory_map(str(file)) as source:
        return pa.ipc.open_file(source).read_all().to_pylist()


def read_csv(file: Path) -> list[Any]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def read(file: Path) -> list[Any]:
    """Return the rows of an exported file."""
    readers: dict[str, Callable[[Path], list[Any]]] = {
        ".parquet": lambda file: pq.read_table(file).to_pylist(),
        ".arrow": read_arrow,
        ".csv": read_csv,
        ".ndjson": lambda file: [json.loads(line) for line in file.read_text().splitlines()],
    }
    return readers[file.suffix](file)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("subject", "count"), [("rows", 128), ("changes", 307)])
def test_one_store_is_exported_to_one_file(
    tmp_path: Path, subject: str, count: int, form: str
) -> None:
    before = tree(GROUPS)
    file = tmp_path / f"out.{form}"
    outcome = run("export", subject, GROUPS, "-O", file)
    assert (outcome.code, outcome.out) == (0, "")
    assert str(file) in outcome.err
    assert len(read(file)) == count
    assert list(tmp_path.iterdir()) == [file]
    assert tree(GROUPS) == before


@pytest.mark.parametrize("form", FORMATS)
def test_each_store_is_exported_to_its_own_file(tmp_path: Path, form: str) -> None:
    outcome = run("export", "rows", PRINTED_JOIN, "-O", tmp_path, "--format", form, "-q")
    assert (outcome.code, outcome.err) == (0, "")
    assert len(list(tmp_path.iterdir())) == 4
    assert len(read(tmp_path / f"operator-0.left-keyToNumValues.{form}")) == 44
    assert len(read(tmp_path / f"operator-0.left-keyWithIndexToValue.{form}")) == 61
    assert len(read(tmp_path / f"operator-0.right-keyToNumValues.{form}")) == 12
    assert len(read(tmp_path / f"operator-0.right-keyWithIndexToValue.{form}")) == 15


@pytest.mark.parametrize("subject", ["rows", "changes"])
def test_parquet_and_arrow_keep_types(subject: str, tmp_path: Path) -> None:
    run("export", subject, GROUPS, "-O", tmp_path / "x.parquet", "--raw", "-q")
    run("export", subject, GROUPS, "-O", tmp_path / "x.arrow", "--raw", "-q")
    parquet = pq.read_table(tmp_path / "x.parquet")
    with pa.memory_map(str(tmp_path / "x.arrow")) as source:
        assert pa.ipc.open_file(source).read_all().equals(parquet)
    state = parquet.schema.field("value").type.field("groupState").type
    assert state.field("visits").type == pa.int64()


def test_ndjson_export_equals_the_rows_command(tmp_path: Path) -> None:
    file = tmp_path / "out"
    run("export", "rows", GROUPS, "-O", file, "--format", "ndjson", "--batch", "3")
    assert file.read_text() == run("rows", GROUPS, "-o", "ndjson", "--batch", "3").out


def test_export_filters_by_key_batch_and_store(tmp_path: Path) -> None:
    file = tmp_path / "out.ndjson"
    run("export", "changes", GROUPS, "-O", file, "--where", "value=lapsed-004")
    assert cell_values(read(file), "event") == ["insert", "update"]
    run("export", "changes", GROUPS, "-O", file, "--force", "--from-batch", "3", "--batch", "4")
    assert set(cell_values(read(file), "batch_id")) == {3, 4}
    store = ("--store", "left-keyToNumValues")
    run("export", "rows", PRINTED_JOIN, "-O", file, "--force", *store)
    assert set(cell_values(read(file), "store_name")) == {"left-keyToNumValues"}


def test_existing_file_is_overwritten_only_with_force(tmp_path: Path) -> None:
    file = tmp_path / "out.parquet"
    file.write_text("mine")
    outcome = run("export", "rows", GROUPS, "-O", file)
    assert outcome.code == 2
    assert "--force" in outcome.err
    assert file.read_text() == "mine"
    assert run("export", "rows", GROUPS, "-O", file, "--force").code == 0
    assert len(read(file)) == 128


@pytest.mark.parametrize("form", FORMATS)
def test_unreadable_delta_is_reported_and_exit_code_4(form: str, tmp_path: Path) -> None:
    copy = copy_of("fmgws_event_ignore", tmp_path)
    (copy / "state/0/0/12.delta").write_bytes(b"broken")
    outcome = run("export", "rows", copy, "-O", tmp_path / f"out.{form}")
    assert outcome.code == 4
    assert "problem: " in outcome.err
    assert "12.delta" in outcome.err
    assert len(read(tmp_path / f"out.{form}")) == 63


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rows", "{case}", "-O", "{case}/out.parquet"), "is inside the checkpoint"),
        (("rows", "{case}", "-O", "{out}/x/y/z.csv"), "cannot be made"),
        (("rows", "{case}", "-O", "{out}/a.csv", "--from-batch", "1"), "for changes"),
        (("rows", "{case}"), "Missing option"),
        (("keys", "{case}", "-O", "{out}/a.csv"), "Invalid value"),
        (("rows", "{case}", "-O", "{out}/a.csv", "--key", "hex:zz"), "hex"),
    ],
)
def test_invalid_export_options_are_usage_errors(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = [text.format(case=GROUPS, out=tmp_path) for text in arguments]
    outcome = run("export", *result)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_several_stores_need_a_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    outcome = run("export", "rows", PRINTED_JOIN, "-O", tmp_path / "out")
    assert outcome.code == 2
    assert "4 stores need a folder" in outcome.err


@pytest.mark.parametrize("form", FORMATS)
def test_file_extension_sets_the_export_format(form: str, tmp_path: Path) -> None:
    file = tmp_path / f"x.{form}"
    assert run("export", "rows", checkpoint_of("agg_update"), "-O", file).code == 0
    assert file.is_file()
    refused = run("export", "rows", PRINTED_JOIN, "-O", tmp_path / f"several.{form}")
    assert refused.code == 2
    assert "names a file, and there are 4 stores: name a folder, or one store" in refused.err
    item = ("--store", "left-keyToNumValues")
    assert run("export", "rows", PRINTED_JOIN, "-O", tmp_path / f"one.{form}", *item).code == 0
    assert (tmp_path / f"one.{form}").is_file()


def test_unknown_file_extension_is_refused(tmp_path: Path) -> None:
    outcome = run("export", "rows", PRINTED_JOIN, "-O", tmp_path / "x.foo")
    assert (outcome.code, list(tmp_path.iterdir())) == (2, [])
    assert "no format ends with .foo; give one of .parquet, .arrow, .csv, .ndjson" in outcome.err
    assert run("export", "rows", PRINTED_JOIN, "-O", f"{tmp_path}/x.foo/").code == 0


def test_file_extension_that_contradicts_the_format_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.arrow"
    outcome = run("export", "rows", GROUPS, "-O", file, "--format", "csv")
    assert (outcome.code, list(tmp_path.iterdir())) == (2, [])
    assert "x.arrow: the name is that of arrow, got --format csv" in outcome.err
    assert run("export", "rows", GROUPS, "-O", file, "--format", "arrow").code == 0


def test_message_counts_one_row_in_the_singular(tmp_path: Path) -> None:
    outcome = run("export", "rows", GROUPS, "-O", tmp_path / "x.arrow", "--key", "value=once-000")
    assert f"{tmp_path / 'x.arrow'}: 1 row\n" in outcome.err
