"""Tables at the width of a terminal: the most important columns, and how many are left out."""

import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.text import Text

from inspector import api
from inspector.render.display import Display
from inspector.render.fitting import LONGEST_VALUE, drawn_table
from inspector.render.tabular import Column, Table, Unit
from tests.fixture_folder import FIXTURES
from tests.render.samples import table as hostile_table

COLUMNS = (
    Column("operator_id", Unit.ID),
    Column("store_name"),
    Column("same_value_puts", Unit.COUNT, rank=2),
    Column("clock_ms", Unit.TIME_MS, title="expiry time", rank=3),
    Column("key", Unit.VALUE, rank=1),
    Column("key_hex", wide=True),
)
ROW: dict[str, Any] = {
    "operator_id": 0,
    "store_name": "left-keyWithIndexToValue",
    "same_value_puts": 12,
    "clock_ms": 0,
    "key": {"user": "somebody with a rather long name", "site": "somewhere"},
    "key_hex": "00" * 40,
}


def drawn(width: int | None, *, wide: bool = False, color: bool = False) -> list[str]:
    table = Table("t", "title", COLUMNS, [ROW])
    return [line.rstrip("\n") for line in drawn_table(table, Display(width, color, wide))]


@pytest.mark.parametrize("width", [10, 40, 60, 80, 100, 120, 200])
def test_table_lines_fit_terminal(width: int) -> None:
    assert max(map(cell_len, drawn(width))) <= width


def test_narrow_table_keeps_important_columns_in_order() -> None:
    assert drawn(40) == [
        "title",
        "           SAME",
        "OPERATOR  VALUE",
        "      ID   PUTS  KEY",
        '       0     12  {"user": "somebody with',
        '                 a rather long name",',
        '                 "site": "somewhere"}',
        "(3 more columns with --wide)",
    ]
    heads = "\n".join(drawn(60))
    assert "EXPIRY TIME" in heads
    assert "STORE NAME" not in heads
    assert drawn(60)[-1] == "(3 more columns with --wide)"
    assert drawn(200)[-1] == "(1 more column with --wide)"


@pytest.mark.parametrize(("width", "wide"), [(None, False), (None, True), (40, True)])
def test_piped_and_wide_tables_have_all_columns(width: int | None, wide: bool) -> None:
    lines = drawn(width, wide=wide)
    assert "00" * 40 in lines[-1]
    assert '"site": "somewhere"}' in lines[-1]


def test_column_heads_of_piped_table_are_single_words() -> None:
    head = drawn(None)[1].split()
    expected = "OPERATOR_ID STORE_NAME SAME_VALUE_PUTS EXPIRY_TIME KEY KEY_HEX"
    assert head == expected.split()


def test_empty_table_note_at_any_width() -> None:
    table = Table("t", "title", COLUMNS, [], empty="there is nothing to be seen here at all")
    assert "".join(drawn_table(table, Display(20))).split() == (
        ["title", "(there", "is", "nothing", "to", "be", "seen", "here", "at", "all)"]
    )


def test_severity_colours_do_not_change_text() -> None:
    table = Table("t", "title", (Column("severity"),), [{"severity": "error"}])
    plain = "".join(drawn_table(table, Display(40)))
    colored = "".join(drawn_table(table, Display(40, color=True)))
    assert "\x1b[1;31merror" in colored
    assert re.sub(" +$", "", Text.from_ansi(colored).plain, flags=re.M) == plain


@pytest.mark.parametrize("width", [40, 80, None])
def test_hostile_cells_are_escaped_at_any_width(width: int | None) -> None:
    text = "".join(drawn_table(hostile_table(), Display(width)))
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("cell", "lines"), [("x" * 10, ["SAME VALUE", "PUTS"]), ("x", ["SAME", "VALUE", "PUTS"])]
)
def test_column_head_takes_fewest_lines(cell: str, lines: list[str]) -> None:
    table = Table("t", "title", (Column("same_value_puts"),), [{"same_value_puts": cell}])
    _, *head, _ = "".join(drawn_table(table, Display(80))).splitlines()
    assert [line.strip() for line in head] == lines


def test_long_value_is_cut_if_columns_are_hidden() -> None:
    value = {"buf": "x" * 2000}
    table = Table(
        "t",
        "title",
        (Column("key", Unit.VALUE), Column("text")),
        [
            {"key": value, "text": "y" * 500},
            {"key": {"buf": "short"}, "text": "z"},
        ],
    )
    lines = "".join(drawn_table(table, Display(80)))
    assert lines.endswith("(whole values with --wide)\n")
    assert lines.count("x") == LONGEST_VALUE - len('{"buf": "')
    assert lines.count("y") == 500
    assert '{"buf": "short"}' in lines
    for display in (Display(None), Display(80, wide=True)):
        complete = "".join(drawn_table(table, display))
        assert complete.count("x") == 2000
        assert "whole values" not in complete


def lines_of(rows: list[dict[str, object]], width: int | None, *, wide: bool = False) -> str:
    columns = (
        Column("name", rank=1),
        Column("constant", rank=3),
        Column("varied", rank=4),
        Column("nothing", rank=5),
    )
    without_constants = Table("t", "title", columns, rows).without_constants()
    return "\n".join(drawn_table(without_constants, Display(width, wide=wide)))


def test_constant_columns_are_hidden_first() -> None:
    rows: list[dict[str, object]] = [
        {"name": "same", "constant": "x", "varied": number, "nothing": None} for number in (1, 2)
    ]
    narrow = lines_of(rows, 80)
    assert "NAME" in narrow  # what names a row stays
    assert "VARIED" in narrow
    assert "CONSTANT" not in narrow
    assert "NOTHING" not in narrow
    assert "(2 more columns with --wide)" in narrow
    assert "CONSTANT" in lines_of(rows, 80, wide=True)
    assert "CONSTANT" in lines_of(rows[:1], 80)


@pytest.mark.parametrize("case", ["agg_update", "join_left_outer", "rocksdb_tws_event"])
def test_timeline_always_shows_batch_time(case: str) -> None:
    report = api.timeline(str(FIXTURES / "4.3.0" / case / "checkpoint"))
    for table in report.tables[:2]:
        text = "".join(drawn_table(table, Display(80)))
        assert "TIME" in text
        assert text.count("2024-01-01T00:0") > 3
