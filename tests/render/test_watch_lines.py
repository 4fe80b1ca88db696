"""Lines of a running query: they stay in their columns and fit a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.cli.watch_output import batch_lines, head_line
from inspector.render.display import Display
from inspector.render.report import Report
from inspector.render.tabular import Column, Table

ROW: dict[str, Any] = {
    "batch_id": 41,
    "batch_timestamp_ms": 1_704_067_210_000,
    "lag_ms": 11_000,
    "rows": 1_234_567,
    "row_bytes": 5 << 30,
    "puts": 4_200,
    "removals": 17,
    "leftovers": 80,
    "stores_read": 4,
    "stores": 4,
    "findings_new": [],
    "findings_gone": [],
}
FINDING = {
    "id": "SS203",
    "severity": "error",
    "title": "timeout fired and key kept",
    "cause": "The timeout of 80 keys fired, and the function kept them.",
    "operator_id": 0,
    "store_name": "default",
}


def lines(width: int | None = None, **changed: Any) -> list[str]:
    table = Table("batches", "", [Column(name) for name in ROW], [ROW | changed])
    report = Report("watch", "/c", {}, (table,))
    return "".join(batch_lines(report, Display(width))).splitlines()


def test_watch_batch_is_one_line_under_heads() -> None:
    (line,) = lines()
    assert head_line(Display()).split() == [
        *("BATCH", "TIME", "ROWS", "BYTES", "PUTS", "REMOVED", "LAG", "LEFTOVERS")
    ]
    cells = "41 00:00:10 1,234,567 5.0 GiB 4,200 17 11 s 80"
    assert line.split() == cells.split()
    assert len(line) == len(head_line(Display()).rstrip("\n")) <= 80


def test_watch_line_shows_unknown_as_dash() -> None:
    unknown = ("batch_timestamp_ms", "lag_ms", "rows", "row_bytes", "puts", "removals")
    (line,) = lines(**dict.fromkeys(unknown), stores_read=0)
    assert line.split() == ["41", *"------", "80"]


def test_watch_row_count_is_lower_bound_if_stores_are_missing() -> None:
    (line,) = lines(stores_read=3)
    assert ">1,234,567" in line.split()


def test_watch_lag_is_negative_if_watermark_is_ahead_of_clock() -> None:
    (line,) = lines(lag_ms=-315_359_930_000)
    assert "-10 years" in line


def test_watch_lists_new_and_gone_findings() -> None:
    gone = FINDING | {"id": "SS206", "severity": "warning", "title": "watermark flat"}
    result = lines(findings_new=[FINDING], findings_gone=[gone | {"operator_id": None}])
    assert [line.strip() for line in result[1:]] == [
        "+ SS203 error (operator 0): The timeout of 80 keys fired, and the function kept them.",
        "- SS206 warning: watermark flat: gone",
    ]


def test_watch_names_store_if_there_are_several() -> None:
    (_, line) = lines(findings_new=[FINDING | {"store_name": "left-keyToNumValues"}])
    assert "(operator 0, left-keyToNumValues): " in line


@pytest.mark.parametrize(
    ("width", "heads"),
    [
        (120, "BATCH TIME ROWS BYTES PUTS REMOVED LAG LEFTOVERS"),
        (80, "BATCH TIME ROWS BYTES PUTS REMOVED LAG LEFTOVERS"),
        (79, "BATCH ROWS BYTES PUTS REMOVED LAG LEFTOVERS"),
        (40, "BATCH ROWS BYTES LEFTOVERS"),
    ],
)
def test_watch_columns_are_hidden_by_importance(width: int, heads: str) -> None:
    assert head_line(Display(width)).split() == heads.split()
    (line,) = lines(width)
    assert len(line) == len(head_line(Display(width)).rstrip("\n")) <= width
    assert head_line(Display(width, wide=True)) == head_line(Display())


def test_watch_findings_have_colour_of_severity() -> None:
    report = Report(
        "watch", "/c", {}, (Table("batches", "", [], [ROW | {"findings_new": [FINDING]}]),)
    )
    (_, line) = batch_lines(report, Display(color=True))
    assert "\x1b[1;31m" in line


@pytest.mark.parametrize("width", [40, 60, 80])
def test_watch_findings_are_wrapped_on_terminal(width: int) -> None:
    result = lines(width, findings_new=[FINDING])[1:]
    assert len(result) > 1
    assert max(map(len, result)) <= width
    assert " ".join(" ".join(result).split()).endswith("fired, and the function kept them.")


def test_watch_escapes_control_characters() -> None:
    (_, line) = lines(findings_new=[FINDING | {"cause": "\x1b[31m\u202e red"}])
    assert "\x1b" not in line
    assert "\u202e" not in line
    assert "\\x1b[31m" in line
