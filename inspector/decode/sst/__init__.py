"""RocksDB's table files (SST, block-based), read without RocksDB.

::

    footer      the last bytes of a file: checksum type, format version, where the metaindex lies;
                and how a file is read, given by whoever does I/O
    blocks      a block by its handle: trailer, checksum, decompression
    metaindex   the properties of a table, and where its other meta blocks lie
    table       open_table: the handles of the data blocks, in order (plain, delta-encoded,
                partitioned), and the parts above together; entries block by block
    tombstones  range deletions of several tables as disjoint ranges
    live        live_entries: the keys that several tables hold together, newest entry first

What a provider uses are :func:`inspector.decode.sst.table.open_table` and
:func:`inspector.decode.sst.live.live_entries`. Facts about the format are those of RocksDB 9.8,
which Spark 4.3 has, and were held against what that library itself says of the same files.
"""
