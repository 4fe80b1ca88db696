"""Sources of a changed query: each case is a change that Spark 4.3.0 was restarted with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest

from inspector.analyses.shared.opening import Opened
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.query_sources import FILES, KAFKA, QuerySource
from inspector.findings.restart_line import LineMaker
from inspector.findings.restart_side import Side
from inspector.findings.source_judgement import Sources
from tests.attributes import attributes
from tests.cli.support import checkpoint_of

ONE, TWO, OTHER = "file:///in/one", "file:///in/two", "file:///in/other"
REHEARSED = "file:///tmp/rehearsed-"


@cache
def checkpoint(case: str = "agg_update") -> Checkpoint:
    return Opened.start(str(checkpoint_of(case)), None).checkpoint


def files(*places: str, logs: str = "", moved: bool | None = True) -> tuple[QuerySource, ...]:
    """Return file sources with equal offsets.

    ``logs`` has the number of the source log of each source, one digit each. By default each
    source has its own log.
    """
    folders = logs or "".join(map(str, range(len(places))))
    return tuple(
        QuerySource(str(number), FILES, location, '{"logOffset":1}', log, moved)
        for number, (location, log) in enumerate(zip(places, folders, strict=True))
    )


def sources(folder: str, names: str, logs: str = "") -> tuple[QuerySource, ...]:
    """Return file sources with equal offsets from names that are joined by blanks."""
    return files(*(f"{folder}{name}" for name in names.split()), logs=logs)


def rehearsal_of(*names: str, logs: str = "") -> tuple[QuerySource, ...]:
    return sources(REHEARSED, " ".join(names), logs)


def verdicts(
    old: Sequence[QuerySource],
    new: Sequence[QuerySource],
    before: Sequence[QuerySource] | None = None,
    case: str = "agg_update",
) -> dict[str, str]:
    """Return the verdicts on a change by the rule's subject."""
    old_side, new_side = Side(checkpoint(case), tuple(old)), Side(checkpoint(case), tuple(new))
    rehearsal = None if before is None else Side(checkpoint(), tuple(before))
    lines = Sources(old_side, new_side, rehearsal, LineMaker("4.3")).lines()
    return dict(attributes(lines, "rule.about", "rule.verdict.value"))


SWAPPED = {"files-swapped": "refused"}
SAME = {"sources-same": "ok"}
ABSENT, OTHER_LOG = {"source-log-absent": "refused"}, {"source-log-other": "unknown"}
ALIKE, REHEARSED_OK = {"sources-alike": "unknown"}, {"sources-rehearsed": "ok"}
CHANGES = [
    ("one two", "one two", "01", "01", SAME, REHEARSED_OK),
    ("one two", "two one", "01", "01", SWAPPED, SWAPPED),
    ("one two", "one one", "01", "01", SWAPPED, SWAPPED),
    ("one two", "one one", "01", "00", OTHER_LOG, OTHER_LOG),  # folder two is not read any more
    ("one one", "one one", "01", "01", SAME, REHEARSED_OK),
    ("one one", "one one", "00", "00", SAME, REHEARSED_OK),
    ("one one", "one one", "00", "01", ABSENT, ABSENT),
    ("one one", "one one", "01", "00", OTHER_LOG, OTHER_LOG),
    ("one two one", "one one two", "010", "001", ALIKE, REHEARSED_OK),  # all offsets are equal
    ("one two one", "two one two", "010", "010", SWAPPED, SWAPPED),
]
"""Folders and source logs of the old and the new query, and the verdicts of both tests."""


@pytest.mark.parametrize(("old", "new", "old_logs", "new_logs", "expected", "_"), CHANGES)
def test_file_sources_with_production_folders(
    old: str, new: str, old_logs: str, new_logs: str, expected: dict[str, str], _: object
) -> None:
    old_sources = sources("file:///in/", old, old_logs)
    assert verdicts(old_sources, sources("file:///in/", new, new_logs)) == expected


@pytest.mark.parametrize(("old", "new", "old_logs", "new_logs", "_", "expected"), CHANGES)
def test_file_sources_of_two_rehearsals(
    old: str, new: str, old_logs: str, new_logs: str, _: object, expected: dict[str, str]
) -> None:
    production = sources("file:///in/", old, old_logs)
    before, after = sources(REHEARSED, old, old_logs), sources(REHEARSED, new, new_logs)
    assert verdicts(production, after, before) == expected


def test_swapped_folders_are_silent_if_last_batch_read_no_files() -> None:
    old = files(ONE, TWO, moved=False)
    assert verdicts(old, files(TWO, ONE)) == {"sources-swapped": "silent"}
    pairs = rehearsal_of("a-1", "b-2"), rehearsal_of("b-2", "a-1")
    assert verdicts(old, pairs[1], pairs[0]) == {"sources-swapped": "silent"}
    assert verdicts(files(ONE, ONE, logs="00", moved=False), files(ONE, ONE)) == OTHER_LOG


def test_renamed_rehearsal_folders_are_matched_by_position() -> None:
    old, before = files(ONE, TWO), rehearsal_of("a-1", "b-2")
    assert verdicts(old, rehearsal_of("x-1", "y-2"), before) == {"sources-rehearsed": "ok"}
    assert verdicts(old, rehearsal_of("x-2", "y-1"), before) == SWAPPED
    same_rows = rehearsal_of("a-1", "b-1")
    assert verdicts(old, rehearsal_of("x-1", "y-1"), same_rows) == {"sources-alike": "unknown"}
    assert verdicts(old, rehearsal_of("b-1", "a-1"), same_rows) == SWAPPED


def test_rehearsal_with_different_distinct_sources_is_undecided() -> None:
    unknown = {"sources-alike": "unknown"}
    used_twice, two = rehearsal_of("a-1", "a-1", logs="00"), rehearsal_of("a-1", "b-2")
    assert verdicts(files(ONE, TWO), used_twice, used_twice) == unknown
    assert verdicts(files(ONE, ONE, logs="00"), two, two) == unknown
    assert verdicts(files(ONE, TWO), two) == unknown  # without a rehearsal of the old query


def test_sources_other_than_files_are_matched_by_rehearsal_position() -> None:
    topics = (
        QuerySource("0", KAFKA, "orders", '{"orders":{"0":7}}', None, True),
        QuerySource("1", KAFKA, "clicks", '{"clicks":{"0":7}}', None, True),
    )
    before = rehearsal_of("a-1", "b-2")
    assert verdicts(topics, rehearsal_of("b-2", "a-1"), before) == {"sources-swapped": "silent"}
    assert verdicts(topics, rehearsal_of("a-1", "a-1", logs="00"), before) == {"topics": "unknown"}
    assert verdicts(topics, before, before) == {"sources-rehearsed": "ok"}
    mixed = (topics[0], *files(ONE, TWO)[1:])
    assert verdicts(mixed, rehearsal_of("b-2", "a-1"), before) == {"source-kind": "refused"}


def test_changed_source_count_is_refused_only_in_offset_log_1() -> None:
    assert verdicts(files(ONE), files(ONE, TWO)) == {"source-count": "refused"}
    old, new = files(ONE), files(ONE, TWO)
    assert verdicts(old, new, case="named_source") == {"source-added": "ok"}
    assert verdicts(new, old, case="named_source") == {"source-removed": "unknown"}


def test_repeated_use_of_source_is_one_line_in_offset_log_2() -> None:
    twice = (replace(files(ONE)[0], name="1"),)
    assert verdicts(twice, files(ONE, ONE), case="named_source") == {
        "source-added": "ok",
        **ABSENT,
    }
