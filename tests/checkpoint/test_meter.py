"""The counter of bytes that are read."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from inspector.checkpoint.storage import READ, Meter, Storage


def test_meter_adds_bytes_of_all_threads() -> None:
    meter = Meter()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(meter.add, [3] * 1000))
    assert meter.bytes == 3000


def test_stream_and_read_count_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 1000)
    storage = Storage.open(str(tmp_path))
    before = READ.bytes
    assert sum(map(len, storage.stream("a", 300))) == 1000
    assert len(storage.read("a", 2000)) == 1000
    assert READ.bytes - before == 2000
