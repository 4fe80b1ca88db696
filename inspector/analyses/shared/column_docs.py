"""What columns mean, by their names: a name means the same in every table that has it.

A column that needs words of its own has them in its declaration. Bytes are UnsafeRow bytes unless
the text says otherwise; times are epoch milliseconds in JSON and timestamps in Arrow.
"""

from __future__ import annotations

from collections.abc import Mapping

from inspector.render.report import Column

_WHERE = {
    "operator_id": "The stateful operator's number, the folder below `state/`.",
    "operator_name": "The operator's name in Spark.",
    "store_name": "The state store; `default` where the operator has one only.",
    "partition_id": "The partition of the operator's state.",
    "version": "The state version: batch id + 1.",
    "batch_id": "The batch that made the version.",
    "versions": "Number of state versions that were compared.",
    "committed": "Whether the batch's commit is in the log.",
    "checkpoint": "The checkpoint's root, spelled as in the command or call.",
}
_CLOCKS = {
    "batch_timestamp_ms": "The processing time of the batch, from the offset log.",
    "watermark_ms": "The event-time watermark in force in the batch; null if there was none.",
    "lag_ms": "The batch's processing time less its watermark, in ms.",
    "new_data": "Whether the batch read new input; null where the log does not show it.",
    "timeout_ms": "When the timer fires that the put set; null if it set none.",
    "clock_ms": "When the key expires: its expiry field, or its timer.",
    "threshold_ms": "The batch's watermark or processing time, with which `clock_ms` was compared.",
    "margin_ms": "`threshold_ms` less `clock_ms`: how long it had been expired, in ms.",
    "from_ms": "The processing time of the first batch that is counted here.",
    "to_ms": "The processing time of the last batch that is counted here.",
    "watermark_from_ms": "The lowest watermark of the versions that were compared.",
    "watermark_to_ms": "The highest watermark of the versions that were compared.",
}
_SIZES = {
    "rows": "Live rows.",
    "keys": "Number of keys.",
    "key_bytes": "Bytes of the key.",
    "value_bytes": "Bytes of the value.",
    "old_value_bytes": "Bytes of the value before; null if there was none.",
    "row_bytes": "Key and value bytes of these rows together.",
    "previous_row_bytes": "Key and value bytes of the version before.",
    "raw_bytes": "Bytes of the replayed files after decompression.",
    "disk_bytes": "State file bytes times the share of these rows in all row bytes.",
    "heap_bytes": "Bytes on the heap of executors for the two versions that Spark retains.",
    "delta_bytes": "File bytes of delta files.",
    "snapshot_bytes": "File bytes of snapshot files.",
    "share_of_rows": "Their share of the live rows of the store.",
    "median_row_bytes": "Median of the partitions' row bytes.",
    "max_row_bytes": "Row bytes of the largest partition.",
    "max_rows": "Rows of the partition with the most rows.",
    "max_to_median": "The largest partition's row bytes, divided by the median.",
    "largest_partition": "The partition with the most row bytes.",
    "null_bit_bytes": "Bytes of the bits that say which fields are null.",
    "word_bytes": "Bytes of the fixed part: 8 for each field.",
    "variable_bytes": "Bytes of the variable part: text, structs, arrays, maps.",
    "padding_bytes": "Bytes that fill the variable part up to whole words.",
    "other_bytes": "Bytes that belong to no field.",
    "nulls": "Rows in which the field is null.",
} | {
    f"{what}_bytes_{name}": f"{text} {what} bytes of a row{rank}."
    for what in ("key", "value", "row")
    for name, text, rank in (
        ("p50", "Median of the", ", by nearest rank"),
        ("p90", "90th percentile of the", ", by nearest rank"),
        ("p99", "99th percentile of the", ", by nearest rank"),
        ("max", "Most", ""),
    )
}
_CHANGES = {
    "puts": "Records that put a row.",
    "inserts": "Puts of a key that was absent.",
    "updates": "Puts of a key that was there.",
    "same_value_puts": "Puts that wrote the value that was there already.",
    "same_value_put_bytes": "Key and value bytes of those puts.",
    "removals": "Records that removed a key that was there.",
    "absent_removals": "Records that removed a key that was not there.",
    "new_rows": "Rows whose key the version before did not have.",
    "changed_rows": "Rows whose value is another than in the version before.",
    "same_value_rows": "Rows that were put again with the value they had.",
    "removed_rows": "Rows of the version before that are gone.",
    "shared_rows": "Rows whose key and value object are those of the version before.",
    "shared_keys": "Rows whose key object is that of the version before.",
    "shared_key_bytes": "Bytes of the shared key objects.",
    "shared_value_bytes": "Bytes of the shared value objects.",
    "two_versions_bytes": "Row bytes of the version and the one before, shared objects once.",
    "two_versions_unshared_bytes": "`two_versions_bytes` if nothing were shared.",
    "newest_versions": "The keys were put in each of so many newest versions.",
    "history": "What can be read: all (`complete`), no change (`from snapshot`), the changes "
    "of some partitions (`some changes`), or the rows of some alone (`some partitions`).",
    "from_snapshot": "The version is known from a snapshot alone: its change columns are null.",
    "event": (
        "What the record did: `insert` (the key was absent), `update`, `same_value` (put again with"
        " the value it had), `put` (what was there before is unknown), `removal`, `absent_removal` "
        "(nothing was there), `in_snapshot` (the value in the oldest snapshot)."
    ),
    "record": "The record's number in its file; null for a removal that a comparison of snapshots "
    "shows.",
    "file": "The file that holds the record.",
    "change": "How it differs: `added`, `removed` or `changed`.",
}
_KEYS = {
    "key": "The decoded key; its hash, or null, where keys are redacted.",
    "value": "The decoded value.",
    "old_value": "The decoded value of the old version.",
    "key_hex": "The UnsafeRow bytes of the key in hex.",
    "value_hex": "The UnsafeRow bytes of the value in hex.",
    "old_value_hex": "The UnsafeRow bytes of the old value in hex.",
    "by": "What the keys are ranked by.",
    "rank": "The place in that ranking, from 1.",
    "join_rows": "Rows of the join that have the key; null in stores that do not count them.",
    "last_put_version": "The version of the last put; null: before the oldest restorable one.",
    "last_put_batch": "The batch of the last put; null: before the oldest restorable version.",
    "last_put_ms": "The processing time of the last put's batch.",
    "age_ms": "From the last put to the judged batch, in ms of processing time.",
    "last_put": "How many batches ago the rows were last put, counted from the judged one.",
}
_LEFTOVERS = {
    "class": "How it outlived its expiry: a class of leftovers.",
    "certainty": "`proven` from the bytes, `inferred` by a rule, or `undecided`.",
    "state": "`untouched`, `changed` or `empty`, by the call for the timeout; null if none fired.",
    "expired_batch": "The batch that found it expired; null: before the oldest restorable one.",
    "expired_version": "The state version of that batch.",
    "first_expired_batch": "The first batch that found it expired, where it did so repeatedly.",
    "expired": "How many batches ago the keys expired, counted from the judged one.",
    "oldest_expired_batch": "The first batch that found one of them expired.",
    "fired": "How often the key's timer has fired.",
    "fired_max": "How often the timer of one of them has fired, at most.",
    "unchanged_since": "Whether the key was not put again after it expired.",
    "reason": "Why it is not proven; null if it is.",
    "decided_by": "What would decide it, such as an option or an older version.",
    "untouched": "Keys whose state the call that answered their timeout left as it was.",
    "changed": "Keys whose state the call that answered their timeout changed.",
    "empty": "Keys whose state the call that answered their timeout emptied, but did not remove.",
    "expires": "When a row expires: field, comparison and clock; or why that is not known.",
    "source": "Where the rule comes from: Spark's operator, or an option.",
    "what": "What happened, in words.",
    "oldest_behind_ms": "How far behind the watermark the oldest row of any version lay.",
    "newest_version_behind_ms": "How far behind it the oldest row of the newest version lies.",
    "partitions": "Partitions that can restore the version.",
    "of_partitions": "Partitions of the store, in all.",
    "from_version": "The oldest version that was counted.",
    "to_version": "The newest version that was counted.",
    "rows_timed_by_key": "Rows whose time is a field of their key.",
    "matched_rows": "Rows that have found a partner.",
    "unmatched_rows": "Rows that have found none.",
}
_FILES = {
    "path": "The file or folder.",
    "kind": "What the file is, as its name says.",
    "modified_ms": "When the file was last changed.",
    "files": "Number of files.",
    "orphans": "Checksum files whose file is gone; table files that no snapshot names.",
    "deltas": "Delta files.",
    "snapshots": "Snapshot files.",
    "replay_deltas": "Deltas that a restart reads after the newest snapshot.",
    "oldest_restorable": "The oldest version that the files can restore.",
    "newest_restorable": "The newest version that the files can restore.",
    "newest_snapshot": "The version of the newest snapshot at or below the judged one.",
    "newest_file_ms": "When the newest of its files was changed.",
    "problem": "What is wrong, as a stable name (slug).",
    "offset": "The byte of the file at which it is; null for the whole file.",
    "message": "What is wrong, in words.",
}
_FINDINGS = {
    "id": "The stable id of the kind of finding.",
    "severity": "`error`, `warning` or `info`.",
    "title": "The kind of finding in a few words.",
    "evidence": "The numbers that show it.",
    "next_step": "What you can do.",
    "spark": "The conf or error class of Spark to look for.",
}
_INFO = {
    "name_from": "Where the operator's name comes from.",
    "schema_from": "Where the store's schema comes from.",
    "prefix_columns": "Leading key columns by which Spark scans; null if none.",
    "key_schema": "The schema of the keys as DDL.",
    "value_schema": "The schema of the values as DDL.",
    "conf": "The name of the conf.",
    "origin": "Whether the batch recorded the conf, or where its value comes from.",
    "format": "The format and its version.",
    "from": "The file or log entry that shows it.",
    "row": "`key` or `value`.",
    "type": "The field's type as DDL.",
}
_MEMORY = {
    "rung": "What is counted: the rungs go from files to the heap.",
    "counted": "`exact` or `estimate`.",
    "meaning": "What the number says.",
    "objects": "Objects on the heap, exact.",
    "unsafe_rows": "Bytes of `UnsafeRow` objects.",
    "byte_arrays": "Bytes of the arrays behind them.",
    "wrappers": "Bytes of `StateStoreRow` objects around values.",
    "nodes": "Bytes of the map nodes.",
    "tables": "Bytes of the maps' tables.",
    "maps": "Bytes of the map objects.",
    "prefixes": "Bytes of the sets of a session window's prefixes.",
    "total": "The sum of these.",
    "spread": "How the partitions are placed on executors: `evenly` or `at worst`.",
    "saved_bytes": "How many bytes less than now that is.",
    "how": "What to do for it.",
    "rows_per_hour": "Median slope of the rows between all pairs of versions.",
    "bytes_per_hour": "Median slope of the row bytes.",
    "heap_bytes_per_hour": "Median slope of the heap estimate.",
    "rows_at_capacity": "Whether the row bytes have reached `--capacity`.",
    "rows_reach_capacity_ms": "When they will; null if they have or if they do not grow.",
    "heap_at_capacity": "Whether the heap estimate has reached `--capacity`.",
    "heap_reaches_capacity_ms": "When it will; null if it has or if it does not grow.",
}

COLUMN_DOCS: Mapping[str, str] = {
    **_WHERE,
    **_CLOCKS,
    **_SIZES,
    **_CHANGES,
    **_KEYS,
    **_LEFTOVERS,
    **_FILES,
    **_FINDINGS,
    **_INFO,
    **_MEMORY,
}


def doc_of(column: Column) -> str:
    """What a column means.

    Raises:
        KeyError: neither its declaration nor this module says it.
    """
    return column.doc or COLUMN_DOCS[column.name]
