"""What exists in a checkpoint, and what Spark wrote about it: listings, logs, metadata, schemas.

All reading of storage happens in this package, and none of it writes.
"""
