"""Rows and causes of the checkpoints of a fleet, grouped by cause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from inspector.findings.metrics import Passed
from inspector.findings.verdict import Level, Verdict, short_history_text
from inspector.quantities import bytes_rate_text, bytes_text, capitalise, short_count_text
from inspector.render.first_screen import first_screen, growth_text
from inspector.render.plain import fields_of
from inspector.render.report_data import ReportData
from inspector.render.tabular import Column, Unit

# columns of every row
LEVEL, CHECKPOINT, MESSAGE = Column("level"), Column("checkpoint"), Column("message")
EXIT_CODE = Column("exit_code", Unit.ID)  # column of the exit code
# columns of a command that judges
JUDGED = (
    LEVEL,
    CHECKPOINT,
    Column("rows", Unit.COUNT),
    Column("row_bytes", Unit.BYTES),
    Column("bytes_per_hour", Unit.BYTES_PER_HOUR, exact=False),
    Column("leftovers", Unit.COUNT),
    Column("gates_exceeded", Unit.COUNT),
    Column("new_or_worse", Unit.COUNT),
    MESSAGE,
    Column("heap_bytes", Unit.BYTES, exact=False),
    Column("errors", Unit.COUNT),
    Column("warnings", Unit.COUNT),
    Column("infos", Unit.COUNT),
    Column("problems", Unit.COUNT),
    Column("restarts"),
    Column("batch_id", Unit.ID),
    Column("query_id"),
    EXIT_CODE,
)

# columns of a narrow table, the most important first
_IMPORTANT = "checkpoint level row_bytes gates_exceeded new_or_worse bytes_per_hour leftovers rows"
# rank of these columns
RANKS = {name: rank for rank, name in enumerate((*_IMPORTANT.split(), "message"))}
# columns that only ``--wide`` shows
WIDE = frozenset(column.name for column in JUDGED) - RANKS.keys()

OPTIONAL = ("gates_exceeded", "new_or_worse")  # columns that are there if a checkpoint has a value

# unit of a summary's value by the last word of its name
_UNITS = {"ms": Unit.TIME_MS, "bytes": Unit.BYTES, "id": Unit.ID, "version": Unit.ID}


def row_of(report: ReportData) -> tuple[dict[str, Any], tuple[Column, ...]]:
    """Return the row of a report, and the columns of this row.

    The rows of its tables must have been read, because problems are complete only then.
    """
    row: dict[str, Any] = {"level": report.level.value, "checkpoint": report.checkpoint}
    if report.verdict is not None and report.metrics:
        return row | _cells_of_judgement(report, report.verdict), JUDGED
    message = next((finding.cause for finding in report.findings), None)
    if not report.complete:
        message = short_count_text(len(report.problems), "problem")
    columns = tuple(
        Column(name, _unit(name, value), "estimate" not in name)
        for name, value in report.summary.items()
        if name not in ("checkpoint", "query_id")
    )
    columns = (LEVEL, CHECKPOINT, *columns, MESSAGE, Column("query_id"), EXIT_CODE)
    return {**report.summary, **row, "message": message}, columns


def row_of_failure(
    checkpoint: str, message: str, exit_code: int
) -> tuple[dict[str, Any], tuple[Column, ...]]:
    """Return the row and columns of a checkpoint that could not be read."""
    columns = (LEVEL, CHECKPOINT, MESSAGE, EXIT_CODE)
    values = (Level.UNREADABLE.value, checkpoint, message, int(exit_code))
    return {c.name: value for c, value in zip(columns, values, strict=True)}, columns


def _cells_of_judgement(report: ReportData, verdict: Verdict) -> dict[str, Any]:
    """Return the values of the columns of a judged checkpoint."""
    metrics, comparison, cause = report.metrics, report.comparison, verdict.cause
    bad = None if comparison is None else sum(trend.is_bad for trend in comparison.trends)
    exceeded = [gate for gate in report.gates if gate.passed is Passed.EXCEEDED]
    growth = verdict.growth
    grows = growth_text(growth) if growth is not None and growth.growing else None
    return {
        "message": cause.sentence if cause else exceeded[0].sentence if exceeded else grows,
        "rows": metrics.get("state.rows"),
        "row_bytes": metrics.get("state.bytes"),
        "heap_bytes": metrics.get("heap.bytes"),
        # Among others there is no room to say that a rate is made of a few minutes.
        "bytes_per_hour": None if short_history(report) else metrics.get("growth.bytes_per_hour"),
        "leftovers": metrics.get("leftovers.rows"),
        "gates_exceeded": len(exceeded) if report.gates else None,
        "new_or_worse": bad,
        **fields_of(verdict, "errors", "warnings", "infos", "problems"),
        "restarts": verdict.restart and verdict.restart.possible,
        "batch_id": report.summary.get("batch_id"),
        "query_id": report.summary.get("query_id"),
    }


def short_history(report: ReportData) -> str:
    """Return ``from 5 minutes``-like words if the rates rest on a short time; else no text."""
    growth = report.verdict and report.verdict.growth
    newest = report.summary.get("batch_timestamp_ms")
    return short_history_text(growth.since_ms, newest) if growth else ""


def _unit(name: str, value: Any) -> Unit:
    """Return the unit of a summary's value, by its name and type."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return _UNITS.get(name.rpartition("_")[2], Unit.COUNT if is_count else Unit.TEXT)


