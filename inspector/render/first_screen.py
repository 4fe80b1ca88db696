"""The first screen: the verdict in plain sentences, the same in every form that people read.

Each line has a kind, so that a renderer can style it; the text is neither wrapped nor escaped.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from inspector.findings.metrics import Passed
from inspector.findings.verdict import (
    Cause,
    Level,
    StateGrowth,
    StateSize,
    Verdict,
    short_history_text,
    too_short,
)
from inspector.quantities import (
    bytes_rate_text,
    bytes_text,
    capitalise,
    go_on_with,
    share_text,
    short_count_text,
)
from inspector.render.report_data import Part, ReportData
from inspector.time_text import time_ms_text

# first word of the verdict by its level
_WORDS = {
    Level.OK: "Healthy",
    Level.INFO: "For information",
    Level.WARNING: "Warning",
    Level.ERROR: "Error",
    Level.UNREADABLE: "Unreadable in part",
}

UNKNOWN_NAME = "unknown"  # an operator that the checkpoint does not name (Spark 3.0 and older)
# advice for a state that grows by new keys
_OF_NEW_KEYS = (
    "If this many keys are unexpected, look for a key field that differs in every row, such as an "
    "id or an exact time. If they are expected, use a shorter window, watermark delay or timeout "
    "to keep fewer."
)
# advice for a state that grows by larger values
_OF_LARGE_VALUES = (
    "If the values are not expected to grow, bound the lists and maps in them, or store a count or "
    "a sketch instead."
)
_TOP = _OF_LARGE_VALUES, "top --by value_bytes"  # that advice, and the command that shows more


class Line(NamedTuple):
    """A line of the first screen, with its kind."""

    # ``part``, ``verdict``, ``gates``, ``restart``, ``growth``, ``share``, ``to_do``, ``copy`` or
    # ``more``
    kind: str
    text: str  # one or two sentences; for ``copy`` a command line
    code: str = ""  # the command line at the end of ``text``, for the kind ``more``


def command_line(command: str, report: ReportData) -> str:
    """Return a command as it is typed into a shell, for the part that the report is about."""
    name, _, arguments = command.partition(" ")
    words = ["inspector", name, shlex.quote(report.checkpoint), *arguments.split()]
    part = report.part
    for option, value in (
        ("--operator", part and part.operator_id),
        ("--partition", part and part.partition_id),
        ("--store", part and part.store_name),
        ("--state-version", part and part.version),
    ):
        if value is not None and option not in words:
            words += [option, shlex.quote(str(value))]
    return " ".join(words)


def part_text(part: Part) -> str:
    """Return a sentence on the part of a checkpoint that was read, with its share."""
    share = part.file_bytes / part.of_file_bytes if part.of_file_bytes else 0
    version = ""
    if part.version is not None:
        version = f", at state version {part.version} (batch {part.version - 1}) of the file named"
    names = [f"part {part.subset} of the state files"] if part.subset else []
    ids = {"store": part.store_name, "partition": part.partition_id, "operator": part.operator_id}
    names += [f"{kind} {value}" for kind, value in ids.items() if value is not None]
    return (
        f"This is a part of the checkpoint: {' of '.join(names) or 'one version'}{version}. It has "
        f"{part.partitions:,} of {short_count_text(part.of_partitions, 'partition')}, "
        f"{part.stores:,} of {short_count_text(part.of_stores, 'store')} and {share_text(share)} "
        f"of the bytes of state files ({bytes_text(part.file_bytes)} of "
        f"{bytes_text(part.of_file_bytes)})."
    )


def first_screen(report: ReportData) -> Iterator[Line]:
    """Yield the lines of a report's first screen: part, limits, verdict, growth, share, advice."""
    if report.part is not None:
        yield Line("part", part_text(report.part))
    verdict = report.verdict
    if verdict is None:
        return
    cause, growth = verdict.cause, verdict.growth
    growing = growth is not None and growth.growing
    # What fails comes first, as somebody reads it because it failed.
    exceeded = [gate.sentence for gate in report.gates if gate.passed is Passed.EXCEEDED]
    if exceeded:
        counted = f"{len(exceeded)} of {short_count_text(len(report.gates), 'limit')}"
        verb = "is" if len(exceeded) == 1 else "are"
        yield Line("gates", f"{counted} {verb} exceeded: {'; '.join(exceeded)}.")
    yield from _verdict(verdict, report)
    restart = verdict.restart
    if verdict.size is not None and (growing or (cause is not None and not _is_beside(cause))):
        yield Line("growth", _growth(verdict, verdict.size, report.summary))
    if cause is not None and (share := _share(cause, report.part)):
        yield Line("share", share)
    if restart is not None and restart.is_plain:
        yield Line("restart", restart.sentence)
    if cause is not None:
        yield from _next(cause.to_do, cause.command, report)
    elif growth is not None and growing and verdict.level is not Level.UNREADABLE:
        gains_keys = round(growth.rows_per_hour) > 0
        advice, command = (_OF_NEW_KEYS, "timeline") if gains_keys else _TOP
        yield from _next(advice, command, report)


