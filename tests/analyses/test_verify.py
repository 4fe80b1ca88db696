"""What a verification says that it read."""

from inspector import api
from tests.cli.support import checkpoint_of


def test_a_verification_says_how_much_it_read() -> None:
    report = api.verify(str(checkpoint_of("join_left_outer")))
    assert (report.summary["stores"], report.summary["versions_replayed"]) == (8, 10)
    assert list(report.primary.rows) == []
    assert report.judged
