"""RocksDB's table files (SST, block-based), read without RocksDB.

::

    footer      checksum type, format version, position of the metaindex
    properties  properties of a table
    blocks      a block by its handle: trailer, checksum, decompression
    table       a table file: the parts above together; its properties, entries block by block
    live        live_entries: the keys that several tables have together, newest entry first

Facts about the format are those of RocksDB 9.8, which Spark 4.3 has, and were compared with what
that library itself reports for the same files.
"""