def _verdict(verdict: Verdict, report: ReportData) -> Iterator[Line]:
    """Yield the line of the verdict, and lines on the restart if it is not plain.

    The restart comes first if it is impossible.
    """
    restart = verdict.restart
    line = Line("verdict", _first(verdict, report))
    if restart is None or restart.is_plain:
        yield line
    elif restart.possible is False and not restart.is_moved:
        yield Line("restart", restart.sentence)
        yield line
    else:
        if _leads_with_batch(verdict):
            yield Line("restart", f"Not finished: {restart.unfinished_text}")
        yield line
        yield Line("restart", restart.sentence)


def _leads_with_batch(verdict: Verdict) -> bool:
    """Return whether the first line is about a batch that did not finish."""
    restart = verdict.restart
    if restart is None or not restart.again or restart.possible is False:
        return False
    if verdict.cause is not None and verdict.cause.finding.kind.id == "SS124":
        return False
    return verdict.level is Level.OK or (verdict.level is Level.INFO and bool(restart.silent))


def _next(advice: str, command: str, report: ReportData) -> Iterator[Line]:
    """Yield the lines on what to do, with the command for a copy if advised, and on details."""
    action, copying = copy_command(advice, report.checkpoint)
    yield Line("to_do", f"Recommended action: {action}")
    if copying:
        # A line of its own, which can be copied as it is.
        yield Line("copy", copying)
    code = command_line(command, report)
    yield Line("more", f"For details: {code}", code)


# commands in advice whose placeholders are replaced by paths
_COPY, _RANKED = "inspector copy PATH NEW", "inspector top"


def copy_command(text: str, checkpoint: str) -> tuple[str, str]:
    """Return a text on what to do, and the ``inspector copy`` command at its end, or "".

    In both, placeholders for the checkpoint and its copy are replaced by paths.
    """
    paths = f"{shlex.quote(checkpoint)} {shlex.quote(suggest_copy_path(checkpoint))}"
    action, mark, remainder = text.partition(f": {_COPY}")
    named = action.replace(_COPY, f"inspector copy {paths}")
    # Commands other than a copy read the checkpoint alone.
    named = named.replace(f"{_RANKED} PATH", f"{_RANKED} {shlex.quote(checkpoint)}")
    return (f"{named}:", f"inspector copy {paths}{remainder}") if mark else (named, "")


def suggest_copy_path(checkpoint: str) -> str:
    """Return the path that commands suggest for a copy of a checkpoint."""
    return f"{checkpoint.rstrip('/')}-copy"


def _first(verdict: Verdict, report: ReportData) -> str:
    """Return the sentence of the verdict: its level, then the cause or the growth."""
    cause, growth, restart = verdict.cause, verdict.growth, verdict.restart
    again = restart is not None and restart.again
    word = _WORDS[verdict.level]
    names_batch = cause is not None and cause.finding.kind.id == "SS124"
    if restart is not None and again and not names_batch and not _leads_with_batch(verdict):
        silent = f"{go_on_with(restart.silent)}; " if restart.silent else ""
        plan = "real-time mode plans it anew" if restart.real_time else "a restart runs it again"
        word += f", batch {restart.batch} not finished ({silent}{plan})"
    if verdict.level is Level.UNREADABLE:
        word += f", {short_count_text(verdict.problems, 'problem')}"
    if cause is not None and (again or not _is_beside(cause)):
        return f"{word}: {cause.sentence}{_location(cause)}"
    if cause is not None:
        health = f"{_WORDS[Level.OK]}: {_standing(growth, verdict.size)}." if verdict.size else ""
        health = growth_text(growth) if growth is not None and growth.growing else health
        return f"{health} {word}: {go_on_with(cause.sentence)}{_location(cause)}".lstrip()
    if verdict.level is Level.UNREADABLE:
        return f"{word}."
    if growth is not None and growth.growing:
        return growth_text(growth)
    standing = "" if verdict.size is None else f"; {_standing(growth, verdict.size)}"
    if again:
        return f"No findings{standing}."
    if restart is not None and not restart.has_state:
        return f"{word} if the query keeps no state: no findings; there is no folder state."
    healthy = word if report.part is None else f"{word}, as far as this part shows"
    answer = report.summary.get("answer")  # to the question of a command about a restart
    return f"{healthy}: {answer}" if answer else f"{healthy}: no findings{standing}."


