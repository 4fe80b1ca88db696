"""Checkpoints whose offset log has lines of Kafka and Delta Lake, which need a server to restart.

The lines replace those of a source of files, batch by batch. No Spark has restarted these
checkpoints: the expected answers follow from the source of each connector.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r'\{"logOffset":(\d+)\}')
_TABLE, _OTHER_TABLE = (f"{digit}{'0' * 7}-0000-0000-0000-{'0' * 12}" for digit in "12")


def kafka_line(number: int, partitions: int = 2) -> str:
    """Offset of a topic after a batch (``KafkaSourceOffset``)."""
    positions = {str(partition): 10 * (number + 1) for partition in range(partitions)}
    return json.dumps({"orders": positions}, separators=(",", ":"))


def delta_line(number: int, table: str = _TABLE) -> str:
    """Offset of a table after a batch (``DeltaSourceOffset``)."""
    fields = {
        "sourceVersion": 1,
        "reservoirId": table,
        "reservoirVersion": number + 3,
        "index": -1,
        "isStartingVersion": False,
    }
    return json.dumps(fields, separators=(",", ":"))


@dataclass(frozen=True)
class SourceEdit:
    """One edit of the newest entry of the offset log."""

    line: Callable[[int], str]  # the line of a batch, by the number of the batch
    newest: Callable[[int], str]  # the line of the newest batch
    answer: str  # what ``audit`` has to say of the restart: yes, no or unknown
    findings: tuple[str, ...] = ()  # ids of the findings about sources that it has to have
    committed: bool = True  # whether the newest batch has a commit


def _fallen(number: int) -> int:
    return max(number - 2, 0)


SOURCE_EDITS: Mapping[str, SourceEdit] = {
    "kafka sound": SourceEdit(kafka_line, kafka_line, "yes"),
    "kafka runs again": SourceEdit(kafka_line, kafka_line, "yes", committed=False),
    "kafka more partitions": SourceEdit(kafka_line, lambda n: kafka_line(n, 3), "yes"),
    # A restart plans no range from the offsets of a finished batch.
    "kafka falls": SourceEdit(kafka_line, lambda n: kafka_line(_fallen(n)), "yes", ("SS128",)),
    # KafkaMicroBatchStream fails unless failOnDataLoss is false.
    "kafka falls, runs again": SourceEdit(
        kafka_line, lambda n: kafka_line(_fallen(n)), "unknown", ("SS128",), committed=False
    ),
    "delta sound": SourceEdit(delta_line, delta_line, "yes"),
    "delta runs again": SourceEdit(delta_line, delta_line, "yes", committed=False),
    # DeltaSourceOffset: differentDeltaTableReadByStreamingSource, and getBatch of older versions.
    "delta other table": SourceEdit(
        delta_line, lambda n: delta_line(n, _OTHER_TABLE), "unknown", ("SS128",)
    ),
    "delta older version": SourceEdit(
        delta_line, lambda n: delta_line(_fallen(n)), "unknown", ("SS128",)
    ),
}
"""Name of an edit -> what is made, and what has to be said of it."""


def hand_made_cases(bases: Sequence[Path], folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name of an edit and a checkpoint that has it, for each base with one file source.

    Args:
        bases: checkpoints that Spark wrote.
        folder: where the edited copies are made; each is removed when the next one is requested.
    """
    for base in bases:
        entries = sorted((int(path.name), path) for path in (base / "offsets").glob("[0-9]*"))
        if any(len(_LINE.findall(path.read_text("utf-8"))) != 1 for _, path in entries):
            continue
        for name, edit in SOURCE_EDITS.items():
            copy = folder / "checkpoint"
            shutil.copytree(base, copy)
            _rewrite(copy, edit)
            yield name, copy
            shutil.rmtree(copy)


def _rewrite(root: Path, edit: SourceEdit) -> None:
    """Give a copy of a checkpoint the lines of an edit."""
    shutil.rmtree(root / "sources", ignore_errors=True)
    newest = max(int(path.name) for path in (root / "offsets").glob("[0-9]*"))
    for path in (root / "offsets").glob("[0-9]*"):
        number = int(path.name)
        line = edit.newest(number) if number == newest else edit.line(number)
        before, _, after = _LINE.split(path.read_text("utf-8"))
        path.write_text(before + line + after, "utf-8")
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    if not edit.committed:
        for name in (str(newest), f".{newest}.crc"):
            (root / "commits" / name).unlink(missing_ok=True)