class CauseGroup(NamedTuple):
    """Checkpoints with one cause; where numbers in it differ, it gives their range."""

    level: str  # level of the checkpoints
    cause: str  # sentence of the first checkpoint, with ranges of numbers
    members: tuple[int, ...]  # indexes of the checkpoints


# size of each unit in a text, by which numbers are sorted
_FACTORS = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86400} | {
    unit: 1024**power for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))
}
_UNIT_PATTERN = f" (?:{'|'.join(_FACTORS)})\\b"  # a unit behind a number
_NUMBER = re.compile(
    rf"\+?\d{{4,}}-\d\d-\d\d|(?<![\w:])\d[\d,.]*(?<=\d)(?:{_UNIT_PATTERN}(?: \d+{_UNIT_PATTERN})?)?"
)
"""A date, or a number with its unit: ``2031-05-01``, ``1,200``, ``1.5 MiB``, ``364 d 12 h``."""


def groups_of(members: Sequence[tuple[str, str, str]]) -> Iterator[CauseGroup]:
    """Yield the groups of (path, level, cause) with the same level and cause.

    Causes are the same if they differ only in paths and numbers.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for index, (path, level, cause) in enumerate(members):
        groups.setdefault((level, _NUMBER.sub("0", cause.replace(path, ""))), []).append(index)
    for (level, _), indexes in groups.items():
        causes = [members[index][2] for index in indexes]
        yield CauseGroup(level, _with_spans(causes), tuple(indexes))


def _with_spans(causes: Sequence[str]) -> str:
    """Return the first cause with each number replaced by the range over all causes."""
    spans = zip(*(_NUMBER.findall(cause) for cause in causes), strict=False)

    def span(match: re.Match[str]) -> str:
        texts = sorted(set(next(spans, (match[0],))), key=_size)
        ambiguous = match.string[: match.start()].endswith(("from ", "to "))
        return (" ... " if ambiguous else " to ").join(dict.fromkeys((texts[0], texts[-1])))

    return _NUMBER.sub(span, causes[0])


def _size(text: str) -> tuple[float, str]:
    """Return the sort key of a number with units, or of a date or a version such as ``4.3.0``."""
    words = text.replace(",", "").split(" ")
    if "-" in text or words[0].count(".") > 1:
        return len(text), text
    amounts = zip(words[::2], words[1::2] or [""], strict=True)
    return sum(float(amount) * _FACTORS.get(unit, 1) for amount, unit in amounts), text


def cause_text(report: ReportData) -> str:
    """Return sentences on a judged checkpoint: exceeded gates, the cause, and the restart.

    Without a cause the text says that files cannot be read, that the state grows, or that there are
    no findings. The restart is left out if it is plain. Returns "" if the checkpoint was not
    judged.
    """
    verdict = report.verdict
    if verdict is None:
        return ""
    lines = {line.kind: line.text for line in first_screen(report)}
    growth, restart = verdict.growth, verdict.restart
    cause = "No findings."
    if verdict.cause is not None:
        cause = f"{verdict.cause.sentence} ({verdict.cause.finding.kind.id})"
    elif report.level is Level.UNREADABLE:
        cause = f"{short_count_text(len(report.problems), 'problem')}: unreadable files."
    elif growth is not None and growth.growing:
        short = short_history(report)
        cause = growth_text(growth) + (f" ({capitalise(short)}.)" if short else "")
    stop = "" if restart is None or restart.is_plain else restart.sentence
    return " ".join(filter(None, (lines.get("gates"), cause, stop)))


def numbers_text(row: Mapping[str, Any], room: int | None = None) -> str:
    """Return ``68 rows, 6.8 KiB, ~75.9 KiB/h``: the numbers of a row.

    The last ones are left out if the text is longer than ``room`` characters.
    """
    rows, size, rate = (row.get(name) for name in ("rows", "row_bytes", "bytes_per_hour"))
    words = [] if rows is None else [short_count_text(rows, "row")]
    words += [] if size is None else [bytes_text(size)]
    words += [f"~{bytes_rate_text(rate)}"] if rate else []
    while room is not None and len(", ".join(words)) > room:
        words.pop()
    return ", ".join(words)


def _equal(lists: Sequence[Sequence[str]]) -> int:
    """Return the number of leading items that all lists have in common."""
    return sum(1 for _ in takewhile(lambda items: len(set(items)) == 1, zip(*lists, strict=False)))


def short_names(paths: Sequence[str]) -> tuple[list[str], str]:
    """Return the parts in which paths differ, and the pattern with NAME in their place.

    The paths themselves, and no text, if they have nothing in common.
    """
    parts = [path.rstrip("/").split("/") for path in paths]
    if len(paths) < 2:
        return list(paths), ""
    begin = min(_equal(parts), min(map(len, parts)) - 1)
    end = _equal([part[:begin:-1] for part in parts])
    pattern = "/".join([*parts[0][:begin], "NAME", *parts[0][len(parts[0]) - end :]])
    if pattern in (
        "NAME",
        "/NAME",
    ):  # the root alone: a path without its slash would be another one
        return list(paths), ""
    return ["/".join(part[begin : len(part) - end]) for part in parts], pattern
