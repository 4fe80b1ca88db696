"""The verdict in plain sentences."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest

from inspector.findings.metrics import apply_gates, parse_gates
from inspector.findings.verdict import Level, StateGrowth, StateSize, Verdict, too_short
from inspector.render.first_screen import Line, command_line, copy_command, first_screen
from inspector.render.report import Report
from inspector.render.report_data import Part
from inspector.render.text import render_markdown, render_text
from tests.attributes import attributes
from tests.render.samples import PART, finding, growth, report, verdict


def lines(verdict: Verdict | None, **options: Any) -> dict[str, str]:
    """Kind -> text."""
    result = [*first_screen(report(verdict=verdict, checkpoint="/data/my query", **options))]
    assert len(set(attributes(result, "kind"))) == len(result)
    return {line.kind: line.text for line in result}


def healthy(**options: Any) -> Verdict:
    """Return a verdict without findings."""
    complete: dict[str, Any] = {
        "level": Level.OK,
        "errors": 0,
        "infos": 0,
        "cause": None,
        "leftovers": 0,
        "growth": growth(growing=False),
    }
    return verdict(**(complete | options))


def test_first_screen_of_leak() -> None:
    assert [*first_screen(report(verdict=verdict(), checkpoint="/data/my query"))] == [
        Line(
            "verdict",
            "Error: The timeout of 3 keys fired, and the function kept them. (Operator 0, "
            "flatMapGroupsWithState, store left-keyToNumValues.)",
        ),
        Line(
            "growth",
            "The state grows by ~1.2 M rows and ~30.6 GiB per hour (~61.0 GiB/h of heap) since "
            "batch 4 (2024-01-01T00:00:00.000Z). It holds 4 rows, 9.8 KiB now.",
        ),
        Line(
            "share",
            "These rows are 75 % of all rows, 50 % of their bytes, ~50 % of the heap.",
        ),
        Line("to_do", "Recommended action: Call state.remove()."),
        Line(
            "more",
            "For details: inspector leftovers '/data/my query' --operator 0",
            "inspector leftovers '/data/my query' --operator 0",
        ),
    ]


def test_no_first_screen_without_verdict() -> None:
    assert [*first_screen(report())] == []


@pytest.mark.parametrize(
    ("result", "size", "expected"),
    [
        (growth(growing=False), StateSize(4, 2048, 0), "the state does not grow (4 rows, 2.0 KiB)"),
        (growth(growing=False), StateSize(1, 100, 0), "the state does not grow (1 row, 100 B)"),
        (growth(growing=False), StateSize(0, 0, 0), "the state is empty"),
        (
            growth(growing=False),
            StateSize(4, 64, 0, counters=2),
            "the state does not grow (4 rows, 2 of them counters of join keys, 64 B)",
        ),
        (None, StateSize(2, 64, 0), f"{too_short(0)} (2 rows"),
        (
            growth(growing=False, judged=False, versions=13),
            StateSize(2, 64, 0),
            "the 13 batches that can be read began within 30 seconds, too short a time to tell "
            "whether the state grows (2 rows",
        ),
    ],
)
def test_first_screen_of_healthy_checkpoint(
    result: StateGrowth | None, size: StateSize, expected: str
) -> None:
    actual = lines(healthy(growth=result, size=size))
    assert list(actual) == ["verdict"]
    assert actual["verdict"].startswith(f"Healthy: no findings; {expected}")


def test_first_screen_of_files_has_no_growth() -> None:
    assert lines(healthy(growth=None, size=None)) == {"verdict": "Healthy: no findings."}
    result = lines(verdict(growth=None, size=None))
    assert "growth" not in result


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "by new keys only: ~1.2 M keys come per hour, none has gone yet"),
        (
            {"removed_rows_per_hour": 600_000},
            "by new keys only: ~1.2 M keys come per hour, ~50 % as many go",
        ),
        ({"new_rows_per_hour": 1}, "by new keys only: ~1 key comes per hour, none has gone yet"),
        (
            {"new_columns": ["'id'", "'at'"]},
            "by new keys only, most likely one for each 'id' or 'at': ~1.2 M keys come per hour, "
            "none has gone yet",
        ),
        ({"new_rows_per_hour": None}, "by new keys only: ~1.2 M rows more per hour"),
        (
            {"new_rows_per_hour": 0.0},
            "by timers or indexes of the same keys: ~1.2 M rows more per hour",
        ),
        ({"rows_per_hour": 0}, "by larger values only: the number of rows does not grow"),
        ({"rows_per_hour": 0.4}, "by larger values only: the number of rows does not grow"),
    ],
)
def test_first_screen_of_growth_without_leak(options: dict[str, Any], expected: str) -> None:
    result = lines(healthy(growth=growth(**options)))
    assert result["verdict"] == f"Growing {expected}; no expired rows remain."
    assert list(result) == ["verdict", "growth", "to_do", "more"]
    by_values = "larger" in expected
    assert result["more"].endswith(
        "top '/data/my query' --by value_bytes" if by_values else "query'"
    )


def test_first_screen_of_growth_older_than_history() -> None:
    result = lines(verdict(growth=growth(since_oldest=True)))
    assert "since batch 4 (2024-01-01T00:00:00.000Z) or earlier" in result["growth"]


def test_first_screen_begins_with_unreadable_files() -> None:
    result = lines(verdict(level=Level.UNREADABLE, problems=2))
    assert result["verdict"] == (
        "Unreadable in part, 2 problems: The timeout of 3 keys fired, and the function kept them. "
        "(Operator 0, flatMapGroupsWithState, store left-keyToNumValues.)"
    )
    assert lines(verdict(level=Level.UNREADABLE, problems=1, cause=None))["verdict"] == (
        "Unreadable in part, 1 problem."
    )


def test_first_screen_of_finding_about_all_rows_has_no_percentages() -> None:
    cause = verdict().cause
    assert cause is not None
    result = lines(verdict(cause=replace(cause, rows_share=1.0)))
    assert result["share"] == "That is 100 % of the state."


def test_first_screen_of_finding_with_zero_rows_has_no_shares() -> None:
    cause = verdict().cause
    assert cause is not None
    result = lines(verdict(cause=replace(cause, rows_share=0.0, bytes_share=0.0, heap_share=0.0)))
    assert "share" not in result


def test_first_screen_shares_of_part() -> None:
    assert lines(verdict(), part=PART)["share"].startswith(
        "These rows are 75 % of the rows of this part, "
    )
    cause = verdict().cause
    assert cause is not None
    complete = verdict(cause=replace(cause, rows_share=1.0))
    assert lines(complete, part=PART)["share"] == "That is 100 % of this part."


def test_share_in_words_is_not_marked_as_estimate() -> None:
    cause = verdict().cause
    assert cause is not None
    result = lines(verdict(cause=replace(cause, heap_share=0.001)))
    assert result["share"].endswith("50 % of their bytes, less than 1 % of the heap.")


def test_first_screen_sizes_of_incomplete_read() -> None:
    result = lines(verdict(level=Level.UNREADABLE, problems=1))
    assert result["growth"].endswith("It holds 4 rows, 9.8 KiB now, as far as it could be read.")


@pytest.mark.parametrize("name", [None, "unknown"])
def test_operator_without_name_is_shown_by_number(name: str | None) -> None:
    cause = verdict().cause
    assert cause is not None
    result = lines(verdict(cause=replace(cause, operator_name=name, store_name=None)))
    assert result["verdict"].endswith(" (Operator 0.)")


def test_first_screen_of_finding_without_row_count_has_no_share() -> None:
    cause = verdict().cause
    assert cause is not None
    alone = replace(
        cause,
        finding=finding(operator_id=None, store_name=None),
        operator_name=None,
        rows_share=None,
        bytes_share=None,
        heap_share=None,
    )
    result = lines(verdict(cause=alone))
    assert "share" not in result
    assert result["verdict"].startswith("Error: The timeout")


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            PART,
            "partition 1 of operator 0. It has 1 of 5 partitions, 1 of 2 stores and 25 % of the "
            "bytes of state files (1.0 KiB of 4.0 KiB).",
        ),
        (replace(PART, operator_id=None), "partition 1. It has "),
        (
            replace(PART, store_name="left", version=7),
            "store left of partition 1 of operator 0, at state version 7 (batch 6) of the file "
            "named. It has ",
        ),
        (replace(PART, of_file_bytes=0, file_bytes=0), "partition 1 of operator 0. It has "),
    ],
)
def test_first_screen_names_part_of_checkpoint(part: Part, expected: str) -> None:
    result = lines(None, part=part)
    assert list(result) == ["part"]
    assert result["part"].startswith(f"This is a part of the checkpoint: {expected}")


def test_healthy_verdict_of_part_is_limited_to_part() -> None:
    result = lines(healthy(), part=PART)
    assert list(result) == ["part", "verdict"]
    assert result["verdict"].startswith("Healthy, as far as this part shows: no findings")


@pytest.mark.parametrize("path", ["/data/my query", "/it's", "s3a://b/c", "$(rm -rf x)"])
def test_first_screen_command_is_quoted_for_shell(path: str) -> None:
    result = Report("audit", path, {}, (), part=replace(PART, store_name="a b"))
    words = shlex.split(command_line("sizes --by partition --operator 3", result))
    assert words[:2] == ["inspector", "sizes"]
    assert words[2] == path
    assert words[3:] == [
        *("--by", "partition", "--operator", "3"),
        *("--partition", "1", "--store", "a b"),
    ]


def test_first_screen_is_first_in_text_and_markdown() -> None:
    result = report(verdict=verdict(), part=PART)
    text, markdown = "".join(render_text(result)), "".join(render_markdown(result))
    assert text.startswith("This is a part of the checkpoint: ")
    assert text.splitlines()[1].startswith("Error: The timeout")
    assert markdown.splitlines()[2].startswith("This is a part of the checkpoint: ")
    assert markdown.splitlines()[4].startswith("**Error: The timeout")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/data/a_b*c", "`inspector leftovers '/data/a_b*c' --operator 0`"),
        ("/a`b``c", "``` inspector leftovers '/a`b``c' --operator 0 ```"),
        ("/a\x1b[31m", "`inspector leftovers '/a\\x1b[31m' --operator 0`"),
    ],
)
def test_first_screen_command_is_code_in_markdown(path: str, code: str) -> None:
    text = "".join(render_markdown(report(verdict=verdict(), checkpoint=path)))
    assert f"For details: {code}\n" in text


def test_first_screen_names_exceeded_limits() -> None:
    limits = parse_gates({"state.rows": "1", "state.bytes": "9KiB"})
    values = {"state.rows": 3, "state.bytes": 10}
    result = lines(healthy(), gates=apply_gates(limits, values))
    assert result["gates"] == "1 of 2 limits is exceeded: state.rows is 3, above the limit of 1."
    assert "gates" not in lines(healthy(), gates=apply_gates(limits, {"state.bytes": 10}))


def test_first_screen_replaces_both_paths() -> None:
    text = "inspector top PATH --by oldest lists keys: inspector copy PATH NEW --key KEY --plan"
    assert copy_command(text, "/my data/orders") == (
        "inspector top '/my data/orders' --by oldest lists keys:",
        "inspector copy '/my data/orders' '/my data/orders-copy' --key KEY --plan",
    )
