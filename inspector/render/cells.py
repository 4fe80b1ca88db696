"""Single values of a report as text for people: with units, and without control characters."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from inspector.plain_text import escape
from inspector.quantities import bytes_rate_text, bytes_text, duration_text, percent_text, rate_text
from inspector.render.tabular import Column, Estimate, Unit
from inspector.time_text import time_ms_text

# units of columns that are aligned to the right
NUMBERS = (
    *(Unit.COUNT, Unit.BYTES, Unit.ID, Unit.SHARE, Unit.RATIO, Unit.DURATION_MS),
    *(Unit.PER_HOUR, Unit.BYTES_PER_HOUR),
)

UNKNOWN = "-"  # text for null

# text of a value by the unit of its column
_WORDS: dict[Unit, Callable[[Any], str]] = {
    Unit.COUNT: lambda value: f"{value:,}",
    Unit.BYTES: bytes_text,
    Unit.SHARE: percent_text,
    Unit.RATIO: lambda value: f"{value:,.2f}",
    Unit.DURATION_MS: duration_text,
    Unit.PER_HOUR: rate_text,
    Unit.BYTES_PER_HOUR: bytes_rate_text,
    Unit.TIME_MS: time_ms_text,
}


_NOTHING: Mapping[str, Any] = {}  # default for an empty summary


def cell_text(column: Column, value: Any) -> str:
    """Return a value of a column as text for people; an estimate begins with ``~``."""
    if value is None:
        return UNKNOWN
    words = _WORDS.get(column.unit)
    if words is not None and not isinstance(value, str):
        return about(column, value) + words(value)
    if isinstance(value, (dict, list)):
        return escape(json.dumps(value, ensure_ascii=False))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape(str(value))


def about(column: Column, value: Any) -> str:
    """Return ``~`` if a value of a column is an estimate, else no text."""
    return "" if column.exact and not isinstance(value, Estimate) else "~"


def about_time(name: str) -> str:
    """Return ``~`` if the name is that of a forecast time in a report's summary, else no text."""
    return "~" if name.endswith("_capacity_ms") else ""


def summary_text(name: str, value: Any, summary: Mapping[str, Any] = _NOTHING) -> str:
    """Return a value of a report's summary as text; the end of its name shows its unit.

    ``summary`` decides what the text for an unknown watermark is.
    """
    if value is None:
        # An entry of the offset log has both clocks (``OffsetSeqMetadata``), and 0 for none.
        time = summary.get(name.replace("watermark_ms", "batch_timestamp_ms"))
        doubted = summary.get("watermark_in_doubt")
        return "unknown" if time is None or doubted else "none yet"
    if name.endswith("_ms"):
        return about_time(name) + time_ms_text(value)
    if name.endswith("_estimate_bytes"):
        return f"~{bytes_text(value)}"
    if name.endswith("_bytes"):
        exact = f" ({value:,} bytes)" if abs(value) >= 1024 else ""
        return f"{bytes_text(value)}{exact}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return escape(", ".join(map(str, value))) or "none"
    return f"{value:,}" if isinstance(value, int) else escape(str(value))


# words for names in a report's summary that are not plain
_LABELS = {
    "two_versions_bytes": "two versions together",
    "two_versions_unshared_bytes": "two versions without sharing",
    "committed": "batch committed",
    "batch_timestamp_ms": "batch time",
    "raw_bytes": "bytes after decompression",
    "heap_estimate_bytes": "heap",
    "heap_peak_estimate_bytes": "peak heap in a batch",
    "largest_partition_estimate_bytes": "largest partition",
    "largest_partition_peak_estimate_bytes": "its peak heap in a batch",
    "median_partition_estimate_bytes": "median partition",
    "heap_needed_estimate_bytes": "executor heap needed",
    "batches_with_watermark": "batches with a watermark",
    "watermark_moves": "batches that advanced the watermark",
}


def summary_name(name: str, value: object = None) -> str:
    """Return the name of a value in a report's summary, for people."""
    if name == "partitions" and isinstance(value, list):
        return "partition ids"  # of others it is how many
    side, _, side_name = name.partition("_")
    if side in ("from", "to") and side_name in _LABELS:
        return f"{side} {_LABELS[side_name]}"
    return _LABELS.get(name) or name.removesuffix("_ms").replace("_", " ")
