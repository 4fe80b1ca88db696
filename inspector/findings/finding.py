"""What a finding is, and the catalogue of all of them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from inspector.model import Certainty
from inspector.operators.inferences import INFERENCES


class Severity(enum.IntEnum):
    """How much a finding matters; ordered."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    @property
    def word(self) -> str:
        """The severity in lower case, as options and reports spell it."""
        return self.name.lower()


@dataclass(frozen=True)
class Kind:
    """An entry of the catalogue: id, severity, a title, and what to look for in Spark."""

    id: str
    severity: Severity
    title: str
    spark: str


@dataclass(frozen=True)
class Finding:
    """One judged statement about a checkpoint.

    Attributes:
        kind: catalogue entry.
        certainty: proven from bytes, inferred, or undecided.
        evidence: the numbers that show it.
        next_step: what its user can do.
        operator_id, store_name: what it is about; None for the checkpoint.
        rows, bytes: rows concerned and their UnsafeRow bytes, exact; None where none are counted.
    """

    kind: Kind
    certainty: Certainty
    evidence: str
    next_step: str
    operator_id: int | None = None
    store_name: str | None = None
    rows: int | None = None
    bytes: int | None = None


def _severity(inference: str) -> Severity:
    """A warning, if the inference is right often enough to be one."""
    return Severity.WARNING if INFERENCES[inference].warns else Severity.INFO


MISSING_DELTA = Kind(
    "SS101",
    Severity.ERROR,
    "missing delta",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
)
UNDECODABLE_FILE = Kind(
    "SS102", Severity.ERROR, "file that cannot be read", "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
)
SNAPSHOT_DIFFERS = Kind(
    "SS104", Severity.ERROR, "snapshot differs from its deltas", "CANNOT_LOAD_STATE_STORE"
)
NOT_RESTORABLE = Kind(
    "SS105",
    Severity.ERROR,
    "newest committed version not restorable in every partition",
    "CANNOT_LOAD_STATE_STORE",
)
BAD_ROW = Kind(
    "SS106",
    Severity.ERROR,
    "rows do not fit their schema",
    "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
)
PARTITION_COUNT = Kind(
    "SS109", Severity.ERROR, "partitions missing", "spark.sql.shuffle.partitions"
)
BAD_CHECKSUM = Kind(
    "SS110",
    Severity.WARNING,
    "checksum file does not match",
    "org.apache.hadoop.fs.ChecksumException",
)
NEVER_EXPIRES = Kind("SS201", Severity.WARNING, "rows can never expire", "withWatermark")
PAST_WATERMARK = Kind("SS202", Severity.WARNING, "expired rows still present", "outputMode")
TIMEOUT_KEPT = Kind("SS203", Severity.ERROR, "timeout fired and key kept", "GroupState.remove")
NO_REMOVES = Kind("SS204", Severity.WARNING, "no removes while rows grow", "numRowsRemoved")
JOIN_SIDE = Kind("SS205", _severity("join-side"), "one join side never removes", "withWatermark")
WATERMARK_FLAT = Kind(
    "SS206", Severity.WARNING, "watermark flat", "spark.sql.streaming.multipleWatermarkPolicy"
)
NO_WATERMARK = Kind(
    "SS207", Severity.WARNING, "the rule needs a watermark, and there is none yet", "withWatermark"
)
JOIN_COUNTERS = Kind(
    "SS208",
    Severity.WARNING,
    "join rows and counters disagree",
    "spark.sql.streaming.stateStore.skipNullsForStreamStreamJoins.enabled",
)
JOIN_COPY = Kind(
    "SS209", _severity("join-copy"), "join on a copy of the event time", "withWatermark"
)
UNDECIDED = Kind(
    "SS210", Severity.INFO, "keys that may be leftovers: the bytes do not decide it", "GroupState"
)
FORMAT_V1 = Kind(
    "SS301",
    Severity.INFO,
    "state format 1 keeps the key twice (SPARK-24763)",
    "spark.sql.streaming.aggregation.stateFormatVersion",
)
SAME_VALUE = Kind("SS304", Severity.INFO, "same-value rewrites", "GroupState.update")

CATALOGUE = (
    MISSING_DELTA,
    UNDECODABLE_FILE,
    SNAPSHOT_DIFFERS,
    NOT_RESTORABLE,
    BAD_ROW,
    PARTITION_COUNT,
    BAD_CHECKSUM,
    NEVER_EXPIRES,
    PAST_WATERMARK,
    TIMEOUT_KEPT,
    NO_REMOVES,
    JOIN_SIDE,
    WATERMARK_FLAT,
    NO_WATERMARK,
    JOIN_COUNTERS,
    JOIN_COPY,
    UNDECIDED,
    FORMAT_V1,
    SAME_VALUE,
)
"""Every finding that is made; ids never change their meaning."""
