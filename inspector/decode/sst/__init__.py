"""RocksDB's table files (SST, block-based), read without RocksDB.

::

    footer      checksum type, format version, where the metaindex lies
    blocks      a block by its handle: trailer, checksum, decompression
    table       a table file: the parts above together; its properties, entries block by block
    tombstones  range deletions of several tables as disjoint ranges
    live        live_entries: the keys that several tables hold together, newest entry first

Facts about the format are those of RocksDB 9.8, which Spark 4.3 has, and were compared with what
that library itself says of the same files.
"""
