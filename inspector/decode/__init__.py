"""From the bytes of a state file to Arrow: frames, records, rows.

::

    frames     compressed bytes -> raw blocks       one module per codec's framing
    records    raw blocks       -> RecordBlock      spans of keys and values over one buffer
    rows       spans            -> Arrow            UnsafeRow by schema, or one clock column of it
    checksums  row checksums, Hadoop's and Spark's side files

No module here does I/O: bytes in, values or a :class:`~inspector.exceptions.DecodeError` out.
Offsets in errors are those on storage, unless the message says *raw*: after decompression.
"""
