"""What a report says of itself."""

import pytest

from inspector.model import Problem
from tests.render.samples import bare, report, table


def test_primary_table_is_first_table() -> None:
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


def test_report_completeness_is_known_after_rows_are_read() -> None:
    problems: list[Problem] = []
    result = report(problems=problems)
    assert result.complete
    problems.append(Problem("truncated", ""))
    assert not result.complete
    assert bare().complete
