"""What a table says about itself; that RocksDB says the same is in test_table."""

from __future__ import annotations

import pytest

from inspector.decode.sst.table import Table
from inspector.exceptions import DecodeError, RecordError
from tests.decode.sst.tables import VALUE, BytesSource, Writer, block_of, table_of, varint

ONE = [(b"k", 1, VALUE, b"v")]


def test_properties_of_a_table_with_few_properties() -> None:
    properties = Table(BytesSource(table_of(ONE))).properties
    assert (properties.entries, properties.deletions, properties.raw_key_bytes) == (1, 0, 0)
    assert not {"rocksdb.compression", "rocksdb.creating.db.identity"} & properties.stored.keys()


def test_property_texts_with_invalid_utf8() -> None:
    data = table_of(ONE, extra={b"rocksdb.merge.operator": b"\xff", b"\xfe": b"\xff"})
    properties = Table(BytesSource(data)).properties
    assert properties.merge_operator == "�"
    assert properties.stored["�"] == b"\xff"


def test_malformed_property_number_is_refused() -> None:
    data = table_of(ONE, extra={b"rocksdb.raw.key.size": b"\x80"})
    with pytest.raises(RecordError, match=r"rocksdb\.raw\.key\.size: no integer"):
        Table(BytesSource(data))


def test_former_name_of_the_properties_block() -> None:
    writer = Writer()
    index = writer.add(block_of([]))
    old = {b"rocksdb.stats": writer.add(block_of([(b"rocksdb.num.entries", varint(3))]))}
    metaindex = writer.add(block_of(sorted(old.items())))
    tail = table_of(ONE)[-12:]
    data = bytes(writer.data) + b"\x04" + (metaindex + index).ljust(40, b"\0") + tail
    assert Table(BytesSource(data)).properties.entries == 3


def without(name: bytes, *, twice: bool = False) -> bytes:
    """Return a table whose metaindex has only an entry of another name."""
    writer = Writer()
    index = writer.add(block_of([]))
    metaindex = writer.add(block_of([(name, index)] * (1 + twice)))
    tail = table_of(ONE)[-12:]
    return bytes(writer.data) + b"\x04" + (metaindex + index).ljust(40, b"\0") + tail


def test_table_without_properties_is_refused() -> None:
    with pytest.raises(DecodeError, match="a table without properties"):
        Table(BytesSource(without(b"rocksdb.other")), "the/path")
    with pytest.raises(RecordError, match=r"has 'rocksdb\.other' twice"):
        Table(BytesSource(without(b"rocksdb.other", twice=True)))
