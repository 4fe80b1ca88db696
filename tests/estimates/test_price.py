"""Estimated requests and costs of an audit, compared with the requests at an object store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

import inspector.api as api
from inspector.checkpoint.roots import Selection
from inspector.checkpoint.storage import READ, Storage, parts_of
from inspector.estimates.price import Prices, Work, dollars, prices_from, work_of_audit
from inspector.model import LIMITS, FileKind, StoreFile, Version
from inspector.providers.task_files import ReadAhead
from tests.attributes import attributes
from tests.checkpoint_files import remove_paths
from tests.fixture_folder import FIXTURES, NEWEST
from tests.object_store import serve

TOLERANCE = 0.05

KINDS = (
    *("agg_update", "join_left_outer", "uncommitted", "snapshot_in_middle"),
    *("rocksdb_agg_update_snapshots_format2", "rocksdb_agg_update_zips_one"),
    *("rocksdb_agg_update_zips_cleaned_one", "rocksdb_task_failed_recovered_format2"),
    *("rocksdb_join_left_outer_snapshots_v4", "rocksdb_tws_undeclared"),
)
"""Both providers; changelogs, zips alone, format 2 with attempts that failed, shared files."""


def every_second_fixture() -> list[object]:
    """Return every second fixture of all releases, and the fixtures of the plain run."""
    result = sorted(attributes(FIXTURES.glob("*/*/checkpoint"), "parent"))
    result = sorted({*result[::2], *(NEWEST / kind for kind in KINDS)})
    return [
        pytest.param(
            item,
            id=f"{item.parent.name}-{item.name}",
            marks=() if item.parent == NEWEST and item.name in KINDS else pytest.mark.full,
        )
        for item in result
    ]


@pytest.mark.parametrize("case", every_second_fixture())
def test_estimated_requests_match_those_of_an_audit(case: Path) -> None:
    requests = serve(case)
    work = work_of_audit(Storage.open("objects://checkpoint"), Selection())
    assert not requests.read
    assert requests.kinds["LIST"] == 1
    requests.kinds.clear()
    before = READ.bytes
    api.audit("objects://checkpoint")
    kinds = requests.kinds
    assert work.lists == kinds["LIST"]
    assert work.gets == pytest.approx(kinds["GET"] + kinds["HEAD"], rel=TOLERANCE)
    assert work.bytes == pytest.approx(READ.bytes - before, rel=TOLERANCE)
    assert work.files == pytest.approx(len(requests.read), rel=TOLERANCE)


@pytest.mark.parametrize(
    "case", ["rocksdb_agg_update_zips_one", "rocksdb_tws_processing_snapshots"]
)
def test_sst_table_of_several_snapshots_is_requested_once(case: str) -> None:
    requests = serve(NEWEST / case)
    api.audit("objects://checkpoint")
    tables = {path: count for path, count in requests.read.items() if path.endswith(".sst")}
    assert tables
    assert set(tables.values()) == {1}
    assert requests.kinds["HEAD"] == len(tables)


@pytest.mark.parametrize("batch", [1, 3])
def test_estimate_for_one_partition_and_an_earlier_batch(batch: int) -> None:
    requests = serve(NEWEST / "agg_update")
    storage = Storage.open("objects://checkpoint")
    complete = work_of_audit(storage, Selection())
    work = work_of_audit(storage, Selection(partition_id=1), batch + 1)
    assert work.files < complete.files
    requests.kinds.clear()
    api.audit("objects://checkpoint", api.Options(partition_id=1, batch=batch))
    assert work.gets == requests.kinds["GET"]


def test_estimate_for_an_earlier_batch_without_checksum_files(tmp_path: Path) -> None:
    copy = copytree(NEWEST / "agg_update" / "checkpoint", tmp_path / "checkpoint")
    remove_paths(copy, "state/*/*/.*.crc")
    requests = serve(tmp_path)
    work = work_of_audit(Storage.open("objects://checkpoint"), Selection(), 4)
    requests.kinds.clear()
    api.audit("objects://checkpoint", api.Options(batch=3))
    assert work.gets == requests.kinds["GET"]


def test_list_requests_per_folder_on_local_storage() -> None:
    checkpoint = NEWEST / "agg_update" / "checkpoint"
    work = work_of_audit(Storage.open(str(checkpoint)), Selection())
    listed = [checkpoint, *(path for path in checkpoint.rglob("*") if path.is_dir())]
    assert work.lists == 1 + len(listed)
    serve(checkpoint.parent)
    remote = work_of_audit(Storage.open("objects://checkpoint"), Selection())
    # The metadata file is read twice, which saves a listing.
    metadata = (checkpoint / "metadata").stat().st_size
    assert remote == replace(work, lists=1, gets=work.gets + 1, bytes=work.bytes + metadata)
    of_fleet = work_of_audit(Storage.open("objects://checkpoint"), Selection(), is_root=True)
    assert of_fleet == replace(work, lists=2)


def test_estimate_for_a_root_without_metadata(tmp_path: Path) -> None:
    copy = copytree(NEWEST / "agg_update" / "checkpoint", tmp_path / "checkpoint")
    (copy / "metadata").unlink()
    requests = serve(tmp_path)
    work = work_of_audit(Storage.open("objects://checkpoint"), Selection())
    requests.kinds.clear()
    api.audit("objects://checkpoint")
    assert (work.lists, work.gets) == (requests.kinds["LIST"], requests.kinds["GET"])


@pytest.mark.parametrize("size", [0, 1, 256 << 10, (256 << 10) + 1, LIMITS.chunk_bytes * 2 + 1])
def test_requests_of_a_file_by_its_parts(size: int, tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "1.delta").write_bytes(bytes(size))
    requests = serve(tmp_path)
    storage = Storage.open("objects://bucket")
    file = StoreFile(storage.full_path("1.delta"), FileKind.DELTA, Version(1), size)
    assert sum(map(len, ReadAhead(storage).chunks(file))) == size
    assert parts_of(size) == requests.kinds["GET"]


def test_work_adds_and_has_a_price() -> None:
    work = Work(1000, 10_000, 9_000, 2 << 30) + Work(1000, 0, 0, 0)
    assert work == Work(2000, 10_000, 9_000, 2 << 30)
    prices = Prices(list=0.005, get=0.0004, gib=0.25, core_hour=0.05)
    assert dollars(work, 3.0, prices) == pytest.approx(0.01 + 0.004 + 0.5 + 0.15)


def test_prices_are_only_those_of_the_user() -> None:
    assert prices_from({}) is None
    assert prices_from({"get": "0.5"}) == Prices(get=0.5)
    assert prices_from({"list": "1", "gib": "0"}) == Prices(list=1.0)


@pytest.mark.parametrize(
    ("price", "message"),
    [
        ({"cloud": "aws"}, "got the price cloud=aws, expected dollars for one of list, get"),
        ({"put": "1"}, "got the price put=1, expected dollars for one of list, get"),
        ({"get": "dear"}, "got the price get=dear"),
        ({"get": "-1"}, "got the price get=-1"),
        ({"gib": "inf"}, "got the price gib=inf"),
    ],
)
def test_wrong_price_is_refused(price: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prices_from(price)
