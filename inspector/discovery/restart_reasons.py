"""Reasons why a query does not restart, may not restart, or restarts only with an option."""

from __future__ import annotations

from inspector.discovery.source_logs import COMPACT
from inspector.light_dataclasses import dataclass


@dataclass(frozen=True)
class Condition:
    """An option without which the query does not restart as it ran."""

    about: str  # the rule of ``preflight`` about it
    option: str  # its name
    value: str  # the value that the restart needs
    without: str  # what happens without it, a clause: ``each attempt fails at its commit``
    is_conf: bool = True  # a conf of the session; else an option of the query's writer

    def __str__(self) -> str:
        """Return ``spark.sql.shuffle.partitions=3``: the option and its value."""
        return f"{self.option}={self.value}"


@dataclass(frozen=True)
class Refusal:
    """Reason other than a state file for which Spark refuses a restart."""

    name: str  # what it is; of a source, by the entries that show it
    error: str  # Spark's error class, or the words of an error without one
    about: str = ""  # the rule of ``preflight`` about it; no text for that on missing files
    verb: str = "refuses"  # what Spark does with it
    details: tuple[str, str] = ("", "")  # what the checkpoint has, and what the restart needs
    operator_id: int | None = None  # None if it is the query's
    to_do: str = ""  # what the user can do; "" for what its finding says


@dataclass(frozen=True)
class ForeignEntry:
    """An entry of a source log that names files outside the folder of the entries before it."""

    path: str  # of the entry, below the root
    other: str  # folder of the first such file
    folder: str  # of the files that finished batches have read
    planned: str  # the unfinished entry of the offset log that reads it; "" if none does

    @property
    def to_do(self) -> str:
        """Advice for the user."""
        entries = f"{self.path}, all newer entries of this log"
        if self.path.endswith(COMPACT):  # it repeats all older entries
            entries = f"the lines of {self.other} in {self.path}, all newer entries of this log"
        planned = f", {self.planned}" if self.planned else ""
        return (
            f"if another job wrote it, stop the query and delete {entries}{planned}, and the "
            "checksum files of these entries; if the query reads both folders, nothing is needed"
        )


@dataclass(frozen=True)
class Doubt:
    """Reason why the files do not show whether the query restarts."""

    reason: str  # a clause behind "because"
    about: str = ""  # the rule of ``preflight`` about it; no text for the one on unknown restarts
    details: tuple[str, str] = ("", "")  # what the checkpoint has, and what the restart needs
    operator_id: int | None = None  # None if it is the query's
    foreign: ForeignEntry | None = None  # the entry that the doubt is about, if it is one
    lost_entry: str = ""  # path of the newest entry of a source log, if the doubt is about its loss
    is_of_sink: bool = False  # True if the sink decides: whether it has a batch that runs again
