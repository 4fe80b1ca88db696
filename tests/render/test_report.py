"""What a report says of itself."""

import pytest

from inspector.model import Problem
from tests.render.samples import bare, report, table


def test_the_first_table_is_the_command_s_own() -> None:
    first, second = table(), table()
    assert report(tables=(first, second)).primary is first


@pytest.mark.parametrize(
    ("slugs", "complete"),
    [
        ((), True),
        (("codec-mismatch",), True),
        (("snapshot-differs", "codec-mismatch"), True),
        (("codec-mismatch", "truncated"), False),
        (("storage",), False),
        (("missing-delta",), False),
    ],
)
def test_report_is_complete_without_read_problems(slugs: tuple[str, ...], complete: bool) -> None:
    assert report(problems=[Problem(slug, "") for slug in slugs]).complete is complete


def test_completeness_is_known_when_the_rows_have_been_read() -> None:
    problems: list[Problem] = []
    result = report(problems=problems)
    assert result.complete
    problems.append(Problem("truncated", ""))
    assert not result.complete
    assert bare().complete
