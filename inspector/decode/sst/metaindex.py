"""The metaindex of a table and the properties that it leads to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TableProperties:
    """What a table says about itself (``TableProperties`` of RocksDB); 0 or "" where it is silent.

    Attributes:
        entries: all entries: values, deletions of every kind, merge operands, range deletions.
        deletions: tombstones: deletions, single deletions and range deletions.
        merge_operands: entries that are appended to an older value.
        range_deletions: deletions of ranges of keys.
        raw_key_bytes: of all keys, uncompressed, with the 8 bytes of each internal key.
        raw_value_bytes: of all values, uncompressed.
        data_bytes: of the data blocks in the file. data_blocks: how many they are.
        index_bytes: of the index in the file. filter_bytes: of the filter.
        compression: as RocksDB spells it (``LZ4``, ``NoCompression``).
        comparator: name of the order of keys. merge_operator: its name; "" or ``nullptr`` if none.
        column_family: name of RocksDB's own column family. Spark's virtual ones are in the keys.
        column_family_id: its number.
        creation_time: seconds since the epoch; when the table's oldest data was written (flush).
        file_creation_time: seconds since the epoch.
        db_id: of the database. db_session_id: of the run that wrote the file.
        file_number: of the file in that run (``rocksdb.original.file.number``).
        format_version: of the footer, 2 to 7.
        numbers: every property that is stored as a number, by its full name.
        texts: all others, those of user collectors included, by their full name.
    """

    entries: int = 0
    deletions: int = 0
    merge_operands: int = 0
    range_deletions: int = 0
    raw_key_bytes: int = 0
    raw_value_bytes: int = 0
    data_bytes: int = 0
    data_blocks: int = 0
    index_bytes: int = 0
    filter_bytes: int = 0
    compression: str = ""
    comparator: str = ""
    merge_operator: str = ""
    column_family: str = ""
    column_family_id: int = 0
    creation_time: int = 0
    file_creation_time: int = 0
    db_id: str = ""
    db_session_id: str = ""
    file_number: int = 0
    format_version: int = 0
    numbers: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, bytes] = field(default_factory=dict)
