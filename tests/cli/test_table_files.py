"""Data files: types, target paths, and failed writes."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inspector.analyses.shared.stores import StoreTable
from inspector.cli.export_files import targets, write_store_table, written
from tests.attributes import attributes

TYPES: dict[str, tuple[Any, list[Any]]] = {
    "void": (pa.null(), [None, None]),
    "dummy": (pa.struct([("__dummy__", pa.null())]), [{"__dummy__": None}, None]),
    "duration": (pa.duration("us"), [5, None]),
    "again": (pa.struct([("n", pa.int64()), ("n#2", pa.int8())]), [{"n": 1, "n#2": 2}, None]),
    "map": (pa.map_(pa.string(), pa.null()), [[("a", None)], None]),
    "time": (pa.time64("ns"), [1, None]),
    "old": (pa.timestamp("us", tz="UTC"), [-300_000_000_000_000_000, None]),
    "list": (pa.list_(pa.struct([("d", pa.duration("us"))])), [[{"d": 1}, None], []]),
}


def table(**columns: tuple[Any, list[Any]]) -> StoreTable:
    arrays = [pa.array(values, kind) for kind, values in columns.values()]
    batch = pa.RecordBatch.from_arrays(arrays, names=list(columns))
    return StoreTable("operator-0.default", batch.schema, [batch, batch])


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("name", TYPES)
def test_parquet_and_arrow_keep_every_type(tmp_path: Path, form: str, name: str) -> None:
    source = table(value=TYPES[name])
    assert write_store_table(source, tmp_path / "out", form) == 4
    if form == "parquet":
        read = pq.read_table(tmp_path / "out")
    else:
        with pa.memory_map(str(tmp_path / "out")) as file:
            read = pa.ipc.open_file(file).read_all()
    assert read.schema.equals(source.schema)
    assert read.equals(pa.Table.from_batches(source.batches))


def test_empty_struct_gets_a_dummy_field(tmp_path: Path) -> None:
    source = table(key=(pa.struct([]), [{}, None]))
    assert write_store_table(source, tmp_path / "out.parquet", "parquet") == 4
    read = pq.read_table(tmp_path / "out.parquet")
    assert read.column("key").to_pylist() == [{"__dummy__": None}, None] * 2
    assert write_store_table(source, tmp_path / "out.arrow", "arrow") == 4


def test_type_that_parquet_lacks_is_a_usage_error(tmp_path: Path) -> None:
    source = table(value=(pa.list_(pa.struct([])), [[], None]))
    with pytest.raises(click.UsageError, match="--format arrow can"):
        write_store_table(source, tmp_path / "out", "parquet")


def test_missing_folder_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        write_store_table(table(value=TYPES["void"]), tmp_path / "no" / "out", "parquet")


def test_batches_are_combined_into_row_groups(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(range(1000))], names=["n"])
    source = StoreTable("t", batch.schema, (batch for _ in range(200)))
    assert write_store_table(source, tmp_path / "out", "parquet") == 200_000
    assert pq.ParquetFile(tmp_path / "out").metadata.num_row_groups == 2


def test_target_paths_of_tables(tmp_path: Path) -> None:
    assert targets(f"{tmp_path}/x", ["a"], ".csv") == [tmp_path / "x"]
    assert targets(f"{tmp_path}/x/", ["a"], ".csv") == [tmp_path / "x" / "a.csv"]
    assert targets(str(tmp_path), ["a"], ".csv") == [tmp_path / "a.csv"]
    assert targets(f"{tmp_path}/x", ["a", "b"], ".csv") == [
        tmp_path / "x" / "a.csv",
        tmp_path / "x" / "b.csv",
    ]


def test_written_files_appear_at_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with written([folder / "a", folder / "b"], force=False) as (first, second):
        first.write_text("data")
        second.write_text("data")
        assert not (folder / "a").exists()
        assert not (folder / "b").exists()
    assert sorted(folder.iterdir()) == [folder / "a", folder / "b"]
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    mode = stat.S_IMODE((folder / "a").stat().st_mode)
    assert mode == stat.S_IMODE(ordinary.stat().st_mode)


def test_failed_write_leaves_no_files(tmp_path: Path) -> None:
    def fail() -> None:
        with written([tmp_path / "new" / "a", tmp_path / "b"], force=False) as files:
            files[0].write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_failed_write_keeps_other_files(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(RuntimeError), written([tmp_path / "a"], force=False):
        raise RuntimeError
    assert attributes(tmp_path.iterdir(), "name") == ["mine"]