def _is_beside(cause: Cause) -> bool:
    """Return whether the cause is about the uploads of batches, and not about the state."""
    return cause.finding.kind.id == "SS310"


def _location(cause: Cause) -> str:
    """Return the operator and store of a cause, to be put after its sentence.

    Empty if the finding is about no operator.
    """
    operator, name, store = cause.finding.operator_id, cause.operator_name, cause.store_name
    name_text = "" if name in (None, UNKNOWN_NAME) else f", {name}"
    store_text = "" if store in (None, "default") else f", store {store}"
    return "" if operator is None else f" (Operator {operator}{name_text}{store_text}.)"


def _size_text(size: StateSize) -> str:
    """Return ``68 rows, 6.8 KiB``: rows and row bytes of the state."""
    rows = short_count_text(size.rows, "row")
    if size.counters:
        rows += f", {size.counters:,} of them counters of join keys"
    return f"{rows}, {bytes_text(size.bytes)}"


def _standing(growth: StateGrowth | None, size: StateSize) -> str:
    """Return a clause: the state is empty, does not grow, or has too few versions to tell."""
    if not size.rows:
        return "the state is empty"
    if growth is None or not growth.judged:
        return f"{too_short(growth.versions if growth else 0)} ({_size_text(size)})"
    return f"the state does not grow ({_size_text(size)})"


def growth_text(growth: StateGrowth) -> str:
    """Return the sentence on a state that grows although no expired row remains."""
    new, gone = growth.new_rows_per_hour, growth.removed_rows_per_hour
    if round(growth.rows_per_hour) <= 0:
        change = "by larger values only: the number of rows does not grow"
    elif new is None or gone is None:
        change = f"by new keys only: ~{_rows(growth)} more per hour"
    elif not new:
        change = f"by timers or indexes of the same keys: ~{_rows(growth)} more per hour"
    else:
        names = " or ".join(growth.new_columns)
        rate_text = f", most likely one for each {names}" if names else ""
        come = "comes" if round(new) == 1 else "come"
        # A share, as the difference of two averages is not the slope of the line told below.
        share = share_text(gone / new, "~") if gone and new else ""
        removed = f"{share} as many go" if share else "none has gone yet"
        keys = f"~{short_count_text(round(new), 'key')} {come} per hour"
        change = f"by new keys only{rate_text}: {keys}, {removed}"
    return f"Growing {change}; no expired rows remain."


def _growth(verdict: Verdict, size: StateSize, summary: Mapping[str, Any]) -> str:
    """Return the sentences on the growth and the present size of the state."""
    growth, is_read = verdict.growth, verdict.level is not Level.UNREADABLE
    if not size.rows:
        unread = "No row of the state could be read, so its size is unknown."
        return "The state is empty." if is_read else unread
    holds = f"It holds {_size_text(size)} now{'' if is_read else ', as far as it could be read'}."
    if growth is None or not growth.judged:
        return f"{capitalise(too_short(growth.versions if growth else 0))}. {holds}"
    if not growth.growing:
        return f"The state does not grow. {holds}"
    start = f"since batch {growth.since_batch} ({time_ms_text(growth.since_ms)})"
    if growth.since_oldest:
        start += " or earlier, which can no longer be read"
    # Without a finding the line before has said how many keys come and go.
    rate = (
        "" if verdict.cause is None or not round(growth.rows_per_hour) else f"~{_rows(growth)} and "
    )
    if short := short_history_text(growth.since_ms, summary.get("batch_timestamp_ms")):
        start += f", {short}"
    rate += f"~{bytes_text(growth.bytes_per_hour)} per hour"
    if growth.heap_bytes_per_hour is not None:
        rate += f" (~{bytes_rate_text(growth.heap_bytes_per_hour)} of heap)"
    return f"The state grows by {rate} {start}. {holds}"


def _rows(growth: StateGrowth) -> str:
    """Return ``12 rows``: the growth per hour."""
    return short_count_text(round(growth.rows_per_hour), "row")


def _share(cause: Cause, part: Part | None) -> str:
    """Return the sentence on the share of the state that the cause is about; no text if unknown.

    ``part`` is the part of the checkpoint that was read; None for all.
    """
    if cause.rows_share == 1:
        return f"That is 100 % of {'the state' if part is None else 'this part'}."
    if cause.rows_share == 0:  # a watermark stands still, and has let all rows go that it can
        return ""
    shares = (
        (cause.rows_share, "", "all rows" if part is None else "the rows of this part"),
        (cause.bytes_share, "", "their bytes"),
        (cause.heap_share, "~", "the heap"),
    )
    words = [f"{share_text(n, mark)} of {total}" for n, mark, total in shares if n is not None]
    return f"These rows are {', '.join(words)}." if words else ""
